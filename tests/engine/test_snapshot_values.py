"""Snapshots with values that do not fit their column: each is told with its rows and the remedy."""

from __future__ import annotations

import datetime
import decimal
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from reissue.coding import Coding
from reissue.engine.snapshot import load
from reissue.engine.text import as_text
from reissue.errors import SnapshotError
from reissue.schema import Schema
from tests.engine.people import CLINIC, GOOD, coded, frame, message, write


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


SECONDS = pa.timestamp("s")


@pytest.mark.parametrize(
    ("held", "text"),
    [
        (pa.array([1.0, 2.0, None, 1.0]), ["1", "2", None, "1"]),
        (pa.array([1.5, float("nan")]), ["1.5", None]),
        (pa.array([datetime.datetime(2026, 1, 31)], SECONDS), ["2026-01-31"]),
        (pa.array([datetime.datetime(2026, 1, 31, 12)], SECONDS), ["2026-01-31 12:00:00"]),
    ],
)
def test_a_dictionary_reads_as_what_it_holds(held: pa.Array, text: list[str | None]) -> None:
    assert as_text(held).to_pylist() == text
    assert as_text(held.dictionary_encode()).to_pylist() == text
