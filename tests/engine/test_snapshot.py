"""Loading snapshots: every source, whatever its types, to the same people and codes."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reissue.coding import Coding
from reissue.engine.snapshot import load
from reissue.errors import SnapshotError
from reissue.schema import Schema
from tests.engine.people import CLINIC, GOOD, coded, frame, write


def test_a_good_file(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    snapshot = load(path, CLINIC)
    assert len(snapshot) == 3
    assert snapshot.identifiers.to_pylist() == ["p1", "p2", "p3"]
    assert snapshot.identifiers_at(np.array([2, 0])).to_pylist() == ["p3", "p1"]
    assert snapshot.insensitive is not None
    assert snapshot.insensitive.to_pydict() == {"note": ["a", None, "b"]}
    assert snapshot.seen.categories == {"zip": {"00123": (2, 0), "00456": (1, 1)}}
    assert snapshot.seen.sensitive == {("flu",): (2, 0), ("cold",): (1, 1)}
    age = snapshot.seen.numbers["age"]
    assert (age.kind, age.lowest, age.highest, age.decimals, age.nulls) == ("int", 20, 31, 0, 0)
    codes, values, coding = coded(path)
    assert codes == [[20, 0], [31, 1], [20, 0]]
    assert [coding.values[value] for value in values] == ["flu", "cold", "flu"]


# -- what codes come out
def test_identifiers_of_any_type_name_the_same_person() -> None:
    for patient in ([1, 2, 30], [1.0, 2.0, 30.0], ["1", "2", "30"], [" 1", "2 ", "30"], ["1.0", "2.0", "30.0"]):
        assert load(frame(patient=patient), CLINIC).identifiers.to_pylist() == ["1", "2", "30"]


def test_numbers_in_an_attribute_with_a_hierarchy_become_text() -> None:
    for zips in ([123, 456, 123], [123.0, 456.0, 123.0], ["123", "456", "123"], pa.array([123, 456, 123], pa.int16())):
        assert list(load(frame(zip=zips), CLINIC).seen.categories["zip"]) == ["123", "456"]


def test_leading_zeros_and_dates_stay_as_they_are(tmp_path: Path) -> None:
    assert list(load(write(tmp_path, GOOD), CLINIC).seen.categories["zip"]) == ["00123", "00456"]
    born = [datetime.date(2026, 1, 31), datetime.date(1969, 1, 1), datetime.date(2026, 1, 31)]
    assert list(load(frame(zip=born), CLINIC).seen.categories["zip"]) == ["2026-01-31", "1969-01-01"]


def test_a_dictionary_with_repeated_and_unused_values_is_read_rightly() -> None:
    zips = pa.DictionaryArray.from_arrays(pa.array([3, 0, 2], pa.int8()), ["a", "unused", "b", "a"])
    assert load(frame(zip=zips), CLINIC).seen.categories["zip"] == {"a": (2, 0), "b": (1, 2)}


def test_several_sensitive_columns_are_one_value() -> None:
    schema = Schema(identifier="patient", quasi_identifiers={"age": {"type": "int"}}, sensitive=["diagnosis", "ward"])
    table = frame(ward=["x", "x", "y"])
    assert load(table, schema).seen.sensitive == {("flu", "x"): (1, 0), ("cold", "x"): (1, 1), ("flu", "y"): (1, 2)}
    _, values, coding = coded(table, schema)
    assert [coding.values[value] for value in values] == ["flu / x", "cold / x", "flu / y"]


@pytest.mark.parametrize(
    ("values", "decimals"),
    [
        ([0.1, 0.2, 0.25], 2),
        ([0.1 + 0.2, 1e6, 2.0], 1),
        (pa.array([0.1, 0.7, 2.3], pa.float32()), 1),
        (["1.10", "2", "3.0"], 1),
        ([1 / 3, 1.0, 2.0], 6),
    ],
)
def test_decimals_are_those_the_values_need(values: list[object], decimals: int) -> None:
    assert load(frame(age=values), CLINIC).seen.numbers["age"].decimals == decimals


def test_a_snapshot_the_coding_has_not_learned_is_refused() -> None:
    coding = Coding.start(CLINIC).learn(load(frame(), CLINIC).seen)
    with pytest.raises(SnapshotError, match="does not know '999'"):
        load(frame(zip=["999", "00123", "00123"]), CLINIC).encode(coding)
    with pytest.raises(SnapshotError, match="does not know the sensitive value"):
        load(frame(diagnosis=["new", "flu", "flu"]), CLINIC).encode(coding)


WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), min_size=1, max_size=6).filter(
    lambda word: word.strip() and word not in ("*", "(missing)")
)


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    count = draw(st.integers(1, 12))
    many = lambda values: st.lists(values, min_size=count, max_size=count)  # noqa: E731
    dates = st.dates(datetime.date(1900, 1, 1), datetime.date(2100, 1, 1))
    return pa.table(
        {
            "patient": pa.array([f"p{i}" for i in range(count)]),
            "age": pa.array(draw(many(st.one_of(st.none(), st.integers(-(10**6), 10**6)))), pa.int64()),
            "fee": pa.array([n / 100 for n in draw(many(st.integers(-(10**6), 10**6)))], pa.float64()),
            "born": pa.array(draw(many(st.one_of(st.none(), dates))), pa.date32()),
            "zip": pa.array(draw(many(st.one_of(st.none(), st.integers(0, 99)))), pa.int64()),
            "town": pa.array(draw(many(st.one_of(st.none(), WORDS))), pa.string()),
            "diagnosis": pa.array(draw(many(st.one_of(st.none(), WORDS))), pa.string()),
            "severe": pa.array(draw(many(st.booleans())), pa.bool_()),
        }
    )


EVERY = Schema(
    identifier="patient",
    quasi_identifiers={
        "age": {"type": "numeric"},
        "fee": {"type": "float", "decimals": 2},
        "born": {"type": "date"},
        "zip": {"type": "categorical"},
        "town": {"type": "categorical"},
    },
    sensitive=["diagnosis", "severe"],
    missing="value",
)


@given(table=tables())
@settings(max_examples=100)
def test_every_source_gives_the_same_codes(tmp_path: Path, table: pa.Table) -> None:
    csv, parquet = tmp_path / "t.csv", tmp_path / "t.parquet"
    pyarrow.csv.write_csv(table, csv)
    pyarrow.parquet.write_table(table, parquet)
    semicolons, gaps = tmp_path / "t2.csv", table.to_pandas()
    pandas = gaps.astype({"town": object, "diagnosis": "category"})
    pl.DataFrame(table).write_csv(semicolons, separator=";", include_bom=True)
    sources = [csv, parquet, semicolons, str(parquet), gaps, pandas, pl.DataFrame(table), pl.LazyFrame(table)]
    codes, values, coding = coded(table, EVERY)
    for source in sources:
        other_codes, other_values, other = coded(source, EVERY)
        kind = type(source).__name__
        assert other == coding, kind
        assert other_codes == codes, kind
        assert other_values == values, kind
    assert isinstance(gaps, pd.DataFrame)


@given(table=tables())
@settings(max_examples=40)
def test_codes_say_what_the_rows_say(table: pa.Table) -> None:
    codes, values, coding = coded(table, EVERY)
    for a, name in enumerate(coding.attributes):
        for row, value in enumerate(table.column(name).to_pylist()):
            text = coding.label(a, codes[row][a], codes[row][a])
            expected = "(missing)" if value is None else f"{value:.2f}" if name == "fee" else str(value)
            assert text.replace("-0.00", "0.00") == expected.replace("-0.00", "0.00")
    for row, (what, severe) in enumerate(zip(table["diagnosis"].to_pylist(), table["severe"].to_pylist(), strict=True)):
        assert coding.value_labels[values[row]] == (what or "(missing)", str(severe).lower())


PEOPLE = 41
WIDE = pa.table(
    {
        "patient": [f"p{i:03d}" for i in range(PEOPLE)],
        "age": pa.array([None if i % 11 == 5 else 20 + i for i in range(PEOPLE)]),
        "zip": pa.array([f"00{100 + i % 7}" for i in range(PEOPLE)]),
        "diagnosis": [("flu", "cold", "gout")[i % 3] for i in range(PEOPLE)],
        "note": pa.array([None if i % 3 else f"note {i}" for i in range(PEOPLE)]),
    }
)
GAPS = Schema(
    identifier="patient",
    quasi_identifiers={"age": {"type": "numeric"}, "zip": {"prefix": [3]}},
    sensitive="diagnosis",
    insensitive=["note"],
    missing="value",
)
KINDS: dict[str, tuple[str, pa.DataType]] = {
    "plain": ("zip", pa.string()),
    "long text": ("patient", pa.large_string()),
    "dictionary": ("zip", pa.dictionary(pa.int8(), pa.string())),
    "fractions": ("age", pa.float64()),
    "decimals": ("age", pa.decimal128(21, 2)),
    "small numbers": ("age", pa.int16()),
    "text of numbers": ("age", pa.string()),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("start", "length"), [(1, 40), (3, 9), (8, 8), (13, 1), (40, 1)])
def test_buffers_that_start_in_the_middle_of_a_chunk(kind: str, start: int, length: int) -> None:
    """A slice shares the memory of the whole: its first row is not the first of the buffer, nor its first bit."""
    column, form = KINDS[kind]
    whole = WIDE.set_column(WIDE.column_names.index(column), column, WIDE[column].cast(form))
    chunks = pa.concat_tables([whole.slice(0, start + length // 2), whole.slice(start + length // 2)])
    anew = pa.Table.from_pylist(whole.slice(start, length).to_pylist(), schema=whole.schema)
    expected = seen_in(anew, GAPS)
    for table in (whole.slice(start, length), chunks.slice(start, length)):
        assert seen_in(table, GAPS) == expected


def seen_in(table: pa.Table, schema: Schema) -> tuple[object, ...]:
    snapshot = load(table, schema)
    coding = Coding.start(schema).learn(snapshot.seen)
    codes, values = snapshot.encode(coding)
    assert snapshot.insensitive is not None
    notes = snapshot.insensitive.to_pydict()
    return snapshot.identifiers.to_pylist(), snapshot.seen, codes.tolist(), values.tolist(), notes


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("kind", ["csv", "parquet", "frame", "pandas", "polars"])
def test_tables_of_one_row(tmp_path: Path, rows: int, kind: str) -> None:
    table = WIDE.slice(0, rows)
    source: object = table
    if kind == "csv":
        pyarrow.csv.write_csv(table, tmp_path / "t.csv")
        source = tmp_path / "t.csv"
    elif kind == "parquet":
        pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
        source = tmp_path / "t.parquet"
    elif kind in ("pandas", "polars"):
        source = table.to_pandas() if kind == "pandas" else pl.from_arrow(table)
    codes, values, coding = coded(source)
    assert codes == [[20, 0], [21, 1]][:rows]
    assert [coding.values[value] for value in values] == ["flu", "cold"][:rows]
