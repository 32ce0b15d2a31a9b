"""Full-domain generalization: the levels of each attribute, and searching the lattice of their combinations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from reissue.arrays.sets import find_starts, sorted_unique
from reissue.arrays.types import Bool, Float64, Int32, Int64
from reissue.model.boxes import losses
from reissue.model.domain import Domain

Node = tuple[int, ...]
"""A level per attribute: 0 leaves it as it is, the highest makes it "anything"."""
MOST_BETWEEN = 1 << 20
"""Combinations of levels that are searched where ranges are levels, too."""


@dataclass(frozen=True, eq=False)
class Ladder:
    """How one attribute generalizes, level by level, over the codes that occur.

    Every level cuts the codes into intervals, numbered by dense labels in code order; each level's intervals are unions
    of the level's below. A tree attribute has its tree's levels; a numeric one has intervals of 1, 2, 4, ... codes
    that start at multiples of their width, and "anything" as soon as one interval would do. A tree attribute that shows
    ranges may have further levels in between.

    codes:  int32[present] ascending, the codes that occur
    labels: per level int32[present]
    boxes:  per level int32[labels, 2], the closed interval each label stands for
    """

    domain: Domain
    codes: Int32
    labels: tuple[Int32, ...]
    boxes: tuple[Int32, ...]

    @property
    def height(self) -> int:
        return len(self.labels) - 1

    def size(self, level: int) -> int:
        """How many labels the level has."""
        return len(self.boxes[level])

    def up(self, low: int, high: int) -> Int32:
        """int32[labels at low]: the label at level `high` of each label at level `low`."""
        first = np.searchsorted(self.labels[low], np.arange(self.size(low)))
        return self.labels[high][first]

    def of(self, codes: Int32, level: int) -> Int32:
        """int32[n]: the labels of codes that occur. O(n) where codes are dense, O(n log present) where sparse."""
        low, width = int(self.codes[0]), int(self.codes[-1]) - int(self.codes[0]) + 1
        if width <= max(1 << 16, 4 * len(codes)):
            table: Int32 = np.zeros(width, dtype=np.int32)
            table[self.codes - low] = self.labels[level]
            return np.asarray(table[codes - low])
        return self.labels[level][np.searchsorted(self.codes, codes)]


def build_ladder(domain: Domain, codes: Int32, between: bool = False) -> Ladder:
    """The levels of one attribute. codes: int32[n], n > 0, in any order, with repetitions. between: whether ranges of a
    hierarchy's values may be levels, too, where the attribute shows ranges."""
    present = _present(codes)
    if domain.tree is not None:
        nodes = [domain.tree.at_level(level)[present] for level in range(domain.tree.height + 1)]
        intervals = [np.stack([domain.tree.lo[node], domain.tree.hi[node]], axis=1).astype(np.int64) for node in nodes]
        if between and domain.ranges:
            intervals = _add_between(intervals, np.bincount(np.searchsorted(present, codes)).astype(np.int64))
    else:
        intervals = _double_widths(present.astype(np.int64), domain)
    labels, boxes = [], []
    for interval in intervals:
        starts = np.diff(interval[:, 0], prepend=interval[0, 0] - 1) != 0
        labels.append((np.cumsum(starts) - 1).astype(np.int32))
        boxes.append(np.ascontiguousarray(interval[starts], dtype=np.int32))
    return Ladder(domain, present, tuple(labels), tuple(boxes))


def _add_between(levels: Sequence[Int64], rows: Int64) -> list[Int64]:
    """The levels, and between any two those that lead from the upper to the lower one by halving: an interval is cut
    between two of the lower level, as near to the middle of its rows as can be.

    levels: per level int64[present, 2], as what is returned; rows: int64[present]
    """
    before = find_starts(rows)
    found = [levels[-1]]
    for lower in levels[-2::-1]:
        edges = np.append(_find_edges(lower), len(rows))  # where the lower level's intervals begin
        while True:
            cut = _halve(_find_edges(found[-1]), edges, before)
            if len(cut) >= len(edges) - 1:
                break
            length = np.diff(cut, append=len(rows))
            first, last = lower[cut, 0], lower[cut + length - 1, 1]
            found.append(np.stack([np.repeat(first, length), np.repeat(last, length)], axis=1))
        found.append(lower)
    return found[::-1]


def _find_edges(intervals: Int64) -> Int64:
    """int64[]: the places where another interval begins, ascending, 0 first. intervals: int64[present, 2]."""
    return np.flatnonzero(np.diff(intervals[:, 0], prepend=intervals[0, 0] - 1))


def _halve(starts: Int64, edges: Int64, before: Int64) -> Int64:
    """int64[]: where runs begin after each was cut at an edge inside it, if there is one, nearest to the middle of its
    rows. starts: int64[runs], all of them edges; edges: int64[], and the end; before: int64[places + 1] rows before."""
    low, high = before[starts], before[np.append(starts[1:], edges[-1])]
    first = np.searchsorted(edges, starts) + 1
    after = np.append(first[1:] - 1, len(edges) - 1)  # the edge at which the next run begins
    above = np.clip(np.searchsorted(2 * before[edges], low + high), first, np.maximum(first, after - 1))
    under = np.maximum(above - 1, first)
    nearer = low + high - 2 * before[edges[under]] <= 2 * before[edges[above]] - low - high
    chosen = np.where(nearer, under, above)[first < after]
    return sorted_unique(np.concatenate([starts, edges[chosen]]))


def _double_widths(present: Int64, domain: Domain) -> list[Int64]:
    """Per level int64[present, 2]: the interval of each code. present: ascending.

    A code below the domain is that of missing values. It is no neighbour of any number, so it stays by itself at
    every level but the last.
    """
    intervals, width = [np.stack([present, present], axis=1)], 2
    numbers = present[present >= domain.lo]
    lowest, last = int(present[0]), int(present[-1])
    first = int(numbers[0]) if len(numbers) else last
    while first // width != last // width:
        low = numbers // width * width
        interval = intervals[0].copy()
        interval[len(present) - len(numbers) :] = np.stack([low, low + width - 1], axis=1)
        intervals.append(interval)
        if first < 0 <= last and width > max(-first, last):
            break  # below zero and above it: wider intervals stay apart at 0
        width *= 2
    everything = [min(domain.lo, lowest), max(domain.hi, last)]
    if everything[0] < everything[1]:
        intervals.append(np.broadcast_to(np.array(everything, dtype=np.int64), (len(present), 2)))
    limits = np.iinfo(np.int32)
    return [np.clip(interval, limits.min, limits.max) for interval in intervals]


def _present(codes: Int32) -> Int32:
    """int32[]: the distinct codes, ascending; by marking where they are dense, since sorting rows is dear."""
    low, high = int(codes.min()), int(codes.max())
    if high - low <= max(1 << 16, 4 * len(codes)):
        seen = np.zeros(high - low + 1, dtype=np.bool_)
        seen[codes - low] = True
        return (np.flatnonzero(seen) + low).astype(np.int32)
    return np.unique(codes)


def build_ladders(domains: Sequence[Domain], codes: Int32, between: bool = False) -> tuple[Ladder, ...]:
    """The levels of every attribute. codes: int32[rows, attributes]. between: see `build_ladder`; not where there would
    be more than `MOST_BETWEEN` combinations."""
    ladders = tuple(build_ladder(domain, codes[:, a], between) for a, domain in enumerate(domains))
    if between and prod(shape_of(ladders)) > MOST_BETWEEN:
        return build_ladders(domains, codes)
    return ladders


def shape_of(ladders: Sequence[Ladder]) -> tuple[int, ...]:
    """Levels per attribute: the shape of a bool array over the whole lattice."""
    return tuple(len(ladder.labels) for ladder in ladders)


def climb(candidates: Bool, test: Callable[[Node], bool]) -> Bool:
    """bool[lattice]: which candidate nodes pass a test that, once passed, holds for all generalizations.

    candidates: bool[levels of attribute 0, levels of attribute 1, ...], closed upwards: nodes already known to fail
    are False.
    """
    passed, failed = np.zeros_like(candidates), ~candidates
    settle(passed, failed, tuple(slice(None) for _ in candidates.shape), test)
    return passed


def settle(passed: Bool, failed: Bool, face: tuple[slice, ...], test: Callable[[Node], bool]) -> None:
    """Decide every node of a face of the lattice; what passes marks all above it, what fails marks all below it.

    From each undecided node, lowest first, a path of undecided nodes leads upwards; the lowest that passes is found on
    it by bisection. So `test` is asked about few nodes, and rarely about specific ones, which cost most.
    """
    corner = [part.indices(size)[0] for part, size in zip(face, passed.shape, strict=True)]
    nodes = np.argwhere(~(passed | failed)[face]) + np.array(corner, dtype=np.int64)
    for levels in nodes[np.argsort(nodes.sum(axis=1), kind="stable")].tolist():
        node = tuple(levels)
        while not (passed[node] or failed[node]):
            path = path_up(node, passed, failed)
            low, high = 0, len(path)
            while low < high:
                middle = (low + high) // 2
                if test(path[middle]):
                    passed[tuple(slice(level, None) for level in path[middle])] = True
                    high = middle
                else:
                    failed[tuple(slice(None, level + 1) for level in path[middle])] = True
                    low = middle + 1


def path_up(node: Node, passed: Bool, failed: Bool) -> list[Node]:
    """Undecided nodes from `node` upwards, each a direct generalization of the one before."""
    path = [node]
    axis = 0
    while axis < len(node):
        above = (*node[:axis], node[axis] + 1, *node[axis + 1 :])
        if above[axis] < passed.shape[axis] and not passed[above] and not failed[above]:
            node = above
            path.append(node)
        else:
            axis += 1
    return path


def minimal(passed: Bool) -> list[Node]:
    """The nodes that pass while none of their direct specializations does, in lexicographic order."""
    lowest = passed.copy()
    for axis in range(passed.ndim):
        below = np.zeros_like(passed)
        below[_all_but(axis, passed.ndim, slice(1, None))] = passed[_all_but(axis, passed.ndim, slice(None, -1))]
        lowest &= ~below
    return [tuple(node) for node in np.argwhere(lowest).tolist()]


def _all_but(axis: int, dimensions: int, part: slice) -> tuple[slice, ...]:
    return tuple(part if i == axis else slice(None) for i in range(dimensions))


def loss_per_level(ladder: Ladder, counts: Float64) -> Float64:
    """float64[levels]: the summed loss (NCP times weight) of this attribute over all rows, if taken to each level.

    counts: float64[present], rows per code that occurs. A node's total loss is the sum over its attributes.
    """
    total = np.empty(len(ladder.labels), dtype=np.float64)
    for level, (labels, boxes) in enumerate(zip(ladder.labels, ladder.boxes, strict=True)):
        total[level] = (losses(boxes[:, None, :], [ladder.domain])[labels, 0] * counts).sum()
    return total * ladder.domain.weight
