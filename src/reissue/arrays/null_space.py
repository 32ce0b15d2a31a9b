"""Random vectors in the null space of a matrix of zeros and ones: a number per column, and every row's add up to 0.

Rows that agree in all columns but one tell that two numbers are equal in every such vector, or that one is 0. Equal
columns are taken together, which makes more rows agree, until no two do: where rows are short and there are many of
them, little is left for the steps of conjugate gradients. Rows that have become the same count once.
"""

from __future__ import annotations

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.types import Bool, Float64, Int64

VECTORS = 3
"""Vectors that are drawn: a step for all of them costs little more than one for a single one."""
MOST_STEPS = 20_000
"""Steps of a projection; one takes O(entries), and about a thousand are taken."""


def draw_null_vectors(row: Int64, column: Int64, columns: int) -> tuple[Float64, bool]:
    """(float64[columns, VECTORS], whether they were found), from the places of the ones, each once.

    O(entries) for each time that columns are taken together, and O(entries left) for each step.
    """
    kind = merge_equal_columns(row, column, columns)
    kinds = int(kind.max(initial=-1)) + 1
    used = kind[column] >= 0
    row, own = row[used], kind[column[used]]
    once = _find_once(row, own, kinds)
    key, weight = np.unique(row[once] * np.int64(max(kinds, 1)) + own[once], return_counts=True)
    row, own = key // max(kinds, 1), key % max(kinds, 1)
    row = np.cumsum(np.diff(row, prepend=-1) > 0) - 1
    scale = 1.0 / np.sqrt(np.maximum(np.bincount(own, weight.astype(np.float64) ** 2, minlength=kinds), 1.0))
    drawn = np.random.default_rng(11).standard_normal((kinds, VECTORS))
    settled = _project(drawn, _order_by(row, own, weight * scale[own]), _order_by(own, row, weight * scale[own]))
    numbers = np.append(drawn * scale[:, None], np.zeros((1, VECTORS)), axis=0)
    return numbers[kind], bool(settled)


def merge_equal_columns(row: Int64, column: Int64, columns: int) -> Int64:
    """int64[columns]: a number of 0, 1, ... for columns whose numbers are found to be equal; -1 for those that are 0.

    What is left of a row without one of its entries is compared by two sums of random words of 64 bits, so that no
    two differ unseen but by a chance of 10^-20 among a hundred million. O(entries) a round, after one sort.
    """
    order = np.argsort(row, kind="stable")
    start = np.append(np.flatnonzero(np.diff(row[order], prepend=-1)), len(row)).astype(np.int64)
    words = np.random.default_rng(5).integers(0, 2**63, (columns + 1, 2), dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    words[0] = 0
    return np.asarray(_merge(start, column[order] + 1, words), dtype=np.int64)


def _find_once(row: Int64, kind: Int64, kinds: int) -> Bool:
    """bool[entries]: those of the first of all rows that say the same; compared by random words, as above."""
    words = np.random.default_rng(7).integers(0, 2**63, (2, kinds), dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    sums = np.zeros((2, int(row.max(initial=-1)) + 1), dtype=np.uint64)
    for own, word in zip(sums, words, strict=True):
        np.add.at(own, row, word[kind])
    order = np.lexsort(sums)  # of equal ones the first comes first
    first = np.ones(len(order), dtype=np.bool_)
    first[order[1:]] = (np.diff(sums[:, order]) != 0).any(axis=0)
    return np.asarray(first[row], dtype=np.bool_)


@njit(cache=True)
def _merge(start, column, words):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """As `merge_equal_columns`, of columns 1, 2, ...; what is equal to column 0, which stands for 0, is numbered -1.

    start: int64[rows + 1] into column: int64[entries]; words: uint64[columns, 2], the first ones 0.
    """
    room = 64
    while room < 2 * len(column):
        room *= 2
    rests, held = np.empty((room, 2), np.uint64), np.empty(room, np.int64)  # sums that were met, and beside which kind
    kind, up = np.arange(len(words)), np.arange(len(words))
    merged = True
    while merged:
        merged = False
        held[:] = -1
        _remember(rests, held, np.uint64(0), np.uint64(0), 0)  # a number whose rest adds up to 0 is 0
        for one in range(len(start) - 1):
            first, second = np.uint64(0), np.uint64(0)
            for p in range(start[one], start[one + 1]):
                first += words[kind[column[p]], 0]
                second += words[kind[column[p]], 1]
            for p in range(start[one], start[one + 1]):
                own = kind[column[p]]
                low = _remember(rests, held, first - words[own, 0], second - words[own, 1], own)
                if low != own:
                    merged = True
                    while up[low] != low:
                        low = up[low]
                    while up[own] != own:
                        own = up[own]
                    up[max(low, own)] = min(low, own)
        for c in range(len(kind)):  # what a column points to is lower, so it points to its kind by now
            up[c] = up[up[c]]
            kind[c] = up[c]
    count = -1
    for c in range(len(kind)):
        if kind[c] == c:
            up[c], count = count, count + 1
        else:
            up[c] = up[kind[c]]
    return up[1:]


@njit(cache=True)
def _remember(rests, held, first, second, own):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """The kind beside which a sum was met first; that is `own`, from now on, if it was not met before."""
    mask = len(held) - 1
    at = np.int64(first >> np.uint64(20)) & mask
    while held[at] >= 0:
        if rests[at, 0] == first and rests[at, 1] == second:
            return held[at]
        at = (at + 1) & mask
    rests[at, 0], rests[at, 1], held[at] = first, second, own
    return own


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
