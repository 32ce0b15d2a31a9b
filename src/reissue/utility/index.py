"""A packed tree over boxes: what meets a query is found without looking at everything."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from reissue.core.domain import Float64, Int32, Int64

FAN = 16


class Packed(NamedTuple):
    """Boxes in an order that keeps neighbours together, with hulls of FAN boxes, of FAN hulls, and so on.

    order:   int64[items]                 the item that stands at each place
    boxes:   int32[items, attributes, 2]  in that order
    weights: float64[items]               in that order
    hulls:   int32[nodes, attributes, 2]  all levels, the lowest first; the last node is the root
    sums:    float64[nodes]               total weight under each node
    starts:  int64[levels + 1]            where each level begins in hulls
    """

    order: Int64
    boxes: Int32
    weights: Float64
    hulls: Int32
    sums: Float64
    starts: Int64


def pack(boxes: Int32, weights: Float64) -> Packed:
    """The tree over int32[items, attributes, 2], items >= 1. O(n log n)."""
    order = _curve(boxes)
    boxes, weights = np.ascontiguousarray(boxes[order]), weights[order].astype(np.float64)
    low, high, sums = boxes[:, :, 0], boxes[:, :, 1], weights
    hulls, totals, starts = [], [], [0]
    while True:
        first = np.arange(0, len(low), FAN)
        low, high = np.minimum.reduceat(low, first, axis=0), np.maximum.reduceat(high, first, axis=0)
        sums = np.add.reduceat(sums, first)
        hulls.append(np.stack([low, high], axis=2))
        totals.append(sums)
        starts.append(starts[-1] + len(low))
        if len(low) == 1:
            break
    return Packed(
        order, boxes, weights, np.concatenate(hulls), np.concatenate(totals), np.array(starts, dtype=np.int64)
    )


def _curve(boxes: Int32) -> Int64:
    """int64[items]: the items along a Z-order curve through their middles. O(n log n)."""
    attributes = boxes.shape[1]
    middle = boxes[:, :, 0].astype(np.int64) + boxes[:, :, 1]
    middle -= middle.min(axis=0)
    bits = max(1, min(16, 62 // attributes))
    scale = ((1 << bits) - 1) / np.maximum(middle.max(axis=0), 1)
    place: NDArray[np.int64] = (middle * scale).astype(np.int64)
    key = np.zeros(len(boxes), dtype=np.int64)
    for bit in range(bits):
        for a in range(min(attributes, 62)):
            key |= ((place[:, a] >> bit) & 1) << (bit * attributes + a)
    return np.argsort(key, kind="stable").astype(np.int64)


@njit(cache=True)
def weigh(tree: Packed, low: Int32, high: Int32) -> Float64:
    """float64[queries]: the weight inside each query box, an item's weight lying evenly on the codes of its box.

    low, high: int32[queries, attributes], closed. Only nodes that cross a query's border are opened: about
    O(n^(1 - 1/attributes)) per query where boxes are small, O(n) at worst.
    """
    total = np.zeros(len(low), dtype=np.float64)
    stack = np.empty(FAN * len(tree.starts) + 1, dtype=np.int64)
    levels = np.empty(len(stack), dtype=np.int64)
    for q in range(len(low)):
        stack[0], levels[0], top = len(tree.hulls) - 1, len(tree.starts) - 2, 1
        while top > 0:
            top -= 1
            node, level = stack[top], levels[top]
            share = overlap(tree.hulls[node], low[q], high[q])
            if share == 1.0:
                total[q] += tree.sums[node]
            elif share > 0.0:
                first, last = below(tree, node, level)
                for child in range(first, last):
                    if level == 0:
                        total[q] += tree.weights[child] * overlap(tree.boxes[child], low[q], high[q])
                    else:
                        stack[top], levels[top], top = child, level - 1, top + 1
    return total


@njit(cache=True)
def overlap(box: Int32, low: Int32, high: Int32) -> float:
    """The share of a box's codes that lie in low..high; exactly 1 if all do, 0 if none does."""
    share = 1.0
    for a in range(len(low)):
        common = min(box[a, 1], high[a]) - max(box[a, 0], low[a]) + 1
        if common <= 0:
            return 0.0
        share *= common / (box[a, 1] - box[a, 0] + 1)
    return share


@njit(cache=True)
def below(tree: Packed, node: int, level: int) -> tuple[int, int]:
    """The children of a node: a range of nodes, or of items for a node of level 0."""
    first = (node - tree.starts[level]) * FAN
    if level == 0:
        return first, min(first + FAN, len(tree.boxes))
    return tree.starts[level - 1] + first, min(tree.starts[level - 1] + first + FAN, tree.starts[level])
