"""Which boxes of one release meet which boxes of another: the edges that nearly every attack starts from."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.types import NO_NUMBERS, Bool, Int32, Int64

LEAF = 8
"""Boxes in a leaf of the search tree: below this, testing all of them is cheaper than descending."""


def find_meeting(left: Int32, right: Int32) -> tuple[Int64, Int64]:
    """(i, j): every pair with left[i] and right[j] intersecting, sorted by i, then j.

    left, right: int32[boxes, attributes, 2] closed intervals. A box with lo > hi in some attribute meets nothing that
    lies apart from it; the impossible box of `bounding_boxes` meets nothing. Two boxes without attributes always meet.
    A tree of bounding boxes over the right side is searched with every left box: O((n + pairs) log n) for boxes that
    tile space as classes do, O(n * m) at worst.
    """
    if len(left) == 0 or len(right) == 0:
        return NO_NUMBERS, NO_NUMBERS
    left, right = np.ascontiguousarray(left, dtype=np.int32), np.ascontiguousarray(right, dtype=np.int32)
    order, bounds, first, last, below = _plant(right)
    i, j = _search(left, right[order], bounds, first, last, below, False)
    j = order[j]
    rank = np.argsort(i * np.int64(len(right)) + j, kind="stable")
    return i[rank], j[rank]


def meet_any(left: Int32, right: Int32) -> Bool:
    """bool[len(left)]: whether left[i] meets some box of the right side. O(n log n) where most do, or few are near."""
    if len(left) == 0 or len(right) == 0:
        return np.zeros(len(left), dtype=np.bool_)
    left, right = np.ascontiguousarray(left, dtype=np.int32), np.ascontiguousarray(right, dtype=np.int32)
    order, bounds, first, last, below = _plant(right)
    found = np.zeros(len(left), dtype=np.bool_)
    found[_search(left, right[order], bounds, first, last, below, True)[0]] = True
    return found


@njit(cache=True)
def _plant(boxes: Int32) -> tuple[Int64, Int32, Int64, Int64, Int64]:
    """A balanced tree of bounding boxes: halves at the median centre of the widest attribute. O(n log n).

    Returns order int64[n]; and per node bounds int32[nodes, attributes, 2], first and last (its slice of order), and
    below (number of its first child, the second follows it; -1 for a leaf).
    """
    n, attributes = boxes.shape[0], boxes.shape[1]
    room = 4 * (n // LEAF + 1) + 1
    order, centre = np.arange(n), np.empty(n, np.int64)
    bounds = np.empty((room, attributes, 2), np.int32)
    first, last, below = np.empty(room, np.int64), np.empty(room, np.int64), np.full(room, -1, np.int64)
    span, least, most = np.zeros(attributes), np.empty(attributes, np.int64), np.empty(attributes, np.int64)
    first[0], last[0], nodes = 0, n, 1
    stack, height = np.zeros(128, np.int64), 1
    while height:  # depth first, so that what lies together is looked at while it is at hand
        height -= 1
        node = stack[height]
        here = order[first[node] : last[node]]
        _bound(boxes, here, bounds[node], least, most)
        widest, spread = -1, 0.0
        for a in range(attributes):
            if node == 0:
                span[a] = max(1.0, float(bounds[0, a, 1]) - float(bounds[0, a, 0]))
            if (most[a] - least[a]) / span[a] > spread:
                widest, spread = a, (most[a] - least[a]) / span[a]
        if last[node] - first[node] > LEAF and widest >= 0:
            for p in range(len(here)):
                centre[p] = np.int64(boxes[here[p], widest, 0]) + np.int64(boxes[here[p], widest, 1])
            _halve(centre[: len(here)], here)
            half = (first[node] + last[node]) // 2
            below[node] = nodes
            first[nodes], last[nodes] = first[node], half
            first[nodes + 1], last[nodes + 1] = half, last[node]
            stack[height], stack[height + 1] = nodes + 1, nodes
            nodes, height = nodes + 2, height + 2
    return order, bounds[:nodes], first[:nodes], last[:nodes], below[:nodes]


@njit(cache=True)
def _bound(boxes: Int32, which: Int64, bounds: Int32, least: Int64, most: Int64) -> None:
    """Write the bounding box of some boxes, and the least and greatest sum of their ends per attribute."""
    for a in range(boxes.shape[1]):
        low, high = boxes[which[0], a, 0], boxes[which[0], a, 1]
        fewest = greatest = np.int64(low) + np.int64(high)
        for one in which:
            lo, hi = boxes[one, a, 0], boxes[one, a, 1]
            low, high = min(low, lo), max(high, hi)
            fewest, greatest = min(fewest, np.int64(lo) + np.int64(hi)), max(greatest, np.int64(lo) + np.int64(hi))
        bounds[a, 0], bounds[a, 1], least[a], most[a] = low, high, fewest, greatest


@njit(cache=True)
def _halve(key: Int64, order: Int64) -> None:
    """Arrange both so that no key of the first half is above one of the second: Hoare's selection. O(n) expected."""
    half, low, high = len(key) // 2, 0, len(key) - 1
    while low < high:
        pivot, i, j = key[(low + high) // 2], low, high
        while i <= j:
            while key[i] < pivot:
                i += 1
            while key[j] > pivot:
                j -= 1
            if i <= j:
                key[i], key[j] = key[j], key[i]
                order[i], order[j] = order[j], order[i]
                i, j = i + 1, j - 1
        if half <= j:
            high = j
        elif half >= i:
            low = i
        else:
            break


@njit(cache=True)
def meets(one: Int32, other: Int32) -> bool:
    """Whether two boxes meet."""
    for a in range(one.shape[0]):  # noqa: SIM110 (numba compiles loops, not generators)
        if one[a, 0] > other[a, 1] or other[a, 0] > one[a, 1]:
            return False
    return True


@njit(cache=True)
def cut(one: Int32, other: Int32, met: Int32) -> bool:
    """Write what two boxes share, int32[attributes, 2]; whether they meet at all."""
    meets = True
    for a in range(one.shape[0]):
        met[a, 0], met[a, 1] = max(one[a, 0], other[a, 0]), min(one[a, 1], other[a, 1])
        meets &= met[a, 0] <= met[a, 1]
    return meets


@njit(cache=True)
def _search(
    left: Int32, right: Int32, bounds: Int32, first: Int64, last: Int64, below: Int64, once: bool
) -> tuple[Int64, Int64]:
    """Pairs (row of left, position in the tree's order), or one for each row; the room doubles when it is full."""
    i, j = np.empty(4 * len(left), np.int64), np.empty(4 * len(left), np.int64)
    found = 0
    stack = np.empty(128, np.int64)
    for one in range(len(left)):
        stack[0], depth = 0, 1
        while depth:
            depth -= 1
            node = stack[depth]
            if not meets(left[one], bounds[node]):
                continue
            if below[node] >= 0:
                stack[depth], stack[depth + 1] = below[node] + 1, below[node]
                depth += 2
                continue
            for p in range(first[node], last[node]):
                if meets(left[one], right[p]):
                    if found == len(i):
                        i = np.concatenate((i, np.empty(len(i), np.int64)))
                        j = np.concatenate((j, np.empty(len(j), np.int64)))
                    i[found], j[found] = one, p
                    found += 1
                    if once:
                        depth = 0
                        break
    return i[:found], j[:found]


@njit(cache=True)
def count_inside(
    codes: Int32, order: Int64, bounds: Int32, first: Int64, last: Int64, below: Int64, boxes: Int32, enough: int
) -> Int64:
    """int64[boxes]: how many points lie in each box, counted up to `enough`; the tree is over the points."""
    counts = np.zeros(len(boxes), np.int64)
    stack = np.empty(128, np.int64)
    for b in range(len(boxes)):
        stack[0], depth = 0, 1
        while depth and counts[b] < enough:
            depth -= 1
            node = stack[depth]
            if not meets(boxes[b], bounds[node]):
                continue
            covered = True
            for a in range(boxes.shape[1]):
                covered &= boxes[b, a, 0] <= bounds[node, a, 0] and bounds[node, a, 1] <= boxes[b, a, 1]
            if covered:
                counts[b] += last[node] - first[node]
            elif below[node] >= 0:
                stack[depth], stack[depth + 1] = below[node] + 1, below[node]
                depth += 2
            else:
                for p in range(first[node], last[node]):
                    inside = True
                    for a in range(boxes.shape[1]):
                        inside &= boxes[b, a, 0] <= codes[order[p], a] <= boxes[b, a, 1]
                    counts[b] += inside
        counts[b] = min(counts[b], enough)
    return counts


class Points:
    """Points in code space that can be counted inside boxes: O(log n + what is met) per box, once a tree is planted."""

    def __init__(self, codes: Int32) -> None:
        self.codes = np.ascontiguousarray(codes, dtype=np.int32)

    @cached_property
    def _tree(self) -> tuple[Int64, Int32, Int64, Int64, Int64]:
        """Planted when first needed: many questions are answered without it."""
        return _plant(np.ascontiguousarray(np.stack([self.codes, self.codes], axis=2)))

    def inside(self, boxes: Int32, enough: int | None = None) -> Int64:
        """int64[boxes]: the points in each box; counting stops at `enough`, which is then the answer."""
        if len(self.codes) == 0 or len(boxes) == 0:
            return np.zeros(len(boxes), dtype=np.int64)
        limit = len(self.codes) if enough is None else enough
        return count_inside(self.codes, *self._tree, np.ascontiguousarray(boxes, dtype=np.int32), limit)

    def within(self, boxes: Int32) -> tuple[Int64, Int64]:
        """(box, point): every point inside every box, by box; for boxes with few points."""
        if len(self.codes) == 0 or len(boxes) == 0:
            return NO_NUMBERS, NO_NUMBERS
        order, bounds, first, last, below = self._tree
        points = np.ascontiguousarray(np.stack([self.codes[order], self.codes[order]], axis=2))
        box, point = _search(np.ascontiguousarray(boxes, dtype=np.int32), points, bounds, first, last, below, False)
        return box, order[point]

    def __len__(self) -> int:
        return len(self.codes)
