"""Rows that are left over join classes that are made already and stay good with them, the nearest first: kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.types import Float64, Int32, Int64
from reissue.methods.beliefs.growing import SLACK, WEIGHING, BeliefRows, divergence, divergence_with
from reissue.methods.beliefs.neighbours import begin, heap_for, nearest, plant
from reissue.model.requirement_kernels import Limits, meets

TRIES, FEWEST_TRIES = 4_000_000, 256
"""Rows left over times classes they may try, in all; and for each row at least."""
FEW, MORE = 16, 4
"""So many of the nearest classes are found for rows at one point at first, and so many times as many if they fail."""


class Walks(NamedTuple):
    """What is nearest to places: where in `passed` the walk from each starts, how long it is yet, and where all end.

    start, length: int64[places]; passed: int64[room]; end: int64[1]
    """

    start: Int64
    length: Int64
    passed: Int64
    end: Int64


@njit(cache=True)
def _walk_on(walks, place, length, tree, heap, point):  # type: ignore[no-untyped-def]
    """The walks with one of that length from a place, begun anew; it passes -1 where nothing is left."""
    first, passed = walks.end[0], walks.passed
    if first + length > len(passed):
        passed = np.concatenate((passed, np.empty(len(passed) + length, dtype=np.int64)))
    begin(tree, heap)
    for step in range(length):
        passed[first + step] = nearest(tree, heap, point)
    walks.start[place], walks.length[place], walks.end[0] = first, length, first + length
    return Walks(walks.start, walks.length, passed, walks.end)


@njit(cache=True)
def join(
    left: Int64,
    places: Int32,
    classes: Int32,
    number: int,
    rows: BeliefRows,
    points: Float64,
    limits: Limits,
    most: float,
) -> None:
    """Put each row of `left` into the nearest class that stays good with it, if there is one.

    left: int64[n] rows; places: int32[n] 0, 1, ..., the same for rows at one point; classes: int32[rows], changed in
    place; number: of classes; points: float64[rows, d] quasi-identifiers. Classes are tried in the order of the
    distance of their middles, as they were before anybody joined: all of them, unless that were more than TRIES in all;
    then each row tries its share, the nearest. About O(rows + places log classes + tries values).
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
    heap, present, spread = heap_for(tree), np.empty(width, dtype=np.int32), np.zeros(number)
    for c in some:
        spread[c] = sizes[c] * divergence(total[c], entropy[c], sizes[c])
    refused = np.zeros((number, width), dtype=np.int64)  # of which size a class was that did not take a value
    tries = max(FEWEST_TRIES, TRIES // max(1, len(left)))
    none = np.zeros(len(left) + 1, dtype=np.int64)
    walks = Walks(none, none.copy(), none[:0].copy(), none[:1].copy())
    for row, place in zip(left, places):  # noqa: B905 - numba knows no strict
        for step in range(tries):
            if step == walks.length[place]:
                walks = _walk_on(walks, place, min(tries, max(FEW, MORE * step)), tree, heap, points[row])
            near = walks.passed[walks.start[place] + step]
            if near < 0:
                break
            c = some[near]
            if refused[c, rows.values[row]] == sizes[c]:
                continue
            if _is_too_far(spread[c], total[c], rows.prior, row, sizes[c], most):
                continue
            apart = divergence_with(total[c], rows.prior, row, entropy[c] + rows.entropy[row], sizes[c] + 1)
            if apart > most:
                continue
            if _takes(counts[c], rows.values[row], sizes[c], present, limits):
                _enter(c, row, rows, sizes, counts, total, entropy)
                classes[row], spread[c] = c, apart * sizes[c]
                break
            refused[c, rows.values[row]] = sizes[c]


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


@njit(cache=True, error_model="numpy", fastmath=WEIGHING)
def _is_too_far(spread, total, prior, row, size, most) -> bool:  # type: ignore[no-untyped-def]
    """Whether a row lifts the divergence of a class above the most for certain, without a logarithm. O(values).

    spread: size times divergence. It grows by the Jensen gaps of x log x over mean and prior, weighted size to 1; since
    the second derivative is at least 1 / max(mean, prior) between them, a gap in nats is at least half of
    size / (size + 1) (prior - mean)^2 / max(mean, prior).
    """
    lift, per = 0.0, 1.0 / size
    for s in range(len(total)):
        mean, own = total[s] * per, prior[row, s]
        off, larger = own - mean, max(own, mean) + 1e-300
        lift += off * off / larger
    least = spread + lift * size / ((size + 1.0) * 2.0 * np.log(2.0))
    return bool(least > most * (size + 1.0) * (1.0 + SLACK) + SLACK)
