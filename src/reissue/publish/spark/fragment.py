"""One fragment on a worker of Spark: its rows are kept and compared with its past, then it is made and written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from reissue.arrays.types import Int64
from reissue.history.public_files import public_tables, source_rows
from reissue.history.spark_counts import combinations_of, combinations_table, counts_of, counts_table
from reissue.ledger import PartWriter, Stage
from reissue.ledger.parquet import pack, unpack
from reissue.ledger.store import Staged
from reissue.model.domain import Domain
from reissue.model.fragment_counts import Counts, FragmentCounts, TableCounts
from reissue.model.release import Candidate, Counterfeits
from reissue.publish.common_classes import Checked
from reissue.publish.fragment import Made, Rows, Work
from reissue.publish.spark.rows import rows_of
from reissue.publish.summary import Result, Survey

if TYPE_CHECKING:
    from reissue.engine.spark.verbs import Frame, Spark


@dataclass(frozen=True, eq=False)
class Surveyed:
    """What a worker found in the rows of a fragment, and where it put them.

    tally: what the other fragments need to know, but for what is in files: what is `nearby`, and by name with the
           number of its columns what the planner needs
    """

    survey: Survey
    rows: Staged
    tally: FragmentCounts | None
    nearby: Staged | None
    planned: Mapping[str, tuple[Staged, int]]


def surveyed(spark: Spark, frame: Frame, works: Sequence[Work], stage: Stage) -> list[Surveyed]:
    """Each fragment's rows written to a private file by the worker that gets them, and compared with its past."""
    names = [name for name in frame.columns if name != "fragment"]
    writers = [stage.writer(work.fragment) for work in works]

    def survey(table: pa.Table, fragment: int) -> Surveyed:
        table = table.select(names).sort_by("row")
        staged = writers[fragment].rows(table)
        rows = rows_of(table)
        permitted = works[fragment].compared(rows)
        tally, nearby, planned = works[fragment].tally(rows, permitted.compared), None, {}
        if tally is not None:
            if len(tally.nearby.key):
                nearby = writers[fragment].rows(counts_table(tally.nearby))
            for name, counted in tally.planned.items():
                planned[name] = writers[fragment].rows(combinations_table(counted)), len(counted.columns)
            tally = replace(tally, nearby=Counts.none(), planned={})
        return Surveyed(Survey.of(permitted, rows), staged, tally, nearby, planned)

    found = spark.of_groups(frame, "fragment", survey, "summaries of fragments")
    missing = [work.fragment for work in works if work.fragment not in found]
    if missing:  # nobody of these is here now, but somebody may have gone
        from reissue.engine.spark.tasks import arrow_schema

        empty = arrow_schema(frame.schema).empty_table()
        found |= dict(zip(missing, spark.each(missing, partial(survey, empty)), strict=True))
    return [found[work.fragment] for work in works]


@dataclass(frozen=True, eq=False)
class Planning:
    """Making one plan for all fragments, on a worker. combinations: files with the sums of what all counted."""

    work: Work
    writer: PartWriter
    rows: int
    combinations: Mapping[str, Staged]

    def run(self) -> Staged:
        """The file with the plan."""
        read = self.work.shelf.store.read_staged
        counted = {name: combinations_of(read(staged)) for name, staged in self.combinations.items()}
        return self.writer.rows(_plan_table(self.work.planned(self.rows, counted)))


@dataclass(frozen=True, eq=False)
class Checking:
    """Checking a release whose classes are common to all fragments, on a worker: the plan, and everybody's ways."""

    work: Work
    plan: Staged
    ways: Staged

    def run(self) -> Checked:
        read = self.work.shelf.store.read_staged
        return self.work.checked(_plan_of(read(self.plan)), combinations_of(read(self.ways)))


@dataclass(frozen=True, eq=False)
class Done:
    """What a worker made of a fragment: its summary, and the private files it wrote.

    public: what is to be published of it, by table, with class numbers of its own; schemas: their columns
    ways: what is left to be checked for all fragments together, with the number of its columns
    """

    result: Result
    private: tuple[Staged, ...]
    public: Mapping[str, Staged]
    schemas: Mapping[str, pa.Schema]
    ways: tuple[Staged, int] | None


@dataclass(frozen=True, eq=False)
class Task:
    """Making one fragment, on a worker.

    whole: what it is told of the whole table; `nearby` and `plan` are files with the rest of that
    """

    work: Work
    writer: PartWriter
    staged: Staged
    first: int
    observed: tuple[Domain, ...]
    insensitive: pa.Schema
    whole: TableCounts | None = None
    nearby: Staged | None = None
    plan: Staged | None = None

    def given(self) -> tuple[Rows, TableCounts | None]:
        """The fragment's rows, and what it is told."""
        read = self.work.shelf.store.read_staged
        rows, whole = rows_of(read(self.staged)), self.whole
        if whole is not None and self.nearby is not None:
            whole = replace(whole, nearby=counts_of(read(self.nearby)))
        if self.plan is not None:
            whole = TableCounts({}, plan=_plan_of(read(self.plan)))
        if rows.insensitive is not None:
            rows = replace(rows, insensitive=_restored(rows.insensitive, self.insensitive))
        return rows, whole

    def run(self) -> Done:
        rows, whole = self.given()
        compared = self.work.compared(rows).compared
        made = self.work.made(rows, compared, self.first, whole)
        new = np.flatnonzero(compared.numbers < 0)
        private = [
            *self.writer.facts(made.facts),
            *self.writer.identities(rows.identifiers.take(pa.array(new)), made.coded.subjects[new]),
            *self.writer.caches(made.caches),
        ]
        tables = self._public(rows, made)
        public = {name: self.writer.rows(table) for name, table in tables.items()}
        schemas = {name: table.schema for name, table in tables.items()}
        ways = None
        if made.ways is not None:
            ways = self.writer.rows(combinations_table(made.ways)), len(made.ways.columns)
        return Done(Result.of(made, self.observed), tuple(private), public, schemas, ways)

    def _public(self, rows: Rows, made: Made) -> dict[str, pa.Table]:
        """As `public_tables`, every dictionary resolved: the parts are sorted together before they are published."""
        sources: Int64 | None = None
        if rows.insensitive is not None:
            sources = source_rows(made.coded, made.candidate, made.facts, self.work.own_seed)
        order = np.arange(len(made.facts.subjects))
        tables = public_tables(made.facts, rows.insensitive, sources, order, self.work.coding)
        return {name: _plain(table) for name, table in tables.items()}


def _restored(table: pa.Table, source: pa.Schema) -> pa.Table:
    """The columns under the names of their source, and in its types where they can be had back from Spark's."""
    columns = {}
    for field_, column in zip(source, table.columns, strict=True):
        wanted = field_.type.value_type if pa.types.is_dictionary(field_.type) else field_.type
        with suppress(pa.ArrowException):
            column = column.cast(wanted)
        columns[field_.name] = column
    return pa.table(columns)


def _plain(table: pa.Table) -> pa.Table:
    columns = [
        column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for column in table.columns
    ]
    return pa.table(dict(zip(table.column_names, columns, strict=True)))


def _plan_table(plan: Candidate) -> pa.Table:
    extras = {f"extra:{name}": array for name, array in plan.extras.items()}
    return pack({"boxes": plan.boxes, "steps": np.array(plan.steps, dtype=np.str_), **extras})


def _plan_of(table: pa.Table) -> Candidate:
    arrays = unpack(table)
    boxes = arrays["boxes"].astype(np.int32, copy=False)
    return Candidate(
        boxes=boxes,
        classes=np.empty(0, dtype=np.int32),
        counterfeits=Counterfeits.none(boxes.shape[1]),
        steps=tuple(str(step) for step in arrays["steps"]),
        extras={name.removeprefix("extra:"): array for name, array in arrays.items() if name.startswith("extra:")},
    )
