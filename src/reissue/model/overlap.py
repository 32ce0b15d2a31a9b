"""Two releases laid over each other: which classes share how many subjects, and how often values occur in classes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.sets import find_owners, find_starts
from reissue.arrays.sorting import sort_ascending
from reissue.arrays.types import Bool, Int32, Int64


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
        total = find_starts(self.count)
        return np.asarray(total[self.start[1:]] - total[self.start[:-1]], dtype=np.int64)

    @cached_property
    def classes(self) -> Int64:
        """int64[groups]: the class of each group."""
        return find_owners(self.start)


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
def sort_by_bucket(bucket: Int32 | Int64, count: int) -> tuple[Int64, Int64]:
    """(start, order): rows of each bucket, in order; rows of bucket -1 are left out. O(rows + buckets)."""
    start, order = _sort_by(bucket, np.arange(len(bucket)), count)
    return start, np.asarray(order, np.int64)


@njit(cache=True)
def _sort_by(bucket: Int32 | Int64, what: Int32 | Int64, count: int) -> tuple[Int64, Int32 | Int64]:
    """(start, [rows]): something of each row, bucket by bucket; rows of bucket -1 are left out."""
    start = np.zeros(count + 1, np.int64)
    for row in range(len(bucket)):
        if bucket[row] >= 0:
            start[bucket[row] + 1] += 1
    for b in range(count):
        start[b + 1] += start[b]
    place, ordered = start[:-1].copy(), np.empty(start[count], what.dtype)
    for row in range(len(bucket)):
        if bucket[row] >= 0:
            ordered[place[bucket[row]]] = what[row]
            place[bucket[row]] += 1
    return start, ordered


@njit(cache=True)
def _find_links(own: Int32 | Int64, other: Int32 | Int64, lefts: int, rights: int) -> tuple[Int64, Int64, Int64]:
    """(left, right, shared) of each link. O(rows + classes)."""
    start, met = _sort_by(own, other, lefts)
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


@njit(cache=True)
def _count_groups(
    classes: Int32 | Int64, values: Int32, class_count: int, value_count: int
) -> tuple[Int64, Int32, Int64]:
    start, shown = _sort_by(classes, values, class_count)
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
