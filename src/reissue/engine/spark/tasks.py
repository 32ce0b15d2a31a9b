"""Python tasks on Spark's workers: Arrow tables in and out, and our own errors brought back whole."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from reissue import errors
from reissue.arrays.types import Int32
from reissue.errors import EngineFailed, ReissueError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

MARK = "reissue-error:"

Mapped = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""What Spark runs on one partition: Arrow batches in, Arrow batches out."""

PartitionTask = Callable[[Iterator[pa.RecordBatch]], Iterable[pa.Table]]

PACKED = pa.schema([("place", pa.int32()), ("first", pa.int64()), ("rows", pa.binary())])
"""Rows on their way to other workers: each cell of `rows` holds a table of those that go to one `place`, so that what
lies between moves few large cells. `first` puts the cells of one place in order."""

Placing = Callable[[pa.Table], Int32]
"""int32[rows]: where each of some rows goes."""

PACKED_ROWS = 250_000
"""Rows that are packed at a time: no cell may exceed 2 GB."""


def pack_error(error: ReissueError) -> str:
    """One of our errors as text without spaces: Spark hands a worker's failure on as the text of a traceback."""
    told = json.dumps([type(error).__name__, str(error)])
    return MARK + base64.b64encode(told.encode()).decode()


def unpack_error(text: str) -> ReissueError | None:
    """The error of ours that a text holds. Names and text only, never pickled objects: data may be in the text."""
    found = re.search(MARK + r"([A-Za-z0-9+/=]+)", text)
    if found is None:
        return None
    try:
        name, message = json.loads(base64.b64decode(found[1]))
    except ValueError:
        return None
    kind = getattr(errors, str(name), None)
    return kind(str(message)) if isinstance(kind, type) and issubclass(kind, ReissueError) else None


@contextmanager
def unwrap_errors() -> Iterator[None]:
    """Within it, an error of ours that a worker raised arrives as itself, and any failure of Spark as EngineFailed."""
    try:
        yield
    except ReissueError:
        raise
    except Exception as error:
        ours = unpack_error(str(error))
        if ours is not None:
            raise ours from None
        if not type(error).__module__.startswith(("pyspark", "py4j")):
            raise
        raise EngineFailed(
            f"Spark could not finish: {_reason(str(error))}. Nothing was changed. Check its workers' memory and disks, "
            "and try again."
        ) from error


def _reason(text: str) -> str:
    """The line of Spark's long text that says most: the Python error of a task, else the first one."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    python = [line for line in lines if re.match(r"[A-Za-z_.]*(Error|Exception)\b.*: ", line) and "java." not in line]
    return (python or lines or ["it does not say why"])[-1 if python else 0].rstrip(".")


@contextmanager
def wrap_errors() -> Iterator[None]:
    """Around work on a worker: the other end of `unwrap_errors`."""
    try:
        yield
    except ReissueError as error:
        raise RuntimeError(pack_error(error)) from None


def on_batches(task: PartitionTask, schema: StructType) -> Mapped:
    """A task for mapInArrow: its tables are brought to the announced schema."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        wanted = arrow_schema(schema)
        with wrap_errors():
            for table in task(batches):
                yield from conform(table, wanted).to_batches()

    return run


def pack_rows(table: pa.Table, place: Placing | None = None, count: int = 1, first: int = 0) -> Iterator[pa.Table]:
    """The rows as PACKED tables, those of one place in their order. O(rows).

    place: which place below `count` each row goes to; None: all go to place 0
    """
    for start in range(0, table.num_rows, PACKED_ROWS):
        part = table.slice(start, PACKED_ROWS)
        numbers, ends = [0], [part.num_rows]
        if place is not None and count > 1:
            places = place(part).astype(np.min_scalar_type(count))  # short numbers are sorted faster
            part = part.take(pa.array(np.argsort(places, kind="stable")))
            sizes = np.bincount(places, minlength=count)
            numbers, ends = np.flatnonzero(sizes).tolist(), np.cumsum(sizes)[sizes > 0].tolist()
        part = part.combine_chunks()
        cells = [_write_stream(part.slice(low, high - low)) for low, high in zip([0, *ends], ends, strict=False)]
        yield pa.table([numbers, [first + start] * len(numbers), cells], PACKED)


def _write_stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def open_cells(packed: pa.Table) -> list[pa.Table]:
    """The tables in some PACKED cells, in the order of their `first`."""
    return [pa.ipc.open_stream(cell.as_buffer()).read_all() for cell in packed.sort_by("first").column("rows")]


def unpack_rows(packed: pa.Table) -> pa.Table:
    """The rows of some PACKED cells, of which there must be one."""
    return pa.concat_tables(open_cells(packed))


def map_partitions(frame: DataFrame, task: PartitionTask, schema: StructType) -> DataFrame:
    """What `task` makes of each partition. It sees the frame's own names, though Spark could not pass all of them."""
    names = frame.columns

    def named(batches: Iterator[pa.RecordBatch]) -> Iterable[pa.Table]:
        return task(batch.rename_columns(names) for batch in batches)

    return number_columns(frame).mapInArrow(on_batches(named, schema), schema)


def number_columns(frame: DataFrame) -> DataFrame:
    """The frame with names that need no quotes: pyspark itself takes a point in a name for a path."""
    return frame.toDF(*[f"n{number}" for number in range(len(frame.columns))])


def column_named(name: str) -> Column:
    """A column by its name, whatever characters the name has."""
    from pyspark.sql import functions as F

    return F.col("`" + name.replace("`", "``") + "`")


def arrow_schema(schema: StructType) -> pa.Schema:
    """What Spark expects of Python under this schema."""
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(schema, timezone="UTC")


def spark_schema(schema: pa.Schema) -> StructType:
    """The Spark types of Arrow columns; see `storable_type`."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(pa.schema([pa.field(field.name, storable_type(field.type)) for field in schema]))


def conform(table: pa.Table, wanted: pa.Schema) -> pa.Table:
    """The table's columns in the order and types wanted; dictionaries become plain values."""
    arrays = []
    for field in wanted:
        column = table.column(field.name)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if column.type != field.type:
            column = column.cast(field.type, safe=not pa.types.is_timestamp(field.type))
        arrays.append(column)
    return pa.table(arrays, schema=pa.schema([pa.field(field.name, field.type) for field in wanted]))


def storable_type(kind: pa.DataType) -> pa.DataType:
    """The nearest type that Spark has: no unsigned numbers, no dictionaries, no times of day, microseconds at most."""
    types = pa.types
    if types.is_dictionary(kind):
        return storable_type(kind.value_type)
    if types.is_timestamp(kind):
        return pa.timestamp("us", None if kind.tz is None else "UTC")
    if types.is_large_string(kind) or types.is_string_view(kind) or types.is_time(kind) or types.is_null(kind):
        return pa.string()
    if types.is_large_binary(kind) or types.is_binary_view(kind):
        return pa.binary()
    return PLAIN.get(kind, kind)


PLAIN = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(),
    pa.date64(): pa.date32(),
}
