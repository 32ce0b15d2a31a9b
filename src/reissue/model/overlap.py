"""Releases laid over each other: who came, went and changed; which subjects and which values their classes share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.sets import Combinations, union
from reissue.arrays.sorting import gather_by_bucket, sort_by_bucket
from reissue.arrays.types import NO_CODES, NO_NUMBERS, Bool, Int32, Int64
from reissue.model.observed import GroupArrays, Groups, Members, ObservedRelease


@dataclass(frozen=True, eq=False)
class Turnover:
    """Against the last word on each person: counts for one release."""

    new: int
    gone: int
    back: int
    changed_quasi_identifiers: int
    changed_value: int

    def __add__(self, other: Turnover) -> Turnover:
        return Turnover(*(one + more for one, more in zip(vars(self).values(), vars(other).values(), strict=True)))


class LastSeen:
    """Everybody so far, and the last word on each: subjects int64[n] ascending, codes int32[n, attributes]."""

    def __init__(self, attributes: int) -> None:
        self.releases = 0
        self.subjects = NO_NUMBERS
        self.codes = np.empty((0, attributes), dtype=np.int32)
        self._values = NO_CODES
        self._last = NO_NUMBERS  # position of the last release with this person, from 1
        self._ever = np.empty(0, dtype=np.bool_)

    @property
    def changed_value(self) -> int:
        """How many people ever had another value."""
        return int(self._ever.sum())

    def add(self, members: Members) -> Turnover:
        """The next release's members. O(people so far)."""
        self._meet(members.subjects)
        self.releases += 1
        at = np.searchsorted(self.subjects, members.subjects)
        before = self._last[at]
        known = before > 0
        moved = known & (self.codes[at] != members.codes).any(axis=1)
        updated = known & (self._values[at] != members.values)
        previous = self.releases - 1
        gone = int((self._last == previous).sum() - (before == previous).sum()) if previous else 0
        back = int((known & (before < previous)).sum())
        self._ever[at] |= updated
        self.codes[at], self._values[at], self._last[at] = members.codes, members.values, self.releases
        return Turnover(int((~known).sum()), gone, back, int(moved.sum()), int(updated.sum()))

    def _meet(self, subjects: Int64) -> None:
        everyone = union(self.subjects, subjects)
        if len(everyone) == len(self.subjects):
            return
        at = np.searchsorted(everyone, self.subjects)
        for name in ("codes", "_values", "_last", "_ever"):
            old = getattr(self, name)
            wider = np.zeros((len(everyone), *old.shape[1:]), dtype=old.dtype)
            wider[at] = old
            setattr(self, name, wider)
        self.subjects = everyone


def follow_people(
    releases: Iterable[ObservedRelease], attributes: int
) -> tuple[list[Turnover] | None, int | None, int]:
    """(who came, went and changed with each release, how many people there are, how many ever had another value).

    None, None and 0 where the members of some release are not known. O(people) for each release.
    """
    seen, turnover, known = LastSeen(attributes), list[Turnover](), True
    for release in releases:
        known = known and release.members is not None
        if release.members is not None:
            turnover.append(seen.add(release.members))
    return (turnover, len(seen.subjects), seen.changed_value) if known else (None, None, 0)


@dataclass(frozen=True, eq=False)
class GroupedRelease:
    """The groups of one release, class by class.

    boxes:  int32[classes, attributes, 2]
    start:  int64[classes + 1] where each class's groups begin
    values: int32[groups] ascending within a class; counts: int64[groups] > 0
    """

    boxes: Int32
    start: Int64
    values: Int32
    counts: Int64

    @staticmethod
    def of(boxes: Int32, classes: Int32 | Int64, values: Int32 | Int64, counts: Int64) -> GroupedRelease:
        """From groups sorted by class, then value."""
        start = np.searchsorted(classes, np.arange(len(boxes) + 1)).astype(np.int64)
        return GroupedRelease(boxes, start, values.astype(np.int32), counts.astype(np.int64))

    @staticmethod
    def from_counts(boxes: Int32, classes: Int32, values: Int32, counts: Int64) -> GroupedRelease:
        """From counts in any order, in which a group may come twice."""
        found = Combinations.of([classes, values], counts)
        return GroupedRelease.of(boxes, found.columns[0], found.columns[1], found.counts)

    @staticmethod
    def from_release(release: ObservedRelease) -> GroupedRelease:
        width = int(release.values.max()) + 1 if len(release.values) else 1
        if release.amounts is not None:
            return GroupedRelease.from_counts(release.boxes, release.classes, release.values, release.amounts)
        if len(release.boxes) * width > max(1 << 20, 4 * len(release.values)):
            return GroupedRelease.of(release.boxes, *release.groups)
        counts = np.bincount(release.classes.astype(np.int64) * width + release.values)  # dense enough not to sort
        key = np.flatnonzero(counts)
        return GroupedRelease.of(release.boxes, key // width, key % width, counts[key])

    @cached_property
    def classes(self) -> Int32:
        """int32[groups]: the class of each group."""
        return np.repeat(np.arange(len(self.boxes), dtype=np.int32), np.diff(self.start))

    def find(self, classes: Int32, values: Int32) -> Int64:
        """int64[n]: the groups of these classes and values, all of which there are."""
        width = np.int64(max(int(self.values.max()), int(values.max())) + 1) if len(values) else np.int64(1)
        return np.searchsorted(self.classes * width + self.values, classes * width + values)

    @cached_property
    def sizes(self) -> Int64:
        """int64[classes]: records of each class."""
        return np.bincount(self.classes, self.counts, minlength=len(self.boxes)).astype(np.int64)

    @cached_property
    def total(self) -> int:
        return int(self.counts.sum())


def stack_groups(*parts: Groups) -> Groups:
    """The classes of all parts, one after the other. O(groups)."""
    start, total = [np.zeros(1, dtype=np.int64)], 0
    for part in parts:
        start.append(part.start[1:] + total)
        total += int(part.start[-1])
    return Groups(
        np.concatenate(start), np.concatenate([p.value for p in parts]), np.concatenate([p.count for p in parts])
    )


def intersect_groups(one: Groups, other: Groups, left: Int64, right: Int64 | Int32) -> Groups:
    """The multiset intersection of the classes one[left] and other[right], pair by pair. O(groups of the pairs)."""
    return Groups(*_intersect(one.arrays, other.arrays, left, right))


@njit(cache=True)
def _intersect(a: GroupArrays, b: GroupArrays, left: Int64, right: Int64 | Int32) -> tuple[Int64, Int32, Int64]:
    """By merging sorted values; what is not there at all is left out."""
    room = 0
    for p in range(len(left)):
        room += min(a.start[left[p] + 1] - a.start[left[p]], b.start[right[p] + 1] - b.start[right[p]])
    start, value, count = np.zeros(len(left) + 1, np.int64), np.empty(room, np.int32), np.empty(room, np.int64)
    found = 0
    for p in range(len(left)):
        i, j = a.start[left[p]], b.start[right[p]]
        while i < a.start[left[p] + 1] and j < b.start[right[p] + 1]:
            x, y = a.value[i], b.value[j]
            least = min(a.times[i], b.times[j])
            if x == y and least > 0:
                value[found], count[found] = x, least
                found += 1
            i, j = i + (x <= y), j + (y <= x)
        start[p + 1] = found
    return start, value[:found].copy(), count[:found].copy()


@dataclass(frozen=True, eq=False)
class Overlap:
    """The classes of two releases that share subjects.

    left, right: int64[links], sorted by left; shared: int64[links] how many subjects
    own, other: [shared subjects] the class of each on either side; at_left, at_right: int64[] its row there
    """

    left: Int64
    right: Int64
    shared: Int64
    own: Int32 | Int64
    other: Int32 | Int64
    at_left: Int64
    at_right: Int64

    @staticmethod
    def of(
        left_subjects: Int64,
        left_classes: Int32 | Int64,
        right_subjects: Int64,
        right_classes: Int32 | Int64,
        lefts: int,
        rights: int,
    ) -> Overlap:
        """Subjects ascending on both sides. O(rows + classes)."""
        many = len(left_subjects)
        if np.array_equal(left_subjects, right_subjects[:many]):  # those who joined since have higher numbers
            at_left = at_right = np.arange(many)
            own, other = left_classes, right_classes[:many]
        else:
            at_left, at_right = _find_common(left_subjects, right_subjects)
            own, other = left_classes[at_left], right_classes[at_right]
        return Overlap(*_find_links(own, other, lefts, rights), own, other, at_left, at_right)

    @cached_property
    def link(self) -> Int64:
        """int64[shared subjects]: the link of each; many questions need it for few of them, or not at all."""
        return _number_links(self.own, self.other, self.left, self.right)

    def only(self, kept: Bool) -> Overlap:
        """Without some of the shared subjects: bool[shared subjects] kept."""
        shared = np.bincount(self.link[kept], minlength=len(self.left))
        links = self.left[shared > 0], self.right[shared > 0], shared[shared > 0]
        return Overlap(*links, self.own[kept], self.other[kept], self.at_left[kept], self.at_right[kept])

    def swap_sides(self) -> Overlap:
        """The same with the sides exchanged."""
        order = np.lexsort((self.left, self.right))
        links = self.right[order], self.left[order], self.shared[order]
        return Overlap(*links, self.other, self.own, self.at_right, self.at_left)


@njit(cache=True)
def _find_common(one: Int64, other: Int64) -> tuple[Int64, Int64]:
    """Positions of the numbers that are in both ascending lists. O(n + m)."""
    room = min(len(one), len(other))
    at_one, at_other = np.empty(room, np.int64), np.empty(room, np.int64)
    i = j = found = 0
    while i < len(one) and j < len(other):
        if one[i] == other[j]:
            at_one[found], at_other[found] = i, j
            found += 1
        i, j = i + (one[i] <= other[j]), j + (other[j] <= one[i])
    return at_one[:found].copy(), at_other[:found].copy()


@njit(cache=True)
def _find_links(own: Int32 | Int64, other: Int32 | Int64, lefts: int, rights: int) -> tuple[Int64, Int64, Int64]:
    """(left, right, shared) of each link. O(rows + classes)."""
    start, met = gather_by_bucket(own, other, lefts)
    seen, number = np.full(rights, -1, np.int64), np.empty(rights, np.int64)
    left, right, shared = np.empty(len(own), np.int64), np.empty(len(own), np.int64), np.empty(len(own), np.int64)
    links = 0
    for one in range(lefts):
        for p in range(start[one], start[one + 1]):
            if seen[met[p]] != one:
                seen[met[p]], number[met[p]] = one, links
                left[links], right[links], shared[links] = one, met[p], 0
                links += 1
            shared[number[met[p]]] += 1
    return left[:links].copy(), right[:links].copy(), shared[:links].copy()


@njit(cache=True)
def _number_links(own: Int32 | Int64, other: Int32 | Int64, left: Int64, right: Int64) -> Int64:
    """int64[rows]: the link of each. O(rows + classes)."""
    start, order = sort_by_bucket(own, left[-1] + 1 if len(left) else 0)
    width = 0
    for one in range(len(right)):
        width = max(width, right[one] + 1)
    link, number = np.empty(len(own), np.int64), np.empty(width, np.int64)
    first = 0
    for one in range(len(start) - 1):
        while first < len(left) and left[first] == one:
            number[right[first]] = first
            first += 1
        for p in range(start[one], start[one + 1]):
            link[order[p]] = number[other[order[p]]]
    return link
