"""The table of distinct (leaf codes, value) with counts: what global recoding works on, however many rows there are."""

from __future__ import annotations

import numpy as np
from numba import njit

from reissue.core.domain import Int32, Int64

_ROOM = np.int64(2) ** 62


def distinct(codes: Int32, values: Int32) -> tuple[Int64, Int32]:
    """(one row of each distinct combination, ascending by value; int32[rows] the combination of each row). O(rows)."""
    key = _packed(codes, values)
    home, first = _number(key)
    order = np.argsort(values[first], kind="stable")
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return first[order], rank[home]


def _packed(codes: Int32, values: Int32) -> Int64:
    """int64[rows]: one key per row, different for different combinations; columns are renumbered if they must be."""
    key: Int64 = np.zeros(len(values), dtype=np.int64)
    room = 1
    for column in (*(codes[:, a] for a in range(codes.shape[1])), values):
        low, high = (int(column.min()), int(column.max())) if len(column) else (0, 0)
        span = high - low + 1
        if room * span > _ROOM:
            number, first = _number(key)
            key, room = number.astype(np.int64), len(first)
        _append(key, column, span, low)
        room *= span
    return key


@njit(cache=True)
def _append(key: Int64, column: Int32, span: int, low: int) -> None:
    for row in range(len(key)):
        key[row] = key[row] * span + (column[row] - low)


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


@njit(cache=True)
def tally(home: Int32, arrival: Int32, combinations: int, arrivals: int) -> Int64:
    """int64[arrivals, combinations]: rows of each combination by arrival. O(rows)."""
    counts = np.zeros((arrivals, combinations), dtype=np.int64)
    for row in range(len(home)):
        counts[arrival[row], home[row]] += 1
    return counts
