"""People shown to be equal by all classes together: attacks that need neither merged buckets nor a pair of classes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from reissue.arrays.types import Int64
from reissue.methods.equivalence.fingerprints import Fingerprints, Side, find_equal_pairs, find_equal_people
from reissue.methods.equivalence.small_worlds import SmallPart

if TYPE_CHECKING:
    from reissue.methods.equivalence.attack_search import EquivalenceSearch


@dataclass
class ToldPeople:
    """Whom the findings so far show: single people in groups of equals (a forest), sets of more by their members."""

    above: dict[int, int] = field(default_factory=dict)
    sets: set[frozenset[int]] = field(default_factory=set)

    def is_news(self, people: Iterable[int], size: int) -> bool:
        """Whether it was not told yet that these, `size` on each side, are equal; from now on it is."""
        shown = frozenset(int(person) for person in people)
        if size == 1 and len(shown) == 2:
            one, other = (self._find(person) for person in shown)
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
    people = [tuple(np.concatenate([found.who(c) for c in side]) for side in sides) for sides in attacks]
    _report(search, [(left, right) for left, right in people], size, by_worlds=False)


def search_worlds(search: EquivalenceSearch, part: SmallPart) -> None:
    """What whole people show beyond what weighing classes does."""
    for size in range(1, min(3, search.attack.e)):
        sides = [(part.people[list(one)], part.people[list(other)]) for one, other in part.find_equal(size)]
        if _report(search, sides, size, by_worlds=True):
            search.tally.attack(size)


def _report(search: EquivalenceSearch, attacks: Sequence[tuple[Int64, Int64]], size: int, *, by_worlds: bool) -> bool:
    """Count and describe those that are news, in the order of their people; whether there are any."""
    tally, limit = search.tally, search.attack.limit
    news = [sides for sides in attacks if search.told.is_news(np.concatenate(sides).tolist(), size)]
    tally.total += len(news)
    tally.risky += [side[side >= 0] for sides in news for side in sides]
    if by_worlds:
        tally.by_worlds += len(news)
    tally.describe([search.shown.write_people(sides, size, by_worlds=by_worlds) for sides in news[:limit]])
    return bool(news)
