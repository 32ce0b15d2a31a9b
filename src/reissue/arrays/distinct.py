"""Distinct combinations of whole numbers: what planners work on, and workers tell them, however many rows there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.types import Bool, Int32, Int64

_ROOM = np.int64(2) ** 62


def distinct(columns: Sequence[Int32]) -> tuple[Int64, Int32]:
    """(one row of each distinct combination, int32[rows] the combination of each row). O(rows + found log found).

    Combinations are ascending by the first column, then by the second, and so on: in an order that does not depend on
    the order of the rows.
    """
    key = _pack_keys(columns)
    home, first = _number(key)
    order = np.argsort(key[first])
    return first[order], _ranks(order)[home]


def are_among(rows: Int32, others: Int32) -> Bool:
    """bool[n]: which rows of int32[n, columns] are also in int32[m, columns]. O(n + m)."""
    if len(others) == 0:
        return np.zeros(len(rows), dtype=np.bool_)
    found, home = distinct([*np.concatenate([others, rows]).T])
    known = np.zeros(len(found), dtype=np.bool_)
    known[home[: len(others)]] = True
    return known[home[len(others) :]]


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
    def sum(parts: Sequence[Combinations]) -> Combinations:
        """The sum."""
        columns = [np.concatenate(column) for column in zip(*(part.columns for part in parts), strict=True)]
        return Combinations.of(columns, np.concatenate([part.counts for part in parts]))


def _pack_keys(columns: Sequence[Int32]) -> Int64:
    """int64[rows]: one key per row; keys are equal, and ascend, as the combinations do.

    Columns that have no room in one number together are renumbered on the way.
    """
    ends = [_ends(column) for column in columns]
    key: Int64 = np.zeros(len(columns[0]), dtype=np.int64)
    room, done = 1, 0
    for at, (low, high) in enumerate(ends):
        if room * (high - low + 1) > _ROOM:
            _append(key, columns[done:at], np.array(ends[done:at], dtype=np.int64))
            home, first = _number(key)
            key = _ranks(np.argsort(key[first]))[home].astype(np.int64)
            room, done = len(first), at
        room *= high - low + 1
    _append(key, columns[done:], np.array(ends[done:], dtype=np.int64))
    return key


def _ranks(order: Int64) -> Int32:
    """int32[n]: where each one comes in the order."""
    ranks = np.empty(len(order), dtype=np.int32)
    ranks[order] = np.arange(len(order), dtype=np.int32)
    return ranks


def _append(key: Int64, columns: Sequence[Int32], ends: Int64) -> None:
    """Append the digits of some columns to the keys, a block of rows at a time so that the keys stay in the cache."""
    block = 1 << 14
    for start in range(0, len(key), block):
        for column, (low, high) in zip(columns, ends.tolist(), strict=True):
            _append_digits(key[start : start + block], column[start : start + block], high - low + 1, low)


@njit(cache=True)
def _append_digits(key: Int64, column: Int32, span: int, low: int) -> None:
    for row in range(len(key)):
        key[row] = key[row] * span + (column[row] - low)


@njit(cache=True)
def _ends(column: Int32) -> tuple[int, int]:
    """The lowest and highest entry; (0, 0) of nothing."""
    if len(column) == 0:
        return 0, 0
    low, high = column[0], column[0]
    for row in range(len(column)):
        low, high = min(low, column[row]), max(high, column[row])
    return int(low), int(high)


@njit(cache=True)
def find_used(column: Int32) -> Int32:
    """The different entries of a column, ascending. O(rows + the span from the lowest to the highest)."""
    low, high = _ends(column)
    used = np.zeros(high - low + 1 if len(column) else 0, dtype=np.bool_)
    for row in range(len(column)):
        used[column[row] - low] = True
    found, count = np.empty(len(used), dtype=np.int32), 0
    for code in range(len(used)):
        if used[code]:
            found[count] = low + code
            count += 1
    return found[:count]


@njit(cache=True)
def _number(key: Int64) -> tuple[Int32, Int64]:
    """Number the distinct keys in order of appearance: (number of each row, first row of each number). O(rows)."""
    home = np.empty(len(key), dtype=np.int32)
    first = np.empty(1024, dtype=np.int64)
    slots = np.full(4096, -1, dtype=np.int32)
    mask, found = np.int64(4095), 0
    for row in range(len(key)):
        at = (key[row] * np.int64(-7046029254386353131) >> np.int64(20)) & mask
        while slots[at] >= 0 and key[first[slots[at]]] != key[row]:
            at = (at + 1) & mask
        if slots[at] < 0:
            if found == len(first):
                first = np.concatenate((first, np.empty(found, dtype=np.int64)))
            first[found] = row
            slots[at] = found
            found += 1
            home[row] = found - 1
            if 2 * found > mask:
                mask = 2 * mask + 1
                slots = np.full(mask + 1, -1, dtype=np.int32)
                for n in range(found):
                    to = (key[first[n]] * np.int64(-7046029254386353131) >> np.int64(20)) & mask
                    while slots[to] >= 0:
                        to = (to + 1) & mask
                    slots[to] = n
        else:
            home[row] = slots[at]
    return home, first[:found]
