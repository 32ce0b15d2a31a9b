"""Looking up texts in bulk: tables of texts by hash, exact for any hash.

Texts come as Arrow keeps them: data uint8[bytes] of all of them, starts int64[n + 1]; text i is data[starts[i] to
starts[i + 1]]. Neither is written to.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from reissue.core.domain import Int32, Int64

Bytes = NDArray[np.uint8]


@njit(cache=True, nogil=True)
def index(data: Bytes, starts: Int64, numbers: Int64) -> tuple[Int32, int]:
    """(a table for `look_up`, how many texts repeat an earlier one). O(bytes) expected.

    numbers: int64[n]; of equal texts, the table has the one with the highest number.
    """
    count, repeats = len(starts) - 1, 0
    mask = np.int64(15)
    while mask < 2 * count:
        mask = 2 * mask + 1
    table = np.full(mask + 1, -1, dtype=np.int32)
    for i in range(count):
        at = _hash(data, starts[i], starts[i + 1]) & mask
        while table[at] >= 0 and not _same(data, starts, table[at], data, starts, i):
            at = (at + 1) & mask
        repeats += table[at] >= 0
        if table[at] < 0 or numbers[i] > numbers[table[at]]:
            table[at] = i
    return table, repeats


@njit(cache=True, nogil=True)
def look_up(
    table: Int32, data: Bytes, starts: Int64, numbers: Int64, wanted_data: Bytes, wanted_starts: Int64
) -> Int64:
    """int64[wanted]: the number of each wanted text, -1 if it is not in the table of data, starts and numbers."""
    found = np.full(len(wanted_starts) - 1, -1, dtype=np.int64)
    mask = np.int64(len(table) - 1)
    for i in range(len(found)):
        at = _hash(wanted_data, wanted_starts[i], wanted_starts[i + 1]) & mask
        while table[at] >= 0 and not _same(data, starts, table[at], wanted_data, wanted_starts, i):
            at = (at + 1) & mask
        if table[at] >= 0:
            found[i] = numbers[table[at]]
    return found


@njit(cache=True)
def _hash(data: Bytes, start: int, stop: int) -> int:
    """A number >= 0 that differs for most texts."""
    state = np.uint64(14695981039346656037)
    for i in range(start, stop):
        state = (state ^ np.uint64(data[i])) * np.uint64(1099511628211)
    state = (state ^ (state >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64(state >> np.uint64(2))  # type: ignore[return-value]


@njit(cache=True)
def _same(data: Bytes, starts: Int64, i: int, other: Bytes, other_starts: Int64, j: int) -> bool:
    size = starts[i + 1] - starts[i]
    if other_starts[j + 1] - other_starts[j] != size:
        return False
    offset = 0
    while offset < size and data[starts[i] + offset] == other[other_starts[j] + offset]:
        offset += 1
    return bool(offset == size)
