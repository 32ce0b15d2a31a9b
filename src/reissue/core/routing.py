"""Which new rows belong to which clusters of earlier releases: cuts that follow the boundaries between clusters.

New rows and clusters are divided together, as Mondrian divides rows. A cut is placed where it crosses fewest clusters,
which finds the cuts of the release before; a cluster goes, whole, to the side of its centre. Both sides must have no
new row, or enough and diverse enough of them to stand alone.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from reissue.core.domain import Bool, Int32, Int64
from reissue.core.limits import Limits, slice_meets
from reissue.core.mondrian import Forest, Scratch


@njit(cache=True)
def route(
    codes: Int32, values: Int32, boxes: Int32, forest: Forest, limits: Limits, scratch: Scratch
) -> tuple[Int64, Int64]:
    """(leaf of each new row int64[rows], leaf of each cluster int64[clusters]); leaves are numbered from 0.

    codes: int32[rows, attributes], values: int32[rows] of the new rows; boxes: int32[clusters, attributes, 2]. All new
    rows together must meet the limits. O((rows + clusters) * attributes * log^2).
    """
    rows, clusters = np.arange(len(codes)), np.arange(len(boxes))
    row_leaf, cluster_leaf = np.empty(len(codes), np.int64), np.empty(len(boxes), np.int64)
    room = 2 * (len(codes) // max(1, limits.k) + 2)
    stack = np.empty((room, 4), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = 0, len(codes), 0, len(boxes)
    height, leaves = 1, 0
    side, cluster_side = np.empty(len(codes), np.bool_), np.empty(len(boxes), np.bool_)
    while height:
        height -= 1
        r0, r1, c0, c1 = stack[height, 0], stack[height, 1], stack[height, 2], stack[height, 3]
        cut = False
        if r1 - r0 >= 2 * limits.k and c1 - c0 > 1:
            cut = _cut(
                codes, values, boxes, rows, clusters, r0, r1, c0, c1, forest, limits, scratch, side, cluster_side
            )
        if not cut:
            for p in range(r0, r1):
                row_leaf[rows[p]] = leaves
            for p in range(c0, c1):
                cluster_leaf[clusters[p]] = leaves
            leaves += 1
            continue
        r, c = _arrange(rows, r0, r1, side), _arrange(clusters, c0, c1, cluster_side)
        stack[height, 0], stack[height, 1], stack[height, 2], stack[height, 3] = r, r1, c, c1
        height += 1
        stack[height, 0], stack[height, 1], stack[height, 2], stack[height, 3] = r0, r, c0, c
        height += 1
    return row_leaf, cluster_leaf


@njit(cache=True)
def _arrange(order: Int64, start: int, stop: int, right: Bool) -> int:
    """Those on the left first; where the right ones begin."""
    kept, left = order[start:stop].copy(), start
    for p in range(len(kept)):
        if not right[kept[p]]:
            order[left] = kept[p]
            left += 1
    at = left
    for p in range(len(kept)):
        if right[kept[p]]:
            order[at] = kept[p]
            at += 1
    return left


@njit(cache=True)
def _cut(
    codes: Int32,
    values: Int32,
    boxes: Int32,
    rows: Int64,
    clusters: Int64,
    r0: int,
    r1: int,
    c0: int,
    c1: int,
    forest: Forest,
    limits: Limits,
    scratch: Scratch,
    side: Bool,
    cluster_side: Bool,
) -> bool:
    """Choose the legal cut that crosses fewest clusters, wide attributes first; marks who goes right."""
    attributes = codes.shape[1]
    cost, last = np.full(attributes, np.inf), np.zeros(attributes, np.int64)
    for a in range(attributes):
        cost[a], last[a] = _place(codes, boxes, rows, clusters, r0, r1, c0, c1, a, forest, limits)
    for a in np.argsort(cost):
        if cost[a] == np.inf:
            return False
        for p in range(r0, r1):
            side[rows[p]] = codes[rows[p], a] > last[a]
        if not _sides_meet(values, rows, r0, r1, side, limits, scratch):
            continue
        for p in range(c0, c1):
            centre = (np.int64(boxes[clusters[p], a, 0]) + np.int64(boxes[clusters[p], a, 1])) // 2
            cluster_side[clusters[p]] = centre > last[a]
        return True
    return False


@njit(cache=True)
def _place(
    codes: Int32,
    boxes: Int32,
    rows: Int64,
    clusters: Int64,
    r0: int,
    r1: int,
    c0: int,
    c1: int,
    a: int,
    forest: Forest,
    limits: Limits,
) -> tuple[float, int]:
    """(cost, last code of the left side) of the best cut of one attribute; infinite if there is none.

    Cost: the share of clusters crossed, plus a little for narrow attributes and for lopsided cuts.
    """
    ordered, low, high = np.empty(r1 - r0, np.int64), np.empty(c1 - c0, np.int64), np.empty(c1 - c0, np.int64)
    for p in range(r1 - r0):
        ordered[p] = codes[rows[r0 + p], a]
    for p in range(c1 - c0):
        low[p], high[p] = boxes[clusters[c0 + p], a, 0], boxes[clusters[c0 + p], a, 1]
    ordered.sort()
    low.sort()
    high.sort()
    total, narrow = len(ordered), 0.2 * (1.0 - (ordered[-1] - ordered[0]) / forest.span[a])
    best, last = np.inf, np.int64(0)
    previous = np.int64(-1) << 40
    for p in range(len(high) + 1):
        at = high[p] if p < len(high) else ordered[(total - 1) // 2]
        if at == previous or (forest.root[a] >= 0 and not _between_nodes(a, at, ordered[0], ordered[-1], forest)):
            continue
        previous = at
        left = np.searchsorted(ordered, at, side="right")
        if min(left, total - left) < limits.k:
            continue
        crossed = np.searchsorted(low, at, side="right") - np.searchsorted(high, at, side="right")
        cost = crossed / len(high) + narrow + 0.2 * abs(2.0 * left / total - 1.0)
        if cost < best:
            best, last = cost, at
    return best, int(last)


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
def _sides_meet(values: Int32, rows: Int64, r0: int, r1: int, side: Bool, limits: Limits, scratch: Scratch) -> bool:
    for right in (False, True):
        picked, count = np.empty(r1 - r0, np.int32), 0
        for p in range(r0, r1):
            if side[rows[p]] == right:
                picked[count] = values[rows[p]]
                count += 1
        if not slice_meets(picked, 0, count, scratch.counts, scratch.present, limits):
            return False
    return True
