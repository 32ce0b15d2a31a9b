"""Strict multidimensional Mondrian (LeFevre et al. 2006): cut a box in two or more until no legal cut is left.

A partition is a slice start..stop-1 of a `Rows` table whose rows are permuted in place, so that cutting costs no
memory and the rows of a partition lie together. `measure` says in which order its attributes should be tried,
`try_cut` arranges the slice into the parts of one cut if that is legal, `_cut_all` is the driver. A search with further
conditions (checks against earlier releases) brings its own driver and uses the same two functions.

The parts depend only on the multiset of rows: medians are taken by value, equal widths go by attribute number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from reissue.core.boxes import snap
from reissue.core.compiled import njit
from reissue.core.domain import Domain, Float64, Int32, Int64
from reissue.core.limits import Limits, meets, slice_meets
from reissue.core.processors import processors

WORTH_THREADS = 50_000
"""Rows from which on the work is divided among threads."""

ENDLESS = 1 << 60
"""More cuts, one inside the other, than there can be."""


class Rows(NamedTuple):
    """The rows being cut, permuted together.

    codes: int32[rows, attributes], C order, so that a row moves as one piece
    values: int32[rows]; ids: int64[rows], each row's number in the table it came from
    """

    codes: Int32
    values: Int32
    ids: Int64


class Forest(NamedTuple):
    """The domains of all attributes for kernels; nodes of all trees are numbered in one sequence.

    root: int32[attributes], -1 for a numeric attribute; span: float64[attributes]
    lo, hi, parent, child_start: int32[nodes] (child_start one longer), child: children in code order
    leaf_start: int64[attributes], where an attribute's codes begin in leaf_node: int32[all leaves]
    """

    root: Int32
    span: Float64
    lo: Int32
    hi: Int32
    parent: Int32
    child_start: Int64
    child: Int32
    leaf_start: Int64
    leaf_node: Int32


class Scratch(NamedTuple):
    """Working memory of one driver, made once.

    low, high: int32[attributes], hull of the partition last measured; node: int32[attributes], its smallest covering
    node; ranked: int32[attributes], attributes worth cutting, widest first; ends: int64[most parts + 1], bounds of the
    parts last cut; next: int64[most parts]; counts, present: for slice_meets; pairs: int64[], counts by part and value;
    buckets: int64[], for medians
    """

    low: Int32
    high: Int32
    node: Int32
    ranked: Int32
    ends: Int64
    next: Int64
    counts: Int64
    present: Int32
    pairs: Int64
    buckets: Int64


@dataclass(frozen=True, eq=False)
class Partition:
    """The result: classes are numbered in the order of the cuts, which no order of the rows can change.

    classes: int32[rows]; boxes: int32[classes, attributes, 2], hulls with tree attributes widened to a node
    """

    classes: Int32
    boxes: Int32


def rows_of(codes: Int32, values: Int32) -> Rows:
    """A private copy of the rows, to be permuted."""
    return Rows(np.array(codes, dtype=np.int32, order="C"), values.astype(np.int32), np.arange(len(values)))


def forest_of(domains: Sequence[Domain]) -> Forest:
    """The domains in one set of arrays."""
    root = np.full(len(domains), -1, dtype=np.int32)
    leaf_start = np.zeros(len(domains), dtype=np.int64)
    node_parts, child_parts, leaf_parts = [np.empty((3, 0), np.int32)], [np.empty(0, np.int32)], [np.empty(0, np.int32)]
    start_parts = [np.zeros(1, np.int64)]
    nodes = leaves = children = 0
    for a, domain in enumerate(domains):
        tree = domain.tree
        if tree is None:
            continue
        start, child = tree.children
        root[a], leaf_start[a] = nodes, leaves
        node_parts.append(np.stack([tree.lo, tree.hi, np.where(tree.parent < 0, -1, tree.parent + nodes)]))
        child_parts.append(child + np.int32(nodes))
        start_parts.append(start[1:].astype(np.int64) + children)
        leaf_parts.append(tree.leaf_node + np.int32(nodes))
        nodes, leaves, children = nodes + len(tree.lo), leaves + tree.leaves, children + len(child)
    lo, hi, parent = (np.ascontiguousarray(row, dtype=np.int32) for row in np.concatenate(node_parts, axis=1))
    return Forest(
        root,
        np.array([domain.span for domain in domains], dtype=np.float64),
        lo,
        hi,
        parent,
        np.concatenate(start_parts),
        np.concatenate(child_parts),
        leaf_start,
        np.concatenate(leaf_parts),
    )


def scratch_of(forest: Forest, value_count: int) -> Scratch:
    """Working memory for partitions of any size."""
    attributes, parts = len(forest.root), max(2, int(np.diff(forest.child_start).max(initial=0)))
    low, high, node, ranked = (np.empty(attributes, dtype=np.int32) for _ in range(4))
    ends, following = np.empty(parts + 1, dtype=np.int64), np.empty(parts, dtype=np.int64)
    counts, present = np.zeros(value_count, dtype=np.int64), np.empty(value_count, dtype=np.int32)
    pairs = np.empty(min(parts * value_count, 1 << 16), dtype=np.int64)
    return Scratch(low, high, node, ranked, ends, following, counts, present, pairs, np.empty(4096, dtype=np.int64))


@njit(cache=True)
def measure(rows: Rows, start: int, stop: int, forest: Forest, scratch: Scratch) -> int:
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
        scratch.node[a] = -1
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
    rows: Rows, start: int, stop: int, attribute: int, below: bool, forest: Forest, limits: Limits, scratch: Scratch
) -> int:
    """Arrange the partition last measured into the parts of a cut of `attribute`; 0 if that cut is not legal.

    A numeric attribute is cut at its median: values up to the median go left, or with `below` only those below it.
    A tree attribute is cut at its covering node into the node's children that have rows (`below` gives 0).
    Part i is then scratch.ends[i]..scratch.ends[i+1]-1. O(rows) whichever way it ends; rows stay inside the slice.
    """
    if forest.root[attribute] >= 0:
        parts = 0 if below else _part_by_children(rows, start, stop, attribute, forest, limits, scratch)
    else:
        middle = _median(rows.codes, start, stop, attribute, scratch)
        parts = _part_at(rows, start, stop, attribute, middle - 1 if below else middle, limits, scratch)
    for part in range(parts):
        if not slice_meets(
            rows.values, scratch.ends[part], scratch.ends[part + 1], scratch.counts, scratch.present, limits
        ):
            return 0
    return parts


@njit(cache=True)
def _median(codes: Int32, start: int, stop: int, attribute: int, scratch: Scratch) -> int:
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
def _swap(rows: Rows, i: int, j: int) -> None:
    for a in range(rows.codes.shape[1]):
        rows.codes[i, a], rows.codes[j, a] = rows.codes[j, a], rows.codes[i, a]
    rows.values[i], rows.values[j] = rows.values[j], rows.values[i]
    rows.ids[i], rows.ids[j] = rows.ids[j], rows.ids[i]


@njit(cache=True)
def _part_at(rows: Rows, start: int, stop: int, attribute: int, last: int, limits: Limits, scratch: Scratch) -> int:
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
    rows: Rows,
    start: int,
    stop: int,
    attribute: int,
    first: int,
    last: int,
    forest: Forest,
    limits: Limits,
    scratch: Scratch,
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
    rows: Rows, start: int, stop: int, attribute: int, forest: Forest, limits: Limits, scratch: Scratch
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
def _cut_once(rows: Rows, start: int, stop: int, forest: Forest, limits: Limits, scratch: Scratch) -> int:
    """Measure the partition start..stop-1 and make its first legal cut: the number of parts, 0 if there is none."""
    ranked = measure(rows, start, stop, forest, scratch)
    if stop - start >= 2 * limits.k:
        for i in range(2 * ranked):
            parts = try_cut(rows, start, stop, scratch.ranked[i // 2], i % 2 == 1, forest, limits, scratch)
            if parts:
                return parts
    return 0


@njit(cache=True, nogil=True)
def _cut_all(
    rows: Rows, start: int, stop: int, depth: int, forest: Forest, limits: Limits, scratch: Scratch
) -> tuple[Int64, Int32]:
    """Cut start..stop-1 until no legal cut is left, or `depth` times.

    Returns int64[parts] where each part starts, ascending, and their hulls int32[parts, attributes, 2].
    """
    most = (stop - start) // max(1, limits.k) + 1
    starts, boxes = np.empty(most, dtype=np.int64), np.empty((most, rows.codes.shape[1], 2), dtype=np.int32)
    stack = np.empty((most, 3), dtype=np.int64)  # partitions still to cut: disjoint, each of at least k rows
    stack[0, 0], stack[0, 1], stack[0, 2] = start, stop, depth
    height, found = 1, 0
    while height:
        height -= 1
        begin, end, left = stack[height]
        parts = _cut_once(rows, begin, end, forest, limits, scratch) if left else 0
        for part in range(parts - 1, -1, -1):
            stack[height, 0], stack[height, 1], stack[height, 2] = scratch.ends[part], scratch.ends[part + 1], left - 1
            height += 1
        if parts == 0:
            boxes[found, :, 0], boxes[found, :, 1] = scratch.low, scratch.high
            starts[found] = begin
            found += 1
    return starts[:found].copy(), boxes[:found].copy()


@njit(cache=True)
def _numbered(ids: Int64, starts: Int64) -> Int32:
    """int32[rows]: the class of each row by its id; class i begins at starts[i]."""
    classes = np.empty(len(ids), dtype=np.int32)
    for i in range(len(starts)):
        stop = starts[i + 1] if i + 1 < len(starts) else len(ids)
        for row in range(starts[i], stop):
            classes[ids[row]] = i
    return classes


def mondrian(
    codes: Int32, values: Int32, domains: Sequence[Domain], limits: Limits, *, threads: int | None = None
) -> Partition:
    """Partition the rows by strict Mondrian; the whole table must satisfy the limits.

    O(rows * attributes * log(rows / k)) time; one copy of the rows and the boxes in memory. Large tables are cut by
    several threads (None: as many as there are processors): once cut apart, partitions have nothing to do with each
    other, so the result is the same for any number of them.
    """
    forest, rows = forest_of(domains), rows_of(codes, values)
    if len(values) == 0:
        return Partition(np.empty(0, dtype=np.int32), np.empty((0, len(domains), 2), dtype=np.int32))

    def cut(start: int, stop: int, depth: int) -> tuple[Int64, Int32]:
        return _cut_all(rows, start, stop, depth, forest, limits, scratch_of(forest, len(limits.table)))

    starts, hulls = _cut_side_by_side(cut, len(values), threads or processors())
    return Partition(_numbered(rows.ids, starts), snap(hulls, domains))


def _cut_side_by_side(
    cut: Callable[[int, int, int], tuple[Int64, Int32]], rows: int, threads: int
) -> tuple[Int64, Int32]:
    """All starts and hulls: level by level until there are parts enough to keep the threads busy, then each to its end.

    A part that a level does not cut has no legal cut; it is looked at once more, which costs little.
    """
    if threads < 2 or rows < WORTH_THREADS:
        return cut(0, rows, ENDLESS)
    with ThreadPoolExecutor(threads) as pool:
        starts, cuts = np.zeros(1, dtype=np.int64), True
        while cuts and len(starts) < 8 * threads:
            level = pool.map(lambda part: cut(part[0], part[1], 1)[0], pairwise([*starts.tolist(), rows]))
            finer = np.concatenate([*level])
            starts, cuts = finer, len(finer) > len(starts)
        parts = sorted(pairwise([*starts.tolist(), rows]), key=lambda part: part[0] - part[1])  # the largest first
        done = dict(zip(parts, pool.map(lambda part: cut(part[0], part[1], ENDLESS), parts), strict=True))
    ordered = [done[part] for part in sorted(parts)]
    return np.concatenate([own for own, _ in ordered]), np.concatenate([own for _, own in ordered])
