"""What every engine must do, engine by engine the same. An engine joins by a class in test_conformance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reissue.engine.base import Columns, Engine
from reissue.errors import SnapshotError

TEXTS = st.one_of(st.none(), st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=3))


def over(strategy: st.SearchStrategy[Any]) -> Callable[[Any], Any]:
    """A test of everything that the strategy draws; `examples` says how often."""

    def keep(test: Any) -> Any:
        test.drawn = strategy
        return test

    return keep


def examples(count: int) -> Callable[[type], type]:
    """A suite that draws so many examples for each of its tests: fewer on an engine that is slow with small tables."""

    def decorate(suite: type) -> type:
        for name in dir(suite):
            test = getattr(suite, name)
            if hasattr(test, "drawn"):
                drawing = settings(max_examples=count)
                setattr(suite, name, drawing(given(test.drawn)(test)))
        return suite

    return decorate


def rows_of(table: pa.Table) -> list[tuple[object, ...]]:
    return list(zip(*(table.column(name).to_pylist() for name in table.column_names), strict=True))


def bag(table: pa.Table) -> list[str]:
    """The rows without their order."""
    return sorted(map(repr, rows_of(table)))


def key(value: object) -> tuple[Any, ...]:
    """The order of base.py, said again in Python: null first, NaN last, text by bytes."""
    if value is None:
        return (0,)
    if isinstance(value, float) and value != value:
        return (2,)
    return (1, value.encode() if isinstance(value, str) else value)


class Conformance:
    """Inherit nothing, override nothing: the fixture `engine` and the number of examples are the only differences."""

    def frame(self, engine: Engine[Any], **columns: object) -> Any:
        return engine.table(pa.table(columns))

    # -- conversions

    def test_numpy_columns_come_back_in_order(self, engine: Engine[Any]) -> None:
        table = engine.table(
            {
                "n": np.array([3, 1, 2], dtype=np.int32),
                "t": np.array(["c", None, "b"], dtype=object),
                "x": np.array([0.5, np.nan, -1.0]),
                "b": np.array([True, False, True]),
            }
        )
        back = engine.columns(table, ["n"])
        assert back["n"].tolist() == [1, 2, 3]
        assert back["n"].dtype == np.int32
        assert back["t"].tolist() == [None, "b", "c"]
        assert np.isnan(back["x"][0])
        assert back["x"].tolist()[1:] == [-1.0, 0.5]
        assert back["b"].tolist() == [False, True, True]

    def test_numbers_with_nulls_are_not_handed_to_numpy(self, engine: Engine[Any]) -> None:
        table = self.frame(engine, n=pa.array([1, None]))
        with pytest.raises(ValueError, match=r"'n'.*null"):
            engine.columns(table, ["n"])

    @over(st.lists(st.tuples(TEXTS, st.sampled_from([0.0, 1.5, float("nan"), None]), st.booleans()), max_size=12))
    def test_order_is_the_one_all_engines_share(self, engine: Engine[Any], rows: list[tuple[Any, ...]]) -> None:
        table = self.frame(
            engine,
            t=pa.array([row[0] for row in rows], pa.string()),
            x=pa.array([row[1] for row in rows], pa.float64()),
            b=pa.array([row[2] for row in rows], pa.bool_()),
        )
        expected = sorted(rows, key=lambda row: (key(row[1]), key(row[2]), key(row[0])))  # x, then b and t by name
        assert repr(rows_of(engine.arrow(table, ["x"]))) == repr(expected)

    # -- join

    def test_join(self, engine: Engine[Any]) -> None:
        left = self.frame(engine, a=["x", "y", None, "x"], n=[1, 2, 3, 4])
        right = self.frame(engine, a=["x", "z", None, "x"], m=[10, 20, 30, 40])
        inner = engine.arrow(engine.join(left, right, ["a"], "inner"), [])
        assert bag(inner) == bag(pa.table({"a": ["x"] * 4, "n": [1, 1, 4, 4], "m": [10, 40, 10, 40]}))
        outer = engine.arrow(engine.join(left, right, ["a"], "left"), [])
        assert len(outer) == 6
        assert set(bag(outer)) - set(bag(inner)) == {"('y', 2, None)", "(None, 3, None)"}
        assert rows_of(engine.arrow(engine.join(left, right, ["a"], "semi"), ["n"])) == [("x", 1), ("x", 4)]
        assert rows_of(engine.arrow(engine.join(left, right, ["a"], "anti"), ["n"])) == [("y", 2), (None, 3)]

    def test_join_refuses_columns_of_both_sides(self, engine: Engine[Any]) -> None:
        left, right = self.frame(engine, a=["x"], n=[1]), self.frame(engine, a=["x"], n=[2])
        with pytest.raises(ValueError, match="'n'"):
            engine.join(left, right, ["a"], "inner")

    # -- count

    @over(st.lists(st.tuples(st.sampled_from(["a", "b", None]), st.integers(0, 2)), max_size=20))
    def test_count(self, engine: Engine[Any], rows: list[tuple[str | None, int]]) -> None:
        table = self.frame(
            engine, t=pa.array([r[0] for r in rows], pa.string()), n=pa.array([r[1] for r in rows], pa.int64())
        )
        counted = engine.arrow(engine.count(table, ["t", "n"]), [])
        assert counted.column_names == ["t", "n", "count"]
        assert counted.schema.field("count").type == pa.int64()
        assert bag(counted) == sorted(repr((*row, rows.count(row))) for row in set(rows))

    # -- number

    @over(st.data())
    def test_number(self, engine: Engine[Any], data: st.DataObject) -> None:
        small = st.integers(-2, 2)
        rows = data.draw(st.lists(st.tuples(small, small, st.sampled_from(["a", "b", None])), max_size=15))
        numbered = self._numbered(engine, rows)
        shuffled = self._numbered(engine, data.draw(st.permutations(rows)))
        assert bag(numbered) == bag(shuffled), "the numbers depend on the order in which rows came"
        for g in {row[0] for row in rows}:
            group = [row for row in rows_of(numbered) if row[0] == g]
            group.sort(key=lambda row: row[3])  # type: ignore[arg-type,return-value]
            assert [row[3] for row in group] == list(range(len(group)))
            assert [row[1:3] for row in group] == sorted((row[1:3] for row in group), key=lambda r: (r[0], key(r[1])))

    def _numbered(self, engine: Engine[Any], rows: list[tuple[int, int, str | None]]) -> pa.Table:
        table = self.frame(
            engine,
            g=pa.array([row[0] for row in rows], pa.int64()),
            o=pa.array([row[1] for row in rows], pa.int32()),
            t=pa.array([row[2] for row in rows], pa.string()),
        )
        return engine.arrow(engine.number(table, ["g"], ["o"], "place"), [])

    def test_number_without_groups_counts_through(self, engine: Engine[Any]) -> None:
        numbered = engine.number(self.frame(engine, t=["b", "a", None]), [], ["t"], "place")
        assert rows_of(engine.arrow(numbered, ["t"])) == [(None, 0), ("a", 1), ("b", 2)]

    def test_number_packs_extreme_integers_rightly(self, engine: Engine[Any]) -> None:
        wide = [2**62, -(2**62), 0, 2**63 - 1, -(2**63)]
        table = self.frame(engine, g=[0] * 5, o=pa.array(wide, pa.int64()))
        numbered = engine.arrow(engine.number(table, ["g"], ["o"], "place"), ["place"])
        assert numbered.column("o").to_pylist() == sorted(wide)

    # -- map groups

    @over(st.lists(st.tuples(st.sampled_from(["a", "b", None]), st.integers(-5, 5)), max_size=15))
    def test_map_groups(self, engine: Engine[Any], rows: list[tuple[str | None, int]]) -> None:
        def running(columns: Columns) -> Columns:
            total = np.cumsum(columns["n"])
            return {"total": total[::2], "label": np.array([f"{n}" for n in columns["n"][::2]], dtype=object)}

        table = self.frame(
            engine, g=pa.array([r[0] for r in rows], pa.string()), n=pa.array([r[1] for r in rows], pa.int64())
        )
        mapped = engine.arrow(engine.map_groups(table, ["g"], ["n"], running, {"label": "text", "total": "int64"}), [])
        expected = []
        for g in {row[0] for row in rows}:
            numbers = sorted(row[1] for row in rows if row[0] == g)
            expected += [(g, str(n), sum(numbers[: i + 1])) for i, n in enumerate(numbers) if i % 2 == 0]
        assert mapped.column_names == ["g", "label", "total"]
        assert mapped.schema.field("total").type == pa.int64()
        assert bag(mapped) == sorted(map(repr, expected))

    def test_map_groups_over_several_columns_sees_the_keys(self, engine: Engine[Any]) -> None:
        def kernel(columns: Columns) -> Columns:
            assert len(set(columns["g"].tolist())) == 1
            return {"sum": (columns["g"] + columns["h"] + columns["n"]).sum(keepdims=True).astype(np.float64)}

        table = self.frame(engine, g=[1, 1, 2], h=[5, 6, 5], n=[10, 20, 30])
        mapped = engine.map_groups(table, ["g", "h"], [], kernel, {"sum": "float64"})
        assert rows_of(engine.arrow(mapped, ["g", "h"])) == [(1, 5, 16.0), (1, 6, 27.0), (2, 5, 37.0)]

    def test_map_groups_refuses_a_kernel_that_returns_something_else(self, engine: Engine[Any]) -> None:
        table = self.frame(engine, g=[1], n=[1])
        with pytest.raises(Exception, match="announced"):
            engine.columns(engine.map_groups(table, ["g"], [], lambda c: {"m": c["n"]}, {"sum": "int64"}), [])

    # -- read and write

    @pytest.mark.parametrize("format", ["parquet", "csv"])
    def test_write_is_independent_of_row_order(self, engine: Engine[Any], tmp_path: Path, format: Any) -> None:
        rows = [("x,1", 2), ('say "no"', 1), ("line\nbreak", 3), (None, 4), ("ü", 1)]
        files = []
        for number, order in enumerate([rows, rows[::-1]]):
            table = self.frame(engine, t=[row[0] for row in order], n=[row[1] for row in order])
            files.append(tmp_path / f"{number}.{format}")
            engine.write(table, files[-1], format, ["n"])
        assert files[0].read_bytes() == files[1].read_bytes()
        back = engine.arrow(engine.read(files[0], ["n", "t"]), [])
        expected: Mapping[str, object] = {"n": [row[1] for row in rows], "t": [row[0] for row in rows]}
        if format == "csv":
            expected = {"n": [str(row[1]) for row in rows], "t": expected["t"]}
        assert bag(back) == bag(pa.table(expected))

    def test_read_keeps_text_as_text_and_names_missing_columns(self, engine: Engine[Any], tmp_path: Path) -> None:
        path = tmp_path / "people.csv"
        path.write_text("id;zip;note\n1;00123;\n2;;x\n")
        assert rows_of(engine.arrow(engine.read(path, ["zip", "id"]), ["id"])) == [("00123", "1"), (None, "2")]
        with pytest.raises(SnapshotError, match=r"'Zip' is missing\. Did you mean 'zip'"):
            engine.read(path, ["Zip"])

    def test_read_takes_frames(self, engine: Engine[Any]) -> None:
        frame = pl.DataFrame({"a": [1, 2], "b": ["x", None]})
        for source in (frame, frame.to_arrow(), frame.to_pandas()):
            assert rows_of(engine.arrow(engine.read(source, ["b", "a"]), ["a"])) == [("x", 1), (None, 2)]

    def test_read_parquet(self, engine: Engine[Any], tmp_path: Path) -> None:
        path = tmp_path / "people.parquet"
        pyarrow.parquet.write_table(pa.table({"a": [1, 2], "b": ["x", None], "c": [0, 0]}), path)
        table = engine.arrow(engine.read(path, ["b", "a"]), ["a"])
        assert table.column_names == ["b", "a"]
        assert rows_of(table) == [("x", 1), (None, 2)]
