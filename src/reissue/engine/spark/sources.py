"""Where Spark gets tables from: files that its workers read piece by piece, its own tables, data frames.

Files are read by the same code as on one machine, so that the same file means the same on both engines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa

from reissue.engine import read
from reissue.engine.csv_file import CsvFile
from reissue.engine.spark.found import ROW, Found, SparkRows
from reissue.engine.spark.pieces import pieces_of
from reissue.engine.spark.session import refuse_connect
from reissue.engine.spark.tasks import arrow_schema, column_named, on_batches, spark_schema, unwrap_errors
from reissue.engine.workbook import find_reader
from reissue.errors import SnapshotError
from reissue.schema.spelling import UTF_8

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from reissue.engine.postgresql import Query
    from reissue.engine.spark.verbs import Spark

SparkSource: TypeAlias = "str | Path | Query | read.ArrowStream | DataFrame"
"""A path, "table:database.name", the address of a Parquet folder ("s3a://..."), a Spark DataFrame, or what the
embedded engine reads."""


def find(
    spark: Spark,
    source: SparkSource,
    wanted: Sequence[str] | None,
    encoded: Iterable[str] = (),
    encoding: str = UTF_8,
) -> Found:
    """The wanted columns that exist (None: all); text in `encoded` may come to workers as Arrow dictionaries."""
    from pyspark.sql import DataFrame

    codes = frozenset(encoded)
    if type(source).__module__.startswith("pyspark.sql.connect"):
        refuse_connect()
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
        if find_reader(path) is not None:
            raise SnapshotError(
                f"{path}: Spark reads CSV and Parquet, not {path.suffix}. Export it, or use the engine 'embedded'."
            )
        opened = read.open_csv(path, wanted or (), encoding)
        if opened is None:
            return pieces_of(spark, str(path), [path], wanted, codes)
        return _csv(spark, path, opened, wanted)
    held = read.find(source, wanted)
    table = held.table.append_column(ROW, pa.array(np.arange(held.table.num_rows, dtype=np.int64)))
    rows = spark.table(table)
    return SparkRows(spark, held.name, held.header, arrow_schema(rows.drop(ROW).schema), held.lines, rows=rows)


def _folder(spark: Spark, path: Path, wanted: Sequence[str] | None, encoded: frozenset[str]) -> Found:
    """All Parquet files of a folder; one that Spark divided by the values of columns (a=1/b=2) is left to Spark."""
    if read.is_divided_by_values(path):
        return _spark_parquet(spark, str(path.absolute()), wanted)
    files = read.files_of(path)
    if files[0].suffix.lower() == ".csv":
        raise SnapshotError(f"{path} is a folder of CSV files. Name one file, or write the table as Parquet files.")
    return pieces_of(spark, str(path), files, wanted, encoded)


def _frame(spark: Spark, name: str, frame: DataFrame, wanted: Sequence[str] | None) -> SparkRows:
    names = read.choose_columns(frame.columns, wanted)
    read.refuse_twins(name, frame.columns, names)
    rows = frame.select(*map(column_named, names))
    return SparkRows(spark, name, tuple(frame.columns), arrow_schema(rows.schema), rows=rows)


def _table(spark: Spark, name: str, wanted: Sequence[str] | None) -> SparkRows:
    from pyspark.errors import AnalysisException

    try:
        frame = spark.session.table(name)
    except AnalysisException as error:
        raise SnapshotError(
            f"The Spark table '{name}' cannot be read ({str(error).strip().splitlines()[0]}). "
            "Check its name (table:name, table:database.name or table:catalog.database.name) and the access rights."
        ) from None
    return _frame(spark, f"the Spark table '{name}'", frame, wanted)


def _spark_parquet(spark: Spark, address: str, wanted: Sequence[str] | None) -> SparkRows:
    try:
        with unwrap_errors():
            frame = spark.session.read.parquet(address)
    except Exception as error:
        raise SnapshotError(
            f"{address} cannot be read by Spark as Parquet ({str(error).strip().splitlines()[0]}). "
            "Check the address and the access rights."
        ) from None
    return _frame(spark, address, frame, wanted)


def _csv(spark: Spark, path: Path, file: CsvFile, wanted: Sequence[str] | None) -> SparkRows:
    """One worker parses the file, since a line break may be part of a value; Spark keeps the rows it found."""
    names = read.choose_columns(file.header, wanted)
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
        rows = spark.session.range(0, 1, 1, 1).mapInArrow(on_batches(run, kept), kept)
        rows = rows.repartition(column_named(ROW)).persist()
    else:
        rows = spark.session.createDataFrame([], kept)
    return SparkRows(spark, str(path), file.header, schema, file.lines, rows=rows)
