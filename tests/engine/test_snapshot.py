"""Loading snapshots: every problem with its column, rows, value and remedy; every source to the same codes."""

from __future__ import annotations

import datetime
import decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reissue.coding import MISSING_CODE, Coding
from reissue.engine.read import Source
from reissue.engine.snapshot import load
from reissue.errors import SnapshotError
from reissue.schema import Schema

CLINIC = Schema(
    identifier="patient",
    quasi_identifiers={"age": {"type": "numeric"}, "zip": {"prefix": [3]}},
    sensitive="diagnosis",
    insensitive=["note"],
)
GOOD = "patient,age,zip,diagnosis,note\np1,20,00123,flu,a\np2,31,00456,cold,\np3,20,00123,flu,b\n"


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "people.csv"
    path.write_text(text)
    return path


def message(source: Source, schema: Schema = CLINIC) -> str:
    with pytest.raises(SnapshotError) as caught:
        load(source, schema)
    return str(caught.value)


def coded(source: Source, schema: Schema = CLINIC) -> tuple[list[list[int]], list[int], Coding]:
    snapshot = load(source, schema)
    coding = Coding.start(schema).learn(snapshot.seen)
    codes, values = snapshot.encode(coding)
    assert codes.dtype == values.dtype == np.int32
    assert codes.flags.f_contiguous
    return codes.tolist(), values.tolist(), coding


def frame(**changes: object) -> pa.Table:
    columns: dict[str, object] = {
        "patient": ["p1", "p2", "p3"],
        "age": [20, 31, 20],
        "zip": ["00123", "00456", "00123"],
        "diagnosis": ["flu", "cold", "flu"],
        "note": ["a", None, "b"],
    }
    return pa.table(columns | changes)


def test_a_good_file(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    snapshot = load(path, CLINIC)
    assert len(snapshot) == 3
    assert snapshot.identifiers.to_pylist() == ["p1", "p2", "p3"]
    assert snapshot.identifier_at(1) == "p2"
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


# -- every problem


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    told = message(
        write(
            tmp_path,
            "patient,age,Zip,diagnosis,note\np1,x,1,flu,\n\n,20,1,,\np1,21,1,flu,\n",
        )
    )
    assert "people.csv does not fit the schema; 5 problems:" in told
    assert "- Column 'zip' is missing. Did you mean 'Zip'?" in told
    assert "- Column 'patient' (identifier) is empty in row 2 (line 4). Every row must say whose it is" in told
    assert "- Column 'patient': 'p1' occurs more than once, in rows 1, 3 (lines 2, 5)." in told
    assert "- Column 'age': 'x' is not a number, in row 1 (line 2)." in told
    assert "- Column 'diagnosis' (sensitive) is empty in row 2 (line 4). Fill it in" in told


def test_no_rows(tmp_path: Path) -> None:
    assert "has no rows" in message(write(tmp_path, GOOD.splitlines()[0] + "\n"))
    assert "has no rows" in message(frame().slice(0, 0))


def test_no_column_at_all(tmp_path: Path) -> None:
    told = message(write(tmp_path, "a,b\n1,2\n"))
    assert "No column of the schema ('patient', 'age'," in told
    assert "the columns are 'a', 'b'. The first line must name the columns" in told
    assert told.count("\n") == 0, "one mistake, one sentence"


@pytest.mark.parametrize("value", ["", '""', "   ", '" "'])
@pytest.mark.parametrize("column", ["age", "zip", "diagnosis"])
def test_empty_fields_are_refused_unless_they_are_a_value(tmp_path: Path, column: str, value: str) -> None:
    text = "patient,age,zip,diagnosis,note\np1,20,1,flu,\np2,20,1,flu,\n"
    place = text.split("\n", 1)[0].split(",").index(column)
    rows = [line.split(",") for line in text.splitlines()]
    rows[2][place] = value
    path = write(tmp_path, "\n".join(",".join(row) for row in rows) + "\n")
    told = message(path)
    assert f"Column '{column}'" in told
    assert "empty in row 2 (line 3)" in told
    assert 'missing = "value"' in told
    lenient = Schema(**{**_settings(), "missing": "value"})
    codes, values, coding = coded(path, lenient)
    if column == "age":
        assert codes[1][0] == MISSING_CODE
    elif column == "zip":
        assert codes[1][1] == coding.lookup("zip")["(missing)"] != codes[0][1]
    else:
        assert [coding.values[value] for value in values] == ["flu", "(missing)"]


def _settings() -> dict[str, object]:
    return {
        "identifier": "patient",
        "quasi_identifiers": CLINIC.quasi_identifiers,
        "sensitive": "diagnosis",
        "insensitive": "note",
    }


def test_missing_may_be_allowed_for_one_attribute_only() -> None:
    schema = Schema(
        identifier="patient",
        quasi_identifiers={"age": {"type": "numeric", "missing": "value"}, "zip": {"type": "categorical"}},
        sensitive="diagnosis",
    )
    table = frame(age=[20, None, 20], zip=["1", None, None])
    told = message(table, schema)
    assert "'age'" not in told
    assert "Column 'zip' is empty in rows 2, 3. " in told


def test_the_label_of_missing_values_is_reserved() -> None:
    lenient = Schema(**{**_settings(), "missing": "value"})  # type: ignore[arg-type]
    told = message(frame(diagnosis=["flu", "(missing)", None]), lenient)
    assert "'(missing)' is reserved for missing values, in row 2" in told


def test_many_repeated_identifiers_are_counted() -> None:
    names = [f"p{i % 40}" for i in range(100)]
    table = pa.table({"patient": names, "age": [1] * 100, "zip": ["1"] * 100, "diagnosis": ["f"] * 100, "note": names})
    told = message(table)
    assert "'p0' occurs more than once, in rows 1, 41, 81." in told
    assert "60 rows in all repeat an earlier identifier" in told


@pytest.mark.parametrize(
    "value", ["1,234", "12kg", "0x10", "nan", "inf", "1e999", "twenty", "2026-01-31", "1.2.3", "١"]
)
def test_text_in_a_numeric_column(tmp_path: Path, value: str) -> None:
    told = message(write(tmp_path, GOOD.replace("p2,31", f'p2,"{value}"')))
    assert f"Column 'age': {value!r} is not a number, in row 2 (line 3)." in told
    assert "no thousands separators" in told


def test_many_bad_values_are_summed_up() -> None:
    bad = [f"x{i}" for i in range(10)] + ["x9"]
    table = pa.table({"patient": list(range(11)), "age": bad, "zip": ["1"] * 11, "diagnosis": ["f"] * 11, "note": bad})
    told = message(table)
    assert "'x0' is not a number, in row 1." in told
    assert "7 more values, in 8 rows, are not a number" in told


@pytest.mark.parametrize(("value", "shown"), [(float("nan"), "nan"), (float("inf"), "inf")])
def test_not_a_number(value: float, shown: str) -> None:
    told = message(pl.DataFrame(frame(age=[20.0, value, None])))
    assert f"Column 'age': {shown} is not a number, in row 2." in told


def test_types_that_do_not_fit() -> None:
    assert "'age' is of type bool, not of numbers" in message(frame(age=[True, False, True]))
    assert "'zip' is of type list" in message(frame(zip=[["a"], ["b"], ["c"]]))
    assert "'note' holds list" in message(frame(note=[["a"], ["b"], ["c"]]))
    assert "1.5 cannot be an identifier, in row 2." in message(frame(patient=[1.0, 1.5, 2.0]))
    assert "9007199254740994 is too large, in row 3" in message(frame(age=[1, 2, 2**53 + 2]))
    largest = pa.array([1, 2, 2**64 - 1], pa.uint64())
    assert "18446744073709551615 is too large, in row 3" in message(frame(age=largest)), "as it is written"
    assert "1e+300 is too large, in row 2" in message(frame(age=[1.0, 1e300, 2.0]))
    for column in ("zip", "diagnosis", "patient"):
        lengths = pa.array([datetime.timedelta(days) for days in (1, 2, 3)])
        assert f"'{column}' is of type duration" in message(frame(**{column: lengths}))


def test_numbers_that_are_too_large_are_told_as_they_are_written(tmp_path: Path) -> None:
    for number in ("9" * 30, "1e300"):
        told = message(write(tmp_path, GOOD.replace("p2,31", f"p2,{number}")))
        assert f"Column 'age': '{number}' is too large, in row 2 (line 3). Give it" in told


def test_numbers_that_do_not_fit_the_series_are_told_with_their_rows(tmp_path: Path) -> None:
    before = Coding.start(CLINIC).learn(load(frame(), CLINIC).seen)
    later = load(write(tmp_path, GOOD.replace("p3,20", "p3,20.5")), CLINIC)
    with pytest.raises(SnapshotError, match=r"'age' has decimals \(20\.5 in row 3 \(line 4\)\), but this series"):
        before.learn(later.seen)
    fine = load(frame(age=[0.123456, 5_000.5, 2.0]), CLINIC)
    with pytest.raises(SnapshotError, match=r"the value 5000\.5 in row 2 does not fit: with 6 decimals"):
        Coding.start(CLINIC).learn(fine.seen)


def test_dates_outside_the_calendar_are_told_with_their_rows(tmp_path: Path) -> None:
    dates = GOOD.replace("p1,20", "p1,2026-01-31").replace("p2,31", "p2,0000-01-01").replace("p3,20", "p3,0001-01-01")
    assert "'0000-01-01' is not a date, in row 2 (line 3). Write" in message(write(tmp_path, dates))
    far = pa.array([0, 3_000_000, -800_000], pa.int32()).cast(pa.date32())
    assert "Column 'age' has a date outside the years 1 to 9999 in rows 2, 3. Correct" in message(frame(age=far))
    late = pa.array([0, 3_000_000 * 86_400 + 1, 0], pa.timestamp("s"))
    assert "has a time of day, in row 2" in message(frame(age=late))


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        ("date", ["2026-01-31", "31.01.2026", "2026-02-30"], "'31.01.2026' is not a date, in row 2"),
        ("date", ["2026-01-31", "2026-01-31", "2026-02-30"], "'2026-02-30' is not a date, in row 3"),
        ("numeric", ["2026-01-31", "2026-01-30", "soon"], "'soon' is not a date, in row 3"),
        ("date", [1, 2, 3], "holds numbers (int64), but its type is date"),
        ("int", [1.0, 2.0, 2.5], "2.5 is not a whole number, in row 3"),
        ("int", ["1", "2.5", "2"], "2.5 is not a whole number, in row 2"),
        ("float", [datetime.date(2026, 1, 1)] * 3, "holds dates, but its type is float"),
        ("date", [datetime.datetime(2026, 1, 1, 8)] * 3, "2026-01-01 08:00:00 has a time of day, in rows 1, 2, 3"),
    ],
)
def test_numbers_and_dates_of_the_wrong_kind(kind: str, values: list[object], expected: str) -> None:
    schema = Schema(identifier="patient", quasi_identifiers={"age": {"type": kind}}, sensitive="diagnosis")
    assert expected in message(frame(age=values), schema)


def test_decimal_sensitive_values_need_bins() -> None:
    schema = Schema(identifier="patient", quasi_identifiers={"age": {"type": "int"}}, sensitive="pay")
    table = frame(pay=[1000.5, 2500.0, 9000.0])
    told = message(table, schema)
    assert "Column 'pay' is sensitive and holds decimal numbers" in told
    assert "bins.pay" in told
    binned = Schema(
        identifier="patient", quasi_identifiers={"age": {"type": "int"}}, sensitive="pay", bins={"pay": [2500, 5000]}
    )
    for pay in ([1000.5, 2500.0, 9000.0], ["1000.5", "2500", "9000"]):
        _, values, coding = coded(frame(pay=pay), binned)
        assert [coding.values[v] for v in values] == ["below 2500", "2500 to under 5000", "5000 and over"]
    assert "'much' is not a number, in row 1" in message(frame(pay=["much", "1", "2"]), binned)
    whole = frame(pay=[1.0, 2.0, 1.0])
    assert [coded(whole, schema)[2].values[v] for v in coded(whole, schema)[1]] == ["1", "2", "1"]


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
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
@settings(max_examples=40, deadline=None)
def test_codes_say_what_the_rows_say(table: pa.Table) -> None:
    codes, values, coding = coded(table, EVERY)
    for a, name in enumerate(coding.attributes):
        for row, value in enumerate(table.column(name).to_pylist()):
            text = coding.label(a, codes[row][a], codes[row][a])
            expected = "(missing)" if value is None else f"{value:.2f}" if name == "fee" else str(value)
            assert text.replace("-0.00", "0.00") == expected.replace("-0.00", "0.00")
    for row, (what, severe) in enumerate(zip(table["diagnosis"].to_pylist(), table["severe"].to_pylist(), strict=True)):
        assert coding.value_labels[values[row]] == (what or "(missing)", str(severe).lower())


def test_insensitive_columns_that_no_csv_can_hold_are_refused() -> None:
    odd = {
        "binary": pa.array([b"\xff"] * 3),
        "duration": pa.array([datetime.timedelta(1)] * 3),
        "decimal256": pa.array([decimal.Decimal("1e40")] * 3, pa.decimal256(60, 2)),
        "month_day_nano": pa.array([pa.MonthDayNano([1, 2, 3])] * 3),
        "list": pa.array([[1]] * 3),
    }
    for kind, column in odd.items():
        told = message(frame(note=column))
        assert "Column 'note' holds" in told
        assert kind in told
        assert "Convert it to text or numbers, or leave it out." in told


def test_sensitive_columns_of_decimal_type_need_bins_too() -> None:
    money = pa.array([decimal.Decimal("1.50"), decimal.Decimal("2.25"), decimal.Decimal("1.50")])
    assert "Give it bins" in message(frame(diagnosis=money))
    load(frame(diagnosis=pa.array([decimal.Decimal("1.00")] * 3)), CLINIC)


def test_numbers_without_a_code_are_told_with_their_rows(tmp_path: Path) -> None:
    told = message(write(tmp_path, GOOD.replace("p2,31", "p2,3000000000")))
    assert "Column 'age': 3000000000 is beyond ±1,073,741,823, in row 2 (line 3)." in told
    binned = Schema(
        identifier="patient", quasi_identifiers={"zip": {"prefix": [3]}}, sensitive="age", bins={"age": [0, 100]}
    )
    load(frame(age=[20, 3_000_000_000, 20]), binned)
