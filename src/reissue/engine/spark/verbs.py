"""The verbs on Apache Spark. Rows stay with Spark's workers: only `collect` brings some to the driver.

A table is a bag of rows under named columns, so no verb depends on an order that was not asked for.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

import pyarrow as pa

from reissue.engine.spark.session import start
from reissue.engine.spark.tasks import (
    arrow_schema,
    column_named,
    conform,
    number_columns,
    on_batches,
    pack_error,
    spark_schema,
    unpack_error,
    unpack_rows,
    unwrap_errors,
    wrap_errors,
)
from reissue.errors import ReissueError, SettingsError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Frame: TypeAlias = "DataFrame"
"""A table of Spark, for those who must not import pyspark themselves."""

Item = TypeVar("Item")
Result = TypeVar("Result")
Key = tuple[object, ...]
GroupTask = Callable[[pa.Table, int], Result]
"""Gets the rows of one number, and the number."""

How = Literal["inner", "left", "anti"]
JOINS: Mapping[How, str] = {"inner": "inner", "left": "left", "anti": "left_anti"}
EACH = pa.schema([("item", pa.int64()), ("payload", pa.binary())])
ALL = "__reissue_all__"
PLACE = "__reissue_place__"
TABLE = "table:"
"""What names of Spark tables begin with: table:catalog.database.name."""


class Spark:
    """Everything in Spark's hands.

    transfers: how many rows came to the driver, by purpose
    """

    def __init__(self, session: SparkSession | None = None) -> None:
        self.session = session or start()
        self.transfers: Counter[str] = Counter()

    def collect(self, frame: DataFrame, why: str) -> pa.Table:
        """Bring rows to the driver. All that ever come, come through here, and are counted under `why`."""
        with unwrap_errors():
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
        return self.session.range(0, len(items), 1, max(1, len(items))).mapInArrow(on_batches(run, made), made)

    def join(self, left: DataFrame, right: DataFrame, on: Sequence[str], how: How) -> DataFrame:
        """Rows of `left` with the columns of their matches in `right`; null matches nothing.

        "left" keeps unmatched rows with nulls; "anti" keeps the left rows that have no match.
        Columns other than `on` must have different names on both sides.
        """
        added = [] if how == "anti" else [name for name in right.columns if name not in on]
        both = sorted(set(left.columns) & set(added))
        if both:
            raise ValueError(f"both tables have the columns {both}; rename them before joining on {list(on)}.")
        return left.join(right, on=list(on), how=JOINS[how]).select(*map(column_named, [*left.columns, *added]))

    def count(self, table: DataFrame, by: Sequence[str]) -> DataFrame:
        """One row per distinct combination of `by`, with its number of rows in `count` (int64); null is a value."""
        return table.groupBy(*map(column_named, by)).count()

    def table(self, rows: pa.Table) -> DataFrame:
        schema = spark_schema(rows.schema)
        return self.session.createDataFrame(conform(rows, arrow_schema(schema)), schema)

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
                        failure = pack_error(error)
                    arrays = [pa.array([number]), pa.array([result], pa.binary()), pa.array([failure], pa.string())]
                    yield pa.RecordBatch.from_arrays(arrays, ["item", "result", "failure"])

        done = frame.mapInArrow(run, "item long, result binary, failure string")
        told = sorted(self.collect(done, "results of tasks").to_pylist(), key=lambda row: int(row["item"]))
        for row in told:
            failure = unpack_error(row["failure"] or "")
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
        names, made = frame.columns, spark_schema(schema)
        keys = [f"n{names.index(name)}" for name in by]

        def run(key: tuple[pa.Scalar, ...], group: pa.Table) -> pa.Table:
            with wrap_errors():
                result = kernel(group.rename_columns(names), tuple(value.as_py() for value in key))
                return conform(result, arrow_schema(made))

        return number_columns(frame).groupBy(*keys).applyInArrow(run, made)

    def on_one(self, frame: DataFrame, task: Callable[[pa.Table], Result]) -> Result | None:
        """What `task` returns of all rows (in any order), which one worker gets; None if there are none.

        The result is pickled and should be small.
        """
        marked = frame.selectExpr("*", f"0 AS {ALL}")
        return self.of_groups(marked, ALL, lambda rows, _: task(rows.drop_columns([ALL])), count=1).get(0)

    def of_groups(
        self,
        frame: DataFrame,
        by: str,
        task: GroupTask[Result],
        why: str = "results of tasks",
        count: int | None = None,
    ) -> dict[int, Result]:
        """What `task` returns of the rows (in any order) of each number in `by`, and of it; by number, ascending.

        Each group must fit into one worker's memory. Results are pickled and should be small.
        count: numbers are below it, and each gets a task of its own; None: the rows of each are in one place already
        """

        def run(rows: pa.Table, _: Key) -> pa.Table:
            number = int(rows.column(by)[0].as_py())
            result = task(rows.select(names), number)
            return pa.table([[number], pa.array([pickle.dumps(result)], pa.binary())], ["group", "result"])

        names = frame.columns
        schema = pa.schema([("group", pa.int64()), ("result", pa.binary())])
        if count is None:
            made = self.grouped(frame, [by], run, schema)
        else:
            made = self.map_places(frame, by, lambda rows, _: [run(rows, ())], schema, count)
        told = self.collect(made, why).sort_by("group")
        return {row["group"]: pickle.loads(row["result"]) for row in told.to_pylist()}

    def map_places(
        self,
        frame: DataFrame,
        by: str,
        task: Callable[[pa.Table, int], Iterable[pa.Table]],
        schema: pa.Schema,
        count: int,
    ) -> DataFrame:
        """The rows that the task makes of all rows (in any order) of each number in `by`, and of it.

        count: numbers are below it, and each gets a task of its own; of a number without rows there is none
        """
        names = frame.columns

        def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
            held = [batch for batch in batches if batch.num_rows]
            if held:
                rows = pa.Table.from_batches(held).select(range(len(names))).rename_columns(names)
                yield from task(rows, int(rows.column(by)[0].as_py()))

        made = spark_schema(schema)
        return number_columns(place_apart(frame, by, count)).mapInArrow(on_batches(run, made), made)

    def of_places(
        self, packed: DataFrame, count: int, task: GroupTask[Result], why: str = "results of tasks"
    ) -> dict[int, Result]:
        """What `task` returns of the rows of each place below `count`, as `of_groups`; packed: see `tasks.PACKED`.

        A task may run twice if a worker fails: write to a temporary name and rename.
        """
        return self.of_groups(packed, "place", lambda rows, place: task(unpack_rows(rows), place), why, count)

    def write_table(self, frame: DataFrame, name: str) -> None:
        """A new Spark table, `table:name` or `table:catalog.database.name`; one that exists is refused."""
        self.refuse_existing(name)
        with unwrap_errors():
            frame.write.mode("error").format("parquet").saveAsTable(name.removeprefix(TABLE))

    def refuse_existing(self, name: str) -> None:
        """Raise SettingsError if there is a Spark table of that name."""
        table = name.removeprefix(TABLE)
        if self.session.catalog.tableExists(table):
            raise SettingsError(f"The Spark table {table!r} exists already. Drop it, or choose another name.")


def place_apart(frame: DataFrame, by: str, count: int) -> DataFrame:
    """The rows in so many partitions, those of each number in `by` (0, 1, ...) in one of their own, marked by PLACE.

    Left to itself, Spark puts several of few numbers into one partition and leaves others empty.
    """
    from pyspark.sql import functions as F

    keys = F.array(*[F.lit(key).cast("int") for key in spread_keys(count)])
    return frame.withColumn(PLACE, F.element_at(keys, column_named(by).cast("int") + 1)).repartition(count, PLACE)


def spread_keys(count: int) -> list[int]:
    """For each of so many partitions a number that Spark's hash (Murmur3 of an int, seed 42) sends there. O(count²)."""
    found: dict[int, int] = {}
    key = 0
    while len(found) < count:
        found.setdefault(_hash_int(key) % count, key)
        key += 1
    return [found[place] for place in range(count)]


def _hash_int(key: int) -> int:
    """Spark's `hash` of an int: Murmur3 of four bytes, as a signed number."""
    mask = 0xFFFFFFFF
    mixed = key * 0xCC9E2D51 & mask
    mixed = (mixed << 15 | mixed >> 17) & mask
    found = 42 ^ (mixed * 0x1B873593 & mask)
    found = ((found << 13 | found >> 19) & mask) * 5 + 0xE6546B64 & mask
    found ^= 4
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        found = (found ^ found >> shift) * factor & mask
    return found - (1 << 32) if found >> 31 else found


def connect(settings: Mapping[str, object]) -> Spark:
    """Spark as the series' settings say; a SettingsError if it cannot be had."""
    own = settings.get("settings", {})
    assert isinstance(own, Mapping)
    given = {str(name): str(value) for name, value in own.items()}
    if settings.get("master"):
        given["master"] = str(settings["master"])
    return Spark(start(given))
