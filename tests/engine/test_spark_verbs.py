"""The verbs: joins, counts, tasks on workers, sorted parts; and errors that come back as they were raised."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from reissue.arrays.types import Int32
from reissue.engine.spark import tasks
from reissue.engine.spark.counting import count_values
from reissue.engine.spark.found import SparkRows
from reissue.engine.spark.tasks import pack_error, spark_schema, unpack_error
from reissue.engine.spark.verbs import Frame, Spark, place_apart
from reissue.errors import GuaranteeBroken, InfeasiblePolicy, SnapshotError
from tests.support import spark as support

pytestmark = [support.together, support.quiet]


@pytest.fixture
def spark() -> Spark:
    return support.engine()


def test_each_item_is_a_task_of_its_own(spark: Spark) -> None:
    driver = os.getpid()

    def task(item: tuple[str, int]) -> dict[str, object]:
        return {"twice": item[0] * 2, "number": item[1], "driver": os.getpid() == driver}

    def partition(_: int) -> int:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        return context.partitionId()

    items = [(f"item {number}", number) for number in range(7)]
    results = spark.each(items, task)
    assert results == [{"twice": name * 2, "number": number, "driver": False} for name, number in items]
    assert spark.each([b"\x00\xff"], len) == [2]
    assert spark.each(range(7), partition) == list(range(7)), "an item is not a task of its own"
    assert spark.session.conf.get("spark.sql.execution.arrow.localRelationThreshold") != "0", (
        "a setting was left behind"
    )
    assert spark.each([], task) == []


def test_workers_look_only_through_what_their_last_task_left(spark: Spark, tmp_path: Path) -> None:
    """For garbage, between tasks. What stays is left out of that, but what only a running task holds is not."""

    def task(number: int) -> tuple[int, int]:
        class Ring:
            def __init__(self) -> None:
                self.itself = self

            def __del__(self) -> None:
                (tmp_path / f"{number}").touch()

        ring = Ring()
        gc.collect()  # as it may happen at any moment
        assert ring.itself is ring
        return gc.get_freeze_count(), len(gc.get_objects())

    for _ in range(2):
        told = spark.each(range(6), task)
    for frozen, looked_at in told:
        assert 20 * looked_at < frozen
    end = time.monotonic() + 20  # they look when the task's result is on its way
    while len(list(tmp_path.iterdir())) < 6 and time.monotonic() < end:
        time.sleep(0.01)
    assert sorted(file.name for file in tmp_path.iterdir()) == list("012345")


def test_errors_of_ours_come_back_as_they_were_raised(spark: Spark) -> None:
    sentence = "m=5 cannot hold: 'flü'\nis 31% of the rows. Lower m."

    def fails(item: int) -> int:
        if item == 2:
            raise InfeasiblePolicy(sentence)
        return item

    def kernel(group: pa.Table, key: tuple[object, ...]) -> pa.Table:
        raise GuaranteeBroken(sentence)

    with pytest.raises(InfeasiblePolicy) as caught:
        spark.each([1, 2, 3], fails)
    assert str(caught.value) == sentence
    table = spark.table(pa.table({"g": [1, 1, 2], "n": [1, 2, 3]}))
    with pytest.raises(GuaranteeBroken) as broken:
        spark.collect(spark.grouped(table, ["g"], kernel, pa.schema([("m", pa.int64())])), "test")
    assert str(broken.value) == sentence
    with pytest.raises(Exception, match="ZeroDivisionError"):
        spark.each([0], lambda item: 1 // item)


def test_text_that_looks_like_an_error_is_never_run() -> None:
    told = pack_error(SnapshotError("a\nb"))
    assert str(unpack_error(f"Traceback\n  {told}\nmore")) == "a\nb"
    assert unpack_error("reissue-error:eyJhIjogMX0=") is None
    assert unpack_error("reissue-error:WyJTeXN0ZW1FeGl0IiwgIngiXQ==") is None  # ["SystemExit", "x"]
    assert unpack_error("reissue-error:!!") is None


def test_groups_as_arrow_tables(spark: Spark) -> None:
    def kernel(group: pa.Table, key: tuple[object, ...]) -> pa.Table:
        return pa.table({"key": [str(key)], "rows": [group.num_rows], "a.b": [sum(group.column("a.b").to_pylist())]})

    frame = spark.table(pa.table({"g": ["x", None, "x"], "h": [1, 2, 1], "a.b": [10, 20, 30]}))
    schema = pa.schema([("key", pa.string()), ("rows", pa.int64()), ("a.b", pa.int32())])
    made = spark.grouped(frame, ["g", "h"], kernel, schema)
    assert spark.collect(made, "test").sort_by("key").to_pylist() == [
        {"key": "('x', 1)", "rows": 2, "a.b": 40},
        {"key": "(None, 2)", "rows": 1, "a.b": 20},
    ]


def test_join(spark: Spark) -> None:
    left = spark.table(pa.table({"a": ["x", "y", None, "x"], "n": [1, 2, 3, 4]}))
    right = spark.table(pa.table({"a": ["x", "z", None, "x"], "m": [10, 20, 30, 40]}))
    inner = [("x", 1, 10), ("x", 1, 40), ("x", 4, 10), ("x", 4, 40)]
    assert rows_of(spark, spark.join(left, right, ["a"], "inner")) == bag(inner)
    assert rows_of(spark, spark.join(left, right, ["a"], "left")) == bag([*inner, ("y", 2, None), (None, 3, None)])
    assert rows_of(spark, spark.join(left, right, ["a"], "anti")) == bag([("y", 2), (None, 3)])
    with pytest.raises(ValueError, match="'n'"):
        spark.join(left, left, ["a"], "inner")


def test_count(spark: Spark) -> None:
    table = pa.table({"t": ["a", None, "a", "b", None], "n.": [1, 1, 1, 0, 2]})
    counted = spark.count(spark.table(table), ["t", "n."])
    assert counted.columns == ["t", "n.", "count"]
    assert rows_of(spark, counted) == bag([("a", 1, 2), (None, 1, 1), ("b", 0, 1), (None, 2, 1)])


def rows_of(spark: Spark, frame: Frame) -> list[str]:
    """The rows without their order."""
    return bag(tuple(row.values()) for row in spark.collect(frame, "test").to_pylist())


def bag(rows: Iterable[tuple[object, ...]]) -> list[str]:
    return sorted(map(repr, rows))


def test_packed_rows_arrive_at_their_places_in_their_order(
    spark: Spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole, with types that Spark has not, however they are divided on the way; a place without rows is left out."""
    monkeypatch.setattr(tasks, "PACKED_ROWS", 70)
    keys = np.random.default_rng(3).permutation(500)
    labels = pa.array([f"row {key % 7}" for key in keys.tolist()]).dictionary_encode()
    table = pa.table({"key": pa.array(keys, pa.uint16()), "a.b": labels})

    def place(rows: pa.Table) -> Int32:
        return (np.asarray(rows["key"]) % 3 + (np.asarray(rows["key"]) % 3 > 1)).astype(np.int32)  # 0, 1, 3

    def pack(start: int) -> Iterable[pa.Table]:
        return tasks.pack_rows(table.slice(start, 125), place, 4, start)

    def tell(rows: pa.Table, number: int) -> tuple[int, list[int], list[str], str]:
        (tmp_path / f"{number}").write_text("written by the worker")
        told = (tmp_path / f"{number}").read_text()
        return number, rows["key"].to_pylist(), rows["a.b"].to_pylist(), told + str(rows.schema.field("a.b").type)

    packed = spark.rows_from_tasks([250, 0, 375, 125], pack, tasks.PACKED)
    found = spark.of_places(packed, 4, tell)
    assert list(found) == [0, 1, 3]
    for number, rest in ((0, 0), (1, 1), (3, 2)):
        own = [key for key in keys.tolist() if key % 3 == rest]
        what = "written by the workerdictionary<values=string, indices=int32, ordered=0>"
        assert found[number] == (number, own, [f"row {key % 7}" for key in own], what)
    assert spark.transfers["results of tasks"] == len(found)
    nothing = spark.rows_from_tasks([500], pack, tasks.PACKED)
    assert spark.of_places(nothing, 4, tell) == {}


@pytest.mark.parametrize("count", [1, 2, 3, 7, 24])
def test_each_group_has_a_partition_of_its_own(spark: Spark, count: int) -> None:
    """As many partitions as groups, none empty: Spark's own hash would put several into one."""
    rows = spark.table(pa.table({"group": [number % count for number in range(3 * count)]}))
    placed = place_apart(rows, "group", count).selectExpr("group", "spark_partition_id() AS partition").distinct()
    found = spark.collect(placed, "test").to_pylist()
    assert sorted(row["group"] for row in found) == list(range(count))
    assert sorted(row["partition"] for row in found) == list(range(count))


def test_a_frame_of_many_small_partitions_is_read_by_few_tasks(spark: Spark) -> None:
    frame = spark.table(pa.table({"id": [f"p{i}" for i in range(60)]})).repartition(30)
    found = SparkRows(spark, "frame", ("id",), pa.schema([("id", pa.string())]), rows=frame).keep("id")
    made = found.map(
        lambda rows, _: [pa.table({"rows": [rows.num_rows]})], spark_schema(pa.schema([("rows", pa.int64())]))
    )
    sizes = spark.collect(made, "test").column("rows").to_pylist()
    found.close()
    assert sum(sizes) == 60
    assert len(sizes) <= spark.session.sparkContext.defaultParallelism
    assert not frame.is_cached


def test_values_of_all_columns_are_counted_over_one_reading(spark: Spark) -> None:
    rows = pa.table(
        {
            "identifier": ["a", "b", "c", "d"],
            "i0": ["a", "x", " x", None],
            "i1": pa.array([1.5, 2.5, 2.5, None]),
            "i2": ["", "b", "c", "d"],
        }
    )
    read = spark.session.sparkContext.accumulator(0)

    def task(batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
        for batch in batches:
            read.add(batch.num_rows)
            yield batch

    frame = spark.table(rows)
    counted = count_values(spark, frame.mapInArrow(task, frame.schema), ["i0", "i1", "i2"])
    assert counted == [(4, 1, 1), (4, 1, 0), (4, 3, 3)]
    assert read.value == 4
    assert count_values(spark, frame, []) == []
