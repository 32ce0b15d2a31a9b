"""Tables in the spelling that the schema declares: missing codes, decimal commas, dates as people write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from reissue.engine.snapshot import load
from reissue.errors import SchemaError
from reissue.schema import Schema
from tests.engine.people import coded, frame, message, write

HEADER = "patient,age,zip,diagnosis\n"


def spelled(spelling: object, age: dict[str, object] | None = None, missing: str = "value") -> Schema:
    attributes = {"age": age or {"type": "numeric"}, "zip": {"prefix": [3]}}
    return Schema(
        identifier="patient", quasi_identifiers=attributes, sensitive="diagnosis", missing=missing, spelling=spelling
    )


def test_declared_codes_are_missing_values(tmp_path: Path) -> None:
    path = write(tmp_path, HEADER + "p1,20,NA,flu\np2,99,00456,?\np3, NA ,00123,flu\n")
    seen = load(path, spelled({"missing": {"*": ["NA", "?"], "age": ["99"]}})).seen
    assert seen.categories["zip"][None] == (1, 0)
    assert set(seen.sensitive) == {("flu",), (None,)}
    assert (seen.numbers["age"].nulls, seen.numbers["age"].highest) == (2, 20)


def test_declared_codes_are_missing_in_columns_of_numbers_too() -> None:
    seen = load(frame(age=[20, 99, -9]), spelled({"missing": ["99", "-9", "NA"]})).seen
    assert (seen.numbers["age"].nulls, seen.numbers["age"].highest) == (2, 20)


def test_a_missing_code_is_refused_with_its_rows_where_missing_is() -> None:
    told = message(frame(age=["20", "NA", "31"]), spelled({"missing": ["NA"]}, missing="refuse"))
    assert "Column 'age' is empty in row 2." in told


def test_identifiers_keep_what_means_missing_elsewhere() -> None:
    snapshot = load(frame(patient=["NA", "p2", "p3"]), spelled({"missing": ["NA"]}))
    assert snapshot.identifiers.to_pylist() == ["NA", "p2", "p3"]


def test_decimal_commas_are_read_and_points_are_refused(tmp_path: Path) -> None:
    header = HEADER.replace(",", ";")
    schema = spelled({"decimal": ","})
    codes, _, coding = coded(write(tmp_path, header + "p1;20,5;00123;flu\np2;31;00456;cold\n"), schema)
    assert [row[0] for row in codes] == [205, 310]
    assert coding.label(0, 205, 310) == "20.5-31.0"
    told = message(write(tmp_path, header + "p1;20,5;00123;flu\np2;1.234;00456;cold\n"), schema)
    assert "Column 'age': '1.234' is written with a point, in row 2 (line 3)." in told


@pytest.mark.parametrize(
    ("form", "written"),
    [
        ("dd/mm/yyyy", "31/1/2026"),
        ("mm/dd/yyyy", "01/31/2026"),
        ("dd.mm.yyyy", "31.01.2026"),
        ("dd-mm-yyyy", "31-01-2026"),
        ("yyyy/mm/dd", "2026/01/31"),
        ("yyyymmdd", "20260131"),
    ],
)
@pytest.mark.parametrize("age", [{"type": "date"}, {"type": "numeric"}, {"type": "date", "levels": ["year"]}])
def test_dates_in_a_declared_form_are_the_same_days(form: str, written: str, age: dict[str, object]) -> None:
    declared = coded(frame(age=[written, "2026-01-30", written]), spelled({"dates": form}, age))
    plain = coded(frame(age=["2026-01-31", "2026-01-30", "2026-01-31"]), spelled({}, age))
    assert declared[:2] == plain[:2]


def test_a_day_that_does_not_exist_is_told_as_it_is_written() -> None:
    told = message(frame(age=["31/02/2026", "01/02/2026", "02/02/2026"]), spelled({"dates": "dd/mm/yyyy"}))
    assert "Column 'age': '31/02/2026' is not a date, in row 1." in told


def test_text_of_other_columns_stays_as_it_is() -> None:
    snapshot = load(frame(diagnosis=["1,5", "01/02/2026", "x"]), spelled({"decimal": ",", "dates": "dd/mm/yyyy"}))
    assert snapshot.sensitive == (("1,5",), ("01/02/2026",), ("x",))


def test_a_spelling_survives_storing() -> None:
    schema = spelled({"missing": {"age": ["99"]}, "decimal": ",", "dates": "dd.mm.yyyy"})
    assert Schema.from_stored(schema.to_dict()) == schema
    assert Schema.from_dict(schema.to_dict()) == schema
    assert "spelling" not in spelled({}).to_dict()


@pytest.mark.parametrize(
    ("spelling", "told"),
    [
        ({"mising": ["NA"]}, "spelling.mising: unknown key. Did you mean 'missing'?"),
        ({"missing": [99]}, "Write the codes as text in quotes"),
        ({"missing": {"agee": ["99"]}}, "neither a quasi-identifier nor sensitive. Did you mean 'age'?"),
        ({"decimal": ";"}, "spelling.decimal: received ';'"),
        ({"dates": "DD/MM/YYYY"}, "Did you mean 'dd/mm/yyyy'?"),
        (["NA"], "Write a section [schema.spelling]"),
    ],
)
def test_a_spelling_that_cannot_be_is_refused(spelling: object, told: str) -> None:
    with pytest.raises(SchemaError) as caught:
        spelled(spelling)
    assert told in str(caught.value)
