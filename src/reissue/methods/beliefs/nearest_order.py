"""Nearest point next: an order of rows in which every row is followed by the nearest one that is left.

A tree of boxes over the Hilbert order finds the nearest remaining row; a row that was taken leaves the tree, and the
boxes above it shrink, so that a search never walks through emptied regions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.types import NO_NUMBERS, Float64, Int32, Int64
from reissue.methods.beliefs.neighbours import gap
from reissue.model.boxes import hilbert_keys
from reissue.model.domain import Domain

BUCKET = 8


def order_nearest_next(codes: Int32, domains: Sequence[Domain]) -> Int64:
    """int64[rows]: the order (Domingo-Ferrer et al.); it starts with the row farthest from the centroid.

    Euclidean distance of the codes in shares of the domains' spans. About O(n log n) on real tables: each step looks at
    the boxes on one path and the few that may hold something nearer; ties go along the Hilbert curve.
    """
    if len(codes) == 0:
        return NO_NUMBERS
    along = np.argsort(hilbert_keys(codes, domains), kind="stable")
    span = np.array([domain.cost_span for domain in domains], dtype=np.float64)
    points = np.ascontiguousarray(codes[along] / span[None, :] if len(domains) else np.zeros((len(codes), 1)))
    away = ((points - points.mean(axis=0)) ** 2).sum(axis=1)
    order: Int64 = _order_points(points, int(away.argmax()))
    return along[order]


@njit(cache=True)
def _order_points(points: Float64, first: int) -> Int64:
    n, d = points.shape
    leaves = 1
    while leaves * BUCKET < n:
        leaves *= 2
    low, high = np.full((2 * leaves, d), np.inf), np.full((2 * leaves, d), -np.inf)
    left = np.zeros(2 * leaves, dtype=np.int64)  # rows that are left below each node; leaf i is node leaves + i
    alive = np.ones(n, dtype=np.bool_)
    for leaf in range(leaves):
        _refit_leaf(leaf, leaves, points, alive, low, high, left)
    for node in range(leaves - 1, 0, -1):
        _refit(node, low, high, left)
    order, stack = np.empty(n, dtype=np.int64), np.empty(128, dtype=np.int64)
    here = first
    for step in range(n):
        order[step] = here
        alive[here] = False
        _refit_leaf(here // BUCKET, leaves, points, alive, low, high, left)
        node = (leaves + here // BUCKET) >> 1
        while node > 0:
            _refit(node, low, high, left)
            node >>= 1
        if step + 1 < n:
            here = _find_nearest(points[here], leaves + here // BUCKET, leaves, points, alive, low, high, left, stack)
    return order


@njit(cache=True)
def _refit_leaf(leaf, leaves, points, alive, low, high, left) -> None:  # type: ignore[no-untyped-def]
    node = leaves + leaf
    low[node], high[node], left[node] = np.inf, -np.inf, 0
    for row in range(leaf * BUCKET, min(len(points), (leaf + 1) * BUCKET)):
        if alive[row]:
            left[node] += 1
            for a in range(points.shape[1]):
                low[node, a] = min(low[node, a], points[row, a])
                high[node, a] = max(high[node, a], points[row, a])


@njit(cache=True)
def _refit(node, low, high, left) -> None:  # type: ignore[no-untyped-def]
    one, other = 2 * node, 2 * node + 1
    left[node] = left[one] + left[other]
    for a in range(low.shape[1]):
        low[node, a] = min(low[one, a], low[other, a])
        high[node, a] = max(high[one, a], high[other, a])


@njit(cache=True)
def _find_nearest(point, start, leaves, points, alive, low, high, left, stack) -> int:  # type: ignore[no-untyped-def]
    """The nearest row that is left: from the row's own leaf up, going down only where something nearer may be."""
    best, found = np.inf, -1
    node, top = start, 0
    stack[0], top = start, 1
    while True:
        while top > 0:
            top -= 1
            at = stack[top]
            if left[at] == 0 or gap(point, low[at], high[at]) >= best:
                continue
            if at >= leaves:
                for row in range((at - leaves) * BUCKET, min(len(points), (at - leaves + 1) * BUCKET)):
                    if alive[row]:
                        distance = 0.0
                        for a in range(len(point)):
                            distance += (points[row, a] - point[a]) ** 2
                        if distance < best:
                            best, found = distance, row
            else:
                one, other = 2 * at, 2 * at + 1
                if gap(point, low[one], high[one]) > gap(point, low[other], high[other]):
                    one, other = other, one
                stack[top], stack[top + 1] = other, one
                top += 2
        if node <= 1 or best == 0.0:
            return found
        stack[0], top = node ^ 1, 1
        node >>= 1
