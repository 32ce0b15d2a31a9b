"""The records of a chain of cumulative releases, counted by what they are and by when they came."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reissue.arrays.combinations import Combinations
from reissue.arrays.distinct import distinct, tally
from reissue.arrays.types import Int32, Int64


@dataclass(frozen=True, eq=False)
class Records:
    """Distinct (value, leaf codes), ascending by value and then by codes, and how many records there are of each.

    codes:  int32[n, attributes]; values: int32[n]
    counts: int64[arrivals, n] by the release with which they came: the chain's first, the next, ... the one being made
    """

    codes: Int32
    values: Int32
    counts: Int64

    @property
    def total(self) -> int:
        return int(self.counts.sum())

    @staticmethod
    def of_rows(codes: Int32, values: Int32, arrival: Int32, start: int, number: int) -> tuple[Records, Int32]:
        """(the records, int32[rows] the combination of each row) of a chain from release `start` to `number`. O(rows).

        codes: int32[rows, attributes]; arrival: int32[rows], from `start` on
        """
        first, home = distinct([values, *codes.T])
        counts = tally(home, arrival, start, len(first), number - start + 1)
        return Records(np.ascontiguousarray(codes[first]), values[first], counts), home

    @staticmethod
    def of_counts(counted: Combinations, start: int, number: int) -> Records:
        """Of combinations of value, leaf codes and arrival. O(combinations log combinations)."""
        *what, arrival = counted.columns
        first, home = distinct(what)
        counts = np.zeros((number - start + 1, len(first)), dtype=np.int64)
        counts[arrival - start, home] = counted.counts
        values, *codes = (column[first] for column in what)
        return Records(np.column_stack(codes), values, counts)

    def newest(self) -> Records:
        """Only those that come with the release being made."""
        some = np.flatnonzero(self.counts[-1])
        return Records(self.codes[some], self.values[some], self.counts[-1:, some])
