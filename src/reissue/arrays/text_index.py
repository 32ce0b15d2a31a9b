"""Looking up texts in bulk: tables of texts by hash, exact for any hash.

Texts come as Arrow keeps them: data uint8[bytes] of all of them, starts int64[n + 1]; text i is data[starts[i] to
starts[i + 1]]. Neither is written to.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reissue.arrays.compiled import njit
from reissue.arrays.types import Int32, Int64

Bytes = NDArray[np.uint8]

LOW = 0xFFFFFFFF
"""The bits of a table's entry that are a text's number."""


@njit(cache=True, nogil=True)
def index(data: Bytes, starts: Int64) -> tuple[Int64, Int32]:
    """(a table for `highest`, int32[n] the first text that is equal to each). O(bytes) expected.

    An entry of the table is a text's number, and above it 31 bits of its hash, so that few texts are compared in vain.
    """
    count = len(starts) - 1
    mask = np.int64(15)
    while mask < 2 * count:
        mask = 2 * mask + 1
    table, first = np.full(mask + 1, -1, dtype=np.int64), np.empty(count, dtype=np.int32)
    for i in range(count):
        code = _hash(data, starts[i], starts[i + 1])
        at, tag = (code >> 26) & mask, code & 0x7FFFFFFF
        while table[at] >= 0:
            if table[at] >> 32 == tag and _same(data, starts, table[at] & LOW, data, starts, i):
                break
            at = (at + 1) & mask
        if table[at] < 0:
            table[at] = tag << 32 | i
        first[i] = table[at] & LOW
    return table, first


@njit(cache=True, nogil=True)
def highest(table: Int64, data: Bytes, starts: Int64, known_data: Bytes, known_starts: Int64, numbers: Int64) -> Int64:
    """int64[n]: for each text in the table of data and starts, the highest number of an equal known one, or -1.

    numbers: int64[known], of each known text. The table is of the texts that are asked about, since they are fewer than
    those ever known. O(bytes of both) expected; texts that are not the first of equal ones get -1.
    """
    found = np.full(len(starts) - 1, -1, dtype=np.int64)
    mask = np.int64(len(table) - 1)
    for i in range(len(numbers)):
        code = _hash(known_data, known_starts[i], known_starts[i + 1])
        at, tag = (code >> 26) & mask, code & 0x7FFFFFFF
        while table[at] >= 0:
            place = table[at] & LOW
            if table[at] >> 32 == tag and _same(data, starts, place, known_data, known_starts, i):
                found[place] = max(found[place], numbers[i])
                break
            at = (at + 1) & mask
    return found


@njit(cache=True)
def _hash(data: Bytes, start: int, stop: int) -> np.int64:
    """A number >= 0 of 62 bits that differs for most texts; the high ones, of a product, depend on all others."""
    state = np.uint64(14695981039346656037)
    for i in range(start, stop):
        state = (state ^ np.uint64(data[i])) * np.uint64(1099511628211)
    state = (state ^ (state >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64(state >> np.uint64(2))


@njit(cache=True)
def _same(data: Bytes, starts: Int64, i: int, other: Bytes, other_starts: Int64, j: int) -> bool:
    size = starts[i + 1] - starts[i]
    if other_starts[j + 1] - other_starts[j] != size:
        return False
    offset = 0
    while offset < size and data[starts[i] + offset] == other[other_starts[j] + offset]:
        offset += 1
    return bool(offset == size)
