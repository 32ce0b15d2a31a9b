"""What a counterfeit row says: drawn from people near it so that nothing in it gives it away.

A copy of somebody's row shows as a pair of equal rows; a mixture of many rows shows where columns belong together (a
place and its region). So a counterfeit imitates a person in how rare things are: its row, each pair of its columns and
each of its values occur elsewhere just if, and about as often as, the person's do.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from reissue.arrays.sets import distinct
from reissue.arrays.types import Bool, Float64, Int32, Int64
from reissue.model.boxes import find_neighbours
from reissue.model.lenders import join_overlapping

WIDE = 8
"""How many places along the curve away people are imitated: enough of them to choose from."""
_CLOSE = 5
"""The same for exact codes, each of another person: mixed from farther ones they widen the box of their class."""
_ASIDE = 30
"""An ordered code is taken from up to one in so many of the different codes away."""
_ATTEMPTS, _CHOICE, _ODD = 24, 16, 0.02
"""Who is as near (the last) a person, in squared doublings of all pairs of columns, is not drawn again."""
_EXCHANGES, _ALIKE = 160, 0.01
"""How often lent columns are exchanged at most; who is as near a person, in squared doublings a set, stays."""
_ALONE, _MORE, _PLAIN = 0.3, 1.3, 0.2
"""What it costs to repeat where the person does not; how much dearer than its doublings squared it is to be more
frequent, since copying makes frequent; the weight of a pair that is as frequent as chance has it. Squares keep one pair
that belongs together from being given up for many that occur together by chance. `make counterfeits` decides."""
_BROKEN = 1_000.0
"""What it costs if bound columns say together what nobody says: more than all else."""
_MOST_ROWS, _MOST_KNOWN, _MOST_LENDERS = 20_000, 2_000_000, 200_000
"""Rows, drawn at random from larger tables, by which exact and lent columns are judged; people, drawn at random from
more, among whom those are looked for who agree in a single column."""


def draw_columns(
    codes: Int32, order: Int64, places: Int64, rng: np.random.Generator, ordered: Sequence[int] = ()
) -> Int64:
    """int64[n, columns]: the row from which each counterfeit has each column.

    codes: int32[rows, columns], equal where the table says the same; order: int64[people] the rows to draw from, such
    that neighbours are alike; places: int64[n] where in the order each counterfeit stands. The best of some attempts is
    taken: a value of its own cannot be imitated, so a column of such values must not be published beside counterfeits.
    O((rows + n) columns^2).
    """
    columns = codes.shape[1]
    person = order[find_neighbours(places, len(order), WIDE, rng)]
    there, home = np.sort(hash_rows(codes)), distinct([np.ascontiguousarray(column) for column in codes.T])[1]
    found = np.repeat(_draw_alike(home, order, places, person, rng)[:, None], columns, axis=1)
    oddness = np.where(np.bincount(home)[home[person]] > 1, 0.0, np.inf)
    pairs, likely = _Pairs(codes, person, rng), [_undo_copying(_count_equal(codes[:, a])) for a in range(columns)]
    for attempt in range(2 * _ATTEMPTS):  # later only those for whom nothing new was found, farther and farther away
        left = np.flatnonzero(oddness > _ODD if attempt < _ATTEMPTS else np.isinf(oddness))
        if len(left) == 0:
            continue
        reach = _CLOSE << max(0, attempt // 6 - 3)
        drawn = np.stack([_draw_one(one, order, places[left], reach, rng) for one in likely], axis=1)
        for a in ordered:
            drawn[:, a] = _step_aside(codes[:, a], order, drawn[:, a], rng)
        said = _pick(codes, drawn)
        taken = np.union1d(there, hash_rows(_pick(codes, found)))
        odd = np.where(_are_new(taken, hash_rows(said)), pairs.measure_unlike(said, left), np.inf)
        better = odd < oddness[left]
        found[left[better]], oddness[left[better]] = drawn[better], odd[better]
    return found


def _draw_alike(home: Int32, order: Int64, places: Int64, person: Int64, rng: np.random.Generator) -> Int64:
    """int64[n]: of each counterfeit whose person says what others say, a row near it that one fewer say: with it there
    are as many as with the person. Of the others the person. home: int32[rows], what each row says."""
    found, many = person.copy(), np.bincount(home)
    wanted = many[home[person]] - 1
    for one in np.unique(wanted[wanted > 0]):
        here, left = np.flatnonzero(many[home[order]] == one), np.flatnonzero(wanted == one)
        free, near = many == one, np.searchsorted(here, places[left])
        for attempt in range(_ATTEMPTS if len(here) else 0):
            reach = _CLOSE << attempt // 6
            tried = order[here[(near + rng.integers(-reach, reach, len(left))) % len(here)]]
            first = np.unique(home[tried], return_index=True)[1]
            first = first[free[home[tried[first]]]]
            found[left[first]], free[home[tried[first]]] = tried[first], False
            left, near = np.delete(left, first), np.delete(near, first)
    return found


def lend_columns(
    own: Int32,
    lent: Int32,
    order: Int64,
    places: Int64,
    said: Int32,
    rng: np.random.Generator,
    bound: Sequence[tuple[int, ...]] = (),
) -> Int64:
    """int64[n, columns]: the row from which each counterfeit has each lent column.

    own: int32[rows, f] what rows say themselves, their value last; lent: int32[rows, columns], as in `draw_columns`;
    order: int64[people] the rows to draw from, such that neighbours are alike; places: int64[n] where in the order each
    counterfeit stands; said: int32[n, f] what it says itself; bound: sets of columns, lent ones after the f others, in
    each of which one follows from the rest.

    A counterfeit begins with all columns of somebody near it who has its value. Columns, alone or several together, are
    then exchanged for those of others who are near it or agree with it in something, where that brings it closer to the
    same person in how often its columns occur together. What bound columns say together somebody says, if anybody near
    can lend it. O(rows (f + columns) columns log rows).
    """
    if len(places) == 0:
        return np.empty((0, lent.shape[1]), dtype=np.int64)
    near, count = _Ranked(own, order, places, said), lent.shape[1]
    person, alone = near.draw(own.shape[1], WIDE, rng), np.any([_count_equal(column) == 1 for column in lent.T], axis=0)
    for _ in range(_ATTEMPTS):  # whose value is a single one cannot be imitated
        person = np.where(alone[person], near.draw(own.shape[1], WIDE, rng), person)
    found, sets = np.repeat(person[:, None], count, axis=1), _Together(own, lent, person, rng, bound)
    lenders = _Lenders(bound, np.concatenate([own, lent], axis=1), order, own.shape[1], rng)
    apart = sets.compare(np.concatenate([said, lent[person]], axis=1), np.arange(len(places)), np.arange(len(sets)))
    for _ in range(_EXCHANGES):
        left = np.flatnonzero(apart.sum(axis=1) > _ALIKE * len(sets))
        if len(left) == 0:
            break
        lender = near.draw(int(rng.integers(len(near))), WIDE << int(rng.integers(4)), rng)[left]
        columns, lender = lenders.draw(np.concatenate([said[left], _pick(lent, found[left])], axis=1), lender, rng)
        tried, touched = found[left], sets.list_with(columns)
        tried[:, columns] = lender[:, None]
        now = sets.compare(np.concatenate([said[left], _pick(lent, tried)], axis=1), left, touched)
        better = now.sum(axis=1) < apart[np.ix_(left, touched)].sum(axis=1)
        found[left[better]], apart[np.ix_(left[better], touched)] = tried[better], now[better]
    return found


def _count_in(there: NDArray[np.integer], wanted: NDArray[np.integer]) -> Int64:
    """int64[n]: how often each is there (ascending)."""
    return np.asarray(np.searchsorted(there, wanted, "right") - np.searchsorted(there, wanted), dtype=np.int64)


def _count_equal(column: Int32) -> Int64:
    """int64[rows]: how many rows say the same in this column."""
    first, home = distinct([np.ascontiguousarray(column)])
    return np.bincount(home, minlength=len(first))[home]


def _undo_copying(many: Int64) -> Float64:
    """float64[rows]: how much likelier newcomers are to have each row's value than to be drawn if rows are copied.

    many: int64[rows], how many have the value. Copying prefers what is frequent by chance, and makes it more frequent.
    What newcomers have is told by the mean and variance of the counts: as far as these vary more than chance lets them.
    """
    values = float((1 / many).sum())
    mean = len(many) / values
    spread = float(many.sum()) / values - mean * mean
    shrink = max(0.0, 1 - mean / spread) if spread > 0 else 0.0
    return np.asarray((mean + shrink * (many - mean)) / many, dtype=np.float64)


def _draw_one(likely: Float64, order: Int64, places: Int64, reach: int, rng: np.random.Generator) -> Int64:
    """int64[n]: a row near each place, drawn with these weights (float64[rows]) among some."""
    drawn = np.stack([order[find_neighbours(places, len(order), reach, rng)] for _ in range(_CHOICE)])
    upto = np.cumsum(likely[drawn], axis=0)
    chosen = (upto < rng.random(len(places)) * upto[-1]).sum(axis=0)
    return np.asarray(drawn[np.minimum(chosen, _CHOICE - 1), np.arange(len(places))], dtype=np.int64)


def _step_aside(column: Int32, people: Int64, drawn: Int64, rng: np.random.Generator) -> Int64:
    """int64[n]: people with a code that is a few codes away: who copies neighbours stands only where many stand."""
    order = people[np.argsort(column[people], kind="stable")]
    first = np.flatnonzero(np.diff(column[order], prepend=column[order[0]] - 1))
    reach = len(first) // _ASIDE
    rank = np.searchsorted(column[order[first]], column[drawn]) + rng.integers(-reach, reach + 1, len(drawn))
    return np.asarray(order[first[np.clip(rank, 0, len(first) - 1)]], dtype=np.int64)


def _pick(codes: Int32, drawn: Int64) -> Int32:
    """int32[n, columns]: what counterfeits say that have their columns from these rows."""
    return np.asarray(codes[drawn, np.arange(codes.shape[1])[None, :]], dtype=np.int32)


def hash_rows(codes: Int32) -> NDArray[np.uint64]:
    """uint64[rows]: equal rows have equal numbers, others very likely not."""
    mixed = np.zeros(len(codes), dtype=np.uint64)
    for a in range(codes.shape[1]):
        mixed = (mixed ^ codes[:, a].astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return mixed


def _are_new(there: NDArray[np.uint64], said: NDArray[np.uint64]) -> Bool:
    """bool[n]: rows that are neither in the table (ascending) nor among themselves before."""
    fresh = np.zeros(len(said), dtype=np.bool_)
    fresh[np.unique(said, return_index=True)[1]] = True
    at = np.minimum(np.searchsorted(there, said), len(there) - 1)
    return np.asarray(fresh & (there[at] != said), dtype=np.bool_)


class _Pairs:
    """How many say the same in two columns; person: int64[n] whom each counterfeit imitates."""

    def __init__(self, codes: Int32, person: Int64, rng: np.random.Generator) -> None:
        some = codes if len(codes) <= _MOST_ROWS else codes[rng.choice(len(codes), _MOST_ROWS, replace=False)]
        self._there = {
            pair: np.sort(hash_rows(np.asfortranarray(some[:, pair])))
            for pair in combinations(range(codes.shape[1]), 2)
        }
        own = codes[person]
        self._wanted = {pair: np.maximum(self._count(pair, own) - 1, 0) for pair in self._there}

    def _count(self, pair: tuple[int, int], said: Int32) -> Int64:
        return _count_in(self._there[pair], hash_rows(said[:, pair]))

    def measure_unlike(self, said: Int32, which: Int64) -> Float64:
        """float64[some]: how far each counterfeit is from its person in how many others say the same, in doublings,
        squared and added over pairs."""
        unlike = np.zeros(len(said))
        for pair, wanted in self._wanted.items():
            more = np.log2(1 + self._count(pair, said)) - np.log2(1 + wanted[which])
            unlike += more * more * np.where(more > 0, _MORE, 1.0)
        return unlike


class _Ranked:
    """The people from whom counterfeits get columns, by what they agree in: each own column, or none of them."""

    def __init__(self, own: Int32, order: Int64, places: Int64, said: Int32) -> None:
        self._orders, self._places = [order], [places]
        rank = np.arange(len(order))
        for a in range(own.shape[1]):
            keys = own[order, a].astype(np.int64) * len(order) + rank
            sort = np.argsort(keys, kind="stable")
            self._orders.append(order[sort])
            self._places.append(np.searchsorted(keys[sort], said[:, a].astype(np.int64) * len(order) + places))

    def __len__(self) -> int:
        return len(self._orders)

    def draw(self, which: int, reach: int, rng: np.random.Generator) -> Int64:
        """int64[n]: somebody near each counterfeit; which: 0, or 1 + the column in which they agree."""
        order, places = self._orders[which], self._places[which]
        return np.asarray(order[(places + rng.integers(-reach, reach, len(places))) % len(order)], dtype=np.int64)


class _Lenders:
    """Which columns are exchanged together, and by whom they are lent: somebody near, or somebody who agrees in others.

    bound: sets of columns; people: int32[rows, columns], width of them their own; rows: int64[n] who may lend
    """

    def __init__(
        self, bound: Sequence[tuple[int, ...]], people: Int32, rows: Int64, width: int, rng: np.random.Generator
    ) -> None:
        self._people, self._width, self._rows = people, width, rows
        self._some = rows if len(rows) <= _MOST_LENDERS else rng.choice(rows, _MOST_LENDERS, replace=False)
        moves = set()
        for one in map(frozenset, (*bound, *join_overlapping(bound, width))):
            own = frozenset(column for column in one if column < width)
            for kept in (own, *(own | {column} for column in one - own)):
                moves.add((tuple(sorted(one - kept)), tuple(sorted(kept))))
        self._moves = sorted(move for move in moves if move[0])
        self._sorted: dict[tuple[int, ...], tuple[NDArray[np.uint64], Int64]] = {}

    def draw(self, said: Int32, near: Int64, rng: np.random.Generator) -> tuple[Int64, Int64]:
        """(int64[] lent columns; int64[n] from whom each counterfeit may have them: near, where nobody agrees)."""
        if self._moves and rng.random() < 0.5:
            exchanged, kept = self._moves[int(rng.integers(len(self._moves)))]
            return np.array(exchanged, dtype=np.int64) - self._width, self._find(kept, said, near, rng)
        count = said.shape[1] - self._width
        many = min(int(rng.integers(1, 3 if rng.random() < 0.8 else count + 1)), count)
        columns = rng.choice(count, many, replace=False)
        if rng.random() < 0.5:
            return columns, near
        others = np.setdiff1d(np.arange(said.shape[1]), columns + self._width)
        return columns, self._find((int(rng.choice(others)),), said, near, rng)

    def _find(self, kept: tuple[int, ...], said: Int32, near: Int64, rng: np.random.Generator) -> Int64:
        """int64[n]: somebody who says the same in these columns."""
        if not kept:
            return near
        if kept not in self._sorted:
            rows = self._some if len(kept) == 1 else self._rows
            hashed = hash_rows(self._people[rows][:, kept])
            sort = np.argsort(hashed, kind="stable")
            self._sorted[kept] = hashed[sort], rows[sort]
        there, rows = self._sorted[kept]
        wanted = hash_rows(said[:, kept])
        first, end = np.searchsorted(there, wanted), np.searchsorted(there, wanted, "right")
        drawn = rows[np.minimum(rng.integers(first, np.maximum(end, first + 1)), len(rows) - 1)]
        return np.where(first < end, drawn, near)


class _Together:
    """How often columns occur together: single ones, pairs of which one is lent, all lent, whole rows, bound ones.

    A pair weighs the more, the less chance explains how often it has what the person says: there people differ.
    """

    def __init__(
        self, own: Int32, lent: Int32, person: Int64, rng: np.random.Generator, bound: Sequence[tuple[int, ...]]
    ) -> None:
        width, whole = own.shape[1], np.concatenate([own, lent], axis=1)
        few = len(whole) <= _MOST_KNOWN
        known = whole if few else whole[np.union1d(rng.choice(len(whole), _MOST_KNOWN, False), person)]
        columns = range(width, whole.shape[1])
        pairs = [(a, b) for b in columns for a in range(b)]
        self._sets = [*((b,) for b in columns), *pairs, tuple(columns), tuple(range(whole.shape[1])), *bound]
        self._bound = len(self._sets) - len(bound)
        self._width = width
        self._there = [np.sort(hash_rows(known[:, list(some)]).astype(np.uint32)) for some in self._sets]
        self._wanted = np.stack([self._count(one, whole[person]) - 1 for one in range(len(self))], axis=1)
        self._weights = np.ones(self._wanted.shape)
        self._single = [np.sort(column) for column in known.T]
        each = self._count_single(whole[person])
        self._pairs = {i: (pair, self._expect(pair, each)) for i, pair in enumerate(pairs, start=len(columns))}
        for one, (_, by_chance) in self._pairs.items():
            self._weights[:, one] = _PLAIN + (np.log2(1 + self._wanted[:, one]) - by_chance) ** 2

    def __len__(self) -> int:
        return len(self._sets)

    def list_with(self, lent: Int64) -> Int64:
        """int64[]: those that have one of these lent columns."""
        some = {self._width + int(column) for column in lent}
        return np.array([one for one, columns in enumerate(self._sets) if some & set(columns)], dtype=np.int64)

    def compare(self, said: Int32, which: Int64, sets: Int64) -> Float64:
        """float64[n, sets]: how far each counterfeit is from the person it imitates; said: int32[n, columns]."""
        apart, single = np.empty((len(which), len(sets))), self._count_single(said)
        for at, one in enumerate(sets):
            others, wanted = self._count(int(one), said), self._wanted[which, one]
            more = np.log2(1 + others) - np.log2(1 + wanted)
            apart[:, at] = more * more * np.where(more > 0, _MORE, 1.0)
            if one in self._pairs:  # half for how far that is from chance: its own columns are not the person's
                pair, by_chance = self._pairs[int(one)]
                apart[:, at] = (apart[:, at] + (more - self._expect(pair, single) + by_chance[which]) ** 2) / 2
            broken = _BROKEN * (others == 0) if one >= self._bound else 0.0
            apart[:, at] += _ALONE * ((others > 0) & (wanted == 0)) + broken
        return apart * self._weights[np.ix_(which, sets)]

    def _count_single(self, said: Int32) -> list[Int64]:
        return [_count_in(there, said[:, a]) for a, there in enumerate(self._single)]

    def _expect(self, pair: tuple[int, int], single: list[Int64]) -> Float64:
        """float64[n]: how many would say both by chance, in doublings."""
        return np.asarray(np.log2(1 + single[pair[0]] * single[pair[1]] / len(self._single[0])), dtype=np.float64)

    def _count(self, one: int, said: Int32) -> Int64:
        return _count_in(self._there[one], hash_rows(said[:, list(self._sets[one])]).astype(np.uint32))
