"""Who is shown to be equal by all classes together, in series of any shape and size: a number per person that tells.

Call z a *fractional world* if it gives everybody a number such that every class's numbers add up to those of the values
it shows, for some number v per value. Weights W of the classes show y = W S; they are an attack (their values cancel)
exactly if y is orthogonal to every fractional world. Fractional worlds are the true one, z = v[value], plus anything in
the null space of S. So a random one is a fingerprint: two people whose numbers agree in a few of them are equal in all
(e = 1), and two pairs whose sums agree are (e = 2), but for a chance that is nil. A sum whose random parts are all 0 is
told by the classes alone, whoever else there is; such sums are compared across parts that share nobody.

People with the same classes are one column of S, and every attack shows all of them alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.null_space import draw_null_vectors
from reissue.arrays.sets import connected_components, sorted_unique
from reissue.arrays.types import Bool, Float64, Int32, Int64
from reissue.methods.equivalence.person_matrix import ClassRows, Patterns, list_everyone
from reissue.model.observed import ObservedRelease

STEP = 1e-5
"""Differences are rounded to such steps before they are compared."""
SLICE = 1_000_000
"""Pairs of people that are held at a time."""
CLOSE = 1e-7
"""Fingerprints that differ by less agree: projections are found to about 1e-9, and others differ by about 1. There are
several random ones beside the true one, so that no two of 10^15 sums agree by chance."""
NOTHING = 1e-9
"""Numbers of a projection that are all smaller are rounding errors: classes alone then tell every value."""
MOST_CELLS = 5_000_000
"""People times releases of one part (of classes that share people) that are looked at."""
MOST_PAIRS = 50_000_000
"""Pairs of people of equal value in one part whose differences are compared for e = 2."""


@dataclass(frozen=True, eq=False)
class Fingerprints:
    """Columns (people with the same classes) and their numbers.

    people: int64[n] subjects by column; start: int64[columns + 1]; component: int64[columns] of the classes they share
    prints: float64[columns, worlds], each in shares of its spread; settled: whether all projections were found
    """

    people: Int64
    start: Int64
    component: Int64
    prints: Float64
    settled: bool

    @property
    def weight(self) -> Int64:
        return np.diff(self.start)

    def who(self, column: int) -> Int64:
        return self.people[self.start[column] : self.start[column + 1]]

    def find_side(self, columns: Side) -> Int64:
        """Everybody in the columns of one side."""
        return self.who(columns[0]) if len(columns) == 1 else np.concatenate([self.who(column) for column in columns])

    def shows_somebody(self, columns: Sequence[int]) -> bool:
        """Whether a real person is among them, not only counterfeits."""
        return any(self._real[column] for column in columns)

    @cached_property
    def _real(self) -> list[bool]:
        """[columns]: whether a real person is in it. Every column has somebody."""
        return list(np.logical_or.reduceat(self.people >= 0, self.start[:-1]).tolist()) if len(self.people) else []


def count_cells(releases: Sequence[ObservedRelease], rows: ClassRows, pieces: Int32) -> Int64:
    """int64[classes]: people times releases in the part of each class. pieces: as `connect_classes`."""
    cells = np.zeros(int(pieces.max(initial=-1)) + 1, dtype=np.int64)
    for position, release in enumerate(releases):
        own = pieces[rows.first[position] + list_everyone(release)[1]]
        cells += np.bincount(own, minlength=len(cells))
    return cells[pieces]


def take_fingerprints(
    releases: Sequence[ObservedRelease], rows: ClassRows, patterns: Patterns, keep: Bool | None = None
) -> Fingerprints:
    """Project random numbers on the null space of S. O(steps x people x releases), about a thousand steps.

    keep: bool[classes] those of whole parts that are looked at; patterns: of the people in them
    """
    order = np.argsort(patterns.pattern, kind="stable")
    ways, first = np.unique(patterns.pattern[order], return_index=True)
    column = np.searchsorted(ways, patterns.pattern)
    start = np.append(first, len(order)).astype(np.int64)
    kept = np.ones(len(rows.shows), dtype=np.bool_) if keep is None else keep
    truth, inside = _read_members(releases, patterns, rows, column, kept)
    label = connected_components(inside[0], inside[1] + len(rows.shows), len(rows.shows) + len(ways))
    known = np.stack(np.divmod(sorted_unique(inside[0] * len(ways) + inside[1]), len(ways)))
    strangers = np.flatnonzero(kept & (_count_strangers(releases, start, known) > 0))
    prints, settled = _project(known, len(ways), strangers)
    spread = np.abs(prints).max(axis=0, initial=0.0)
    spread = np.where(spread < NOTHING, 1.0, spread)
    generator = np.random.default_rng(7)
    number = generator.standard_normal(int(truth[1].max(initial=0)) + 1)
    real = np.bincount(truth[0], weights=number[truth[1]], minlength=len(ways))
    numbers = np.column_stack([prints / spread, real])
    return Fingerprints(patterns.subjects[order], start, label[len(rows.shows) :].astype(np.int64), numbers, settled)


def _read_members(
    releases: Sequence[ObservedRelease], patterns: Patterns, rows: ClassRows, column: Int64, keep: Bool
) -> tuple[tuple[Int64, Int64], Int64]:
    """((int64[people] column and value of everybody once), int64[2, n] class and column of everybody there)."""
    value = np.zeros(len(patterns.subjects), dtype=np.int64)
    where = []
    for position, release in enumerate(releases):
        for some in (release.counterfeits, release.members):
            if some is not None and len(some.subjects):
                there = keep[rows.first[position] + some.classes]
                value[np.searchsorted(patterns.subjects, some.subjects[there])] = some.values[there]
        who, classes = list_everyone(release)
        row = rows.first[position] + classes
        at = np.searchsorted(patterns.subjects, who[keep[row]])
        where.append(np.stack([row[keep[row]], column[at]]))
    return (column, value), np.concatenate(where, axis=1).astype(np.int64)


def _count_strangers(releases: Sequence[ObservedRelease], start: Int64, known: Int64) -> Int64:
    """int64[classes]: rows of nobody who can be followed."""
    sizes = np.concatenate([release.sizes for release in releases])
    return np.asarray(sizes - np.bincount(known[0], weights=np.diff(start)[known[1]], minlength=len(sizes)), np.int64)


def _project(inside: Int64, columns: int, strangers: Int64) -> tuple[Float64, bool]:
    """(float64[columns, VECTORS], whether they are found): random vectors of the null space of S.

    Rows of nobody are one more column for each class that has them: whoever weighs the class shows them.
    """
    people = np.append(inside[1], columns + np.arange(len(strangers)))
    numbers, settled = draw_null_vectors(np.append(inside[0], strangers), people, columns + len(strangers))
    return numbers[:columns], settled


def find_equal_people(found: Fingerprints) -> list[tuple[int, int]]:
    """Pairs of columns of one person each that are shown to be equal (e = 1), a chain for each group. O(n log n)."""
    single = np.flatnonzero(found.weight == 1)
    groups = _collide(found.prints[single])
    if not groups:
        return []
    group = np.repeat(np.arange(len(groups)), [len(own) for own in groups])
    column = single[np.concatenate(groups)]
    person = found.people[found.start[column]]
    order = np.lexsort((person, group))
    column, person, follows = column[order], person[order], np.diff(group[order]) == 0
    real = person >= 0
    chosen = np.flatnonzero(follows & (real[1:] | real[:-1]))
    chosen = chosen[np.lexsort((person[chosen + 1], person[chosen]))]
    return list(zip(column[chosen].tolist(), column[chosen + 1].tolist(), strict=True))


def _collide(prints: Float64) -> list[Int64]:
    """Groups (int64[] positions, two or more) whose prints all agree. O(n log n)."""
    group, order = np.zeros(len(prints), dtype=np.int64), np.arange(len(prints))
    for numbers in prints.T:  # groups are parted at the gaps of one number after the other
        order = np.lexsort((numbers, group))
        parted = (np.diff(numbers[order]) > CLOSE) | (np.diff(group[order]) != 0)
        group[order] = np.cumsum(np.append(False, parted))[: len(order)]
    size = np.bincount(group[order]) if len(order) else np.empty(0, dtype=np.int64)
    alike = order[size[group[order]] > 1]
    return np.split(alike, np.flatnonzero(np.diff(group[alike])) + 1) if len(alike) else []


Side = tuple[int, ...]


def find_equal_pairs(found: Fingerprints) -> tuple[list[tuple[Side, Side]], bool]:
    """(attacks of e = 2 as columns on each side, whether there can be no others).

    A side is two columns of one person, one such column twice, or one column of two. Of people shown to be equal one
    stands for all, and sides that share somebody are attacks of e = 1. Both sides have the same values, so in a + d =
    b + c people a and b have one value, and c and d have one: a - b = c - d. O(pairs of people of equal value) of each
    component, besides sorting.
    """
    usable = (found.weight <= 2) & ~np.isin(np.arange(len(found.weight)), [b for _, b in find_equal_people(found)])
    attacks: list[tuple[Side, Side]] = []
    told: list[tuple[Side, float]] = []
    whole = not _tells_single_values(found)
    for component in np.unique(found.component[usable]):
        own = np.flatnonzero(usable & (found.component == component))
        single, double = own[found.weight[own] == 1], own[found.weight[own] == 2]
        values = np.unique(found.prints[single, -1], return_counts=True)[1]
        if int((values * (values - 1) // 2).sum()) + len(single) * len(double) > MOST_PAIRS:
            whole = False
            continue
        numbers, twice = found.prints[single], found.prints[double]
        for a, b, c, d in _match_differences(numbers):  # a + d = b + c
            attacks += _oppose(found, [(int(single[a]), int(single[d])), (int(single[b]), int(single[c]))])
        for place in range(len(double)):  # a column of two against two of one person, and against others of two
            for i, j in _match_sums(numbers, twice[place]):
                attacks += _oppose(found, [(int(double[place]),), (int(single[i]), int(single[j]))])
        for group in _collide(twice):
            attacks += _oppose(found, [(int(double[i]),) for i in group.tolist()])
        alone = np.abs(twice[:, :-1]) < CLOSE
        told += [((int(double[i]),), float(twice[i, -1])) for i in np.flatnonzero(alone.all(axis=1)).tolist()]
        for i, j in _match_sums(numbers[:, :-1], np.zeros(numbers.shape[1] - 1)):
            told.append(((int(single[i]), int(single[j])), float(numbers[i, -1] + numbers[j, -1])))
    for group in _collide(np.array([number for _, number in told]).reshape(-1, 1)):
        sides = {int(found.component[told[i][0][0]]): told[i][0] for i in group.tolist()}  # one of each part
        attacks += _oppose(found, list(sides.values()))
    return attacks, whole


def _match_sums(numbers: Float64, total: Float64) -> list[tuple[int, int]]:
    """Positions i <= j whose numbers add up to `total`. O(n log n), besides what agrees in the first number only."""
    order = np.argsort(numbers[:, 0], kind="stable")
    first, wanted = numbers[order, 0], total[0] - numbers[:, 0]
    low, high = np.searchsorted(first, wanted - CLOSE), np.searchsorted(first, wanted + CLOSE, side="right")
    one = np.repeat(np.arange(len(numbers)), high - low)
    within = np.arange(len(one)) - np.repeat(np.cumsum(high - low) - (high - low), high - low)
    other = order[low[one] + within]
    agree = (other >= one) & (np.abs(numbers[one] + numbers[other] - total) < CLOSE).all(axis=1)
    return list(zip(one[agree].tolist(), other[agree].tolist(), strict=True))


def _match_differences(numbers: Float64) -> list[tuple[int, int, int, int]]:
    """(a, b, c, d) with a - b = c - d, where a and b have one value, and c and d have one.

    Pairs are taken in slices by their difference in the first number, so that about SLICE of them are held at a time.
    Equal differences are rounded alike, unless a boundary lies between them; so they are looked for twice, with the
    boundaries moved by half a step.
    """
    order = np.lexsort((numbers[:, 0], numbers[:, -1]))
    group = np.searchsorted(numbers[order, -1], np.append(np.unique(numbers[:, -1]), np.inf)).astype(np.int64)
    random = np.ascontiguousarray(numbers[order, :-1])
    many = int((np.diff(group) * (np.diff(group) - 1) // 2).sum())
    widest = max((float(np.ptp(random[a:b, 0])) for a, b in pairwise(group.tolist())), default=0.0)
    found: set[tuple[int, int, int, int]] = set()
    for low, high in pairwise(np.linspace(0.0, widest + STEP, 2 + many // SLICE).tolist()):
        empty = np.empty(0, dtype=np.int64)
        room = _list_pairs(random[:, 0], group, low - STEP, high + STEP, empty, empty)
        one, other = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
        _list_pairs(random[:, 0], group, low - STEP, high + STEP, one, other)
        alike = _find_alike(random[one] - random[other])
        for some in _collide(random[one[alike]] - random[other[alike]]):
            head, *rest = alike[some].tolist()
            found |= {(int(one[head]), int(other[head]), int(one[i]), int(other[i])) for i in rest}
    return sorted((int(order[a]), int(order[b]), int(order[c]), int(order[d])) for a, b, c, d in found)


def _find_alike(apart: Float64) -> Int64:
    """int64[], ascending: those that are rounded like another, with the boundaries in one of two places."""
    mixed = np.array([1, 1_000_003, 998_244_353], dtype=np.int64)[: apart.shape[1]]
    alike = np.zeros(len(apart), dtype=np.bool_)
    for shift in (0.0, 0.5):
        key = np.floor(apart / STEP + shift).astype(np.int64) @ mixed
        order = np.argsort(key, kind="stable")
        same = np.flatnonzero(np.diff(key[order]) == 0)
        alike[order[same]] = alike[order[same + 1]] = True
    return np.flatnonzero(alike)


@njit(cache=True)
def _list_pairs(first, group, low, high, one, other) -> int:  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """How many pairs of one group there are whose numbers, ascending in it, differ by low up to high; listed if asked.

    one, other: int64[pairs] the greater and the smaller, or nothing
    """
    count = 0
    for g in range(len(group) - 1):
        begin = end = group[g]
        for i in range(group[g], group[g + 1]):
            begin = max(begin, i + 1)
            while begin < group[g + 1] and first[begin] - first[i] < low:
                begin += 1
            end = max(end, begin)
            while end < group[g + 1] and first[end] - first[i] < high:
                end += 1
            for j in range(begin, end):
                if len(one):
                    one[count], other[count] = j, i
                count += 1
    return count


def _oppose(found: Fingerprints, sides: list[Side]) -> list[tuple[Side, Side]]:
    """The first side against every other that shares nobody with it."""
    others = (side for side in sides[1:] if not set(side) & set(sides[0]))
    return [(sides[0], side) for side in others if found.shows_somebody([*sides[0], *side])]


def _tells_single_values(found: Fingerprints) -> bool:
    """Whether classes alone tell somebody's value, or the difference of two: such people add up across parts."""
    single = np.flatnonzero(found.weight == 1)
    random = found.prints[single, :-1]
    if (np.abs(random) < CLOSE).all(axis=1).any():
        return True
    return any(np.ptp(found.prints[single[group], -1]) > CLOSE for group in _collide(random))
