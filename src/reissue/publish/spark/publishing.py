"""Publishing on Spark: workers read, make, check and write the fragments; the driver sees summaries, never rows.

The order is that of `publishing`. Every file is written by a worker straight into the series' staging folder, so the
folder must be one that all workers reach. Nothing counts before the driver's one commit: a worker or the driver that
dies leaves files nobody refers to, which the next opening sweeps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from reissue.coding import Coding
from reissue.errors import SettingsError
from reissue.history.identities import identities, name_of
from reissue.history.lookalikes import refuse_lookalikes_on_spark
from reissue.history.public_files import Extent, write_description
from reissue.history.spark_counts import exchanged, summed, told_whole
from reissue.ledger import ReleaseRecord, Stage
from reissue.ledger.store import Staged
from reissue.model.fragment_counts import TableCounts
from reissue.model.fragments import Fragments, draw_sample
from reissue.publish.agreement import agreed
from reissue.publish.common_classes import Checked
from reissue.publish.division import Division
from reissue.publish.fragment import Work
from reissue.publish.publishing import Publishing
from reissue.publish.spark.fragment import Checking, Done, Planning, Surveyed, Task, surveyed
from reissue.publish.spark.public_files import KEY, KEY_FIELD, Share, Writing, unnamed
from reissue.publish.spark.rows import cuts, placed, with_fragment, with_numbers
from reissue.publish.summary import numbered, observed_together

if TYPE_CHECKING:
    from reissue.engine.read import Source
    from reissue.engine.spark.snapshot import SparkSnapshot
    from reissue.engine.spark.verbs import Spark
    from reissue.model.requirement import Requirement

PART_ROWS = 5_000_000
"""Rows of one public file; a larger release is a folder of files."""


@dataclass(frozen=True, eq=False)
class SparkPublishing(Publishing):
    """One attempt to publish, on Spark.

    settings: the series' engine settings (`master`, Spark's own `settings`); table: a Spark table to make of the
    release after it is published
    """

    settings: Mapping[str, object] = field(default_factory=dict)
    table: str | None = None

    def run(self, source: Source) -> ReleaseRecord:
        """Publish `source` as the next release and return its record."""
        if self.strategy.stands:
            raise SettingsError(f"'{self.strategy.name}' is not made on Spark. Publish with the engine \"embedded\".")
        self.progress("start")
        from reissue.engine.spark.verbs import connect

        spark = connect(self.settings)
        from reissue.engine.spark.snapshot import load

        if self.table:
            spark.refuse_existing(self.table)
        self.progress("read")
        before = self.coding
        snapshot = load(spark, source, before.schema)
        try:
            record = self._run(spark, snapshot, before)
        finally:
            snapshot.close()
        if self.table:
            self._as_table(spark, record, self.table)
        return record

    def _as_table(self, spark: Spark, record: ReleaseRecord, name: str) -> None:
        """The published rows as a Spark table; of an anatomized release two tables."""
        folder = self.ledger.path.absolute() / "releases" / f"{record.number:04d}"
        kind = "parquet" if "parquet" in self.formats else "csv"
        for file in sorted(folder.glob(f"*.{kind}")):
            frame = spark.session.read.format(kind).option("header", True).load(str(file))
            spark.write_table(frame, name if file.stem == "release" else f"{name}_{file.stem}")

    def _run(self, spark: Spark, snapshot: SparkSnapshot, before: Coding) -> ReleaseRecord:
        coding = before.learn(snapshot.seen)
        self.progress("compare")
        shelf = self.ledger.shelf
        encoded = placed(snapshot.encoded(coding), len(coding.attributes))
        division = self._divided(spark, snapshot, coding)
        works = self.works(division, before, coding)
        stage = self.ledger.stage(works[0].number, division.count)
        rows = with_numbers(spark, encoded, shelf)
        told = surveyed(spark, with_fragment(rows, division), works, stage)
        surveys = [one.survey for one in told]
        if shelf.state.of_role("identities") and 2 * sum(one.new for one in surveys) >= snapshot.rows:
            place = f"{snapshot.name}: column '{coding.schema.identifier}'"
            refuse_lookalikes_on_spark(spark, rows, identities(spark, shelf), place)
        self.refuse(surveys, coding, partial(name_of, spark, shelf))
        self.progress("anonymize")
        firsts = numbered(self.ledger.next_subject, surveys)
        observed = observed_together(surveys, coding)
        tasks = [
            Task(work, stage.writer(work.fragment), one.rows, first, tuple(observed), snapshot.insensitive)
            for work, one, first in zip(works, told, firsts, strict=True)
        ]
        done, checked = self._made_by_workers(spark, tasks, told)
        for survey, first, one in zip(surveys, firsts, done, strict=True):
            stage.number_subjects(np.arange(first, first + survey.new))
            stage.take(one.private)
        self.progress("write")
        results = [one.result for one in done]
        extent = Extent.together([one.result.extent for one in done]) if checked is None else checked.extent
        self._show(spark, stage, works, done, extent)
        self.note(stage, division, coding)
        self.progress("commit")
        return stage.commit(self.record(works[0], surveys, results, firsts, checked, partial(name_of, spark, shelf)))

    def _made_by_workers(
        self, spark: Spark, tasks: Sequence[Task], told: Sequence[Surveyed]
    ) -> tuple[list[Done], Checked | None]:
        """Every fragment of the release: by one plan, or made until they agree. The first are checked together."""
        if not tasks[0].work.common:
            return self._agreed(spark, tasks, told), None
        work, writer, store = tasks[0].work, tasks[0].writer, self.ledger.shelf.store

        def together(parts: Sequence[tuple[Staged, int]]) -> Staged:
            return summed(spark, store, [staged for staged, _ in parts], parts[0][1], writer)

        counted = {name: together([one.planned[name] for one in told]) for name in told[0].planned}
        [plan] = spark.each([Planning(work, writer, sum(one.survey.rows for one in told), counted)], Planning.run)
        done = spark.each([replace(task, plan=plan) for task in tasks], Task.run)
        ways = together([one.ways for one in done if one.ways is not None])
        return done, spark.each([Checking(work, plan, ways)], Checking.run)[0]

    def _agreed(self, spark: Spark, tasks: Sequence[Task], told: Sequence[Surveyed]) -> list[Done]:
        whole = told_whole([one.tally for one in told])
        if whole is None:
            return spark.each(tasks, Task.run)
        least = max(one.tally.least for one in told if one.tally is not None)
        files = exchanged(spark, self.ledger.shelf, [one.nearby for one in told], least, [t.writer for t in tasks])
        tasks = [replace(task, nearby=file) for task, file in zip(tasks, files, strict=True)]

        def make(told: Sequence[TableCounts] | None) -> list[Done]:
            assert told is not None
            return spark.each([replace(task, whole=one) for task, one in zip(tasks, told, strict=True)], Task.run)

        return agreed(self.strategy, [whole] * len(tasks), make, lambda one: one.result.values)

    def _divided(self, spark: Spark, snapshot: SparkSnapshot, coding: Coding) -> Division:
        division = Division.read(self.ledger, self.strategy, coding)
        if division is not None:
            return division

        def cut(count: int, side: Requirement) -> Fragments:
            some = snapshot.encoded(coding, partial(draw_sample, total=snapshot.rows, seed=self.ledger.seed))
            return cuts(spark, placed(some, len(coding.attributes)), count, coding, side)

        return Division.new(self.ledger, self.strategy, snapshot.rows, cut)

    def _show(self, spark: Spark, stage: Stage, works: Sequence[Work], done: Sequence[Done], extent: Extent) -> None:
        """The public files: every fragment's rows under common class numbers, in random order over all of them."""
        offsets = np.cumsum([0, *(one.result.extent.classes for one in done)])
        coding, style = works[0].coding, done[0].result.style
        parts = max(1, extent.rows // PART_ROWS)
        names: list[str] = []
        for table in done[0].public:
            shares = [
                Share(work, one.public[table], int(offset), extent.classes)
                for work, one, offset in zip(works, done, offsets, strict=False)
            ]
            schema = done[0].schemas[table]
            frame = spark.rows_from_tasks(
                shares, partial(Share.rows, by_class=table == "values"), unnamed(schema).append(KEY_FIELD)
            )
            first, end = (0, extent.classes) if table == "values" else (-(2**63), 2**63)  # keys fill this evenly
            limits = [first + i * (end - first) // parts for i in range(1, parts)]
            writing = Writing(stage.public, stage.folder, table, tuple(sorted(self.formats)), parts, schema)
            by = [KEY, *sorted(set(frame.columns) - {KEY})] if table == "values" else [KEY]  # others are unique
            for files in spark.sorted_parts(frame, by, limits, writing.write):
                stage.show(files)
            names += writing.names
        write_description(stage.public, works[0].number, style, extent, coding, self.strategy, names)
