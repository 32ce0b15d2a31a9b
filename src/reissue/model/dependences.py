"""Columns that follow only from several others together: a price from the drug and the dose, a ward from place and age.

A made-up row that says otherwise is one that nobody can have. Which columns hang together so is read from the people.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from reissue.arrays.types import Bool, Int32, Int64
from reissue.model.counterfeit_rows import hash_rows

MOST_CAUSES = 3
"""From so many columns together another may follow."""
MOST_ROWS, MOST_SETS = 10_000, 400
"""Rows, drawn at random, that are looked at; sets of causes that are tried, small ones first, of too many a draw."""
_EXPECTED, _FEWER, _EXCEPTIONS = 25.0, 10.0, 0.02
"""People alike in the causes must be expected to differ so often, by what each smaller set of causes says of them; they
must differ at least so many times less, and no more often than this share."""


@dataclass(frozen=True, order=True)
class Dependence:
    """What people say in a column follows from what they say in several others, and from no fewer of them."""

    causes: tuple[int, ...]
    follows: int

    @property
    def columns(self) -> tuple[int, ...]:
        return tuple(sorted((*self.causes, self.follows)))

    def find_contradictions(self, people: Int32, said: Int32) -> Bool:
        """bool[n]: which rows say in the causes what somebody says, and then what nobody says who does.

        people: int32[rows, columns]; said: int32[n, columns]
        """
        known, whole = (np.unique(hash_rows(people[:, columns])) for columns in (list(self.causes), list(self.columns)))
        seen = np.isin(hash_rows(said[:, list(self.causes)]), known)
        return np.asarray(seen & ~np.isin(hash_rows(said[:, list(self.columns)]), whole), dtype=np.bool_)


def find_dependences(codes: Int32, first: int, rng: np.random.Generator) -> list[Dependence]:
    """Those in which a column from `first` on takes part; codes: int32[rows, columns], equal where people say the same.

    People alike in the causes are compared in pairs. A set of causes counts only if none of its parts explains as much,
    so what follows from a single column is not among them. O(MOST_SETS columns MOST_ROWS log MOST_ROWS) at most.
    """
    some = codes[rng.permutation(len(codes))[:MOST_ROWS]]
    columns = codes.shape[1]
    differ: dict[tuple[int, ...], tuple[int, Int64]] = {}  # pairs alike in a set, and how many differ in each column
    for one in range(columns):
        differ[(one,)] = _count_differing(some, (one,))
    found = []
    for causes in _draw_sets(columns, rng):
        pairs, counts = differ[causes] = _count_differing(some, causes)
        if pairs < _EXPECTED:
            continue
        parts = [part for size in range(1, len(causes)) for part in combinations(causes, size) if part in differ]
        shares = np.min([differ[part][1] / max(differ[part][0], 1) for part in parts], axis=0)
        exact = (shares * pairs >= _EXPECTED) & (counts * _FEWER <= shares * pairs) & (counts <= _EXCEPTIONS * pairs)
        for follows in np.flatnonzero(exact).tolist():
            if follows not in causes and max(*causes, follows) >= first:
                found.append(Dependence(causes, follows))
    return found


def _draw_sets(columns: int, rng: np.random.Generator) -> Iterator[tuple[int, ...]]:
    """Sets of two causes and more, the small ones first; of those of a size a draw, where they are too many."""
    left = MOST_SETS
    for size in range(2, min(MOST_CAUSES, columns - 1) + 1):
        if comb(columns, size) <= left:
            sets = list(combinations(range(columns), size))
        else:
            drawn = (rng.choice(columns, size, replace=False) for _ in range(left))
            sets = sorted({tuple(sorted(one.tolist())) for one in drawn})
        left -= len(sets)
        yield from sets


def _count_differing(codes: Int32, causes: tuple[int, ...]) -> tuple[int, Int64]:
    """(pairs of rows that are alike in these columns; int64[columns] how many of them differ in each)."""
    hashed = hash_rows(codes[:, list(causes)])
    order = np.argsort(hashed, kind="stable")
    alike = np.flatnonzero(hashed[order[1:]] == hashed[order[:-1]])
    one, other = codes[order[alike]], codes[order[alike + 1]]
    return len(alike), np.asarray((one != other).sum(axis=0), dtype=np.int64)
