"""Random count queries: what a reader of the release would answer, against the truth in the snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from reissue.arrays.types import Bool, Float64, Int32, Int64
from reissue.errors import SettingsError
from reissue.model.domain import Domain
from reissue.model.observed import ObservedRelease
from reissue.model.release import Coded, Facts
from reissue.utility.counting import RowGroups, count_points, weigh_boxes, weigh_rows
from reissue.utility.learned_shares import learn_shares
from reissue.utility.measure import as_release, clip_boxes, exact_rows


@dataclass(frozen=True, eq=False)
class Queries:
    """Count the rows with every code in low..high and the sensitive value in value_low..value_high; all ends count.

    low, high: int32[queries, attributes]; value_low, value_high: int32[queries]
    """

    low: Int32
    high: Int32
    value_low: Int32
    value_high: Int32

    def __len__(self) -> int:
        return len(self.low)


@dataclass(frozen=True, eq=False)
class QueryErrors:
    """The answers to queries: int64[queries] in the snapshot, float64[queries] from the release."""

    actual: Int64
    estimated: Float64

    @property
    def relative(self) -> Float64:
        """float64[queries that match somebody]: |actual - estimated| / actual; the others have no relative error."""
        some = self.actual > 0
        return np.abs(self.estimated[some] - self.actual[some]) / self.actual[some]

    @property
    def empty(self) -> int:
        """Queries left out because nobody in the snapshot matches them."""
        return int((self.actual == 0).sum())

    @property
    def median(self) -> float:
        """Over queries, not rows or classes; NaN if no query matches anybody."""
        return float(np.median(self.relative)) if self.empty < len(self.actual) else float("nan")

    @property
    def mean(self) -> float:
        """Over queries, not rows or classes; NaN if no query matches anybody."""
        return float(self.relative.mean()) if self.empty < len(self.actual) else float("nan")


def random_queries(
    rng: np.random.Generator,
    domains: Sequence[Domain],
    value_count: int,
    *,
    count: int = 1000,
    selectivity: float = 0.05,
    attributes_per_query: int | None = None,
    sensitive: bool = True,
) -> Queries:
    """Random range queries that would return the share `selectivity` of evenly spread rows.

    Each restricts `attributes_per_query` random attributes (all of them without it) and, if `sensitive`, the sensitive
    value, to random ranges of codes whose shares multiply to the selectivity. For an attribute with a taxonomy
    the range is one of neighbouring leaves in the taxonomy's order, not necessarily a node of it.
    """
    chosen = len(domains) if attributes_per_query is None else attributes_per_query
    _check(count, selectivity, chosen, len(domains))
    low = np.array([*(d.lo for d in domains), 0], dtype=np.int64)
    size = np.array([*(d.hi - d.lo + 1 for d in domains), value_count], dtype=np.int64)
    restricted = np.zeros((count, len(size)), dtype=np.bool_)
    picked = np.argsort(rng.random((count, len(domains))), axis=1)[:, :chosen]
    np.put_along_axis(restricted, picked, True, axis=1)
    restricted[:, -1] = sensitive
    length = _draw_lengths(rng, size, restricted, selectivity)
    start = low + rng.integers(0, size - length + 1)
    end = start + length - 1
    first, last = start.astype(np.int32), end.astype(np.int32)
    return Queries(first[:, :-1].copy(), last[:, :-1].copy(), first[:, -1].copy(), last[:, -1].copy())


def _check(count: int, selectivity: float, chosen: int, attributes: int) -> None:
    if count < 1:
        raise SettingsError(f"count is {count}; at least 1 query is needed.")
    if not 0.0 < selectivity <= 1.0:
        raise SettingsError(f"selectivity is {selectivity}; it is a share of the rows, above 0 and at most 1.")
    if not 0 <= chosen <= attributes:
        raise SettingsError(f"attributes_per_query is {chosen}; the schema has {attributes} quasi-identifiers.")


def _draw_lengths(rng: np.random.Generator, size: Int64, restricted: Bool, selectivity: float) -> Int64:
    """int64[queries, dimensions]: how many codes each range has; unrestricted dimensions keep all.

    Small domains first: a range of two codes can only be a half or all, and what it cannot give the others make up for.
    Lengths between two numbers are rounded up as often as keeps their mean.
    """
    length = np.broadcast_to(size, restricted.shape).copy()
    left = np.full(len(restricted), selectivity)
    open_ = restricted.sum(axis=1)
    for d in np.argsort(size, kind="stable"):
        share = left ** (1.0 / np.maximum(open_, 1))
        wanted = np.floor(size[d] * share + rng.random(len(left)))
        wanted = np.clip(wanted, 1, size[d]).astype(np.int64)
        here = restricted[:, d]
        length[here, d] = wanted[here]
        left[here] = np.minimum(1.0, left[here] * size[d] / wanted[here])
        open_ = open_ - here
    return length


def count_exactly(queries: Queries, codes: Int32, values: Int32) -> Int64:
    """int64[queries]: rows of int32[rows, attributes] and int32[rows] that match each query."""
    return count_points(
        np.concatenate([codes, values[:, None]], axis=1),
        np.concatenate([queries.low, queries.value_low[:, None]], axis=1),
        np.concatenate([queries.high, queries.value_high[:, None]], axis=1),
    )


def estimate(queries: Queries, release: Facts | ObservedRelease, domains: Sequence[Domain]) -> Float64:
    """float64[queries]: the count that a reader of the release would expect.

    Generalized: the rows of a group lie evenly on the codes of their box. Anatomized: the QI rows are counted as they
    are, and each has the query's values with the share that they have in its class. Told: the rows lie in boxes
    of their own, and the values of a class are shared out among its rows as all classes suggest.
    """
    if len(release.classes) == 0:
        return np.zeros(len(queries))
    classes, group_values, counts = _share_out(release) or as_release(release).groups
    asked = np.stack([queries.value_low, queries.value_high], axis=1)
    if release.anatomized:
        codes, row_classes = exact_rows(release)
        groups = RowGroups.of(classes, group_values, counts, release.class_count)
        return weigh_rows(codes, row_classes, groups, queries.low, queries.high, asked)
    filled, place = np.unique(classes, return_inverse=True)
    groups = RowGroups.of(place.astype(np.int32), group_values, counts, len(filled))
    return weigh_boxes(clip_boxes(release.boxes[filled], domains), groups, queries.low, queries.high, asked)


def _share_out(release: Facts | ObservedRelease) -> tuple[Int32, Int32, Float64] | None:
    """(box, value, expected rows) of a release that tells values by standing class; None for others. O(rows * values).

    The values of a class are shared out among its rows as all classes suggest.
    """
    kept = release.standing if isinstance(release, Facts) else release.told
    if kept is None or not kept.told:
        return None
    live, home = np.unique(kept.tokens.standing, return_inverse=True)
    table = np.zeros((len(live), int(kept.tokens.value.max(initial=0)) + 1))
    table[home, kept.tokens.value] = kept.tokens.count / np.bincount(home, kept.tokens.count)[home]
    place = np.searchsorted(live, kept.standing).astype(np.int32)
    shares = learn_shares(release.boxes[release.classes], place, table)
    shape = (release.class_count, table.shape[1])
    found = csr_array((shares.weight, (release.classes[shares.row], shares.value)), shape=shape).tocoo()
    order = np.lexsort((found.col, found.row))
    return found.row[order].astype(np.int32), found.col[order].astype(np.int32), found.data[order]


def query_errors(queries: Queries, release: Facts | ObservedRelease, snapshot: Coded) -> QueryErrors:
    """The error that a reader of the release makes about the snapshot, suppressed rows and counterfeits included."""
    return QueryErrors(
        count_exactly(queries, snapshot.codes, snapshot.values), estimate(queries, release, snapshot.domains)
    )
