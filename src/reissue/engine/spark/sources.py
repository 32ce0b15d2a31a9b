"""Where Spark gets tables from: files that its workers read piece by piece, its own tables, data frames.

Files are read by the same code as on one machine, so that the same file means the same on both engines.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from reissue.core.domain import Int64
from reissue.engine import read
from reissue.engine.csv_file import CsvFile
from reissue.engine.spark.order import named
from reissue.engine.spark.tasks import arrow_schema, mapped, mapped_in_arrow, spark_schema, unwrapped
from reissue.errors import SnapshotError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from reissue.engine.postgresql import Query
    from reissue.engine.spark.verbs import Spark

SparkSource: TypeAlias = "str | Path | Query | read.ArrowStream | DataFrame"
"""A path, "table:database.name", the address of a Parquet folder ("s3a://..."), a Spark DataFrame, or what the
embedded engine reads."""

PIECE = 250_000
"""About how many rows a worker reads at a time."""

ROW = "__reissue_row__"
"""The column that holds each row's place in its source."""

Task = Callable[[pa.Table, Int64], Iterable[pa.Table]]
"""What is done with some rows: their wanted columns and their places in the source, ascending; tables come out."""


@dataclass(frozen=True, eq=False)
class Found(ABC):
    """A source of rows.

    name:   what to call it in a message
    header: all its columns
    schema: those wanted columns that exist, as the workers see them
    lines:  for text files, the line numbers of data rows (both from 1)
    """

    spark: Spark
    name: str
    header: tuple[str, ...]
    schema: pa.Schema
    lines: Callable[[Sequence[int]], list[int]] | None = None

    @abstractmethod
    def map(self, task: Task, schema: StructType, columns: Sequence[str] | None = None) -> DataFrame:
        """The rows that the task makes of the source's rows, some at a time. How many it gets must not matter.

        columns: those of `schema` that the task needs, so that nobody reads the others; all if None.
        """

    def frame(self) -> DataFrame:
        """The wanted columns that exist."""
        return self.map(lambda table, _: [table], spark_schema(self.schema))

    def close(self) -> None:  # noqa: B027  (nothing is kept of files)
        """Let Spark forget what it kept of the source; what is used again is read again."""


# -- Parquet files


@dataclass(frozen=True)
class Piece:
    """Some row groups of a Parquet file: `rows` rows, `first` of the source at their head."""

    path: str
    state: tuple[int, int]
    groups: tuple[int, ...]
    first: int
    rows: int


@dataclass(frozen=True, eq=False, kw_only=True)
class Pieces(Found):
    """Parquet files whose row groups workers read by themselves; rows count through the files in order of names."""

    pieces: tuple[Piece, ...]
    encoded: frozenset[str]

    def map(self, task: Task, schema: StructType, columns: Sequence[str] | None = None) -> DataFrame:
        pieces, encoded = self.pieces, self.encoded
        wanted = self.schema if columns is None else pa.schema([self.schema.field(name) for name in columns])

        def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    piece = pieces[number]
                    table = _read(piece, wanted, encoded)
                    yield from task(table, np.arange(piece.first, piece.first + piece.rows, dtype=np.int64))

        count = max(1, len(pieces))
        numbers = self.spark.session.range(0, len(pieces), 1, count)
        return numbers.mapInArrow(mapped(run, schema), schema)


def _read(piece: Piece, wanted: pa.Schema, encoded: frozenset[str]) -> pa.Table:
    path = Path(piece.path)
    with read.reading_parquet(path):
        if _state(path) != piece.state:
            raise SnapshotError(f"{path} was changed while it was read. Publish a file that nobody writes to.")
        codes = [field.name for field in wanted if field.name in encoded and read.is_text(field.type)]
        with pyarrow.parquet.ParquetFile(path, read_dictionary=codes) as file:
            table = file.read_row_groups(piece.groups, columns=wanted.names).select(wanted.names)
    for place, field in enumerate(wanted):  # another file may have the column in a wider type
        kind = table.schema.field(place).type
        if kind != field.type and not pa.types.is_dictionary(kind):
            table = table.set_column(place, field, table.column(place).cast(field.type))
    return table


def _state(path: Path) -> tuple[int, int]:
    state = path.stat()
    return state.st_size, state.st_mtime_ns


def _parquet(
    spark: Spark, name: str, paths: Sequence[Path], wanted: Sequence[str] | None, encoded: frozenset[str]
) -> Found:
    with ThreadPoolExecutor(16) as pool:
        footers = list(pool.map(_footer, paths))
    header = footers[0][0].names
    names = read.chosen(header, wanted)
    read.refuse_twins(name, header, names)
    schema = _agreed(name, [(path, footer[0]) for path, footer in zip(paths, footers, strict=True)], names)
    pieces, first = [], 0
    for path, (_, sizes, state) in zip(paths, footers, strict=True):
        groups: list[int] = []
        rows = 0
        for number, size in enumerate(sizes):
            groups.append(number)
            rows += size
            if rows >= PIECE or number + 1 == len(sizes):
                pieces.append(Piece(str(path.absolute()), state, tuple(groups), first, rows))
                first, groups, rows = first + rows, [], 0
    return Pieces(spark, name, tuple(header), schema, pieces=tuple(pieces), encoded=encoded)


def _footer(path: Path) -> tuple[pa.Schema, list[int], tuple[int, int]]:
    """(columns, rows of each row group, size and time of the file)."""
    with read.reading_parquet(path), pyarrow.parquet.ParquetFile(path) as file:
        data = file.metadata
        return file.schema_arrow, [data.row_group(i).num_rows for i in range(data.num_row_groups)], _state(path)


def _agreed(name: str, files: Sequence[tuple[Path, pa.Schema]], names: Sequence[str]) -> pa.Schema:
    """The columns' types in all files; numbers may be narrower in some, and a column that is all null has any type."""
    fields = []
    for column in names:
        kind, told = pa.null(), files[0][0]
        for path, schema in files:
            if schema.names.count(column) != 1:
                raise SnapshotError(f"{name}: '{path.name}' has no column '{column}'. Export all its files alike.")
            other = schema.field(column).type
            if pa.types.is_dictionary(other) and len(files) > 1:
                other = other.value_type
            if pa.types.is_null(kind):
                kind, told = other, path
                continue
            both = [pa.schema([pa.field(column, one)]) for one in (kind, other)]
            try:
                kind = pa.unify_schemas(both, promote_options="permissive").field(0).type
            except pa.ArrowException:
                raise SnapshotError(
                    f"{name}: column '{column}' is of type {kind} in '{told.name}' and {other} in '{path.name}'. "
                    "Export all its files with the same types."
                ) from None
        fields.append(pa.field(column, kind))
    return pa.schema(fields)


def _folder(spark: Spark, path: Path, wanted: Sequence[str] | None, encoded: frozenset[str]) -> Found:
    """All Parquet files of a folder; one that Spark divided by the values of columns (a=1/b=2) is left to Spark."""
    if read.divided_by_values(path):
        return _spark_parquet(spark, str(path.absolute()), wanted)
    files = read.files_of(path)
    if files[0].suffix.lower() == ".csv":
        raise SnapshotError(f"{path} is a folder of CSV files. Name one file, or write the table as Parquet files.")
    return _parquet(spark, str(path), files, wanted, encoded)


# -- frames


@dataclass(frozen=True, eq=False, kw_only=True)
class Rows(Found):
    """A Spark DataFrame of the wanted columns; with `ROW` if its rows have an order."""

    rows: DataFrame

    def map(self, task: Task, schema: StructType, columns: Sequence[str] | None = None) -> DataFrame:
        names, ordered = list(columns or self.schema.names), ROW in self.rows.columns
        rows = self.rows if columns is None else self.rows.select(*map(named, [*names, *([ROW] * ordered)]))

        def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
            for table in chunks(batches):
                places = np.asarray(table.column(ROW)) if ordered else np.zeros(table.num_rows, dtype=np.int64)
                table = table.select(names)
                if (np.diff(places) < 0).any():
                    order = np.argsort(places)
                    table, places = table.take(pa.array(order)), places[order]
                yield from task(table, places)

        return mapped_in_arrow(rows, run, schema)

    def frame(self) -> DataFrame:
        return self.rows.drop(ROW)

    def close(self) -> None:
        self.rows.unpersist()

    @property
    def ordered(self) -> bool:
        return ROW in self.rows.columns


def chunks(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The batches put together into tables of about `PIECE` rows."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        held.append(batch)
        if sum(one.num_rows for one in held) >= PIECE:
            yield pa.Table.from_batches(held)
            held = []
    if held:
        yield pa.Table.from_batches(held)


def _frame(spark: Spark, name: str, frame: DataFrame, wanted: Sequence[str] | None) -> Rows:
    names = read.chosen(frame.columns, wanted)
    read.refuse_twins(name, frame.columns, names)
    rows = frame.select(*map(named, names))
    return Rows(spark, name, tuple(frame.columns), arrow_schema(rows.schema), rows=rows)


def _table(spark: Spark, name: str, wanted: Sequence[str] | None) -> Rows:
    from pyspark.errors import AnalysisException

    try:
        frame = spark.session.table(name)
    except AnalysisException as error:
        raise SnapshotError(
            f"The Spark table '{name}' cannot be read ({str(error).strip().splitlines()[0]}). "
            "Check its name (table:name, table:database.name or table:catalog.database.name) and the access rights."
        ) from None
    return _frame(spark, f"the Spark table '{name}'", frame, wanted)


def _spark_parquet(spark: Spark, address: str, wanted: Sequence[str] | None) -> Rows:
    try:
        with unwrapped():
            frame = spark.session.read.parquet(address)
    except Exception as error:
        raise SnapshotError(
            f"{address} cannot be read by Spark as Parquet ({str(error).strip().splitlines()[0]}). "
            "Check the address and the access rights."
        ) from None
    return _frame(spark, address, frame, wanted)


def _csv(spark: Spark, path: Path, file: CsvFile, wanted: Sequence[str] | None) -> Rows:
    """One worker parses the file, since a line break may be part of a value; Spark keeps the rows it found."""
    names = read.chosen(file.header, wanted)
    read.refuse_twins(str(path), file.header, names)
    schema = pa.schema([pa.field(name, pa.string()) for name in names])
    kept = spark_schema(schema.append(pa.field(ROW, pa.int64())))

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
        first = 0
        for _ in batches:
            for batch in file.batches(names):
                places = np.arange(first, first + batch.num_rows, dtype=np.int64)
                yield pa.Table.from_batches([batch]).append_column(ROW, pa.array(places))
                first += batch.num_rows

    if names:
        rows = spark.session.range(0, 1, 1, 1).mapInArrow(mapped(run, kept), kept)
        rows = rows.repartition(named(ROW)).persist()
    else:
        rows = spark.session.createDataFrame([], kept)
    return Rows(spark, str(path), file.header, schema, file.lines, rows=rows)


def find(spark: Spark, source: SparkSource, wanted: Sequence[str] | None, encoded: Iterable[str] = ()) -> Found:
    """The wanted columns that exist (None: all); text in `encoded` may come to workers as Arrow dictionaries."""
    from pyspark.sql import DataFrame

    codes = frozenset(encoded)
    if isinstance(source, DataFrame):
        return _frame(spark, "the Spark DataFrame", source, wanted)
    address = source if isinstance(source, str) else ""
    if address.startswith("table:"):
        return _table(spark, address.removeprefix("table:"), wanted)
    queried = address.startswith(("postgres://", "postgresql://"))
    if "://" in address and not queried:
        return _spark_parquet(spark, address, wanted)
    if isinstance(source, str | Path) and not queried:
        path = Path(source)
        if path.is_dir():
            return _folder(spark, path, wanted, codes)
        opened = read.open_csv(path, wanted or ())
        if opened is None:
            return _parquet(spark, str(path), [path], wanted, codes)
        return _csv(spark, path, opened, wanted)
    held = read.find(source, wanted)
    table = held.table.append_column(ROW, pa.array(np.arange(held.table.num_rows, dtype=np.int64)))
    rows = spark.table(table)
    return Rows(spark, held.name, held.header, arrow_schema(rows.drop(ROW).schema), held.lines, rows=rows)
