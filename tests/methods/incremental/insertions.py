"""Insert-only histories, and what the three attacks on them find in what was published."""

from __future__ import annotations

import numpy as np

from reissue.methods.attack import Attack
from reissue.methods.incremental.difference_attack import Difference
from reissue.methods.incremental.intersection_attack import Intersection
from reissue.methods.incremental.tracing_attack import RecordTracing
from reissue.model.domain import Domain
from reissue.model.release import Coded, Facts
from tests.support.histories import Turnover, generate, observe, uniform_tree

SHARES = (0.5, 0.6, 0.75, 1.0)
NOTHING = {"intersection": 0, "difference": 0, "record-tracing": 0}


def attacks(k: int, c: float) -> tuple[Attack, ...]:
    return Intersection(c=c), Difference(k=k, c=c), RecordTracing(k=k)


def findings(releases: list[Facts], snapshot: Coded, k: int, c: float) -> dict[str, int]:
    series = observe(releases, snapshot)
    return {attack.name: attack.run(series).total for attack in attacks(k, c)}


def history(seed: int, values: int | None = None) -> tuple[list[Coded], int, float]:
    """Small and larger tables, slow and fast growth, few and many values, sometimes no new row at all."""
    rng = np.random.default_rng(seed)
    turnover = Turnover(arrive=float(rng.choice([0.0, 0.05, 0.3, 0.8])))
    kinds = int(rng.integers(3, 9)) if values is None else values
    snapshots = generate(
        rng,
        releases=int(rng.integers(2, 6)),
        rows=int(rng.integers(25, 160)),
        values=kinds,
        turnover=turnover,
        skew=float(rng.choice([0.0, 0.5])),
    )
    return snapshots, int(rng.integers(2, 6)), SHARES[seed % len(SHARES)]


def few_values(seed: int, releases: int = 5, first: int = 300) -> list[Coded]:
    """Two values and fast growth: here old and new rows can often be cut together."""
    rng = np.random.default_rng(seed)
    domains = (Domain("age", 0, 999), Domain("place", 0, 26, uniform_tree(3, 3, 3)))
    return generate(rng, releases=releases, rows=first, values=2, turnover=Turnover(arrive=1.0), domains=domains)


def partition(facts: Facts) -> set[tuple[bytes, bytes]]:
    """Classes as (box, subjects), whatever their numbers."""
    return {(facts.boxes[i].tobytes(), facts.subjects[facts.classes == i].tobytes()) for i in range(facts.class_count)}
