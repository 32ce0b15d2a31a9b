"""Sets of numbers: as ascending arrays, looking numbers up in them, distinct combinations, components, keyed hashes.

By sorting: NumPy's own `unique` of plain numbers, and `union1d`, `intersect1d` and `setdiff1d` built on it, hash them,
which takes fifty times as long for a million numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from reissue.arrays.compiled import njit
from reissue.arrays.types import NO_NUMBERS, Bool, Int32, Int64

IntT = TypeVar("IntT", np.int32, np.int64)

_ROOMY = 8
"""A table of places may have so many times as many entries as there are numbers."""
_WORTH_COMPILING = 10_000
"""Fewer keys are sorted by NumPy in less time than it takes to compile what numbers them."""
_FEW = 32
"""A number is looked up by halving as fast as so many places are filled in."""
UInt64 = NDArray[np.uint64]


def sorted_unique(numbers: NDArray[IntT]) -> NDArray[IntT]:
    """The different numbers, ascending. O(n log n), O(n) if they are ascending already."""
    if (numbers[1:] > numbers[:-1]).all():
        return numbers
    ordered = np.sort(numbers)
    first = np.ones(len(ordered), dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def union(*sets: Int64) -> Int64:
    """The numbers that are in any of the arrays, ascending."""
    return sorted_unique(np.concatenate([NO_NUMBERS, *sets]))


def intersection(one: Int64, other: Int64) -> Int64:
    """The numbers that are in both; both ascending, each number once."""
    return one[lookup(other, one)[1]]


def difference(one: Int64, other: Int64) -> Int64:
    """The numbers that are in the first but not in the second; both ascending, each number once."""
    return one[~lookup(other, one)[1]]


def lookup(ascending: Int64, wanted: Int64) -> tuple[Int64, Bool]:
    """(int64[n] position of each wanted number, the first of equal ones; bool[n] whether it is there).

    The position of a number that is not there means nothing, but is one. O(n) where the sorted numbers lie close
    together, as those of subjects do, and many are wanted; else O(n log table).
    """
    if len(ascending) == 0 or len(wanted) == 0:
        return np.zeros(len(wanted), dtype=np.int64), np.zeros(len(wanted), dtype=np.bool_)
    low, high = int(ascending[0]), int(ascending[-1])
    if high - low < _ROOMY * (len(ascending) + len(wanted)) and len(ascending) < _FEW * len(wanted):
        return _lookup_dense(ascending, wanted, low, high)
    at = np.minimum(np.searchsorted(ascending, wanted), len(ascending) - 1)
    return at, np.asarray(ascending[at] == wanted, dtype=np.bool_)


def _lookup_dense(ascending: Int64, wanted: Int64, low: int, high: int) -> tuple[Int64, Bool]:
    places = np.full(high - low + 1, -1, dtype=np.int64)
    places[ascending[::-1] - low] = np.arange(len(ascending) - 1, -1, -1)  # of equal numbers, the first is set last
    inside = np.asarray((wanted >= low) & (wanted <= high), dtype=np.bool_)
    if inside.all():
        at = places[wanted - low]
        there = at >= 0
        return (at, there) if there.all() else (np.maximum(at, 0), there)
    at = np.where(inside, places[np.where(inside, wanted, low) - low], -1)
    return np.maximum(at, 0), at >= 0


def lookup_present(ascending: Int64, wanted: Int64) -> tuple[Bool, Int64]:
    """(bool[wanted] which of `wanted` occur in `ascending`, int64[] where those do)."""
    at, here = lookup(ascending, wanted)
    return here, at[here]


def find_starts(sizes: NDArray[np.integer] | Sequence[int]) -> Int64:
    """int64[n + 1]: where each of n runs of these sizes begins, one after the other; last, where the last one ends."""
    starts = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, dtype=np.int64, out=starts[1:])
    return starts


def sum_rows(amounts: Int64, start: Int64) -> Int64:
    """int64[rows]: the sum of each row's amounts in a sparse table whose rows begin at `start`."""
    running = find_starts(amounts)
    return np.asarray(running[start[1:]] - running[start[:-1]], dtype=np.int64)


def find_owners(starts: Int64) -> Int64:
    """int64[entries]: the run that each entry is in; starts: as of `find_starts`."""
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))


def strong_components(tail: Int64, head: Int64, nodes: int) -> Int64:
    """int64[nodes]: the strong component of each node."""
    from scipy.sparse import coo_array  # few releases need it, so none waits for the import before it does
    from scipy.sparse.csgraph import connected_components

    arcs = coo_array((np.ones(len(tail), dtype=np.int8), (tail, head)), shape=(nodes, nodes))
    return connected_components(arcs.tocsr(), directed=True, connection="strong")[1].astype(np.int64)


def connected_components(tail: Int64, head: Int64, nodes: int) -> Int64:
    """int64[nodes]: the connected component of each node, whatever the direction of edges; numbered by their lowest."""
    return _components(tail, head, 0, nodes)


def bipartite_components(left: Int64, right: Int64, lefts: int, rights: int) -> tuple[Int64, Int64]:
    """(int64[lefts], int64[rights]): the connected component of each node of a bipartite graph."""
    label = _components(left, right, lefts, rights)
    return label[:lefts], label[lefts:]


@njit(cache=True)
def _components(left: Int64, right: Int64, lefts: int, rights: int) -> Int64:
    """Each node points to a lower one of its component, the lowest to itself; they are numbered by the lowest."""
    up = np.arange(lefts + rights)
    for edge in range(len(left)):
        one, other = left[edge], right[edge] + lefts
        while up[one] != one:
            up[one] = up[up[one]]
            one = up[one]
        while up[other] != other:
            up[other] = up[up[other]]
            other = up[other]
        up[max(one, other)] = min(one, other)
    count = 0
    for node in range(lefts + rights):
        if up[node] == node:
            up[node] = count
            count += 1
        else:
            up[node] = up[up[node]]  # what it points to is lower, so it has its number already
    return up


def permute_ids(numbers: Int64, count: int, seed: int) -> Int64:
    """The numbers 0..count-1 renamed by a secret permutation of them, each by itself: no table of all is needed.

    Six rounds of a Feistel network on the smallest even number of bits; what falls outside is sent round again.
    """
    half = np.uint64((max(1, int(count - 1).bit_length()) + 1) // 2)
    mask = np.uint64((1 << int(half)) - 1)
    keys = np.random.SeedSequence([seed, 3]).generate_state(6, np.uint64)
    found = numbers.astype(np.uint64)
    outside = np.ones(len(found), dtype=np.bool_)
    while outside.any():
        left, right = found[outside] >> half, found[outside] & mask
        for key in keys:
            left, right = right, left ^ (mix_bits(right ^ key) & mask)
        found[outside] = (left << half) | right
        outside = found >= count
    return found.astype(np.int64)


def hash_numbers(numbers: UInt64, seed: int) -> UInt64:
    """Numbers that look random, one for each: a hash keyed by the seed."""
    key = np.random.SeedSequence([seed, 4]).generate_state(1, np.uint64)[0]
    found = np.empty(len(numbers), dtype=np.uint64)
    block = 1 << 15  # a block at a time: numbers in the cache are hashed twice as fast
    for start in range(0, len(numbers), block):
        found[start : start + block] = mix_bits(mix_bits(numbers[start : start + block].astype(np.uint64)) ^ key)
    return found


def mix_bits(x: UInt64) -> UInt64:
    """The finalizer of SplitMix64: every bit of the input changes about half of the output's."""
    with np.errstate(over="ignore"):
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))


def sum_hashes(numbers: UInt64, seed: int) -> int:
    """The sum, modulo 2**64, of `hash_numbers`."""
    return int(hash_numbers(numbers, seed).sum(dtype=np.uint64))


_ROOM = np.int64(2) ** 62


def distinct(columns: Sequence[Int32]) -> tuple[Int64, Int32]:
    """(one row of each distinct combination, int32[rows] the combination of each row). O(rows + found log found).

    Combinations are ascending by the first column, then by the second, and so on: in an order that does not depend on
    the order of the rows.
    """
    return rank_keys(_pack_keys(columns))


def rank_keys(keys: Int64) -> tuple[Int64, Int32]:
    """(a row of each different key, by ascending key; int32[rows] which of them each row has). As `distinct`."""
    if len(keys) < _WORTH_COMPILING:
        _, least, own = np.unique(keys, return_index=True, return_inverse=True)
        return least, own.astype(np.int32)
    home, first = _number(keys)
    order = np.argsort(keys[first])
    return first[order], _ranks(order)[home]


def are_among(rows: Int32, others: Int32) -> Bool:
    """bool[n]: which rows of int32[n, columns] are also in int32[m, columns]. O(n + m)."""
    if len(others) == 0:
        return np.zeros(len(rows), dtype=np.bool_)
    found, home = distinct([*np.concatenate([others, rows]).T])
    known = np.zeros(len(found), dtype=np.bool_)
    known[home[: len(others)]] = True
    return known[home[len(others) :]]


@dataclass(frozen=True, eq=False)
class Combinations:
    """Combinations of whole numbers, each once, and how often it occurs.

    columns: int32[n] each; ascending by the first column, then by the second, and so on
    counts:  int64[n] > 0
    """

    columns: tuple[Int32, ...]
    counts: Int64

    def __len__(self) -> int:
        return len(self.counts)

    @staticmethod
    def of(columns: Sequence[Int32], counts: Int64 | None = None) -> Combinations:
        """Of rows, or of counts in which a combination may come twice. O(n + found log found)."""
        first, home = distinct(columns)
        total = np.bincount(home, counts, minlength=len(first)).astype(np.int64)
        return Combinations(tuple(column[first] for column in columns), total)

    @staticmethod
    def sum(parts: Sequence[Combinations]) -> Combinations:
        """The sum."""
        columns = [np.concatenate(column) for column in zip(*(part.columns for part in parts), strict=True)]
        return Combinations.of(columns, np.concatenate([part.counts for part in parts]))


def _pack_keys(columns: Sequence[Int32]) -> Int64:
    """int64[rows]: one key per row; keys are equal, and ascend, as the combinations do.

    Columns that have no room in one number together are renumbered on the way.
    """
    ends = [_ends(column) for column in columns]
    key: Int64 = np.zeros(len(columns[0]), dtype=np.int64)
    room, done = 1, 0
    for at, (low, high) in enumerate(ends):
        if room * (high - low + 1) > _ROOM:
            _append(key, columns[done:at], np.array(ends[done:at], dtype=np.int64))
            home, first = _number(key)
            key = _ranks(np.argsort(key[first]))[home].astype(np.int64)
            room, done = len(first), at
        room *= high - low + 1
    _append(key, columns[done:], np.array(ends[done:], dtype=np.int64))
    return key


def _ranks(order: Int64) -> Int32:
    """int32[n]: where each one comes in the order."""
    ranks = np.empty(len(order), dtype=np.int32)
    ranks[order] = np.arange(len(order), dtype=np.int32)
    return ranks


def _append(key: Int64, columns: Sequence[Int32], ends: Int64) -> None:
    """Append the digits of some columns to the keys, a block of rows at a time so that the keys stay in the cache."""
    block = 1 << 14
    for start in range(0, len(key), block):
        for column, (low, high) in zip(columns, ends.tolist(), strict=True):
            _append_digits(key[start : start + block], column[start : start + block], high - low + 1, low)


@njit(cache=True)
def _append_digits(key: Int64, column: Int32, span: int, low: int) -> None:
    for row in range(len(key)):
        key[row] = key[row] * span + (column[row] - low)


@njit(cache=True)
def _ends(column: Int32) -> tuple[int, int]:
    """The lowest and highest entry; (0, 0) of nothing."""
    if len(column) == 0:
        return 0, 0
    low, high = column[0], column[0]
    for row in range(len(column)):
        low, high = min(low, column[row]), max(high, column[row])
    return int(low), int(high)


@njit(cache=True)
def find_used(column: Int32) -> Int32:
    """The different entries of a column, ascending. O(rows + the span from the lowest to the highest)."""
    low, high = _ends(column)
    used = np.zeros(high - low + 1 if len(column) else 0, dtype=np.bool_)
    for row in range(len(column)):
        used[column[row] - low] = True
    found, count = np.empty(len(used), dtype=np.int32), 0
    for code in range(len(used)):
        if used[code]:
            found[count] = low + code
            count += 1
    return found[:count]


@njit(cache=True)
def _number(key: Int64) -> tuple[Int32, Int64]:
    """Number the distinct keys in order of appearance: (number of each row, first row of each number). O(rows)."""
    home = np.empty(len(key), dtype=np.int32)
    first = np.empty(1024, dtype=np.int64)
    slots = np.full(4096, -1, dtype=np.int32)
    mask, found = np.int64(4095), 0
    for row in range(len(key)):
        at = (key[row] * np.int64(-7046029254386353131) >> np.int64(20)) & mask
        while slots[at] >= 0 and key[first[slots[at]]] != key[row]:
            at = (at + 1) & mask
        if slots[at] < 0:
            if found == len(first):
                first = np.concatenate((first, np.empty(found, dtype=np.int64)))
            first[found] = row
            slots[at] = found
            found += 1
            home[row] = found - 1
            if 2 * found > mask:
                mask = 2 * mask + 1
                slots = np.full(mask + 1, -1, dtype=np.int32)
                for n in range(found):
                    to = (key[first[n]] * np.int64(-7046029254386353131) >> np.int64(20)) & mask
                    while slots[to] >= 0:
                        to = (to + 1) & mask
                    slots[to] = n
        else:
            home[row] = slots[at]
    return home, first[:found]
