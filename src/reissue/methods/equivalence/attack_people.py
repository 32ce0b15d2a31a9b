"""People shown to be equal by all classes together: attacks that need neither merged buckets nor a pair of classes.

Weighing classes is linear (definition 10 of He, Barman & Naughton 2011). Values are whole, which can show more: by
definition 6 two sets of people are equal if they have the same values in every world. Parts that share nobody have
worlds of their own, so a small one is settled by listing them: every way to deal the values of its classes to people.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.types import Int32, Int64
from reissue.methods.equivalence.fingerprints import Fingerprints, Side, find_equal_pairs, find_equal_people
from reissue.methods.equivalence.person_matrix import ClassRows, count_values, list_everyone
from reissue.model.observed import ObservedRelease

if TYPE_CHECKING:
    from reissue.methods.equivalence.attack_search import EquivalenceSearch


MOST_PEOPLE = 24
"""Of a part whose worlds are listed."""
MOST_WORLDS = 5_000
"""That are listed of a part; one with more is left to other ways."""
MOST_DEALS = 200_000
"""Values dealt to people, one after the other, before a part is given up: work, not seconds."""


@dataclass(frozen=True, eq=False)
class SmallPart:
    """people: int64[n] subjects; worlds: int64[worlds, n] the value (a number of the part's own) of each in each."""

    people: Int64
    worlds: Int64

    def find_equal(self, size: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Sets of `size` people (1 or 2) with the same values in every world, as positions; each group as a chain.

        Sets that share somebody, or are made of smaller ones that are equal, are left out.
        """
        kinds = self._group([(i,) for i in range(len(self.people))])
        if size == 1:
            groups = kinds
        else:
            chosen = sorted(group[0][0] for group in kinds)
            groups = self._group(list(combinations(chosen, 2)))
        for group in groups:
            for one, other in pairwise(group):
                if not set(one) & set(other) and (self.people[[*one, *other]] >= 0).any():
                    yield one, other

    def _group(self, sets: Sequence[tuple[int, ...]]) -> list[list[tuple[int, ...]]]:
        found: dict[bytes, list[tuple[int, ...]]] = {}
        for some in sets:
            found.setdefault(np.sort(self.worlds[:, list(some)], axis=1).tobytes(), []).append(some)
        return list(found.values())


def list_small_parts(releases: Sequence[ObservedRelease], rows: ClassRows, pieces: Int32) -> Iterator[SmallPart]:
    """The parts of several classes whose worlds can be listed, the smallest first. pieces: as `connect_classes`."""
    cells = []
    for position, release in enumerate(releases):
        who, classes = list_everyone(release)
        row = rows.first[position] + classes
        cells.append(np.stack([pieces[row].astype(np.int64), row, who]))
    piece, row, who = np.concatenate(cells, axis=1) if cells else np.empty((3, 0), dtype=np.int64)
    order = np.lexsort((who, row, piece))
    several = np.bincount(pieces[np.unique(row)], minlength=int(pieces.max(initial=0)) + 1) > 1
    bounds = np.append(np.flatnonzero(np.diff(piece[order], prepend=-1)), len(order))
    spans = sorted((int(end - begin), int(begin)) for begin, end in pairwise(bounds))
    for size, begin in spans:
        own = order[begin : begin + size]
        people, person = np.unique(who[own], return_inverse=True)
        if not several[piece[own[0]]] or len(people) > MOST_PEOPLE or (people < 0).all():
            continue
        worlds = _list_worlds(releases, rows, row[own], person, len(people))
        if len(worlds):
            yield SmallPart(people, worlds)


def _list_worlds(releases: Sequence[ObservedRelease], rows: ClassRows, row: Int64, person: Int64, people: int) -> Int64:
    """int64[worlds, people]; none if there are too many."""
    used, own = np.unique(row, return_inverse=True)
    left = count_values(releases, rows, used)
    order = np.lexsort((own, person))
    start = np.searchsorted(person[order], np.arange(people + 1)).astype(np.int64)
    worlds = np.empty((MOST_WORLDS, people), dtype=np.int64)
    return worlds[: _deal(left, start, own[order], worlds)]


@njit(cache=True)
def _deal(left, start, where, worlds) -> int:  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """Fill `worlds`, person by person; how many there are, 0 if there are too many. left: int64[classes, kinds]."""
    people, kinds = len(start) - 1, left.shape[1]
    given = np.full(people, -1, dtype=np.int64)
    at, found = 0, 0
    for _ in range(MOST_DEALS):
        if given[at] >= 0:
            for i in range(start[at], start[at + 1]):
                left[where[i], given[at]] += 1
        value = given[at] + 1
        while value < kinds:
            free = True
            for i in range(start[at], start[at + 1]):
                free = free and left[where[i], value] > 0
            if free:
                break
            value += 1
        if value == kinds:
            given[at] = -1
            at -= 1
            if at < 0:
                return found
            continue
        given[at] = value
        for i in range(start[at], start[at + 1]):
            left[where[i], value] -= 1
        if at + 1 < people:
            at += 1
        else:
            if found == len(worlds):
                return 0
            worlds[found] = given
            found += 1
    return 0


@dataclass
class ToldPeople:
    """Whom the findings so far show: single people in groups of equals (a forest), sets of more by their members."""

    above: dict[int, int] = field(default_factory=dict)
    sets: set[frozenset[int]] = field(default_factory=set)

    def is_news(self, people: Iterable[int], size: int) -> bool:
        """Whether it was not told yet that these, `size` on each side, are equal; from now on it is."""
        shown = frozenset(people)
        if size == 1 and len(shown) == 2:
            one, other = map(self._find, shown)
            self.above[max(one, other)] = min(one, other)
            return one != other
        news = shown not in self.sets
        self.sets.add(shown)
        return news

    def _find(self, person: int) -> int:
        while self.above.get(person, person) != person:
            person = self.above[person]
        return person


def search_all_classes(search: EquivalenceSearch, found: Fingerprints) -> None:
    """Everybody who is equal to somebody, and pairs of people who are to others, where e asks for them.

    That is all there is of linear attacks of one (and two) people on a side, so it proves that there is no other.
    """
    tally, pairs = search.tally, find_equal_people(found)
    _tell(search, [((a,), (b,)) for a, b in pairs], 1, found)
    proved = 1 if pairs else 2
    if search.attack.e > 2:
        attacks, whole = find_equal_pairs(found)
        _tell(search, attacks, 2, found)
        tally.open_pairs |= not whole
        proved = 3 if whole and not pairs and not attacks else proved
    tally.bound_by_prints(proved)


def _tell(search: EquivalenceSearch, attacks: Sequence[tuple[Side, Side]], size: int, found: Fingerprints) -> None:
    if not attacks:
        return
    search.tally.attack(size)
    if size >= search.attack.e:
        return
    people = [(found.find_side(left), found.find_side(right)) for left, right in attacks]
    _report(search, people, size, by_worlds=False)


def search_worlds(search: EquivalenceSearch, part: SmallPart) -> None:
    """What whole people show beyond what weighing classes does."""
    for size in range(1, min(3, search.attack.e)):
        sides = [(part.people[list(one)], part.people[list(other)]) for one, other in part.find_equal(size)]
        if _report(search, sides, size, by_worlds=True):
            search.tally.attack(size)


def _report(search: EquivalenceSearch, attacks: Sequence[tuple[Int64, Int64]], size: int, *, by_worlds: bool) -> bool:
    """Count and describe those that are news, in the order of their people; whether there are any."""
    tally, limit = search.tally, search.attack.limit
    news = [sides for sides in attacks if search.told.is_news([*sides[0].tolist(), *sides[1].tolist()], size)]
    tally.total += len(news)
    tally.risky += [side[side >= 0] for sides in news for side in sides]
    if by_worlds:
        tally.by_worlds += len(news)
    tally.describe([search.shown.write_people(sides, size, by_worlds=by_worlds) for sides in news[:limit]])
    return bool(news)
