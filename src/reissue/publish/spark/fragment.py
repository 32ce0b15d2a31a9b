"""Rows on Spark dealt out to fragments, and one fragment on a worker: compared with its past, made and written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from reissue.coding import Coding
from reissue.engine.identifiers import Identifiers
from reissue.engine.spark.counting import add_numbers, empty_rows, join_latest, rename_columns, replace_numbers
from reissue.history.identities import read_identities
from reissue.history.public_files import make_public_tables
from reissue.history.spark_counts import (
    combinations_to_table,
    counts_from_table,
    counts_to_table,
)
from reissue.ledger import Marks, PartWriter, Shelf
from reissue.ledger.parquet import numbers_of, pack, unpack
from reissue.ledger.store import Staged
from reissue.model.domain import Domain
from reissue.model.fragment_counts import Counts, FragmentCounts, TableCounts
from reissue.model.fragments import Fragments, divide
from reissue.model.release import Candidate, Counterfeits
from reissue.publish.division import FragmentChanges, FragmentSummary, TableDivision
from reissue.publish.fragment import FragmentJob, FragmentRelease, SnapshotRows

if TYPE_CHECKING:
    from reissue.engine.spark.verbs import Frame, Spark
    from reissue.model.requirement import Requirement


def safe_column_names(encoded: Frame, attributes: int) -> Frame:
    """The insensitive columns called i0, i1, ...: Spark trips over dots and quotes in names."""
    others = [f"i{n}" for n in range(len(encoded.columns) - attributes - 3)]
    return rename_columns(encoded, ["row", "identifier", *(f"c{a}" for a in range(attributes)), "value", *others])


def join_numbers(spark: Spark, encoded: Frame, shelf: Shelf) -> Frame:
    """The rows with `number`: the latest one of each identifier, -1 if it has none."""
    known = read_identities(spark, shelf) if shelf.state.of_role("identities") else None
    rows, marks = join_latest(spark, encoded, known), Marks.read(shelf)  # of forgotten people only: few
    if not len(marks):
        return rows
    return replace_numbers(rows, "number", lambda table: marks.fill(table["identifier"], numbers_of(table["number"])))


def assign_fragments(rows: Frame, division: TableDivision) -> Frame:
    """The rows with `fragment`."""
    return add_numbers(rows, "fragment", lambda table: division.of(read_rows(table)))


def cut_sample(spark: Spark, sample: Frame, count: int, coding: Coding, side: Requirement) -> Fragments:
    """The cuts, made by one worker from a sample of the rows; only they come to the driver."""
    domains = coding.domains

    def cut(table: pa.Table) -> Fragments:
        part = read_rows(table.sort_by("row"))
        return divide(part.codes, part.values, domains, count, side)

    found = spark.on_one(sample.select("row", "value", *_numbered_columns(sample.columns, "c")), cut)
    assert found is not None, "a snapshot has rows"
    return found


def _numbered_columns(names: Iterable[str], letter: str) -> list[str]:
    return [name for name in names if name[0] == letter and name[1:].isdigit()]


def read_rows(table: pa.Table) -> SnapshotRows:
    """The columns that `SparkSnapshot.encoded` describes, as arrays; what is not there is empty."""
    names = _numbered_columns(table.column_names, "c")
    codes = np.empty((table.num_rows, len(names)), dtype=np.int32, order="F")
    for a in range(len(names)):
        codes[:, a] = table.column(f"c{a}").to_numpy()
    others = _numbered_columns(table.column_names, "i")
    insensitive = table.select(others)
    nobody = pa.nulls(table.num_rows, pa.large_string())
    identifiers = table.column("identifier") if "identifier" in table.column_names else nobody
    if isinstance(identifiers, pa.ChunkedArray):
        identifiers = pa.concat_arrays(identifiers.cast(pa.large_string()).chunks or [nobody])
    numbers = table.column("number").to_numpy() if "number" in table.column_names else np.full(table.num_rows, -1)
    return SnapshotRows(
        Identifiers.of(identifiers),
        numbers.astype(np.int64),
        codes,
        table.column("value").to_numpy().astype(np.int32),
        insensitive if others else None,
    )


@dataclass(frozen=True, eq=False)
class SurveyedFragment:
    """What a worker found in the rows of a fragment, and where it put them.

    counts: what the other fragments need to know, but for what is in files: what is `nearby`, and by name with the
            number of its columns what the planner needs
    """

    survey: FragmentChanges
    rows: Staged
    counts: FragmentCounts | None
    nearby: Staged | None
    planned: Mapping[str, tuple[Staged, int]]


def survey_fragments(
    spark: Spark, frame: Frame, jobs: Sequence[FragmentJob], writers: Sequence[PartWriter]
) -> list[SurveyedFragment]:
    """Each fragment's rows written to a private file by the worker that gets them, and compared with its past."""
    names = [name for name in frame.columns if name != "fragment"]

    def survey(table: pa.Table, fragment: int) -> SurveyedFragment:
        table = table.select(names).sort_by("row")
        staged = writers[fragment].rows(table)
        rows = read_rows(table)
        permitted = jobs[fragment].compare_with_past(rows)
        counts, nearby, planned = jobs[fragment].count_for_others(rows, permitted.compared), None, {}
        if counts is not None:
            if len(counts.nearby.key):
                nearby = writers[fragment].rows(counts_to_table(counts.nearby))
            for name, counted in counts.planned.items():
                planned[name] = writers[fragment].rows(combinations_to_table(counted)), len(counted.columns)
            counts = replace(counts, nearby=Counts.none(), planned={})
        return SurveyedFragment(
            FragmentChanges.of(permitted, rows, jobs[fragment].coding), staged, counts, nearby, planned
        )

    found = spark.of_groups(frame, "fragment", survey, "summaries of fragments", len(jobs))
    missing = [job.fragment for job in jobs if job.fragment not in found]
    if missing:  # nobody of these is here now, but somebody may have gone
        found |= dict(zip(missing, spark.each(missing, partial(survey, empty_rows(frame))), strict=True))
    return [found[job.fragment] for job in jobs]


@dataclass(frozen=True, eq=False)
class FragmentResult:
    """What a worker made of a fragment: its summary, and the private files it wrote.

    public: what is to be published of it, by table, with class numbers of its own; schemas: their columns
    paths: what is left to be checked for all fragments together, with the number of its columns
    """

    summary: FragmentSummary
    private: tuple[Staged, ...]
    public: Mapping[str, Staged]
    schemas: Mapping[str, pa.Schema]
    paths: tuple[Staged, int] | None


@dataclass(frozen=True, eq=False)
class FragmentTask:
    """Making one fragment, on a worker.

    whole: what it is told of the whole table; `nearby` and `plan` are files with the rest of that
    """

    job: FragmentJob
    writer: PartWriter
    staged: Staged
    first: int
    observed: tuple[Domain, ...]
    insensitive: pa.Schema
    whole: TableCounts | None = None
    nearby: Staged | None = None
    plan: Staged | None = None

    def given(self) -> tuple[SnapshotRows, TableCounts | None]:
        """The fragment's rows, and what it is told."""
        read = self.job.shelf.store.read_staged
        rows, whole = read_rows(read(self.staged)), self.whole
        if whole is not None and self.nearby is not None:
            whole = replace(whole, nearby=counts_from_table(read(self.nearby)))
        if self.plan is not None:
            whole = TableCounts({}, plan=plan_from_table(read(self.plan)))
        if rows.insensitive is not None:
            rows = replace(rows, insensitive=_restore_types(rows.insensitive, self.insensitive))
        return rows, whole

    def run(self) -> FragmentResult:
        rows, whole = self.given()
        compared = self.job.compare_with_past(rows).compared
        made = self.job.make(rows, compared, self.first, whole)
        new = np.flatnonzero(compared.numbers < 0)
        private = [
            *self.writer.facts(made.facts),
            *self.writer.identities(rows.identifiers.take(new), made.coded.subjects[new]),
            *self.writer.caches(made.caches),
        ]
        tables = self._public(made)
        public = {name: self.writer.rows(table) for name, table in tables.items()}
        schemas = {name: table.schema for name, table in tables.items()}
        paths = None
        if made.paths is not None:
            paths = self.writer.rows(combinations_to_table(made.paths)), len(made.paths.columns)
        return FragmentResult(FragmentSummary.of(made, self.observed), tuple(private), public, schemas, paths)

    def _public(self, made: FragmentRelease) -> dict[str, pa.Table]:
        """As `make_public_tables`, without dictionaries: the parts are sorted together before they are published."""
        order = np.arange(len(made.facts.subjects))
        tables = make_public_tables(made.facts, made.lent, order, self.job.coding)
        return {name: _resolve_dictionaries(table) for name, table in tables.items()}


def _restore_types(table: pa.Table, source: pa.Schema) -> pa.Table:
    """The columns under the names of their source, and in its types where they can be had back from Spark's."""
    columns = {}
    for field_, column in zip(source, table.columns, strict=True):
        wanted = field_.type.value_type if pa.types.is_dictionary(field_.type) else field_.type
        with suppress(pa.ArrowException):
            column = column.cast(wanted)
        columns[field_.name] = column
    return pa.table(columns)


def _resolve_dictionaries(table: pa.Table) -> pa.Table:
    columns = [
        column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for column in table.columns
    ]
    return pa.table(dict(zip(table.column_names, columns, strict=True)))


def plan_to_table(plan: Candidate) -> pa.Table:
    """A plan, for the file in which workers find it."""
    extras = {f"extra:{name}": array for name, array in plan.extras.items()}
    return pack({"boxes": plan.boxes, "steps": np.array(plan.steps, dtype=np.str_), **extras})


def plan_from_table(table: pa.Table) -> Candidate:
    """What `plan_to_table` put there."""
    arrays = unpack(table)
    boxes = arrays["boxes"].astype(np.int32, copy=False)
    return Candidate(
        boxes=boxes,
        classes=np.empty(0, dtype=np.int32),
        counterfeits=Counterfeits.none(boxes.shape[1]),
        steps=tuple(str(step) for step in arrays["steps"]),
        extras={name.removeprefix("extra:"): array for name, array in arrays.items() if name.startswith("extra:")},
    )
