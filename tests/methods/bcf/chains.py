"""Snapshots in which people only arrive, for BCF; and its series as somebody sees them who knows no members."""

from __future__ import annotations

import numpy as np

from reissue.model.domain import Domain
from reissue.model.observed import Observed, ObservedRelease
from reissue.model.release import Coded
from tests.support.histories import Turnover, generate, uniform_tree

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
