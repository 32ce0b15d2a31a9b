"""Rows on Spark dealt out to fragments, and one fragment on a worker: compared with its past, made and written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from reissue.arrays.types import Int32
from reissue.coding import Coding
from reissue.engine.identifiers import Identifiers, deal_hashes, hash_identifiers, join_identifiers
from reissue.engine.output import widen_labels
from reissue.engine.spark.gathering import count_cores
from reissue.engine.spark.tasks import PACKED, Placing, open_cells, pack_rows
from reissue.history.public_files import make_public_tables
from reissue.history.spark_counts import (
    combinations_to_table,
    counts_from_table,
    counts_to_table,
)
from reissue.ledger import Marks, PartWriter, Shelf
from reissue.ledger.parquet import numbers_of, pack, unpack
from reissue.ledger.records import PrivateFile
from reissue.ledger.store import Staged
from reissue.model.domain import Domain
from reissue.model.fragment_counts import Counts, FragmentCounts, TableCounts
from reissue.model.fragments import Fragments, divide
from reissue.model.release import Candidate, Counterfeits
from reissue.publish.division import FragmentChanges, FragmentSummary
from reissue.publish.fragment import FragmentJob, FragmentRelease, SnapshotRows

if TYPE_CHECKING:
    from reissue.engine.spark.verbs import Frame, Spark
    from reissue.model.requirement import Requirement


def number_known(
    spark: Spark, shelf: Shelf, packed: Callable[[Placing, int], Frame], place: Placing, count: int
) -> Frame:
    """The rows with `number`: the latest one of each identifier, -1 if it has none.

    packed: gives the rows, packed for where they are told to go; place: to which of `count` places they go numbered.
    Before that, rows and identities of like hashes meet on one of as many workers as there are cores.
    """
    marks, cores = Marks.read(shelf), count_cores(spark)  # marks are of forgotten people only: few

    def meet(table: pa.Table) -> Int32:
        return deal_hashes(hash_identifiers(table.column("identifier")), cores)

    def read(file: PrivateFile) -> Iterable[pa.Table]:
        known = shelf.read(file)
        return pack_rows(known, meet, cores)

    def number(met: pa.Table, _: int) -> Iterable[pa.Table]:
        cells = open_cells(met)
        rows = [cell for cell in cells if "row" in cell.column_names]
        if rows:
            known = [cell for cell in cells if "row" not in cell.column_names]
            numbered = _append_numbers(pa.concat_tables(rows), known, marks)
            yield from pack_rows(numbered, place, count)

    known = spark.rows_from_tasks(shelf.state.of_role("identities"), read, PACKED)
    return spark.map_places(packed(meet, cores).union(known), "place", number, PACKED, cores)


def _append_numbers(rows: pa.Table, known: Sequence[pa.Table], marks: Marks) -> pa.Table:
    """known: tables of `identifier` and `subject`."""
    names = rows.column("identifier").combine_chunks()
    numbers = np.full(len(names), -1, dtype=np.int64)
    if known:
        there = pa.concat_tables(known)
        numbers = join_identifiers((there.column("identifier").combine_chunks(), numbers_of(there["subject"])), names)
    return rows.append_column("number", pa.array(marks.fill(names, numbers)))


def cut_sample(spark: Spark, sample: Frame, count: int, coding: Coding, side: Requirement) -> Fragments:
    """The cuts, made by one worker from a packed sample of the rows; only they come to the driver."""
    domains = coding.domains

    def cut(table: pa.Table, _: int) -> Fragments:
        part = read_rows(table.sort_by("row"))
        return divide(part.codes, part.values, domains, count, side)

    return spark.of_places(sample, 1, cut)[0]


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
    spark: Spark, packed: Frame, nobody: pa.Table, jobs: Sequence[FragmentJob], writers: Sequence[PartWriter]
) -> list[SurveyedFragment]:
    """Each fragment's rows written to a private file by the worker that gets them, and compared with its past.

    packed: by fragment; nobody: the same columns without rows
    """

    def survey(table: pa.Table, fragment: int) -> SurveyedFragment:
        table = _sort_by_row(table)
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

    found = spark.of_places(packed, len(jobs), survey, "summaries of fragments")
    missing = [job.fragment for job in jobs if job.fragment not in found]
    if missing:  # nobody of these is here now, but somebody may have gone
        found |= dict(zip(missing, spark.each(missing, partial(survey, nobody)), strict=True))
    return [found[job.fragment] for job in jobs]


def _sort_by_row(table: pa.Table) -> pa.Table:
    places = numbers_of(table["row"])
    return table if (places[1:] > places[:-1]).all() else table.take(pa.array(np.argsort(places)))


def read_staged_rows(
    spark: Spark, shelf: Shelf, surveyed: Sequence[SurveyedFragment], fields: Sequence[pa.Field]
) -> Frame:
    """`identifier` and some other columns of the rows that fragments have put aside."""
    schema, store = pa.schema([("identifier", pa.string()), *fields]), shelf.store
    return spark.rows_from_tasks([one.rows for one in surveyed], lambda one: [store.read_staged(one)], schema)


@dataclass(frozen=True, eq=False)
class FragmentResult:
    """What a worker made of a fragment: its summary, and the private files it wrote.

    public: what is to be published of it, by table, packed, with class numbers of its own
    paths: what is left to be checked for all fragments together, with the number of its columns
    """

    summary: FragmentSummary
    private: tuple[Staged, ...]
    public: Mapping[str, Staged]
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
            rows = replace(rows, insensitive=rows.insensitive.rename_columns(self.job.coding.schema.insensitive))
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
        packed = {name: list(pack_rows(table)) for name, table in self._public(made).items()}
        public = {name: self.writer.rows(pa.concat_tables(cells)) for name, cells in packed.items() if cells}
        paths = None
        if made.paths is not None:
            paths = self.writer.rows(combinations_to_table(made.paths)), len(made.paths.columns)
        return FragmentResult(FragmentSummary.of(made, self.observed), tuple(private), public, paths)

    def _public(self, made: FragmentRelease) -> dict[str, pa.Table]:
        """As `make_public_tables` makes them, ready to be joined with those of other fragments."""
        order = np.arange(len(made.facts.subjects))
        tables = make_public_tables(made.facts, made.lent, order, self.job.coding)
        return {name: widen_labels(table) for name, table in tables.items()}


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
