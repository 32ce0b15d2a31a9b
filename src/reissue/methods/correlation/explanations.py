"""Why somebody lost a value, for a person to read: the last steps, and the compromised people it all began with."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from reissue.methods.attack import begin_sentence, list_names
from reissue.methods.correlation.correlations import MOST_NAMES
from reissue.methods.correlation.inference import CT, GIVEN, HC, Restricted, World
from reissue.model.observed import Words


def explain(world: World, told: Restricted, words: Words, person: int) -> tuple[str, tuple[int, ...]]:
    """Why this person (a position in the world) lost values: (a sentence, the classes it names, ascending)."""
    teller = _Teller(world, told, words)
    steps: dict[tuple[int, int, int], list[int]] = {}
    for e in teller.list_removed(person):
        steps.setdefault((int(told.rule[e]), int(told.first[e]), int(told.second[e])), []).append(e)
    clauses: list[str] = []
    for rule, first, second in steps:
        its = steps[rule, first, second]
        if rule == GIVEN:
            clauses.append(f"{teller.name(person)} is known not to have {teller.name_values(its)}")
        else:
            clauses += teller.tell_ct(first, its) if rule == CT else teller.tell_hc(person, first, second, its)
    roots = teller.find_roots(person) - teller.said - {person}
    if roots:
        clauses.insert(0, f"what is known of {teller.name_all(sorted(roots))} leads to more")
    if told.left[person] == 1:
        name, value = teller.name(person), teller.name_value(person)
        if rule == HC:
            clauses[-1] = f"{clauses[-1].rpartition(', so ')[0]}, so {name} has {value}"
        else:
            clauses.append(f"only {value} is left for {name}")
    text = "; ".join(dict.fromkeys(clauses))
    return f"{begin_sentence(text)}.", tuple(sorted({c for _, *both in steps for c in both if c >= 0}))


@dataclass(frozen=True)
class _Teller:
    """said: the people (positions) whose values were told."""

    world: World
    told: Restricted
    words: Words
    said: set[int] = field(default_factory=set)

    def tell_ct(self, cls: int, its: list[int]) -> list[str]:
        """ "Carl has AIDS, so Doris and Fiona do not" """
        values = [int(self.world.entries[e]) for e in its]
        return [self._tell_known(self._find_holders(cls, e), v, cls) for e, v in zip(its, values, strict=True)]

    def tell_hc(self, person: int, first: int, second: int, its: list[int]) -> list[str]:
        """ "Carl has AIDS; the classes of January and February differ in Carl and Erica, so Erica has not ..." """
        mine, theirs = self._list_only_in(first, second), self._list_only_in(second, first)
        known = [p for p in theirs if p in self.told.compromised]
        clauses = [self._tell_known([p], int(self.world.truth[p]), second) for p in known]
        one, two = (self.words.release(n) for n in sorted(int(self.world.number[c]) for c in (first, second)))
        if not theirs:
            sides = f"only in that one also holds {self.name_all(mine)}"
        elif len(theirs) == len(mine) == 1:
            sides = f"in {self.name(theirs[0])} and {self.name(mine[0])}"
        else:
            sides = f"in {self.name_all(theirs)} on the one side and {self.name_all(mine)} on the other"
        gone = self.name_values(its)
        last = f"the classes of {one} and {two} differ {sides}, so {self.name(person)} does not have {gone}"
        return [*clauses, last]

    def _tell_known(self, holders: list[int], value: int, cls: int) -> str:
        """Who has the value, and who of the class therefore does not."""
        self.said.update(holders)
        losers = [p for p in self._list_members(cls) if self._lost_here(p, value, cls)]
        have = f"{self.name_all(holders)} {'has' if len(holders) == 1 else 'have'} {self.words.value(value)}"
        return have + (f", so {self.name_all(losers)} {'does' if len(losers) == 1 else 'do'} not" if losers else "")

    def find_roots(self, person: int) -> set[int]:
        """The people (positions) of whom something was known beforehand that led to this person's losses."""
        roots: set[int] = set()
        looked: set[tuple[int, int]] = set()
        todo = [(person, e) for e in self.list_removed(person)]
        while todo:
            owner, e = todo.pop()
            if (owner, e) in looked:
                continue
            looked.add((owner, e))
            if self.told.rule[e] == GIVEN:
                roots.add(owner)
                continue
            first, second, value = int(self.told.first[e]), int(self.told.second[e]), self.world.entries[e]
            by_ct = self.told.rule[e] == CT
            for other in self._find_holders(first, e) if by_ct else self._list_only_in(second, first):
                removed = self.list_removed(other, int(self.told.at[e]))
                todo += [(other, own) for own in removed if by_ct or self.world.entries[own] == value]
        return roots

    def list_removed(self, person: int, before: int = np.iinfo(np.int32).max) -> list[int]:
        """Entries of this person that were ruled out before a point in time, in the order they were."""
        slots = np.arange(self.world.entry_start[person], self.world.entry_start[person + 1])
        gone = slots[~self.told.possible[slots] & (self.told.at[slots] < before)]
        order: list[int] = gone[np.argsort(self.told.at[gone], kind="stable")].tolist()
        return order

    def _find_holders(self, cls: int, e: int) -> list[int]:
        """Members of a class of whom it was known, when entry e was ruled out, that they have its value."""
        value, when = self.world.entries[e], self.told.at[e]
        holders = []
        for p in self._list_members(cls):
            slots = np.arange(self.world.entry_start[p], self.world.entry_start[p + 1])
            gone = ~self.told.possible[slots]
            own = self.world.entries[slots] == value
            if self.told.left[p] == 1 and (own & ~gone).any() and (self.told.at[slots[gone]] < when).all():
                holders.append(p)
        return holders

    def _lost_here(self, person: int, value: int, cls: int) -> bool:
        slots = np.arange(self.world.entry_start[person], self.world.entry_start[person + 1])
        own = slots[self.world.entries[slots] == value]
        return bool(((self.told.rule[own] == CT) & (self.told.first[own] == cls)).any())

    def name_values(self, entries: list[int]) -> str:
        return " or ".join(self.words.value(int(self.world.entries[e])) for e in entries)

    def name_value(self, person: int) -> str:
        slots = slice(self.world.entry_start[person], self.world.entry_start[person + 1])
        return self.words.value(int(self.world.entries[slots][self.told.possible[slots]][0]))

    def name(self, person: int) -> str:
        number = int(self.world.subjects[person])
        return self.words.subject(number) if number >= 0 else "a row of nobody known"

    def name_all(self, people: list[int]) -> str:
        return list_names((self.name(person) for person in people), MOST_NAMES)

    def _list_members(self, cls: int) -> list[int]:
        people: list[int] = self.world.members[slice(*self.world.class_start[cls : cls + 2])].tolist()
        return people

    def _list_only_in(self, cls: int, other: int) -> list[int]:
        inside = set(self._list_members(other))
        return [person for person in self._list_members(cls) if person not in inside]
