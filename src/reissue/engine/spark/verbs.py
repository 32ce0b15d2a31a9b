"""The verbs on Apache Spark. Rows stay with Spark's workers: only `columns` and `arrow` bring them to the driver."""

from __future__ import annotations

import os
import pickle
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from reissue.engine.base import Columns, Engine, Format, How, Kernel, Kind
from reissue.engine.embedded import frame_of, numpy_of, returned_frame, series_of, sorted_rows
from reissue.engine.output import write_table
from reissue.engine.spark.order import bounds, bucket, named, numbered, shared_order
from reissue.engine.spark.session import start
from reissue.engine.spark.tasks import (
    arrow_schema,
    conformed,
    mapped,
    mapped_in_arrow,
    numbered_columns,
    packed,
    spark_schema,
    unpacked,
    unwrapped,
    wrapped,
)
from reissue.errors import ReissueError, SettingsError, SnapshotError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from reissue.engine.spark.sources import SparkSource

Frame: TypeAlias = "DataFrame"
"""A table of Spark, for those who must not import pyspark themselves."""

Item = TypeVar("Item")
Result = TypeVar("Result")
Key = tuple[object, ...]

TYPES: Mapping[Kind, pa.DataType] = {
    "int32": pa.int32(),
    "int64": pa.int64(),
    "float64": pa.float64(),
    "bool": pa.bool_(),
    "text": pa.string(),
}
JOINS: Mapping[How, str] = {"inner": "inner", "left": "left", "semi": "left_semi", "anti": "left_anti"}
EACH = pa.schema([("item", pa.int64()), ("payload", pa.binary())])
ALL = "__reissue_all__"
TABLE = "table:"
"""What names of Spark tables begin with: table:catalog.database.name."""


class Spark(Engine["DataFrame"]):
    """Everything in Spark's hands.

    transfers: how many rows came to the driver, by purpose
    """

    def __init__(self, session: SparkSession | None = None) -> None:
        self.session = session or start()
        self.transfers: Counter[str] = Counter()

    @property
    def collected(self) -> int:
        """How many rows came to the driver so far."""
        return self.transfers.total()

    def collect(self, frame: DataFrame, why: str) -> pa.Table:
        """Bring rows to the driver. All that ever come, come through here, and are counted under `why`."""
        with unwrapped():
            table = frame.toArrow()
        self.transfers[why] += table.num_rows
        return table

    def rows_from_tasks(
        self, items: Sequence[object], task: Callable[..., Iterable[pa.Table]], schema: pa.Schema
    ) -> DataFrame:
        """The rows that the task makes of each item, every item on a worker of its own."""

        def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    yield from task(items[number])

        made = spark_schema(schema)
        return self.session.range(0, len(items), 1, max(1, len(items))).mapInArrow(mapped(run, made), made)

    # -- the verbs of every engine

    def read(self, source: SparkSource, columns: Sequence[str]) -> DataFrame:
        from reissue.engine.read import missing_column
        from reissue.engine.spark.sources import find

        found = find(self, source, columns)
        missing = [missing_column(name, found.header) for name in columns if name not in found.header]
        if missing:
            raise SnapshotError(f"{found.name}: " + " ".join(missing))
        return found.frame().select(*map(named, columns))

    def join(self, left: DataFrame, right: DataFrame, on: Sequence[str], how: How) -> DataFrame:
        added = [name for name in right.columns if name not in on]
        if how in ("semi", "anti"):
            added = []
        both = sorted(set(left.columns) & set(added))
        if both:
            raise ValueError(f"both tables have the columns {both}; rename them before joining on {list(on)}.")
        return left.join(right, on=list(on), how=JOINS[how]).select(*map(named, [*left.columns, *added]))

    def count(self, table: DataFrame, by: Sequence[str]) -> DataFrame:
        return table.groupBy(*map(named, by)).count()

    def number(self, table: DataFrame, within: Sequence[str], order: Sequence[str], name: str) -> DataFrame:
        from pyspark.sql import Window
        from pyspark.sql import functions as F

        if not within:
            return numbered(table, order, name, self.collect)
        window = Window.partitionBy(*map(named, within)).orderBy(*shared_order(table.columns, [*within, *order]))
        return table.withColumn(name, (F.row_number().over(window) - 1).cast("long"))

    def map_groups(
        self, table: DataFrame, by: Sequence[str], order: Sequence[str], kernel: Kernel, returns: Mapping[str, Kind]
    ) -> DataFrame:
        from pyspark.sql.types import StructType

        keys = [table.schema[name] for name in by]
        made = spark_schema(pa.schema([pa.field(name, TYPES[kind]) for name, kind in returns.items()]))

        def run(group: pa.Table, key: Key) -> pa.Table:
            frame = frame_of(group)
            result = returned_frame(kernel(numpy_of(frame[sorted_rows(frame, order)])), returns).to_arrow()
            first = pa.array(np.zeros(result.num_rows, dtype=np.int64))
            columns = {name: group.column(name).take(first) for name in by}
            return pa.table(columns | {name: result.column(name) for name in returns})

        return self._applied(table, by, run, StructType([*keys, *made]))

    def write(self, table: DataFrame, path: Path, format: Format, order: Sequence[str]) -> None:
        """One task gathers, sorts and writes the rows, so `path` must be one that Spark's workers reach."""
        target = str(path.absolute())

        def run(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.Table]:
            rows = pa.Table.from_batches(batches, schema)
            frame = frame_of(rows)
            rows = rows.take(sorted_rows(frame, order).to_arrow())
            partial = f"{target}.{os.getpid()}.part"
            write_table(rows, Path(partial), format)
            os.replace(partial, target)  # a task may run twice
            yield pa.table({"rows": [rows.num_rows]})

        self._in_one_task(table, run)

    def columns(self, table: DataFrame, order: Sequence[str]) -> dict[str, NDArray[np.generic]]:
        return numpy_of(frame_of(self.arrow(table, order)))

    def arrow(self, table: DataFrame, order: Sequence[str]) -> pa.Table:
        return self.collect(table.orderBy(*shared_order(table.columns, order)), "rows asked for")

    def table(self, columns: Columns | pa.Table) -> DataFrame:
        if not isinstance(columns, pa.Table):
            columns = pa.table({name: series_of(name, values).to_arrow() for name, values in columns.items()})
        schema = spark_schema(columns.schema)
        return self.session.createDataFrame(conformed(columns, arrow_schema(schema)), schema)

    # -- what only Spark can do

    def each(self, items: Sequence[Item], task: Callable[[Item], Result]) -> list[Result]:
        """What `task` returns for each item, in the order of the items; every item is a task of its own on a worker.

        Items, the task and its results are pickled, so results should be small. The first failure that is an error of
        ours is raised here as itself, without a second attempt; any other failure is left to Spark.
        """
        if not items:
            return []
        frame = self._apart([pickle.dumps(item) for item in items])

        def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for number, payload in zip(*(batch.column(i).to_pylist() for i in (0, 1)), strict=True):
                    result, failure = None, None
                    try:
                        result = pickle.dumps(task(pickle.loads(payload)))
                    except ReissueError as error:
                        failure = packed(error)
                    arrays = [pa.array([number]), pa.array([result], pa.binary()), pa.array([failure], pa.string())]
                    yield pa.RecordBatch.from_arrays(arrays, ["item", "result", "failure"])

        done = frame.mapInArrow(run, "item long, result binary, failure string")
        told = sorted(self.collect(done, "results of tasks").to_pylist(), key=lambda row: int(row["item"]))
        for row in told:
            failure = unpacked(row["failure"] or "")
            if failure is not None:
                raise failure
        return [pickle.loads(row["result"]) for row in told]

    def _apart(self, payloads: Sequence[bytes]) -> DataFrame:
        """The payloads with their numbers, each in a partition of its own; no Python worker is needed for that."""
        rows = [pa.table([[number], [payload]], EACH) for number, payload in enumerate(payloads)]
        with self._set("spark.sql.execution.arrow.localRelationThreshold", "0"):  # or Spark would put them together
            return self.session.createDataFrame(pa.concat_tables(rows))

    @contextmanager
    def _set(self, name: str, value: str) -> Iterator[None]:
        conf = self.session.conf
        before = conf.get(name, None)
        conf.set(name, value)
        try:
            yield
        finally:
            conf.unset(name) if before is None else conf.set(name, before)

    def grouped(
        self, frame: DataFrame, by: Sequence[str], kernel: Callable[[pa.Table, Key], pa.Table], schema: pa.Schema
    ) -> DataFrame:
        """Run the kernel on each group's rows as one Arrow table (in any order) and on its key, the values of `by`.

        It returns a table of the given schema. Meant for few large groups: each must fit into one worker's memory.
        """
        return self._applied(frame, by, kernel, spark_schema(schema))

    def on_one(self, frame: DataFrame, task: Callable[[pa.Table], Result]) -> Result | None:
        """What `task` returns of all rows (in any order), which one worker gets; None if there are none.

        The result is pickled and should be small.
        """
        told = self.of_groups(frame.selectExpr("*", f"0 AS {ALL}"), ALL, lambda rows, _: task(rows.drop_columns([ALL])))
        return told.get(0)

    def of_groups(
        self, frame: DataFrame, by: str, task: Callable[[pa.Table, int], Result], why: str = "results of tasks"
    ) -> dict[int, Result]:
        """What `task` returns of the rows (in any order) of each number in `by`, and of it; by number, ascending.

        Each group must fit into one worker's memory. Results are pickled and should be small.
        """

        def run(rows: pa.Table, key: Key) -> pa.Table:
            number = int(str(key[0]))
            return pa.table([[number], pa.array([pickle.dumps(task(rows, number))], pa.binary())], ["group", "result"])

        schema = pa.schema([("group", pa.int64()), ("result", pa.binary())])
        made = self.collect(self.grouped(frame, [by], run, schema), why).sort_by("group")
        return {row["group"]: pickle.loads(row["result"]) for row in made.to_pylist()}

    def sorted_parts(
        self,
        frame: DataFrame,
        key: str,
        parts: int,
        task: Callable[[int, pa.Table], Result],
        limits: Sequence[int] | None = None,
    ) -> list[Result]:
        """Cut the rows into at most `parts` ranges of `key` of about equal size, and run `task` on each on a worker.

        The task gets the number of its part (0, 1, ..., none of them empty) and the part's rows, sorted by the key
        and then by all other columns. Rows of one key stay together. The same rows give the same parts, however Spark
        partitions them. The results are pickled, should be small, and come in the order of the parts.
        A task may run twice if a worker fails: write to a temporary name and rename.
        limits: the first keys of parts 1, 2, ... where they are known beforehand, which saves looking for them twice
        over; then a part may be empty, and is left out.
        """
        part = "__reissue_part__"
        if limits is None:
            limits = [] if parts == 1 else bounds(frame, key, parts, self.collect)  # type: ignore[assignment]
        divided = frame.withColumn(part, bucket(key, limits or []))

        def run(group: pa.Table, number: Key) -> pa.Table:
            rows = group.drop_columns([part])
            rows = rows.take(sorted_rows(frame_of(rows), [key]).to_arrow())
            result = task(int(str(number[0])), rows)
            return pa.table({"part": pa.array([number[0]], pa.int64()), "result": [pickle.dumps(result)]})

        schema = spark_schema(pa.schema([("part", pa.int64()), ("result", pa.binary())]))
        done = self.collect(self._applied(divided, [part], run, schema), "results of tasks").sort_by("part")
        return [pickle.loads(result) for result in done.column("result").to_pylist()]

    def write_table(self, frame: DataFrame, name: str) -> None:
        """A new Spark table, `table:name` or `table:catalog.database.name`; one that exists is refused."""
        self.refuse_existing(name)
        with unwrapped():
            frame.write.mode("error").format("parquet").saveAsTable(name.removeprefix(TABLE))

    def refuse_existing(self, name: str) -> None:
        """Raise SettingsError if there is a Spark table of that name."""
        table = name.removeprefix(TABLE)
        if self.session.catalog.tableExists(table):
            raise SettingsError(f"The Spark table {table!r} exists already. Drop it, or choose another name.")

    def _applied(
        self, frame: DataFrame, by: Sequence[str], kernel: Callable[[pa.Table, Key], pa.Table], schema: StructType
    ) -> DataFrame:
        names = frame.columns
        keys = [f"n{names.index(name)}" for name in by]

        def run(key: tuple[pa.Scalar, ...], group: pa.Table) -> pa.Table:
            with wrapped():
                made = kernel(group.rename_columns(names), tuple(value.as_py() for value in key))
                return conformed(made, arrow_schema(schema))

        return numbered_columns(frame).groupBy(*keys).applyInArrow(run, schema)

    def _in_one_task(
        self, frame: DataFrame, task: Callable[[Iterator[pa.RecordBatch], pa.Schema], Iterator[pa.Table]]
    ) -> None:
        schema, wanted = spark_schema(pa.schema([("rows", pa.int64())])), arrow_schema(frame.schema)
        made = mapped_in_arrow(frame.repartition(1), lambda batches: task(batches, wanted), schema)
        if not self.collect(made, "results of tasks").num_rows:  # Spark starts no task for no rows
            self.each([wanted], lambda empty: [None for _ in task(iter(()), empty)])


def connect(settings: Mapping[str, object]) -> Spark:
    """Spark as the series' settings say; a SettingsError if it cannot be had."""
    own = settings.get("settings", {})
    assert isinstance(own, Mapping)
    given = {str(name): str(value) for name, value in own.items()}
    if settings.get("master"):
        given["master"] = str(settings["master"])
    return Spark(start(given))
