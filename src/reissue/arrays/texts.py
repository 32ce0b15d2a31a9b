"""Texts as Arrow keeps them, one after the other in memory: hashed, compared and looked up without making objects.

offsets: int64[n + 1], text i is content[offsets[i]:offsets[i + 1]]; content: uint8[], UTF-8. Both are read-only.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reissue.arrays.compiled import njit
from reissue.arrays.types import Int64

UInt8 = NDArray[np.uint8]
UInt64 = NDArray[np.uint64]

_SPREAD = np.uint64(0x9E3779B97F4A7C15)
"""An odd number whose products have high bits that depend on all bits of the other factor."""


@njit(cache=True)
def _hash_text(offsets: Int64, content: UInt8, text: int) -> int:
    value = np.uint64(0xCBF29CE484222325)
    for place in range(offsets[text], offsets[text + 1]):
        value = (value ^ np.uint64(content[place])) * np.uint64(0x100000001B3)
    return value  # type: ignore[return-value]  # what Python would call an int


@njit(cache=True, nogil=True)
def hash_texts(offsets: Int64, content: UInt8) -> UInt64:
    """uint64[n]: FNV-1a of the bytes of each text, the same on every machine and in every version. O(bytes)."""
    found = np.empty(len(offsets) - 1, dtype=np.uint64)
    for text in range(len(found)):
        found[text] = _hash_text(offsets, content, text)
    return found


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


@njit(cache=True, nogil=True)
def has_twins(hashes: UInt64) -> bool:
    """Whether two of the hashes are equal. O(n), in two passes that each stay within the processor's cache.

    They are dealt into some thousands at a time by their first bits, and each heap is looked through by itself.
    """
    bits = 1
    while bits < 14 and len(hashes) >> bits > 4096:
        bits += 1
    shift = np.uint64(64 - bits)
    ends = np.zeros((1 << bits) + 1, dtype=np.int64)
    for own in hashes:
        ends[np.int64(own * _SPREAD >> shift) + 1] += 1
    largest = ends.max()
    for heap in range(1 << bits):
        ends[heap + 1] += ends[heap]
    dealt, place = np.empty_like(hashes), ends[:-1].copy()
    for own in hashes:
        first = np.int64(own * _SPREAD >> shift)
        dealt[place[first]] = own
        place[first] += 1
    room = np.int64(16)
    while room < 2 * largest:
        room *= 2
    slots, owner = np.empty(room, dtype=np.uint64), np.full(room, -1, dtype=np.int64)
    for heap in range(1 << bits):
        for one in range(ends[heap], ends[heap + 1]):
            at = np.int64(dealt[one] & np.uint64(room - 1))
            while owner[at] == heap:
                if slots[at] == dealt[one]:
                    return True
                at = (at + 1) & (room - 1)
            slots[at], owner[at] = dealt[one], heap
    return False


@njit(cache=True)
def _are_equal(offsets: Int64, content: UInt8, text: int, others: Int64, other_content: UInt8, other: int) -> bool:
    start, begin = offsets[text], others[other]
    length = offsets[text + 1] - start
    if others[other + 1] - begin != length:
        return False
    alike = 0
    while alike < length and content[start + alike] == other_content[begin + alike]:
        alike += 1
    return bool(alike == length)


@njit(cache=True, nogil=True)
def find_latest(offsets: Int64, content: UInt8, known: Int64, known_content: UInt8, numbers: Int64) -> Int64:
    """int64[n]: the highest number, all >= 0, of a known text that equals each text; -1 if none does.

    A table of the texts by their hashes, which a known text is then looked up in: O(n + known) on the whole.
    """
    count = len(offsets) - 1
    bits = 4
    while 1 << bits < count + count // 2:
        bits += 1
    mask, shift, low = np.int64((1 << bits) - 1), np.uint64(64 - bits), np.uint64(0xFFFFFFFF)
    slots = np.zeros(1 << bits, dtype=np.uint64)  # the last bits of a hash, and 1 + which text; 0 is free
    same, best = np.empty(count, dtype=np.int32), np.full(count, -1, dtype=np.int64)
    for text in range(count):
        own = _hash_text(offsets, content, text)
        at, same[text] = np.int64(own * _SPREAD >> shift), text
        while slots[at]:
            other = int(slots[at] & low) - 1
            if slots[at] >> np.uint64(32) == own & low and _are_equal(offsets, content, text, offsets, content, other):
                same[text] = other
                break
            at = (at + 1) & mask
        if not slots[at]:
            slots[at] = own << np.uint64(32) | np.uint64(text + 1)
    for text in range(len(known) - 1):
        own = _hash_text(known, known_content, text)
        at = np.int64(own * _SPREAD >> shift)
        while slots[at]:
            other = int(slots[at] & low) - 1
            if slots[at] >> np.uint64(32) == own & low and _are_equal(
                known, known_content, text, offsets, content, other
            ):
                best[other] = max(best[other], numbers[text])
                break
            at = (at + 1) & mask
    for text in range(count):
        best[text] = best[same[text]]
    return best
