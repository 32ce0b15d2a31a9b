"""Historical correlations: classes of two releases that differ in a few people only.

Values persist, so if two classes show the same multiset of values and share some people, those who are only in the one
class have, together, the values of those who are only in the other (theorem 1 of Riboni & Bettini 2009). The smaller
these sets, the more is learned about one of them from knowing the other.

A class Q is *unsafe with degree n* against an earlier class Q' if it shares l rows with it and
  |Q| - n < l < |Q|                     all but fewer than n rows of Q were together before (the paper's test), or
  l = |Q| and |Q| < |Q'| < |Q| + n      Q is an earlier class without fewer than n of its rows.
The paper's test does not compare the multisets, so it is stricter than definition 3 where classes have different sizes;
that is kept, because the difference of two classes of one signature is as good as a class for an attacker. The second
condition cannot occur where every class shows m >= n values equally often, but it can in releases of other tools.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.sets import difference, find_starts
from reissue.arrays.sorting import sort_by_bucket
from reissue.arrays.types import NO_NUMBERS, Int32, Int64
from reissue.methods.attack import call_nobody, list_names, put_in_brackets
from reissue.model.observed import Members, ObservedRelease, Words

MOST_NAMES = 6


@dataclass(frozen=True, eq=False)
class FollowedRows:
    """Everybody of one release whom an attacker can follow: members, and counterfeits where they are known.

    subjects: int64[rows] ascending; classes: int32[rows]; values: int32[rows] the true values
    """

    subjects: Int64
    classes: Int32
    values: Int32


def follow_rows(release: ObservedRelease) -> FollowedRows:
    """The rows of a release that can be recognized in others. It is taken that counterfeits can: that is the stronger
    attacker, since a counterfeit that stays makes the sets in which two classes differ smaller."""
    if release.members is None:
        raise ValueError(f"The members of release {release.number} are not known.")
    parts: list[Members] = [release.members]
    if release.counterfeits is not None:
        parts.insert(0, release.counterfeits)
    subjects = np.concatenate([part.subjects for part in parts])
    classes = np.concatenate([part.classes for part in parts])
    values = np.concatenate([part.values for part in parts])
    if (np.diff(subjects) < 0).any():
        order = np.argsort(subjects, kind="stable")
        subjects, classes, values = subjects[order], classes[order], values[order]
    return FollowedRows(subjects, classes, values)


@dataclass(frozen=True, eq=False)
class FollowedSeries:
    """All followed rows of several releases, by class and by person; classes are numbered through all releases.

    subjects: int64[rows]; first: int64[releases + 1] where the rows of each begin; classes: int64[releases + 1] where
    its classes do; sizes: int64[classes] published rows
    class_start: int64[classes + 1] into members: int64[rows], rows by class; person: int32[rows]
    trail_start: int64[people + 1] into trail: int64[rows], the class of each row of a person, by release
    before: int64[rows] how many entries of the trail come before the row's own
    """

    subjects: Int64
    first: Int64
    classes: Int64
    sizes: Int64
    class_start: Int64
    members: Int64
    person: Int32
    trail_start: Int64
    trail: Int64
    before: Int64

    @staticmethod
    def of(releases: Sequence[ObservedRelease]) -> FollowedSeries:
        """O(rows of all releases log rows)."""
        rows = [follow_rows(release) for release in releases]
        offset = find_starts([release.class_count for release in releases])
        subjects = np.concatenate([NO_NUMBERS, *(some.subjects for some in rows)])
        home = np.concatenate([NO_NUMBERS, *(some.classes + offset[i] for i, some in enumerate(rows))])
        person = np.unique(subjects, return_inverse=True)[1].astype(np.int32)
        class_start, members = sort_by_bucket(home, int(offset[-1]))
        trail_start, order = sort_by_bucket(person, int(person.max(initial=-1)) + 1)
        before = np.empty(len(order), dtype=np.int64)
        before[order] = np.arange(len(order)) - trail_start[person[order]]
        return FollowedSeries(
            subjects,
            find_starts([len(some.subjects) for some in rows]),
            offset,
            np.concatenate([NO_NUMBERS, *(release.sizes for release in releases)]),
            class_start,
            members,
            person,
            trail_start,
            home[order],
            before,
        )

    def find_unsafe_pairs(self, position: int, n: int) -> Unsafe:
        """Every class of the release at this place against all earlier ones. O(rows x releases its rows lived in)."""
        own = int(self.classes[position]), int(self.classes[position + 1])
        by_class = self.class_start, self.members, self.sizes
        newer, older, shared = _count_overlaps(
            own, *by_class, self.person, self.trail_start, self.trail, self.before, n
        )
        size, old_size = self.sizes[newer], self.sizes[older]
        partly, within = (shared < size), (shared == size) & (old_size > size) & (old_size < size + n)
        apart = np.where(partly, size - shared, np.where(within, old_size - size, 0))
        bad = apart > 0
        return Unsafe(newer[bad], older[bad], apart[bad])

    def find_release(self, classes: Int64) -> Int64:
        """int64[n]: the place of the release that each class is of."""
        return np.searchsorted(self.classes, classes, side="right") - 1

    def list_least(self, pairs: Unsafe, limit: int) -> list[int]:
        """The first of the pairs that differ least, by earlier release."""
        order = np.lexsort((pairs.older, pairs.newer, self.find_release(pairs.older), pairs.apart))
        least: list[int] = order[:limit].tolist()
        return least

    def find_differing(self, pairs: Sequence[Unsafe]) -> list[Int64]:
        """Of each release the people in whom the two classes of some pair differ, ascending, without counterfeits."""
        one, other = (
            np.concatenate([NO_NUMBERS, *(getattr(some, end) for some in pairs)]) for end in ("newer", "older")
        )
        apart = _mark_differing(one, other, self.class_start, self.members, self.person, len(self.trail_start) - 1)
        apart &= self.subjects >= 0
        here = zip(np.split(self.subjects, self.first[1:-1]), np.split(apart, self.first[1:-1]), strict=True)
        return [subjects[some] for subjects, some in here]

    def list_only_in(self, mine: int, theirs: int) -> Int64:
        """int64[]: the people of one class who are not in the other one, ascending, without counterfeits."""
        one, other = (
            np.sort(self.subjects[self.members[self.class_start[c] : self.class_start[c + 1]]]) for c in (mine, theirs)
        )
        alone = difference(one, other)
        return alone[alone >= 0]

    def count_shared(self, one: int, other: int) -> int:
        """How many rows two classes share, counterfeits among them."""
        mine, theirs = (self.person[self.members[slice(*self.class_start[c : c + 2])]] for c in (one, other))
        return int(np.isin(mine, theirs).sum())


@dataclass(frozen=True, eq=False)
class Unsafe:
    """Pairs of a class and an earlier class that differ in fewer than n people.

    newer, older: int64[pairs] as numbered by `FollowedSeries`
    apart: int64[pairs] rows in which they differ (of the newer class; of the older where the newer lies inside it)
    """

    newer: Int64
    older: Int64
    apart: Int64

    def __len__(self) -> int:
        return len(self.newer)


@njit(cache=True)
def _count_overlaps(own, start, members, sizes, person, trail_start, trail, before, n):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """(int64[pairs] class, int64[pairs] old class, int64[pairs] rows they share) where they share more than |Q| - n.

    own: the first class and the end. O(rows x earlier rows of their people).
    """
    room = 64
    newer, older, shared = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
    count, met = np.zeros(own[0], np.int64), np.empty(own[0], np.int64)
    pairs = 0
    for q in range(own[0], own[1]):
        some = 0
        for i in range(start[q], start[q + 1]):
            row = members[i]
            begin = trail_start[person[row]]
            for old in trail[begin : begin + before[row]]:
                if count[old] == 0:
                    met[some] = old
                    some += 1
                count[old] += 1
        for i in range(some):
            if count[met[i]] > sizes[q] - n:
                if pairs == room:
                    newer = np.concatenate((newer, np.empty(room, np.int64)))
                    older = np.concatenate((older, np.empty(room, np.int64)))
                    shared = np.concatenate((shared, np.empty(room, np.int64)))
                    room *= 2
                newer[pairs], older[pairs], shared[pairs] = q, met[i], count[met[i]]
                pairs += 1
            count[met[i]] = 0
    return newer[:pairs].copy(), older[:pairs].copy(), shared[:pairs].copy()


@njit(cache=True)
def _mark_differing(one, other, start, members, person, people):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """bool[rows]: those of either class of a pair whose person is not in the other one. O(rows of the pairs)."""
    apart = np.zeros(len(members), np.bool_)
    inside = np.full((2, people), -1, np.int64)
    for pair in range(len(one)):
        for side, own in enumerate((one[pair], other[pair])):
            for i in range(start[own], start[own + 1]):
                inside[side, person[members[i]]] = pair
        for side, own in enumerate((one[pair], other[pair])):
            for i in range(start[own], start[own + 1]):
                if inside[1 - side, person[members[i]]] != pair:
                    apart[members[i]] = True
    return apart


def show_same_values(one: ObservedRelease, a: int, other: ObservedRelease, b: int) -> bool:
    """Whether two classes show the same multiset of values (definition 3)."""
    left, right = one.counted.pick(np.array([a])), other.counted.pick(np.array([b]))
    return np.array_equal(left.value, right.value) and np.array_equal(left.count, right.count)


Side = tuple[ObservedRelease, int, Int64]
"""A release, one of its classes, and int64[] the people who are in this class but not in the other."""


def tell_pair(words: Words, earlier: Side, later: Side, shared: int) -> str:
    """In whom two classes that share so many rows differ, and what follows from it."""
    (before, older, _), (now, newer, _) = earlier, later
    old, new = (f"class {one.called(c)} of {words.release(one.number)}" for one, c, _ in (earlier, later))
    new += put_in_brackets(words.box(now.boxes[newer]))
    sides = []
    for one, c, people in (earlier, later):
        nobody = int(one.sizes[c] - shared) - len(people)
        names = [words.subject(int(s)) for s in people.tolist()]
        sides.append(list_names([*names, *([call_nobody(nobody)] if nobody else [])], MOST_NAMES))
    differ = f"{sides[0]} on the one side and {sides[1]} on the other"
    if not sides[0] or not sides[1]:
        more = f"it also holds {sides[1]}" if sides[1] else f"it lacks {sides[0]}"
        text = f"{new} holds the same rows as {old}, but {more}: what it shows differently is about these"
    elif show_same_values(now, newer, before, older):
        single = before.sizes[older] - shared == 1
        learned = "the same value: whoever knows one knows the other" if single else "together the same values"
        text = f"{old} and {new} differ only in {differ}, who have {learned}"
    else:
        text = f"{old} and {new} differ in {differ}: what they show differently is what these have differently"
    return f"{text[:1].upper()}{text[1:]}."
