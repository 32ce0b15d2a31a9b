"""Attacks on what fragments count: workers count where the rows are, Spark adds up, and no rows move."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa

from reissue.arrays.sets import Combinations, lookup
from reissue.arrays.types import Bool
from reissue.audit.spark.fragment import FragmentReader
from reissue.coding import CodingWords
from reissue.history.past_releases import PastReleases
from reissue.history.spark_counts import COUNTS, counts_from_table, sum_for_fragments
from reissue.methods.attack import Attack, Outcome
from reissue.methods.attack_parts import SharedCountAttack
from reissue.model.fragment_counts import Counts, TableCounts
from reissue.model.observed import Observed
from reissue.model.paths import count_paths, make_counted_releases

if TYPE_CHECKING:
    from reissue.engine.spark.verbs import Frame, Spark

Found = TypeVar("Found")


# -- where fragments have their classes in common


def attack_paths(spark: Spark, readers: Sequence[FragmentReader], attack: Attack) -> Outcome | None:
    """The outcome of an attack divided by counts, on a series whose fragments have their classes in common.

    Workers count the paths of their fragment's people through the releases, and one of them attacks the sums. Nobody
    is named there: None where somebody is at risk, since then the rows are needed after all.
    """
    from reissue.engine.spark.gathering import combine

    releases, coding = len(readers[0].shelf.releases), readers[0].coding
    names = [f"c{place}" for place in range(releases + 1)]
    words = CodingWords(coding, "subject {}".format, readers[0].shelf.labels)
    schema = pa.schema([*((name, pa.int32()) for name in names), ("count", pa.int64()), ("first", pa.int64())])

    def read(reader: FragmentReader) -> Iterator[pa.Table]:
        paths, first = count_paths(list(PastReleases(reader.shelf, coding, reader.fragment)), words)
        yield pa.table([*paths.columns, paths.counts, first], schema=schema)

    def attack_sums(table: pa.Table) -> Outcome:
        *columns, counts, people = (np.array(column) for column in table.sort_by("first").select(schema.names))
        boxes = [readers[0].boxes_of(position, None) for position in range(releases)]
        paths = Combinations(tuple(columns), counts)
        counted = make_counted_releases(boxes, paths, people)
        return attack.run(Observed(counted, coding.domains, len(coding.values), words))

    sums = combine(spark.rows_from_tasks(readers, read, schema), names, {"count": "sum", "first": "min"})
    outcome = spark.on_one(sums, attack_sums)
    if outcome is None or outcome.breaches or any(len(people) for people in outcome.at_risk.values()):
        return None
    return outcome


# -- where fragments must be told what all of them counted

NEARBY = "nearby"
COUNTED = pa.schema(
    [("kind", pa.string()), ("release", pa.int32()), ("fragment", pa.int32()), ("asked", pa.bool_()), *COUNTS]
)
"""What fragments count: as `FragmentSurvey` has it, by kind (a name of `everywhere`, or NEARBY) and release number."""


def share_counts(spark: Spark, readers: Sequence[FragmentReader], attack: SharedCountAttack[Found]) -> Outcome:
    """The outcome of an attack with shared counts, people and values by number. readers: the fragments of the series.

    Counts that every fragment needs come to the driver, added up; those of which it needs some go from worker to worker
    in two shuffles, and no rows move.
    """
    from reissue.engine.spark.gathering import keep

    with keep(spark.rows_from_tasks(readers, partial(_count_fragment, attack), COUNTED)) as own:
        numbers = [record.number for record in readers[0].shelf.releases]
        everywhere = _sum_everywhere(spark, own, numbers, attack.shared)
        return attack.conclude(_attack_parts(spark, own, readers, attack, everywhere))


def _count_fragment(attack: SharedCountAttack[Found], reader: FragmentReader) -> Iterator[pa.Table]:
    """What one fragment counts, as COUNTED says."""
    for one in attack.survey(reader.observe()):
        for kind, counts in one.tally.everywhere.items():
            yield _make_count_table(
                kind, one.number, reader.fragment, counts, np.zeros(len(counts.key), dtype=np.bool_)
            )
        near = one.tally.nearby
        yield _make_count_table(NEARBY, one.number, reader.fragment, near, lookup(one.asked, near.key)[1])


def _make_count_table(kind: str, number: int, fragment: int | None, counts: Counts, asked: Bool) -> pa.Table:
    rows = len(counts.key)
    columns = [
        pa.array(np.full(rows, kind)),
        np.full(rows, number, dtype=np.int32),
        np.full(rows, fragment or 0, dtype=np.int32),
        asked,
        counts.key,
        counts.value,
        counts.count,
    ]
    return pa.table(columns, schema=COUNTED)


def _sum_everywhere(
    spark: Spark, own: Frame, numbers: Sequence[int], shared: Sequence[str]
) -> dict[int, dict[str, Counts]]:
    """By release number, what every fragment is told: the sums over all fragments."""
    from reissue.engine.spark.gathering import combine, select_where

    keys = ["kind", "release", "key", "value"]
    sums = combine(select_where(own, f"kind <> '{NEARBY}'"), keys, {"count": "sum"})
    found = spark.collect(sums, "counts of fragments")
    kind, release = (np.asarray(found.column(name)) for name in keys[:2])
    return {n: {name: _select_counts(found, (release == n) & (kind == name)) for name in shared} for n in numbers}


def _select_counts(table: pa.Table, rows: Bool) -> Counts:
    """Some of the counts in a table, in order."""
    counts = counts_from_table(table.filter(pa.array(rows)))
    return Counts.of(counts.key, counts.value, counts.count)


def _attack_parts(
    spark: Spark,
    own: Frame,
    readers: Sequence[FragmentReader],
    attack: SharedCountAttack[Found],
    everywhere: Mapping[int, Mapping[str, Counts]],
) -> list[Found]:
    """What is learned about the people of each fragment."""
    from reissue.engine.spark.gathering import select_where

    def learn(fragment: int, nearby: Mapping[int, Counts] | None = None) -> Found:
        near = nearby or {}
        told = {number: TableCounts(counts, near.get(number, Counts.none())) for number, counts in everywhere.items()}
        return attack.attack_part(readers[fragment].observe(), told)

    def learn_nearby(table: pa.Table, fragment: int) -> Found:
        release = np.array(table.column("release"))
        return learn(fragment, {number: _select_counts(table, release == number) for number in everywhere})

    found: dict[int, Found] = {}
    if attack.estimates:
        near = select_where(own, f"kind = '{NEARBY}'")
        back = sum_for_fragments(spark, select_where(near, "asked"), near, attack.support, ["release", "key"])
        found = spark.of_groups(back, "fragment", learn_nearby, count=len(readers))
    rest = [fragment for fragment in range(len(readers)) if fragment not in found]  # asked for nothing
    found |= dict(zip(rest, spark.each(rest, learn), strict=True))
    return [found[fragment] for fragment in range(len(readers))]
