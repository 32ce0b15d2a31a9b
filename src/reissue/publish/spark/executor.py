"""Making a release on Spark: workers read, make, check and write the fragments; the driver sees summaries, never rows.

Every file is written by a worker straight into the series' staging folder, so the folder must be one that all workers
reach. Nothing counts before the driver's one commit: a worker or the driver that dies leaves files nobody refers to,
which the next opening sweeps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from reissue.arrays.types import Int32, Int64
from reissue.coding import Coding, SnapshotSummary
from reissue.engine.identifiers import SHOWN, tell_lookalikes
from reissue.engine.output import Format
from reissue.engine.spark.counting import count_values, match_altered, read_files
from reissue.engine.spark.tasks import PACKED
from reissue.history.past_releases import find_name, read_identities
from reissue.history.public_files import Extent, totals_table
from reissue.history.spark_counts import combinations_from_table, exchange_counts, sum_combinations
from reissue.ledger import Ledger, ReleaseRecord, Stage
from reissue.ledger.store import Staged
from reissue.model.domain import Domain
from reissue.model.fragment_counts import TableCounts, sum_counts
from reissue.model.fragments import Fragments, draw_sample
from reissue.publish.changes import ColumnTraits
from reissue.publish.division import FragmentChanges, FragmentSummary, TableDivision
from reissue.publish.executor import Executor
from reissue.publish.fragment import FragmentJob
from reissue.publish.self_check import CommonCheck
from reissue.publish.spark.fragment import (
    FragmentTask,
    cut_sample,
    number_known,
    plan_from_table,
    plan_to_table,
    read_rows,
    read_staged_rows,
    survey_fragments,
)
from reissue.publish.spark.public_files import FragmentRows, PublicWriter
from reissue.schema import Schema

if TYPE_CHECKING:
    from reissue.engine.read import Source
    from reissue.engine.spark.verbs import Spark
    from reissue.model.requirement import Requirement

PART_ROWS = 5_000_000
"""Rows of one public file; a larger release is a folder of files."""


class OnSpark(Executor):
    """Everything by workers.

    settings: the series' engine settings (`master`, Spark's own `settings`); table: a Spark table to make of the
    release after it is published; formats: in which it is published
    """

    def __init__(self, ledger: Ledger, settings: Mapping[str, object], table: str | None) -> None:
        self._ledger, self._settings, self._table = ledger, settings, table
        self._close: Callable[[], None] = lambda: None
        self._plan: Staged | None = None

    def start(self, progress: Callable[[str], None]) -> None:
        progress("start")
        from reissue.engine.spark.preflight import check_workers
        from reissue.engine.spark.verbs import connect

        self._spark: Spark = connect(self._settings)
        check_workers(self._spark, self._ledger.path / "private" / "staging")
        if self._table:
            self._spark.refuse_existing(self._table)

    def read(self, source: Source, schema: Schema) -> SnapshotSummary:
        from reissue.engine.spark.snapshot import load

        self._snapshot = load(self._spark, source, schema)
        self._close = self._snapshot.close
        return self._snapshot.seen

    def encode(self, coding: Coding) -> int:
        self._coding = coding
        return self._snapshot.rows

    def cut(self, count: int, side: Requirement) -> Fragments:
        chosen = partial(draw_sample, total=self._snapshot.rows, seed=self._ledger.seed)
        sample = self._snapshot.encoded(self._coding, chosen=chosen)
        return cut_sample(self._spark, sample, count, self._coding, side)

    def survey(
        self, jobs: Sequence[FragmentJob], division: TableDivision, stage: Stage | None
    ) -> list[FragmentChanges]:
        assert stage is not None  # previews are made in this process
        shelf, count = self._ledger.shelf, len(jobs)
        packed = partial(self._snapshot.encoded, self._coding)

        def place(table: pa.Table) -> Int32:
            return division.of(read_rows(table))

        if shelf.state.of_role("identities"):
            rows = number_known(self._spark, shelf, packed, place, count)
        else:  # everybody is new
            rows = packed(place, count)
        self._jobs, self._writers = jobs, [stage.writer(job.fragment) for job in jobs]
        nobody = self._snapshot.coded_schema(self._coding).empty_table()
        self._surveyed = survey_fragments(self._spark, rows, nobody, jobs, self._writers)
        return [one.survey for one in self._surveyed]

    def measure_columns(self) -> list[ColumnTraits]:
        """Values are counted by workers; the driver gets three numbers of each column."""
        names = self._snapshot.schema.insensitive
        if not names:
            return []
        own = [f"i{place}" for place in range(len(names))]
        fields = [self._snapshot.coded_schema(self._coding).field(name) for name in own]
        rows = read_staged_rows(self._spark, self._ledger.shelf, self._surveyed, fields)
        counted = count_values(self._spark, rows, own)
        return [ColumnTraits(name, *numbers) for name, numbers in zip(names, counted, strict=True)]

    def refuse_lookalikes(self, surveys: Sequence[FragmentChanges]) -> None:
        """Where at most half are new it is not looked at, since it would compare the text of all identifiers."""
        shelf = self._ledger.shelf
        if shelf.state.of_role("identities") and 2 * sum(one.new for one in surveys) >= self._snapshot.rows:
            place = f"{self._snapshot.name}: column '{self._coding.schema.identifier}'"
            known = read_identities(self._spark, shelf)
            rows = read_staged_rows(self._spark, shelf, self._surveyed, [pa.field("number", pa.int64())])
            tell_lookalikes(*match_altered(self._spark, rows, known, SHOWN), place)

    def find_name(self, number: int) -> str:
        return find_name(self._spark, self._ledger.shelf, number)

    def sum_counts(self) -> list[TableCounts] | None:
        """What is nearby goes from worker to worker, in files."""
        told = [one.counts for one in self._surveyed if one.counts is not None]
        if not told:
            return None
        nearby, least = [one.nearby for one in self._surveyed], max(counts.least for counts in told)
        self._nearby = exchange_counts(self._spark, self._ledger.shelf, nearby, least, self._writers)
        return [TableCounts(sum_counts(told))] * len(self._jobs)

    def plan(self) -> None:
        counted = {name: self._sum([one.planned[name] for one in self._surveyed]) for name in self._surveyed[0].planned}
        job, writer, read = self._jobs[0], self._writers[0], self._ledger.shelf.store.read_staged
        rows = self._snapshot.rows

        def plan(files: Mapping[str, Staged]) -> Staged:
            sums = {name: combinations_from_table(read(file)) for name, file in files.items()}
            return writer.rows(plan_to_table(job.plan(rows, sums)))

        [self._plan] = self._spark.each([counted], plan)

    def _sum(self, parts: Sequence[tuple[Staged, int]]) -> Staged:
        """A file with the sums of what all fragments counted. parts: their files, and the number of columns."""
        files = [staged for staged, _ in parts]
        return sum_combinations(self._spark, self._ledger.shelf.store, files, parts[0][1], self._writers[0])

    def make(
        self, firsts: Sequence[int], observed: Sequence[Domain], tables: Sequence[TableCounts] | None
    ) -> list[Int64]:
        count = len(self._jobs)
        nearby: Sequence[Staged | None] = [None] * count if tables is None else self._nearby
        known: Sequence[TableCounts | None] = tables or [None] * count
        each = zip(self._jobs, self._writers, self._surveyed, firsts, known, nearby, strict=True)
        tasks = [
            FragmentTask(job, writer, one.rows, first, tuple(observed), table, file, self._plan)
            for job, writer, one, first, table, file in each
        ]
        self._made = self._spark.each(tasks, FragmentTask.run)
        return [made.summary.values for made in self._made]

    def check_plan(self) -> CommonCheck:
        paths = self._sum([made.paths for made in self._made if made.paths is not None])
        job, read = self._jobs[0], self._ledger.shelf.store.read_staged

        def check(files: tuple[Staged, Staged]) -> CommonCheck:
            return job.check_plan(plan_from_table(read(files[0])), combinations_from_table(read(files[1])))

        assert self._plan is not None
        return self._spark.each([(self._plan, paths)], check)[0]

    def summarize(self) -> list[FragmentSummary]:
        return [made.summary for made in self._made]

    def write(self, stage: Stage, formats: Sequence[Format], extent: Extent) -> list[str]:
        """Every fragment's rows under common class numbers, in random order over all of them."""
        self._formats, names = formats, list[str]()
        offsets = np.cumsum([0, *(made.summary.extent.classes for made in self._made)])
        parts = max(1, extent.rows // PART_ROWS)
        for table in dict.fromkeys(table for made in self._made for table in made.public):
            shares = [
                FragmentRows(job, made.public[table], int(offset), extent.classes, made.summary.style == "told")
                for job, made, offset in zip(self._jobs, self._made, offsets, strict=False)
                if table in made.public
            ]
            rows = partial(FragmentRows.rows, by_class=table == "values", parts=parts)
            packed = self._spark.rows_from_tasks(shares, rows, PACKED)
            writer = PublicWriter(stage.public, stage.folder, table, tuple(sorted(formats)), parts)
            for files in self._spark.of_places(packed, parts, writer.write).values():
                stage.show(files)
            names += writer.names
        for made in self._made:
            stage.take(made.private)
        return names + self._write_totals(stage, formats)

    def _write_totals(self, stage: Stage, formats: Sequence[Format]) -> list[str]:
        """The totals of all fragments, if they are published: a few rows, written here."""
        totals = [made.summary.totals for made in self._made if made.summary.totals is not None]
        if not totals:
            return []
        table = totals_table(np.sum(totals, axis=0), self._coding)
        writer = PublicWriter(stage.public, stage.folder, "totals", tuple(sorted(formats)), 1)
        stage.show(writer.write_rows(0, table))
        return writer.names

    def after(self, record: ReleaseRecord) -> None:
        """The published rows as a Spark table; of an anatomized release two tables."""
        if not self._table:
            return
        folder = self._ledger.path.absolute() / "releases" / f"{record.number:04d}"
        kind = "parquet" if "parquet" in self._formats else "csv"
        for file in sorted(folder.glob(f"*.{kind}")):
            name = self._table if file.stem == "release" else f"{self._table}_{file.stem}"
            self._spark.write_table(read_files(self._spark, file, kind), name)

    def close(self) -> None:
        self._close()
