"""Attacks on counts: for series whose fragments have their classes in common, so that nobody has all the rows.

Workers count the ways of their fragment's people through the releases, Spark adds them up, and one worker attacks the
sums. Nobody is named there: where somebody is at risk, the rows are needed after all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from reissue.arrays.combinations import Combinations
from reissue.audit.spark.portion import shape_of
from reissue.audit.words import AuditWords
from reissue.coding import Coding
from reissue.history.past_releases import PastReleases
from reissue.ledger import Shelf
from reissue.methods.attack import Attack, Division, Outcome
from reissue.model.observed import Observed
from reissue.model.paths import count_paths, make_counted_releases

if TYPE_CHECKING:
    from reissue.engine.spark.verbs import Spark


def on_counts(spark: Spark, shelf: Shelf, coding: Coding, attack: Attack) -> Outcome | None:
    """The outcome of the attack on the whole series; None if counts do not tell it, or somebody is at risk."""
    if not attack.divides(Division.COUNTS) or not all(one.common_classes for one in shelf.releases):
        return None
    releases = len(shelf.releases)
    names = [f"c{place}" for place in range(releases + 1)]
    numbers = ("count", "first")
    schema = pa.schema([*((name, pa.int32()) for name in names), *((name, pa.int64()) for name in numbers)])
    parts = list(zip(shelf.divided(len(shelf.fragments)), shelf.fragments, strict=True))

    def read(part: tuple[Shelf, int | None]) -> Iterator[pa.Table]:
        ways, first = count_paths(list(PastReleases(part[0], coding, part[1])))
        yield pa.table([*ways.columns, ways.counts, first], schema=schema)

    added = spark.rows_from_tasks(parts, read, schema).groupBy(*names).agg({"count": "sum", "first": "min"})
    everything = added.selectExpr(*names, "`sum(count)` AS count", "`min(first)` AS first")

    def attacked(table: pa.Table) -> Outcome:
        *columns, counts, people = (np.array(column) for column in table.sort_by("first").select(schema.names))
        ways = Combinations(tuple(columns), counts)
        boxes = [shape_of(shelf, coding, position, None)[0] for position in range(releases)]
        words = AuditWords(coding, "subject {}".format)
        series = Observed(make_counted_releases(boxes, ways, people), coding.domains, len(coding.values), words)
        return attack.run(series)

    outcome = spark.on_one(everything, attacked)
    if outcome is None or outcome.breaches or any(len(people) for people in outcome.at_risk.values()):
        return None
    return outcome
