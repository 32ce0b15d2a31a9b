"""A series as an attacker sees it: published classes with their values, and who is in them where that is known.

Releases may be read only when they are asked for, or only be counted (`model.paths`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Protocol, TypeVar, overload, runtime_checkable

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.sets import find_owners, find_starts, sum_rows
from reissue.arrays.sorting import gather_by_bucket, sort_ascending
from reissue.arrays.types import Bool, Int32, Int64
from reissue.errors import InputError, show_text
from reissue.model.domain import Domain
from reissue.model.release import Facts
from reissue.model.standing_classes import StandingClasses

T_co = TypeVar("T_co", covariant=True)


class LazySequence(Sequence[T_co]):
    """A sequence of known length whose items are made whenever one is asked for; none is kept.

    read: makes the item at a position from 0 on. Who keeps items gives none and overrides `at`: a method of its own
    would be a circle, and what it has read would outlive it.
    """

    def __init__(self, length: int, read: Callable[[int], T_co] | None = None) -> None:
        self._length, self._make = length, read

    def at(self, position: int) -> T_co:
        """The item at a position from 0 on."""
        assert self._make is not None
        return self._make(position)

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> T_co: ...
    @overload
    def __getitem__(self, index: slice) -> list[T_co]: ...
    def __getitem__(self, index: int | slice) -> T_co | list[T_co]:
        if isinstance(index, slice):
            return [self.at(position) for position in range(*index.indices(self._length))]
        return self.at(range(self._length)[index])

    def __iter__(self) -> Iterator[T_co]:
        """Not by asking until an IndexError comes: one that making an item raises must not end the sequence early."""
        return (self.at(position) for position in range(self._length))


class GroupArrays(NamedTuple):
    """What kernels read of `Groups`."""

    start: Int64
    value: Int32
    times: Int64


@dataclass(frozen=True, eq=False)
class Groups:
    """How often each value occurs in each class.

    start: int64[classes + 1] into value: int32[groups] (ascending within a class) and count: int64[groups]
    """

    start: Int64
    value: Int32
    count: Int64

    @property
    def arrays(self) -> GroupArrays:
        return GroupArrays(self.start, self.value, self.count)

    @staticmethod
    def of(classes: Int32 | Int64, values: Int32, class_count: int, value_count: int) -> Groups:
        """From rows: O(rows + classes + values), by two counting sorts."""
        return Groups(*_count_groups(classes, values, class_count, value_count))

    @staticmethod
    def from_sorted(group_class: Int32 | Int64, value: Int32, count: Int64, class_count: int) -> Groups:
        """From (class, value, count) sorted by class, then value."""
        return Groups(find_starts(np.bincount(group_class, minlength=class_count)), value, count)

    def pick(self, classes: Int32 | Int64) -> Groups:
        """Those of some classes, renumbered in the order given."""
        size = self.start[1:][classes] - self.start[:-1][classes]
        start = find_starts(size)
        at = np.repeat(self.start[:-1][classes] - start[:-1], size) + np.arange(start[-1])
        return Groups(start, self.value[at], self.count[at])

    @cached_property
    def sizes(self) -> Int64:
        """int64[classes]: rows of each class."""
        return sum_rows(self.count, self.start)

    @cached_property
    def classes(self) -> Int64:
        """int64[groups]: the class of each group."""
        return find_owners(self.start)


@njit(cache=True)
def _count_groups(
    classes: Int32 | Int64, values: Int32, class_count: int, value_count: int
) -> tuple[Int64, Int32, Int64]:
    start, shown = gather_by_bucket(classes, values, class_count)
    group_start = np.zeros(class_count + 1, np.int64)
    value, count = np.empty(len(shown), np.int32), np.empty(len(shown), np.int64)
    times, groups = np.zeros(value_count, np.int64), 0
    for one in range(class_count):
        first = groups
        for p in range(start[one], start[one + 1]):
            if times[shown[p]] == 0:
                value[groups] = shown[p]
                groups += 1
            times[shown[p]] += 1
        sort_ascending(value[first:groups])
        for group in range(first, groups):
            count[group] = times[value[group]]
            times[value[group]] = 0
        group_start[one + 1] = groups
    return group_start, value[:groups].copy(), count[:groups].copy()


@dataclass(frozen=True, eq=False)
class Members:
    """Who is in which class of one release.

    subjects: int64[people] ascending; classes: int32[people]; codes: int32[people, attributes] exact QI;
    values: int32[people] the true values. An attacker does not have `values`; they serve simulations ("suppose
    these people are compromised") and the auditor's statement of what an inference got right.
    """

    subjects: Int64
    classes: Int32
    codes: Int32
    values: Int32


@dataclass(frozen=True, eq=False)
class ObservedRelease:
    """One published release: the boxes of its classes, and of every published row its class and sensitive value.

    Counterfeits are rows like any other here. Suppressed rows are absent. `counterfeits` tells which rows stand for
    nobody, where the auditor knows it (None: not known); an attack may take it that the attacker can follow them.
    `numbers` int32[classes], ascending: what the classes are called, where this is only a part of a release.
    `amounts` int64[rows]: how many published rows each row stands for, where they are only counted (None: one each).
    Then a member stands for many, too; only attacks that can be divided by counts read that.
    `told`: the standing classes of the rows, where they are published; what their values say is in them.
    """

    number: int
    boxes: Int32
    classes: Int32
    values: Int32
    members: Members | None = None
    anatomized: bool = False
    counterfeits: Members | None = None
    numbers: Int32 | None = None
    amounts: Int64 | None = None
    repeated: Bool | None = None
    told: StandingClasses | None = None

    @property
    def class_count(self) -> int:
        return len(self.boxes)

    def called(self, number: int) -> int:
        """The number of a class in the release as it was published."""
        return int(number) if self.numbers is None else int(self.numbers[number])

    @cached_property
    def sizes(self) -> Int64:
        """int64[classes]: published rows of each class."""
        return np.bincount(self.classes, self.amounts, minlength=len(self.boxes)).astype(np.int64)

    @property
    def people(self) -> Int64:
        """int64[classes]: published rows of each class, without those known to stand for nobody."""
        fakes = self.counterfeits
        return self.sizes if fakes is None else self.sizes - np.bincount(fakes.classes, minlength=len(self.boxes))

    @cached_property
    def counted(self) -> Groups:
        """How often each value occurs in each class: counted once for all attacks. O(rows)."""
        assert self.amounts is None, "rows that stand for many are counted by who can read `amounts`"
        return Groups.of(self.classes, self.values, len(self.boxes), int(self.values.max(initial=-1)) + 1)

    @cached_property
    def groups(self) -> tuple[Int32, Int32, Int64]:
        """(class, value, count) of each non-empty group, sorted by class then value."""
        return self.counted.classes.astype(np.int32), self.counted.value, self.counted.count

    @staticmethod
    def of(facts: Facts) -> ObservedRelease:
        """What outsiders see of a release in the ledger, with its members.

        Where values were dealt inside standing classes, these are the rows as they are shown, in their boxes and with
        dealt values: what readers count. What attackers can make of the classes is in `model.standing_view`.
        """
        first = int(np.searchsorted(facts.subjects, 0))  # counterfeits come before people, so both are views

        def part(rows: slice) -> Members:
            return Members(facts.subjects[rows], facts.classes[rows], facts.codes[rows], facts.values[rows])

        members, fakes = part(slice(first, None)), part(slice(0, first))
        kept = facts.standing
        shown = facts.values if kept is None else kept.dealt
        told = kept if kept is not None and kept.told else None
        return ObservedRelease(
            facts.number, facts.boxes, facts.classes, shown, members, facts.anatomized, fakes, told=told
        )


def require_members(release: ObservedRelease) -> Members:
    """Who is in which class, for an attack that cannot do without."""
    if release.members is None:
        raise InputError(
            f"Release {release.number} comes without its members; give the snapshots to run this attack on it."
        )
    return release.members


def keep_classes(release: ObservedRelease, kept: Bool) -> ObservedRelease:
    """The part of a release that are these classes (bool[classes]), which are called as before. O(rows)."""
    number = np.cumsum(kept, dtype=np.int32) - np.int32(1)
    rows = kept[release.classes]

    def part(some: Members | None) -> Members | None:
        if some is None:
            return None
        here = kept[some.classes]
        codes = np.asfortranarray(some.codes[here])
        return Members(some.subjects[here], number[some.classes[here]], codes, some.values[here])

    return replace(
        release,
        boxes=release.boxes[kept],
        classes=number[release.classes[rows]],
        values=release.values[rows],
        members=part(release.members),
        counterfeits=part(release.counterfeits),
        numbers=np.flatnonzero(kept).astype(np.int32) if release.numbers is None else release.numbers[kept],
        amounts=None if release.amounts is None else release.amounts[rows],
        repeated=None if release.repeated is None else release.repeated[kept],
    )


def leave_out_repeats(release: ObservedRelease) -> ObservedRelease:
    """The release without classes that only say again what they said. O(rows)."""
    return release if release.repeated is None else keep_classes(release, ~release.repeated)


@runtime_checkable
class Listing(Protocol):
    """Releases that can tell who is in one of them without reading the rest of it."""

    def subjects(self, position: int) -> Int64:
        """int64[rows] ascending: everybody in the release at that position, counterfeits by their negative numbers."""
        ...


class Words(Protocol):
    """Turns codes back into what people call them, for sentences."""

    def box(self, box: Int32) -> str:
        """int32[attributes, 2] as "age 21-30, zip 120*"; attributes that cover everything are left out."""

    def value(self, code: int) -> str: ...

    def subject(self, number: int) -> str: ...

    def release(self, number: int) -> str: ...


def put_names(text: str, words: Words) -> str:
    """The text with `{value:CODE}`, `{subject:NUMBER}` and `{release:NUMBER}` replaced by what people call them:
    strategies know codes."""

    def name(mark: re.Match[str]) -> str:
        number = int(mark[2])
        if mark[1] == "value":
            try:
                return f"'{show_text(words.value(number))}'"
            except IndexError:  # what a fault made up, which the check must be able to tell
                return "a value that the series does not know"
        return show_text(words.subject(number) if mark[1] == "subject" else words.release(number))

    return re.sub(r"\{(value|subject|release):(\d+)\}", name, text)  # in one pass: names are not searched for marks


@dataclass(frozen=True, eq=False)
class Observed:
    """The releases in order, the domains of their codes, and the words for sentences.

    Releases are numbered 1, 2, ...; where one was withdrawn, its number is missing.

    Subjects numbered from `first_new` on are in the newest release only, so nobody has to look for them in the others;
    None: not known. `standing`: whether there are classes that stand for life; then releases say which are `repeated`.
    """

    releases: Sequence[ObservedRelease]
    domains: tuple[Domain, ...]
    value_count: int
    words: Words
    first_new: int | None = None
    standing: bool = False

    def __len__(self) -> int:
        return len(self.releases)

    def find(self, number: int) -> ObservedRelease:
        """The release of that number, which may be at an earlier place than its number says."""
        places = range(min(number, len(self.releases)) - 1, -1, -1)
        return next(one for one in map(self.releases.__getitem__, places) if one.number == number)


class Names(Protocol):
    """How the series turns the labels of knowledge files into codes.

    values: label of each sensitive value by code; attributes: names of the quasi-identifiers in the order of codes
    """

    @property
    def values(self) -> Sequence[str]: ...

    @property
    def attributes(self) -> Sequence[str]: ...

    def interval(self, attribute: str, label: str) -> tuple[int, int]:
        """The codes that a value or a group of values of a quasi-identifier stands for; raises an InputError."""

    def numbers(self, identifiers: Sequence[str]) -> Int64:
        """int64[n]: the subject of each identifier, -1 where the series knows none."""
