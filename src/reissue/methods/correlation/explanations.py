"""Chains of reasoning that a person can read: why somebody lost a value, back to the people who are compromised."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from reissue.methods.correlation.inference import CT, HC, Restricted, World
from reissue.methods.wording import list_names
from reissue.model.observed import Words

_MOST_CLAUSES = 24
_OUR_WORDS = ("the ", "only ", "subject ")
MOST_NAMES = 6


@dataclass(frozen=True)
class Chain:
    """One person's chain: the sentence, and the classes (positions in the world) it goes through, ascending."""

    sentence: str
    classes: tuple[int, ...]


def explain(world: World, told: Restricted, words: Words, person: int) -> Chain:
    """Why this person (a position in the world) lost values: every step the chain needs, causes first."""
    teller = _Teller(world, told, words)
    teller.tell(person, None, np.iinfo(np.int32).max)
    clauses = teller.clauses[:_MOST_CLAUSES]
    if len(teller.clauses) > _MOST_CLAUSES:
        clauses.append("and so on")
    if told.left[person] == 1 and (not clauses or not clauses[-1].endswith(teller.has(person))):
        clauses.append(f"only {teller.value_of(person)} is left for {teller.name(person)}")
    text = "; ".join(clauses)
    if text.startswith(_OUR_WORDS):  # a name stays as it is: p1 and P1 may be two people
        text = text[:1].upper() + text[1:]
    return Chain(f"{text}.", tuple(sorted(teller.used)))


@dataclass
class _Teller:
    world: World
    told: Restricted
    words: Words
    clauses: list[str] = field(default_factory=list)
    used: set[int] = field(default_factory=set)
    said: set[tuple[int, ...]] = field(default_factory=set)

    def tell(self, person: int, values: set[int] | None, before: int) -> None:
        """All steps by which this person lost the values (None: any value) before a point in time."""
        steps: dict[tuple[int, int, int], list[int]] = {}
        for e in self._removed(person):
            if self.told.at[e] < before and (values is None or int(self.world.entries[e]) in values):
                key = (int(self.told.rule[e]), int(self.told.first[e]), int(self.told.second[e]))
                if key[0] in (CT, HC):
                    steps.setdefault(key, []).append(int(e))
        for i, (key, its) in enumerate(steps.items()):
            mark = (person, *key, *its)
            if mark in self.said or len(self.clauses) > _MOST_CLAUSES:
                continue
            self.said.add(mark)
            if key[0] == CT:
                self._tell_ct(key[1], its)
            else:
                self._tell_hc(person, key[1], key[2], its, last=values is None and i == len(steps) - 1)

    def _tell_ct(self, cls: int, its: list[int]) -> None:
        """ "Carl has AIDS, so Doris and Fiona do not", after how Carl's value came out."""
        for e in its:
            value = int(self.world.entries[e])
            holders = [k for k in self._members(cls) if self._knows(k, value, int(self.told.at[e]))]
            for k in holders:
                self.tell(k, None, int(self.told.at[e]))
            self._say_known(holders, value, cls)

    def _tell_hc(self, person: int, first: int, second: int, its: list[int], *, last: bool) -> None:
        """ "The classes of January and February differ in Carl and Erica, so Erica has AIDS", causes first."""
        mine = [r for r in self._members(first) if not self._is_in(r, second)]
        theirs = [r for r in self._members(second) if not self._is_in(r, first)]
        values = [int(self.world.entries[e]) for e in its]
        when = min(int(self.told.at[e]) for e in its)
        for r in theirs:
            if r in self.told.compromised:
                self._say_known([r], int(self.world.truth[r]), second)
            else:
                self.tell(r, set(values), max(int(self.told.at[e]) for e in its))
        concluded = last and self.told.left[person] == 1
        gone = " or ".join(self.words.value(v) for v in values)
        then = self.has(person) if concluded else f"{self.name(person)} does not have {gone}"
        self.used |= {first, second}
        one, two = sorted((first, second), key=lambda cls: int(self.world.number[cls]))
        classes = f"the classes of {self._release(one)} and {self._release(two)}"
        self._say((HC, first, second, person, when), f"{classes} differ {self._sides(theirs, mine)}, so {then}")

    def _sides(self, theirs: list[int], mine: list[int]) -> str:
        if not theirs:
            return f"only in that one also holds {self._names(mine)}"
        if len(theirs) == len(mine) == 1:
            return f"in {self._names(theirs)} and {self._names(mine)}"
        return f"in {self._names(theirs)} on the one side and {self._names(mine)} on the other"

    def _say_known(self, holders: list[int], value: int, cls: int) -> None:
        """Who has the value, and who of the class therefore does not."""
        losers = [r for r in self._members(cls) if self._lost_here(r, value, cls)]
        have = f"{self._names(holders)} {'has' if len(holders) == 1 else 'have'} {self.words.value(value)}"
        so = f", so {self._names(losers)} {'does' if len(losers) == 1 else 'do'} not" if losers else ""
        self.used.add(cls)
        self._say((CT, cls, value), have + so)

    def _say(self, key: tuple[int, ...], clause: str) -> None:
        if key not in self.said:
            self.said.add(key)
            self.clauses.append(clause)

    def has(self, person: int) -> str:
        return f"{self.name(person)} has {self.value_of(person)}"

    def value_of(self, person: int) -> str:
        slots = slice(self.world.entry_start[person], self.world.entry_start[person + 1])
        left = self.world.entries[slots][self.told.possible[slots]]
        return self.words.value(int(left[0]))

    def name(self, person: int) -> str:
        number = int(self.world.subjects[person])
        return self.words.subject(number) if number >= 0 else "a counterfeit row"

    def _names(self, people: list[int]) -> str:
        return list_names((self.name(person) for person in people), MOST_NAMES)

    def _release(self, cls: int) -> str:
        return self.words.release(int(self.world.number[cls]))

    def _members(self, cls: int) -> list[int]:
        start = self.world.class_start
        people: list[int] = self.world.members[start[cls] : start[cls + 1]].tolist()
        return people

    def _is_in(self, person: int, cls: int) -> bool:
        start = self.world.trail_start
        return cls in self.world.trail[start[person] : start[person + 1]]

    def _removed(self, person: int) -> list[int]:
        """Entries of this person that were ruled out, in the order they were."""
        slots = np.arange(self.world.entry_start[person], self.world.entry_start[person + 1])
        gone = slots[~self.told.possible[slots]]
        order: list[int] = gone[np.argsort(self.told.at[gone], kind="stable")].tolist()
        return order

    def _entry(self, person: int, value: int) -> int:
        slots = slice(self.world.entry_start[person], self.world.entry_start[person + 1])
        at = np.flatnonzero(self.world.entries[slots] == value)
        return int(self.world.entry_start[person] + at[0]) if len(at) else -1

    def _knows(self, person: int, value: int, before: int) -> bool:
        """Whether it was known before a point in time that this person has the value."""
        e = self._entry(person, value)
        if e < 0 or not self.told.possible[e] or self.told.left[person] != 1:
            return False
        return all(self.told.at[i] < before for i in self._removed(person))

    def _lost_here(self, person: int, value: int, cls: int) -> bool:
        e = self._entry(person, value)
        return e >= 0 and self.told.rule[e] == CT and int(self.told.first[e]) == cls
