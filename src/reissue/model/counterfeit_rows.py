"""What a counterfeit row says: drawn from people near it so that nothing in it gives it away.

A copy of somebody's row shows as a pair of equal rows; a mixture of many rows shows where columns belong together (a
place and its region). So a counterfeit imitates a person in how rare things are: its row, each pair of its columns and
each of its values occur elsewhere just if, and about as often as, the person's do.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from reissue.arrays.distinct import distinct
from reissue.arrays.types import Bool, Int32, Int64
from reissue.model.boxes import find_neighbours

WIDE = 8
"""How many places along the curve away people are imitated: enough of them to choose from."""
_ATTEMPTS, _CHOICE = 24, 16
_MOST_ROWS = 20_000
"""Rows, drawn at random, among which it is looked up what occurs together."""


def draw_columns(codes: Int32, order: Int64, places: Int64, rng: np.random.Generator) -> Int64:
    """int64[n, columns]: the row from which each counterfeit has each column.

    codes: int32[rows, columns], equal where the table says the same; order: int64[people] the rows to draw from, such
    that neighbours are alike; places: int64[n] where in the order each counterfeit stands. The best of some attempts is
    taken: a value of its own cannot be imitated, so a column of such values must not be published beside counterfeits.
    O((rows + n) columns^2).
    """
    columns = codes.shape[1]
    person = order[find_neighbours(places, len(order), WIDE, rng)]
    found = np.repeat(person[:, None], columns, axis=1)
    there = np.sort(_hash_rows(codes))
    alone = _are_alone(there, _hash_rows(codes[person]))
    oddness = np.where(alone, np.iinfo(np.int64).max, 0)  # who repeats somebody is imitated by a copy
    pairs, many = _Pairs(codes, person, rng), np.stack([_count_equal(codes[:, a]) for a in range(columns)], axis=1)
    for attempt in range(_ATTEMPTS):
        left = np.flatnonzero(oddness > 0)
        if len(left) == 0:
            break
        reach = WIDE << (attempt // 6)
        wanted = many[person[left]] - 1  # a value gets one bearer more by being copied
        drawn = np.stack(
            [_draw_one(many[:, a], wanted[:, a], order, places[left], reach, rng) for a in range(columns)], axis=1
        )
        said = _pick(codes, drawn)
        taken = np.union1d(there, _hash_rows(_pick(codes, found)))
        odd = np.where(_are_new(taken, _hash_rows(said)), pairs.count_unlike(said, left), np.iinfo(np.int64).max)
        better = odd < oddness[left]
        found[left[better]], oddness[left[better]] = drawn[better], odd[better]
    return found


def _count_equal(column: Int32) -> Int64:
    """int64[rows]: how many rows say the same in this column."""
    first, home = distinct([np.ascontiguousarray(column)])
    return np.bincount(home, minlength=len(first))[home]


def _draw_one(many: Int64, wanted: Int64, order: Int64, places: Int64, reach: int, rng: np.random.Generator) -> Int64:
    """int64[n]: of some rows near each place the one whose value so many have: many int64[rows], wanted int64[n]."""
    drawn = np.stack([order[find_neighbours(places, len(order), reach, rng)] for _ in range(_CHOICE)])
    return np.asarray(drawn[np.abs(many[drawn] - wanted).argmin(axis=0), np.arange(len(places))], dtype=np.int64)


def _pick(codes: Int32, drawn: Int64) -> Int32:
    """int32[n, columns]: what counterfeits say that have their columns from these rows."""
    return np.asarray(codes[drawn, np.arange(codes.shape[1])[None, :]], dtype=np.int32)


def _hash_rows(codes: Int32) -> NDArray[np.uint64]:
    """uint64[rows]: equal rows have equal numbers, others very likely not."""
    mixed = np.zeros(len(codes), dtype=np.uint64)
    for a in range(codes.shape[1]):
        mixed = (mixed ^ codes[:, a].astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return mixed


def _are_alone(there: NDArray[np.uint64], rows: NDArray[np.uint64]) -> Bool:
    """bool[n]: rows that the table (ascending) has at most once."""
    return np.asarray(np.searchsorted(there, rows, "right") - np.searchsorted(there, rows) <= 1, dtype=np.bool_)


def _are_new(there: NDArray[np.uint64], said: NDArray[np.uint64]) -> Bool:
    """bool[n]: rows that are neither in the table (ascending) nor among themselves before."""
    fresh = np.zeros(len(said), dtype=np.bool_)
    fresh[np.unique(said, return_index=True)[1]] = True
    at = np.minimum(np.searchsorted(there, said), len(there) - 1)
    return np.asarray(fresh & (there[at] != said), dtype=np.bool_)


class _Pairs:
    """Which values of two columns occur together; person: int64[n] whom each counterfeit imitates."""

    def __init__(self, codes: Int32, person: Int64, rng: np.random.Generator) -> None:
        some = codes if len(codes) <= _MOST_ROWS else codes[rng.choice(len(codes), _MOST_ROWS, replace=False)]
        self._some, own = np.asfortranarray(some), codes[person]
        self._alone = {}
        for a, b in combinations(range(codes.shape[1]), 2):
            there = np.sort(_hash_rows(self._some[:, (a, b)]))
            self._alone[a, b] = there, _are_alone(there, _hash_rows(own[:, (a, b)]))

    def count_unlike(self, said: Int32, which: Int64) -> Int64:
        """int64[some]: in how many pairs of columns only one of counterfeit and person is like nobody else."""
        unlike = np.zeros(len(said), dtype=np.int64)
        for (a, b), (there, alone) in self._alone.items():
            pair = _hash_rows(said[:, (a, b)])
            at = np.minimum(np.searchsorted(there, pair), len(there) - 1)
            unlike += (there[at] != pair) != alone[which]
        return unlike
