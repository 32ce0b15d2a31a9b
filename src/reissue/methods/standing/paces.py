"""How much sooner than others people with each value leave: what is computed for `leaving`, in a fixed order.

Everywhere: shares float64[classes, values + 1] how many people of each class have each value (the last: all other
values), before some left; left float64[classes] how many are left; where int64[classes], ascending, the neighbourhood
of each; logs float64[values + 1] the logarithms of paces.
"""

from __future__ import annotations

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.portable import diagonalize, exponential, logarithm, multiply
from reissue.arrays.types import Float64, Int64

HALVINGS, LONGEST, ROUNDS = 18, 10.0, 100
FARTHEST = 2.0
"""How much sooner or later than others people with a value may be taken to leave, as a logarithm."""
ALIKE = 1e-6
"""Directions about which classes tell less than this part of what they tell about another one are left out."""


@njit(cache=True)
def find_paces(precision: Float64, slope: Float64) -> Float64:  # pragma: no cover - compiled
    """float64[values + 1]: logarithms of how much sooner than others people with each value leave, 0 where nothing is
    known.

    They are taken to be normal around 0; how far they lie apart is what makes the observed ones likeliest.
    """
    known, turn = diagonalize(precision)
    count, apart = len(known), 0.1
    along = multiply(turn, slope.reshape(count, 1))
    for _ in range(ROUNDS):
        whole = 0.0
        for i in range(count):
            variance = 1.0 / (max(known[i], 0.0) + 1.0 / apart)
            whole += (along[i, 0] * variance) * (along[i, 0] * variance) + variance
        apart = max(1e-6, whole / count)
    found = np.zeros(count)
    for i in range(count):
        step = along[i, 0] / (max(known[i], 0.0) + 1.0 / apart)
        for j in range(count):
            found[j] += turn[i, j] * step
    for j in range(count):
        found[j] = min(max(found[j], -FARTHEST), FARTHEST)
    return found


@njit(cache=True)
def find_stay(shares: Float64, left: Float64, where: Int64, logs: Float64) -> Float64:  # pragma: no cover - compiled
    """float64[neighbourhoods, values + 1]: how likely people with each value are still there, classes without people
    being left out."""
    return _find_stay(shares, left, where, logs, True)[1]


@njit(cache=True)
def mix_values(shares: Float64, left: Float64, where: Int64, logs: Float64) -> Float64:  # pragma: no cover - compiled
    """float64[classes, values + 1]: how many people of each class still had each value, as its tokens suggest."""
    stay, mix = find_stay(shares, left, where, logs), np.empty(shares.shape)
    for row in range(len(left)):
        whole = 0.0
        for value in range(len(logs)):
            mix[row, value] = shares[row, value] * stay[where[row], value]
            whole += mix[row, value]
        for value in range(len(logs)):
            mix[row, value] *= left[row] / max(whole, 1e-300)
    return mix


@njit(cache=True)
def _find_stay(
    shares: Float64, left: Float64, where: Int64, logs: Float64, gone: bool
) -> tuple[Float64, Float64]:  # pragma: no cover - compiled
    """(float64[neighbourhoods] the d by which as many people are expected to be left as there are, and see above)."""
    places, values = where[-1] + 1, len(logs)
    departed, stay, never, pace = np.empty(places), np.empty((places, values)), np.empty(values), np.empty(values)
    for value in range(values):
        pace[value] = exponential(logs[value])
    begin = 0
    for place in range(places):
        end, wanted = begin, 0.0
        while end < len(where) and where[end] == place:
            wanted += left[end]
            end += 1
        low, high = 1e-9, LONGEST
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            _stay_until(middle, pace, stay[place], never)
            if _expect(shares, begin, end, stay[place], never, gone) > wanted:
                low = middle
            else:
                high = middle
        departed[place] = (low + high) / 2
        _stay_until(departed[place], pace, stay[place], never)
        begin = end
    return departed, stay


@njit(cache=True)
def _stay_until(departed: float, pace: Float64, stay: Float64, never: Float64) -> None:  # pragma: no cover - compiled
    """By value, how likely somebody is still there, and the logarithm of how likely not."""
    for value in range(len(pace)):
        stay[value] = exponential(-departed * pace[value])
        never[value] = logarithm(1.0 - min(stay[value], 1.0 - 1e-12))


@njit(cache=True)
def _expect(
    shares: Float64, begin: int, end: int, stay: Float64, never: Float64, gone: bool
) -> float:  # pragma: no cover - compiled
    """How many people are expected to be left of some classes; gone: if somebody is left of each."""
    found = 0.0
    for row in range(begin, end):
        expected, empty = 0.0, 0.0
        for value in range(len(stay)):
            expected += shares[row, value] * stay[value]
            empty += shares[row, value] * never[value]
        found += expected / (1.0 - min(exponential(empty), 1.0 - 1e-9)) if gone else expected
    return found


@njit(cache=True)
def weigh_departures(
    shares: Float64, left: Float64, where: Int64, logs: Float64
) -> tuple[Float64, Float64]:  # pragma: no cover - compiled
    """(float64[values + 1, values + 1] precision, float64[values + 1] slope) of the likelihood of `logs`, here.

    What departures of the neighbourhood explain is taken out; where classes differ by more than chance and paces
    explain, as where people leave together, they count less.
    """
    each, off, spread = _compare(shares, left, where, logs)
    count, values = each.shape
    weight = 1.0 / spread
    paces = _solve(*_add_squares(each, off, weight))
    excess, rows = np.zeros(where[-1] + 1), np.zeros(where[-1] + 1)
    for row in range(count):
        miss = off[row]
        for value in range(values):
            miss -= each[row, value] * paces[value]
        excess[where[row]] += miss * miss / spread[row]
        rows[where[row]] += 1.0
    for row in range(count):
        free = max(rows[where[row]] * (1.0 - values / count) - 1.0, 1.0)
        weight[row] /= max(excess[where[row]] / free, 1.0)
    return _add_squares(each, off, weight)


@njit(cache=True)
def _compare(
    shares: Float64, left: Float64, where: Int64, logs: Float64
) -> tuple[Float64, Float64, Float64]:  # pragma: no cover - compiled
    """(float64[classes, values + 1] by how much each pace changes how many are left, beside what departures of the
    neighbourhood change; float64[classes] how many more are left than expected; float64[classes] its variance)."""
    departed, stay = _find_stay(shares, left, where, logs, False)
    count, values = shares.shape
    each, off, spread, whole = np.empty(shares.shape), left.copy(), np.zeros(count), np.zeros(count)
    common, joint = np.full(len(departed), 1e-12), np.zeros((len(departed), values))
    paces = np.empty(values)
    for value in range(values):
        paces[value] = exponential(logs[value])
    for row in range(count):
        place = where[row]
        for value in range(values):
            people, pace = shares[row, value] * stay[place, value], paces[value]
            each[row, value] = -departed[place] * pace * people
            whole[row] -= pace * people
            spread[row] += people * (1.0 - stay[place, value])
            off[row] -= people
        spread[row] = max(spread[row], 0.05)
        common[place] += whole[row] * whole[row] / spread[row]
        for value in range(values):
            joint[place, value] += whole[row] * each[row, value] / spread[row]
    for row in range(count):
        for value in range(values):
            each[row, value] -= joint[where[row], value] / common[where[row]] * whole[row]
    return each, off, spread


@njit(cache=True)
def _add_squares(each: Float64, off: Float64, weight: Float64) -> tuple[Float64, Float64]:  # pragma: no cover
    """(the products of columns with each other, and with `off`), rows being weighed."""
    values = each.shape[1]
    squares, towards = np.zeros((values, values)), np.zeros(values)
    for row in range(len(off)):
        for one in range(values):
            by = each[row, one] * weight[row]
            towards[one] += by * off[row]
            for other in range(values):
                squares[one, other] += by * each[row, other]
    for one in range(values):  # the same to the last bit on both sides of the diagonal
        for other in range(one):
            squares[one, other] = squares[other, one]
    return squares, towards


@njit(cache=True)
def _solve(squares: Float64, towards: Float64) -> Float64:  # pragma: no cover - compiled
    """The smallest of the vectors that come nearest to solving the equations."""
    known, turn = diagonalize(squares)
    count, largest, found = len(known), 0.0, np.zeros(len(known))
    for i in range(count):
        largest = max(largest, abs(known[i]))
    for i in range(count):
        if abs(known[i]) > ALIKE * largest:
            along = 0.0
            for j in range(count):
                along += turn[i, j] * towards[j]
            for j in range(count):
                found[j] += turn[i, j] * (along / known[i])
    return found
