"""What only Spark does: tasks on workers, sorted parts, tables; and errors that come back as they were raised."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from reissue.engine.base import Columns
from reissue.engine.embedded import Embedded
from reissue.engine.spark import order
from reissue.engine.spark.tasks import packed, unpacked
from reissue.engine.spark.verbs import Spark
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


def test_errors_of_ours_come_back_as_they_were_raised(spark: Spark) -> None:
    sentence = "m=5 cannot hold: 'flü'\nis 31% of the rows. Lower m."

    def fails(item: int) -> int:
        if item == 2:
            raise InfeasiblePolicy(sentence)
        return item

    def kernel(columns: Columns) -> Columns:
        raise GuaranteeBroken(sentence)

    with pytest.raises(InfeasiblePolicy) as caught:
        spark.each([1, 2, 3], fails)
    assert str(caught.value) == sentence
    table = spark.table(pa.table({"g": [1, 1, 2], "n": [1, 2, 3]}))
    with pytest.raises(GuaranteeBroken) as broken:
        spark.arrow(spark.map_groups(table, ["g"], [], kernel, {"m": "int64"}), [])
    assert str(broken.value) == sentence
    with pytest.raises(Exception, match="ZeroDivisionError"):
        spark.each([0], lambda item: 1 // item)


def test_text_that_looks_like_an_error_is_never_run() -> None:
    told = packed(SnapshotError("a\nb"))
    assert str(unpacked(f"Traceback\n  {told}\nmore")) == "a\nb"
    assert unpacked("reissue-error:eyJhIjogMX0=") is None
    assert unpacked("reissue-error:WyJTeXN0ZW1FeGl0IiwgIngiXQ==") is None  # ["SystemExit", "x"]
    assert unpacked("reissue-error:!!") is None


def test_groups_as_arrow_tables(spark: Spark) -> None:
    def kernel(group: pa.Table, key: tuple[object, ...]) -> pa.Table:
        return pa.table({"key": [str(key)], "rows": [group.num_rows], "a.b": [sum(group.column("a.b").to_pylist())]})

    frame = spark.table(pa.table({"g": ["x", None, "x"], "h": [1, 2, 1], "a.b": [10, 20, 30]}))
    schema = pa.schema([("key", pa.string()), ("rows", pa.int64()), ("a.b", pa.int32())])
    made = spark.grouped(frame, ["g", "h"], kernel, schema)
    assert spark.arrow(made, ["key"]).to_pylist() == [
        {"key": "('x', 1)", "rows": 2, "a.b": 40},
        {"key": "(None, 2)", "rows": 1, "a.b": 20},
    ]


def test_sorted_parts_cut_the_rows_by_their_key(spark: Spark, tmp_path: Path) -> None:
    draw = np.random.default_rng(3)
    keys = draw.permutation(1000).astype(np.int64)
    table = pa.table({"key": keys, "t": [f"row {key}" for key in keys.tolist()]})

    def task(part: int, rows: pa.Table) -> tuple[int, list[int], str]:
        found = rows.column("key").to_pylist()
        assert rows.column("t").to_pylist() == [f"row {key}" for key in found]
        (tmp_path / f"{part}").write_text("written by the worker")
        return part, found, (tmp_path / f"{part}").read_text()

    results = spark.sorted_parts(spark.table(table), "key", 4, task)
    again = spark.sorted_parts(spark.table(table).repartition(3), "key", 4, task)
    assert results == again, "the parts depend on how Spark partitions the rows"
    assert [part for part, _, _ in results] == list(range(len(results)))
    assert 2 <= len(results) <= 4
    assert [key for _, keys_of, _ in results for key in keys_of] == list(range(1000))
    assert all(len(keys_of) > 50 for _, keys_of, _ in results)
    assert spark.transfers["results of tasks"] == 2 * len(results)


def test_sorted_parts_of_odd_tables(spark: Spark) -> None:
    def count(part: int, rows: pa.Table) -> tuple[int, list[object]]:
        return part, rows.column("k").to_pylist()

    equal = spark.table(pa.table({"k": ["a"] * 5}))
    assert spark.sorted_parts(equal, "k", 3, count) == [(0, ["a"] * 5)]
    nothing = spark.table(pa.table({"k": pa.array([], pa.string())}))
    assert spark.sorted_parts(nothing, "k", 3, count) == []
    gaps = spark.table(pa.table({"k": ["b", None, "a"]}))
    assert [key for _, keys in spark.sorted_parts(gaps, "k", 2, count) for key in keys] == [None, "a", "b"]


@pytest.mark.parametrize("key", ["n", "t", "x"])
def test_numbers_over_ranges_are_those_of_one_sort(spark: Spark, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setattr(order, "SMALL", 40)
    draw = np.random.default_rng(5)
    table = pa.table(
        {
            "n": draw.integers(-5, 5, 200),
            "t": [None if number < 2 else chr(200 + number) * (number % 3) for number in draw.integers(0, 30, 200)],
            "x": np.where(draw.random(200) < 0.1, np.nan, draw.random(200)),
        }
    )
    embedded = Embedded()
    theirs = embedded.arrow(embedded.number(embedded.table(table), [], [key], "place"), ["place"])
    ours = spark.arrow(spark.number(spark.table(table).repartition(3), [], [key], "place"), ["place"])
    assert repr(ours.to_pylist()) == repr(theirs.to_pylist())


def test_writing_does_not_pass_through_the_driver(spark: Spark, tmp_path: Path) -> None:
    table = pa.table({"a": np.arange(5000), "t": [f"{number}" for number in range(5000)]})
    spark.write(spark.table(table), tmp_path / "rows.parquet", "parquet", ["a"])
    Embedded().write(Embedded().table(table), tmp_path / "same.parquet", "parquet", ["a"])
    assert (tmp_path / "rows.parquet").stat().st_size > 0
    assert pa.parquet.read_table(tmp_path / "rows.parquet") == pa.parquet.read_table(tmp_path / "same.parquet")
    spark.write(spark.table(table.slice(0, 0)), tmp_path / "none.csv", "csv", ["a"])
    assert (tmp_path / "none.csv").read_text().strip() == "a,t"
    assert spark.collected <= 2, spark.transfers
    assert sorted(path.name for path in tmp_path.iterdir()) == ["none.csv", "rows.parquet", "same.parquet"]
