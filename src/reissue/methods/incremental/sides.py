"""Releases prepared to be laid side by side: what the attacks of this room have in common.

Parts of two releases in which all classes show the same values, each equally often, need no flow. In an m-invariant
series every part that shares people is of this kind. Let its classes, in both releases, show the n values S.

Difference: the people of N(E) - E have every value of S as often as any other, |N(E) - E| / n times. So the share of a
value is 1/n whatever E is, and no set breaks c >= 1/n.

Record tracing: whoever exchanges two values of S throughout a part turns a possible series into a possible series. So
what must be of a row with one value must be of a row with any other; and if a person went from class u to class v, a
row of u with any value of S may have gone there.
- Forward: if nobody's row of u is gone, the places of a row include those of all people of u, who thus all fit. If one
  may be gone, so may this row, and it can be anywhere in its box.
- Forced: if a row of u must be in v, a row of every value went there, and n people of u fit both boxes.
- Backward: if a row of v must be old, one of every value is, and n people of v fit the boxes through which they came.
So at least n people fit every row, and nothing is traced for k <= n.

Two releases are a part of the series: if all classes that people tie together in the whole series show the same values,
so do those of any two of its releases. That is found once for all pairs (`QuietParts`), and most pairs of a long series
need not be looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.sets import UInt64, bipartite_components, find_starts, lookup, union
from reissue.arrays.types import Bool, Int32, Int64
from reissue.model.box_index import Points
from reissue.model.observed import Groups, Members, Observed, ObservedRelease, keep_classes, require_members
from reissue.model.overlap import Overlap, stack_groups

MANY = 4
"""Releases of which there are more pairs than releases."""


@dataclass(frozen=True, eq=False)
class Side:
    """One release with its members, and the counts of its groups."""

    release: ObservedRelease
    value_count: int
    number: int
    members: Members
    groups: Groups

    @staticmethod
    def of(release: ObservedRelease, value_count: int) -> Side:
        return Side(release, value_count, release.number, require_members(release), release.counted)

    @cached_property
    def codes(self) -> Int32:
        """int32[people, attributes] of the members, row by row, as kernels read them."""
        return np.ascontiguousarray(self.members.codes, dtype=np.int32)

    @cached_property
    def people(self) -> Points:
        """Where the members lie in code space."""
        return Points(self.codes)

    def overlap_with(self, other: Side) -> Overlap:
        return Overlap.of(
            self.members.subjects,
            self.members.classes,
            other.members.subjects,
            other.members.classes,
            self.release.class_count,
            other.release.class_count,
        )


def prepare_sides(series: Observed, involving: int | None) -> list[Side]:
    """The releases an attack looks at: all, or those up to the one being made."""
    last = len(series) if involving is None else involving
    return [Side.of(release, series.value_count) for release in series.releases[:last]]


def list_side_pairs(series: Observed, involving: int | None) -> Iterator[tuple[Side, Side]]:
    """Every (older, newer), or only those with the release at this place as the newer one.

    Of these, no side is kept beside the newer one and its partner: releases that are read when they are asked for are
    in memory two at a time.
    """
    if involving is None:
        sides = prepare_sides(series, involving)
        for place, newer in enumerate(sides):
            yield from ((older, newer) for older in sides[:place])
    elif involving:
        newer = Side.of(series.releases[involving - 1], series.value_count)
        for place in range(involving - 1):
            yield Side.of(series.releases[place], series.value_count), newer


def is_short(series: Observed, involving: int | None) -> bool:
    """Whether there are so few pairs of releases to look at that it does not pay to ask first which of them matter."""
    return involving is not None or len(series) < MANY


Sided = tuple[Groups, Int64]
"""The groups of the classes of one release, and the part of each class."""


def count_even(older: Sided, newer: Sided, parts: int) -> Int64:
    """int64[parts]: how many values its classes all show equally often; 0 if they do not. O(groups).

    Of classes without rows nothing is asked.
    """
    (one, at), (other, there) = older, newer
    sides = (one.start, one.value, one.count, at), (other.start, other.value, other.count, there)
    return np.asarray(_count_even(*sides, parts), dtype=np.int64)


@njit(cache=True)
def _count_even(
    older: tuple[Int64, Int32, Int64, Int64], newer: tuple[Int64, Int32, Int64, Int64], parts: int
) -> Int64:
    shown = np.full(parts, -1, np.int64)
    side, first = (
        np.zeros(parts, np.int64),
        np.zeros(parts, np.int64),
    )  # where the first class of a part shows its values
    for turn in range(2):
        start, value, count, at = older if turn == 0 else newer
        for own in range(len(at)):
            part, begin, many = at[own], start[own], start[own + 1] - start[own]
            if many == 0 or shown[part] == 0:
                continue
            if shown[part] < 0:
                shown[part], side[part], first[part] = many, turn, begin
            others = older[1] if side[part] == 0 else newer[1]
            even = many == shown[part]
            for g in range(many):
                even = even and count[begin + g] == count[begin] and value[begin + g] == others[first[part] + g]
            if not even:
                shown[part] = 0
    return np.maximum(shown, 0)


@dataclass(frozen=True, eq=False)
class QuietParts:
    """What makes most pairs of a series' releases not worth a look: parts that are even in all releases, and absence.

    even: of each release int64[classes]: how many values all classes of its part of the series show equally often; 0 if
    they do not. presence: uint64[people, words], a bit for each release the person is in; at: of each release
    int64[members], their places there
    """

    sides: Sequence[Side]
    even: Sequence[Int64]
    presence: UInt64
    at: Sequence[Int64]

    @staticmethod
    def of(sides: Sequence[Side]) -> QuietParts:
        """Near linear in the rows of all releases."""
        people = union(*(side.members.subjects for side in sides))
        at = [lookup(people, side.members.subjects)[0] for side in sides]
        presence = np.zeros((len(people), -(-len(sides) // 64)), np.uint64)
        for place, own in enumerate(at):
            presence[own, place // 64] |= np.uint64(1) << np.uint64(place % 64)
        first = find_starts([side.release.class_count for side in sides])
        home = [side.members.classes + start for side, start in zip(sides, first[:-1], strict=True)]
        ties = np.concatenate(at), np.concatenate(home).astype(np.int64)
        part = bipartite_components(*ties, len(people), int(first[-1]))[1]
        nobody = Groups(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.int64))
        everything = stack_groups(*(side.groups for side in sides)), part
        count = int(part.max(initial=-1)) + 1
        shown = count_even(everything, (nobody, np.empty(0, np.int64)), count)[part]
        return QuietParts(sides, np.split(shown, first[1:-1]), presence, at)

    def list_even(self) -> list[int]:
        """The numbers of values that even parts show, ascending."""
        return sorted({int(n) for even in self.even for n in np.unique(even)} - {0})

    def pick(self, kept: Sequence[Bool]) -> list[Side]:
        """The sides with some of their classes only: of each release bool[classes]."""
        return [
            side if some.all() else Side.of(keep_classes(side.release, some), side.value_count)
            for side, some in zip(self.sides, kept, strict=True)
        ]

    @cached_property
    def lasting(self) -> bool:
        """Whether nobody's value ever changes, and everybody's class has a row for each of its people."""
        value = np.full(len(self.presence), -1, np.int32)
        for side, at in zip(self.sides, self.at, strict=True):
            members, groups = side.members, side.groups
            if ((value[at] >= 0) & (value[at] != members.values)).any():
                return False
            value[at] = members.values
            true = Groups.of(members.classes, members.values, len(groups.sizes), side.value_count)
            found, there = lookup(*(of.classes * side.value_count + of.value for of in (groups, true)))
            if not there.all() or (groups.count[found] < true.count).any():
                return False
        return True

    def find_meeting(self, kept: Sequence[Bool], *, whole: bool) -> Bool:
        """bool[releases, releases]: whether some class of the one, of those kept, shares people with the other.

        whole: whether all its rows are people of the other. O(rows) words.
        """
        meeting = np.zeros((len(self.sides), len(self.sides)), np.bool_)
        for place, (side, at, some) in enumerate(zip(self.sides, self.at, kept, strict=True)):
            words = _find_meeting(self.presence, at, side.members.classes, side.groups.sizes, some, whole)
            bits = np.arange(len(self.sides))
            meeting[place] = words[bits // 64] >> (bits % 64).astype(np.uint64) & np.uint64(1)
        return np.asarray(meeting | meeting.T, dtype=np.bool_)


@njit(cache=True)
def _find_meeting(presence: UInt64, at: Int64, classes: Int32, sizes: Int64, kept: Bool, whole: bool) -> UInt64:
    """uint64[words]: a bit for each release that holds anybody of a class, or everybody (`whole`)."""
    some = np.zeros(presence.shape[1], np.uint64)
    everybody, count = np.full((len(sizes), len(some)), ~np.uint64(0), np.uint64), np.zeros(len(sizes), np.int64)
    for i in range(len(at)):
        own = classes[i]
        count[own] += 1
        for word in range(len(some)):
            everybody[own, word] &= presence[at[i], word]
            if kept[own] and not whole:
                some[word] |= presence[at[i], word]
    for own in range(len(sizes)):
        if whole and kept[own] and count[own] == sizes[own] > 0:
            some |= everybody[own]
    return some
