"""Knowledge estimated from the publisher's own tables: the attacker who knows them as statistics, the worst case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reissue.arrays.sets import mix_bits
from reissue.arrays.types import NO_CODES, NO_NUMBERS, Float64, Int32, Int64
from reissue.methods.beliefs.revision import Moves, contract
from reissue.model.domain import Domain
from reissue.model.fragment_counts import Counts
from reissue.model.release import Table, take_codes, take_numbers

SUPPORT = 50
"""Rows that a category of quasi-identifiers needs: with fewer it would describe people, not a statistic."""
DEPTH = 6
"""Refinements of the quasi-identifiers at most, each halving numeric ranges and descending one level of taxonomies."""


def estimate_shares(
    codes: Int32,
    values: Int32,
    domains: Sequence[Domain],
    value_count: int,
    smoothing: float,
    table: Int64 | None = None,
    cells: Counts | None = None,
) -> tuple[Int32, Float64]:
    """PDsv: (int32[rows] category, float64[categories, value_count] shares). O(DEPTH n log n).

    Categories are refined from "everybody" down; one with fewer than SUPPORT rows is not made, its rows stay in the
    category above. A category's shares are smoothed by those above: (count + smoothing * above) / (rows + smoothing);
    "everybody" is smoothed by the uniform distribution. Where the rows are a fragment, `table` int64[value_count] and
    `cells` are counts of the whole table: then the shares are those of the whole table's categories.
    """
    category = np.zeros(len(codes), dtype=np.int32)
    counts = np.bincount(values, minlength=value_count) if table is None else table
    shares: Float64 = ((counts + smoothing / max(1, value_count)) / (counts.sum() + smoothing))[None, :]
    rows = np.arange(len(codes))  # those whose cell is a category so far
    for depth in range(1, DEPTH + 1):
        key, cell = np.unique(hash_cells(codes, rows, domains, depth), return_inverse=True)
        size = np.bincount(cell, minlength=len(key)) if cells is None else cells.sizes(key)
        kept = np.flatnonzero(size >= SUPPORT)
        if len(kept) == 0:
            break
        number = np.full(len(key), -1, dtype=np.int64)
        number[kept] = np.arange(len(kept))
        inside = number[cell] >= 0
        rows, own = rows[inside], number[cell[inside]]
        if cells is None:
            flat = np.bincount(own * value_count + values[rows], minlength=len(kept) * value_count)
            found = flat.reshape(len(kept), value_count)
        else:
            found = cells.matrix(key[kept], value_count)
        above = np.empty(len(kept), dtype=np.int64)
        above[own] = category[rows]  # all rows of a cell come from one category
        category[rows] = (len(shares) + own).astype(np.int32)
        fresh = (found + smoothing * shares[above]) / (size[kept] + smoothing)[:, None]
        shares = np.concatenate([shares, fresh])
    return category, shares


def count_cells(codes: Int32, values: Int32, domains: Sequence[Domain]) -> Counts:
    """How often each value occurs in every cell of every depth: what fragments count for `estimate_shares`."""
    rows = np.arange(len(codes))
    keys = [hash_cells(codes, rows, domains, depth) for depth in range(1, DEPTH + 1)]
    return Counts.of(np.concatenate(keys), np.tile(values, DEPTH))


def hash_cells(codes: Int32, rows: Int64, domains: Sequence[Domain], depth: int) -> Int64:
    """int64[rows]: a hash of the cell of each row, the same in every fragment. Cells of one depth nest in the next.

    64 bits: among a million cells, two are taken for one with a chance of 1 in 30 million.
    """
    key = mix_bits(np.full(len(rows), depth, dtype=np.uint64))
    for a, domain in enumerate(domains):
        own = codes[rows, a] if len(rows) < len(codes) else codes[:, a]
        part: NDArray[np.int64]
        if domain.tree is None:
            offset = np.clip(own.astype(np.int64) - domain.lo, 0, domain.span)
            part = (offset << depth) // (domain.span + 1)
        else:
            part = domain.tree.at_level(max(0, domain.tree.height - depth))[own].astype(np.int64)
        key = mix_bits(key ^ part.astype(np.uint64))
    return key.view(np.int64)


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
        return MoveCounts(np.zeros((values, values), dtype=np.int64), NO_CODES, NO_CODES, NO_CODES, NO_NUMBERS)

    @staticmethod
    def read(table: Table) -> MoveCounts:
        pairs, times = take_numbers(table, "pairs", "times")
        first, between, last = take_codes(table, "first", "between", "last")
        return MoveCounts(pairs, first, between, last, times)

    def table(self) -> Mapping[str, NDArray[np.generic]]:
        return {
            "pairs": self.pairs,
            "first": self.first,
            "between": self.between,
            "last": self.last,
            "times": self.times,
        }

    def counts(self, steps: int) -> dict[str, Counts]:
        """For the other fragments: moves of one step, and of two where they are used."""
        width = max(1, len(self.pairs))
        now, after = np.nonzero(self.pairs)
        told = {"moves": Counts.of(now.astype(np.int64), after.astype(np.int32), self.pairs[now, after])}
        if steps == 2:
            pair = self.first.astype(np.int64) * width + self.between
            told["second"] = Counts.of(pair, self.last, self.times)
        return told

    @staticmethod
    def sum(told: Mapping[str, Counts], values: int) -> MoveCounts:
        """Those of all fragments together; each must have counted with as many values."""
        pairs = told["moves"].matrix(np.arange(values, dtype=np.int64), values)
        second = told.get("second", Counts.none())
        first, between = (second.key // values).astype(np.int32), (second.key % values).astype(np.int32)
        return MoveCounts(pairs, first, between, second.value, second.count)

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
        return contract(one, self.first, self.between, self.last, shares, backed)

    def moves(self, table: Float64, steps: int, smoothing: float) -> Moves:
        one = self.one_step(table, smoothing)
        return Moves(one, self.two_steps(one, smoothing) if steps == 2 else None)
