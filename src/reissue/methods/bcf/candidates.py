"""n releases side by side: which records are left for someone whose quasi-identifiers and arrival are known.

Someone who arrived with release t matches one class in every release from t on and has a record in each of them, and
in none before. So of the records of one sensitive value in those classes at most

    min over i >= t of (records in release i - those that must be older than t)

can be theirs, whichever release is searched; their candidates are the sum over values. Where classes are not global
cuts, no more than the exact flow between two releases can stay in both, which caps the minimum further.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.sets import sum_rows
from reissue.arrays.types import Bool, Int32, Int64
from reissue.methods.bcf.cracks import Pair, compare
from reissue.model.box_index import find_meeting
from reissue.model.observed import Groups
from reissue.model.overlap import GroupedRelease, intersect_groups
from reissue.model.requirement_kernels import Limits, meets


@dataclass(frozen=True, eq=False)
class Targets:
    """People as the attacker tells them apart: by arrival and the class they match in each release since.

    arrival: position in the chain, from 0
    classes: int32[targets, releases from the arrival on]
    start:   int64[targets + 1]; values: int32[], amounts: int64[] the records of each value that are left
    least:   int64[targets] so many candidates in any case, where amounts may be too large (`joint_candidates`)
    """

    arrival: int
    classes: Int32
    start: Int64
    values: Int32
    amounts: Int64
    least: Int64 | None = None

    def __len__(self) -> int:
        return len(self.classes)

    @property
    def loose(self) -> Bool:
        """bool[targets]: whose candidates are only known to be no more than `totals`."""
        return np.zeros(len(self), dtype=np.bool_) if self.least is None else self.least < self.totals

    @cached_property
    def totals(self) -> Int64:
        """int64[targets]: candidates of each target."""
        return sum_rows(self.amounts, self.start)

    def keep(self, which: Int64) -> Targets:
        """The targets at these positions, in this order."""
        start, taken = _take(self.start, which)
        least = None if self.least is None else self.least[which]
        return Targets(self.arrival, self.classes[which], start, self.values[taken], self.amounts[taken], least)


class ReleaseChain:
    """Releases of which each contains all records of the one before; pairs are compared once, when first needed."""

    def __init__(self, releases: Sequence[GroupedRelease]) -> None:
        self.releases = tuple(releases)
        self._pairs: dict[tuple[int, int], Pair] = {}

    def __len__(self) -> int:
        return len(self.releases)

    def extend(self, release: GroupedRelease) -> ReleaseChain:
        """The chain with one more release; what has been compared stays compared."""
        longer = ReleaseChain([*self.releases, release])
        longer._pairs.update(self._pairs)
        return longer

    def until(self, last: int) -> ReleaseChain:
        """The chain up to and including position `last`."""
        shorter = ReleaseChain(self.releases[: last + 1])
        shorter._pairs.update({pair: found for pair, found in self._pairs.items() if pair[1] <= last})
        return shorter

    def holds_last(self) -> bool:
        """Whether the last release can contain every record of every earlier one."""
        return all(self.pair(earlier, len(self) - 1).unplaced == 0 for earlier in range(len(self) - 1))

    def pair(self, earlier: int, later: int) -> Pair:
        if (earlier, later) not in self._pairs:
            self._pairs[earlier, later] = compare(self.releases[earlier], self.releases[later])
        return self._pairs[earlier, later]

    def arrivals(self) -> list[int]:
        """Positions at which somebody arrived: a release without new records has no newcomers to seek."""
        totals = [0, *(release.total for release in self.releases)]
        return [t for t in range(len(self)) if totals[t + 1] > totals[t]]

    def free(self, position: int, arrival: int) -> Int64:
        """int64[groups of the release]: records that need not be older than `arrival`: all but the worst B crack."""
        release = self.releases[position]
        left = release.counts.copy()
        for earlier in range(arrival):
            np.minimum(left, release.counts - self.pair(earlier, position).old, out=left)
        return left

    def joint_boxes(self, targets: Targets) -> Int32:
        """int32[targets, attributes, 2]: where someone must be to match all classes of a target."""
        since = range(targets.classes.shape[1])
        columns = [self.releases[targets.arrival + c].boxes[targets.classes[:, c]] for c in since]
        boxes = columns[0].copy()
        for box in columns[1:]:
            np.maximum(boxes[..., 0], box[..., 0], out=boxes[..., 0])
            np.minimum(boxes[..., 1], box[..., 1], out=boxes[..., 1])
        return boxes


def possible_targets(chain: ReleaseChain, arrival: int, *, strict: bool = False) -> Targets:
    """Everyone who could exist: classes with a common point, up to the last release, with at least one candidate.

    `strict` keeps those whom the last release itself leaves without a candidate: nobody can be there, but the paper
    counts such classes, and so does a publisher who wants every class to be safe whoever is in it. Boxes that meet in
    pairs have a common point, so the classes are joined release by release. O(targets x groups).
    """
    last, first = len(chain) - 1, chain.releases[arrival]
    targets = _alone(chain, arrival, np.flatnonzero(first.sizes > 0))
    if arrival < last or not strict:
        targets = targets.keep(np.flatnonzero(targets.totals > 0))
    boxes = first.boxes[targets.classes[:, 0]]
    for position in range(arrival + 1, last + 1):
        release = chain.releases[position]
        present = np.flatnonzero(release.sizes > 0)
        row, j = find_meeting(boxes, release.boxes[present])
        order = np.lexsort((j, row))
        row, j = row[order], present[j[order]]
        targets = _follow(chain, targets, row.astype(np.int64), j.astype(np.int32), position)
        if strict and position == last:
            return targets
        alive = np.flatnonzero(targets.totals > 0)
        targets, row, j = targets.keep(alive), row[alive], j[alive]
        there = release.boxes[j]
        lo, hi = np.maximum(boxes[row, :, 0], there[..., 0]), np.minimum(boxes[row, :, 1], there[..., 1])
        boxes = np.stack([lo, hi], axis=-1)
    return targets


def known_targets(chain: ReleaseChain, arrival: int, classes: Int32) -> Targets:
    """The candidates of people whose classes are known: int32[targets, releases from the arrival on]."""
    targets = _alone(chain, arrival, classes[:, 0])
    rows = np.arange(len(classes), dtype=np.int64)
    for c in range(1, classes.shape[1]):
        targets = _follow(chain, targets, rows, classes[:, c].astype(np.int32), arrival + c)
    return targets


def all_meet(targets: Targets, limits: Sequence[Limits], value_count: int) -> bool:
    """Whether the candidates of every target keep within all limits. O(entries)."""
    return all(_meet(targets.start, targets.values, targets.amounts, value_count, limit) for limit in limits)


def count_composed(chain: ReleaseChain, targets: Targets) -> Int64:
    """int64[targets]: what the paper's micro attacks and its two compositions (B then F, B then C) leave.

    Section 7.1: the arrival's group loses its worst B crack and then what the later groups cannot hold; later groups
    lose no B crack of their own. Never below `totals`. Stated for global cuts.
    """
    alone = _alone(chain, targets.arrival, targets.classes[:, 0])
    left, rows = Groups(alone.start, alone.values, alone.amounts), np.arange(len(targets), dtype=np.int64)
    for c in range(1, targets.classes.shape[1]):
        later = chain.releases[targets.arrival + c]
        shown = Groups(later.start, later.values, later.counts)
        left = intersect_groups(left, shown, rows, targets.classes[:, c])
    return Targets(targets.arrival, targets.classes, left.start, left.value, left.count).totals


def _alone(chain: ReleaseChain, arrival: int, classes: Int64 | Int32) -> Targets:
    """Targets that match these classes of the release they arrived with; later releases are not looked at yet."""
    release = chain.releases[arrival]
    start, taken = _take(release.start, classes.astype(np.int64))
    free = chain.free(arrival, arrival)
    return Targets(arrival, classes.astype(np.int32)[:, None], start, release.values[taken], free[taken])


def _follow(chain: ReleaseChain, targets: Targets, rows: Int64, classes: Int32, position: int) -> Targets:
    """The targets `rows`, now that they also match `classes` of release `position`."""
    release = chain.releases[position]
    shown = Groups(release.start, release.values, chain.free(position, targets.arrival))
    left = intersect_groups(Groups(targets.start, targets.values, targets.amounts), shown, rows, classes)
    start, values, amounts = left.start, left.value, left.count
    joined = np.concatenate([targets.classes[rows], classes[:, None]], axis=1)
    for c in range(joined.shape[1] - 1):
        pair = chain.pair(targets.arrival + c, position)
        if not pair.closed:
            width = len(release.boxes)
            key = pair.left_class.astype(np.int64) * width + pair.right_class
            at = np.searchsorted(key, joined[:, c].astype(np.int64) * width + classes)
            _cap(start, values, amounts, at, pair.edge_start, pair.right.values[pair.edge_right], pair.most)
    return Targets(targets.arrival, joined, start, values, amounts)


@njit(cache=True)
def _take(start: Int64, which: Int64) -> tuple[Int64, Int64]:
    """Where the chosen rows of a sparse table begin once put together, and the entries to take. O(entries)."""
    begin = np.zeros(len(which) + 1, dtype=np.int64)
    for r in range(len(which)):
        begin[r + 1] = begin[r] + start[which[r] + 1] - start[which[r]]
    taken = np.empty(begin[-1], dtype=np.int64)
    for r in range(len(which)):
        for e in range(begin[r + 1] - begin[r]):
            taken[begin[r] + e] = start[which[r]] + e
    return begin, taken


@njit(cache=True)
def _cap(
    start: Int64, values: Int32, amounts: Int64, pair: Int64, edge_start: Int64, edge_values: Int32, most: Int64
) -> None:
    """Lower each amount to what one saturating flow can keep in both classes of the target's pair. O(entries)."""
    for r in range(len(pair)):
        e = edge_start[pair[r]]
        for x in range(start[r], start[r + 1]):
            while edge_values[e] < values[x]:  # both groups have records, so the edge is there
                e += 1
            amounts[x] = min(amounts[x], most[e])


@njit(cache=True)
def _meet(start: Int64, values: Int32, amounts: Int64, value_count: int, limits: Limits) -> bool:
    counts, present = np.zeros(value_count, dtype=np.int64), np.empty(value_count, dtype=np.int32)
    for r in range(len(start) - 1):
        found, total = 0, 0
        for e in range(start[r], start[r + 1]):
            if amounts[e] > 0:
                counts[values[e]], present[found] = amounts[e], values[e]
                found, total = found + 1, total + amounts[e]
        holds = meets(counts, present, found, total, limits)
        for i in range(found):
            counts[present[i]] = 0
        if not holds:
            return False
    return True
