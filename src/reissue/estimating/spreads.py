"""Where the people of boxes are: which part of each row lies in what a query asks for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from reissue.arrays.types import Float64, Int32, Int64

ROUNDS = {"narrow": 2, "numbers": 1, "groups": 3}
"""Of learning where people are inside boxes. More would follow the overlaps of boxes rather than people."""


Kind = Literal["numbers", "groups"]


class Spread:
    """How the people of one attribute are spread over its codes.

    intervals: int64[distinct, 2], ends included; of_row: int32[rows]
    at_ends:   float64[rows] the part of each row that is at one of the ends of its box, half of it at each
    """

    def __init__(self, boxes: Int32, low: int, high: int, kind: Kind, together: Int64 | None = None) -> None:
        """boxes: int32[rows, 2]. low, high: of the attribute; a missing number is just below.

        together: int64[rows] how many rows share each whole box, where boxes are as narrow as their rows: then one of
        them is at each end. O(rows log rows).
        """
        self.kind = kind
        closed = np.clip(boxes.astype(np.int64), low, high)
        packed, self.of_row = np.unique(closed[:, 0] << 31 | (closed[:, 1] - closed[:, 0]), return_inverse=True)
        first = packed >> 31
        self.intervals: Int64 = np.stack([first, first + (packed & (2**31 - 1))], axis=1)
        self.width: Float64 = (self.intervals[:, 1] - self.intervals[:, 0]) / max(1, high - low)
        self.at_ends: Float64 = np.zeros(len(boxes))
        if together is not None:
            wide = (together > 1) & (closed[:, 1] > closed[:, 0])
            self.at_ends = np.where(wide, 2.0 / np.maximum(together, 1), 0.0)
        self.narrow = together is not None
        first, last = self.intervals.T
        self._edges = np.unique(np.concatenate([first, last + 1, *([first + 1, last] if self.narrow else [])]))
        even = np.diff(self._edges).astype(np.float64)
        self._below = [
            np.concatenate([[0.0], np.cumsum(cells)])
            for cells in (even, self._learn(even, ROUNDS["narrow" if self.narrow else kind]))
        ]

    def _learn(self, cells: Float64, rounds: int) -> Float64:
        """float64[cells]: how many people are between two edges, as all boxes together suggest (EM)."""
        start = np.searchsorted(self._edges, self.intervals[:, 0])
        last = np.searchsorted(self._edges, self.intervals[:, 1], side="right") - 1
        end = np.searchsorted(self._edges, self.intervals[:, 1] + 1)
        rows = np.bincount(self.of_row, 1.0 - self.at_ends, len(self.intervals))
        ends = np.bincount(self.of_row, self.at_ends, len(self.intervals)) / 2.0
        known = np.bincount(start, ends, len(cells)) + np.bincount(last, ends, len(cells))
        for _ in range(rounds):
            below = np.concatenate([[0.0], np.cumsum(cells)])
            each = rows / np.maximum(below[end] - below[start], 1e-300)
            step = np.zeros(len(self._edges))
            np.add.at(step, start, each)
            np.add.at(step, end, -each)
            cells = np.maximum(cells * np.cumsum(step)[:-1], 0.0) + known
        return cells

    def parts(self, asked: Sequence[tuple[int, int]]) -> tuple[Float64, Float64]:
        """float64[rows] twice: the part of each box in the asked intervals, spread evenly and as learned."""
        low, high = self.intervals[:, 0], self.intervals[:, 1] + 1
        covered = sum((np.clip(np.minimum(high, b + 1) - np.maximum(low, a), 0, None) for a, b in asked), 0 * low)
        ends = sum((((a <= end) & (end <= b)) / 2.0 for a, b in asked for end in (low, high - 1)), np.zeros(len(low)))
        found = []
        for below in self._below:
            whole = self._at(below, high) - self._at(below, low)
            inside = np.zeros(len(whole))
            for first, last in asked:
                one, other = np.maximum(low, first), np.minimum(high, last + 1)
                inside += np.where(other > one, self._at(below, other) - self._at(below, one), 0.0)
            share = np.clip(inside / np.maximum(whole, 1e-300), 0.0, 1.0)
            share = np.where(covered >= high - low, 1.0, np.where(covered == 0, 0.0, share))
            found.append(self.at_ends * ends[self.of_row] + (1.0 - self.at_ends) * share[self.of_row])
        return found[0], found[1]

    def _at(self, below: Float64, code: Int64) -> Float64:
        return np.interp(code, self._edges, below)
