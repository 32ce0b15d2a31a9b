"""Sorting by kernels, inside others too, that compile in a fraction of the time that numba's own sorts take."""

from __future__ import annotations

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.types import Float64, Int32, Int64

FEW = 24
"""Up to so many numbers are sorted by insertion."""


@njit(cache=True)
def sort_ascending(numbers: Int32 | Int64) -> None:
    """Sort whole numbers in place. O(n log n): by a heap, few of them by insertion."""
    begin, end = len(numbers) // 2, len(numbers)
    if end <= FEW:
        for i in range(1, end):
            number, at = numbers[i], i
            while at > 0 and numbers[at - 1] > number:
                numbers[at] = numbers[at - 1]
                at -= 1
            numbers[at] = number
        return
    while end > 1:
        if begin > 0:  # until there is a heap
            begin -= 1
        else:  # the largest number goes to the end
            end -= 1
            numbers[0], numbers[end] = numbers[end], numbers[0]
        at, child = begin, 2 * begin + 1
        while child < end:
            if child + 1 < end and numbers[child] < numbers[child + 1]:
                child += 1
            if numbers[at] >= numbers[child]:
                break
            numbers[at], numbers[child] = numbers[child], numbers[at]
            at, child = child, 2 * child + 1


@njit(cache=True)
def find_order(keys: Int32 | Int64 | Float64) -> Int64:
    """int64[n]: where the smallest key is, where the next one, and so on; equal keys by their place. O(n log n)."""
    n, width = len(keys), 1
    order, merged = np.empty(n, np.int64), np.empty(n, np.int64)
    for i in range(n):
        order[i] = i
    while width < n:
        for begin in range(0, n, 2 * width):
            middle, end = min(begin + width, n), min(begin + 2 * width, n)
            left, right = begin, middle
            for at in range(begin, end):
                if left < middle and (right == end or keys[order[left]] <= keys[order[right]]):
                    merged[at] = order[left]
                    left += 1
                else:
                    merged[at] = order[right]
                    right += 1
        order, merged = merged, order
        width *= 2
    return order


@njit(cache=True)
def sort_by_bucket(bucket: Int32 | Int64, count: int) -> tuple[Int64, Int64]:
    """(start, order): rows of each bucket, in order; rows of bucket -1 are left out. O(rows + buckets)."""
    start, order = gather_by_bucket(bucket, np.arange(len(bucket)), count)
    return start, np.asarray(order, np.int64)


@njit(cache=True)
def gather_by_bucket(bucket: Int32 | Int64, what: Int32 | Int64, count: int) -> tuple[Int64, Int32 | Int64]:
    """(start, [rows]): something of each row, bucket by bucket; rows of bucket -1 are left out."""
    start = np.zeros(count + 1, np.int64)
    for row in range(len(bucket)):
        if bucket[row] >= 0:
            start[bucket[row] + 1] += 1
    for b in range(count):
        start[b + 1] += start[b]
    place, ordered = start[:-1].copy(), np.empty(start[count], what.dtype)
    for row in range(len(bucket)):
        if bucket[row] >= 0:
            ordered[place[bucket[row]]] = what[row]
            place[bucket[row]] += 1
    return start, ordered
