"""The equivalence attack on Spark: classes that show the same values are brought together, whoever is in them.

Classes are only weighed against classes with the same set of values, so a part has all classes of some sets, and their
rows. How the series is searched is a property of the whole: parts tell first how they look, and are then searched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa

from reissue.arrays.sets import sorted_unique, union
from reissue.arrays.types import Int64
from reissue.audit.spark.portion import NamedPortion
from reissue.methods.attack import Attack, Outcome
from reissue.methods.equivalence.attack import Equivalence, SeriesShape
from reissue.methods.equivalence.attack_search import SearchTotals
from reissue.methods.invariance.signatures import hash_sets
from reissue.model.observed import Observed, ObservedRelease
from reissue.model.placeholders import TokenWords
from reissue.model.release import Facts

if TYPE_CHECKING:
    from reissue.engine.spark.verbs import Frame, Spark

Told = TypeVar("Told")

ROWS = pa.schema(
    [
        ("release", pa.int32()),
        ("class", pa.int32()),
        ("value", pa.int32()),
        ("subject", pa.int64()),
        ("set", pa.int64()),
        ("part", pa.int32()),
    ]
)
"""A row of a release (position): its class and subject as the whole series calls them, its value, a hash of the set
of values that the class shows, and the part that the set belongs to."""
PRESENT = pa.schema([("release", pa.int32()), ("subject", pa.int64())])
PARTS = 2
"""So many parts for each core: some sets are shown by many more classes than others."""


def by_sets(spark: Spark, portions: Sequence[NamedPortion], attack: Attack) -> Outcome | None:
    """The outcome of the attack on the whole series, people by number.

    None if it is another attack, nobody is in the series, or it is so small that everything is searched at once.
    """
    if not isinstance(attack, Equivalence):
        return None
    parts = PARTS * spark.session.sparkContext.defaultParallelism
    places = [(portion, position) for position in range(len(portions[0].shelf.releases)) for portion in portions]
    rows = spark.rows_from_tasks(places, _Reading(parts), ROWS).repartition(parts, "part").persist()
    try:
        return _Together(spark, portions[0], attack, rows).outcome()
    finally:
        rows.unpersist()


@dataclass(frozen=True)
class _Reading:
    """Reads one release of one portion, on a worker. parts: how many there are"""

    parts: int

    def __call__(self, place: tuple[NamedPortion, int]) -> Iterator[pa.Table]:
        release = place[0].named(place[1])
        everybody = [some for some in (release.counterfeits, release.members) if some is not None]
        classes, values, start = release.groups[0], release.groups[1], np.arange(release.class_count + 1)
        sets = hash_sets(np.searchsorted(classes, start).astype(np.int64), values)
        names = np.arange(release.class_count, dtype=np.int32) if release.numbers is None else release.numbers
        for some in everybody:
            columns = {
                "release": np.full(len(some.subjects), place[1], dtype=np.int32),
                "class": names[some.classes],
                "value": some.values,
                "subject": some.subjects,
                "set": sets[some.classes].view(np.int64),
                "part": (sets[some.classes] % np.uint64(self.parts)).astype(np.int32),
            }
            yield pa.table(columns, schema=ROWS)


@dataclass(frozen=True, eq=False)
class _Together:
    """The rows of all releases, kept by Spark, by part. portion: any of the series, for what is the same for all"""

    spark: Spark
    portion: NamedPortion
    attack: Equivalence
    rows: Frame

    def outcome(self) -> Outcome | None:
        attack = self.attack
        shapes = self._each(attack.describe_shape)
        if not shapes:
            return None
        shape = SeriesShape.sum_up(shapes)
        if shape.apart and not self._steady:
            shape = shape.as_mixed()
        if shape.needs_whole(attack):
            return None
        tally = SearchTotals.sum_up(self._each(lambda part: attack.search_part(part, shape)))
        return attack.conclude(tally, shape, self._at_risk(union(*tally.risky)))

    def _each(self, task: Callable[[Observed], Told]) -> list[Told]:
        """What the task tells of each part, in the order of the parts."""
        gather = _Gather(self.portion)
        return list(self.spark.of_groups(self.rows, "part", lambda rows, _: task(gather.part(rows))).values())

    @property
    def _steady(self) -> bool:
        """Whether everybody's classes show the same set; sets of equal hash are compared in their part."""
        people = self.rows.selectExpr("subject", "set AS low", "set AS high").groupBy("subject")
        several = people.agg({"low": "min", "high": "max"}).toDF("subject", "low", "high").where("low <> high")
        return bool(self.spark.collect(several.limit(1), "people with several signatures").num_rows == 0)

    def _at_risk(self, people: Int64) -> dict[int, Int64]:
        """Those of the people who are in each release: workers look for them in their rows."""
        if len(people) == 0:
            return {}
        from reissue.engine.spark.tasks import mapped, spark_schema

        def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
            for batch in batches:
                yield pa.Table.from_batches([batch]).filter(pa.array(np.isin(batch.column("subject"), people)))

        made = spark_schema(PRESENT)
        there = self.rows.select("release", "subject").mapInArrow(mapped(run, made), made)
        found = self.spark.collect(there, "people at risk")
        release, subject = (np.array(found.column(name)) for name in PRESENT.names)
        numbers = [record.number for record in self.portion.shelf.releases]
        return {number: sorted_unique(subject[release == position]) for position, number in enumerate(numbers)}


@dataclass(frozen=True, eq=False)
class _Gather:
    """Makes the part of a series from its rows, on a worker."""

    portion: NamedPortion

    def part(self, rows: pa.Table) -> Observed:
        """All classes of some sets, with names, from all their rows in any order; boxes and codes are left out."""
        release, number, value, subject = (np.array(rows.column(name)) for name in ROWS.names[:4])
        releases = []
        for position, record in enumerate(self.portion.shelf.releases):
            own = np.flatnonzero(release == position)
            own = own[np.argsort(subject[own], kind="stable")]
            names, classes = np.unique(number[own], return_inverse=True)
            boxes, codes = np.empty((len(names), 0, 2), dtype=np.int32), np.empty((len(own), 0), dtype=np.int32)
            facts = Facts(record.number, boxes, subject[own], classes.astype(np.int32), value[own], codes)
            releases.append(replace(ObservedRelease.of(facts), numbers=names))
        return Observed(releases, (), len(self.portion.coding.values), TokenWords())
