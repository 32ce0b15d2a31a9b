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
from reissue.arrays.sets import lookup, sorted_unique
from reissue.arrays.types import NO_CODES, NO_NUMBERS, Int32, Int64
from reissue.model.observed import Members, ObservedRelease


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
class Unsafe:
    """Pairs of a class and an earlier class that differ in fewer than n people.

    newer: int32[pairs] class of the release; release, older: int32[pairs] the earlier release and its class
    apart: int64[pairs] rows in which they differ (of the newer class; of the older where the newer lies inside it)
    """

    newer: Int32
    release: Int32
    older: Int32
    apart: Int64

    def __len__(self) -> int:
        return len(self.newer)


def find_unsafe_pairs(releases: Sequence[ObservedRelease], position: int, n: int) -> Unsafe:
    """Every class of releases[position] against all earlier releases. O(rows x releases its rows lived in).

    Looking a release's rows up in an earlier one is a merge of two sorted lists; only rows found are counted.
    """
    release = releases[position]
    mine = follow_rows(release)
    order = np.argsort(mine.classes, kind="stable")
    start = np.searchsorted(mine.classes[order], np.arange(release.class_count + 1)).astype(np.int64)
    found: list[tuple[Int32, Int32, Int32, Int64]] = []
    for earlier in (releases[i] for i in range(position)):
        theirs = follow_rows(earlier)
        at, there = lookup(theirs.subjects, mine.subjects)
        old = np.full(len(order), -1, dtype=np.int32)
        if there.any():
            old[there] = theirs.classes[at[there]]
        newer, older, shared = _count_overlaps(start, old[order], release.sizes, earlier.class_count, n)
        apart = _measure_apart(shared, release.sizes[newer], earlier.sizes[older], n)
        bad = apart > 0
        number = np.full(int(bad.sum()), earlier.number, dtype=np.int32)
        found.append((newer[bad], number, older[bad], apart[bad]))
    if not found:
        return Unsafe(NO_CODES, NO_CODES, NO_CODES, NO_NUMBERS)
    newer, number, older, apart = (np.concatenate(column) for column in zip(*found, strict=True))
    return Unsafe(newer, number, older, apart)


def _measure_apart(shared: Int64, size: Int64, old_size: Int64, n: int) -> Int64:
    """int64[pairs]: rows in which the classes of an unsafe pair differ; 0 where the pair is safe."""
    partly = (shared > size - n) & (shared < size)
    within = (shared == size) & (old_size > size) & (old_size < size + n)
    return np.where(partly, size - shared, np.where(within, old_size - size, 0))


@njit(cache=True)
def _count_overlaps(start, old, sizes, old_classes, n):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """(int32[pairs] class, int32[pairs] old class, int64[pairs] rows they share) where they share more than |Q| - n.

    start: int64[classes + 1]; old: int32[rows] the old class of each row, -1 if it was not there. O(rows).
    """
    newer, older = np.empty(len(old), dtype=np.int32), np.empty(len(old), dtype=np.int32)
    shared = np.empty(len(old), dtype=np.int64)
    count = np.zeros(old_classes, dtype=np.int64)
    pairs = 0
    for q in range(len(start) - 1):
        for i in range(start[q], start[q + 1]):
            if old[i] >= 0:
                count[old[i]] += 1
        for i in range(start[q], start[q + 1]):
            if old[i] >= 0 and count[old[i]] > 0:
                if count[old[i]] > sizes[q] - n:
                    newer[pairs], older[pairs], shared[pairs] = q, old[i], count[old[i]]
                    pairs += 1
                count[old[i]] = 0
    return newer[:pairs].copy(), older[:pairs].copy(), shared[:pairs].copy()


def find_differing(
    release: ObservedRelease, newer: Int32, earlier: ObservedRelease, older: Int32
) -> tuple[Int64, Int64]:
    """Over all pairs of class newer[i] of `release` and older[i] of `earlier`: (people only in the newer class, people
    only in the older), int64 subjects ascending, without counterfeits. O(rows + rows of the pairs)."""
    return _find_only_in(release, newer, earlier, older), _find_only_in(earlier, older, release, newer)


def _find_only_in(here: ObservedRelease, mine: Int32, there: ObservedRelease, theirs: Int32) -> Int64:
    rows, others = follow_rows(here), follow_rows(there)
    wanted = np.zeros(here.class_count, dtype=np.bool_)
    wanted[mine] = True
    order = np.flatnonzero(wanted[rows.classes])
    order = order[np.argsort(rows.classes[order], kind="stable")]
    start = np.searchsorted(rows.classes[order], np.arange(here.class_count + 1))
    size = np.diff(start)[mine]
    pair = np.repeat(np.arange(len(mine)), size)
    row = order[np.arange(len(pair)) + np.repeat(start[mine] - (np.cumsum(size) - size), size)]
    at, found = lookup(others.subjects, rows.subjects[row])
    other = np.full(len(row), -1, dtype=np.int32)
    if found.any():
        other[found] = others.classes[at[found]]
    alone = sorted_unique(rows.subjects[row[other != theirs[pair]]])
    return alone[alone >= 0]


def show_same_values(one: ObservedRelease, a: int, other: ObservedRelease, b: int) -> bool:
    """Whether two classes show the same multiset of values (definition 3)."""
    left, right = np.sort(one.values[one.classes == a]), np.sort(other.values[other.classes == b])
    return bool(np.array_equal(left, right))
