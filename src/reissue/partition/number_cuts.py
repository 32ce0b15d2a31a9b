"""Where numbers may be cut: at their median, or at the round numbers beside it; and the list of cuts by their worth."""

from __future__ import annotations

import numpy as np

from reissue.arrays.compiled import njit
from reissue.partition.tables import CutBuffers, Forest, TablePart


@njit(cache=True)
def list_cut(
    attribute: int, first: int, last: int, left: int, gain: float, even: float, found: int, scratch: CutBuffers
) -> int:
    """Enter a cut at the place that its worth gives it; how many there are then."""
    worth, at = gain * gain / even, found
    while at > 0 and scratch.worth[at - 1] < worth:
        scratch.worth[at] = scratch.worth[at - 1]
        for i in range(4):
            scratch.cuts[at, i] = scratch.cuts[at - 1, i]
        at -= 1
    scratch.worth[at] = worth
    cut = scratch.cuts[at]
    cut[0], cut[1], cut[2], cut[3] = attribute, first, last, left
    return found + 1


@njit(cache=True)
def list_number_cuts(part: TablePart, attribute: int, forest: Forest, k: int, found: int, scratch: CutBuffers) -> int:
    """List the cuts after the median and before it, or those at the round numbers beside it."""
    size = part.size
    median, below, upto = _median(part, attribute, scratch)
    step, before = forest.step[attribute], found
    if step > 0 and max(scratch.low[attribute], forest.start[attribute] - 1) // step < scratch.high[attribute] // step:
        last = median // step * step - 1
        low, upper = _count_upto(part, attribute, last, last + step)
        favour = forest.favour[attribute]
        found = _list_halves(attribute, last, low, size, favour, forest, k, found, scratch)
        found = _list_halves(attribute, last + step, upper, size, favour, forest, k, found, scratch)
    if found == before:
        found = _list_halves(attribute, median, upto, size, 1.0, forest, k, found, scratch)
        found = _list_halves(attribute, median - 1, below, size, 1.0, forest, k, found, scratch)
    return found


@njit(cache=True)
def _list_halves(
    attribute: int,
    last: int,
    left: int,
    size: int,
    favour: float,
    forest: Forest,
    k: int,
    found: int,
    scratch: CutBuffers,
) -> int:
    """List the cut after a code, up to which there are so many rows, if k are left on both sides."""
    if min(left, size - left) < max(1, k):
        return found
    first, high = np.int64(scratch.low[attribute]), np.int64(scratch.high[attribute])
    floor = forest.start[attribute] - 1  # where widths are measured, a missing value is one step below the others
    end = max(last, floor)
    gain = left * float(high - end) + (size - left) * float(end + 1 - max(first, floor))
    even = 2.0 * left * (size - left)
    return list_cut(attribute, int(first), last, left, favour * gain / forest.span[attribute], even, found, scratch)


@njit(cache=True)
def _count_upto(part: TablePart, attribute: int, one: int, other: int) -> tuple[int, int]:
    """How many rows have codes up to each of both."""
    first, second, rows = 0, 0, part.rows
    for row in range(part.start, part.stop):
        code, weight = rows.codes[row, attribute], rows.weights[row]
        first += weight * (code <= one)
        second += weight * (code <= other)
    return first, second


@njit(cache=True)
def _median(part: TablePart, attribute: int, scratch: CutBuffers) -> tuple[int, int, int]:
    """(the lower median of a column over start..stop-1, how many rows are below it, how many up to it).

    By narrowing an interval of codes, O(rows) each time; it is divided by up to 4096, so 3 times are enough.
    """
    low, high, buckets = np.int64(scratch.low[attribute]), np.int64(scratch.high[attribute]), scratch.buckets
    rows, start, stop, bits = part.rows, part.start, part.stop, 4
    while bits < 12 and (1 << bits) < stop - start:
        bits += 1
    rank, count = (part.size - 1) // 2, 0
    while low < high:
        shift = 0
        while (high - low) >> shift >= 1 << bits:
            shift += 1
        used = ((high - low) >> shift) + 1
        buckets[:used] = 0
        for row in range(start, stop):
            code = np.int64(rows.codes[row, attribute])
            if low <= code <= high:
                buckets[(code - low) >> shift] += rows.weights[row]
        bucket = 0
        while rank >= buckets[bucket]:
            rank -= buckets[bucket]
            bucket += 1
        count = buckets[bucket]
        low += bucket << shift
        high = min(high, low + (1 << shift) - 1)
    below = (part.size - 1) // 2 - rank
    return int(low), below, below + count
