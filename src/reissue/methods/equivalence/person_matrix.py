"""Who was where: the columns of the person matrix, people with the same classes in all releases taken together.

Rows are all classes of the series; an attack is a weight for each row under which the values cancel. In an m-invariant
series the rows fall into independent blocks, one per signature (lemma 3 of He, Barman & Naughton 2011). How a series
looks so decides how it is searched, and what need not be.

Classes that share nobody with any other, as standing classes do, are no use to an attack of few people. Weights W of
the classes show y = W S, and are an attack if the values cancel; then both sides have as many rows. All n people of a
class Q that shares nobody have one number, W_Q. If it is not 0, they all stand on one side: the attack has at least n
people on each.

Whole people show no more, if Q has two different values x and y. Let A and B be disjoint sets that have the same values
in every world, and a person a of Q be in A. If somebody b of Q is not in A, there is a world in which a has x and b has
y, and the one in which they exchange these, which touches nobody else. A then has one x less and one y more, and B is
as it was, or has one y less and one x more: A and B cannot have the same values in both worlds. So A holds all of Q.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from reissue.arrays.sets import connected_components, lookup
from reissue.arrays.types import Bool, Int32, Int64
from reissue.methods.invariance.signatures import Signatures, join_sets, number_sets
from reissue.model.observed import Listing, ObservedRelease, keep_classes, leave_out_repeats, require_members


def list_everyone(release: ObservedRelease) -> tuple[Int64, Int32]:
    """(int64[n] ascending, int32[n] classes): members, and the counterfeits where they are known by number."""
    members = require_members(release)
    fakes = release.counterfeits
    if fakes is None or len(fakes.subjects) == 0:
        return members.subjects, members.classes
    return np.concatenate([fakes.subjects, members.subjects]), np.concatenate([fakes.classes, members.classes])


def list_subjects(releases: Sequence[ObservedRelease], position: int) -> Int64:
    """int64[n] ascending: as `list_everyone`, without the classes; where that is possible nothing else is read."""
    return releases.subjects(position) if isinstance(releases, Listing) else list_everyone(releases[position])[0]


@dataclass(frozen=True, eq=False)
class ClassRows:
    """All classes of some releases, numbered through.

    first: int64[releases + 1] where each release's classes begin; release, number: int32[rows]
    sets:  the distinct value sets; shows: int32[rows] the set of each class
    even:  bool[rows] its values are equally frequent; times: int64[rows] how often it shows each then
    """

    first: Int64
    release: Int32
    number: Int32
    sets: Signatures
    shows: Int32
    even: Bool
    times: Int64

    @property
    def merged(self) -> Bool:
        """bool[rows]: its values are equally frequent, and it is the only class of its release that shows them."""
        return self.merged_within(self.shows)

    def merged_within(self, buckets: Int32) -> Bool:
        """bool[rows]: its values are equally frequent, and it is the only class of its release in its bucket.

        buckets: int32[rows] the bucket of each class; within one, all classes show the same set.
        """
        key = self.release.astype(np.int64) << 32 | buckets
        _, of, count = np.unique(key, return_inverse=True, return_counts=True)
        return np.asarray(self.even & (count[of] == 1), dtype=np.bool_)


def number_classes(releases: Sequence[ObservedRelease]) -> ClassRows:
    """Number the classes. O(all published rows log)."""
    counts = np.array([release.class_count for release in releases], dtype=np.int64)
    first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    sets, shows = Signatures.none(), []
    even, times = np.ones(int(first[-1]), dtype=np.bool_), np.zeros(int(first[-1]), dtype=np.int64)
    for position, release in enumerate(releases):
        classes, values, count = release.groups
        start = np.searchsorted(classes, np.arange(release.class_count + 1)).astype(np.int64)
        own, class_set = number_sets(start, values)
        sets, at = join_sets(sets, own)
        shows.append(at[class_set])
        begin = np.flatnonzero(np.diff(classes, prepend=-1))
        if len(begin):
            at_row = first[position] + classes[begin]
            most, least = np.maximum.reduceat(count, begin), np.minimum.reduceat(count, begin)
            even[at_row], times[at_row] = most == least, most
    numbers = [np.arange(count, dtype=np.int32) for count in counts]
    release_of = np.repeat(np.array([release.number for release in releases], dtype=np.int32), counts)
    joined_numbers = np.concatenate(numbers) if numbers else np.empty(0, dtype=np.int32)
    return ClassRows(first, release_of, joined_numbers, sets, _concatenate(shows), even, times)


def _concatenate(parts: list[Int32]) -> Int32:
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int32)


@dataclass(frozen=True, eq=False)
class Patterns:
    """Everybody's way through the classes, as a tree of steps.

    subjects: int64[people] ascending; pattern: int32[people] the last step of each, -1 = never seen
    parent, row: int32[steps] the step before (-1: none) and the class (row) of each step
    """

    subjects: Int64
    pattern: Int32
    parent: Int32
    row: Int32

    def rows(self, pattern: int) -> list[int]:
        """The classes of a pattern, the last one first."""
        found = []
        while pattern >= 0:
            found.append(int(self.row[pattern]))
            pattern = int(self.parent[pattern])
        return found


def trace_patterns(releases: Sequence[ObservedRelease], rows: ClassRows, keep: Bool | None = None) -> Patterns:
    """Fold the releases; `keep` (bool[rows]) restricts to some classes. O(releases x people log people)."""
    subjects, pattern = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32)
    parents, steps, total = [], [], 0
    for position, release in enumerate(releases):
        who, classes = list_everyone(release)
        row = rows.first[position] + classes
        if keep is not None:
            who, row = who[keep[row]], row[keep[row]]
        fresh = who[~lookup(subjects, who)[1]]
        if len(fresh):
            order = np.argsort(np.concatenate([subjects, fresh]), kind="stable")
            subjects = np.concatenate([subjects, fresh])[order]
            pattern = np.concatenate([pattern, np.full(len(fresh), -1, dtype=np.int32)])[order]
        at = np.searchsorted(subjects, who)
        step, of = np.unique((pattern[at].astype(np.int64) + 1) << 32 | row, return_inverse=True)
        parents.append(((step >> 32) - 1).astype(np.int32))
        steps.append((step & 0xFFFFFFFF).astype(np.int32))
        pattern[at] = total + of
        total += len(step)
    return Patterns(subjects, pattern, _concatenate(parents), _concatenate(steps))


def connect_classes(rows: ClassRows, patterns: Patterns) -> Int32:
    """int32[rows]: classes that share people (or known counterfeits), directly or through others, have one number.

    In an invariant series the classes of a component show one set. Nobody is in two components, so an attack y is the
    sum of its pieces y_k, one in each component k, and shows |y_k| people there. If the classes of a component are
    merged within it, its history is a graph as in `lifespans`, whatever else is published, and that argument asks
    nothing of y_k but that it is not all 0: |y_k| is at least the component's smallest new cut c_k. Hence an attack

    - within one component is an attack on that bucket alone, and shows at least c_k people;
    - over several components of one set shows at least the sum of two of their cuts; their values need only cancel
      together, so it may exist where neither bucket can be attacked alone (two whole buckets of equal counts);
    - over several sets either falls apart into attacks on single sets, or shows more than m people on a side (lemma 3).

    O(steps).
    """
    later = np.flatnonzero(patterns.parent >= 0)
    before, after = patterns.row[patterns.parent[later]], patterns.row[later]
    return connected_components(before.astype(np.int64), after.astype(np.int64), len(rows.shows)).astype(np.int32)


def is_invariant(rows: ClassRows, patterns: Patterns) -> bool:
    """Whether all classes are even and everybody's classes show the same set (weak m-invariance for some m)."""
    later = np.flatnonzero(patterns.parent >= 0)
    before = patterns.row[patterns.parent[later]]
    return bool(rows.even.all() and (rows.shows[before] == rows.shows[patterns.row[later]]).all())


def count_values(releases: Sequence[ObservedRelease], rows: ClassRows, used: Int64) -> Int64:
    """int64[used, kinds]: how often each of these classes shows each value (only values that occur)."""
    numbers = {release.number: release for release in releases}
    counts: list[dict[int, int]] = []
    for row in used:
        classes, values, count = numbers[int(rows.release[row])].groups
        own = slice(*np.searchsorted(classes, [rows.number[row], rows.number[row] + 1]))
        counts.append(dict(zip(values[own].tolist(), count[own].tolist(), strict=True)))
    kinds = sorted({value for own in counts for value in own})
    return np.array([[own.get(value, 0) for value in kinds] for own in counts], dtype=np.int64).reshape(len(used), -1)


MOST_BUCKETS = 10_000
"""Beyond this many buckets that share nobody, classes are only set against each other in pairs."""
MOST_MIXED = 20_000
"""Up to so many classes a series in which people go from one set of values to another is searched whole."""
MERGED, PIECES, PAIRS = "merged", "pieces", "pairs"
"""Ways to search a series: by buckets, one class a release; by buckets of parts that share nobody; only in pairs."""


@dataclass(frozen=True)
class SeriesShape:
    """What decides how a series is searched; parts of it that have all classes of some sets of values add up.

    Whatever the way, classes are only weighed against classes that show the same values, but for the small series that
    is searched all at once (`needs_whole`). So parts can be searched one by one, once the way is known, which is a
    property of the whole series.

    classes:  of all releases together; smallest: values of the smallest set, if there are any
    apart:    all classes show their values equally often, and everybody's classes the same set. Nobody sees from a part
              that a person has classes elsewhere: who adds up parts must know that nobody has
    merged:   then, whether each set is shown by one class of a release at most; within: by one that shares people
    buckets:  how many buckets of several releases share nobody with the others
    """

    classes: int
    smallest: int | None
    apart: bool
    merged: bool
    within: bool
    buckets: int

    @property
    def way(self) -> str:
        if self.apart and self.merged:
            return MERGED
        return PIECES if self.apart and self.within and self.buckets <= MOST_BUCKETS else PAIRS

    @property
    def needs_whole(self) -> bool:
        """Whether parts cannot be searched one by one: people go from one set of values to another."""
        return not self.apart and self.classes <= MOST_MIXED

    @property
    def can_settle(self) -> bool:
        """Whether parts so small that their worlds can be listed are few enough to be looked at."""
        return self.can_connect and self.classes <= MOST_MIXED

    @property
    def can_connect(self) -> bool:
        """Whether all classes that share people are looked at together."""
        return self.apart or self.needs_whole

    def as_mixed(self) -> SeriesShape:
        """The shape of a series in which somebody's classes show different sets."""
        return replace(self, apart=False, merged=False, within=False, buckets=0)

    @staticmethod
    def sum_up(shapes: Sequence[SeriesShape]) -> SeriesShape:
        return SeriesShape(
            sum(one.classes for one in shapes),
            min((one.smallest for one in shapes if one.smallest is not None), default=None),
            all(one.apart for one in shapes),
            all(one.merged for one in shapes),
            all(one.within for one in shapes),
            sum(one.buckets for one in shapes),
        )


def leave_out_lone(releases: Sequence[ObservedRelease], e: int) -> tuple[list[ObservedRelease], int | None]:
    """(what is left of the releases, the fewest people on a side of an attack that uses the rest; None: no rest).

    Classes that only say again what they said are left out first: they are the same equation. O(n log n).
    """
    once = [leave_out_repeats(release) for release in releases]
    lone, people = _find_lone(once, e)
    first = np.cumsum([0, *(release.class_count for release in once)])
    parts = zip(once, pairwise(first.tolist()), strict=True)
    left = [keep_classes(release, ~lone[begin:end]) for release, (begin, end) in parts]
    return left, int(people[lone].min()) if lone.any() else None


def _find_lone(releases: Sequence[ObservedRelease], e: int) -> tuple[Bool, Int64]:
    """(bool[classes]: shares nobody, has at least e people and two values; int64[classes] its people), of all."""
    rows = number_classes(releases)
    pieces = connect_classes(rows, trace_patterns(releases, rows))
    counts = [np.bincount(list_everyone(release)[1], minlength=release.class_count) for release in releases]
    people = np.concatenate(counts).astype(np.int64) if counts else np.empty(0, dtype=np.int64)
    alone = np.bincount(pieces, minlength=1)[pieces] == 1
    return np.asarray(alone & (people >= e) & (rows.sets.sizes[rows.shows] > 1), dtype=np.bool_), people
