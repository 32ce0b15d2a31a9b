"""A series as a graph of people and classes: whoever is in a class has one of its values.

Classes of several releases that repeat each other are told once, so they count once. What classes say together stays
the same, with fewer loops: values persist, so what a class says of its members it says for good. Three rules, none of
which loses or adds anything:
- a class with the same members and values as an earlier one says nothing new;
- a class whose members all lie in a class that deals no other values than it does says nothing new (its rows of nobody
  take the rest): a class that people leave while its values stay;
- of a class that lies wholly in another one, and has no rows of nobody, the other one's rest says the same: its other
  members share its other values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.factor_graph import FactorGraph
from reissue.arrays.permanent import Deals
from reissue.arrays.sets import find_owners, find_starts, lookup, mix_bits, sorted_unique, union
from reissue.arrays.types import NO_CODES, NO_NUMBERS, Bool, Int32, Int64
from reissue.model.observed import Members, Observed, ObservedRelease

IMPLIED, APART = 1, 2


@dataclass(frozen=True, eq=False)
class ClassTable(Deals):
    """Classes one after the other, those of earlier releases first: what they deal, and to whom.

    members: int64[], people; values: int32[], ascending within a class
    """

    members: Int64
    values: Int32

    @property
    def owner(self) -> Int64:
        """int64[members]: the class of each entry."""
        return find_owners(self.member_start)

    @property
    def value_owner(self) -> Int64:
        """int64[values]: the class of each entry."""
        return find_owners(self.value_start)

    @staticmethod
    def join(tables: Sequence[ClassTable]) -> ClassTable:
        def starts(sizes: Sequence[Int64]) -> Int64:
            return find_starts(np.concatenate([NO_NUMBERS, *sizes]))

        return ClassTable(
            starts([np.diff(table.member_start) for table in tables]),
            starts([np.diff(table.value_start) for table in tables]),
            np.concatenate([NO_NUMBERS, *(table.counts for table in tables)]),
            np.concatenate([NO_NUMBERS, *(table.members for table in tables)]),
            np.concatenate([NO_CODES, *(table.values for table in tables)]),
        )

    def keep(self, members: Bool, counts: Int64) -> ClassTable:
        """Without some members, with other counts; classes without members, and values of count 0, go."""
        size = np.bincount(self.owner[members], minlength=len(self))
        stays = size > 0
        shown = stays[self.value_owner] & (counts > 0)
        kinds = np.bincount(self.value_owner[shown], minlength=len(self))
        return ClassTable(
            find_starts(size[stays]),
            find_starts(kinds[stays]),
            counts[shown],
            self.members[members],
            self.values[shown],
        )


def leave_out_nested(classes: ClassTable) -> ClassTable:
    """The classes that say as much together, with fewer repetitions. O(members log members)."""
    once = _leave_out_repeated(classes)
    return _leave_out_repeated(_take_apart(once))


def _leave_out_repeated(classes: ClassTable) -> ClassTable:
    """Without classes that have the members and values of an earlier one."""
    with np.errstate(over="ignore"):
        who = mix_bits(classes.members.astype(np.uint64) + np.uint64(1))
        what = mix_bits(classes.values.astype(np.uint64) << np.uint64(32) | classes.counts.astype(np.uint64))
        sums = np.zeros((len(classes), 2), dtype=np.uint64)
        np.add.at(sums[:, 0], classes.owner, who)
        np.add.at(sums[:, 0], classes.value_owner, mix_bits(what + np.uint64(1)))
        np.add.at(sums[:, 1], classes.owner, mix_bits(who ^ np.uint64(0x9E3779B97F4A7C15)))
        np.add.at(sums[:, 1], classes.value_owner, what)
    order = np.lexsort((sums[:, 1], sums[:, 0]))  # of equal ones the earliest comes first
    kept = np.ones(len(classes), dtype=np.bool_)
    kept[order[1:]] = (np.diff(sums[order], axis=0) != 0).any(axis=1)
    return classes.keep(kept[classes.owner], classes.counts)


def _take_apart(classes: ClassTable) -> ClassTable:
    """Leave out implied classes, and of classes that hold others what these say.

    Looks at classes that share a person one after the other. A class is taken apart by later ones, or else by earlier
    ones: those of one side share nobody with each other.
    """
    order = np.lexsort((classes.owner, classes.members))
    follows = classes.members[order[1:]] == classes.members[order[:-1]]
    before, after = order[:-1][follows], order[1:][follows]  # entries of one person in consecutive classes
    owner, size = classes.owner, np.diff(classes.member_start)
    width = max(1, len(classes))
    pairs, link, shared = np.unique(owner[before] * width + owner[after], return_inverse=True, return_counts=True)
    one, other = pairs // width, pairs % width
    later, earlier = (shared == size[other]) & (size[one] > shared), (shared == size[one]) & (size[other] > shared)
    inner, outer = np.where(later, other, one), np.where(later, one, other)
    counts = classes.counts.copy()
    verdict = _judge(
        inner, outer, later | earlier, later, size, classes.value_start, classes.values, classes.counts, counts
    )
    gone = np.zeros(len(classes), dtype=np.bool_)
    gone[inner[verdict == IMPLIED]] = True
    member = ~gone[owner]
    member[before[(verdict[link] == APART) & later[link]]] = False
    member[after[(verdict[link] == APART) & earlier[link]]] = False
    return classes.keep(member, counts)


@njit(cache=True)
def _judge(inner, outer, nested, later, size, value_start, values, counts, left):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """int64[pairs]: IMPLIED if the outer class implies the inner one, APART if the inner one is taken out of the outer.

    left: int64[], the counts that outer classes keep, changed in place.
    """
    verdict = np.zeros(len(inner), np.int64)
    side = np.zeros(len(size), np.int64)  # 1: taken apart by later classes, 2: by earlier ones
    for turn in range(1, 3):
        for pair in range(len(inner)):
            if not nested[pair] or later[pair] != (turn == 1):
                continue
            small, large = inner[pair], outer[pair]
            rows = 0
            for i in range(value_start[small], value_start[small + 1]):
                rows += counts[i]
            if _covers(small, large, value_start, values, counts, counts):
                verdict[pair] = IMPLIED
            elif rows != size[small] or side[large] not in (0, turn):
                continue
            elif _covers(large, small, value_start, values, left, counts):
                verdict[pair], side[large] = APART, turn
                _subtract(small, large, value_start, values, counts, left)
    return verdict


@njit(cache=True)
def _covers(one, other, value_start, values, ones, others):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """Whether the first class deals every value at least as often as the second; ones, others: int64[] their counts."""
    i = value_start[one]
    for j in range(value_start[other], value_start[other + 1]):
        while i < value_start[one + 1] and values[i] < values[j]:
            i += 1
        if i == value_start[one + 1] or values[i] != values[j] or ones[i] < others[j]:
            return False
    return True


@njit(cache=True)
def _subtract(small, large, value_start, values, counts, left):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """Take the values of one class out of what another one keeps."""
    i = value_start[large]
    for j in range(value_start[small], value_start[small + 1]):
        while values[i] < values[j]:
            i += 1
        left[i] -= counts[j]


@dataclass(frozen=True, eq=False)
class KnownPeople:
    """Everybody of a series, by number.

    subjects: int64[people] ascending; codes: int32[people, attributes] as in the last release that has them;
    values: int32[people] their true values, for the auditor's judgement only
    """

    subjects: Int64
    codes: Int32
    values: Int32

    def __len__(self) -> int:
        return len(self.subjects)


def list_people(releases: Sequence[ObservedRelease], attributes: int) -> KnownPeople:
    """Everybody whom the releases with members know."""
    known = [release.members for release in releases if release.members is not None]
    subjects = union(*(members.subjects for members in known))
    codes = np.zeros((len(subjects), attributes), dtype=np.int32)
    values = np.zeros(len(subjects), dtype=np.int32)
    for members in known:
        at, _ = lookup(subjects, members.subjects)
        codes[at], values[at] = members.codes, members.values
    return KnownPeople(subjects, codes, values)


def tabulate_classes(release: ObservedRelease, members: Members, people: KnownPeople) -> ClassTable:
    """The classes of one release that have members; they share nobody, so that their order decides nothing."""
    present = sorted_unique(members.classes)
    order = np.argsort(members.classes, kind="stable")
    who, _ = lookup(people.subjects, members.subjects[order])
    sizes = np.bincount(members.classes, minlength=release.class_count)[present]
    groups = release.counted.pick(present)
    return ClassTable(find_starts(sizes), groups.start, groups.count, who, groups.value)


@dataclass(frozen=True, eq=False)
class SeriesGraph:
    """Everybody, all classes as they were published, and the fewer classes that say as much.

    published: every class of every release that has members; reduced: see above
    """

    people: KnownPeople
    published: FactorGraph
    reduced: FactorGraph
    skipped: tuple[int, ...]

    @staticmethod
    def of(series: Observed, until: int) -> SeriesGraph:
        """Of the first `until` releases; releases without members are skipped, and named."""
        releases = [series.releases[position] for position in range(until)]
        people = list_people(releases, len(series.domains))
        tables = [
            tabulate_classes(one, one.members, people)
            for one in releases
            if one.members is not None and len(one.members.subjects)
        ]
        every = ClassTable.join(tables)
        fewer = leave_out_nested(every)
        skipped = tuple(one.number for one in releases if one.members is None)
        return SeriesGraph(
            people,
            FactorGraph(every, every.members, every.values, len(people), series.value_count),
            FactorGraph(fewer, fewer.members, fewer.values, len(people), series.value_count),
            skipped,
        )


def present_in(release: ObservedRelease, people: KnownPeople) -> Bool:
    """bool[people]: who is in the release."""
    here = np.zeros(len(people), dtype=np.bool_)
    if release.members is not None:
        here[lookup(people.subjects, release.members.subjects)[0]] = True
    return here
