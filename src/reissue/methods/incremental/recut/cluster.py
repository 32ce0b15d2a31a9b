"""The rows of one leaf and what is known of them, renumbered from 0: the cluster that exact checks work on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.types import Int32, Int64
from reissue.methods.incremental.recut.check import Cluster, lists
from reissue.partition.tables import CodedRows


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
