"""Points in the order of their distance from a place, the nearest first, as many as one asks for: a kernel.

A balanced tree of boxes over the points, and a heap of what was met and not yet opened. Asking for the nearest m of n
points costs about O((m + log n) log n), where sorting all distances would cost O(n).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.sorting import find_order
from reissue.arrays.types import Float64, Int64

BUCKET = 8


class Around(NamedTuple):
    """A tree over points float64[n, d]: node i has the children 2i and 2i+1; the root is 1.

    order: int64[n] points, leaf by leaf; bounds: int64[leaves + 1] where a leaf's points are in the order; low, high:
    float64[nodes, d] the box of a node's points
    """

    points: Float64
    order: Int64
    bounds: Int64
    low: Float64
    high: Float64


class Heap(NamedTuple):
    """A binary heap by key. key: float64[room]; at: int64[room], a node, or ~point; size: int64[1]."""

    key: Float64
    at: Int64
    size: Int64


@njit(cache=True)
def plant(points: Float64) -> Around:
    """The tree: nodes are halved at the median of their widest attribute. O(n log^2 n)."""
    n, d = points.shape
    leaves = 1
    while leaves * BUCKET < n:
        leaves *= 2
    first, last = np.zeros(2 * leaves, dtype=np.int64), np.zeros(2 * leaves, dtype=np.int64)
    low, high = np.full((2 * leaves, d), np.inf), np.full((2 * leaves, d), -np.inf)
    order = np.arange(n)
    last[1] = n
    for node in range(1, 2 * leaves):
        for i in range(first[node], last[node]):
            for a in range(d):
                low[node, a] = min(low[node, a], points[order[i], a])
                high[node, a] = max(high[node, a], points[order[i], a])
        if node < leaves:
            widest = 0
            for a in range(d):
                if high[node, a] - low[node, a] > high[node, widest] - low[node, widest]:
                    widest = a
            mine = order[first[node] : last[node]].copy()
            place = np.empty(len(mine))
            for i in range(len(mine)):
                place[i] = points[mine[i], widest]
            ascending = find_order(place)
            for i in range(len(mine)):
                order[first[node] + i] = mine[ascending[i]]
            middle = (first[node] + last[node]) // 2
            first[2 * node], last[2 * node] = first[node], middle
            first[2 * node + 1], last[2 * node + 1] = middle, last[node]
    bounds = np.full(leaves + 1, n)
    for leaf in range(leaves):
        bounds[leaf] = first[leaves + leaf]
    return Around(points, order, bounds, low, high)


@njit(cache=True)
def heap_for(tree: Around) -> Heap:
    """Room for one walk; it may be used again and again."""
    room = len(tree.low) + len(tree.points)
    return Heap(np.empty(room), np.empty(room, dtype=np.int64), np.zeros(1, dtype=np.int64))


@njit(cache=True)
def begin(tree: Around, heap: Heap) -> None:
    """Start a walk."""
    heap.size[0] = 0
    if len(tree.points):
        _push(heap, 0.0, 1)


@njit(cache=True)
def nearest(tree: Around, heap: Heap, place: Float64) -> int:
    """The next point of the walk that `begin` started, by its distance from `place`; -1 after the last."""
    leaves = len(tree.low) // 2
    while heap.size[0] > 0:
        at = _pop(heap)
        if at < 0:
            return int(~at)
        if at >= leaves:
            for i in range(tree.bounds[at - leaves], tree.bounds[at - leaves + 1]):
                _push(heap, _distance(place, tree.points[tree.order[i]]), ~tree.order[i])
            continue
        for child in (2 * at, 2 * at + 1):
            away = gap(place, tree.low[child], tree.high[child])
            if away < np.inf:
                _push(heap, away, child)
    return -1


@njit(cache=True)
def _distance(place: Float64, point: Float64) -> float:
    total = 0.0
    for a in range(len(place)):
        total += (place[a] - point[a]) ** 2
    return total


@njit(cache=True)
def gap(place: Float64, low: Float64, high: Float64) -> float:
    """Squared distance of a place to a box; infinite if the box is empty."""
    total = 0.0
    for a in range(len(place)):
        off = max(low[a] - place[a], place[a] - high[a], 0.0)
        total += off * off
    return total


@njit(cache=True)
def _push(heap: Heap, key: float, what: int) -> None:
    i = heap.size[0]
    heap.size[0] += 1
    while i > 0 and heap.key[(i - 1) // 2] > key:
        heap.key[i], heap.at[i] = heap.key[(i - 1) // 2], heap.at[(i - 1) // 2]
        i = (i - 1) // 2
    heap.key[i], heap.at[i] = key, what


@njit(cache=True)
def _pop(heap: Heap) -> int:
    top = heap.at[0]
    heap.size[0] -= 1
    n = heap.size[0]
    key, what, i = heap.key[n], heap.at[n], 0
    while 2 * i + 1 < n:
        child = 2 * i + 1
        if child + 1 < n and heap.key[child + 1] < heap.key[child]:
            child += 1
        if heap.key[child] >= key:
            break
        heap.key[i], heap.at[i] = heap.key[child], heap.at[child]
        i = child
    heap.key[i], heap.at[i] = key, what
    return int(top)
