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
def shuffle_order(n: int, seed: int) -> Int64:
    """int64[n]: a permutation that the seed decides (splitmix64), so that ties fall the same way in every run."""
    order = np.arange(n)
    state = np.uint64(seed)
    for i in range(n - 1, 0, -1):
        state = state + np.uint64(0x9E3779B97F4A7C15)
        z = state
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
        j = np.int64(z % np.uint64(i + 1))
        order[i], order[j] = order[j], order[i]
    return order
