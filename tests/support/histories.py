"""Generated histories: snapshots of a changing population, in codes; and a way to run a strategy over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reissue.arrays.types import Int32
from reissue.methods.strategy import Strategy
from reissue.model.domain import Domain, Tree
from reissue.model.observed import Observed, ObservedRelease
from reissue.model.release import Coded, Facts, History, Table
from tests.support.words import PlainWords


def uniform_tree(*branching: int) -> Tree:
    """A taxonomy whose root has branching[0] children, each of them branching[1], and so on."""
    leaves = int(np.prod(branching))
    lo, hi, parent, level = [0], [leaves - 1], [-1], [len(branching)]
    frontier = [0]
    for depth, fan in enumerate(branching):
        below = []
        for node in frontier:
            step = (hi[node] - lo[node] + 1) // fan
            for child in range(fan):
                below.append(len(lo))
                lo.append(lo[node] + child * step)
                hi.append(lo[node] + (child + 1) * step - 1)
                parent.append(node)
                level.append(len(branching) - depth - 1)
        frontier = below
    return Tree(*(np.array(column, dtype=np.int32) for column in (lo, hi, parent, level)))


def toy_domains() -> tuple[Domain, ...]:
    """Age 0..79, a place in a 3 x 4 taxonomy, a sex."""
    return (
        Domain("age", 0, 79),
        Domain("place", 0, 11, uniform_tree(3, 4)),
        Domain("sex", 0, 1, uniform_tree(2)),
    )


@dataclass(frozen=True)
class Turnover:
    """How a population changes from one snapshot to the next; shares of the present people, or of the absent ones."""

    arrive: float = 0.2
    leave: float = 0.0
    back: float = 0.0
    move: float = 0.0  # changed QI
    update: float = 0.0  # changed sensitive value


INSERTS = Turnover()
CHURN = Turnover(arrive=0.2, leave=0.2, back=0.3)
EVERYTHING = Turnover(arrive=0.2, leave=0.15, back=0.3, move=0.1, update=0.15)
PERSISTING = {  # every way in which people come and go while their values stay
    "churn": CHURN,
    "arrivals": Turnover(arrive=0.4),
    "departures": Turnover(arrive=0.0, leave=0.4),
    "returns": Turnover(arrive=0.1, leave=0.5, back=0.6),
    "moves": Turnover(arrive=0.2, leave=0.2, back=0.2, move=0.4),
    "replaced": Turnover(arrive=0.9, leave=1.0),
}


def generate(
    rng: np.random.Generator,
    *,
    releases: int,
    rows: int,
    values: int,
    turnover: Turnover = INSERTS,
    domains: tuple[Domain, ...] | None = None,
    skew: float = 0.0,
) -> list[Coded]:
    """Snapshots of one changing population; `skew` > 0 makes low value codes more frequent (Zipf-like)."""
    domains = domains or toy_domains()
    weight = 1.0 / np.arange(1, values + 1) ** skew
    weight /= weight.sum()

    def people(n: int) -> tuple[Int32, Int32]:
        codes = np.stack([rng.integers(d.lo, d.hi + 1, n) for d in domains], axis=1).astype(np.int32)
        return codes, rng.choice(values, n, p=weight).astype(np.int32)

    codes, value = people(rows)
    present = np.ones(rows, dtype=bool)
    snapshots = []
    for number in range(releases):
        if number:
            was = present.copy()
            present &= rng.random(len(present)) >= turnover.leave
            present |= ~was & (rng.random(len(present)) < turnover.back)
            moved = rng.random(len(present)) < turnover.move
            codes[moved] = people(int(moved.sum()))[0]
            updated = rng.random(len(present)) < turnover.update
            value[updated] = people(int(updated.sum()))[1]
            more, more_value = people(int(rng.binomial(2 * rows, turnover.arrive / 2)))
            codes, value = np.concatenate([codes, more]), np.concatenate([value, more_value])
            present = np.concatenate([present, np.ones(len(more), dtype=bool)])
        here = np.flatnonzero(present)
        here = here[rng.permutation(len(here))]
        snapshots.append(
            Coded(here.astype(np.int64), np.asfortranarray(codes[here]), value[here].copy(), domains, values)
        )
    return snapshots


def run_series(strategy: Strategy, snapshots: Sequence[Coded], seed: int = 0) -> list[Facts]:
    """Publish the snapshots one after the other, without files: the facts the ledger would hold."""
    releases: list[Facts] = []
    caches: Mapping[str, Table] = {}
    for number, snapshot in enumerate(snapshots, start=1):
        candidate = strategy.publish(snapshot, History(releases, caches, seed + number))
        shuffled = np.random.default_rng(number).permutation(len(candidate.boxes)).astype(np.int32)
        facts = candidate.renumber(shuffled).facts(number, snapshot)  # as a series does
        caches = strategy.remember(caches, facts)
        releases.append(facts)
    return releases


def observe(releases: Sequence[Facts], snapshot: Coded) -> Observed:
    """The series as an attacker sees it who knows the members of every class."""
    return Observed(
        [ObservedRelease.of(facts) for facts in releases], snapshot.domains, snapshot.value_count, PlainWords()
    )
