"""Which part of a row's box lies in a query: people may be spread evenly over their boxes, or as other rows suggest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reissue.arrays.types import Float64, Int32, Int64

ROUNDS = {"numbers": 1, "groups": 3}
"""Of learning where people are inside boxes. More would follow the overlaps of boxes rather than people."""


class Spread:
    """How the people of one attribute are spread over its codes.

    intervals: int64[distinct, 2], ends included; of_row: int32[rows]
    """

    def __init__(self, boxes: Int32, low: int, high: int, rounds: int) -> None:
        """boxes: int32[rows, 2]. low, high: of the attribute; a missing number is just below. O(rows log rows)."""
        closed = np.clip(boxes.astype(np.int64), low, high)
        packed, self.of_row = np.unique(closed[:, 0] << 31 | (closed[:, 1] - closed[:, 0]), return_inverse=True)
        first = packed >> 31
        self.intervals: Int64 = np.stack([first, first + (packed & (2**31 - 1))], axis=1)
        self.width: Float64 = (self.intervals[:, 1] - self.intervals[:, 0]) / max(1, high - low)
        self._edges = np.unique(np.concatenate([self.intervals[:, 0], self.intervals[:, 1] + 1]))
        even = np.diff(self._edges).astype(np.float64)
        self._below = [np.concatenate([[0.0], np.cumsum(cells)]) for cells in (even, self._learn(even, rounds))]

    def _learn(self, cells: Float64, rounds: int) -> Float64:
        """float64[cells]: how many people are between two edges, as all boxes together suggest (EM)."""
        rows = np.bincount(self.of_row, minlength=len(self.intervals)).astype(np.float64)
        start = np.searchsorted(self._edges, self.intervals[:, 0])
        end = np.searchsorted(self._edges, self.intervals[:, 1] + 1)
        for _ in range(rounds):
            below = np.concatenate([[0.0], np.cumsum(cells)])
            each = rows / np.maximum(below[end] - below[start], 1e-300)
            step = np.zeros(len(self._edges))
            np.add.at(step, start, each)
            np.add.at(step, end, -each)
            cells = np.maximum(cells * np.cumsum(step)[:-1], 0.0)
        return cells

    def parts(self, asked: Sequence[tuple[int, int]]) -> tuple[Float64, Float64]:
        """float64[rows] twice: the part of each box in the asked intervals, spread evenly and as learned."""
        found = []
        for below in self._below:
            low, high = self.intervals[:, 0], self.intervals[:, 1] + 1
            whole = self._at(below, high) - self._at(below, low)
            inside = np.zeros(len(whole))
            for first, last in asked:
                one, other = np.maximum(low, first), np.minimum(high, last + 1)
                inside += np.where(other > one, self._at(below, other) - self._at(below, one), 0.0)
            covered = sum((np.clip(np.minimum(high, b + 1) - np.maximum(low, a), 0, None) for a, b in asked), 0 * low)
            share = np.clip(inside / np.maximum(whole, 1e-300), 0.0, 1.0)
            share = np.where(covered >= high - low, 1.0, np.where(covered == 0, 0.0, share))
            found.append(share[self.of_row])
        return found[0], found[1]

    def _at(self, below: Float64, code: Int64) -> Float64:
        return np.interp(code, self._edges, below)
