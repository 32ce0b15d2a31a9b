"""Minimum cuts of small dense graphs with integer weights: int64[nodes, nodes], symmetric, zero diagonal."""

from __future__ import annotations

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.sets import connected_components
from reissue.arrays.types import Bool, Int64


@njit(cache=True)
def _stoer_wagner(weights: Int64) -> tuple[np.int64, Bool]:  # pragma: no cover - compiled
    """(value, bool[nodes] one side) of a global minimum cut of a graph with at least two nodes. O(nodes^3)."""
    n = len(weights)
    w = weights.copy()
    groups = np.eye(n, dtype=np.bool_)
    alive = np.ones(n, dtype=np.bool_)
    best, side = np.int64(-1), np.zeros(n, dtype=np.bool_)
    for phase in range(n - 1):
        added = np.zeros(n, dtype=np.bool_)
        tight = np.zeros(n, dtype=np.int64)
        last, before = -1, -1
        for _ in range(n - phase):
            pick = -1
            for v in range(n):
                if alive[v] and not added[v] and (pick < 0 or tight[v] > tight[pick]):
                    pick = v
            added[pick] = True
            before, last = last, pick
            for v in range(n):
                tight[v] += w[pick, v]
        cut = np.int64(0)
        for v in range(n):
            if alive[v] and v != last:
                cut += w[last, v]
        if best < 0 or cut < best:
            best = cut
            for v in range(n):
                side[v] = groups[last, v]
        for v in range(n):  # merge the last two
            w[before, v] += w[last, v]
            w[v, before] += w[v, last]
            groups[before, v] |= groups[last, v]
        w[before, before] = 0
        alive[last] = False
    return best, side


def min_cut(weights: Int64) -> int:
    """The smallest minimum cut among the connected components of two nodes or more; 0 if there is none."""
    tail, head = np.nonzero(weights)
    part = connected_components(tail, head, len(weights))
    values = [
        int(_stoer_wagner(np.ascontiguousarray(weights[np.ix_(part == c, part == c)]))[0])
        for c in np.flatnonzero(np.bincount(part) > 1)
    ]
    return min(values, default=0)


@njit(cache=True)
def _flow(weights: Int64, source: int, sink: int) -> tuple[np.int64, Bool, Int64]:  # pragma: no cover - compiled
    """(value, bool[nodes] the source's side, what is left of the weights) of a cut. O(nodes^2) per augmenting path.

    Paths are widest first (capacity scaling), so their number grows with the logarithm of the weights.
    """
    n = len(weights)
    residual = weights.copy()
    total = np.int64(0)
    parent = np.empty(n, dtype=np.int64)
    queue = np.empty(n, dtype=np.int64)
    step = np.int64(1)
    while step * 2 <= weights.max():
        step *= 2
    while step >= 1:
        while True:
            parent[:] = -1
            parent[source] = source
            queue[0] = source
            head, tail = 0, 1
            while head < tail and parent[sink] < 0:
                u = queue[head]
                head += 1
                for v in range(n):
                    if parent[v] < 0 and residual[u, v] >= step:
                        parent[v] = u
                        queue[tail] = v
                        tail += 1
            if parent[sink] < 0:
                break
            push = residual[parent[sink], sink]
            v = sink
            while v != source:
                push = min(push, residual[parent[v], v])
                v = parent[v]
            v = sink
            while v != source:
                residual[parent[v], v] -= push
                residual[v, parent[v]] += push
                v = parent[v]
            total += push
        step //= 2
    return total, parent >= 0, residual


def cut_between(weights: Int64, source: int, sink: int) -> tuple[int, Bool]:
    """(value, bool[nodes] the source's side) of a minimum cut that separates the two nodes; 0 if nothing joins them.

    Every answer is proved before it is given: see `_is_proved`.
    """
    value, side, residual = _flow(np.ascontiguousarray(weights, dtype=np.int64), source, sink)
    if not _is_proved(int(value), side, weights - residual, weights, source, sink):
        raise AssertionError(f"a cut of {value} between two nodes is not the smallest, or no cut at all")
    return int(value), side


def _is_proved(value: int, side: Bool, sent: Int64, weights: Int64, source: int, sink: int) -> bool:
    """Whether so much flows between two nodes, and a cut of that weight separates them: then no cut is smaller.

    sent: int64[nodes, nodes] what flows along each edge, negative against it
    """
    flows = np.array_equal(sent, -sent.T) and bool((np.abs(sent) <= weights).all())
    kept = np.delete(sent.sum(axis=1), [source, sink])
    cut = int(weights[np.ix_(side, ~side)].sum())
    return bool(flows and not kept.any() and side[source] and not side[sink] and sent[source].sum() == value == cut)
