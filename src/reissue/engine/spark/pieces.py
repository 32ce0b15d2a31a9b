"""Parquet files that Spark's workers read piece by piece: some row groups at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from reissue.engine import read
from reissue.engine.spark.found import PIECE, Found, Task
from reissue.engine.spark.gathering import count_cores
from reissue.engine.spark.tasks import on_batches
from reissue.errors import SnapshotError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from reissue.engine.spark.verbs import Spark


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

        cores, rows = count_cores(self.spark), sum(piece.rows for piece in pieces)
        tasks = max(1, min(len(pieces), max(cores, -(-rows // PIECE))))  # a task for every small file would take long
        numbers = self.spark.session.range(0, len(pieces), 1, tasks)
        return numbers.mapInArrow(on_batches(run, schema), schema)


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


def pieces_of(
    spark: Spark, name: str, paths: Sequence[Path], wanted: Sequence[str] | None, encoded: frozenset[str]
) -> Found:
    with ThreadPoolExecutor(16) as pool:
        footers = list(pool.map(_footer, paths))
    header = footers[0][0].names
    names = read.choose_columns(header, wanted)
    read.refuse_twins(name, header, names)
    schema = _agree_on_types(name, [(path, footer[0]) for path, footer in zip(paths, footers, strict=True)], names)
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


def _agree_on_types(name: str, files: Sequence[tuple[Path, pa.Schema]], names: Sequence[str]) -> pa.Schema:
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
