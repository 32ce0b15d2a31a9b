"""Which new rows belong to which clusters of earlier releases: cuts that follow the boundaries between clusters.

New rows and clusters are divided together, as Mondrian divides rows. A cut is placed where it crosses fewest clusters,
which finds the cuts of the release before; a cluster goes, whole, to the side of its centre. Both sides must have no
new row, or enough and diverse enough of them to stand alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.sorting import find_order, sort_ascending
from reissue.arrays.types import Bool, Int32, Int64
from reissue.model.requirement_kernels import Limits, slice_meets
from reissue.partition.tables import CutBuffers, Forest

CLEAN = 0.15
"""Cost below which a cut is taken without looking at narrower attributes."""


class RoutedPart(NamedTuple):
    """New rows and clusters that are divided together.

    codes: int32[rows, attributes], values: int32[rows], boxes: int32[clusters, attributes, 2], of the whole table
    rows, clusters: int64[], those of this part, by number; right, cluster_right: bool[], of the whole table, who goes
    to the right of the cut last taken
    """

    codes: Int32
    values: Int32
    boxes: Int32
    rows: Int64
    clusters: Int64
    right: Bool
    cluster_right: Bool


@njit(cache=True)
def route(
    codes: Int32, values: Int32, boxes: Int32, forest: Forest, limits: Limits, scratch: CutBuffers
) -> tuple[Int64, Int64]:
    """(leaf of each new row int64[rows], leaf of each cluster int64[clusters]); leaves are numbered from 0.

    codes: int32[rows, attributes], values: int32[rows] of the new rows; boxes: int32[clusters, attributes, 2]. All new
    rows together must meet the limits. O((rows + clusters) * attributes * log^2).
    """
    rows, clusters = np.arange(len(codes)), np.arange(len(boxes))
    right, cluster_right = np.empty(len(codes), np.bool_), np.empty(len(boxes), np.bool_)
    row_leaf, cluster_leaf = np.empty(len(codes), np.int64), np.empty(len(boxes), np.int64)
    room = 2 * (len(codes) // max(1, limits.k) + 2)
    stack = np.empty((room, 4), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = 0, len(codes), 0, len(boxes)
    height, leaves = 1, 0
    while height:
        height -= 1
        r0, r1, c0, c1 = stack[height, 0], stack[height, 1], stack[height, 2], stack[height, 3]
        part = RoutedPart(codes, values, boxes, rows[r0:r1], clusters[c0:c1], right, cluster_right)
        if r1 - r0 < 2 * limits.k or c1 - c0 <= 1 or not _cut(part, forest, limits, scratch):
            for row in part.rows:
                row_leaf[row] = leaves
            for cluster in part.clusters:
                cluster_leaf[cluster] = leaves
            leaves += 1
            continue
        r, c = r0 + _arrange(part.rows, right), c0 + _arrange(part.clusters, cluster_right)
        stack[height, 0], stack[height, 1], stack[height, 2], stack[height, 3] = r, r1, c, c1
        height += 1
        stack[height, 0], stack[height, 1], stack[height, 2], stack[height, 3] = r0, r, c0, c
        height += 1
    return row_leaf, cluster_leaf


@njit(cache=True)
def _arrange(some: Int64, right: Bool) -> int:
    """Put those on the left first, in place; how many they are."""
    kept, left = some.copy(), 0
    for one in kept:
        if not right[one]:
            some[left] = one
            left += 1
    at = left
    for one in kept:
        if right[one]:
            some[at] = one
            at += 1
    return left


@njit(cache=True)
def _cut(part: RoutedPart, forest: Forest, limits: Limits, scratch: CutBuffers) -> bool:
    """Choose the legal cut that crosses fewest clusters, wide attributes first; marks who goes right."""
    codes, rows = part.codes, part.rows
    attributes = codes.shape[1]
    narrow, cost, last = np.empty(attributes), np.full(attributes, np.inf), np.zeros(attributes, np.int64)
    low, high = scratch.low, scratch.high
    for a in range(attributes):
        low[a], high[a] = codes[rows[0], a], codes[rows[0], a]
    for row in rows:
        for a in range(attributes):
            low[a], high[a] = min(low[a], codes[row, a]), max(high[a], codes[row, a])
    for a in range(attributes):
        narrow[a] = 1.0 - (float(high[a]) - float(low[a])) / forest.span[a]
    for a in find_order(narrow):
        if narrow[a] == 1.0:
            continue
        cost[a], last[a] = _place(part, a, forest, limits)
        cost[a] += 0.2 * narrow[a]
        if cost[a] < CLEAN and _take(part, a, last[a], limits, scratch):
            return True
    for a in find_order(cost):
        if cost[a] == np.inf:
            return False
        if _take(part, a, last[a], limits, scratch):
            return True
    return False


@njit(cache=True)
def _take(part: RoutedPart, a: int, last: int, limits: Limits, scratch: CutBuffers) -> bool:
    """Mark who goes right of a cut of attribute `a` after code `last`, if the new rows of both sides stand alone."""
    for row in part.rows:
        part.right[row] = part.codes[row, a] > last
    if not _sides_meet(part, limits, scratch):
        return False
    for cluster in part.clusters:
        centre = (np.int64(part.boxes[cluster, a, 0]) + np.int64(part.boxes[cluster, a, 1])) // 2
        part.cluster_right[cluster] = centre > last
    return True


@njit(cache=True)
def _place(part: RoutedPart, a: int, forest: Forest, limits: Limits) -> tuple[float, int]:
    """(cost, last code of the left side) of the best cut of one attribute; infinite if there is none."""
    total, ends = len(part.rows), len(part.clusters)
    ordered, low, high = np.empty(total, np.int64), np.empty(ends, np.int64), np.empty(ends, np.int64)
    for p in range(total):
        ordered[p] = part.codes[part.rows[p], a]
    for p in range(ends):
        low[p], high[p] = part.boxes[part.clusters[p], a, 0], part.boxes[part.clusters[p], a, 1]
    sort_ascending(ordered)
    sort_ascending(low)
    sort_ascending(high)
    best, last = np.inf, np.int64(0)
    previous = np.int64(-1) << 40
    for p in range(ends + 1):
        at = high[p] if p < ends else ordered[(total - 1) // 2]
        if at == previous or (forest.root[a] >= 0 and not _between_nodes(a, at, ordered[0], ordered[-1], forest)):
            continue
        previous = at
        left = _count_upto(ordered, at)
        if min(left, total - left) < limits.k:
            continue
        crossed = _count_upto(low, at) - _count_upto(high, at)
        cost = _cost(crossed / ends, left / total)
        if cost < best:
            best, last = cost, at
    return best, int(last)


@njit(cache=True)
def _count_upto(ascending: Int64, most: int) -> int:
    """How many of ascending numbers are at most so large. O(log n)."""
    low, high = 0, len(ascending)
    while low < high:
        middle = (low + high) // 2
        if ascending[middle] <= most:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True)
def _cost(crossed: float, left: float) -> float:
    """Of a cut: the share of clusters crossed, plus a little if it is lopsided. left: the share of rows there."""
    return crossed + 0.2 * abs(2.0 * left - 1.0)


@njit(cache=True)
def _between_nodes(a: int, at: int, low: int, high: int, forest: Forest) -> bool:
    """Whether a cut after code `at` runs between two children of the node that covers low..high."""
    if at < low or at >= high:
        return False
    node = forest.leaf_node[forest.leaf_start[a] + low]
    while forest.hi[node] < high:
        node = forest.parent[node]
    for p in range(forest.child_start[node], forest.child_start[node + 1]):  # noqa: SIM110 (numba)
        if forest.hi[forest.child[p]] == at:
            return True
    return False


@njit(cache=True)
def _sides_meet(part: RoutedPart, limits: Limits, scratch: CutBuffers) -> bool:
    """Whether the new rows of both sides meet the limits."""
    total = len(part.rows)
    picked, left, right = np.empty(total, np.int32), 0, total
    for row in part.rows:
        if part.right[row]:
            right -= 1
            picked[right] = part.values[row]
        else:
            picked[left] = part.values[row]
            left += 1
    return slice_meets(picked, 0, left, scratch.counts, scratch.present, limits) and slice_meets(
        picked, left, total, scratch.counts, scratch.present, limits
    )
