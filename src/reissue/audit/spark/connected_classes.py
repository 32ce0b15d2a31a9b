"""The parts of a series that was made whole: classes linked by people, their rows brought together by Spark.

Workers read the ledger and count; tables by class come to the driver, which deals connected classes out to parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from reissue.arrays.components import connected_components
from reissue.arrays.types import Int32, Int64
from reissue.audit.parallel import Task
from reissue.audit.spark.portion import shape_of
from reissue.coding import Coding
from reissue.ledger import Shelf
from reissue.methods.attack import Attack, Outcome
from reissue.model.observed import Members, Observed, ObservedRelease
from reissue.model.placeholders import TokenWords
from reissue.model.release import Facts
from reissue.model.series_parts import ClassLinks, deal_parts, find_links, keep_classes

if TYPE_CHECKING:
    from reissue.engine.spark.verbs import Frame, Spark

PART_ROWS = 2_000_000
"""Rows of one part at most, where classes can be parted so far."""

LINKED = pa.schema([("one", pa.int64()), ("other", pa.int64())])
APPEARANCE = pa.schema([("release", pa.int32()), ("class", pa.int32()), ("value", pa.int32()), ("subject", pa.int64())])


class Gathered:
    """The parts of a series that is not divided: connected classes, their rows brought together by Spark."""

    def __init__(self, spark: Spark, shelf: Shelf, coding: Coding) -> None:
        self._spark, self._shelf, self._coding = spark, shelf, coding

    def attacked(self, attack: Attack) -> list[Outcome | None]:
        bins, rows = self._parted
        gather = Gather(self._shelf, self._coding, bins)
        told = self._spark.of_groups(rows, "part", lambda own, part: Task(attack, gather.part(part, own)).run())
        return list(told.values())

    @cached_property
    def _parted(self) -> tuple[list[Int32], Frame]:
        """(the classes' parts; the rows with their part, which Spark keeps)."""
        bins, _ = self._bins
        parts = 1 + max((int(of.max(initial=0)) for of in bins), default=0)

        def label(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
            for batch in batches:
                release, classes = _array(batch, "release"), _array(batch, "class")
                part = np.zeros(len(classes), dtype=np.int32)
                for position in np.unique(release).tolist():
                    own = release == position
                    part[own] = bins[position][classes[own]]
                yield pa.Table.from_batches([batch]).append_column("part", pa.array(part))

        from reissue.engine.spark.tasks import mapped_in_arrow, spark_schema

        schema = spark_schema(APPEARANCE.append(pa.field("part", pa.int32())))
        labelled = mapped_in_arrow(appearances(self._spark, self._shelf), label, schema)
        return bins, labelled.repartition(parts, "part").persist()

    @property
    def largest(self) -> float:
        """The share of the rows that the largest part has."""
        return self._bins[1]

    @cached_property
    def _bins(self) -> tuple[list[Int32], float]:
        """(int32[classes] of each release: its classes' parts; the largest part's share of the rows)."""
        counts = self._spark.each([self._shelf], partial(class_counts, fragment=None))[0]
        rows = appearances(self._spark, self._shelf)
        people = [np.zeros(count, dtype=np.int64) for count in counts]
        found = self._spark.collect(self._spark.count(rows.where("subject >= 0"), ["release", "class"]), "class sizes")
        release, number, count = (_array(found, name) for name in ("release", "class", "count"))
        for position, own in enumerate(people):
            here = release == position
            own[number[here]] = count[here]
        total = int(sum(int(own.sum()) for own in people))
        wanted = max(2 * self._spark.session.sparkContext.defaultParallelism, -(-total // PART_ROWS))
        bins = deal_parts(linked(self._spark, rows, counts), people, wanted)
        sizes = np.bincount(np.concatenate(bins), np.concatenate(people))
        return bins, float(sizes.max(initial=0)) / max(total, 1)

    def close(self) -> None:
        if "_parted" in self.__dict__:
            self._parted[1].unpersist()


def appearances(spark: Spark, shelf: Shelf) -> Frame:
    """Every row of every release, read by workers: its release (position), class, value and subject."""
    places = [(position, part) for position in range(len(shelf.releases)) for part in shelf.fragments]

    def read(place: tuple[int, int | None]) -> Iterator[pa.Table]:
        position, part = place
        facts = shelf.facts(shelf.releases[position].number, part)
        release = np.full(len(facts.subjects), position, dtype=np.int32)
        columns = {"class": facts.classes, "value": facts.values, "subject": facts.subjects}
        yield pa.table({"release": release, **columns})

    return spark.rows_from_tasks(places, read, APPEARANCE)


def linked(spark: Spark, rows: Frame, counts: Sequence[int]) -> ClassLinks:
    """Links that join the same classes as all links do, counted where the rows lie.

    Each worker has all appearances of its people, and tells of each class it has seen only one that it hangs together
    with: at most one link for each class and worker, however many people there are.
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
        gathered = list(batches)
        if gathered:
            one, other = knots(pa.Table.from_batches(gathered), counts)
            yield pa.table({"one": one, "other": other})

    from reissue.engine.spark.tasks import mapped, spark_schema

    made = spark_schema(LINKED)
    found = spark.collect(rows.repartition("subject").mapInArrow(mapped(run, made), made), "links of classes")
    first = _first(counts)
    sides = []
    for name in ("one", "other"):
        node = _array(found, name).astype(np.int64)
        release = (np.searchsorted(first, node, side="right") - 1).astype(np.int64)
        sides += [release, node - first[release]]
    return ClassLinks(*sides)


def knots(rows: pa.Table, counts: Sequence[int]) -> tuple[Int64, Int64]:
    """(classes, the first class each of them is connected with), numbered through over releases. O(rows log rows)."""
    release, number, subject = (_array(rows, name) for name in ("release", "class", "subject"))
    seen = []
    for position, count in enumerate(counts):
        own = np.flatnonzero(release == position)
        nothing = np.empty((len(own), 0), dtype=np.int32)
        members = Members(subject[own], number[own], nothing, number[own])
        seen.append(
            ObservedRelease(position + 1, np.empty((count, 0, 2), dtype=np.int32), number[own], number[own], members)
        )
    links, first = find_links(seen), _first(counts)
    tail, head = first[links.earlier] + links.left, first[links.later] + links.right
    component = connected_components(tail, head, int(first[-1]))
    representative = np.unique(component, return_index=True)[1].astype(np.int64)[component]
    moved = np.flatnonzero(representative != np.arange(len(representative)))
    return moved, representative[moved]


@dataclass(frozen=True, eq=False)
class Gather:
    """Makes parts of a series from their rows, on a worker. bins: int32[classes] of each release, the classes' parts"""

    shelf: Shelf
    coding: Coding
    bins: Sequence[Int32]

    def part(self, part: int, rows: pa.Table) -> Observed:
        """The sub-series of one part, from all its rows in any order."""
        release, number, value, subject = (_array(rows, name) for name in APPEARANCE.names)
        releases = []
        for position, record in enumerate(self.shelf.releases):
            own = np.flatnonzero(release == position)
            own = own[np.argsort(subject[own], kind="stable")]
            boxes, anatomized = shape_of(self.shelf, self.coding, position, None)
            nothing = np.empty((len(own), 0), dtype=np.int32)
            facts = Facts(record.number, boxes, subject[own], number[own], value[own], nothing, anatomized)
            releases.append(
                keep_classes(ObservedRelease.of(facts), np.flatnonzero(self.bins[position] == part).astype(np.int32))
            )
        return Observed(releases, self.coding.domains, len(self.coding.values), TokenWords())


def _first(counts: Sequence[int]) -> Int64:
    """int64[releases + 1]: where the classes of each release begin when all are numbered through."""
    return np.concatenate([[0], np.cumsum(np.array(counts, dtype=np.int64))]).astype(np.int64)


def _array(table: pa.Table | pa.RecordBatch, name: str) -> np.ndarray:
    """A column as an array of its own: compiled kernels treat read-only arrays as another type."""
    return np.array(table.column(name))


def class_counts(shelf: Shelf, fragment: int | None) -> list[int]:
    """The classes of each release, of one fragment or of the whole."""
    return [len(shelf.shape(record.number, fragment)[0]) for record in shelf.releases]
