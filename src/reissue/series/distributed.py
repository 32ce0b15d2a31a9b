"""Publishing on Spark: workers read, make, check and write the fragments; the driver sees summaries, never rows.

The order is that of `publishing`. Every file is written by a worker straight into the series' staging folder, so the
folder must be one that all workers reach. Nothing counts before the driver's one commit: a worker or the driver that
dies leaves files nobody refers to, which the next opening sweeps.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa

from reissue.coding import Coding
from reissue.core.domain import Domain, Int64
from reissue.core.fragments import Fragments, divide, mixed, sampled, scattered
from reissue.engine.base import Format
from reissue.engine.output import write_table
from reissue.ledger import PartWriter, PublicFile, ReleaseRecord, Shelf, Stage
from reissue.ledger.disk import hash_file, sync_file
from reissue.ledger.store import Staged
from reissue.series.dividing import Division, largest_share
from reissue.series.publication import Extent, class_column, public_tables, source_rows, write_description
from reissue.series.publishing import Publishing
from reissue.series.telling import Result, Survey, numbered, observed_together
from reissue.series.work import Made, Rows, Work

if TYPE_CHECKING:
    from reissue.engine.read import Source
    from reissue.engine.spark.snapshot import SparkSnapshot
    from reissue.engine.spark.verbs import Frame, Spark

PART_ROWS = 5_000_000
"""Rows of one public file; a larger release is a folder of files."""

KEY = "__reissue_order__"


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
        self.progress("start")
        spark = connected(self.settings)
        from reissue.engine.spark.snapshot import load

        if self.table:
            spark.refuse_existing(self.table)
        self.progress("read")
        before = self.series.coding
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
        encoded = _placed(snapshot.encoded(coding), len(coding.attributes))
        division = self._divided(spark, encoded, snapshot.rows, coding)
        works = self.works(division, before, coding)
        stage = self.ledger.stage(works[0].number, division.count)
        rows = _with_numbers(spark, encoded, shelf)
        surveyed = _surveyed(spark, _with_fragment(rows, division), works, stage)
        surveys = [survey for survey, _ in surveyed]
        self.refuse(surveys, coding, partial(_name, spark, shelf))
        self.progress("anonymize")
        firsts = numbered(self.ledger.next_subject, surveys)
        observed = observed_together(surveys, coding)
        tasks = [
            Task(work, stage.writer(work.fragment), staged, first, tuple(observed), snapshot.insensitive)
            for work, (_, staged), first in zip(works, surveyed, firsts, strict=True)
        ]
        done = spark.each(tasks, Task.run)
        for survey, first, one in zip(surveys, firsts, done, strict=True):
            stage.number_subjects(np.arange(first, first + survey.new))
            stage.take(one.private)
        self.progress("write")
        results = [one.result for one in done]
        self._show(spark, stage, works, done)
        self.note(stage, division, coding)
        self.progress("commit")
        return stage.commit(self.record(works[0], surveys, results, firsts, partial(_name, spark, shelf)))

    def _divided(self, spark: Spark, encoded: Frame, rows: int, coding: Coding) -> Division:
        division = Division.read(self.ledger, self.strategy, coding)
        if division is not None:
            return division
        count = Division.wanted(self.ledger, self.strategy, rows)
        nobody = np.zeros(0, dtype=np.int64)
        if count == 1:
            return Division(Fragments.whole(), nobody)
        return Division(
            _tree(spark, encoded, rows, count, coding, largest_share(self.strategy), self.ledger.seed), nobody
        )

    def _show(self, spark: Spark, stage: Stage, works: Sequence[Work], done: Sequence[Done]) -> None:
        """The public files: every fragment's rows under common class numbers, in random order over all of them."""
        extent = Extent.together([one.result.extent for one in done])
        offsets = np.cumsum([0, *(one.result.extent.classes for one in done)])
        coding, anatomized = works[0].coding, done[0].result.anatomized
        parts = max(1, extent.rows // PART_ROWS)
        names: list[str] = []
        for table in done[0].public:
            shares = [
                Share(work, one.public[table], int(offset), extent.classes)
                for work, one, offset in zip(works, done, offsets, strict=False)
            ]
            schema = done[0].schemas[table]
            frame = _spread(
                spark, shares, partial(Share.rows, by_class=table == "values"), _unnamed(schema).append(KEY_FIELD)
            )
            first, end = (0, extent.classes) if table == "values" else (-(2**63), 2**63)  # keys fill this evenly
            limits = [first + i * (end - first) // parts for i in range(1, parts)]
            for format in sorted(self.formats):
                name = f"{table}.{format}"
                writing = Writing(stage.public, stage.folder, name, format, parts, schema)
                stage.show(spark.sorted_parts(frame, KEY, parts, writing.write, limits))
                names.append(name)
        write_description(stage.public, works[0].number, anatomized, extent, coding, self.strategy, names)


KEY_FIELD = pa.field(KEY, pa.int64())


def connected(settings: Mapping[str, object]) -> Spark:
    """Spark as the series' settings say; a SettingsError if it cannot be had."""
    from reissue.engine.spark.session import start

    own = settings.get("settings", {})
    assert isinstance(own, Mapping)
    given = {str(name): str(value) for name, value in own.items()}
    if settings.get("master"):
        given["master"] = str(settings["master"])
    session = start(given)
    from reissue.engine.spark.verbs import Spark

    return Spark(session)


# -- Rows to fragments


def _spread(spark: Spark, items: Sequence[object], task: Callable[..., Iterable[pa.Table]], schema: pa.Schema) -> Frame:
    """The rows that the task makes of each item, every item on a worker of its own."""
    from reissue.engine.spark.tasks import mapped, spark_schema

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from task(items[number])

    made = spark_schema(schema)
    return spark.session.range(0, len(items), 1, max(1, len(items))).mapInArrow(mapped(run, made), made)


def _placed(encoded: Frame, attributes: int) -> Frame:
    """The insensitive columns called i0, i1, ...: Spark trips over dots and quotes in names."""
    others = range(len(encoded.columns) - attributes - 3)
    return encoded.toDF("row", "identifier", *(f"c{a}" for a in range(attributes)), "value", *(f"i{n}" for n in others))


def _with_numbers(spark: Spark, encoded: Frame, shelf: Shelf) -> Frame:
    """The rows with `number`: the latest one of each identifier, -1 if it has none."""
    if not shelf.state.of_role("identities"):
        return encoded.selectExpr("*", "CAST(-1 AS BIGINT) AS number")  # everybody is new: no need to shuffle
    known = _identities(spark, shelf)
    latest = known.groupBy("identifier").max("subject").withColumnRenamed("max(subject)", "number")
    return spark.join(encoded, latest, ["identifier"], "left").fillna(-1, ["number"])


def _identities(spark: Spark, shelf: Shelf) -> Frame:
    schema = pa.schema([("identifier", pa.string()), ("subject", pa.int64())])
    return _spread(spark, shelf.state.of_role("identities"), lambda file: [shelf.read(file)], schema)


def _name(spark: Spark, shelf: Shelf, number: int) -> str:
    """The identifier of a subject; its number if it has been forgotten."""
    found = spark.collect(_identities(spark, shelf).where(f"subject = {number}"), "names in a message")
    return str(found.column("identifier")[0].as_py()) if found.num_rows else f"subject {number}"


def _with_fragment(rows: Frame, division: Division) -> Frame:
    """The rows with `fragment`."""
    from reissue.engine.spark.tasks import mapped

    schema = deepcopy(rows.schema).add("fragment", "integer")

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
        from reissue.engine.hashing import hashes

        for batch in batches:
            table = pa.Table.from_batches([batch])
            part = rows_of(table)
            keys = hashes(part.identifiers) if division.tree.by_identifier else None
            yield table.append_column("fragment", pa.array(division.of(part.codes, part.numbers, keys)))

    return rows.mapInArrow(mapped(run, schema), schema)


def _tree(spark: Spark, encoded: Frame, rows: int, count: int, coding: Coding, most: float, seed: int) -> Fragments:
    """The cuts, made by one worker from a sample; only they come to the driver."""
    from reissue.engine.spark.tasks import mapped, spark_schema

    domains = coding.domains

    def sample(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
        for batch in batches:
            chosen = sampled(np.asarray(batch.column("row")), rows, seed)
            yield pa.Table.from_batches([batch]).filter(pa.array(chosen))

    def cut(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
        gathered = list(batches)
        if gathered:
            part = rows_of(pa.Table.from_batches(gathered).sort_by("row"))
            yield pa.table({"tree": [json.dumps(divide(part.codes, part.values, domains, count, most).to_dict())]})

    codes = encoded.select("row", "value", *_numbered_columns(encoded.columns, "c"))
    kept = codes.mapInArrow(mapped(sample, codes.schema), codes.schema).repartition(1)
    told = spark_schema(pa.schema([("tree", pa.string())]))
    found = spark.collect(kept.mapInArrow(mapped(cut, told), told), "cuts of fragments")
    return Fragments.from_dict(json.loads(found.column("tree")[0].as_py()))


def _numbered_columns(names: Iterable[str], letter: str) -> list[str]:
    return [name for name in names if name[0] == letter and name[1:].isdigit()]


def rows_of(table: pa.Table) -> Rows:
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
    return Rows(
        identifiers,
        numbers.astype(np.int64),
        codes,
        table.column("value").to_numpy().astype(np.int32),
        insensitive if others else None,
    )


# -- One fragment on a worker


def _surveyed(spark: Spark, frame: Frame, works: Sequence[Work], stage: Stage) -> list[tuple[Survey, Staged]]:
    """Each fragment's rows written to a private file by the worker that gets them, and compared with its past."""
    import pickle

    names = [name for name in frame.columns if name != "fragment"]
    writers = [stage.writer(work.fragment) for work in works]

    def survey(fragment: int, table: pa.Table) -> tuple[Survey, Staged]:
        table = table.select(names).sort_by("row")
        staged = writers[fragment].rows(table)
        rows = rows_of(table)
        return Survey.of(works[fragment].compared(rows), rows), staged

    def kernel(table: pa.Table, key: tuple[object, ...]) -> pa.Table:
        fragment = int(str(key[0]))
        told = pickle.dumps(survey(fragment, table))
        return pa.table({"fragment": pa.array([fragment], pa.int32()), "told": pa.array([told], pa.binary())})

    schema = pa.schema([("fragment", pa.int32()), ("told", pa.binary())])
    told = spark.collect(spark.grouped(frame, ["fragment"], kernel, schema), "summaries of fragments").to_pylist()
    found = {row["fragment"]: cast("tuple[Survey, Staged]", pickle.loads(row["told"])) for row in told}
    missing = [work.fragment for work in works if work.fragment not in found]
    if missing:  # nobody of these is here now, but somebody may have gone
        from reissue.engine.spark.tasks import arrow_schema

        empty = arrow_schema(frame.schema).empty_table()
        found |= dict(zip(missing, spark.each(missing, partial(survey, table=empty)), strict=True))
    return [found[work.fragment] for work in works]


@dataclass(frozen=True, eq=False)
class Done:
    """What a worker made of a fragment: its summary, and the private files it wrote.

    public: what is to be published of it, by table, with class numbers of its own; schemas: their columns
    """

    result: Result
    private: tuple[Staged, ...]
    public: Mapping[str, Staged]
    schemas: Mapping[str, pa.Schema]


@dataclass(frozen=True, eq=False)
class Task:
    """Making one fragment, on a worker."""

    work: Work
    writer: PartWriter
    staged: Staged
    first: int
    observed: tuple[Domain, ...]
    insensitive: pa.Schema

    def run(self) -> Done:
        rows = rows_of(self.work.shelf.store.read_staged(self.staged))
        if rows.insensitive is not None:
            rows = replace(rows, insensitive=_restored(rows.insensitive, self.insensitive))
        compared = self.work.compared(rows).compared
        made = self.work.made(rows, compared, self.first)
        new = np.flatnonzero(compared.numbers < 0)
        private = [
            *self.writer.facts(made.facts),
            *self.writer.identities(rows.identifiers.take(pa.array(new)), made.coded.subjects[new]),
            *self.writer.caches(made.caches),
        ]
        tables = self._public(rows, made)
        public = {name: self.writer.rows(table) for name, table in tables.items()}
        schemas = {name: table.schema for name, table in tables.items()}
        return Done(Result.of(made, self.observed), tuple(private), public, schemas)

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


# -- Fragments to public files


@dataclass(frozen=True, eq=False)
class Share:
    """One fragment's share of a public table.

    offset: classes of the fragments before it; classes: of all fragments
    """

    work: Work
    staged: Staged
    offset: int
    classes: int

    def rows(self, by_class: bool) -> list[pa.Table]:
        """The rows with the release's class numbers, and KEY by which they are to be sorted: at random, or by class."""
        work = self.work
        table = work.shelf.store.read_staged(self.staged)
        place = table.column_names.index(class_column(work.coding))
        classes = table.column(place).to_numpy().astype(np.int64) + self.offset
        if work.fragments > 1:
            classes = scattered(classes, self.classes, work.seed)
        table = table.set_column(place, table.schema.field(place), pa.array(classes.astype(np.int32)))
        if by_class:
            key = classes
        else:
            rows = np.arange(table.num_rows, dtype=np.uint64) + np.uint64(work.fragment << 40)
            key = mixed(rows, work.seed).view(np.int64)
        return [_unnamed(table).append_column(KEY_FIELD, pa.array(key))]


def _unnamed(table: pa.Table | pa.Schema) -> pa.Table | pa.Schema:
    """The columns called p0, p1, ...: see `_placed`."""
    names = [f"p{place}" for place in range(len(table.names if isinstance(table, pa.Schema) else table.column_names))]
    if isinstance(table, pa.Schema):
        return pa.schema([pa.field(name, one.type) for name, one in zip(names, table, strict=True)])
    return table.rename_columns(names)


@dataclass(frozen=True, eq=False)
class Writing:
    """Writing one public table, part by part, on workers."""

    public: Path
    private: Path
    name: str
    format: Format
    parts: int
    schema: pa.Schema

    def write(self, part: int, rows: pa.Table) -> PublicFile:
        """Write beside, then move: a worker that dies leaves nothing where outsiders would look."""
        rows = rows.drop_columns([KEY]).rename_columns(self.schema.names).cast(self.schema)
        name = self.name if self.parts == 1 else f"{self.name}/part-{part:05d}.{self.format}"
        beside, path = self.private / f"public-{token_hex(8)}", self.public / name
        write_table(rows, beside, self.format)
        sync_file(beside)
        path.parent.mkdir(exist_ok=True)
        os.replace(beside, path)
        return PublicFile(name, hash_file(path), path.stat().st_size)
