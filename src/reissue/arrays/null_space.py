"""Random vectors in the null space of a matrix of zeros and ones: a number per column, and every row's add up to 0.

Rows that agree in all columns but one tell that two numbers are equal in every such vector, or that one is 0. Equal
columns are taken together, which makes more rows agree, until no two do: where rows are short and there are many of
them, little is left for the steps of conjugate gradients.
"""

from __future__ import annotations

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.sets import connected_components
from reissue.arrays.types import Float64, Int64

VECTORS = 3
"""Vectors that are drawn: a step for all of them costs little more than one for a single one."""
MOST_STEPS = 20_000
"""Steps of a projection; one takes O(entries), and about a thousand are taken."""


def draw_null_vectors(row: Int64, column: Int64, columns: int, seed: int = 11) -> tuple[Float64, bool]:
    """(float64[columns, VECTORS], whether they were found), from the places of the ones, each once.

    O(entries log entries) for each time that columns are taken together, and O(entries left) for each step.
    """
    kind = merge_equal_columns(row, column, columns)
    kinds = int(kind.max(initial=-1)) + 1
    used = kind[column] >= 0
    key, weight = np.unique(row[used] * np.int64(max(kinds, 1)) + kind[column[used]], return_counts=True)
    row, own = key // max(kinds, 1), key % max(kinds, 1)
    row = np.cumsum(np.diff(row, prepend=-1) > 0) - 1
    scale = 1.0 / np.sqrt(np.maximum(np.bincount(own, weight.astype(np.float64) ** 2, minlength=kinds), 1.0))
    drawn = np.random.default_rng(seed).standard_normal((kinds, VECTORS))
    settled = _project(drawn, _order_by(row, own, weight * scale[own]), _order_by(own, row, weight * scale[own]))
    numbers = np.append(drawn * scale[:, None], np.zeros((1, VECTORS)), axis=0)
    return numbers[kind], bool(settled)


def merge_equal_columns(row: Int64, column: Int64, columns: int) -> Int64:
    """int64[columns]: a number of 0, 1, ... for columns whose numbers are found to be equal; -1 for those that are 0.

    What is left of a row without one of its entries is compared by two sums of random words of 64 bits, so that no
    two differ unseen but by a chance of 10^-20 among a hundred million. O(entries log entries) a round.
    """
    order = np.argsort(row, kind="stable")
    row, column = row[order], column[order]
    begin = np.flatnonzero(np.diff(row, prepend=-1))
    place = np.cumsum(np.diff(row, prepend=-1) != 0) - 1
    kind = np.arange(columns + 1)  # the last one stands for 0
    generator = np.random.default_rng(5)
    while len(row):
        words = generator.integers(0, 2**63, (2, columns + 1), dtype=np.uint64) * np.uint64(2) + np.uint64(1)
        words[:, kind[-1]] = 0
        said = words[:, kind[column]]
        rest = np.add.reduceat(said, begin, axis=1)[:, place] - said
        rest = np.append(rest, np.zeros((2, 1), dtype=np.uint64), axis=1)  # a number whose rest adds up to 0 is 0
        own = np.append(kind[column], kind[-1])
        ranked = np.argsort(rest[0])
        alike = (np.diff(rest[:, ranked], axis=1) == 0).all(axis=0)
        one, other = own[ranked[1:]][alike], own[ranked[:-1]][alike]
        if (one == other).all():
            break
        kind = connected_components(one, other, columns + 1)[kind]
    zero = kind == kind[-1]
    kind = np.where(zero, -1, kind - (kind > kind[-1]))
    return kind[:-1]


def _order_by(start_of: Int64, at: Int64, weight: Float64) -> tuple[Int64, Int64, Float64]:
    """(start, at, weight) of the entries of each row (or column), one after the other."""
    order = np.argsort(start_of, kind="stable")
    start = np.searchsorted(start_of[order], np.arange(int(start_of.max(initial=-1)) + 2)).astype(np.int64)
    return start, at[order], weight[order]


@njit(cache=True)
def _project(drawn, rows, columns):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """Take their part in the rows out of the vectors, in place, by conjugate gradients; whether that was done.

    Sums are made one after the other, so that the outcome is the same on every machine.
    """
    steep, along = np.zeros((len(rows[0]) - 1, VECTORS)), np.zeros((len(rows[0]) - 1, VECTORS))
    moved = np.zeros(drawn.shape)
    slope, steepest, share = np.zeros(VECTORS), np.zeros(VECTORS), np.zeros(VECTORS)
    for step in range(MOST_STEPS):
        before = slope
        slope = _add_up(drawn, rows, steep)
        steepest = np.maximum(steepest, slope)
        open_ = slope > 1e-26 * steepest
        if not open_.any():
            return True
        for v in range(VECTORS):
            share[v] = slope[v] / before[v] if step > 0 and open_[v] else 0.0
        for c in range(len(along)):
            for v in range(VECTORS):
                along[c, v] = steep[c, v] + share[v] * along[c, v] if open_[v] else 0.0
        length = _add_up(along, columns, moved)
        for v in range(VECTORS):
            share[v] = slope[v] / length[v] if length[v] > 0.0 else 0.0
        for c in range(len(drawn)):
            for v in range(VECTORS):
                drawn[c, v] -= share[v] * moved[c, v]
    return False


@njit(cache=True)
def _add_up(numbers, entries, into):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """into[i] is the weighted sum of the numbers of i's entries; returned is the sum of their squares."""
    start, at, weight = entries
    squares = np.zeros(VECTORS)
    for i in range(len(start) - 1):
        one, two, three = 0.0, 0.0, 0.0
        for p in range(start[i], start[i + 1]):
            one += weight[p] * numbers[at[p], 0]
            two += weight[p] * numbers[at[p], 1]
            three += weight[p] * numbers[at[p], 2]
        into[i, 0], into[i, 1], into[i, 2] = one, two, three
        squares[0] += one * one
        squares[1] += two * two
        squares[2] += three * three
    return squares
