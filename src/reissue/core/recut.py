"""Cut the clusters of earlier releases anew together with the rows that joined them, where that tells nobody more."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from reissue.core.domain import Int32, Int64
from reissue.core.limits import Limits
from reissue.core.localcheck import MOST, Cluster, Desk, keeps
from reissue.core.mondrian import Forest, Rows, Scratch, measure, try_cut

LARGEST = 400
"""Rows of the largest cluster that is recut; larger ones keep their classes, and what joins them its own."""


WORTH = 64
"""Leaves tried at first; after that a leaf is tried while at least one in WORTH / 2 has gained so far."""


class Past(NamedTuple):
    """What is known of every row, in the order of the rows.

    cell: int64[rows], -1 for a new row; chain: int32[cells, releases]; widest: classes of the largest release
    start, value, times: the running multiset of each cell (IS)
    """

    cell: Int64
    chain: Int32
    widest: int
    start: Int64
    value: Int32
    times: Int64


class Bench(NamedTuple):
    """Scratch for renumbering, -1 between uses: place: int32[releases, classes], cell: int64[cells], value: int64[]."""

    place: Int32
    cell: Int64
    value: Int64


@njit(cache=True)
def recut_all(
    rows: Rows, leaf_start: Int64, past: Past, forest: Forest, limits: Limits, scratch: Scratch, desk: Desk
) -> tuple[Int64, int, int]:
    """(label int64[rows] by row id, labels used, clusters recut): new classes for every leaf that gains by it.

    rows: arranged by leaf; leaf i is rows leaf_start[i]..leaf_start[i+1]-1, and rows.ids counts from 0 in this order.
    Rows whose leaf is left alone get label -1: old ones keep their class, new ones form classes of their own.
    """
    label, used, recut, tried = np.full(len(rows.ids), -1, np.int64), 0, 0, 0
    values, cells = len(scratch.counts), len(past.chain)
    bench = Bench(
        np.full((past.chain.shape[1], past.widest), -1, np.int32),
        np.full(cells + 1, -1, np.int64),
        np.full(values, -1, np.int64),
    )
    for leaf in range(len(leaf_start) - 1):
        start, stop = leaf_start[leaf], leaf_start[leaf + 1]
        fresh = 0
        for row in range(start, stop):
            fresh += past.cell[row] < 0
        if fresh == 0:
            continue
        if fresh == stop - start or stop - start > LARGEST or tried > WORTH + recut * WORTH // 2:
            continue
        tried += 1
        before = _apart(rows, start, stop, fresh, past, forest, limits, scratch)
        own, classes, after = _together(rows, start, stop, past, forest, limits, scratch, desk, bench)
        if classes > 0 and after < before:
            for row in range(start, stop):
                label[row] = used + own[row - start]
            used, recut = used + classes, recut + 1
    return label, used, recut


@njit(cache=True)
def _spread(low: Int32, high: Int32, node: Int32, forest: Forest) -> float:
    """The summed width of a box, trees widened to nodes, over the spans."""
    total = 0.0
    for a in range(len(low)):
        if node[a] >= 0:
            total += (float(forest.hi[node[a]]) - float(forest.lo[node[a]])) / forest.span[a]
        else:
            total += (float(high[a]) - float(low[a])) / forest.span[a]
    return total


@njit(cache=True)
def _apart(
    rows: Rows, start: int, stop: int, fresh: int, past: Past, forest: Forest, limits: Limits, scratch: Scratch
) -> float:
    """The loss of the leaf if its old classes stay and its new rows are cut among themselves."""
    size, last = stop - start, past.chain.shape[1] - 1
    sub = Rows(np.empty((fresh, rows.codes.shape[1]), np.int32), np.empty(fresh, np.int32), np.empty(fresh, np.int64))
    at, loss = 0, 0.0
    own = np.empty(size - fresh, np.int64)
    old = np.empty(size - fresh, np.int64)
    there = 0
    for row in range(start, stop):
        if past.cell[row] < 0:
            sub.codes[at], sub.values[at], sub.ids[at] = rows.codes[row], rows.values[row], row - start
            at += 1
        else:
            own[there], old[there] = past.chain[past.cell[row], last], row
            there += 1
    order = np.argsort(own)
    p = 0
    while p < there:  # the classes as they are
        q = p
        while q < there and own[order[q]] == own[order[p]]:
            q += 1
        piece = Rows(np.empty((q - p, rows.codes.shape[1]), np.int32), rows.values, rows.ids)
        for i in range(p, q):
            piece.codes[i - p] = rows.codes[old[order[i]]]
        measure(piece, 0, q - p, forest, scratch)
        loss += (q - p) * _spread(scratch.low, scratch.high, scratch.node, forest)
        p = q
    stack, height = np.empty((fresh // max(1, limits.k) + 2, 2), np.int64), 1
    stack[0, 0], stack[0, 1] = 0, fresh
    while height:
        height -= 1
        a, b = stack[height, 0], stack[height, 1]
        ranked, parts = measure(sub, a, b, forest, scratch), 0
        if b - a >= 2 * limits.k:
            for i in range(2 * ranked):
                parts = try_cut(sub, a, b, scratch.ranked[i // 2], i % 2 == 1, forest, limits, scratch)
                if parts:
                    break
        for part in range(parts):
            stack[height, 0], stack[height, 1] = scratch.ends[part], scratch.ends[part + 1]
            height += 1
        if parts == 0:
            loss += (b - a) * _spread(scratch.low, scratch.high, scratch.node, forest)
    return loss


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
    return Cluster(value, cell, chain, counts, known, fresh)


@njit(cache=True)
def _together(
    rows: Rows,
    start: int,
    stop: int,
    past: Past,
    forest: Forest,
    limits: Limits,
    scratch: Scratch,
    desk: Desk,
    bench: Bench,
) -> tuple[Int64, int, float]:
    """(label of each row, classes, loss): old and new rows of a leaf as one class, cut wherever it is safe.

    classes is 0 if the leaf has too many classes to be checked, or if even one class is not safe.
    """
    cluster = _local(rows, start, stop, past, bench)
    size = stop - start
    label = np.zeros(size, np.int64)
    if cluster.counts.max() > MOST or not keeps(
        cluster, label, 1, limits.k, limits.share_numerator, limits.share_denominator, desk
    ):
        return label, 0, np.inf
    work = Rows(rows.codes[start:stop].copy(), rows.values[start:stop].copy(), np.arange(size))
    stack, height, classes, loss = np.empty((size // max(1, limits.k) + 2, 2), np.int64), 1, 1, 0.0
    stack[0, 0], stack[0, 1] = 0, size
    while height:
        height -= 1
        a, b = stack[height, 0], stack[height, 1]
        ranked, parts = measure(work, a, b, forest, scratch), 0
        spread, order = _spread(scratch.low, scratch.high, scratch.node, forest), scratch.ranked.copy()
        if b - a >= 2 * limits.k:
            for i in range(2 * ranked):
                parts = try_cut(work, a, b, order[i // 2], i % 2 == 1, forest, limits, scratch)
                if 0 < parts <= MOST - classes + 1 and _safe_cut(
                    work, label, classes, parts, cluster, limits, scratch, desk
                ):
                    classes += parts - 1
                    break
                parts = 0
        for part in range(parts):
            stack[height, 0], stack[height, 1] = scratch.ends[part], scratch.ends[part + 1]
            height += 1
        if parts == 0:
            loss += (b - a) * spread
    return label, classes, loss


@njit(cache=True)
def _safe_cut(
    work: Rows, label: Int64, classes: int, parts: int, cluster: Cluster, limits: Limits, scratch: Scratch, desk: Desk
) -> bool:
    """Label the parts of a cut as classes; taken back if that is not safe."""
    own = label[work.ids[scratch.ends[0]]]
    for part in range(1, parts):
        for row in range(scratch.ends[part], scratch.ends[part + 1]):
            label[work.ids[row]] = classes + part - 1
    if keeps(cluster, label, classes + parts - 1, limits.k, limits.share_numerator, limits.share_denominator, desk):
        return True
    for row in range(scratch.ends[0], scratch.ends[parts]):
        label[work.ids[row]] = own
    return False
