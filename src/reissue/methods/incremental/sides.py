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
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.types import Bool, Int32, Int64
from reissue.model.box_index import Points
from reissue.model.observed import Members, Observed, ObservedRelease, require_members
from reissue.model.overlap import Groups, Overlap


@dataclass(frozen=True, eq=False)
class Side:
    """One release with its members, and the counts of its groups."""

    release: ObservedRelease
    value_count: int

    @property
    def number(self) -> int:
        return self.release.number

    @cached_property
    def members(self) -> Members:
        return require_members(self.release)

    @property
    def groups(self) -> Groups:
        return self.release.counted

    @cached_property
    def people(self) -> Points:
        """Where the members lie in code space."""
        return Points(self.members.codes)

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
    return [Side(release, series.value_count) for release in series.releases[:last]]


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
        newer = Side(series.releases[involving - 1], series.value_count)
        for place in range(involving - 1):
            yield Side(series.releases[place], series.value_count), newer


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


def find_even(older: Sided, newer: Sided, share: tuple[int, int], parts: int) -> Bool:
    """bool[parts]: those in which no difference has a value above the share (numerator, denominator)."""
    shown = count_even(older, newer, parts)
    return np.asarray((shown > 0) & (share[0] * shown >= share[1]), dtype=np.bool_)
