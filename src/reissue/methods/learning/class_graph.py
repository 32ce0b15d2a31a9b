"""A series as a graph of people and classes: whoever is in a class has one of its values.

Classes that say the same are told once, and of two classes of which one holds the other only what is new is kept:
the smaller one, and the rest of the larger. What classes say together stays the same, with fewer loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reissue.arrays.factor_graph import FactorGraph
from reissue.arrays.permanent import Deals
from reissue.arrays.sets import lookup, sorted_unique, union
from reissue.arrays.types import Bool, Int32, Int64
from reissue.methods.learning.nested_classes import ClassTable, leave_out_nested
from reissue.model.observed import Members, Observed, ObservedRelease


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
    return ClassTable(np.append(0, np.cumsum(sizes)).astype(np.int64), who, groups.start, groups.value, groups.count)


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
            as_graph(every, len(people), series.value_count),
            as_graph(fewer, len(people), series.value_count),
            skipped,
        )


def as_graph(classes: ClassTable, people: int, value_count: int) -> FactorGraph:
    deals = Deals(classes.member_start, classes.value_start, classes.counts)
    return FactorGraph(deals, classes.members, classes.values, people, value_count)


def present_in(release: ObservedRelease, people: KnownPeople) -> Bool:
    """bool[people]: who is in the release."""
    here = np.zeros(len(people), dtype=np.bool_)
    if release.members is not None:
        here[lookup(people.subjects, release.members.subjects)[0]] = True
    return here
