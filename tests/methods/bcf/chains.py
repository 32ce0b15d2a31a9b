"""Snapshots in which people only arrive, for BCF; and its series as somebody sees them who knows no members."""

from __future__ import annotations

import numpy as np

from reissue.model.domain import Domain
from reissue.model.observed import Observed, ObservedRelease
from reissue.model.release import Coded
from tests.support.histories import Turnover, generate, uniform_tree

TRAPS = 9
"""Values of which 99 rows hide what they give away."""
BINARY = (Domain("a", 0, 1, uniform_tree(2)), Domain("b", 0, 1, uniform_tree(2)))
TAXONOMIES = (Domain("place", 0, 11, uniform_tree(3, 4)), Domain("job", 0, 7, uniform_tree(2, 2, 2)))


def bare(series: Observed) -> Observed:
    """The series without members: every combination of classes counts that anyone could be in."""
    releases = [ObservedRelease(r.number, r.boxes, r.classes, r.values) for r in series.releases]
    return Observed(releases, series.domains, series.value_count, series.words)


def random_series(rng: np.random.Generator, releases: int, domains: tuple[Domain, ...] | None = None) -> list[Coded]:
    return generate(
        rng,
        releases=releases,
        rows=int(rng.integers(60, 400)),
        values=int(rng.integers(2, 6)),
        skew=float(rng.choice([0.0, 1.0])),
        turnover=Turnover(arrive=float(rng.choice([0.2, 0.5]))),
        domains=domains,
    )


def with_newcomers(snapshot: Coded, count: int, seed: int = 1) -> Coded:
    extra = generate(np.random.default_rng(seed), releases=1, rows=count, values=snapshot.value_count)[0]
    return Coded(
        np.concatenate([snapshot.subjects, extra.subjects + 100_000]),
        np.asfortranarray(np.concatenate([snapshot.codes, extra.codes])),
        np.concatenate([snapshot.values, extra.values]),
        snapshot.domains,
        snapshot.value_count,
    )


def crossing_rows() -> np.ndarray:  # type: ignore[type-arg]
    """int64[99, 4]: arrival, a, b, value, for which k = 10 holds by the formula in the cuts b, then a, then a x b.

    Of each trap release 3 has no record in (a0, b1), so that of b1 in release 1 is in a1: it is the only one that a1
    has in release 2. So it is no newcomer's, and the newcomer of release 2 in a1 is left with one candidate.
    """
    traps = [(t, a, b, s) for s in range(1, TRAPS + 1) for t, a, b in [(0, 1, 1), (0, 0, 0), (1, 0, 0), (2, 1, 1)]]
    others = {(0, 0, 1): 10, (0, 0, 0): 1, (1, 1, 1): 1, (1, 0, 1): 40, (2, 0, 0): 10, (2, 1, 1): 1}
    rows = traps + [(*where, 0) for where, count in others.items() for _ in range(count)]
    return np.array(sorted(rows, key=lambda row: row[0]))


def crossing_series() -> list[Coded]:
    rows, snapshots = crossing_rows(), []
    for release in range(3):
        here = rows[rows[:, 0] <= release].astype(np.int32)
        codes = np.asfortranarray(here[:, 1:3])
        snapshots.append(Coded(np.arange(len(here)), codes, here[:, 3].copy(), BINARY, TRAPS + 1))
    return snapshots
