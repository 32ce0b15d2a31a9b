"""What the classes of a series leave possible for each subject: the intersection of the value sets shown with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reissue.arrays.sets import lookup
from reissue.arrays.types import Bool, Int32, Int64
from reissue.methods.invariance.signatures import Signatures, collect_sets, join_sets, number_sets
from reissue.model.observed import Members, ObservedRelease


@dataclass(frozen=True, eq=False)
class Uniqueness:
    """How evenly each class of one release shows its values.

    classes: int32[n] classes that have rows; kinds, size, most, fewest: int64[n] different values, rows, rows of the
    most and of the least frequent value; value: int32[n] the most frequent value
    """

    classes: Int32
    kinds: Int64
    size: Int64
    most: Int64
    fewest: Int64
    value: Int32

    def weak(self, m: int) -> Bool:
        """bool[n]: at least m values, all equally often (weak m-uniqueness)."""
        return np.asarray((self.kinds >= m) & (self.most == self.fewest), dtype=np.bool_)

    def strict(self, m: int) -> Bool:
        """bool[n]: at least m values, each once (m-uniqueness)."""
        return np.asarray((self.kinds >= m) & (self.most == 1), dtype=np.bool_)


def measure_uniqueness(release: ObservedRelease) -> Uniqueness:
    """Per class with rows, its different values and their counts. O(rows log rows)."""
    classes, values, counts = release.groups
    if len(classes) == 0:
        none, empty = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int64)
        return Uniqueness(none, empty, empty, empty, empty, none)
    first = np.flatnonzero(np.diff(classes, prepend=-1))
    kinds = np.diff(np.append(first, len(classes)))
    most = np.maximum.reduceat(counts, first)
    top = np.lexsort((values, -counts, classes))[first]
    return Uniqueness(
        classes[first], kinds, np.add.reduceat(counts, first), most, np.minimum.reduceat(counts, first), values[top]
    )


@dataclass(frozen=True, eq=False)
class Possible:
    """What is possible for each subject.

    subjects: int64[people] ascending; sets: the distinct sets; candidates: int32[people] the set left by all releases
    so far; changed: bool[people] whether two of its classes showed different sets
    """

    subjects: Int64
    sets: Signatures
    candidates: Int32
    changed: Bool

    @property
    def left(self) -> Int64:
        """int64[people]: how many values remain possible for each."""
        return self.sets.sizes[self.candidates]

    @staticmethod
    def nobody() -> Possible:
        return Possible(
            np.empty(0, dtype=np.int64), Signatures.none(), np.empty(0, dtype=np.int32), np.empty(0, dtype=np.bool_)
        )


def require_members(release: ObservedRelease) -> Members:
    if release.members is None:
        raise ValueError(f"The members of release {release.number} are not known.")
    return release.members


def look_up_sets(release: ObservedRelease, rows: Int64, known: Signatures) -> tuple[Signatures, Int32]:
    """(`known` with what it lacked, int32[rows]: the value set of each of these members' class). O(release rows)."""
    classes = require_members(release).classes[rows]
    wanted = np.zeros(release.class_count, dtype=np.bool_)
    wanted[classes] = True
    number = np.cumsum(wanted) - 1
    if wanted.all():  # the groups are needed anyway then
        start = np.searchsorted(release.groups[0], np.arange(release.class_count + 1)).astype(np.int64)
        own, class_set = number_sets(start, release.groups[1])
    else:
        published = wanted[release.classes]
        renumbered = number[release.classes[published]].astype(np.int32)
        own, class_set = collect_sets(renumbered, release.values[published], int(wanted.sum()))
    sets, at = join_sets(known, own)
    return sets, at[class_set[number[classes]]]


def intersect_sets(sets: Signatures, left: Int32, right: Int32) -> tuple[Signatures, Int32]:
    """(sets with what they lacked, int32[n]: intersection of sets left[i] and right[i]). O(n log n)."""
    pair, of = np.unique((left.astype(np.int64) << 32) | right, return_inverse=True)
    a, b = (pair >> 32).astype(np.int32), (pair & 0xFFFFFFFF).astype(np.int32)
    owner = np.repeat(np.arange(len(pair)), sets.sizes[a])
    offset = np.cumsum(sets.sizes[a]) - sets.sizes[a]
    values = sets.values[np.arange(len(owner)) + np.repeat(sets.start[a] - offset, sets.sizes[a])]
    both = sets.entries(b[owner], values) >= 0
    size = np.bincount(owner[both], minlength=len(pair))
    common, number = number_sets(np.concatenate([[0], np.cumsum(size)]).astype(np.int64), values[both])
    union, at = join_sets(sets, common)
    return union, at[number][of]


def follow(state: Possible, release: ObservedRelease) -> tuple[Possible, Int64]:
    """The state after one more release, and int64[members]: where each of its members is in it.

    O(people ever seen + release rows log release rows).
    """
    members = require_members(release)
    sets, now = look_up_sets(release, np.arange(len(members.subjects)), state.sets)
    at, there = lookup(state.subjects, members.subjects)
    candidates, changed = state.candidates.copy(), state.changed.copy()
    moved = np.flatnonzero(there)[candidates[at[there]] != now[there]]
    if len(moved):
        sets, candidates[at[moved]] = intersect_sets(sets, candidates[at[moved]], now[moved])
        changed[at[moved]] = True
    subjects = np.concatenate([state.subjects, members.subjects[~there]])
    order = np.argsort(subjects, kind="stable")
    candidates = np.concatenate([candidates, now[~there]])[order]
    changed = np.concatenate([changed, np.zeros(int((~there).sum()), dtype=np.bool_)])[order]
    merged = Possible(subjects[order], sets, candidates, changed)
    return merged, np.searchsorted(merged.subjects, members.subjects)


def look_back(releases: Sequence[ObservedRelease], newest: int, first_new: int | None = None) -> Possible:
    """What release `newest` (its position) adds for its members.

    A member whose last class before showed the same set as its class now loses nothing by the new release, so only the
    others are followed further back; those numbered from `first_new` on are in no older release. O(release rows log
    release rows), plus per older release the cost of looking up those who have not been found yet.
    """
    release = releases[newest]
    subjects = require_members(release).subjects
    sets, now = look_up_sets(release, np.arange(len(subjects)), Signatures.none())
    candidates, changed = now.copy(), np.zeros(len(subjects), dtype=np.bool_)
    open_ = np.arange(len(subjects) if first_new is None else np.searchsorted(subjects, first_new))
    for position in range(newest - 1, -1, -1):
        if len(open_) == 0:
            break
        older = releases[position]
        at, there = lookup(require_members(older).subjects, subjects[open_])
        found = open_[there]
        sets, then = look_up_sets(older, at[there], sets)
        same = (then == now[found]) & ~changed[found]
        differ = found[~same]
        if len(differ):
            sets, candidates[differ] = intersect_sets(sets, candidates[differ], then[~same])
            changed[differ] = True
        open_ = np.setdiff1d(open_, found[same], assume_unique=True)
    return Possible(subjects, sets, candidates, changed)
