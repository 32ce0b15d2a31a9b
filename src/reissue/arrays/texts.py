"""Texts as Arrow keeps them, one after the other in memory: hashed, compared and looked up without making objects.

offsets: int64[n + 1], text i is content[offsets[i]:offsets[i + 1]]; content: uint8[], UTF-8. Both are read-only.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reissue.arrays.compiled import njit
from reissue.arrays.types import Int32, Int64

UInt8 = NDArray[np.uint8]
UInt64 = NDArray[np.uint64]

_SPREAD = np.uint64(0x9E3779B97F4A7C15)
"""An odd number whose products have high bits that depend on all bits of the other factor."""


@njit(cache=True, nogil=True)
def hash_texts(offsets: Int64, content: UInt8) -> UInt64:
    """uint64[n]: FNV-1a of the bytes of each text, the same on every machine and in every version. O(bytes)."""
    found = np.empty(len(offsets) - 1, dtype=np.uint64)
    for text in range(len(found)):
        value = np.uint64(0xCBF29CE484222325)
        for place in range(offsets[text], offsets[text + 1]):
            value = (value ^ np.uint64(content[place])) * np.uint64(0x100000001B3)
        found[text] = value
    return found


@njit(cache=True, nogil=True)
def append_hashes(hashes: UInt64, codes: Int32, low: int, table: UInt64) -> None:
    """Let every hash depend on one code more, in place: on table[code - low], or on the code if the table is empty."""
    for row in range(len(hashes)):
        own = table[codes[row] - low] if len(table) else np.uint64(np.int64(codes[row]))
        hashes[row] = hashes[row] * _SPREAD + own


@njit(cache=True, nogil=True)
def are_trimmed(offsets: Int64, content: UInt8) -> bool:
    """Whether no text is empty or may have spaces around it: each begins and ends with visible ASCII. O(n)."""
    for text in range(len(offsets) - 1):
        start, stop = offsets[text], offsets[text + 1]
        if start == stop:
            return False
        first, last = content[start], content[stop - 1]
        if min(first, last) <= 32 or max(first, last) >= 127:
            return False
    return True


@njit(cache=True)
def _deal(hashes: UInt64, bits: int) -> tuple[Int64, UInt64, Int32]:
    """Heaps by the first bits: (int64[heaps + 1] where each begins, the hashes heap after heap, where each was)."""
    shift = np.uint64(64 - bits)
    starts = np.zeros((1 << bits) + 1, dtype=np.int64)
    for own in hashes:
        starts[np.int64(own * _SPREAD >> shift) + 1] += 1
    for heap in range(1 << bits):
        starts[heap + 1] += starts[heap]
    dealt, places, at = np.empty_like(hashes), np.empty(len(hashes), dtype=np.int32), starts[:-1].copy()
    for place in range(len(hashes)):
        to = np.int64(hashes[place] * _SPREAD >> shift)
        dealt[at[to]], places[at[to]] = hashes[place], place
        at[to] += 1
    return starts, dealt, places


@njit(cache=True, nogil=True)
def match_hashes(hashes: UInt64, others: UInt64) -> tuple[Int32, Int32]:
    """(int32[n] the first place of each hash, int32[m] the first place of each of the others among them, or -1).

    O(n + m): they are dealt into heaps of some thousands, so that the table of a heap stays in the processor's cache.
    """
    bits = 1
    while bits < 14 and (len(hashes) + len(others)) >> bits > 4096:
        bits += 1
    starts, dealt, places = _deal(hashes, bits)
    other_starts, other_dealt, other_places = _deal(others, bits)
    room = np.int64(16)
    for heap in range(1 << bits):
        while room < 2 * (starts[heap + 1] - starts[heap]):
            room *= 2
    slots, first = np.empty(room, dtype=np.uint64), np.empty(room, dtype=np.int32)
    heap_of = np.full(room, -1, dtype=np.int32)
    same, match = np.empty(len(hashes), dtype=np.int32), np.full(len(others), -1, dtype=np.int32)
    for heap in range(1 << bits):
        for one in range(starts[heap], starts[heap + 1]):
            at = np.int64(dealt[one] & np.uint64(room - 1))
            while heap_of[at] == heap and slots[at] != dealt[one]:
                at = (at + 1) & (room - 1)
            if heap_of[at] != heap:
                slots[at], first[at], heap_of[at] = dealt[one], places[one], heap
            same[places[one]] = first[at]
        for one in range(other_starts[heap], other_starts[heap + 1]):
            at = np.int64(other_dealt[one] & np.uint64(room - 1))
            while heap_of[at] == heap and slots[at] != other_dealt[one]:
                at = (at + 1) & (room - 1)
            if heap_of[at] == heap:
                match[other_places[one]] = first[at]
    return same, match


@njit(cache=True, nogil=True)
def are_equal(offsets: Int64, content: UInt8, others: Int64, other_content: UInt8, places: Int32) -> bool:
    """Whether every text equals the one among the others whose place it is given; -1: it has none. O(bytes)."""
    for text in range(len(places)):
        if places[text] >= 0:
            start, begin = offsets[text], others[places[text]]
            length = offsets[text + 1] - start
            if others[places[text] + 1] - begin != length:
                return False
            for i in range(length):
                if content[start + i] != other_content[begin + i]:
                    return False
    return True
