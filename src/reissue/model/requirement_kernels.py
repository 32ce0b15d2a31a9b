"""The conditions of a Requirement as kernels: evaluated on the value counts of one class at a time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.sorting import sort_by_bucket
from reissue.arrays.types import Bool, Float64, Int32, Int64

TOLERANCE = 1e-9
"""Absolute slack of the entropy (nats), t and beta comparisons, against rounding noise only."""


class Limits(NamedTuple):
    """A Requirement in numbers for kernels; see Requirement for their meaning.

    diversity: 0 none, 1 distinct, 2 entropy, 3 recursive. by_value: False if only k is asked for, so that values need
    not be counted. table: float64[value_count], the value distribution of the whole table. known: rows that c is to
    survive. order: int64[value_count], the values on their line if t is ordered.
    """

    k: int
    share_numerator: int
    share_denominator: int
    diversity: int
    l: float  # noqa: E741
    recursive_numerator: int
    recursive_denominator: int
    t: float
    ordered: bool
    beta: float
    enhanced: bool
    by_value: bool
    table: Float64
    known: int
    order: Int64


@njit(cache=True)
def meets(counts: Int64, present: Int32, found: int, size: int, limits: Limits) -> bool:
    """Whether one class satisfies the limits. O(values present), O(values present * l) for recursive diversity.

    counts: int64[value_count] of the class; present: int32[value_count], its first `found` entries the values that
    occur; size: rows of the class. Ordered t needs all values: O(value_count).
    """
    if size < limits.k:
        return False
    if not limits.by_value:
        return True
    top = 0
    for i in range(found):
        top = max(top, counts[present[i]])
    if top * limits.share_denominator > limits.share_numerator * (size - limits.known):
        return False
    if limits.diversity == 1 and found < limits.l:
        return False
    if limits.diversity == 2 and not _entropy_holds(counts, present, found, size, limits.l):
        return False
    if limits.diversity == 3 and not _recursive_holds(counts, present, found, size, top, limits):
        return False
    return _close_to_table(counts, present, found, size, limits)


@njit(cache=True)
def _entropy_holds(counts: Int64, present: Int32, found: int, size: int, l: float) -> bool:  # noqa: E741
    total = 0.0
    for i in range(found):
        count = float(counts[present[i]])
        total += count * np.log(count)
    return bool(np.log(float(size)) - total / size >= np.log(l) - TOLERANCE)


@njit(cache=True)
def _recursive_holds(counts: Int64, present: Int32, found: int, size: int, top: int, limits: Limits) -> bool:
    head = int(limits.l) - 1  # the most frequent values that do not count towards the tail
    if found <= head:
        return False
    largest = np.zeros(head + 1, dtype=np.int64)  # descending; the last place is a sentinel
    for i in range(found):
        count = counts[present[i]]
        at = head
        while at > 0 and largest[at - 1] < count:
            largest[at] = largest[at - 1]
            at -= 1
        if at < head:
            largest[at] = count
    tail = size
    for i in range(head):
        tail -= largest[i]
    return bool(top * limits.recursive_denominator < limits.recursive_numerator * tail)


@njit(cache=True)
def _close_to_table(counts: Int64, present: Int32, found: int, size: int, limits: Limits) -> bool:
    if limits.ordered and limits.t < np.inf:
        moved, carried = 0.0, 0.0
        for value in limits.order:
            carried += counts[value] / size - limits.table[value]
            moved += abs(carried)
        if moved > (limits.t + TOLERANCE) * max(1, len(limits.table) - 1):
            return False
    gained = 0.0  # equal distance: half the L1 distance is the sum of the gains
    for i in range(found):
        share, usual = counts[present[i]] / size, limits.table[present[i]]
        gain = share - usual
        if gain > 0.0:
            gained += gain
            if limits.beta < np.inf:
                limit = min(limits.beta, -np.log(usual)) if limits.enhanced and usual > 0.0 else limits.beta
                if gain > (limit + TOLERANCE) * usual:
                    return False
    return bool(limits.ordered or gained <= limits.t + TOLERANCE)


@njit(cache=True, error_model="numpy")
def rows_to_wait(counts: Int64, present: Int32, found: int, size: int, limits: Limits) -> int:
    """At least how many more rows a class needs, whatever their values are, until it can satisfy the limits.

    From k; from beta, since a value that is too frequent becomes rarer only by rows of others; and from t: with r more
    rows the shares move by r / (size + r) at most. Both are rounded down: never too many. O(found).
    """
    wait, gained = float(limits.k - size), 0.0
    for i in range(0 if limits.ordered and limits.beta == np.inf else found):
        count, usual = counts[present[i]], limits.table[present[i]]
        gained += max(0.0, count / size - usual)
        if limits.beta < np.inf:
            limit = min(limits.beta, -np.log(usual)) if limits.enhanced and usual > 0.0 else limits.beta
            wait = max(wait, min(count / ((1.0 + limit + TOLERANCE) * usual) - size - 0.5, 1e9))
    over = gained - limits.t - TOLERANCE
    if over > 0.0 and not limits.ordered:
        wait = max(wait, over * size / max(1.0 - over, 1e-9) - 0.5)
    return int(np.floor(max(0.0, wait)))


@njit(cache=True)
def slice_meets(values: Int32, start: int, stop: int, counts: Int64, present: Int32, limits: Limits) -> bool:
    """Whether the rows start..stop-1, taken as one class, satisfy the limits. O(stop - start).

    counts: int64[value_count], all zero before and after; present: int32[value_count], scratch.
    """
    size = stop - start
    if size < limits.k:
        return False
    if not limits.by_value:
        return True
    found = 0
    for row in range(start, stop):
        value = values[row]
        if counts[value] == 0:
            present[found] = value
            found += 1
        counts[value] += 1
    holds = meets(counts, present, found, size, limits)
    for i in range(found):
        counts[present[i]] = 0
    return holds


@njit(cache=True)
def _sorted_slices_meet(values: Int32, bounds: Int64, value_count: int, limits: Limits) -> Bool:
    counts, present = np.zeros(value_count, dtype=np.int64), np.empty(value_count, dtype=np.int32)
    holds = np.empty(len(bounds) - 1, dtype=np.bool_)
    for i in range(len(bounds) - 1):
        holds[i] = slice_meets(values, bounds[i], bounds[i + 1], counts, present, limits)
    return holds


def classes_meet(limits: Limits, classes: Int32, values: Int32, class_count: int) -> Bool:
    """bool[class_count]: which classes satisfy the limits; rows of others are ignored, an empty class fails. O(n)."""
    own = np.where(classes < class_count, classes, np.int32(-1)).astype(np.int32)
    bounds, order = sort_by_bucket(own, class_count)
    return np.asarray(_sorted_slices_meet(values[order], bounds, len(limits.table), limits))
