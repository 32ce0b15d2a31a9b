"""Cut the clusters of earlier releases anew together with the rows that joined them, where that tells nobody more."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from queue import SimpleQueue

import numpy as np

from reissue.arrays.compiled import njit, processors
from reissue.arrays.types import Float64, Int32, Int64
from reissue.methods.incremental.recut.check import Classes, Cluster, cut_is_safe
from reissue.methods.incremental.recut.check_difference import DifferenceBuffers, difference_buffers
from reissue.methods.incremental.recut.cluster import ClusterBuffers, Past, cluster_buffers, cluster_of
from reissue.model.requirement_kernels import Limits
from reissue.partition.cuts import copy_slice, measure, try_cut
from reissue.partition.mondrian import cut_once
from reissue.partition.tables import CodedRows, CutBuffers, Forest, cut_buffers

PARTS, LARGE = (16, 64), 100_000
"""Into how many parts the leaves are divided, for threads: few below so many rows, more from there on."""

TRIES, GAIN = 2_048, 32
"""Leaves tried in any case; after that a part goes on while at least one leaf in GAIN has gained."""


def recut_all(
    rows: CodedRows,
    leaf_start: Int64,
    past: Past,
    lost: Float64,
    forest: Forest,
    limits: Limits,
    value_count: int,
    *,
    threads: int | None = None,
) -> tuple[Int64, int, int, int]:
    """(label int64[rows] by row id, labels used, leaves recut, leaves not tried): new classes where a leaf gains by it.

    rows: arranged by leaf; leaf i is rows leaf_start[i]..leaf_start[i+1]-1, and rows.ids counts from 0 in this order.
    lost: float64[rows] what each row loses if it is left alone: old rows in their class, new ones among themselves.
    Rows whose leaf is left alone get label -1.
    Leaves have nothing to do with each other: the result is the same for any number of threads (None: as many as there
    are processors).
    """
    label, many = np.full(len(rows.ids), -1, dtype=np.int64), threads or processors()
    shares = PARTS[len(label) >= LARGE]
    ends = np.searchsorted(leaf_start, np.linspace(0, len(label), shares + 1)).tolist()

    free = SimpleQueue[
        tuple[CutBuffers, ClusterBuffers]
    ]()  # one for each thread: larger than what a part reads and writes
    for _ in range(many):
        free.put((cut_buffers(forest, value_count), cluster_buffers(past, value_count)))

    def some(part: tuple[int, int]) -> tuple[int, int, int]:
        own = free.get()
        try:
            return _recut_some(rows, leaf_start, *part, TRIES // shares, past, lost, forest, limits, *own, label)
        finally:
            free.put(own)

    parts = list(pairwise(ends))
    with ThreadPoolExecutor(many) as pool:
        done = list(pool.map(some, parts))
    used = 0
    for (begin, end), (classes, _, _) in zip(parts, done, strict=True):
        own = label[leaf_start[begin] : leaf_start[end]]
        own[own >= 0] += used
        used += classes
    return label, used, sum(recut for _, recut, _ in done), sum(untried for _, _, untried in done)


@njit(cache=True, nogil=True)
def _recut_some(
    rows: CodedRows,
    leaf_start: Int64,
    first: int,
    last: int,
    tries: int,
    past: Past,
    lost: Float64,
    forest: Forest,
    limits: Limits,
    scratch: CutBuffers,
    bench: ClusterBuffers,
    label: Int64,
) -> tuple[int, int, int]:
    """Label the rows of leaves first..last-1, from 0 where they gain; (labels used, leaves recut, leaves not tried)."""
    used = recut = tried = untried = 0
    for leaf in range(first, last):
        start, stop = leaf_start[leaf], leaf_start[leaf + 1]
        fresh = 0
        for row in range(start, stop):
            fresh += past.cell[row] < 0
        if fresh == 0 or fresh == stop - start:
            continue
        if tried >= tries + GAIN * recut:
            untried += 1
            continue
        tried, before = tried + 1, lost[start:stop].sum()
        if not _could_gain(rows, start, stop, before, forest, limits, scratch):
            continue
        own, classes, after = _together(rows, start, stop, before, past, forest, limits, scratch, bench)
        if after < before:
            for row in range(start, stop):
                label[row] = used + own[row - start]
            used, recut = used + classes, recut + 1
    return used, recut, untried


@njit(cache=True)
def _could_gain(
    rows: CodedRows, start: int, stop: int, before: float, forest: Forest, limits: Limits, scratch: CutBuffers
) -> bool:
    """Whether a leaf would lose less than `before` if it were cut as though nothing had been published. O(rows log).

    Safe cuts are a few of these, and hardly ever end better, so where this does not gain no checks are made at all.
    """
    size, loss = stop - start, 0.0
    work = copy_slice(rows, start, stop)
    stack = np.empty((size // max(1, limits.k) + 1, 2), np.int64)
    stack[0, 0], stack[0, 1], height = 0, size, 1
    while height and loss < before:
        height -= 1
        begin, end = stack[height]
        parts = cut_once(work, begin, end, forest, limits, scratch)
        for part in range(parts):
            stack[height, 0], stack[height, 1] = scratch.ends[part], scratch.ends[part + 1]
            height += 1
        if parts == 0:
            for a in range(len(scratch.node)):
                node = scratch.node[a]
                low, high = (scratch.low[a], scratch.high[a]) if node < 0 else (forest.lo[node], forest.hi[node])
                loss += (end - begin) * (float(high) - float(low)) / forest.span[a]
    return loss < before


@njit(cache=True)
def _together(
    rows: CodedRows,
    start: int,
    stop: int,
    before: float,
    past: Past,
    forest: Forest,
    limits: Limits,
    scratch: CutBuffers,
    bench: ClusterBuffers,
) -> tuple[Int64, int, float]:
    """(label of each row, classes, loss): old and new rows of a leaf as one class, cut wherever it is safe.

    It is given up as soon as the classes that cannot be cut any more lose `before` already.
    One class is safe: whole clusters, and new rows that stand alone. A refused cut is tried again when others have been
    made since, so that in the end every cut of every class has been refused as things stand.
    """
    cluster, size = cluster_of(rows, start, stop, past, bench), stop - start
    most = size // max(1, limits.k) + 2
    work = copy_slice(rows, start, stop)
    boxes = np.empty((most, rows.codes.shape[1], 2), np.int32)
    made = Classes(np.zeros(size, np.int64), boxes, np.full(most, -1, np.int64), np.empty(size, np.int64))
    ends, table = np.zeros((most, 2), np.int64), difference_buffers(int(cluster.counts.max()), most)
    ends[0, 1] = size
    _enter(work, 0, size, 0, made, forest)
    todo, waiting = np.zeros(most, np.int64), np.empty(most, np.int64)
    height, refused, classes, news, settled = 1, 0, 1, False, 0.0
    while height:
        height -= 1
        own = todo[height]
        parts, legal = _cut_safely(work, own, ends, classes, cluster, made, forest, limits, scratch, table)
        for part in range(1, parts):
            todo[height], height = classes + part - 1, height + 1
        if parts:
            todo[height], height, classes, news = own, height + 1, classes + parts - 1, True
        elif legal:
            waiting[refused], refused = own, refused + 1
        else:
            settled += (ends[own, 1] - ends[own, 0]) * _width(made.boxes[own], forest)
            if settled >= before:
                return made.label, classes, settled
        if height == 0 and news:
            height, refused, news = refused, 0, False
            todo[:height] = waiting[:height]
    loss = 0.0
    for own in range(classes):
        loss += (ends[own, 1] - ends[own, 0]) * _width(made.boxes[own], forest)
    return made.label, classes, loss


@njit(cache=True)
def _cut_safely(
    work: CodedRows,
    own: int,
    ends: Int64,
    classes: int,
    cluster: Cluster,
    made: Classes,
    forest: Forest,
    limits: Limits,
    scratch: CutBuffers,
    desk: DifferenceBuffers,
) -> tuple[int, bool]:
    """Make the first legal cut of one class that is safe; how many parts it has, 0 if none is; whether any was legal.

    Part 0 keeps the number of the class, the others are numbered from `classes`. ends: where each class begins and ends
    """
    a, b = ends[own]
    listed, legal = measure(work, a, b, forest, limits.k, scratch), False
    for number in range(listed):
        parts = try_cut(work, a, b, number, forest, limits, scratch)
        if parts == 0:
            continue
        legal, changed = True, np.empty(parts, np.int64)
        for part in range(parts):
            changed[part] = own if part == 0 else classes + part - 1
            ends[changed[part]] = scratch.ends[part : part + 2]
            _enter(work, scratch.ends[part], scratch.ends[part + 1], changed[part], made, forest)
        if cut_is_safe(cluster, made, changed, limits.k, limits.share_numerator, limits.share_denominator, desk):
            return parts, legal
        ends[own, 0], ends[own, 1] = a, b
        _enter(work, a, b, own, made, forest)
    return 0, legal


@njit(cache=True)
def _enter(work: CodedRows, start: int, stop: int, own: int, made: Classes, forest: Forest) -> None:
    """Make the rows start..stop-1 a class: their labels, their list and their box, trees widened to nodes."""
    made.head[own], box = -1, made.boxes[own]
    box[:, 0], box[:, 1] = work.codes[start], work.codes[start]
    for at in range(start, stop):
        row = work.ids[at]
        made.label[row] = own
        made.after[row], made.head[own] = made.head[own], row
        for a in range(len(box)):
            box[a, 0], box[a, 1] = min(box[a, 0], work.codes[at, a]), max(box[a, 1], work.codes[at, a])
    for a in range(len(box)):
        if forest.root[a] >= 0:
            node = forest.leaf_node[forest.leaf_start[a] + box[a, 0]]
            while forest.hi[node] < box[a, 1]:
                node = forest.parent[node]
            box[a, 0], box[a, 1] = forest.lo[node], forest.hi[node]


@njit(cache=True)
def _width(box: Int32, forest: Forest) -> float:
    """The summed width of a box over the spans."""
    total = 0.0
    for a in range(len(box)):
        total += (float(box[a, 1]) - float(box[a, 0])) / forest.span[a]
    return total
