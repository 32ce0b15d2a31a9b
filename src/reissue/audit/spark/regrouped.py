"""Rows of a series brought together by the class they are in, wherever they lie: parts for attacks to run on.

A key of every class says which part it belongs to, with all its rows: the set of values that it shows, or the classes
that it is linked with by people. Parts share nobody: classes tied by people, directly or through other classes, stay
together. Two classes are linked when somebody is in the one and next in the other. The links are a small table of
counts however many people there are, so they are counted where the rows lie; components and parts follow here.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa

from reissue.arrays.compiled import njit
from reissue.arrays.sets import connected_components, sorted_unique
from reissue.arrays.types import Int32, Int64
from reissue.audit.spark.fragment import FragmentReader
from reissue.audit.spark.names import TokenWords
from reissue.methods.attack import Outcome
from reissue.methods.attack_parts import ValueSetAttack
from reissue.methods.invariance.signatures import hash_sets
from reissue.model.observed import Observed, ObservedRelease
from reissue.model.release import Facts

if TYPE_CHECKING:
    from reissue.engine.spark.verbs import Frame, Spark


ClassLinks = tuple[Int64, Int64]
"""int64[links] twice: pairs of classes that people (or counterfeits that are known) were in one after the other.

Classes are numbered through over all releases. A pair may be repeated."""


def find_links(releases: Sequence[ObservedRelease]) -> ClassLinks:
    """The links of a series whose members are known, each once. O(rows log rows)."""
    first = number_through([release.class_count for release in releases])
    subjects, nodes = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for position, release in enumerate(releases):
        for some in (release.members, release.counterfeits):
            if some is not None:
                subjects.append(some.subjects)
                nodes.append(first[position] + some.classes)
    subject, node = np.concatenate(subjects), np.concatenate(nodes)
    order = np.argsort(subject, kind="stable")
    subject, node = subject[order], node[order]
    again = np.flatnonzero(subject[1:] == subject[:-1])
    total = np.int64(max(int(first[-1]), 1))
    pair = sorted_unique(node[again] * total + node[again + 1])
    return pair // total, pair % total


def deal_parts(links: ClassLinks, people: Sequence[Int64], parts: int) -> list[Int32]:
    """int32[classes] for each release: the part of each class, 0, 1, ...; at most `parts` of them. O(links + classes).

    people: int64[classes] for each release, the members of each class. Components of linked classes are dealt out, the
    largest first, to the part with the fewest members so far. Every part has members (or there is only one part), so
    that what an attack says of the people of a part is never said of nobody.
    """
    first = number_through([len(of) for of in people])
    component = connected_components(*links, int(first[-1]))
    members = np.concatenate([np.empty(0, dtype=np.int64), *people])
    weight = np.bincount(component, weights=members).astype(np.int64)
    bins = max(1, min(parts, int(np.count_nonzero(weight))))
    dealt = _deal(weight, np.argsort(-weight, kind="stable"), bins)[component]
    return [dealt[start:end] for start, end in pairwise(first.tolist())]


def number_through(counts: Sequence[int]) -> Int64:
    """int64[releases + 1]: where the classes of each release begin when all are numbered through."""
    return np.concatenate([[0], np.cumsum(np.array(counts, dtype=np.int64))]).astype(np.int64)


@njit(cache=True)
def _deal(weight: Int64, order: Int64, bins: int) -> Int32:
    """int32[components]: the bin of each, in the order given always the lightest. O(components log bins)."""
    dealt = np.zeros(len(weight), np.int32)
    heap = [(np.int64(0), np.int64(b)) for b in range(bins)]
    for one in order:
        load, lightest = heap[0]
        dealt[one] = lightest
        heapq.heapreplace(heap, (load + weight[one], lightest))
    return dealt


Shape = TypeVar("Shape")
Told = TypeVar("Told")

ROWS = pa.schema(
    [
        ("release", pa.int32()),
        ("class", pa.int32()),
        ("value", pa.int32()),
        ("subject", pa.int64()),
        ("key", pa.int64()),
        ("part", pa.int32()),
    ]
)
"""A row of a release (position): its class and subject as the whole series calls them, its value, the key of its class,
and the part that the key belongs to."""
PRESENT = pa.schema([("release", pa.int32()), ("subject", pa.int64())])
TIES = pa.schema([("class", pa.int64()), ("tied", pa.int64()), ("people", pa.int64())])
"""A class, the first class that it hangs together with (classes are numbered through), and its members."""
PARTS = 2
"""So many parts for each core, since some are larger than others."""
PART_ROWS = 2_000_000
"""Rows of one part at most, where classes can be parted so far."""

ClassKeys = Callable[[int, ObservedRelease], Int64]
"""int64[classes]: the keys of the classes of the release at a position."""


@contextmanager
def regroup(spark: Spark, readers: Sequence[FragmentReader], keys: ClassKeys, parts: int) -> Iterator[RegroupedRows]:
    """The rows that the readers read, by part; Spark keeps them meanwhile."""
    from reissue.engine.spark.gathering import keep

    places = [(reader, position) for position in range(len(readers[0].shelf.releases)) for reader in readers]

    def read(place: tuple[FragmentReader, int]) -> Iterator[pa.Table]:
        release = place[0].read_named(place[1])
        own = keys(place[1], release)
        names = np.arange(release.class_count, dtype=np.int32) if release.numbers is None else release.numbers
        for some in (release.counterfeits, release.members):
            if some is not None:
                columns = {
                    "release": np.full(len(some.subjects), place[1], dtype=np.int32),
                    "class": names[some.classes],
                    "value": some.values,
                    "subject": some.subjects,
                    "key": own[some.classes],
                    "part": (own[some.classes].view(np.uint64) % np.uint64(parts)).astype(np.int32),
                }
                yield pa.table(columns, schema=ROWS)

    with keep(spark.rows_from_tasks(places, read, ROWS), "part", parts) as rows:
        yield RegroupedRows(spark, readers[0], rows)


@dataclass(frozen=True, eq=False)
class RegroupedRows:
    """The rows of all releases, kept by Spark, by part. reader: any of the series, for what is the same for all"""

    spark: Spark
    reader: FragmentReader
    rows: Frame

    def each(self, task: Callable[[Observed], Told]) -> list[Told]:
        """What the task tells of each part, in the order of the parts."""
        read = PartReader(self.reader)
        return list(self.spark.of_groups(self.rows, "part", lambda rows, _: task(read.part(rows))).values())

    @property
    def steady(self) -> bool:
        """Whether all classes of everybody have the same key."""
        from reissue.engine.spark.gathering import has_several

        return not has_several(self.spark, self.rows, "subject", "key", "people with several signatures")

    def locate(self, people: Int64) -> dict[int, Int64]:
        """Those of the people who are in each release, by its number: workers look for them in their rows."""
        from reissue.engine.spark.gathering import select_numbers

        if len(people) == 0:
            return {}
        found = self.spark.collect(select_numbers(self.rows, "subject", people, PRESENT), "people at risk")
        release, subject = (np.array(found.column(name)) for name in PRESENT.names)
        numbers = [record.number for record in self.reader.shelf.releases]
        return {number: sorted_unique(subject[release == position]) for position, number in enumerate(numbers)}


@dataclass(frozen=True, eq=False)
class PartReader:
    """Makes the part of a series from its rows, on a worker."""

    reader: FragmentReader

    def part(self, rows: pa.Table) -> Observed:
        """Some classes with their names, from all their rows in any order. Exact quasi-identifiers are left out, and so
        are boxes of fragments that have classes of their own."""
        release, number, value, subject = (np.array(rows.column(name)) for name in ROWS.names[:4])
        releases, coding = [], self.reader.coding
        for position, record in enumerate(self.reader.shelf.releases):
            own = np.flatnonzero(release == position)
            own = own[np.argsort(subject[own], kind="stable")]
            names, classes = np.unique(number[own], return_inverse=True)
            boxes, anatomized = self._shape(position, names)
            codes = np.empty((len(own), 0), dtype=np.int32)
            facts = Facts(record.number, boxes, subject[own], classes.astype(np.int32), value[own], codes, anatomized)
            releases.append(replace(ObservedRelease.of(facts), numbers=names))
        return Observed(releases, coding.domains, len(coding.values), TokenWords())

    def _shape(self, position: int, names: Int32) -> tuple[Int32, bool]:
        if not self.reader.whole_classes:
            return np.empty((len(names), 0, 2), dtype=np.int32), False
        boxes, anatomized = self.reader.shape_of(position, None)
        return boxes[names], anatomized


# -- by the sets of values that classes show


def search_value_sets(
    spark: Spark, readers: Sequence[FragmentReader], attack: ValueSetAttack[Shape, Told]
) -> Outcome | None:
    """The outcome of an attack divided by value sets, people by number.

    How the series is searched is a property of the whole: parts tell first of what shape they are, and are then
    searched. None if nobody is in the series, or it is so small that everything is searched at once.
    """
    from reissue.engine.spark.gathering import count_cores

    with regroup(spark, readers, _hash_shown, PARTS * count_cores(spark)) as rows:
        shapes = rows.each(attack.describe_shape)
        shape = attack.join_shapes(shapes, lambda: rows.steady) if shapes else None
        if shape is None:
            return None
        return attack.conclude(rows.each(lambda part: attack.search_part(part, shape)), shape, rows.locate)


def _hash_shown(position: int, release: ObservedRelease) -> Int64:
    classes, values, start = release.groups[0], release.groups[1], np.arange(release.class_count + 1)
    return hash_sets(np.searchsorted(classes, start).astype(np.int64), values).view(np.int64)


# -- by the people that classes share


class LinkedParts:
    """The parts of a series whose fragments have their classes in common, or that was made whole."""

    def __init__(self, spark: Spark, readers: Sequence[FragmentReader], classes: Sequence[int]) -> None:
        """`classes`: how many each release has."""
        self._spark, self._readers, self._counts = spark, readers, classes

    def regroup(self) -> AbstractContextManager[RegroupedRows]:
        """The rows, by part."""
        bins, _ = self._parted
        parts = 1 + max((int(of.max(initial=0)) for of in bins), default=0)
        keys = [of.astype(np.int64) for of in bins]
        return regroup(self._spark, self._readers, lambda position, _: keys[position], parts)

    @property
    def largest(self) -> float:
        """The share of all rows that the largest part has."""
        return self._parted[1]

    @cached_property
    def _parted(self) -> tuple[list[Int32], float]:
        """(the parts of the classes of each release; the share of the largest). Only numbers of classes come here."""
        from reissue.engine.spark.gathering import count_cores

        ties = self._spark.collect(self._spark.rows_from_tasks(self._readers, tie_classes, TIES), "links of classes")
        node, tied, count = (np.asarray(ties.column(name)).astype(np.int64) for name in TIES.names)
        first = number_through(self._counts)
        members = np.bincount(node, count, minlength=int(first[-1])).astype(np.int64)
        people = [members[start:end] for start, end in pairwise(first.tolist())]
        total = int(members.sum())
        wanted = max(PARTS * count_cores(self._spark), -(-total // PART_ROWS))
        bins = deal_parts((node, tied), people, wanted)
        sizes = np.bincount(np.concatenate(bins), np.concatenate(people))
        return bins, float(sizes.max(initial=0)) / max(total, 1)


def tie_classes(reader: FragmentReader) -> Iterator[pa.Table]:
    """What one fragment's people tie together: a row for each class, however many they are. O(rows log rows)."""
    releases = list(reader.releases)
    sizes = np.concatenate([release.sizes for release in releases])
    yield pa.table([np.arange(len(sizes), dtype=np.int64), find_first_tied(releases), sizes], schema=TIES)


def find_first_tied(releases: Sequence[ObservedRelease]) -> Int64:
    """int64[classes]: of each class, all numbered through, the first one that it hangs together with."""
    component = connected_components(*find_links(releases), sum(release.class_count for release in releases))
    return np.unique(component, return_index=True)[1].astype(np.int64)[component]
