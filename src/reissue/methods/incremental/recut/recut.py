"""Cut the clusters of earlier releases anew together with the rows that joined them, where that tells nobody more."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.types import Float64, Int32, Int64
from reissue.methods.incremental.recut.check import Classes, Cluster, cut_is_safe, find_largest, lists
from reissue.methods.incremental.recut.check_difference import DifferenceBuffers, difference_buffers
from reissue.model.requirement_kernels import Limits
from reissue.partition.cuts import copy_slice, measure, try_cut
from reissue.partition.tables import CodedRows, CutBuffers, Forest, cut_buffers

EFFORT = 2_500
"""When checks of a leaf have taken so many steps for each of its rows, what is not cut by then stays as it is.

It is asked before a cut is laid beside one more earlier release: what is not checked to the end counts as unsafe.
"""


def recut_all(
    rows: CodedRows, leaf_start: Int64, past: Past, lost: Float64, forest: Forest, limits: Limits, value_count: int
) -> tuple[Int64, int, int, int]:
    """(label int64[rows] by row id, labels used, leaves recut, leaves broken off): new classes where a leaf gains.

    rows: arranged by leaf; leaf i is rows leaf_start[i]..leaf_start[i+1]-1, and rows.ids counts from 0 in this order.
    lost: float64[rows] what each row loses if it is left alone: old rows in their class, new ones among themselves.
    Rows whose leaf is left alone get label -1. O(rows * EFFORT).
    """
    label = np.full(len(rows.ids), -1, dtype=np.int64)
    scratch, bench = cut_buffers(forest, value_count), cluster_buffers(past, value_count)
    return label, *_recut_leaves(rows, leaf_start, past, lost, forest, limits, scratch, bench, label)


@njit(cache=True)
def _recut_leaves(
    rows: CodedRows,
    leaf_start: Int64,
    past: Past,
    lost: Float64,
    forest: Forest,
    limits: Limits,
    scratch: CutBuffers,
    bench: ClusterBuffers,
    label: Int64,
) -> tuple[int, int, int]:
    """Label the rows of leaves from 0 where they gain; (labels used, leaves recut, leaves broken off)."""
    used = recut = broken_off = 0
    for leaf in range(len(leaf_start) - 1):
        start, stop = leaf_start[leaf], leaf_start[leaf + 1]
        fresh = 0
        for row in range(start, stop):
            fresh += past.cell[row] < 0
        if fresh == 0 or fresh == stop - start:
            continue
        before = 0.0
        for row in range(start, stop):
            before += lost[row]
        own, classes, after, done = _together(rows, start, stop, before, past, forest, limits, scratch, bench)
        broken_off += not done
        if after < before:
            for row in range(start, stop):
                label[row] = used + own[row - start]
            used, recut = used + classes, recut + 1
    return used, recut, broken_off


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
) -> tuple[Int64, int, float, bool]:
    """(label of each row, classes, loss, whether all was tried): rows of a leaf as one class, cut wherever it is safe.

    It is given up as soon as the classes that cannot be cut any more lose `before` already, and broken off when the
    checks have taken too many steps, or a long past would make a release take seconds.
    One class is safe: whole clusters, and new rows that stand alone. A refused cut is tried again when others have been
    made since, so that in the end every cut of every class has been refused as things stand.
    """
    cluster, size = build_cluster(rows, start, stop, past, bench), stop - start
    most = size // max(1, limits.k) + 2
    work = copy_slice(rows, start, stop)
    boxes = np.empty((most, rows.codes.shape[1], 2), np.int32)
    made = Classes(np.zeros(size, np.int64), boxes, np.full(most, -1, np.int64), np.empty(size, np.int64))
    ends, table = np.zeros((most, 2), np.int64), difference_buffers(find_largest(cluster.counts), most)
    ends[0, 1] = size
    _enter(work, 0, size, 0, made, forest)
    todo, waiting = np.zeros(most, np.int64), np.empty(most, np.int64)
    height, refused, classes, news, settled, effort = 1, 0, 1, False, 0.0, EFFORT * size
    while height and table.steps[0] < effort:
        height -= 1
        own = todo[height]
        parts, legal = _cut_safely(work, own, ends, classes, cluster, made, forest, limits, scratch, table, effort)
        for part in range(1, parts):
            todo[height], height = classes + part - 1, height + 1
        if parts:
            todo[height], height, classes, news = own, height + 1, classes + parts - 1, True
        elif legal:
            waiting[refused], refused = own, refused + 1
        else:
            settled += (ends[own, 1] - ends[own, 0]) * _width(made.boxes[own], forest)
            if settled >= before:
                return made.label, classes, settled, True
        if height == 0 and news:
            height, refused, news = refused, 0, False
            for again in range(height):
                todo[again] = waiting[again]
    loss = 0.0
    for own in range(classes):
        loss += (ends[own, 1] - ends[own, 0]) * _width(made.boxes[own], forest)
    return made.label, classes, loss, table.steps[0] < effort


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
    effort: int,
) -> tuple[int, bool]:
    """Make the first legal cut of one class that is safe; how many parts it has, 0 if none is; whether any was legal.

    Part 0 keeps the number of the class, the others are numbered from `classes`. ends: where each class begins and ends
    """
    a, b = ends[own, 0], ends[own, 1]
    listed, legal = measure(work, a, b, forest, limits.k, scratch), False
    for number in range(listed):
        if desk.steps[0] >= effort:
            return 0, True
        parts = try_cut(work, a, b, number, forest, limits, scratch)
        if parts == 0:
            continue
        legal, changed = True, np.empty(parts, np.int64)
        for part in range(parts):
            changed[part] = own if part == 0 else classes + part - 1
            ends[changed[part], 0], ends[changed[part], 1] = scratch.ends[part], scratch.ends[part + 1]
            _enter(work, scratch.ends[part], scratch.ends[part + 1], changed[part], made, forest)
        share = limits.share_numerator, limits.share_denominator
        if cut_is_safe(cluster, made, changed, limits.k, *share, desk, effort):
            return parts, legal
        ends[own, 0], ends[own, 1] = a, b
        _enter(work, a, b, own, made, forest)
    return 0, legal


@njit(cache=True)
def _enter(work: CodedRows, start: int, stop: int, own: int, made: Classes, forest: Forest) -> None:
    """Make the rows start..stop-1 a class: their labels, their list and their box, trees widened to nodes."""
    made.head[own], box = -1, made.boxes[own]
    for a in range(len(box)):
        box[a, 0], box[a, 1] = work.codes[start, a], work.codes[start, a]
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


class Past(NamedTuple):
    """What is known of every row, in the order of the rows.

    cell: int64[rows], -1 for a new row; chain: int32[cells, releases]; widest: classes of the largest release
    start, value, times: the running multiset of each cell (IS); boxes: int32[cells, attributes, 2] (IQ)
    """

    cell: Int64
    chain: Int32
    widest: int
    start: Int64
    value: Int32
    times: Int64
    boxes: Int32


class ClusterBuffers(NamedTuple):
    """Scratch for renumbering, -1 between uses: place: int32[releases, classes], cell: int64[cells], value: int64[]."""

    place: Int32
    cell: Int64
    value: Int64


def cluster_buffers(past: Past, value_count: int) -> ClusterBuffers:
    """Scratch for one thread."""
    place = np.full((past.chain.shape[1], past.widest), -1, np.int32)
    return ClusterBuffers(place, np.full(len(past.chain) + 1, -1, np.int64), np.full(value_count, -1, np.int64))


@njit(cache=True)
def build_cluster(rows: CodedRows, start: int, stop: int, past: Past, bench: ClusterBuffers) -> Cluster:
    """The rows of one leaf and their past, renumbered."""
    size, releases = stop - start, past.chain.shape[1]
    value, cell = np.empty(size, np.int64), np.empty(size, np.int64)
    chain, counts = np.full((size, releases), -1, np.int32), np.zeros(releases, np.int64)
    cells = values = 0
    for i in range(size):
        if bench.value[rows.values[start + i]] < 0:
            bench.value[rows.values[start + i]] = values
            values += 1
        value[i] = bench.value[rows.values[start + i]]
        own = past.cell[start + i]
        if bench.cell[own] < 0:  # new rows have cell -1: the last place
            bench.cell[own] = cells
            cells += 1
        cell[i] = bench.cell[own]
        for n in range(releases):
            there = past.chain[own, n] if own >= 0 else -1
            if there >= 0:
                if bench.place[n, there] < 0:
                    bench.place[n, there] = counts[n]
                    counts[n] += 1
                chain[i, n] = bench.place[n, there]
    known, fresh = np.zeros((cells, values), np.int64), np.zeros(cells, np.bool_)
    for i in range(size):
        own = past.cell[start + i]
        if own < 0:
            fresh[cell[i]] = True
            continue
        for p in range(past.start[own], past.start[own + 1]):
            if bench.value[past.value[p]] >= 0:
                known[cell[i], bench.value[past.value[p]]] = past.times[p]
    for i in range(size):
        own = past.cell[start + i]
        bench.value[rows.values[start + i]], bench.cell[own] = -1, -1
        if own >= 0:
            for n in range(releases):
                if past.chain[own, n] >= 0:
                    bench.place[n, past.chain[own, n]] = -1
    codes = rows.codes[start:stop].copy()
    boxes = _around(past, chain, counts, start, codes.shape[1])
    return Cluster(value, codes, cell, chain, counts, known, fresh, boxes, *lists(chain, counts))


@njit(cache=True)
def _around(past: Past, chain: Int32, counts: Int64, start: int, attributes: int) -> Int32:
    """int32[releases, classes, attributes, 2]: the hull of what is left possible (IQ) for the people of each class.

    It lies inside the box that was published for the class, and is that box unless they have been told apart since.
    """
    size, releases = chain.shape
    boxes = np.empty((releases, max(1, find_largest(counts)), attributes, 2), np.int32)
    for n in range(releases):
        for c in range(boxes.shape[1]):
            for a in range(attributes):
                boxes[n, c, a, 0], boxes[n, c, a, 1] = 2**31 - 1, -(2**31)
    for i in range(size):
        own = past.cell[start + i]
        for n in range(releases):
            if chain[i, n] >= 0:
                box = boxes[n, chain[i, n]]
                for a in range(attributes):
                    box[a, 0], box[a, 1] = min(box[a, 0], past.boxes[own, a, 0]), max(box[a, 1], past.boxes[own, a, 1])
    return boxes
