"""Whose changes a counterfeit's lent columns follow: people who say the same, each for as many columns as possible.

Who follows one person in the device and another one in its maker shows a maker of other devices as soon as both change.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reissue.arrays.types import Bool, Float64, Int32, Int64

_CANDIDATES = 32
"""People who are looked at for each column, drawn among those who say the same in it."""
_BLOCK = 4_096
_BESIDE = 0.2
"""What it is worth that a lender agrees where it does not lend, beside where it does."""


def find_lenders(own: Int32, lent: Int32, said: Int32, says: Int32, wanted: Bool, rng: np.random.Generator) -> Int64:
    """int64[n, columns]: the row of who lends each counterfeit each lent column; -1 where nobody says the same.

    own: int32[rows, f], lent: int32[rows, columns] what people say; said, says: int32[n, f], int32[n, columns] what
    counterfeits do; wanted: bool[n, columns] where a lender is wanted, elsewhere -1. To agree counts the more, the
    fewer people do. O((rows log rows + n _CANDIDATES columns) columns).
    """
    found = np.full(says.shape, -1, dtype=np.int64)
    columns = [_Column(column, asked) for column, asked in zip(lent.T, says.T, strict=True)]
    owns = [_Column(column, asked) for column, asked in zip(own.T, said.T, strict=True)]
    for start in range(0, len(says), _BLOCK):
        some = slice(start, start + _BLOCK)
        rows = np.concatenate([column.draw(some, rng) for column in columns], axis=1)
        alike = (lent[rows] == says[some][:, None]) & (rows >= 0)[:, :, None]
        worth = alike * np.stack([column.worth[some] for column in columns], axis=1)[:, None]
        same = (own[rows] == said[some][:, None]) * np.stack([column.worth[some] for column in owns], axis=1)[:, None]
        beside = _BESIDE * worth.sum(axis=2) + same.sum(axis=2)
        left, at = wanted[some].copy(), np.arange(len(rows))
        for _ in range(lent.shape[1]):
            lends = (worth * left[:, None]).sum(axis=2)
            best = np.where(lends > 0, lends + beside, 0).argmax(axis=1)
            takes = alike[at, best] & left
            found[some][takes] = np.broadcast_to(rows[at, best][:, None], takes.shape)[takes]
            left &= ~takes
    return found


class _Column:
    """Who says what counterfeits say in one column. worth: float64[n], in doublings of how few say the same."""

    def __init__(self, people: Int32, asked: Int32) -> None:
        self._order = np.argsort(people, kind="stable")
        there = people[self._order]
        self._first = np.searchsorted(there, asked)
        self._many = np.searchsorted(there, asked, "right") - self._first
        self.worth: Float64 = np.log2((1 + len(people)) / (1 + self._many)) + 1.0

    def draw(self, some: slice, rng: np.random.Generator) -> Int64:
        """int64[n, _CANDIDATES]: rows that say the same, -1 where there is none; all of them where they are few."""
        many = self._many[some, None]
        step = rng.permuted(np.broadcast_to(np.arange(_CANDIDATES), (len(many), _CANDIDATES)), axis=1)
        drawn = np.where(
            many > _CANDIDATES, rng.integers(0, np.maximum(many, 1), step.shape), step % np.maximum(many, 1)
        )
        at = np.minimum(self._first[some, None] + drawn, len(self._order) - 1)
        return np.where(many > 0, self._order[at], -1)


def join_overlapping(bound: Sequence[tuple[int, ...]], width: int) -> list[frozenset[int]]:
    """Sets that hang together by lent columns, as one."""
    joined: list[frozenset[int]] = []
    for one in map(frozenset, bound):
        near = [other for other in joined if any(column >= width for column in other & one)]
        joined = [*(other for other in joined if other not in near), one.union(*near)]
    return joined
