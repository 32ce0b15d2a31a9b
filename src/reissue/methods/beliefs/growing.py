"""Classes of rows that are near in an order, whose beliefs are alike: BKAA's and JS-reduce's growing, as kernels.

A class is good if its values meet the limits (k, beta or t) and the Jensen-Shannon divergence of its rows' beliefs,
in bits, is at most J.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from reissue.arrays.compiled import njit, processors
from reissue.arrays.types import Float64, Int32, Int64
from reissue.methods.beliefs.neighbours import begin, heap_for, nearest, plant
from reissue.model.requirement_kernels import TOLERANCE, Limits, meets, rows_to_wait

STRETCH = 1 << 16
"""Rows in line that are worked on by themselves. Fixed, so that the classes do not depend on the machine."""
SLACK = 1e-9
"""By so much bounds must exceed what they bound, so that rounding decides nothing."""
TRIES, FEWEST_TRIES = 4_000_000, 256
"""Rows left over times classes they may try, in all; and for each row at least."""


class BeliefRows(NamedTuple):
    """Rows as the kernels see them: values int32[n], prior float64[n, v], entropy float64[n] of each prior in bits."""

    values: Int32
    prior: Float64
    entropy: Float64


@njit(cache=True, error_model="numpy")
def divergence(total: Float64, entropy: float, size: int) -> float:
    """Jensen-Shannon divergence in bits from the sums over a class. O(values)."""
    mixture = 0.0
    for s in range(len(total)):
        share = total[s] / size
        if share > 0.0:
            mixture -= share * np.log2(share)
    return mixture - entropy / size


def grow(order: Int64, rows: BeliefRows, limits: Limits, most: float, reach: int, window: int) -> Int32:
    """int32[rows]: classes 0, 1, ... made along the order; -1: left over. O(n window values) at worst, most: J.

    First as published: the next rows in the order are added until the class is good. If it is not with `reach` rows,
    beliefs around here differ too much to come together by adding more people. Then rows whose belief would lift the
    divergence above J are passed over, and wait in line for a class of their own kind; at most `window` rows in line
    are looked at. A row for which neither works is left over. A long line is worked on in stretches, side by side.
    """
    stretches = [order[begin : begin + STRETCH] for begin in range(0, len(order), STRETCH)]
    with ThreadPoolExecutor(processors()) as pool:
        made = list(pool.map(lambda stretch: _grow(stretch, rows, limits, most, reach, window), stretches))
    classes = np.full(len(rows.values), -1, dtype=np.int32)
    number = 0
    for stretch, (own, count) in zip(stretches, made, strict=True):
        classes[stretch] = np.where(own >= 0, own + np.int32(number), np.int32(-1))
        number += count
    return classes


@njit(cache=True, nogil=True)
def _grow(order: Int64, rows: BeliefRows, limits: Limits, most: float, reach: int, window: int) -> tuple[Int32, int]:
    """(int32[places in line], how many): as `grow`, on one stretch."""
    n = len(order)
    classes = np.full(n, -1, dtype=np.int32)
    after, before = np.arange(1, n + 2), np.arange(-1, n + 1)  # the line as a linked list; n is its end
    taken = np.empty(max(reach, window), dtype=np.int64)
    scratch = _make_buffers(rows.prior.shape[1])
    seed, number = 0, 0
    while seed < n:
        size = _next_class(seed, order, after, rows, limits, most, reach, False, taken, scratch)
        if size == 0:
            size = _next_class(seed, order, after, rows, limits, most, window, True, taken, scratch)
        if size > 0:
            for i in range(size):
                classes[taken[i]] = number
            number += 1
        else:
            taken[0], size = seed, 1
        for i in range(size):
            at = taken[i]
            if at == seed:
                seed = after[at]
            if before[at] >= 0:
                after[before[at]] = after[at]
            before[after[at]] = before[at]
    return classes, number


@njit(cache=True)
def _make_buffers(width):  # type: ignore[no-untyped-def]
    """(counts of values, values present, sum of priors, terms of a sum)"""
    return np.zeros(width, dtype=np.int64), np.empty(width, dtype=np.int32), np.zeros(width), np.empty(width)


@njit(cache=True)
def _next_class(  # type: ignore[no-untyped-def]
    seed, order, after, rows, limits, most, look, choosy, taken, scratch
) -> int:
    """How many rows the class from `seed` has, their places in line in `taken`; 0 if it is not good within `look`."""
    counts, present, total, terms = scratch
    counts[:], total[:] = 0, 0.0
    entropy, spread, found, size, at, wait = 0.0, 0.0, 0, 0, seed, limits.k
    exact, known = 0.0, 0  # size times divergence, and for which size
    for step in range(look):
        if at >= len(order):
            return 0
        row, place = order[at], at
        at = after[at]
        if choosy:
            wider = spread + _bound_lift(total, rows.prior[row], size, terms)
            if wider > most * (size + 1):  # perhaps too far: either the row is, or the bound has grown loose
                if known != size:
                    exact, known = size * divergence(total, entropy, size), size
                if _is_too_far(exact, total, rows.prior[row], size, most, terms):
                    continue
                apart = _divergence_with(total, rows.prior[row], entropy + rows.entropy[row], size + 1)
                if apart > most:
                    continue
                wider = apart * (size + 1)
            spread = wider
        value = rows.values[row]
        if counts[value] == 0:
            present[found] = value
            found += 1
        counts[value] += 1
        for s in range(len(total)):
            total[s] += rows.prior[row, s]
        entropy += rows.entropy[row]
        taken[size] = place
        size += 1
        if counts[value] > (1.0 + limits.beta + TOLERANCE) * limits.table[value] * (size + look - step - 1):
            return 0  # too many for a class of all the rows that may yet come
        wait -= 1
        if wait > 0:
            continue
        if not meets(counts, present, found, size, limits):
            wait = rows_to_wait(counts, present, found, size, limits)
            if wait >= look - step:
                return 0
        elif choosy:
            return size
        else:
            apart = divergence(total, entropy, size)
            if apart <= most:
                return size
            wait = _wait_for_more(apart, size, most, look)
            if wait >= look - step:
                return 0
    return 0


@njit(cache=True, error_model="numpy")
def _wait_for_more(apart: float, size: int, most: float, longest: int) -> int:
    """How many rows a class needs at least until its divergence is small enough: size times divergence never falls."""
    return int(min(float(longest), max(1.0, np.ceil(size * apart * (1.0 - SLACK) / most - size))))


@njit(cache=True, error_model="numpy")
def _is_too_far(spread, total, prior, size, most, terms) -> bool:  # type: ignore[no-untyped-def]
    """Whether a row lifts the divergence of a class above the most for certain, without a logarithm. O(values).

    spread: size times divergence. It grows by the Jensen gaps of x log x over mean and prior, weighted size to 1; since
    the second derivative is at least 1 / max(mean, prior) between them, a gap in nats is at least half of
    size / (size + 1) (prior - mean)^2 / max(mean, prior).
    """
    for s in range(len(total)):
        mean = total[s] / size
        off, larger = prior[s] - mean, max(prior[s], mean)
        terms[s] = off * off / larger if larger > 0.0 else 0.0
    lift = 0.0
    for s in range(len(total)):
        lift += terms[s]
    least = spread + lift * size / ((size + 1.0) * 2.0 * np.log(2.0))
    return bool(least > most * (size + 1.0) * (1.0 + SLACK) + SLACK)


@njit(cache=True, error_model="numpy")
def _bound_lift(total, prior, size, terms) -> float:  # type: ignore[no-untyped-def]
    """At least what size times divergence grows by with one more row, without a logarithm. O(values).

    It grows by size KL(mean, new mean) + KL(prior, new mean), and KL in nats is at most the chi-square distance.
    """
    if size == 0:
        return 0.0
    for s in range(len(total)):  # apart from the sum, whose order decides its last bits: several at once
        off, both = prior[s] - total[s] / size, total[s] + prior[s]
        terms[s] = off * off / both if both > 0.0 else 0.0
    lift = 0.0
    for s in range(len(total)):
        lift += terms[s]
    return float(size * lift / np.log(2.0))


@njit(cache=True)
def join(
    left: Int64,
    classes: Int32,
    number: int,
    rows: BeliefRows,
    points: Float64,
    limits: Limits,
    most: float,
) -> None:
    """Put each row of `left` into the nearest class that stays good with it, if there is one.

    left: int64[n] rows; classes: int32[rows], changed in place; number: of classes; points: float64[rows, d]
    quasi-identifiers. Classes are tried in the order of the distance of their middles, as they were before anybody
    joined: all of them, unless that were more than TRIES in all; then each row tries its share, the nearest. About
    O(rows + left log classes + tries values).
    """
    width = rows.prior.shape[1]
    sizes, entropy = np.zeros(number, dtype=np.int64), np.zeros(number)
    counts, total = np.zeros((number, width), dtype=np.int64), np.zeros((number, width))
    middle = np.zeros((number, points.shape[1]))
    for row in range(len(classes)):
        if classes[row] >= 0:
            _enter(classes[row], row, rows, sizes, counts, total, entropy)
            for a in range(points.shape[1]):
                middle[classes[row], a] += points[row, a]
    some = np.flatnonzero(sizes > 0)
    for c in some:
        for a in range(points.shape[1]):
            middle[c, a] /= sizes[c]
    tree = plant(middle[some])
    heap, present, terms, spread = heap_for(tree), np.empty(width, dtype=np.int32), np.empty(width), np.zeros(number)
    for c in some:
        spread[c] = sizes[c] * divergence(total[c], entropy[c], sizes[c])
    tries = max(FEWEST_TRIES, TRIES // max(1, len(left)))
    for row in left:
        begin(tree, heap)
        for _ in range(tries):
            near = nearest(tree, heap, points[row])
            if near < 0:
                break
            c = some[near]
            if _is_too_far(spread[c], total[c], rows.prior[row], sizes[c], most, terms):
                continue
            apart = _divergence_with(total[c], rows.prior[row], entropy[c] + rows.entropy[row], sizes[c] + 1)
            if apart > most:
                continue
            if _takes(counts[c], rows.values[row], sizes[c], present, limits):
                _enter(c, row, rows, sizes, counts, total, entropy)
                classes[row], spread[c] = c, apart * sizes[c]
                break


@njit(cache=True, error_model="numpy")
def _divergence_with(total, prior, entropy, size) -> float:  # type: ignore[no-untyped-def]
    """The divergence of a class with one more row."""
    mixture = 0.0
    for s in range(len(total)):
        share = (total[s] + prior[s]) / size
        if share > 0.0:
            mixture -= share * np.log2(share)
    return float(mixture - entropy / size)


@njit(cache=True)
def _takes(counts, value, size, present, limits) -> bool:  # type: ignore[no-untyped-def]
    """Whether one more row of that value leaves the class within the limits."""
    counts[value] += 1
    found = 0
    for s in range(len(counts)):
        if counts[s] > 0:
            present[found] = s
            found += 1
    good = meets(counts, present, found, size + 1, limits)
    counts[value] -= 1
    return bool(good)


@njit(cache=True)
def _enter(c, row, rows, sizes, counts, total, entropy) -> None:  # type: ignore[no-untyped-def]
    sizes[c] += 1
    counts[c, rows.values[row]] += 1
    entropy[c] += rows.entropy[row]
    for s in range(rows.prior.shape[1]):
        total[c, s] += rows.prior[row, s]
