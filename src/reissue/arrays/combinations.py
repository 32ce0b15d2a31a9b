"""Rows counted by all that matters about them: what workers tell a planner in place of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reissue.arrays.distinct import distinct
from reissue.arrays.types import Int32, Int64


@dataclass(frozen=True, eq=False)
class Combinations:
    """Combinations of whole numbers, each once, and how often it occurs.

    columns: int32[n] each; ascending by the first column, then by the second, and so on
    counts:  int64[n] > 0
    """

    columns: tuple[Int32, ...]
    counts: Int64

    def __len__(self) -> int:
        return len(self.counts)

    @staticmethod
    def of(columns: Sequence[Int32], counts: Int64 | None = None) -> Combinations:
        """Of rows, or of counts in which a combination may come twice. O(n + found log found)."""
        first, home = distinct(columns)
        total = np.bincount(home, counts, minlength=len(first)).astype(np.int64)
        return Combinations(tuple(column[first] for column in columns), total)

    @staticmethod
    def together(parts: Sequence[Combinations]) -> Combinations:
        """The sum."""
        columns = [np.concatenate(column) for column in zip(*(part.columns for part in parts), strict=True)]
        return Combinations.of(columns, np.concatenate([part.counts for part in parts]))
