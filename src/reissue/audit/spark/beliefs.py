"""The background knowledge attack on Spark, on a series in fragments: each worker follows the people of one.

An attacker's statistics are of everybody: how values change, how they are spread among kinds of people. Fragments count
both, as they do where `bay-frame` publishes; Spark adds the counts up, and each fragment is told the sums.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from reissue.arrays.lazy import Asked
from reissue.arrays.sets import lookup
from reissue.arrays.types import Bool
from reissue.audit.spark.portion import NamedPortion
from reissue.history.spark_counts import COUNTS, counts_of, sums_for
from reissue.methods.attack import Attack, Outcome
from reissue.methods.beliefs.attack import BackgroundKnowledge, BeliefFindings
from reissue.methods.beliefs.attack_cycle import EVERYWHERE
from reissue.methods.beliefs.estimated_knowledge import SUPPORT
from reissue.model.fragment_counts import Counts, TableCounts
from reissue.model.observed import Observed, ObservedRelease
from reissue.model.placeholders import TokenWords

if TYPE_CHECKING:
    from reissue.engine.spark.verbs import Frame, Spark

NEARBY = "nearby"
COUNTED = pa.schema(
    [("kind", pa.string()), ("release", pa.int32()), ("fragment", pa.int32()), ("asked", pa.bool_()), *COUNTS]
)
"""What fragments count: as `Tally` has it, by kind (a name of `everywhere`, or NEARBY) and release number."""


def in_fragments(spark: Spark, portions: Sequence[NamedPortion], attack: Attack) -> Outcome | None:
    """The outcome of the attack on the whole series, people and values by number; None if it is another attack.

    portions: the fragments of the series. Counts of values and their changes come to the driver, added up; those of
    categories go from worker to worker in two shuffles, and no rows move.
    """
    if not isinstance(attack, BackgroundKnowledge):
        return None
    own = spark.rows_from_tasks(portions, partial(_count_fragment, attack), COUNTED).persist()
    try:
        numbers = [record.number for record in portions[0].shelf.releases]
        telling = Telling(attack, portions, _everywhere(spark, own, numbers))
        return attack.conclude(_parts(spark, own, telling))
    finally:
        own.unpersist()


@dataclass(frozen=True, eq=False)
class Telling:
    """The attack on a fragment, on a worker. everywhere: by release number, what all fragments are told"""

    attack: BackgroundKnowledge
    portions: Sequence[NamedPortion]
    everywhere: Mapping[int, Mapping[str, Counts]]

    def attack_part(self, fragment: int, nearby: Mapping[int, Counts] | None = None) -> BeliefFindings:
        """nearby: by release number, what it is told of the categories of people that it asked for."""
        near = nearby or {}
        told = {n: TableCounts(counts, near.get(n, Counts.none())) for n, counts in self.everywhere.items()}
        return self.attack.attack_part(observed(self.portions[fragment]), told)


class NamedReleases(Asked[ObservedRelease]):
    """The releases of a fragment under the names of the whole, read anew whenever one is asked for: none is kept."""

    def __init__(self, portion: NamedPortion) -> None:
        self._portion = portion

    def __len__(self) -> int:
        return len(self._portion.shelf.releases)

    def at(self, position: int) -> ObservedRelease:
        return self._portion.named(position)


def observed(portion: NamedPortion) -> Observed:
    """The fragment as an attacker sees it who knows everybody's quasi-identifiers, people and values by number."""
    return Observed(NamedReleases(portion), portion.coding.domains, len(portion.coding.values), TokenWords())


def _count_fragment(attack: BackgroundKnowledge, portion: NamedPortion) -> Iterator[pa.Table]:
    """What one fragment counts, as COUNTED says."""
    fragment = portion.fragment
    assert fragment is not None
    for one in attack.survey(observed(portion)):
        for kind, counts in one.tally.everywhere.items():
            yield _table(kind, one.number, fragment, counts, np.zeros(len(counts.key), dtype=np.bool_))
        near = one.tally.nearby
        yield _table(NEARBY, one.number, fragment, near, lookup(one.asked, near.key)[1])


def _table(kind: str, number: int, fragment: int, counts: Counts, asked: Bool) -> pa.Table:
    rows = len(counts.key)
    columns = [
        pa.array(np.full(rows, kind)),
        np.full(rows, number, dtype=np.int32),
        np.full(rows, fragment, dtype=np.int32),
        asked,
        counts.key,
        counts.value,
        counts.count,
    ]
    return pa.table(columns, schema=COUNTED)


def _everywhere(spark: Spark, own: Frame, numbers: Sequence[int]) -> dict[int, dict[str, Counts]]:
    """By release number, what every fragment is told: the sums over all fragments."""
    names = ["kind", "release", *COUNTS.names]
    sums = own.where(f"kind <> '{NEARBY}'").groupBy("kind", "release", "key", "value").sum("count").toDF(*names)
    found = spark.collect(sums, "counts of fragments")
    kind, release = (np.asarray(found.column(name)) for name in names[:2])
    return {n: {name: _only(found, (release == n) & (kind == name)) for name in EVERYWHERE} for n in numbers}


def _only(table: pa.Table, rows: Bool) -> Counts:
    """Some of the counts in a table, in order."""
    counts = counts_of(table.filter(pa.array(rows)))
    return Counts.of(counts.key, counts.value, counts.count)


def _parts(spark: Spark, own: Frame, telling: Telling) -> list[BeliefFindings]:
    """What is learned about the people of each fragment."""
    found: dict[int, BeliefFindings] = {}
    if telling.attack.estimates:
        near = own.where(f"kind = '{NEARBY}'").drop("kind")
        back = sums_for(spark, near.where("asked"), near, SUPPORT, ["release", "key"])

        def attack_part(table: pa.Table, fragment: int) -> BeliefFindings:
            release = np.array(table.column("release"))
            return telling.attack_part(fragment, {n: _only(table, release == n) for n in telling.everywhere})

        found = spark.of_groups(back, "fragment", attack_part)
    rest = [fragment for fragment in range(len(telling.portions)) if fragment not in found]  # asked for nothing
    found |= dict(zip(rest, spark.each(rest, telling.attack_part), strict=True))
    return [found[fragment] for fragment in range(len(telling.portions))]
