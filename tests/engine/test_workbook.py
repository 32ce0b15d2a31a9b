"""Sheets and files of statistics programs are the same people as the CSV."""

from __future__ import annotations

import datetime
import zipfile
from pathlib import Path
from xml.sax.saxutils import escape

import pyarrow as pa
import pyreadstat
import pytest

from reissue.engine.snapshot import load
from reissue.errors import MissingExtra, SnapshotError
from reissue.schema import Schema
from tests.engine.people import CLINIC, coded, frame

ROWS: list[list[object]] = [
    ["patient", "age", "zip", "diagnosis", "note"],
    ["p1", 20, "00123", "flu", "a"],
    ["p2", 31, "00456", "cold", None],
    ["p3", 20, "00123", "flu", "b"],
]
NAMESPACE = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def sheet(rows: list[list[object]]) -> str:
    """The XML of a sheet: text in place, numbers as numbers."""
    lines = []
    for number, row in enumerate(rows, start=1):
        cells = [
            ""
            if value is None
            else f'<c r="{chr(65 + place)}{number}" t="inlineStr"><is><t>{escape(value)}</t></is></c>'
            if isinstance(value, str)
            else f'<c r="{chr(65 + place)}{number}"><v>{value}</v></c>'
            for place, value in enumerate(row)
        ]
        lines.append(f'<row r="{number}">{"".join(cells)}</row>')
    return f"<worksheet {NAMESPACE}><sheetData>{''.join(lines)}</sheetData></worksheet>"


def book(path: Path, **sheets: list[list[object]]) -> Path:
    """A workbook as Excel writes it, as small as it can be."""
    numbered = list(enumerate(sheets, start=1))
    names = "".join(f'<sheet name="{name}" sheetId="{i}" r:id="r{i}"/>' for i, name in numbered)
    kind = f"{RELATIONS}/worksheet"
    links = "".join(f'<Relationship Id="r{i}" Type="{kind}" Target="worksheets/s{i}.xml"/>' for i, _ in numbered)
    package = "http://schemas.openxmlformats.org/package/2006"
    top = f'<Relationship Id="r1" Type="{RELATIONS}/officeDocument" Target="xl/workbook.xml"/>'
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("[Content_Types].xml", f'<Types xmlns="{package}/content-types"/>')
        file.writestr("_rels/.rels", f'<Relationships xmlns="{package}/relationships">{top}</Relationships>')
        file.writestr(
            "xl/workbook.xml", f'<workbook {NAMESPACE} xmlns:r="{RELATIONS}"><sheets>{names}</sheets></workbook>'
        )
        file.writestr(
            "xl/_rels/workbook.xml.rels", f'<Relationships xmlns="{package}/relationships">{links}</Relationships>'
        )
        for i, name in numbered:
            file.writestr(f"xl/worksheets/s{i}.xml", sheet(sheets[name]))
    return path


def test_a_sheet_is_read_as_the_same_people(tmp_path: Path) -> None:
    path = book(tmp_path / "people.xlsx", People=ROWS)
    assert coded(path)[:2] == coded(frame())[:2]
    assert load(path, CLINIC).identifiers.to_pylist() == ["p1", "p2", "p3"]


def test_of_several_sheets_one_must_be_named(tmp_path: Path) -> None:
    path = book(tmp_path / "people.xlsx", Legend=[["what", "how"], ["age", "years"]], People=ROWS, Empty=[])
    with pytest.raises(SnapshotError, match=r"2 sheets with something in them \('Legend', 'People'\)"):
        load(path, CLINIC)
    assert len(load(f"{path}#People", CLINIC)) == 3
    with pytest.raises(SnapshotError, match=r"no sheet 'Peeple'\. Its sheets are 'Legend', 'People', 'Empty'"):
        load(f"{path}#Peeple", CLINIC)


def test_a_wrong_cell_of_a_sheet_is_told_with_its_row(tmp_path: Path) -> None:
    path = book(tmp_path / "people.xlsx", People=[*ROWS[:2], ["p2", "old", "00456", "cold", None]])
    with pytest.raises(SnapshotError, match=r"Column 'age': 'old' is not a number, in row 2 \(line 3\)"):
        load(path, CLINIC)


@pytest.mark.parametrize("name", ["people.xlsx", "people.sav", "people.sas7bdat", "people.dta"])
def test_a_damaged_file_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"PK\x03\x04 nothing of the kind")
    with pytest.raises(SnapshotError, match="cannot be read"):
        load(tmp_path / name, CLINIC)
    with pytest.raises(SnapshotError, match="does not exist"):
        load(tmp_path / f"other-{name}", CLINIC)


@pytest.mark.parametrize("name", ["people.sav", "people.dta", "people.xpt"])
def test_files_of_statistics_programs_are_read_as_the_same_people(tmp_path: Path, name: str) -> None:
    import pandas as pd

    table = pd.DataFrame(ROWS[1:], columns=["patient", "age", "zip", "diagnosi", "note"])
    write = {"sav": pyreadstat.write_sav, "dta": pyreadstat.write_dta, "xpt": pyreadstat.write_xport}[name[-3:]]
    write(table, str(tmp_path / name))
    schema = Schema(
        identifier="patient",
        quasi_identifiers={"age": {"type": "numeric"}, "zip": {"prefix": [3]}},
        sensitive="diagnosi",
        insensitive=["note"],
    )
    assert coded(tmp_path / name, schema)[:2] == coded(frame())[:2]


def test_dates_and_missing_numbers_of_spss_stay_what_they_are(tmp_path: Path) -> None:
    import pandas as pd

    days = [datetime.date(1990, 1, 31), datetime.date(1960, 2, 1)]
    table = pd.DataFrame({"id": [1.0, 2.0], "born": days, "weight": [70.5, None], "ill": ["x", "y"]})
    pyreadstat.write_sav(table, str(tmp_path / "d.sav"))
    schema = Schema(
        identifier="id",
        quasi_identifiers={"born": {"type": "date"}, "weight": {"type": "float"}},
        sensitive="ill",
        missing="value",
    )
    snapshot = load(tmp_path / "d.sav", schema)
    assert snapshot.identifiers.to_pylist() == ["1", "2"]
    assert snapshot.seen.numbers["born"].kind == "date"
    assert snapshot.seen.numbers["weight"].nulls == 1


@pytest.mark.parametrize(("name", "extra"), [("a.xlsx", "excel"), ("a.sav", "stats")])
def test_a_missing_reader_is_told_with_what_to_install(
    tmp_path: Path, name: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / name).write_bytes(b"PK\x03\x04")
    monkeypatch.setitem(__import__("sys").modules, {"excel": "fastexcel", "stats": "pyreadstat"}[extra], None)
    with pytest.raises(MissingExtra, match=rf"reissue\[{extra}\]"):
        load(tmp_path / name, CLINIC)


def test_sheets_and_tables_of_arrow_agree_on_types(tmp_path: Path) -> None:
    path = book(tmp_path / "numbers.xlsx", Sheet1=[["id", "age", "ill"], [7, 30, "x"], [8, 31, "y"]])
    schema = Schema(identifier="id", quasi_identifiers={"age": {"type": "int"}}, sensitive="ill")
    assert coded(path, schema)[:2] == coded(pa.table({"id": [7, 8], "age": [30, 31], "ill": ["x", "y"]}), schema)[:2]
