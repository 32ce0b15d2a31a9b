"""A table that Spark has found: the rows of a source, for its workers, and the place of each row there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from reissue.arrays.types import Int64
from reissue.engine.identifiers import hash_identifiers, normalize
from reissue.engine.spark.gathering import count_cores
from reissue.engine.spark.tasks import column_named, map_partitions, unwrap_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from reissue.engine.spark.verbs import Spark

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

    @property
    def ordered(self) -> bool:
        """Whether places are those of rows in the source, which a person can count."""
        return True

    def close(self) -> None:  # noqa: B027  (nothing is kept of files)
        """Let Spark forget what it kept of the source; what is used again is read again."""


@dataclass(frozen=True, eq=False, kw_only=True)
class SparkRows(Found):
    """A Spark DataFrame of the wanted columns; with `ROW` if its rows have an order.

    identifier: the column by which a row without a place is known: its place is a hash of it
    kept: the frame that Spark keeps, if it is not `rows` itself
    """

    rows: DataFrame
    identifier: str = ""
    kept: DataFrame | None = None

    def keep(self, identifier: str) -> SparkRows:
        """Kept by Spark, in partitions of a good size: a Python task for every one of 200 tiny ones would take minutes.

        The rows are counted, which reads them once; every later pass finds them where they are kept.
        """
        kept = self.rows.persist()
        with unwrap_errors():
            parts = max(count_cores(self.spark), -(-kept.count() // PIECE))
        return replace(self, identifier=identifier, rows=kept.coalesce(parts), kept=kept)

    def map(self, task: Task, schema: StructType, columns: Sequence[str] | None = None) -> DataFrame:
        names, identifier = list(columns or self.schema.names), self.identifier
        rows = self.rows
        if columns is not None:
            known = [ROW] if self.ordered else [identifier] if identifier not in names else []
            rows = rows.select(*map(column_named, [*names, *known]))

        def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
            for table in chunks(batches):
                places = _find_places(table, identifier)
                table = table.select(names)
                if (np.diff(places) < 0).any():
                    order = np.argsort(places)
                    table, places = table.take(pa.array(order)), places[order]
                yield from task(table, places)

        return map_partitions(rows, run, schema)

    def close(self) -> None:
        (self.kept or self.rows).unpersist()

    @property
    def ordered(self) -> bool:
        return ROW in self.rows.columns


def _find_places(table: pa.Table, identifier: str) -> Int64:
    """int64[rows]: the place of each row; where rows have none, a hash of the identifier, which nothing moves."""
    if ROW in table.column_names:
        return np.asarray(table.column(ROW))
    if identifier in table.column_names:
        with suppress(pa.ArrowException, ValueError):  # told as a problem of the column later
            return hash_identifiers(normalize(table.column(identifier), plain=False)[0]).view(np.int64)
    return np.zeros(table.num_rows, dtype=np.int64)


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
