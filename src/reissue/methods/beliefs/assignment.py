"""The most believed assignment of people to rows in one small class: a linear assignment problem."""

from __future__ import annotations

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.types import Float64, Int64


@njit(cache=True)
def find_best_assignment(score: Float64) -> Int64:
    """int64[n]: the column of each row of float64[n, n] so that the sum of scores is largest. O(n^3).

    The Hungarian method with potentials; among equal sums the order of rows and columns decides.
    """
    n = len(score)
    left, right = np.zeros(n + 1), np.zeros(n + 1)
    owner = np.zeros(n + 1, dtype=np.int64)  # of each column, 1-based; column 0 is the one being placed
    way = np.zeros(n + 1, dtype=np.int64)
    for row in range(1, n + 1):
        owner[0] = row
        at = 0
        least = np.full(n + 1, np.inf)
        used = np.zeros(n + 1, dtype=np.bool_)
        while owner[at] != 0:
            used[at] = True
            here, step, after = owner[at], np.inf, 0
            for column in range(1, n + 1):
                if not used[column]:
                    slack = -score[here - 1, column - 1] - left[here] - right[column]
                    if slack < least[column]:
                        least[column], way[column] = slack, at
                    if least[column] < step:
                        step, after = least[column], column
            for column in range(n + 1):
                if used[column]:
                    left[owner[column]] += step
                    right[column] -= step
                else:
                    least[column] -= step
            at = after
        while at != 0:
            owner[at] = owner[way[at]]
            at = way[at]
    column_of = np.empty(n, dtype=np.int64)
    for column in range(1, n + 1):
        column_of[owner[column] - 1] = column - 1
    return column_of


@njit(cache=True)
def find_best_values(priors, people, counts, present, n):  # type: ignore[no-untyped-def]
    """float64[people, present]: what the assignment of largest total prior gives each; `present` ascends.

    1 for a value, or shares where the assignment ties: those of people of equal priors are averaged, and then those of
    values that have equal priors with everybody, as often as they occur.
    """
    kinds, own = len(present), np.empty((len(people), len(present)))
    for i in range(len(people)):
        for j in range(kinds):
            own[i, j] = priors[people[i], present[j]]
    rows = _sort_rows(own)
    slots, at = np.empty(n, dtype=np.int64), 0
    for j in range(kinds):
        for _ in range(counts[present[j]]):
            slots[at] = j
            at += 1
    score = np.full((n, n), 1.0 / priors.shape[1])  # a row that stands for nobody may take any value
    for i in range(len(rows)):
        for k in range(n):
            score[i, k] = own[rows[i], slots[k]]
    chosen = find_best_assignment(score)
    given = np.zeros((len(people), kinds))
    for i in range(len(rows)):
        given[rows[i], slots[chosen[i]]] = 1.0
    _share_out(own, given, np.ones(len(people)))
    weights = np.empty(kinds)
    for j in range(kinds):
        weights[j] = counts[present[j]]
    _share_out(own.T, given.T, weights)
    return given


@njit(cache=True)
def _sort_rows(table):  # type: ignore[no-untyped-def]
    """int64[rows]: the rows of a small table in lexicographic order, by insertion."""
    order = np.arange(len(table))
    for i in range(1, len(order)):
        row, at = order[i], i
        while at > 0 and _compare(table[row], table[order[at - 1]]) < 0:
            order[at] = order[at - 1]
            at -= 1
        order[at] = row
    return order


@njit(cache=True)
def _compare(one, other) -> int:  # type: ignore[no-untyped-def]
    """-1, 0 or 1: the lexicographic order of two rows."""
    for j in range(len(one)):
        if one[j] != other[j]:
            return -1 if one[j] < other[j] else 1
    return 0


@njit(cache=True)
def _share_out(own, given, weights) -> None:  # type: ignore[no-untyped-def]
    """Rows of `given` whose rows in `own` are equal become shares of their sum, by weight. O(rows^2 columns)."""
    columns, done, total = given.shape[1], np.zeros(len(own), dtype=np.bool_), np.empty(given.shape[1])
    for i in range(len(own)):
        if done[i]:
            continue
        total[:] = 0.0
        weight = 0.0
        for k in range(i, len(own)):
            if not done[k] and _compare(own[i], own[k]) == 0:
                for j in range(columns):
                    total[j] += given[k, j]
                weight += weights[k]
        for k in range(len(own) - 1, i - 1, -1):
            if not done[k] and _compare(own[i], own[k]) == 0:
                done[k] = True
                for j in range(columns):
                    given[k, j] = total[j] * weights[k] / weight if weight > 0.0 else 0.0
