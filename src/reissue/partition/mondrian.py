"""Multidimensional Mondrian (LeFevre et al. 2006): cut a box in two or more until no legal cut is left.

`_cut_all` is the driver of the cuts of reissue.partition.cuts; a search with further conditions (checks against earlier
releases) brings its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from reissue.arrays.compiled import njit, processors
from reissue.arrays.sets import distinct
from reissue.arrays.types import NO_CODES, Int32, Int64
from reissue.model.boxes import widen_to_nodes
from reissue.model.domain import Domain
from reissue.model.release import take_rows
from reissue.model.requirement_kernels import Limits
from reissue.partition.cuts import measure, try_cut
from reissue.partition.tables import CodedRows, CutBuffers, Forest, build_forest, copy_rows, cut_buffers

WORTH_THREADS = 50_000
"""Rows from which on the work is divided among threads."""

WORTH_MERGING = 50_000
"""Rows from which on equal ones are looked for."""

SAMPLE = 20_000
"""Rows from which it is guessed how many rows are equal, about."""

FEWEST_EQUAL = 1.0
"""Equal rows are cut as one where a row has at least so many others like it, on the average."""

ENDLESS = 1 << 60
"""More cuts, one inside the other, than there can be."""


@dataclass(frozen=True, eq=False)
class Partition:
    """The result: classes are numbered in the order of the cuts, which no order of the rows can change.

    classes: int32[rows]; boxes: int32[classes, attributes, 2], hulls with tree attributes widened to a node
    """

    classes: Int32
    boxes: Int32


@njit(cache=True)
def cut_once(rows: CodedRows, start: int, stop: int, forest: Forest, limits: Limits, scratch: CutBuffers) -> int:
    """Measure the partition start..stop-1 and make its best legal cut: the number of parts, 0 if there is none."""
    for number in range(measure(rows, start, stop, forest, limits.k, scratch)):
        parts = try_cut(rows, start, stop, number, forest, limits, scratch)
        if parts:
            return parts
    return 0


@njit(cache=True, nogil=True)
def _cut_all(
    rows: CodedRows, start: int, stop: int, depth: int, forest: Forest, limits: Limits, scratch: CutBuffers
) -> tuple[Int64, Int32]:
    """Cut start..stop-1 until no legal cut is left, or `depth` times.

    Returns int64[parts] where each part starts, ascending, and their hulls int32[parts, attributes, 2].
    """
    most = min(stop - start, rows.weights[start:stop].sum() // max(1, limits.k)) + 1
    starts, boxes = np.empty(most, dtype=np.int64), np.empty((most, rows.codes.shape[1], 2), dtype=np.int32)
    stack = np.empty((most, 3), dtype=np.int64)  # partitions still to cut: disjoint, each of at least k rows
    stack[0, 0], stack[0, 1], stack[0, 2] = start, stop, depth
    height, found = 1, 0
    while height:
        height -= 1
        begin, end, left = stack[height]
        parts = cut_once(rows, begin, end, forest, limits, scratch) if left else 0
        for part in range(parts - 1, -1, -1):
            stack[height, 0], stack[height, 1], stack[height, 2] = scratch.ends[part], scratch.ends[part + 1], left - 1
            height += 1
        if parts == 0:
            for a in range(len(scratch.low)):
                boxes[found, a, 0], boxes[found, a, 1] = scratch.low[a], scratch.high[a]
            starts[found] = begin
            found += 1
    return starts[:found].copy(), boxes[:found].copy()


@njit(cache=True, nogil=True)
def cut_to_cells(rows: CodedRows, forest: Forest, limits: Limits, scratch: CutBuffers) -> tuple[Int64, Int64]:
    """(int64[cells] the cell that each was cut from, int64[rows] the smallest cell of each row by its id)."""
    most = 2 * (len(rows.ids) // max(1, limits.k)) + 2
    parent, leaf = np.empty(most, dtype=np.int64), np.zeros(len(rows.ids), dtype=np.int64)
    stack = np.empty((most, 3), dtype=np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, len(rows.ids), -1
    height, cells = 1, 0
    while height:
        height -= 1
        begin, end, parent[cells] = stack[height]
        parts = cut_once(rows, begin, end, forest, limits, scratch)
        for part in range(parts - 1, -1, -1):
            stack[height, 0], stack[height, 1], stack[height, 2] = scratch.ends[part], scratch.ends[part + 1], cells
            height += 1
        if parts == 0:
            for row in range(begin, end):
                leaf[rows.ids[row]] = cells
        cells += 1
    return parent[:cells].copy(), leaf


@njit(cache=True)
def _number_rows(ids: Int64, starts: Int64) -> Int32:
    """int32[rows]: the class of each row by its id; class i begins at starts[i]."""
    classes = np.empty(len(ids), dtype=np.int32)
    for i in range(len(starts)):
        stop = starts[i + 1] if i + 1 < len(starts) else len(ids)
        for row in range(starts[i], stop):
            classes[ids[row]] = i
    return classes


def mondrian(
    codes: Int32,
    values: Int32,
    domains: Sequence[Domain],
    limits: Limits,
    *,
    favours: Sequence[float] | None = None,
) -> Partition:
    """Partition the rows by strict Mondrian; the whole table must satisfy the limits.

    favours: numbers are cut at round ones first, and how much more such cuts are worth (of a hierarchy, every cut).
    O(rows * attributes * log(rows / k)) time, of many equal rows one alone; one copy of these and the boxes in memory.
    Large tables are cut by as many threads as there are processors: once cut apart, partitions have nothing to do with
    each other, so the result is the same for any number of them.
    """
    if len(values) == 0:
        return Partition(NO_CODES, np.empty((0, len(domains), 2), dtype=np.int32))
    forest, (rows, home) = build_forest(domains, favours), _merge_equal(codes, values)

    def cut(start: int, stop: int, depth: int) -> tuple[Int64, Int32]:
        return _cut_all(rows, start, stop, depth, forest, limits, cut_buffers(forest, len(limits.table)))

    starts, hulls = _cut_side_by_side(cut, len(rows.values), processors())
    classes = _number_rows(rows.ids, starts)
    return Partition(classes if home is None else classes[home], widen_to_nodes(hulls, domains))


def _merge_equal(codes: Int32, values: Int32) -> tuple[CodedRows, Int32 | None]:
    """(the rows to cut, int32[rows] which of them each row of the table is): equal rows are one, if that saves work.

    Cuts depend on how often rows occur, not on their order, so that the classes are the same. Whether it saves work is
    guessed from a sample: the share of equal pairs in it is that in the table. None: every row is itself.
    """
    if len(values) < WORTH_MERGING:
        return copy_rows(codes, values), None
    columns = [*codes.T, values]
    some = [np.ascontiguousarray(column[:: max(1, len(values) // SAMPLE)]) for column in columns]
    drawn = len(some[0])
    pairs = drawn - len(distinct(some)[0])
    if 2 * pairs * len(values) < FEWEST_EQUAL * drawn**2:
        return copy_rows(codes, values), None
    first, home = distinct([np.ascontiguousarray(column) for column in columns])
    weights = np.bincount(home, minlength=len(first)).astype(np.int32)
    return copy_rows(take_rows(codes, first), values[first], weights), home


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
