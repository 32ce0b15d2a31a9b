"""What fragments of a table know of the whole: counts of each, added up. Rows never leave their fragment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from reissue.arrays.sets import Combinations, lookup, sorted_unique
from reissue.arrays.types import NO_CODES, NO_NUMBERS, Bool, Int32, Int64
from reissue.model.domain import Domain

if TYPE_CHECKING:
    from reissue.model.release import Candidate


@dataclass(frozen=True, eq=False)
class Counts:
    """How often each value occurs under each key.

    key: int64[n]; value: int32[n]; count: int64[n]; ascending by key and then by value, each pair once
    """

    key: Int64
    value: Int32
    count: Int64

    @staticmethod
    def none() -> Counts:
        return Counts(NO_NUMBERS, NO_CODES, NO_NUMBERS)

    @staticmethod
    def of(key: Int64, value: Int32, count: Int64 | None = None) -> Counts:
        """Of rows, or of counts in which a pair may come twice. O(n log n)."""
        order = np.argsort(key)  # twice by one number takes half as long as lexsort
        place = np.cumsum(np.diff(key[order], prepend=key[order[:1]]) != 0)
        order = order[np.argsort(place * (int(value.max(initial=0)) + 1) + value[order])]
        key, value = key[order], value[order]
        first: Bool = np.ones(len(key), dtype=np.bool_)
        first[1:] = (key[1:] != key[:-1]) | (value[1:] != value[:-1])
        start = np.flatnonzero(first)
        if count is None:
            total = np.diff(start, append=len(key))
        else:
            total = np.add.reduceat(count[order], start) if len(start) else count
        return Counts(key[start], value[start].astype(np.int32), total.astype(np.int64))

    @staticmethod
    def of_values(counts: Int64) -> Counts:
        """Of int64[values], all under the key 0."""
        some = np.flatnonzero(counts)
        return Counts(np.zeros(len(some), dtype=np.int64), some.astype(np.int32), counts[some].astype(np.int64))

    @staticmethod
    def sum(parts: Sequence[Counts]) -> Counts:
        """The sum."""
        if not parts:
            return Counts.none()
        key, value, count = (np.concatenate([getattr(p, name) for p in parts]) for name in ("key", "value", "count"))
        return Counts.of(key, value, count)

    @property
    def start(self) -> Int64:
        """int64[keys]: where each key begins."""
        return np.flatnonzero(np.diff(self.key, prepend=self.key[:1] - 1)).astype(np.int64)

    def sizes(self, keys: Int64) -> Int64:
        """int64[n]: how often any value occurs under each of the keys."""
        start = self.start
        if len(start) == 0:
            return np.zeros(len(keys), dtype=np.int64)
        at, there = lookup(self.key[start], keys)
        return np.where(there, np.add.reduceat(self.count, start)[at], 0)

    def kept(self, least: int) -> Counts:
        """Only keys with at least so many in all."""
        return self._take(self.sizes(self.key) >= least)

    def under(self, keys: Int64) -> Counts:
        """Only these keys, ascending."""
        return self._take(lookup(keys, self.key)[1])

    def matrix(self, keys: Int64, values: int) -> Int64:
        """int64[keys, values], for keys in ascending order."""
        row, there = lookup(keys, self.key)
        table = np.zeros((len(keys), values), dtype=np.int64)
        table[row[there], self.value[there]] = self.count[there]
        return table

    def _take(self, which: Bool) -> Counts:
        return Counts(self.key[which], self.value[which], self.count[which])


@dataclass(frozen=True, eq=False)
class FragmentCounts:
    """What one fragment counts for the others.

    everywhere: small counts that every fragment needs
    nearby:     counts of which a fragment needs only the keys that it has itself; there may be as many as rows
    least:      keys of `nearby` with fewer rows in the whole table are of no use
    planned:    what only the planner needs, where one plan is made for all fragments; there may be as many as rows
    """

    everywhere: Mapping[str, Counts] = field(default_factory=dict)
    nearby: Counts = field(default_factory=Counts.none)
    least: int = 1
    planned: Mapping[str, Combinations] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class CountedSnapshot:
    """A snapshot as a planner sees it: the sums over all fragments of what `Tally.planned` says, and how many rows."""

    rows: int
    domains: tuple[Domain, ...]
    value_count: int
    combinations: Mapping[str, Combinations]


@dataclass(frozen=True, eq=False)
class TableCounts:
    """What one fragment knows of the whole table: the sums of everybody's counts.

    published: int64[values] each: how often each value was published by all fragments together, in every attempt to
               make this release so far (see `Strategy`)
    plan:      the release without its rows, where one plan was made for all fragments
    """

    everywhere: Mapping[str, Counts]
    nearby: Counts = field(default_factory=Counts.none)
    published: tuple[Int64, ...] = ()
    plan: Candidate | None = None

    @staticmethod
    def of(tallies: Sequence[FragmentCounts]) -> list[TableCounts]:
        """One for each fragment. O(counts log counts)."""
        everywhere = sum_counts(tallies)
        nearby = Counts.sum([tally.nearby for tally in tallies]).kept(tallies[0].least)
        return [TableCounts(everywhere, nearby.under(sorted_unique(tally.nearby.key))) for tally in tallies]

    def values(self, count: int) -> Int64:
        """int64[count]: how often each sensitive value occurs in the whole snapshot."""
        table = self.everywhere["values"].matrix(np.zeros(1, dtype=np.int64), count)
        return table.reshape(count)

    def announced(self, count: int) -> Int64:
        """int64[count]: how often each value will be published, as far as is known."""
        return self.published[-1] if self.published else self.values(count)

    def announcing(self, published: Int64) -> TableCounts:
        """For the next attempt."""
        return replace(self, published=(*self.published, published))


def sum_counts(tallies: Sequence[FragmentCounts]) -> dict[str, Counts]:
    """What every fragment needs of the whole."""
    names = tallies[0].everywhere
    return {name: Counts.sum([tally.everywhere[name] for tally in tallies]) for name in names}
