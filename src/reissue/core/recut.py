"""Cut the clusters of earlier releases anew together with the rows that joined them, where that tells nobody more."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from reissue.core.compiled import njit
from reissue.core.domain import Float64, Int32, Int64
from reissue.core.limits import Limits
from reissue.core.localcheck import Classes, Cluster, keeps, lists
from reissue.core.localflow import Desk, desk
from reissue.core.mondrian import Forest, Rows, Scratch, measure, scratch_of, try_cut
from reissue.core.processors import processors

PARTS, LARGE = (16, 64), 100_000
"""Into how many parts the leaves are divided, for threads: few below so many rows, more from there on."""

TRIES, GAIN = 2_048, 32
"""Leaves tried in any case; after that a part goes on while at least one leaf in GAIN has gained."""


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


class Bench(NamedTuple):
    """Scratch for renumbering, -1 between uses: place: int32[releases, classes], cell: int64[cells], value: int64[]."""

    place: Int32
    cell: Int64
    value: Int64


def recut_all(
    rows: Rows,
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

    def some(part: tuple[int, int]) -> tuple[int, int, int]:
        scratch = scratch_of(forest, value_count)
        return _recut_some(rows, leaf_start, *part, TRIES // shares, past, lost, forest, limits, scratch, label)

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
    rows: Rows,
    leaf_start: Int64,
    first: int,
    last: int,
    tries: int,
    past: Past,
    lost: Float64,
    forest: Forest,
    limits: Limits,
    scratch: Scratch,
    label: Int64,
) -> tuple[int, int, int]:
    """Label the rows of leaves first..last-1, from 0 where they gain; (labels used, leaves recut, leaves not tried)."""
    used = recut = tried = untried = 0
    bench = Bench(
        np.full((past.chain.shape[1], past.widest), -1, np.int32),
        np.full(len(past.chain) + 1, -1, np.int64),
        np.full(len(scratch.counts), -1, np.int64),
    )
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
        tried += 1
        own, classes, after = _together(rows, start, stop, past, forest, limits, scratch, bench)
        if after < lost[start:stop].sum():
            for row in range(start, stop):
                label[row] = used + own[row - start]
            used, recut = used + classes, recut + 1
    return used, recut, untried


@njit(cache=True)
def _local(rows: Rows, start: int, stop: int, past: Past, bench: Bench) -> Cluster:
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
    boxes = np.empty((releases, max(1, counts.max()), attributes, 2), np.int32)
    boxes[..., 0], boxes[..., 1] = 2**31 - 1, -(2**31)
    for i in range(size):
        own = past.cell[start + i]
        for n in range(releases):
            if chain[i, n] >= 0:
                box = boxes[n, chain[i, n]]
                for a in range(attributes):
                    box[a, 0], box[a, 1] = min(box[a, 0], past.boxes[own, a, 0]), max(box[a, 1], past.boxes[own, a, 1])
    return boxes


@njit(cache=True)
def _together(
    rows: Rows, start: int, stop: int, past: Past, forest: Forest, limits: Limits, scratch: Scratch, bench: Bench
) -> tuple[Int64, int, float]:
    """(label of each row, classes, loss): old and new rows of a leaf as one class, cut wherever it is safe.

    One class is safe: whole clusters, and new rows that stand alone. A refused cut is tried again when others have been
    made since, so that in the end every cut of every class has been refused as things stand.
    """
    cluster, size = _local(rows, start, stop, past, bench), stop - start
    most = size // max(1, limits.k) + 2
    work = Rows(rows.codes[start:stop].copy(), rows.values[start:stop].copy(), np.arange(size))
    boxes = np.empty((most, rows.codes.shape[1], 2), np.int32)
    made = Classes(np.zeros(size, np.int64), boxes, np.full(most, -1, np.int64), np.empty(size, np.int64))
    ends, table = np.zeros((most, 2), np.int64), desk(int(cluster.counts.max()), most)
    ends[0, 1] = size
    _enter(work, 0, size, 0, made, forest)
    todo, waiting = np.zeros(most, np.int64), np.empty(most, np.int64)
    height, refused, classes, news = 1, 0, 1, False
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
        if height == 0 and news:
            height, refused, news = refused, 0, False
            todo[:height] = waiting[:height]
    loss = 0.0
    for own in range(classes):
        loss += (ends[own, 1] - ends[own, 0]) * _width(made.boxes[own], forest)
    return made.label, classes, loss


@njit(cache=True)
def _cut_safely(
    work: Rows,
    own: int,
    ends: Int64,
    classes: int,
    cluster: Cluster,
    made: Classes,
    forest: Forest,
    limits: Limits,
    scratch: Scratch,
    desk: Desk,
) -> tuple[int, bool]:
    """Make the first legal cut of one class that is safe; how many parts it has, 0 if none is; whether any was legal.

    Part 0 keeps the number of the class, the others are numbered from `classes`. ends: where each class begins and ends
    """
    a, b = ends[own]
    if b - a < 2 * limits.k:
        return 0, False
    ranked, legal = measure(work, a, b, forest, scratch), False
    for i in range(2 * ranked):
        parts = try_cut(work, a, b, scratch.ranked[i // 2], i % 2 == 1, forest, limits, scratch)
        if parts == 0:
            continue
        legal, changed = True, np.empty(parts, np.int64)
        for part in range(parts):
            changed[part] = own if part == 0 else classes + part - 1
            ends[changed[part]] = scratch.ends[part : part + 2]
            _enter(work, scratch.ends[part], scratch.ends[part + 1], changed[part], made, forest)
        if keeps(cluster, made, changed, limits.k, limits.share_numerator, limits.share_denominator, desk):
            return parts, legal
        ends[own, 0], ends[own, 1] = a, b
        _enter(work, a, b, own, made, forest)
    return 0, legal


@njit(cache=True)
def _enter(work: Rows, start: int, stop: int, own: int, made: Classes, forest: Forest) -> None:
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
