"""Kernels that answer thousands of count queries on hundreds of thousands of rows or classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reissue.arrays.compiled import njit
from reissue.arrays.types import Float64, Int32, Int64

CHUNK = 4096
WORDS = CHUNK // 64
BLOCK = 64
Bits = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class RowGroups:
    """The sensitive values of every class.

    start: int64[classes + 1] where the class's groups begin; values: int32[groups]; counts: [groups] rows, or expected
    ones
    """

    start: Int64
    values: Int32
    counts: Int64 | Float64

    @staticmethod
    def of(classes: Int32, values: Int32, counts: Int64 | Float64, class_count: int) -> RowGroups:
        """From (class, value, count) sorted by class."""
        return RowGroups(np.searchsorted(classes, np.arange(class_count + 1)).astype(np.int64), values, counts)

    def below(self, classes: Int64) -> tuple[Int32, Float64]:
        """The values of some classes, rising, and float64[values + 1, classes]: rows with one of the first i values."""
        length = self.start[classes + 1] - self.start[classes]
        column = np.repeat(np.arange(len(classes)), length)
        within = np.arange(int(length.sum())) - np.repeat(np.cumsum(length) - length, length)
        group = self.start[classes][column] + within
        found, place = np.unique(self.values[group], return_inverse=True)
        table = np.zeros((len(found) + 1, len(classes)))
        table[place + 1, column] = self.counts[group]
        return found.astype(np.int32), np.cumsum(table, axis=0)


def count_points(points: Int32, low: Int32, high: Int32) -> Int64:
    """int64[queries]: points of int32[rows, dimensions] inside int32[queries, dimensions] low..high.

    Bit maps of a chunk's rows below each code make a query two words per 64 rows and dimension:
    O(rows * queries * dimensions / 32), and O(rows * log CHUNK * dimensions) to build.
    """
    total = np.zeros(len(low), dtype=np.int64)
    for first in range(0, len(points), CHUNK):
        _count_chunk(np.ascontiguousarray(points[first : first + CHUNK]), low, high, total)
    return total


def weigh_rows(codes: Int32, classes: Int32, groups: RowGroups, low: Int32, high: Int32, values: Int32) -> Float64:
    """float64[queries]: the sum over the rows inside low..high of the share of their class's values inside `values`.

    codes int32[rows, attributes]; classes int32[rows]; values int32[queries, 2].
    Cost as `count_points`, and O(1) per row inside.
    """
    order = np.argsort(classes, kind="stable")  # rows of one class together: few classes per chunk
    total = np.zeros(len(low), dtype=np.float64)
    for first in range(0, len(codes), CHUNK):
        rows = order[first : first + CHUNK]
        present, of_row = np.unique(classes[rows], return_inverse=True)
        found, below = groups.below(present.astype(np.int64))
        shares = (below / below[-1])[:, of_row]
        _weigh_chunk(np.ascontiguousarray(codes[rows]), shares, low, high, *_find_places(found, values), total)
    return total


def weigh_boxes(boxes: Int32, groups: RowGroups, low: Int32, high: Int32, values: Int32) -> Float64:
    """float64[queries]: the sum over classes of (rows with a value in `values`) * (share of the box in low..high).

    boxes int32[classes, attributes, 2], every class with rows. Blocks of neighbouring classes that a query misses are
    skipped whole: O(classes / BLOCK + classes in blocks that meet the query) per query.
    """
    order = order_along_curve(boxes)
    total = np.zeros(len(low), dtype=np.float64)
    for first in range(0, len(order), CHUNK):
        some = order[first : first + CHUNK]
        found, below = groups.below(some)
        sides = np.ascontiguousarray(boxes[some].transpose(1, 2, 0).astype(np.float64))
        volume = (sides[:, 1] - sides[:, 0] + 1.0).prod(axis=0)
        _weigh_box_chunk(sides, volume, below, low, high, *_find_places(found, values), total)
    return total


def _find_places(found: Int32, values: Int32) -> tuple[Int64, Int64]:
    """Rows of a table of `Groups.below` whose difference counts the values low..high of each query."""
    first = np.searchsorted(found, values[:, 0])
    return first, np.maximum(first, np.searchsorted(found, values[:, 1], side="right"))


@njit(cache=True)
def _bit_maps(column: Int32) -> tuple[Int32, Bits]:
    """A chunk's codes, rising, and uint64[codes + 1, WORDS]: bit maps of the rows with one of the first i codes."""
    found = np.unique(column)
    maps = np.zeros((len(found) + 1, WORDS), dtype=np.uint64)
    place = np.searchsorted(found, column)
    for row in range(len(column)):
        maps[place[row] + 1, row >> 6] |= np.uint64(1) << np.uint64(row & 63)
    for i in range(1, len(found) + 1):
        for word in range(WORDS):
            maps[i, word] |= maps[i - 1, word]
    return found, maps


@njit(cache=True)
def _fill_masks(points: Int32, low: Int32, high: Int32, masks: Bits) -> None:
    """Fill uint64[queries, WORDS]: the rows of the chunk inside each query."""
    for q in range(len(masks)):
        for row in range(len(points)):
            masks[q, row >> 6] |= np.uint64(1) << np.uint64(row & 63)
    for d in range(points.shape[1]):
        found, maps = _bit_maps(points[:, d].copy())
        first = np.searchsorted(found, low[:, d].copy())
        last = np.searchsorted(found, high[:, d].copy(), side="right")
        for q in range(len(masks)):
            if first[q] > 0 or last[q] < len(found):
                upper, lower = maps[max(last[q], first[q])], maps[first[q]]
                for word in range(WORDS):
                    masks[q, word] &= upper[word] & ~lower[word]


@njit(cache=True)
def _count_ones(word: np.uint64) -> int:
    """The number of bits set."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(cache=True)
def _count_chunk(points: Int32, low: Int32, high: Int32, total: Int64) -> None:
    masks = np.zeros((len(low), WORDS), dtype=np.uint64)
    _fill_masks(points, low, high, masks)
    for q in range(len(low)):
        for word in range(WORDS):
            if masks[q, word] != 0:
                total[q] += _count_ones(masks[q, word])


@njit(cache=True)
def _weigh_chunk(
    codes: Int32, shares: Float64, low: Int32, high: Int32, first: Int64, last: Int64, total: Float64
) -> None:
    """Add to float64[queries]; shares: float64[values + 1, rows], first and last the query's rows of it."""
    masks = np.zeros((len(low), WORDS), dtype=np.uint64)
    _fill_masks(codes, low, high, masks)
    for q in range(len(low)):
        a, b = first[q], last[q]
        for word in range(WORDS):
            left = masks[q, word]
            while left != 0:
                lowest = left & (~left + np.uint64(1))
                row = word * 64 + _count_ones(lowest - np.uint64(1))
                left ^= lowest
                total[q] += shares[b, row] - shares[a, row]


@njit(cache=True)
def _weigh_box_chunk(
    sides: Float64,
    volume: Float64,
    below: Float64,
    low: Int32,
    high: Int32,
    first: Int64,
    last: Int64,
    total: Float64,
) -> None:
    """Add to float64[queries]. sides: float64[attributes, 2, classes]; below: float64[values + 1, classes].

    Plain loops over the classes of a block, so that the compiler turns them into vector instructions. A box inside
    the query has exactly the share 1: its common cells and its volume are the same product.
    """
    attributes, _, classes = sides.shape
    blocks = (classes + BLOCK - 1) // BLOCK
    hulls = np.empty((blocks, attributes, 2))
    for block in range(blocks):
        for a in range(attributes):
            hulls[block, a, 0] = sides[a, 0, block * BLOCK : (block + 1) * BLOCK].min()
            hulls[block, a, 1] = sides[a, 1, block * BLOCK : (block + 1) * BLOCK].max()
    common = np.empty(BLOCK)
    sums = np.empty(BLOCK)
    for q in range(len(low)):
        sums[:] = 0.0
        for block in range(blocks):
            meets = True
            for a in range(attributes):
                if hulls[block, a, 0] > high[q, a] or hulls[block, a, 1] < low[q, a]:
                    meets = False
            if not meets:
                continue
            start = block * BLOCK
            size = min(BLOCK, classes - start)
            common[:] = 1.0
            for a in range(attributes):
                bottom, top = float(low[q, a]), float(high[q, a])
                for i in range(size):
                    common[i] *= max(0.0, min(sides[a, 1, start + i], top) - max(sides[a, 0, start + i], bottom) + 1.0)
            for i in range(size):
                rows = below[last[q], start + i] - below[first[q], start + i]
                sums[i] += common[i] / volume[start + i] * rows
        total[q] += sums.sum()


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
