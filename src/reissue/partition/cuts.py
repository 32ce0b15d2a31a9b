"""One cut of a partition: which cuts are worth most, and arranging the rows into the parts of a legal one.

A partition is a slice start..stop-1 of a `Rows` table whose rows are permuted in place, so that cutting costs no
memory and the rows of a partition lie together. `measure` lists the cuts that sizes allow, the most gainful first,
`try_cut` arranges the slice into the parts of one of them if values do not refuse it. Drivers decide which partition is
cut next and what else a cut must satisfy.

A numeric attribute is cut at its median: values up to the median go left, or only those below it. If it is rather to be
cut at round numbers, these are the next ones below and above its median, as long as one of them leaves k rows on both
sides. A tree attribute is cut at its covering node: into the node's children that have rows, or into the child that
has most rows and all others, so that one small child does not keep the rest together. A cut is worth the detail that it
wins, weighed by attribute, over the square root of how evenly it divides the rows: uneven cuts leave more rows to be
cut again.

Order and parts depend only on the multiset of codes, never on values: equal worth goes by attribute number.
"""

from __future__ import annotations

import numpy as np

from reissue.arrays.compiled import njit
from reissue.model.requirement_kernels import Limits, meets
from reissue.partition.number_cuts import list_cut, list_number_cuts
from reissue.partition.tables import CodedRows, CutBuffers, Forest, TablePart


@njit(cache=True)
def measure(rows: CodedRows, start: int, stop: int, forest: Forest, k: int, scratch: CutBuffers) -> int:
    """Hull and covering nodes of the partition start..stop-1, and the cuts that leave k rows in every part.

    Fills scratch.low, high, node, cuts, worth and returns how many cuts there are. O(rows * attributes).
    """
    attributes = rows.codes.shape[1]
    size = _find_hull(rows, start, stop, scratch)
    part, found = TablePart(rows, start, stop, size), 0
    for a in range(attributes):
        scratch.node[a] = -1
        if forest.root[a] >= 0:
            node = forest.leaf_node[forest.leaf_start[a] + scratch.low[a]]
            while forest.hi[node] < scratch.high[a]:
                node = forest.parent[node]
            scratch.node[a] = node
        if size < 2 * k or scratch.low[a] == scratch.high[a]:
            continue
        if forest.root[a] >= 0:
            found = _list_node_cuts(part, a, forest, k, found, scratch)
        else:
            found = list_number_cuts(part, a, forest, k, found, scratch)
    return found


@njit(cache=True)
def _find_hull(rows: CodedRows, start: int, stop: int, scratch: CutBuffers) -> int:
    """Fill scratch.low and high; the number of rows. Column by column, a few rows at a time: they stay in the cache."""
    for a in range(rows.codes.shape[1]):  # assigning whole arrays takes a second to compile
        scratch.low[a] = scratch.high[a] = rows.codes[start, a]
    size = 0
    for begin in range(start, stop, 1024):
        end = min(begin + 1024, stop)
        for row in range(begin, end):
            size += rows.weights[row]
        for a in range(rows.codes.shape[1]):
            low, high = scratch.low[a], scratch.high[a]
            for row in range(begin, end):
                low, high = min(low, rows.codes[row, a]), max(high, rows.codes[row, a])
            scratch.low[a], scratch.high[a] = low, high
    return size


@njit(cache=True)
def _list_node_cuts(part: TablePart, attribute: int, forest: Forest, k: int, found: int, scratch: CutBuffers) -> int:
    """List the cuts of the covering node: into its children, and into the child with most rows and all others."""
    node = scratch.node[attribute]
    first, last = forest.child_start[node], forest.child_start[node + 1]
    if last - first < 2:  # codes the taxonomy does not tell apart
        return found
    total, size, span = part.size, scratch.next, forest.span[attribute] / forest.favour[attribute]
    _count_children(part.rows, part.start, part.stop, attribute, first, last, forest, scratch)
    largest, least, alike, gain, width = 0, total, 0.0, 0.0, float(forest.hi[node] - forest.lo[node])
    for child in range(last - first):
        if size[child]:
            own = forest.child[first + child]
            least, alike = min(least, size[child]), alike + float(size[child]) ** 2
            gain += size[child] * (width - float(forest.hi[own] - forest.lo[own]))
            largest = child if size[child] > size[largest] else largest
    if least >= k:
        found = list_cut(attribute, 1, 0, 0, gain / span, float(total) ** 2 - alike, found, scratch)
    left, own = size[largest], forest.child[first + largest]
    if min(left, total - left) >= max(1, k):
        gain = left * (width - float(forest.hi[own] - forest.lo[own])) / span
        even = 2.0 * left * (total - left)
        begin, end = int(np.int64(forest.lo[own])), int(np.int64(forest.hi[own]))
        found = list_cut(attribute, begin, end, left, gain, even, found, scratch)
    return found


@njit(cache=True)
def try_cut(
    rows: CodedRows, start: int, stop: int, number: int, forest: Forest, limits: Limits, scratch: CutBuffers
) -> int:
    """Arrange the partition last measured into the parts of a listed cut; 0 if the values of a part refuse it.

    Part i is then scratch.ends[i]..scratch.ends[i+1]-1. O(rows) whichever way it ends; rows stay inside the slice.
    """
    attribute, first, last, _ = scratch.cuts[number]
    if first > last:
        parts = _part_by_children(rows, start, stop, attribute, forest, limits, scratch)
    else:
        parts = _part_off(rows, start, stop, attribute, first, last, scratch)
    for part in range(parts if limits.by_value else 0):
        if not _slice_meets(rows, scratch.ends[part], scratch.ends[part + 1], limits, scratch):
            return 0
    return parts


@njit(cache=True)
def _slice_meets(rows: CodedRows, start: int, stop: int, limits: Limits, scratch: CutBuffers) -> bool:
    """As `slice_meets`, of rows that have weights. O(stop - start). One kernel for both makes Mondrian 6% slower."""
    counts, present, found, size = scratch.counts, scratch.present, 0, 0
    for row in range(start, stop):
        value = rows.values[row]
        if counts[value] == 0:
            present[found] = value
            found += 1
        counts[value] += rows.weights[row]
        size += rows.weights[row]
    holds = meets(counts, present, found, size, limits)
    for i in range(found):
        counts[present[i]] = 0
    return holds


@njit(cache=True)
def copy_slice(rows: CodedRows, start: int, stop: int) -> CodedRows:
    """The rows start..stop-1 as a table of their own, to be permuted."""
    codes, values, weights = rows.codes[start:stop].copy(), rows.values[start:stop].copy(), rows.weights[start:stop]
    return CodedRows(codes, values, np.arange(stop - start), weights.copy())


@njit(cache=True)
def _swap(rows: CodedRows, i: int, j: int) -> None:
    for a in range(rows.codes.shape[1]):
        rows.codes[i, a], rows.codes[j, a] = rows.codes[j, a], rows.codes[i, a]
    rows.values[i], rows.values[j] = rows.values[j], rows.values[i]
    rows.ids[i], rows.ids[j] = rows.ids[j], rows.ids[i]
    rows.weights[i], rows.weights[j] = rows.weights[j], rows.weights[i]


@njit(cache=True)
def _part_off(
    rows: CodedRows, start: int, stop: int, attribute: int, first: int, last: int, scratch: CutBuffers
) -> int:
    """Put the rows with codes first..last before all others."""
    i, j = start, stop - 1
    while True:
        while i <= j and first <= rows.codes[i, attribute] <= last:
            i += 1
        while i <= j and not first <= rows.codes[j, attribute] <= last:
            j -= 1
        if i >= j:
            break
        _swap(rows, i, j)
    scratch.ends[0], scratch.ends[1], scratch.ends[2] = start, i, stop
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
    """Whether the values of the children meet the limits, as far as it can be seen without moving rows. O(rows).

    Counting is cheaper than moving. Values are only counted where that needs few counters.
    """
    children, width, pairs = last - first, len(limits.table), scratch.pairs
    if not limits.by_value or children * width > min(len(pairs), stop - start):
        return True
    pairs[: children * width] = 0
    for row in range(start, stop):
        child = _child_at(rows.codes[row, attribute], first, last, forest)
        pairs[child * width + rows.values[row]] += rows.weights[row]
    for child in range(children):
        counts, found, size = pairs[child * width : (child + 1) * width], 0, 0
        for value in range(width):
            if counts[value]:
                scratch.present[found] = value
                found += 1
                size += counts[value]
        if found and not meets(counts, scratch.present, found, size, limits):
            return False
    return True


@njit(cache=True)
def _count_children(
    rows: CodedRows, start: int, stop: int, attribute: int, first: int, last: int, forest: Forest, scratch: CutBuffers
) -> None:
    """Count the rows of each child first..last-1 into scratch.next; where there are few codes, code by code."""
    size, low, buckets = scratch.next, scratch.low[attribute], scratch.buckets
    span = scratch.high[attribute] - low + 1
    size[: last - first] = 0
    if span > min(len(buckets), stop - start):
        for row in range(start, stop):
            size[_child_at(rows.codes[row, attribute], first, last, forest)] += rows.weights[row]
        return
    buckets[:span] = 0
    for row in range(start, stop):
        buckets[rows.codes[row, attribute] - low] += rows.weights[row]
    child = _child_at(low, first, last, forest)
    for code in range(span):
        while forest.hi[forest.child[first + child]] < low + code:
            child += 1
        size[child] += buckets[code]


@njit(cache=True)
def _part_by_children(
    rows: CodedRows, start: int, stop: int, attribute: int, forest: Forest, limits: Limits, scratch: CutBuffers
) -> int:
    """Rows of each child of the covering node together; 0 without moving anything if a child is seen to fail."""
    node = scratch.node[attribute]
    first, last = forest.child_start[node], forest.child_start[node + 1]
    children, size, ends = last - first, scratch.next, scratch.ends
    if not _children_meet(rows, start, stop, attribute, first, last, forest, limits, scratch):
        return 0
    size[:children] = 0
    for row in range(start, stop):
        size[_child_at(rows.codes[row, attribute], first, last, forest)] += 1
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
