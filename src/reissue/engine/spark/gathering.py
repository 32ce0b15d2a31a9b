"""Rows that workers made: counted, selected, kept and brought together by Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from reissue.arrays.types import Int64
from reissue.engine.spark.tasks import on_batches, spark_schema

if TYPE_CHECKING:
    from reissue.engine.spark.verbs import Frame, Spark


def count_cores(spark: Spark) -> int:
    """How many tasks run at the same time."""
    return int(spark.session.sparkContext.defaultParallelism)


def combine(frame: Frame, by: Sequence[str], how: Mapping[str, str]) -> Frame:
    """One row for each combination of `by`, with other columns combined: "sum", "min" or "max". Null is a value."""
    made = frame.groupBy(*by).agg(dict(how))
    return made.selectExpr(*by, *(f"`{rule}({name})` AS {name}" for name, rule in how.items()))


def select_where(frame: Frame, condition: str, columns: Sequence[str] = ("*",)) -> Frame:
    """Columns, or what SQL makes of them, of the rows that fulfil a condition."""
    return frame.where(condition).selectExpr(*columns)


def select_numbers(frame: Frame, column: str, numbers: Int64, schema: pa.Schema) -> Frame:
    """The columns of the schema, of rows with one of the numbers: workers look for them where the rows are."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
        for batch in batches:
            yield pa.Table.from_batches([batch]).filter(pa.array(np.isin(batch.column(column), numbers)))

    made = spark_schema(schema)
    return frame.select(*schema.names).mapInArrow(on_batches(run, made), made)


def has_several(spark: Spark, frame: Frame, by: str, of: str, why: str) -> bool:
    """Whether rows with the same `by` differ in the number `of`."""
    ends = combine(frame.selectExpr(by, f"{of} AS low", f"{of} AS high"), [by], {"low": "min", "high": "max"})
    return bool(spark.collect(ends.where("low <> high").limit(1), why).num_rows)


@contextmanager
def keep(frame: Frame, by: str | None = None, parts: int = 1) -> Iterator[Frame]:
    """The rows, kept by Spark as long as they are needed; those with the same `by` in one place, if it is given."""
    kept = (frame if by is None else frame.repartition(parts, by)).persist()
    try:
        yield kept
    finally:
        kept.unpersist()
