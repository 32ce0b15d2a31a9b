"""Standing on Adult: what 24 releases with 10% turnover still tell the reader, and what an attacker learns of them all.

python experiments/standing_adult.py [folder of the Adult data and ARX's hierarchies] [rows] [releases]

Query error: median relative error of counts of people with a value in a region, over the eight commonest values. Wide:
age and education at 40% of the people each; narrow: a decade of age and a sex. A reader of the told form knows the
shares of every class; raked, adjusts them to the totals; of the flat form, counts dealt values. Boxes are either ranges
of codes in the order of the hierarchies' leaves, or groups of the hierarchies.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from incremental_adult import read
from reissue.methods.standing.strategy import Standing
from reissue.model.boxes import losses
from reissue.model.domain import Domain
from reissue.model.release import Coded, Facts, History, Table
from reissue.model.standing_classes import StandingClasses, Tokens

ROOT = Path(__file__).resolve().parents[1]
TURNOVER = 0.1


def churn(
    table: Coded, rows: int, releases: int, turnover: float, leaving: Mapping[int, float] | None = None
) -> Iterator[Coded]:
    """Snapshots of so many people; at each, a share leaves for good and as many come. Who runs out is drawn anew.

    leaving: how many times as often people with a value leave.
    """
    rng = np.random.default_rng(1)
    people = rng.permutation(len(table))
    here, taken = np.sort(people[:rows]), rows
    origin = here.copy()  # row of the table; subjects are numbered as they come
    subjects, next_subject = np.arange(rows), rows
    for number in range(releases):
        if number:
            weight = np.ones(rows)
            for value, times in (leaving or {}).items():
                weight[table.values[origin] == value] = times
            gone = rng.choice(rows, round(turnover * rows), replace=False, p=weight / weight.sum())
            fresh = people[np.arange(taken, taken + len(gone)) % len(people)]
            taken += len(gone)
            origin, subjects = origin.copy(), subjects.copy()
            origin[gone], subjects[gone] = fresh, np.arange(next_subject, next_subject + len(gone))
            next_subject += len(gone)
        yield Coded(
            subjects, np.asfortranarray(table.codes[origin]), table.values[origin], table.domains, table.value_count
        )


@dataclass(frozen=True, eq=False)
class Published:
    snapshot: Coded
    facts: Facts


def publish(strategy: Standing, snapshots: Iterator[Coded]) -> list[Published]:
    """Every release of the series, each found sound."""
    done: list[Published] = []
    caches: Mapping[str, Table] = {}
    for number, snapshot in enumerate(snapshots, start=1):
        history = History([one.facts for one in done], caches, number)
        facts = strategy.publish(snapshot, history).facts(number, snapshot)
        fault = strategy.check(facts, history)
        assert fault is None, fault
        caches = strategy.remember(caches, facts)
        done.append(Published(snapshot, facts))
    return done


def shares(tokens: Tokens, standing: np.ndarray, values: int) -> np.ndarray:
    """float64[rows, values]: the share of each value in everybody's class."""
    label, home = np.unique(tokens.standing, return_inverse=True)
    table = np.zeros((len(label), values))
    table[home, tokens.value] = tokens.count
    return (table / table.sum(axis=1, keepdims=True))[np.searchsorted(label, standing)]


def rake(weights: np.ndarray, totals: np.ndarray, rounds: int = 30) -> np.ndarray:
    """The same with every row a person (rows add up to 1) and every value as often as the totals say."""
    wanted = np.maximum(totals, 0.5)
    for _ in range(rounds):
        weights = weights * (wanted / np.maximum(weights.sum(axis=0), 1e-9))
        weights = weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-12)
    return weights


def inside_share(facts: Facts, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """float64[rows]: the part of each row's box that lies in the query, people spread evenly over the box."""
    part = np.ones(len(facts.subjects))
    for a in range(facts.codes.shape[1]):
        box = facts.boxes[facts.classes, a]
        width = box[:, 1] - box[:, 0] + 1
        both = np.minimum(box[:, 1], high[a]) - np.maximum(box[:, 0], low[a]) + 1
        part *= np.maximum(both, 0) / width
    return part


def queries(
    snapshot: Coded, wide: bool, count: int, rng: np.random.Generator
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Regions: age and education at 40% of the people each, or a decade of age and one sex."""
    names = [domain.name for domain in snapshot.domains]
    low = np.array([domain.lo for domain in snapshot.domains])
    high = np.array([domain.hi for domain in snapshot.domains])
    for _ in range(count):
        first, last = low.copy(), high.copy()
        if wide:
            for a in (names.index("age"), names.index("education")):
                column = np.sort(snapshot.codes[:, a])
                start = int(rng.integers(0, round(0.6 * len(column))))
                first[a], last[a] = column[start], column[start + round(0.4 * len(column)) - 1]
        else:
            age, sex = names.index("age"), names.index("sex")
            first[age] = 20 + 10 * int(rng.integers(0, 5))
            last[age] = first[age] + 9
            first[sex] = last[sex] = int(rng.integers(0, 2))
        yield first, last


def query_errors(one: Published, wide: bool, count: int = 100) -> dict[str, float]:
    """Median relative error of counts by reader."""
    facts, snapshot = one.facts, one.snapshot
    kept = StandingClasses.read(facts.extras)
    assert kept is not None
    told = shares(kept.tokens, kept.standing, snapshot.value_count)
    totals = kept.totals if kept.totals is not None else np.bincount(facts.values, minlength=snapshot.value_count)
    flat = np.zeros_like(told)
    flat[np.arange(len(flat)), kept.dealt] = 1.0
    readers = {"told": told, "raked": rake(told, totals), "flat": flat}
    common = np.argsort(-np.bincount(facts.values, minlength=snapshot.value_count))[:8]
    found: dict[str, list[float]] = {name: [] for name in readers}
    for low, high in queries(snapshot, wide, count, np.random.default_rng(7)):
        rows = ((facts.codes >= low) & (facts.codes <= high)).all(axis=1)
        true = np.bincount(facts.values[rows], minlength=snapshot.value_count)[common]
        part = inside_share(facts, low, high)
        for name, weights in readers.items():
            guess = part @ weights[:, common]
            found[name] += list((np.abs(guess - true) / np.maximum(true, 1))[true >= 10])
    return {name: float(np.median(errors)) for name, errors in found.items()}


def in_ranges(table: Coded) -> Coded:
    """The same people without hierarchies: every range of codes is a group."""
    return replace(table, domains=tuple(Domain(domain.name, domain.lo, domain.hi) for domain in table.domains))


def detail_lost(facts: Facts, snapshot: Coded) -> float:
    """Mean over rows and attributes of the share of the domain that a row's box spans."""
    return float(losses(facts.boxes, snapshot.domains).mean(axis=1)[facts.classes].mean())


SETTINGS = {
    "c=.4 l=4 k=8": Standing(totals=0.5),
    "c=.4 l=4 k=8 row_k=4 row_l=1": Standing(totals=0.5, row_k=4, row_l=1),
    "c=.25 l=4 k=4": Standing(k=4, c=0.25, totals=0.5),
    "c=.5 l=4 k=4": Standing(k=4, c=0.5, totals=0.5),
}


def measure(table: Coded, strategy: Standing, rows: int, releases: int) -> dict[str, float]:
    """Query errors by width and reader, and the detail lost, of the last release."""
    last = publish(strategy, churn(table, rows, releases, TURNOVER))[-1]
    found = {
        f"{width} {reader}": error
        for width in ("wide", "narrow")
        for reader, error in query_errors(last, wide=width == "wide").items()
    }
    return found | {"detail lost": detail_lost(last.facts, last.snapshot)}


def main(folder: Path, rows: int, releases: int) -> None:
    groups = read(folder)
    for boxes, table in {"ranges": in_ranges(groups), "groups": groups}.items():
        for name, strategy in SETTINGS.items():
            found = measure(table, strategy, rows, releases)
            print(f"{boxes} {name:30s}", "  ".join(f"{what} {number:.3f}" for what, number in found.items()))


if __name__ == "__main__":
    given = sys.argv[1:]
    main(
        Path(given[0]) if given else ROOT.parent / "shared" / "data",
        int(given[1]) if len(given) > 1 else 5_000,
        int(given[2]) if len(given) > 2 else 24,
    )
