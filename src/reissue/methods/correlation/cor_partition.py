"""Cor-Partition: classes of a bucket that differ from every earlier class in n people or more, or in none.

The bucket is first dealt as m-invariance deals it (`dealing`), which puts near classes next to each other. Every class
that is unsafe is then repaired by the mildest means that helps:
  1. exchange rows of equal value with a near class, so that both are safe; where several exchanges do, the one with the
     smallest semiperimeter of both classes;
  2. merge it with classes next to it, so that each value occurs equally often but more than once;
  3. give it one counterfeit of every value. They were in no earlier class, so s >= n rows of it are new: it is safe.
Buckets so small that even all their rows together would be unsafe ask for more new rows before rows are assigned.

Kernels: order: int64[rows] rows sorted by class, within a class by value; start: int64[classes + 1]; bounds:
int64[buckets + 1] the classes of each bucket. Classes of one bucket hold the same values once each, so the k-th rows of
two of them have the same value. rows: (codes int32[rows, a], scale float64[a]); trails: (begin, end, groups, sizes).
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.types import NO_NUMBERS, Bool, Int32, Int64
from reissue.methods.invariance.buckets import BucketPlan, Demand
from reissue.model.domain import Domain

WINDOW = 12
"""How many classes to either side are tried for an exchange."""


@dataclass(frozen=True, eq=False)
class RowTrails:
    """The trails of the rows that are being published.

    begin, end: int64[rows] the trail of each row in groups; groups: int32[]; sizes: int32[classes ever published]
    """

    begin: Int64
    end: Int64
    groups: Int32
    sizes: Int32


@dataclass(frozen=True, eq=False)
class RepairedClasses:
    """classes: int32[rows]; count: number of classes; lacking: bool[count] classes that need a set of counterfeits.

    unsafe, merged: how many classes were unsafe as they were dealt, and how many of them were repaired by merging
    """

    classes: Int32
    count: int
    lacking: Bool
    unsafe: int
    merged: int


def ask_for_rows(demand: Demand, bucket: Int32, history: RowTrails, n: int) -> Demand:
    """The demand with one more set of new rows for every bucket that would be unsafe even as one class.

    bucket: int32[rows], -1 = new. Only buckets hardly larger than the largest earlier class can be: few are looked at.
    """
    if len(history.groups) == 0:  # nobody was in an earlier class: no bucket is unsafe
        return demand
    known = demand.signatures
    size = known.sizes * known.most(demand.alive)
    small = (size > 0) & (size < int(history.sizes.max(initial=0)) + n)
    chosen = np.flatnonzero(small)
    rows = np.flatnonzero(small[bucket] & (bucket >= 0)) if len(small) else NO_NUMBERS
    rows = rows[np.argsort(bucket[rows], kind="stable")]
    start = np.searchsorted(bucket[rows], np.append(chosen, len(known))).astype(np.int64)
    trails = (history.begin, history.end, history.groups, history.sizes)
    unsafe = unsafe_together(rows, start, size[chosen], trails, n)
    extra = demand.extra.copy()
    extra[chosen[unsafe]] += 1
    return replace(demand, extra=extra)


def drop_empty_sets(plan: BucketPlan) -> BucketPlan:
    """The plan without sets of counterfeits only: what a bucket asked for and no new row can give."""
    fewest = plan.signatures.fewest(plan.counterfeits)
    fakes = plan.counterfeits - fewest[plan.signatures.owner]
    return replace(plan, height=plan.height - fewest, counterfeits=fakes)


def repair_classes(
    classes: Int32, bucket: Int32, values: Int32, codes: Int32, domains: Sequence[Domain], history: RowTrails, n: int
) -> RepairedClasses:
    """Repair the classes that were dealt; all arrays are over rows.

    O(rows log rows + rows x releases they lived in), plus per unsafe class a bounded number of such checks.
    """
    count = int(classes.max()) + 1 if len(classes) else 0
    if len(history.groups) == 0:  # nobody was in an earlier class: all are safe, and no kernel need be compiled
        return RepairedClasses(classes.astype(np.int32), count, np.zeros(count, dtype=np.bool_), 0, 0)
    width = int(values.max()) + 1 if len(values) else 1
    order = np.argsort(classes.astype(np.int64) * width + values, kind="stable")  # equal values at equal places
    start = np.searchsorted(classes[order], np.arange(count + 1)).astype(np.int64)
    owner = bucket[order[start[:-1]]]
    first = np.flatnonzero(np.diff(owner, prepend=-1))
    bounds = np.append(first, count).astype(np.int64)
    scale = np.array([1.0 / domain.cost_span for domain in domains], dtype=np.float64)
    rows = (np.ascontiguousarray(codes), scale)
    trails = (history.begin, history.end, history.groups, history.sizes)
    unsafe, left = exchange_unsafe(order, start, bounds, rows, trails, n, WINDOW)
    joins, lacking = merge_unsafe(order, start, bounds, left, rows, trails, n)
    number = np.cumsum(~joins) - 1
    repaired = np.empty(len(order), dtype=np.int32)
    repaired[order] = np.repeat(number, np.diff(start))
    needy = np.zeros(count - int(joins.sum()), dtype=np.bool_)
    needy[number[lacking]] = True
    return RepairedClasses(repaired, len(needy), needy, int(unsafe), int(left.sum() - lacking.sum()))


@njit(cache=True)
def _find_worst(order, low, high, size, trails, count, n):  # pragma: no cover - compiled
    """(the earlier class that makes rows order[low:high] an unsafe class, rows they share); (-1, 0) if it is safe.

    size: rows of the class, at least high - low; the others are new. count: zeros over all earlier classes, and zeros
    again afterwards. O(rows x releases they lived in).
    """
    begin, end, groups, sizes = trails
    for i in range(low, high):
        for t in range(begin[order[i]], end[order[i]]):
            count[groups[t]] += 1
    which, most = -1, 0
    for i in range(low, high):
        for t in range(begin[order[i]], end[order[i]]):
            group = groups[t]
            shared = count[group]
            if shared > most and shared > size - n and (shared < size or size < sizes[group] < size + n):
                which, most = group, shared
            count[group] = 0
    return which, most


@njit(cache=True)
def _semiperimeter(order, low, high, rows):  # pragma: no cover - compiled
    """The sum of the normalized widths of rows order[low:high]."""
    codes, scale = rows
    total = 0.0
    for a in range(codes.shape[1]):
        least = most = codes[order[low], a]
        for i in range(low + 1, high):
            code = codes[order[i], a]
            least, most = min(least, code), max(most, code)
        total += (most - least) * scale[a]
    return total


@njit(cache=True)
def _swap(order, one, other, places, first, number):  # pragma: no cover - compiled
    """Exchange the rows at places[first:first + number] of two classes that start at one and other."""
    for k in range(first, first + number):
        a, b = one + places[k], other + places[k]
        order[a], order[b] = order[b], order[a]


@njit(cache=True)
def _count_cost(order, one, other, size, rows):  # pragma: no cover - compiled
    return _semiperimeter(order, one, one + size, rows) + _semiperimeter(order, other, other + size, rows)


@njit(cache=True)
def _find_places(order, one, size, which, trails):  # pragma: no cover - compiled
    """The places of a class whose rows were in an earlier class."""
    begin, end, groups, _ = trails
    places = np.empty(size, dtype=np.int64)
    number = 0
    for k in range(size):
        row = order[one + k]
        for t in range(begin[row], end[row]):
            if groups[t] == which:
                places[number] = k
                number += 1
                break
    return places[:number]


@njit(cache=True)
def _exchange(order, one, other, size, places, needed, rows, trails, count, n):  # pragma: no cover - compiled
    """Exchange `needed` or one more of the places so that both classes are safe, the cheapest places first.

    (cost, ranked places, first of them, how many); cost is infinite and nothing is exchanged if no try succeeds.
    """
    price = np.empty(len(places), dtype=np.float64)
    for k in range(len(places)):
        _swap(order, one, other, places, k, 1)
        price[k] = _count_cost(order, one, other, size, rows)
        _swap(order, one, other, places, k, 1)
    ranked = places[np.argsort(price)]
    for number in range(needed, min(needed + 2, len(ranked) + 1)):
        for first in range(len(ranked) - number + 1):
            _swap(order, one, other, ranked, first, number)
            if (
                _find_worst(order, one, one + size, size, trails, count, n)[0] < 0
                and _find_worst(order, other, other + size, size, trails, count, n)[0] < 0
            ):
                return _count_cost(order, one, other, size, rows), ranked, first, number
            _swap(order, one, other, ranked, first, number)
    return np.inf, ranked, 0, 0


@njit(cache=True)
def _exchange_near(
    order, start, c, low, high, places, needed, rows, trails, count, n, window
):  # pragma: no cover - compiled
    """Exchange rows of class c with the nearest class of low..high-1 that makes both safe: that class, or -1."""
    one, size = start[c], start[c + 1] - start[c]
    for distance in range(1, window + 1):
        best, partner = np.inf, -1
        for near in (c - distance, c + distance):
            if low <= near < high:
                other = start[near]
                cost, ranked, first, number = _exchange(order, one, other, size, places, needed, rows, trails, count, n)
                _swap(order, one, other, ranked, first, number)  # back, until both sides are known
                if cost < best:
                    best, partner = cost, near
        if partner >= 0:
            _exchange(order, one, start[partner], size, places, needed, rows, trails, count, n)
            return partner
    return -1


@njit(cache=True)
def exchange_unsafe(order, start, bounds, rows, trails, n, window):  # pragma: no cover - compiled
    """Repair unsafe classes by exchanges, changing order in place.

    (classes that were unsafe when their turn came, bool[classes] those that are still unsafe)
    """
    count = np.zeros(len(trails[3]), dtype=np.int64)
    left = np.zeros(len(start) - 1, dtype=np.bool_)
    unsafe = 0
    for b in range(len(bounds) - 1):
        for c in range(bounds[b], bounds[b + 1]):
            one, size = start[c], start[c + 1] - start[c]
            which, shared = _find_worst(order, one, one + size, size, trails, count, n)
            if which < 0:
                continue
            unsafe += 1
            places = _find_places(order, one, size, which, trails)
            needed = shared - (size - n)
            partner = _exchange_near(
                order, start, c, bounds[b], bounds[b + 1], places, needed, rows, trails, count, n, window
            )
            if partner >= 0:
                left[partner] = False
            else:
                left[c] = True
    return unsafe, left


@njit(cache=True)
def merge_unsafe(order, start, bounds, left, rows, trails, n):  # pragma: no cover - compiled
    """(bool[classes] whether a class joins the one before it, bool[classes] whether it needs a set of counterfeits).

    An unsafe class takes in neighbours, always to the side that gives the smaller box, until it is safe; after eight of
    them, twice as many each time before it is checked again. If the whole bucket would not do, it stays as it was.
    """
    count = np.zeros(len(trails[3]), dtype=np.int64)
    joins, lacking = np.zeros(len(left), dtype=np.bool_), np.zeros(len(left), dtype=np.bool_)
    for b in range(len(bounds) - 1):
        for c in range(bounds[b], bounds[b + 1]):
            if not left[c] or joins[c] or (c + 1 < bounds[b + 1] and joins[c + 1]):
                continue
            low, high = c, c + 1
            taken, check = 0, 1
            safe = False
            while not safe and (low > bounds[b] or high < bounds[b + 1]):
                low, high = _take_in(order, start, joins, low, high, bounds[b], bounds[b + 1], rows)
                taken += 1
                if taken >= check or (low == bounds[b] and high == bounds[b + 1]):
                    size = start[high] - start[low]
                    safe = _find_worst(order, start[low], start[high], size, trails, count, n)[0] < 0
                    check = taken + 1 if taken < 8 else 2 * taken
            if safe:
                joins[low + 1 : high], lacking[low:high] = True, False
            else:
                lacking[c] = True
    return joins, lacking


@njit(cache=True)
def _take_in(order, start, joins, low, high, least, most, rows):  # pragma: no cover - compiled
    """The interval low..high-1 of classes with the (merged) class next to it that widens it less."""
    before, after = low - 1, high + 1
    while before > least and joins[before]:
        before -= 1
    while after < most and joins[after]:
        after += 1
    if low == least:
        return low, after
    if high == most:
        return before, high
    left = _semiperimeter(order, start[before], start[high], rows)
    right = _semiperimeter(order, start[low], start[after], rows)
    return (before, high) if left <= right else (low, after)


@njit(cache=True)
def unsafe_together(order, start, size, trails, n):  # pragma: no cover - compiled
    """bool[sets]: whether rows order[start[i]:start[i + 1]] with new rows up to size[i] are unsafe as one class."""
    count = np.zeros(len(trails[3]), dtype=np.int64)
    unsafe = np.zeros(len(size), dtype=np.bool_)
    for i in range(len(size)):
        unsafe[i] = _find_worst(order, start[i], start[i + 1], size[i], trails, count, n)[0] >= 0
    return unsafe
