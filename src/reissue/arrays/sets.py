"""Sets of numbers: as ascending arrays, looking numbers up in them, what hangs together in a graph, keyed hashes.

By sorting: NumPy's own `unique` of plain numbers, and `union1d`, `intersect1d` and `setdiff1d` built on it, hash them,
which takes fifty times as long for a million numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from reissue.arrays.compiled import njit
from reissue.arrays.types import NO_NUMBERS, Bool, Int64

IntT = TypeVar("IntT", np.int32, np.int64)

_ROOMY = 8
"""A table of places may have so many times as many entries as there are numbers."""
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
