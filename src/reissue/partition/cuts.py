"""One cut of a partition: which attributes are worth cutting, and arranging the rows into the parts of a legal cut.

A partition is a slice start..stop-1 of a `Rows` table whose rows are permuted in place, so that cutting costs no
memory and the rows of a partition lie together. `measure` says in which order its attributes should be tried,
`try_cut` arranges the slice into the parts of one cut if that is legal. Drivers decide which partition is cut next and
what else a cut must satisfy.

The parts depend only on the multiset of rows: medians are taken by value, equal widths go by attribute number.
"""

from __future__ import annotations

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.types import Int32
from reissue.model.requirement_kernels import Limits, meets, slice_meets
from reissue.partition.tables import CodedRows, CutBuffers, Forest

UNKNOWN = -(1 << 62)
"""A median that has not been looked for: below every code."""


@njit(cache=True)
def measure(rows: CodedRows, start: int, stop: int, forest: Forest, scratch: CutBuffers) -> int:
    """Hull and covering nodes of the partition start..stop-1; ranks the attributes by width over their domain's span.

    Fills scratch.low, high, node, ranked and returns how many attributes have any width. O(rows * attributes).
    """
    attributes = rows.codes.shape[1]
    for a in range(attributes):
        scratch.low[a] = scratch.high[a] = rows.codes[start, a]
    for row in range(start + 1, stop):
        for a in range(attributes):
            code = rows.codes[row, a]
            scratch.low[a] = min(scratch.low[a], code)
            scratch.high[a] = max(scratch.high[a], code)
    ranked = 0
    widths = np.zeros(attributes, dtype=np.float64)
    for a in range(attributes):
        low, high = scratch.low[a], scratch.high[a]
        scratch.node[a], scratch.median[a] = -1, UNKNOWN
        if forest.root[a] >= 0:
            node = forest.leaf_node[forest.leaf_start[a] + low]
            while forest.hi[node] < high:
                node = forest.parent[node]
            scratch.node[a] = node
            low, high = forest.lo[node], forest.hi[node]
        width = (float(high) - float(low)) / forest.span[a]
        if scratch.low[a] == scratch.high[a]:
            continue
        at = ranked
        while at > 0 and widths[at - 1] < width:
            widths[at], scratch.ranked[at] = widths[at - 1], scratch.ranked[at - 1]
            at -= 1
        widths[at], scratch.ranked[at] = width, a
        ranked += 1
    return ranked


@njit(cache=True)
def try_cut(
    rows: CodedRows,
    start: int,
    stop: int,
    attribute: int,
    below: bool,
    forest: Forest,
    limits: Limits,
    scratch: CutBuffers,
) -> int:
    """Arrange the partition last measured into the parts of a cut of `attribute`; 0 if that cut is not legal.

    A numeric attribute is cut at its median: values up to the median go left, or with `below` only those below it.
    A tree attribute is cut at its covering node into the node's children that have rows; with `below`, where the forest
    allows it, into the child that has most rows and all the others.
    Part i is then scratch.ends[i]..scratch.ends[i+1]-1. O(rows) whichever way it ends; rows stay inside the slice.
    """
    if forest.root[attribute] >= 0:
        if not below:
            parts = _part_by_children(rows, start, stop, attribute, forest, limits, scratch)
        else:
            parts = _part_off_largest(rows, start, stop, attribute, forest, limits, scratch) if forest.lone else 0
    else:
        if scratch.median[attribute] == UNKNOWN:
            scratch.median[attribute] = _median(rows.codes, start, stop, attribute, scratch)
        middle = scratch.median[attribute]
        parts = _part_at(rows, start, stop, attribute, middle - 1 if below else middle, limits, scratch)
    for part in range(parts):
        if not slice_meets(
            rows.values, scratch.ends[part], scratch.ends[part + 1], scratch.counts, scratch.present, limits
        ):
            return 0
    return parts


@njit(cache=True)
def _median(codes: Int32, start: int, stop: int, attribute: int, scratch: CutBuffers) -> int:
    """The lower median of a column over start..stop-1, by narrowing an interval of codes.

    O(rows) per narrowing; each divides the interval by up to 4096, so at most 3 are needed for large partitions.
    """
    low, high = np.int64(scratch.low[attribute]), np.int64(scratch.high[attribute])
    bits = 4
    while bits < 12 and (1 << bits) < stop - start:
        bits += 1
    rank = (stop - start - 1) // 2
    while low < high:
        shift = 0
        while (high - low) >> shift >= 1 << bits:
            shift += 1
        used = ((high - low) >> shift) + 1
        scratch.buckets[:used] = 0
        for row in range(start, stop):
            code = np.int64(codes[row, attribute])
            if low <= code <= high:
                scratch.buckets[(code - low) >> shift] += 1
        bucket = 0
        while rank >= scratch.buckets[bucket]:
            rank -= scratch.buckets[bucket]
            bucket += 1
        low += bucket << shift
        high = min(high, low + (1 << shift) - 1)
    return int(low)


@njit(cache=True)
def _swap(rows: CodedRows, i: int, j: int) -> None:
    for a in range(rows.codes.shape[1]):
        rows.codes[i, a], rows.codes[j, a] = rows.codes[j, a], rows.codes[i, a]
    rows.values[i], rows.values[j] = rows.values[j], rows.values[i]
    rows.ids[i], rows.ids[j] = rows.ids[j], rows.ids[i]


@njit(cache=True)
def _part_at(
    rows: CodedRows, start: int, stop: int, attribute: int, last: int, limits: Limits, scratch: CutBuffers
) -> int:
    """Rows with codes up to `last` first; 0 without moving anything if either side has too few rows."""
    left = 0
    for row in range(start, stop):
        left += rows.codes[row, attribute] <= last
    if min(left, stop - start - left) < max(1, limits.k):
        return 0
    i, j = start, stop - 1
    while True:
        while i <= j and rows.codes[i, attribute] <= last:
            i += 1
        while i <= j and rows.codes[j, attribute] > last:
            j -= 1
        if i >= j:
            break
        _swap(rows, i, j)
    scratch.ends[0], scratch.ends[1], scratch.ends[2] = start, start + left, stop
    return 2


@njit(cache=True)
def _child_at(code: int, first: int, last: int, forest: Forest) -> int:
    """Which of the children first..last-1 (positions in forest.child) holds the code, by bisection."""
    begin = first
    while last - first > 1:
        middle = (first + last) // 2
        if forest.lo[forest.child[middle]] <= code:
            first = middle
        else:
            last = middle
    return first - begin


@njit(cache=True)
def _children_meet(
    rows: CodedRows,
    start: int,
    stop: int,
    attribute: int,
    first: int,
    last: int,
    forest: Forest,
    limits: Limits,
    scratch: CutBuffers,
) -> bool:
    """Count the rows of each child into scratch.next; whether the children meet the limits, as far as it can be seen.

    Most cuts fail, and counting is cheaper than moving. Values are only counted where that needs few counters: O(rows).
    """
    children, width, size, pairs = last - first, len(limits.table), scratch.next, scratch.pairs
    by_value = limits.by_value and children * width <= min(len(pairs), stop - start)
    size[:children] = 0
    if by_value:
        pairs[: children * width] = 0
        for row in range(start, stop):
            child = _child_at(rows.codes[row, attribute], first, last, forest)
            size[child] += 1
            pairs[child * width + rows.values[row]] += 1
    else:
        for row in range(start, stop):
            size[_child_at(rows.codes[row, attribute], first, last, forest)] += 1
    for child in range(children):
        if 0 < size[child] < limits.k:
            return False
        if by_value and size[child]:
            counts, found = pairs[child * width : (child + 1) * width], 0
            for value in range(width):
                if counts[value]:
                    scratch.present[found] = value
                    found += 1
            if not meets(counts, scratch.present, found, size[child], limits):
                return False
    return True


@njit(cache=True)
def _part_by_children(
    rows: CodedRows, start: int, stop: int, attribute: int, forest: Forest, limits: Limits, scratch: CutBuffers
) -> int:
    """Rows of each child of the covering node together; 0 without moving anything if a child is seen to fail."""
    node = scratch.node[attribute]
    first, last = forest.child_start[node], forest.child_start[node + 1]
    children = last - first
    if children < 2:  # codes the taxonomy does not tell apart
        return 0
    if not _children_meet(rows, start, stop, attribute, first, last, forest, limits, scratch):
        return 0
    size, ends = scratch.next, scratch.ends
    ends[0] = start
    for child in range(children):
        ends[child + 1] = ends[child] + size[child]
        size[child] = ends[child]
    for child in range(children):  # every row is swapped into place at most once (American flag)
        while size[child] < ends[child + 1]:
            home = _child_at(rows.codes[size[child], attribute], first, last, forest)
            if home != child:
                _swap(rows, size[child], size[home])
            size[home] += 1
    parts = 0
    for child in range(children):  # forget the empty children
        if ends[child + 1] > ends[parts]:
            parts += 1
            ends[parts] = ends[child + 1]
    return parts


@njit(cache=True)
def _part_off_largest(
    rows: CodedRows, start: int, stop: int, attribute: int, forest: Forest, limits: Limits, scratch: CutBuffers
) -> int:
    """Rows of the child with most of them first (of equals the lowest), then all others; 0 if either side is too small.

    Where a few rows lie in small children, this is how the many in a large one get a label of their own. O(rows).
    """
    node = scratch.node[attribute]
    first, last = forest.child_start[node], forest.child_start[node + 1]
    if last - first < 2:
        return 0
    size = scratch.next
    size[: last - first] = 0
    for row in range(start, stop):
        size[_child_at(rows.codes[row, attribute], first, last, forest)] += 1
    largest = 0
    for child in range(1, last - first):
        if size[child] > size[largest]:
            largest = child
    left = size[largest]
    if min(left, stop - start - left) < max(1, limits.k):
        return 0
    low, high = forest.lo[forest.child[first + largest]], forest.hi[forest.child[first + largest]]
    i, j = start, stop - 1
    while True:
        while i <= j and low <= rows.codes[i, attribute] <= high:
            i += 1
        while i <= j and not low <= rows.codes[j, attribute] <= high:
            j -= 1
        if i >= j:
            break
        _swap(rows, i, j)
    scratch.ends[0], scratch.ends[1], scratch.ends[2] = start, start + left, stop
    return 2
