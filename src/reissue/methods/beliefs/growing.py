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
from reissue.model.requirement_kernels import TOLERANCE, Limits, meets, rows_to_wait

STRETCH = 1 << 16
"""Rows in line that are worked on by themselves. Fixed, so that the classes do not depend on the machine."""
SLACK = 1e-9
"""By so much bounds must exceed what they bound, so that rounding decides nothing."""
WEIGHING = {"reassoc", "contract", "arcp", "nsz"}
"""Bounds are summed in any order, several terms at once: they only spare logarithms, their last bits decide nothing."""


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

    def grow_stretch(stretch: Int64) -> tuple[Int32, int]:
        side_by_side = BeliefRows(rows.values[stretch], rows.prior[stretch], rows.entropy[stretch])
        made: tuple[Int32, int] = _grow(side_by_side, limits, most, reach, window)
        return made

    with ThreadPoolExecutor(processors()) as pool:
        made = list(pool.map(grow_stretch, stretches))
    classes = np.full(len(rows.values), -1, dtype=np.int32)
    number = 0
    for stretch, (own, count) in zip(stretches, made, strict=True):
        classes[stretch] = np.where(own >= 0, own + np.int32(number), np.int32(-1))
        number += count
    return classes


@njit(cache=True, nogil=True)
def _grow(rows: BeliefRows, limits: Limits, most: float, reach: int, window: int) -> tuple[Int32, int]:
    """(int32[rows], how many): as `grow`, on one stretch; its rows are given in line."""
    n = len(rows.values)
    classes = np.full(n, -1, dtype=np.int32)
    after, before = np.arange(1, n + 2), np.arange(-1, n + 1)  # the line as a linked list; n is its end
    taken = np.empty(max(reach, window), dtype=np.int64)
    scratch = _make_buffers(rows.prior.shape[1])
    runs = np.empty(n, dtype=np.int64)
    for row in range(n):
        runs[row] = row
        if row > 0 and _are_alike(rows.prior, runs, row, row - 1):
            runs[row] = runs[row - 1]
    seed, number = 0, 0
    while seed < n:
        size = _next_class(seed, after, runs, rows, limits, most, reach, False, taken, scratch)
        if size == 0:
            size = _next_class(seed, after, runs, rows, limits, most, window, True, taken, scratch)
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
    """(counts of values, values present, sum of priors, counts of values ahead, values that are too frequent)"""
    counts, present, total = np.zeros(width, dtype=np.int64), np.empty(width, dtype=np.int32), np.zeros(width)
    return counts, present, total, np.zeros(width, dtype=np.int64), np.zeros(width, dtype=np.bool_)


@njit(cache=True)
def _next_class(seed, after, runs, rows, limits, most, look, choosy, taken, scratch) -> int:  # type: ignore[no-untyped-def]
    """How many rows the class from `seed` has, in `taken`; 0 if it is not good within `look`."""
    counts, present, total, ahead, frequent = scratch
    prior, entropies = rows.prior, rows.entropy
    counts[:], total[:] = 0, 0.0
    entropy, spread, found, size, at, wait = 0.0, 0.0, 0, 0, seed, limits.k
    alike = 0  # rows taken, if all are exactly as the first one: then nothing needs to be weighed; else -1
    refused, then = -1, -1  # the last row that was too far, and of how large a class
    others, left = 0, look  # rows of rarer values to wait for, and rows that are left in line; counted when it matters
    counted = limits.ordered or limits.t == np.inf
    for step in range(look):
        if at >= len(rows.values):
            return 0
        row, at, left = at, after[at], left - 1
        value = rows.values[row]
        ahead[value] -= 1
        if alike == size and _are_alike(prior, runs, row, seed):
            alike += 1
        else:
            if alike == size:
                alike, entropy = -1, _add_up(total, entropy, prior, entropies, seed, size)
            if choosy:
                if size == then and _are_alike(prior, runs, row, refused):
                    continue
                wider = spread + _bound_lift(total, prior, row, size)
                if wider > most * (size + 1):  # perhaps too far: either the row is, or the bound has grown loose
                    apart = divergence_with(total, prior, row, entropy + entropies[row], size + 1)
                    if apart > most:
                        refused, then = row, size
                        continue
                    wider = apart * (size + 1)
                spread = wider
            entropy = _add_up(total, entropy, prior, entropies, row, 1)
        if counts[value] == 0:
            present[found] = value
            found += 1
        counts[value] += 1
        taken[size] = row
        size += 1
        if counts[value] > (1.0 + limits.beta + TOLERANCE) * limits.table[value] * (size + look - step - 1):
            return 0  # too many for a class of all the rows that may yet come
        wait, others = wait - 1, others - (not frequent[value])
        if wait > 0 or others > 0:
            continue
        if meets(counts, present, found, size, limits):
            apart = 0.0 if choosy or alike == size else divergence(total, entropy, size)
            if apart <= most:
                return size
            wait = _wait_for_more(apart, size, most, look)
        else:
            wait = rows_to_wait(counts, present, found, size, limits)
            if not counted:
                left, counted = _look_ahead(at, after, rows.values, look - step - 1, ahead), True
            others = _wait_for_others(counts, present, found, size, limits, ahead, frequent, left)
        if wait >= look - step or others > left:
            return 0
    return 0


@njit(cache=True)
def _look_ahead(at, after, values, look, ahead) -> int:  # type: ignore[no-untyped-def]
    """How many rows there are in line from here on, `look` at most; counts their values."""
    ahead[:], left = 0, 0
    while left < look and at < len(values):
        ahead[values[at]] += 1
        left, at = left + 1, after[at]
    return left


@njit(cache=True, error_model="numpy")
def _wait_for_others(counts, present, found, size, limits, ahead, frequent, left) -> int:  # type: ignore[no-untyped-def]
    """At least how many rows of values that are not `frequent` now a class needs until it can be within t.

    More than are left, if there are not so many in line. Of the values that are frequent there are `many`: more of them
    bring the class farther from the table, and r others lower their share to many / (size + r) at most.
    """
    if limits.ordered or limits.t == np.inf:
        return 0
    frequent[:] = False
    many, usual, passed = 0, 0.0, 0
    for i in range(found):
        value = present[i]
        frequent[value] = counts[value] > limits.table[value] * size
        if frequent[value]:
            many += counts[value]
            usual += limits.table[value]
            passed += ahead[value]
    needed = int(max(0.0, np.floor(many / (limits.t + TOLERANCE + usual) * (1.0 - SLACK) - size)))
    return needed if needed <= left - passed else left + 1


@njit(cache=True)
def _add_up(total, entropy, prior, entropies, row, times) -> float:  # type: ignore[no-untyped-def]
    """Add a row's prior so many times to `total`; the sum of entropies with its own as often."""
    for _ in range(times):
        for s in range(len(total)):
            total[s] += prior[row, s]
        entropy += entropies[row]
    return float(entropy)


@njit(cache=True)
def _are_alike(prior, runs, one, other) -> bool:  # type: ignore[no-untyped-def]
    """Whether exactly the same is believed of two rows. runs: of rows next to each other for which that is known."""
    alike, s = runs[one] == runs[other], 0
    while not alike and s < prior.shape[1] and prior[one, s] == prior[other, s]:
        s += 1
    return bool(alike or s == prior.shape[1])


@njit(cache=True, error_model="numpy")
def _wait_for_more(apart: float, size: int, most: float, longest: int) -> int:
    """How many rows a class needs at least until its divergence is small enough: size times divergence never falls."""
    return int(min(float(longest), max(1.0, np.ceil(size * apart * (1.0 - SLACK) / most - size))))


@njit(cache=True, error_model="numpy", fastmath=WEIGHING)
def _bound_lift(total, prior, row, size) -> float:  # type: ignore[no-untyped-def]
    """At least what size times divergence grows by with one more row, without a logarithm. O(values).

    It grows by size KL(mean, new mean) + KL(prior, new mean), and KL in nats is at most the chi-square distance.
    """
    if size == 0:
        return 0.0
    lift, per = 0.0, 1.0 / size
    for s in range(len(total)):
        own = prior[row, s]
        off, both = own - total[s] * per, total[s] + own + 1e-300
        lift += off * off / both
    return float(size * lift / np.log(2.0))


@njit(cache=True, error_model="numpy")
def divergence_with(total, prior, row, entropy, size) -> float:  # type: ignore[no-untyped-def]
    """The divergence of a class with one more row."""
    mixture = 0.0
    for s in range(len(total)):
        share = (total[s] + prior[row, s]) / size
        if share > 0.0:
            mixture -= share * np.log2(share)
    return float(mixture - entropy / size)
