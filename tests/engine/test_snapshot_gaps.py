"""Snapshots with gaps: empty fields, missing columns, people who are named twice or not at all."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from reissue.coding import MISSING_CODE
from reissue.schema import Schema
from tests.engine.people import CLINIC, GOOD, coded, frame, message, write


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
