"""Dealing the tokens of classes so that counts over the quasi-identifiers follow the shares of the classes.

A deal is a function of the classes, their tokens as multisets, quasi-identifiers and the seed, never of who has which
value. A class, its people in an order in which neighbours are alike, is halved until single people are left. Its tokens
are halved alike, every other one by value, and which half of the people gets which half of the tokens is decided so
that counts by pairs of attributes, over all classes, stay close to what they would be on average. Where people are odd
in number, the first or the last of them gets one token before, decided alike between two random ones.

Decisions are made in rounds, over all classes. Each is between two outcomes that are each other's mirror image, seen
from their average; what it is between was settled in earlier rounds; and what is summed up begins with nothing in every
round. So all decisions of a round could as well be the other way round: whatever happened before, each of them is by
itself a fair coin. Hence everybody gets each token of the class with the same probability.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from reissue.arrays.compiled import njit
from reissue.arrays.types import Int32, Int64

BINS, TABLES, MOST_VALUES = 8, 6, 10_000
"""Groups of an attribute, pairs of attributes at most, and values above which nothing is weighed."""
WEIGHED, WEIGHED_OF_MANY, MANY = 64, 8, 250_000
"""Rows of a part above which a coin decides at once; the same of many people, over whom chance cancels by itself."""


def deal_tokens(standing: Int32, codes: Int32, values: Int32, value_count: int, rng: np.random.Generator) -> Int32:
    """int32[people]: a token of its class for everybody, every token once. O(people * log of the largest class).

    standing: int32[people] classes 0, 1, ...; codes: int32[people, attributes]; values: int32[people], of which only
    the multiset of each class is used.
    """
    if len(standing) == 0:
        return np.empty(0, dtype=np.int32)
    groups = _group_codes(codes)
    people = _line_up(standing, _interleave(groups), rng)
    tokens = (np.sort(standing.astype(np.int64) * value_count + values) % value_count).astype(np.int32)
    sizes = np.bincount(standing)
    ends = np.concatenate([[0], np.cumsum(sizes[sizes > 0])]).astype(np.int64)
    weighed = WEIGHED if len(standing) < MANY else WEIGHED_OF_MANY
    if value_count > MOST_VALUES:
        value_count, weighed = 0, 0
    cells = _find_cells(groups[people], _choose_pairs(codes.shape[1], rng), value_count)
    sums = np.zeros(TABLES * BINS * BINS * value_count, dtype=np.float32)
    state = rng.integers(0, 2**63, 1).astype(np.uint64)
    dealt = np.empty(len(standing), dtype=np.int32)
    dealt[people] = _deal(tokens, ends, cells, sums, weighed, state)
    return dealt


def _group_codes(codes: Int32) -> NDArray[np.uint8]:
    """uint8[people, attributes]: up to `BINS` groups of about as many people each, by the order of codes."""
    groups = np.empty(codes.shape, dtype=np.uint8)
    for a in range(codes.shape[1]):
        low, high = int(codes[:, a].min()), int(codes[:, a].max())
        if high - low <= 8 * len(codes) + BINS:
            place = codes[:, a] - low
        else:  # a missing number's code is far away
            place = np.unique(codes[:, a], return_inverse=True)[1].reshape(-1).astype(np.int32)
        counts = np.bincount(place)
        before = np.cumsum(counts) - counts
        groups[:, a] = (before * BINS // len(codes)).astype(np.uint8)[place]
    return groups


def _interleave(groups: NDArray[np.uint8]) -> Int32:
    """int32[people] below 2**24: places along a curve on which neighbours are alike, by the first eight attributes."""
    place = np.zeros(len(groups), dtype=np.int32)
    for bit in (2, 1, 0):
        for a in range(min(groups.shape[1], 8)):
            place = (place << 1) | ((groups[:, a] >> bit) & 1)
    return place


def _line_up(standing: Int32, place: Int32, rng: np.random.Generator) -> Int64:
    """int64[people]: everybody, by class and then by place; who is at the same place in random order.

    Not in the order of the rows: it may have been that of their values.
    """
    mixed = rng.permutation(len(standing))
    bits = len(mixed).bit_length()
    kept = min(24, 63 - bits - int(standing.max()).bit_length())
    key = (standing.astype(np.int64) << kept | place >> (24 - kept))[mixed]
    key = np.sort(key << bits | np.arange(len(mixed)))  # quicker than an order by class and place
    people: Int64 = mixed[key & ((1 << bits) - 1)]
    return people


def _choose_pairs(attributes: int, rng: np.random.Generator) -> Int64:
    """int64[tables, 2]: up to `TABLES` pairs of attributes."""
    pairs = list(combinations(range(attributes), 2)) or [(0, 0)] * attributes
    return rng.permutation(np.array(pairs, dtype=np.int64).reshape(-1, 2))[:TABLES]


@njit(cache=True)
def _find_cells(groups: NDArray[np.uint8], pairs: Int64, value_count: int) -> Int32:  # pragma: no cover - compiled
    """int32[people, tables]: where the sums of everybody's cells begin."""
    cells = np.empty((len(groups), len(pairs)), dtype=np.int32)
    for row in range(len(groups)):
        for table in range(len(pairs)):
            one, other = groups[row, pairs[table, 0]], groups[row, pairs[table, 1]]
            cells[row, table] = ((table * BINS + one) * BINS + other) * value_count
    return cells


@njit(cache=True)
def _deal(
    tokens: Int32, ends: Int64, cells: Int32, sums: NDArray[np.float32], weighed: int, state: NDArray[np.uint64]
) -> Int32:  # pragma: no cover - compiled
    """The tokens rearranged inside classes: that at a place is dealt to the person there. All classes round by round.

    tokens: int32[people] ascending inside a class; ends: int64[classes + 1] where classes begin; cells: int32[people,
    tables] where the sums of a cell begin; sums: float32[cells * values] what counts are off by; weighed: rows of a
    part above which a coin decides.
    """
    count = len(ends) - 1
    starts, stops = np.empty(len(tokens), dtype=np.int64), np.empty(len(tokens), dtype=np.int64)
    starts[:count], stops[:count] = ends[:-1], ends[1:]
    next_starts, next_stops = np.empty(len(tokens), dtype=np.int64), np.empty(len(tokens), dtype=np.int64)
    spare = np.empty((2, len(tokens) + 1), dtype=np.int32)
    while count:
        sums[:] = 0
        for part in range(count):
            if (stops[part] - starts[part]) % 2:
                starts[part], stops[part] = _deal_one(tokens, starts[part], stops[part], cells, sums, weighed, state)
        sums[:] = 0
        found = 0
        for part in range(count):
            start, stop = starts[part], stops[part]
            middle = (start + stop) // 2
            if stop > start:
                _halve(tokens, start, stop, cells, sums, weighed, spare, state)
            if middle - start > 1:
                next_starts[found], next_stops[found] = start, middle
                next_starts[found + 1], next_stops[found + 1] = middle, stop
                found += 2
        starts, next_starts = next_starts, starts
        stops, next_stops = next_stops, stops
        count = found
    return tokens


@njit(cache=True)
def _weigh(
    start: int, stop: int, one: int, other: int, cells: Int32, sums: NDArray[np.float32]
) -> float:  # pragma: no cover - compiled
    """By how much more the first value than the other one is too frequent where these people are."""
    found = 0.0
    for row in range(start, stop):
        here = np.float32(0)
        for table in range(cells.shape[1]):
            here += sums[cells[row, table] + one] - sums[cells[row, table] + other]
        found += float(here)
    return found


@njit(cache=True)
def _add(
    start: int, stop: int, one: int, other: int, by: float, cells: Int32, sums: NDArray[np.float32]
) -> None:  # pragma: no cover - compiled
    """Count that the people are likelier to have the first value, and less likely to have the other one."""
    for row in range(start, stop):
        for table in range(cells.shape[1]):
            sums[cells[row, table] + one] += by
            sums[cells[row, table] + other] -= by


@njit(cache=True)
def _draw(state: NDArray[np.uint64], below: int) -> int:  # pragma: no cover - compiled
    """A random number from 0 to below - 1 (SplitMix64)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    mixed = state[0]
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return int((mixed >> np.uint64(33)) % np.uint64(below))


@njit(cache=True)
def _choose(found: float, state: NDArray[np.uint64]) -> bool:  # pragma: no cover - compiled
    """Whether to decide for what is too rare; a coin where nothing is."""
    return found < 0 or (found == 0 and _draw(state, 2) == 0)


@njit(cache=True)
def _deal_one(
    tokens: Int32,
    start: int,
    stop: int,
    cells: Int32,
    sums: NDArray[np.float32],
    weighed: int,
    state: NDArray[np.uint64],
) -> tuple[int, int]:  # pragma: no cover - compiled
    """Deal one of two random tokens to the first or the last person; the part of the others."""
    size = stop - start
    last = _draw(state, 2) == 1
    chosen = start + _draw(state, size)
    if size > 1:
        rival = start + (chosen - start + 1 + _draw(state, size - 1)) % size
        one, other = tokens[chosen], tokens[rival]
        if one != other and size <= weighed:
            who = stop - 1 if last else start
            begin, end = (start, stop - 1) if last else (start + 1, stop)
            off = _weigh(who, who + 1, one, other, cells, sums)
            off -= _weigh(begin, end, one, other, cells, sums) / (size - 1)
            sign = 0.5 if _choose(off, state) else -0.5
            _add(who, who + 1, one, other, sign, cells, sums)
            _add(begin, end, one, other, -sign / (size - 1), cells, sums)
            chosen = chosen if sign > 0 else rival
    token = tokens[chosen]
    if last:
        for place in range(chosen, stop - 1):
            tokens[place] = tokens[place + 1]
        tokens[stop - 1] = token
        return start, stop - 1
    for place in range(chosen, start, -1):
        tokens[place] = tokens[place - 1]
    tokens[start] = token
    return start + 1, stop


@njit(cache=True)
def _halve(
    tokens: Int32,
    start: int,
    stop: int,
    cells: Int32,
    sums: NDArray[np.float32],
    weighed: int,
    spare: Int32,
    state: NDArray[np.uint64],
) -> None:  # pragma: no cover - compiled
    """Every other token to the first half of the people, the rest to the second half, or the other way round."""
    half = (stop - start) // 2
    middle, off, chains = start + half, 0.0, 0
    one, other = spare[0], spare[1]
    if stop - start <= weighed:
        chains = _compare_halves(tokens, start, stop, one, other)
    for i in range(chains):
        off += _weigh(start, middle, one[i], other[i], cells, sums)
        off -= _weigh(middle, stop, one[i], other[i], cells, sums)
    first = _choose(off, state)
    by = (0.5 if first else -0.5) / half
    for i in range(chains):
        _add(start, middle, one[i], other[i], by, cells, sums)
        _add(middle, stop, one[i], other[i], -by, cells, sums)
    for i in range(half):
        even, odd = tokens[start + 2 * i], tokens[start + 2 * i + 1]
        spare[0, i], spare[1, i] = (even, odd) if first else (odd, even)
    for i in range(half):
        tokens[start + i], tokens[middle + i] = spare[0, i], spare[1, i]


@njit(cache=True)
def _compare_halves(
    tokens: Int32, start: int, stop: int, one: Int32, other: Int32
) -> int:  # pragma: no cover - compiled
    """Where the even tokens differ from the odd ones: the i-th of n times they have `one` more and `other` less."""
    found = 0
    for place in range(start, stop, 2):
        if tokens[place] == tokens[place + 1]:
            continue
        if found and other[found - 1] == tokens[place]:
            other[found - 1] = tokens[place + 1]
        else:
            one[found], other[found] = tokens[place], tokens[place + 1]
            found += 1
    return found
