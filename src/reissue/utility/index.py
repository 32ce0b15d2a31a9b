"""A packed tree over boxes: what meets a point or a query is found without looking at everything."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reissue.arrays.compiled import njit
from reissue.arrays.types import Int32, Int64

FAN = 16


class Packed(NamedTuple):
    """Boxes in an order that keeps neighbours together, with hulls of FAN boxes, of FAN hulls, and so on.

    order:  int64[items]                 the item that stands at each place
    boxes:  int32[items, attributes, 2]  in that order
    hulls:  int32[nodes, attributes, 2]  all levels, the lowest first; the last node is the root
    starts: int64[levels + 1]            where each level begins in hulls
    """

    order: Int64
    boxes: Int32
    hulls: Int32
    starts: Int64


def pack(boxes: Int32) -> Packed:
    """The tree over int32[items, attributes, 2], items >= 1. O(n log n)."""
    order = order_along_curve(boxes)
    boxes = np.ascontiguousarray(boxes[order])
    low, high = boxes[:, :, 0], boxes[:, :, 1]
    hulls, starts = [], [0]
    while True:
        first = np.arange(0, len(low), FAN)
        low, high = np.minimum.reduceat(low, first, axis=0), np.maximum.reduceat(high, first, axis=0)
        hulls.append(np.stack([low, high], axis=2))
        starts.append(starts[-1] + len(low))
        if len(low) == 1:
            return Packed(order, boxes, np.concatenate(hulls), np.array(starts, dtype=np.int64))


def order_along_curve(boxes: Int32) -> Int64:
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
def find_children(tree: Packed, node: int, level: int) -> tuple[int, int]:
    """The children of a node: a range of nodes, or of items for a node of level 0."""
    first = (node - tree.starts[level]) * FAN
    if level == 0:
        return first, min(first + FAN, len(tree.boxes))
    return tree.starts[level - 1] + first, min(tree.starts[level - 1] + first + FAN, tree.starts[level])
