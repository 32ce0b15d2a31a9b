"""Who was where: the columns of the person matrix, people with the same classes in all releases taken together.

Rows are all classes of the series; an attack is a weight for each row under which the values cancel. In an m-invariant
series the rows fall into independent blocks, one per signature (lemma 3 of He, Barman & Naughton 2011).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from reissue.arrays.sets import connected_components, lookup
from reissue.arrays.types import Bool, Int32, Int64
from reissue.methods.invariance.signatures import Signatures, join_sets, number_sets
from reissue.model.observed import Listing, ObservedRelease, require_members


@dataclass(frozen=True, eq=False)
class Block:
    """Rows (classes) and columns (people alike) that can be attacked on their own.

    release, number: int32[rows] the release and class number of each row, by release
    inside:   bool[columns, rows] who is in which class
    weight:   int64[columns] people (or counterfeits) in each column; real: bool[columns]
    values:   int64[rows, kinds] how often each class shows each value
    people:   int64[n] their subject numbers, sorted by column; start: int64[columns + 1] where each column begins
    """

    release: Int32
    number: Int32
    inside: Bool
    weight: Int64
    real: Bool
    values: Int64
    people: Int64
    start: Int64

    def who(self, column: int) -> Int64:
        return self.people[self.start[column] : self.start[column + 1]]


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


def make_blocks(
    releases: Sequence[ObservedRelease],
    rows: ClassRows,
    patterns: Patterns,
    *,
    apart: bool,
    buckets: Int32 | None = None,
) -> Iterator[Block]:
    """One block per value set (or per bucket, int32[rows], if given) if `apart`, else one of everything.

    Columns of people who are nowhere are left out.
    """
    way = patterns.pattern.astype(np.int64) * 2 + (patterns.subjects >= 0)  # counterfeits are columns of their own
    seen = np.flatnonzero(patterns.pattern >= 0)
    order = seen[np.argsort(way[seen], kind="stable")]
    ways, low = np.unique(way[order], return_index=True)
    high = np.append(low[1:], len(order))
    steps = (ways // 2).astype(np.int32)
    if not apart:
        buckets = np.zeros(len(rows.shows), dtype=np.int32)
    block_of_step = (rows.shows if buckets is None else buckets)[patterns.row[steps]]
    by_block = np.argsort(block_of_step, kind="stable")
    for own in np.split(by_block, np.flatnonzero(np.diff(block_of_step[by_block])) + 1):
        if len(own):
            people = [patterns.subjects[order[low[i] : high[i]]] for i in own]
            yield _make_block(releases, rows, patterns, steps[own], people)


def _make_block(
    releases: Sequence[ObservedRelease], rows: ClassRows, patterns: Patterns, steps: Int32, people: list[Int64]
) -> Block:
    ways = [patterns.rows(int(step)) for step in steps]
    used = np.unique(np.concatenate([np.array(way) for way in ways]))
    inside = np.zeros((len(ways), len(used)), dtype=np.bool_)
    for column, way in enumerate(ways):
        inside[column, np.searchsorted(used, way)] = True
    weight = np.array([len(who) for who in people], dtype=np.int64)
    real = np.array([bool(who[0] >= 0) for who in people])
    values = count_values(releases, rows, used)
    inside, weight, real = _add_strangers(inside, weight, real, values)
    extra = [np.empty(0, dtype=np.int64)] * (len(weight) - len(people))
    sizes = np.array([len(who) for who in (*people, *extra)], dtype=np.int64)
    return Block(
        rows.release[used],
        rows.number[used],
        inside,
        weight,
        real,
        values,
        np.concatenate(people),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
    )


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


def _add_strangers(inside: Bool, weight: Int64, real: Bool, values: Int64) -> tuple[Bool, Int64, Bool]:
    """Add a column for the rows of each class that belong to nobody known: each is unknown in one release only."""
    missing = values.sum(axis=1) - weight @ inside
    at = np.flatnonzero(missing > 0)
    more = np.zeros((len(at), inside.shape[1]), dtype=np.bool_)
    more[np.arange(len(at)), at] = True
    return (
        np.concatenate([inside, more]),
        np.concatenate([weight, missing[at]]),
        np.concatenate([real, np.zeros(len(at), dtype=np.bool_)]),
    )
