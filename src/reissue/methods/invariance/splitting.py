"""Phase 4 of m-invariance: split a balanced bucket into classes that hold each value of its signature once.

A node holds h rows of each of the s values. A cut sorts the rows of every value by one attribute and halves each at
its own median, so both halves stay balanced; the attribute that gives the smallest sum of semiperimeters wins.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np

from reissue.arrays.compiled import njit, processors
from reissue.arrays.types import Float64, Int32, Int64
from reissue.model.domain import Domain

_PORTION = 20_000
"""Rows that a thread takes at a time, at least."""


def split(
    codes: Int32,
    bucket: Int32,
    values: Int32,
    keys: Int64,
    domains: Sequence[Domain],
    *,
    threads: int | None = None,
) -> tuple[Int32, int]:
    """(int32[rows] class of each row, number of classes); every bucket must be balanced. O(n a^2 log n).

    codes: int32[rows, a]; bucket, values: int32[rows]; keys: int64[rows] break ties between equal codes. Buckets are
    split each by itself, by several threads (None: as many as there are processors): the classes are the same.
    """
    order = _sort_rows(bucket, values, keys)
    sorted_bucket, sorted_value = bucket[order], values[order]
    firsts = np.flatnonzero(np.diff(sorted_bucket, prepend=-1))
    bounds = np.append(firsts, len(order)).astype(np.int64)
    changes = (np.diff(sorted_value, prepend=-1) != 0) | (np.diff(sorted_bucket, prepend=-1) != 0)
    kinds = np.add.reduceat(changes, firsts).astype(np.int64) if len(firsts) else np.empty(0, dtype=np.int64)
    heights = np.diff(bounds) // np.maximum(kinds, 1)
    first_class = np.cumsum(heights) - heights
    local = np.ascontiguousarray(codes[order])
    trees = _flatten_trees(domains)
    rows, sorted_classes = np.arange(len(order)), np.empty(len(order), dtype=np.int32)

    def split_some(part: tuple[int, int]) -> None:
        _split(*part, rows, sorted_classes, local, bounds, heights, first_class, *trees)

    with ThreadPoolExecutor(threads or processors()) as pool:
        list(pool.map(split_some, _make_portions(bounds)))
    classes = np.empty(len(order), dtype=np.int32)
    classes[order] = sorted_classes
    return classes, int(heights.sum())


def _make_portions(bounds: Int64) -> list[tuple[int, int]]:
    """Consecutive buckets, first and last + 1, so that a portion is worth a thread's while."""
    rows = int(bounds[-1])
    ends = np.searchsorted(bounds, np.arange(_PORTION, rows + _PORTION, _PORTION)).tolist()
    return list(pairwise(dict.fromkeys([0, *(min(end, len(bounds) - 1) for end in ends)])))


def _sort_rows(bucket: Int32, values: Int32, keys: Int64) -> Int64:
    """int64[rows]: rows by bucket, then value, then key; one packed sort where the numbers fit into 63 bits."""
    width = int(values.max(initial=0)) + 1
    entries = (int(bucket.max(initial=0)) + 1) * width
    room = 63 - entries.bit_length()
    if room < 16:
        return np.lexsort((keys, values, bucket))
    lost = max(0, int(keys.max(initial=0)).bit_length() - room)  # keys only break ties, so their low bits may go
    packed = (bucket.astype(np.int64) * width + values) << room | keys >> lost
    return np.argsort(packed, kind="stable")


def _flatten_trees(domains: Sequence[Domain]) -> tuple[Float64, Int64, Int64, Int32, Int32, Int32, Int32]:
    """Taxonomies for the kernel: span of each attribute, where its leaves and nodes start (-1: numeric), and the
    concatenated leaf_node, parent, lo, hi."""
    spans = np.array([domain.cost_span for domain in domains], dtype=np.float64)
    leaf_at, node_at = (np.full(len(domains), -1, dtype=np.int64) for _ in range(2))
    parts: list[list[Int32]] = [[np.empty(0, dtype=np.int32)] for _ in range(4)]
    leaves = nodes = 0
    for a, domain in enumerate(domains):
        tree = domain.nodes
        if tree is not None:
            leaf_at[a], node_at[a] = leaves, nodes
            for part, array in zip(parts, (tree.leaf_node, tree.parent, tree.lo, tree.hi), strict=True):
                part.append(array)
            leaves, nodes = leaves + tree.leaves, nodes + len(tree.lo)
    leaf_node, parent, lo, hi = (np.concatenate(part) for part in parts)
    return spans, leaf_at, node_at, leaf_node, parent, lo, hi


@njit(cache=True)
def _width(lo, hi, a, spans, leaf_at, node_at, leaf_node, parent, node_lo, node_hi):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """The share of its domain that lo..hi takes once it is widened to a node of the taxonomy."""
    if leaf_at[a] >= 0:
        node = leaf_node[leaf_at[a] + lo]
        while node_hi[node_at[a] + node] < hi:
            node = parent[node_at[a] + node]
        lo, hi = node_lo[node_at[a] + node], node_hi[node_at[a] + node]
    return (hi - lo) / spans[a]


@njit(cache=True)
def _select(rows, left, right, middle, codes, a):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """Reorder rows[left:right] so that the `middle` smallest by (code of a, row) come first. O(right - left)."""
    low, high = left, right - 1
    target = left + middle
    while low < high:
        pivot_row = rows[(low + high) // 2]
        pivot = (np.int64(codes[pivot_row, a]) << 32) | pivot_row
        i, j = low, high
        while i <= j:
            while ((np.int64(codes[rows[i], a]) << 32) | rows[i]) < pivot:
                i += 1
            while ((np.int64(codes[rows[j], a]) << 32) | rows[j]) > pivot:
                j -= 1
            if i <= j:
                rows[i], rows[j] = rows[j], rows[i]
                i += 1
                j -= 1
        if target <= j:
            high = j
        elif target >= i:
            low = i
        else:
            return


@njit(cache=True)
def _semiperimeter(rows, base, h, s, left, right, codes, trees, low, high):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """Sum over attributes of the normalized widths of the rows in columns left..right-1 of every value.

    low, high: int32[attributes] scratch. Row by row, so that a row's codes are fetched together.
    """
    spans, leaf_at, node_at, leaf_node, parent, node_lo, node_hi = trees
    attributes = codes.shape[1]
    for a in range(attributes):
        low[a] = high[a] = codes[rows[base + left], a]
    for v in range(s):
        for i in range(base + v * h + left, base + v * h + right):
            row = rows[i]
            for a in range(attributes):
                code = codes[row, a]
                low[a], high[a] = min(low[a], code), max(high[a], code)
    total = 0.0
    for a in range(attributes):
        total += _width(low[a], high[a], a, spans, leaf_at, node_at, leaf_node, parent, node_lo, node_hi)
    return total


@njit(cache=True, nogil=True)
def _split(  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    begin,
    end,
    rows,
    classes,
    codes,
    bounds,
    heights,
    first_class,
    spans,
    leaf_at,
    node_at,
    leaf_node,
    parent,
    node_lo,
    node_hi,
):
    """Fill classes (int32[rows], the class of each row) for the buckets begin..end-1.

    Rows are sorted by bucket, then value: bucket b is a (values x height) matrix. rows: int64[rows], 0, 1, 2, ...
    """
    trees = (spans, leaf_at, node_at, leaf_node, parent, node_lo, node_hi)
    attributes = codes.shape[1]
    low, high = np.empty(attributes, dtype=np.int32), np.empty(attributes, dtype=np.int32)
    varies = np.empty(attributes, dtype=np.bool_)
    stack = np.empty((128, 2), dtype=np.int64)
    for b in range(begin, end):
        base, h = bounds[b], heights[b]
        s = (bounds[b + 1] - base) // h
        stack[0, 0], stack[0, 1] = 0, h
        depth = 1
        while depth > 0:
            depth -= 1
            left, right = stack[depth, 0], stack[depth, 1]
            if right - left == 1:
                for v in range(s):
                    classes[rows[base + v * h + left]] = first_class[b] + left
                continue
            half = (right - left) // 2
            best, best_cost, last = -1, np.inf, -1
            _semiperimeter(rows, base, h, s, left, right, codes, trees, low, high)
            for a in range(attributes):
                varies[a] = low[a] < high[a]
            for a in range(attributes):
                if not varies[a]:  # a cut along it changes nothing
                    continue
                last = a
                for v in range(s):
                    _select(rows, base + v * h + left, base + v * h + right, half, codes, a)
                cost = _semiperimeter(rows, base, h, s, left, left + half, codes, trees, low, high)
                cost += _semiperimeter(rows, base, h, s, left + half, right, codes, trees, low, high)
                if cost < best_cost:
                    best, best_cost = a, cost
            if best != last:
                for v in range(s):
                    _select(rows, base + v * h + left, base + v * h + right, half, codes, best)
            stack[depth, 0], stack[depth, 1] = left, left + half
            stack[depth + 1, 0], stack[depth + 1, 1] = left + half, right
            depth += 2
