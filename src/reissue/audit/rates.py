"""Rates of values by two attributes, as readers of each release of a series compute them and as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import TYPE_CHECKING

import numpy as np

from reissue.arrays.types import Float64, Int32
from reissue.model.release import Coded

if TYPE_CHECKING:
    from reissue.audit.description import SeriesFragment, Workers
    from reissue.utility.rates import RateCounts

POINTS, DIGITS = 300, 5
"""Rates of the last release, at most, for a picture; and to how many digits."""


@dataclass(frozen=True)
class SeriesRates:
    """How far off rates by one pair of attributes are.

    pair:   as "age x sex"
    errors: for each release its number, the median relative error and the correlation with the truth, None where no
            rate is of enough people
    points: [true rate, published rate] of each cell and value in the last release
    """

    pair: str
    errors: list[tuple[int, float | None, float | None]]
    points: list[list[float]]

    @property
    def error(self) -> float | None:
        """The mean over the releases."""
        known = [error for _, error, _ in self.errors if error is not None]
        return sum(known) / len(known) if known else None

    @property
    def correlation(self) -> float | None:
        """That of the last release."""
        return self.errors[-1][2] if self.errors else None

    def to_dict(self) -> dict[str, object]:
        """Without what is told release by release."""
        return {"pair": self.pair, "error": self.error, "correlation": self.correlation, "points": self.points}


def measure_series_rates(
    fragments: Sequence[SeriesFragment], workers: Workers, value_count: int, pairs: Sequence[str] = ()
) -> list[SeriesRates]:
    """By each pair; without pairs, by one that is chosen from the schema. Members are known, classes of the fragments'
    own. Each round costs every fragment O(rows * cells) for a release; only counts of cells come from them.
    """
    from reissue.utility.rates import ROUNDS, TIMES, are_narrow, choose_pair, find_pair, make_cells

    domains = fragments[0].domains
    names, told = [domain.name for domain in domains], []
    for pair in [find_pair(text, names) for text in pairs] or [choose_pair(domains)]:
        cells, near = make_cells(domains, pair), None
        labels = workers.each(fragments, partial(_list_fragment, pair=pair))
        narrow = {
            number: tuple(are_narrow(parts) for parts in zip(*(one[number] for one in labels), strict=True))
            for number in labels[0]
        }
        for _ in range(ROUNDS + 1):
            count = partial(_count_fragment, pair=pair, cells=cells, value_count=value_count, narrow=narrow, near=near)
            parts = workers.each(fragments, count)
            sums = {number: reduce(add, [part[number] for part in parts]) for number in parts[0]}
            near = {number: counts.learn() for number, counts in sums.items()}
        found = {number: counts.compare(pair, cells) for number, counts in sums.items()}
        errors = [(number, _round(one.median), _round(one.correlation)) for number, one in found.items()]
        last = [*found.values()][-1]
        points = np.stack([last.actual[last.counted], last.published[last.counted]], axis=1)
        shown = np.round(points[:: len(points) // POINTS + 1], DIGITS).tolist()
        told.append(SeriesRates(TIMES.join(names[a] for a in pair), errors, shown))
    return told


def _list_fragment(fragment: SeriesFragment, pair: tuple[int, ...]) -> dict[int, list[Int32 | None]]:
    """By the number of each release the labels that its boxes show."""
    from reissue.utility.rates import list_labels

    return {release.number: list_labels(release, fragment.domains, pair) for release in fragment.releases}


def _count_fragment(
    fragment: SeriesFragment,
    pair: tuple[int, ...],
    cells: Int32,
    value_count: int,
    narrow: Mapping[int, tuple[bool, ...]],
    near: Mapping[int, Float64] | None,
) -> dict[int, RateCounts]:
    """By the number of each release. near: the rates that all fragments have learned; None: nothing yet."""
    from reissue.utility.rates import CellMargins

    found = {}
    for release in fragment.releases:
        some = release.members
        assert some is not None
        truth = Coded(some.subjects, some.codes, some.values, tuple(fragment.domains), value_count)
        margins = CellMargins.of(release, truth, pair, cells, narrow[release.number])
        found[release.number] = margins.deal(None if near is None else near[release.number])
    return found


def _round(measured: float) -> float | None:
    """So that sums over fragments are the same in whatever order they are added."""
    return None if np.isnan(measured) else round(measured, DIGITS)
