"""Knowledge estimated from the publisher's own tables: the attacker who knows them as statistics, the worst case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reissue.beliefs.revision import Moves, contracted
from reissue.core.domain import Domain, Float64, Int32, Int64
from reissue.core.snapshot import Table

SUPPORT = 50
"""Rows that a category of quasi-identifiers needs: with fewer it would describe people, not a statistic."""
DEPTH = 6
"""Refinements of the quasi-identifiers at most, each halving numeric ranges and descending one level of taxonomies."""


def value_shares(
    codes: Int32, values: Int32, domains: Sequence[Domain], value_count: int, smoothing: float
) -> tuple[Int32, Float64]:
    """PDsv: (int32[rows] category, float64[categories, value_count] shares). O(DEPTH n log n).

    Categories are refined from "everybody" down; one with fewer than SUPPORT rows is not made, its rows stay in the
    category above. A category's shares are smoothed by those above: (count + smoothing * above) / (rows + smoothing);
    "everybody" is smoothed by the uniform distribution.
    """
    category = np.zeros(len(codes), dtype=np.int32)
    counts = np.bincount(values, minlength=value_count)
    shares = [(counts + smoothing / max(1, value_count)) / (len(codes) + smoothing)]
    cell = np.zeros(len(codes), dtype=np.int64)
    for depth in range(1, DEPTH + 1):
        cell = _refined(cell, codes, domains, depth)
        size = np.bincount(cell)
        kept = np.flatnonzero(size >= SUPPORT)
        if len(kept) == 0:
            break
        number = np.full(len(size), -1, dtype=np.int64)
        number[kept] = np.arange(len(kept))
        inside = number[cell] >= 0
        own = number[cell[inside]]
        table = np.bincount(own * value_count + values[inside], minlength=len(kept) * value_count)
        above = np.empty(len(kept), dtype=np.int64)
        above[own] = category[inside]  # all rows of a cell come from one category
        prior = np.array(shares)[above]
        fresh = (table.reshape(len(kept), value_count) + smoothing * prior) / (size[kept] + smoothing)[:, None]
        category[inside] = (len(shares) + own).astype(np.int32)
        shares += list(fresh)
    return category, np.array(shares)


def _refined(cell: Int64, codes: Int32, domains: Sequence[Domain], depth: int) -> Int64:
    """int64[rows]: the cells cut once more along every attribute."""
    for a, domain in enumerate(domains):
        part: NDArray[np.int64]
        if domain.tree is None:
            offset = np.clip(codes[:, a].astype(np.int64) - domain.lo, 0, domain.span)
            part = (offset << depth) // (domain.span + 1)
        else:
            part = domain.tree.at_level(max(0, domain.tree.height - depth))[codes[:, a]].astype(np.int64)
        cell = np.unique(cell * (int(part.max(initial=0)) + 1) + part, return_inverse=True)[1].reshape(-1)
    return cell.astype(np.int64)


@dataclass(frozen=True, eq=False)
class MoveCounts:
    """How often values followed each other in consecutive releases.

    pairs: int64[v, v] now, next; first, between, last: int32[n] and times: int64[n]: three releases in a row, sparse
    """

    pairs: Int64
    first: Int32
    between: Int32
    last: Int32
    times: Int64

    @staticmethod
    def none(values: int) -> MoveCounts:
        empty = np.empty(0, dtype=np.int32)
        return MoveCounts(np.zeros((values, values), dtype=np.int64), empty, empty, empty, np.empty(0, dtype=np.int64))

    @staticmethod
    def read(table: Table) -> MoveCounts:
        first, between, last = (np.asarray(table[name], dtype=np.int32) for name in ("first", "between", "last"))
        return MoveCounts(
            np.asarray(table["pairs"], dtype=np.int64), first, between, last, np.asarray(table["times"], dtype=np.int64)
        )

    def table(self) -> Mapping[str, NDArray[np.generic]]:
        return {
            "pairs": self.pairs,
            "first": self.first,
            "between": self.between,
            "last": self.last,
            "times": self.times,
        }

    def plus(self, earlier: Int32, now: Int32, after: Int32, values: int) -> MoveCounts:
        """With people who had the value `now` and then `after`, and `earlier` before (-1: not there). O(n log n)."""
        pairs = np.zeros((values, values), dtype=np.int64)
        pairs[: len(self.pairs), : len(self.pairs)] = self.pairs
        pairs += np.bincount(now.astype(np.int64) * values + after, minlength=values * values).reshape(values, values)
        seen = earlier >= 0
        key = (self.first.astype(np.int64) * values + self.between) * values + self.last
        more = (earlier[seen].astype(np.int64) * values + now[seen]) * values + after[seen]
        keys, at = np.unique(np.concatenate([key, more]), return_inverse=True)
        weights = np.concatenate([self.times, np.ones(len(more), dtype=np.int64)])
        times = np.bincount(at.reshape(-1), weights=weights, minlength=len(keys)).astype(np.int64)
        first, between, last = keys // (values * values), keys // values % values, keys % values
        return MoveCounts(pairs, first.astype(np.int32), between.astype(np.int32), last.astype(np.int32), times)

    def one_step(self, table: Float64, smoothing: float) -> Float64:
        """PD1 float64[v, v], smoothed towards "stay with the share that stays overall, else as in the table"."""
        total = self.pairs.sum(axis=1)
        stay = (np.trace(self.pairs) + smoothing) / (total.sum() + 2 * smoothing)
        away = np.tile(table, (len(table), 1))
        np.fill_diagonal(away, 0.0)
        elsewhere = away.sum(axis=1, keepdims=True)
        away = np.where(elsewhere > 0.0, away / np.where(elsewhere > 0.0, elsewhere, 1.0), 0.0)
        usual = stay * np.eye(len(table)) + (1.0 - stay) * away
        usual /= usual.sum(axis=1, keepdims=True)
        return np.asarray((self.pairs + smoothing * usual) / (total + smoothing)[:, None], dtype=np.float64)

    def two_steps(self, one: Float64, smoothing: float) -> Float64:
        """`Moves.two`; PD2 of a pair of values is smoothed towards PD1 of the later one."""
        values = len(one)
        pair = self.first.astype(np.int64) * values + self.between
        seen = np.bincount(pair, weights=self.times, minlength=values * values)
        shares = self.times / (seen[pair] + smoothing)
        backed = np.asarray(smoothing / (seen + smoothing), dtype=np.float64).reshape(values, values)
        return contracted(one, self.first, self.between, self.last, shares, backed)

    def moves(self, table: Float64, steps: int, smoothing: float) -> Moves:
        one = self.one_step(table, smoothing)
        return Moves(one, self.two_steps(one, smoothing) if steps == 2 else None)
