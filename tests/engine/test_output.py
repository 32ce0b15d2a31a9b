"""The files of a release: they say what the published rows say, and nothing else; they read back as text."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue.engine import output, text
from reissue.engine.output import (
    anatomized_tables,
    generalized_table,
    sort_labels,
    widen_labels,
    write_release,
    write_table,
)
from reissue.engine.text import GroupText, Text
from tests.support.public import read_release

CLASSES = np.array([1, 0, 1, 3], dtype=np.int32)
VALUES = np.array([2, 0, 0, 2], dtype=np.int32)
AGES = Text(["20-29", "30-39", "unpublished", "20-29"], CLASSES)
DIAGNOSES = Text(["flu", "of another release", "cold, severe"], VALUES)
OTHERS = pa.table(
    {
        "note": pa.array(["suppressed", "b", "a", None]).dictionary_encode(),
        "visits": pa.array([9, 2, 1, 3]),
    }
)


def release() -> pa.Table:
    return generalized_table({"age": AGES}, {"diagnosis": DIAGNOSES}, OTHERS, np.array([2, 1, -1, 3]))


def strings(text: Text) -> list[str | None]:
    """Row by row."""
    return [None if place < 0 else str(text.labels[place]) for place in text.index.tolist()]


def test_a_generalized_release() -> None:
    assert release().to_pydict() == {
        "age": ["30-39", "20-29", "30-39", "20-29"],
        "diagnosis": ["cold, severe", "flu", "flu", "cold, severe"],
        "note": ["a", "b", None, None],
        "visits": [1, 2, None, 3],
    }


def test_no_file_holds_labels_that_no_published_row_has(tmp_path: Path) -> None:
    path = tmp_path / "release.parquet"
    pyarrow.parquet.write_table(release(), tmp_path / "plain.parquet", compression="none")
    plain = (tmp_path / "plain.parquet").read_bytes()
    for word in (b"unpublished", b"of another release", b"suppressed"):
        assert word not in plain
    write_table(release().replace_schema_metadata({"pandas": "secret"}), path, "parquet")
    found = pyarrow.parquet.ParquetFile(path, read_dictionary=["age", "diagnosis"])
    assert found.read().column("diagnosis").chunk(0).dictionary.to_pylist() == ["cold, severe", "flu"], "sorted"
    assert found.schema_arrow.metadata is None
    assert pyarrow.parquet.read_table(path).schema.field("age").type == pa.string()


def test_an_anatomized_release() -> None:
    exact = {"age": Text(["21", "22", "35"], np.array([2, 0, 1, 0], dtype=np.int32))}
    people, values = anatomized_tables(
        exact,
        CLASSES,
        {"diagnosis": DIAGNOSES.labels, "ward": ["x", "y", "z"]},
        VALUES,
        OTHERS,
        np.array([2, 1, -1, 3]),
    )
    assert people.to_pydict() == {
        "age": ["35", "21", "22", "21"],
        "class": [1, 0, 1, 3],
        "note": ["a", "b", None, None],
        "visits": [1, 2, None, 3],
    }
    assert values.to_pydict() == {
        "class": [0, 1, 1, 3],
        "diagnosis": ["flu", "flu", "cold, severe", "cold, severe"],
        "ward": ["x", "x", "z", "z"],
        "count": [1, 1, 1, 1],
    }
    twice = anatomized_tables(
        {}, np.array([0, 0], np.int32), {"d": ["flu"]}, np.array([0, 0], np.int32), class_name="k"
    )
    assert twice[1].to_pydict() == {"k": [0], "d": ["flu"], "count": [2]}


def test_the_same_release_gives_the_same_bytes(tmp_path: Path) -> None:
    files = []
    for attempt in ("one", "two"):
        (tmp_path / attempt).mkdir()
        files.append(write_release(tmp_path / attempt, {"release": release(), "values": release()}, ["parquet", "csv"]))
    assert [path.name for path in files[0]] == ["release.csv", "release.parquet", "values.csv", "values.parquet"]
    for left, right in zip(*files, strict=True):
        assert left.read_bytes() == right.read_bytes()


def test_csv_quotes_only_where_needed_and_alters_nothing(tmp_path: Path) -> None:
    words = ["x", "y,z", 'say "x"', "=1+1", "line\nbreak", None, "ü"]
    write_table(pa.table({"a": words, "n": range(7)}), tmp_path / "r.csv", "csv")
    text = (tmp_path / "r.csv").read_text()
    assert text == 'a,n\nx,0\n"y,z",1\n"say ""x""",2\n=1+1,3\n"line\nbreak",4\n,5\nü,6\n'
    write_table(pa.table({"a": words}), tmp_path / "one.csv", "csv")
    assert strings(read_release(tmp_path / "one.csv")["a"]) == words


def test_csv_keeps_numbers_moments_and_gaps_apart(tmp_path: Path) -> None:
    moment = datetime(2026, 1, 31, 12, 30)
    table = {
        "d": [1.0, -2.5, None],
        "n": pa.array([1, None, 3], pa.uint8()),
        "b": [True, False, None],
        "day": [moment.date(), None, None],
        "at": pa.array([moment, None, None], pa.timestamp("s")),
        "t": pa.array(["", None, "x"]).dictionary_encode(),
    }
    write_table(pa.table(table), tmp_path / "r.csv", "csv")
    lines = ["d,n,b,day,at,t", '1.0,1,true,2026-01-31,2026-01-31 12:30:00,""', "-2.5,,false,,,", ",3,,,,x"]
    assert (tmp_path / "r.csv").read_text() == "\n".join(lines) + "\n"


def test_csv_written_in_parts_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_table(release(), tmp_path / "whole.csv", "csv")
    monkeypatch.setattr(output, "_CSV_ROWS", 3)
    write_table(release(), tmp_path / "parts.csv", "csv")
    assert (tmp_path / "parts.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_an_empty_release_has_a_header(tmp_path: Path) -> None:
    none = np.empty(0, dtype=np.int32)
    table = generalized_table({"age": Text(["20-29"], none)}, {"diagnosis": Text([], none)})
    for format in ("csv", "parquet"):
        write_table(table, tmp_path / f"r.{format}", format)  # type: ignore[arg-type]
        back = read_release(tmp_path / f"r.{format}")
        assert list(back) == ["age", "diagnosis"]
        assert len(back["age"]) == 0


LABELS = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), min_size=1, max_size=5).filter(str.strip)


@given(st.lists(st.tuples(LABELS, st.one_of(st.none(), st.integers(-5, 5))), min_size=1, max_size=8))
@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_releases_read_back_as_text(
    tmp_path: Path, format: Literal["csv", "parquet"], rows: list[tuple[str, int | None]]
) -> None:
    labels = [row[0] for row in rows]
    index = np.arange(len(rows), dtype=np.int32)[::-1]
    other = pa.table({"n": pa.array([row[1] for row in rows], pa.int64())})
    table = generalized_table({"a": Text(labels, index)}, {"s": Text(labels, index)}, other, index.astype(np.int64))
    path = tmp_path / f"release.{format}"
    write_table(table, path, format)
    for source in (path, table, table.to_pandas()):
        back = read_release(source, ["n", "a"])
        assert strings(back["a"]) == labels[::-1]
        assert strings(back["n"]) == [None if n is None else str(n) for _, n in rows[::-1]]


def test_text_of_groups_is_published_as_that_of_their_rows() -> None:
    rng = np.random.default_rng(4)
    labels = ["b", "of nobody", "a", "b", "of an empty group"]
    label, group = np.array([3, 0, 2, 4, 2], dtype=np.int32), rng.choice([0, 1, 2, 4], 50).astype(np.int32)
    by_group = generalized_table({"age": GroupText(labels, label, group)}, {})
    assert by_group.equals(generalized_table({"age": Text(labels, label[group])}, {}))
    assert by_group["age"].combine_chunks().dictionary.to_pylist() == ["a", "b"]


@pytest.mark.parametrize("labels", [3, 40, 300])
def test_labels_are_counted_and_found_block_by_block(labels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "_BLOCK", 16)
    index = np.random.default_rng(labels).integers(-1, labels, 400).astype(np.int32)
    index[index == labels - 2] = -1  # a label of no row
    counts = text.count_occurrences(index, labels)
    assert counts.tolist() == [int((index == label).sum()) for label in range(labels)]
    places = [np.flatnonzero(index == label).tolist() for label in range(labels)]
    assert text.find_first_places(index, counts).tolist() == [here[0] if here else -1 for here in places]


def test_labels_of_fragments_with_few_and_many_of_them_are_joined_and_sorted() -> None:
    few, many = (generalized_table({}, {"a": Text(names, np.arange(len(names)))}) for names in (FEW, MANY))
    joined = sort_labels(pa.concat_tables([widen_labels(few), widen_labels(many), widen_labels(few)]))
    assert joined["a"].to_pylist() == [*FEW, *MANY, *FEW]
    kept = joined["a"].combine_chunks().dictionary.to_pylist()
    assert kept == sorted({*FEW, *MANY})
    with pytest.raises(pa.ArrowInvalid):  # or the test proves nothing
        pa.concat_tables([few, many])


FEW, MANY = [f"few {i}" for i in range(100)], [f"many {i:03}" for i in range(200)]
