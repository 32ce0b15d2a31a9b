"""Two hundred wrong inputs: no traceback, the place and the value named, a remedy told, and nothing changed.

Each is a command as a steward types it, on tiny tables: a cell, a file, a config, a hierarchy, a release or an option.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from tests.cli.wrong_inputs.support import COLUMNS, ROWS, refused, run, text

NUMBERS = ["4o", "thirty", "1,234", "30-39", "0x1f", "1_000", "NaN", "inf", "-", "?", "NA", "n/a", "#DIV/0!", "12..5"]
DAYS = [
    "31/01/1990",
    "1990-13-01",
    "1990-02-30",
    "1990",
    "90-01-01",
    "0000-01-01",
    "1990-1-1",
    "yesterday",
    "10000-01-01",
    "19900101",
]
WEIGHTS = ["70,5", "70.5kg", "70.5.1", "70'5", "½", "７０x", "..", "1e"]
CELLS = [
    *(("age", value, f"{value!r} is not a number") for value in NUMBERS),
    *(("born", value, f"{value!r} is not a date") for value in DAYS),
    *(("weight", value, f"{value!r} is not a number") for value in WEIGHTS),
    ("age", "1e999", "'1e999' is not a number"),
    ("age", "21.5", "21.5 is not a whole number"),
    ("age", "1073741824", "is beyond ±1,073,741,823"),
    ("age", "99999999999999999999", "too large"),
    ("age", "", "is empty"),
    ("age", "   ", "is empty"),
    ("age", "1990-01-01", "is not a number"),
    ("born", "1990-01-01 08:00", "is not a date"),
    ("born", "", "is empty"),
    ("weight", "999999999", "999999999.0"),
    ("weight", "", "is empty"),
    ("zip", "1204", "'1204'"),
    ("zip", "99999", "'99999'"),
    ("zip", "12040 ", "'12040 '"),
    ("zip", "", "is empty"),
    ("zip", "1204*", "'1204*'"),
    ("zip", "*", "'*'"),
    ("sex", "", "is empty"),
    ("sex", "*", "'*'"),
    ("diagnosis", "", "(sensitive) is empty"),
    ("diagnosis", "flu ", "'flu '"),
    ("diagnosis", " flu", "' flu'"),
    ("diagnosis", "cafe\u0301", "cafe"),
    ("age", "21 years", "'21 years' is not a number"),
    ("age", "\u221221", "'\u221221' is not a number"),
    ("age", "1/2", "'1/2' is not a number"),
    ("age", "#REF!", "'#REF!' is not a number"),
    ("born", "1 Jan 1990", "'1 Jan 1990' is not a date"),
    ("born", "1990-02-29", "'1990-02-29' is not a date"),
    ("born", "32874", "'32874' is not a date"),
    ("weight", "1e30", "'1e30' is too large"),
    ("zip", "12040.0", "is it '12040', read as a decimal number?"),
    ("zip", "1204O", "'1204O'"),
    ("diagnosis", "flu\u00a0", "differ only in spaces"),
    ("diagnosis", "f\u200blu", "read alike but are made of other characters"),
    ("patient", "", "(identifier) is empty"),
    ("patient", "  ", "(identifier) is empty"),
    ("patient", "p1", "'p1' occurs more than once"),
    ("patient", " p1 ", "'p1' occurs more than once"),
]


@pytest.mark.parametrize(("column", "value", "told"), CELLS)
def test_a_wrong_cell(clinic: Path, column: str, value: str, told: str) -> None:
    rows = [list(row) for row in ROWS]
    if told == "cafe":
        rows[0][COLUMNS.index(column)] = "caf\u00e9"
    rows[2][COLUMNS.index(column)] = f'"{value}"'
    (clinic / "bad.csv").write_text(text(rows))
    done = run(clinic, "publish", "s", "bad.csv")
    refused(done, column, told)
    if "occurs" not in told and told != "cafe":
        assert "row 3 (line 4)" in done.stderr, done.stderr


FILES: list[tuple[str, bytes | None, str]] = [
    ("absent.csv", None, "does not exist"),
    ("goood.csv", None, "Did you mean"),
    ("empty.csv", b"", "is empty (0 bytes)"),
    ("blank.csv", b"\n\n\n", "holds no text"),
    ("header.csv", text([]).encode(), "has no rows"),
    ("title.csv", b"Patients of 2026\n" + text(ROWS).encode(), "No column of the schema"),
    ("noheader.csv", text(ROWS[1:], ROWS[0]).encode(), "The first line must name the columns"),
    ("spaces.csv", text(ROWS, mark=" ").encode(), "separate fields by , ; | or tab"),
    ("utf16.csv", text(ROWS).encode("utf-16"), "UTF-16"),
    ("latin.csv", text(ROWS).replace("cold", "grippe légère").encode("latin-1"), "line 3 in column 'diagnosis'"),
    ("binary.csv", b"\x00\x01\x02" * 50, "binary data"),
    ("quote.csv", text(ROWS).replace("p3", '"p3').encode(), "line 4: a quote"),
    ("long.csv", (text(ROWS) + "p7,40,1980-01-01,70.0,12040,f,flu,A,extra\n").encode(), "line 8 has 9"),
    ("short.csv", (text(ROWS) + "p7,40\n").encode(), "line 8 has 2"),
    ("cut.csv.gz", gzip.compress(text(ROWS).encode(), mtime=0)[:60], "damaged or incomplete"),
    ("image.csv", b"\x89PNG\r\n\x1a\n" + b"\x00" * 20, "binary data"),
    ("archive.zip", b"PK\x03\x04" + b"\x00" * 30, "spreadsheet or an archive"),
    ("book.xlsx", b"PK\x03\x04" + b"\x00" * 30, "cannot be read as a spreadsheet"),
    ("old.xls", b"\xd0\xcf\x11\xe0" + b"\x00" * 30, "cannot be read as a spreadsheet"),
    ("stats.sav", b"$FL2 nothing", "cannot be read"),
    ("stats.sas7bdat", b"nothing", "cannot be read"),
    ("stats.dta", b"nothing", "cannot be read"),
    ("damaged.parquet", b"PAR1 nothing of the kind PAR1", "cannot be read as Parquet"),
    ("text.parquet", text(ROWS).encode(), "cannot be read as Parquet"),
    ("semicolons.csv", text(ROWS, mark=";").replace("p1;", "p1;;").encode(), "must have 8 fields"),
    ("trailing.csv", text(ROWS).replace("A\n", "A,\n").encode(), "end with a ','"),
    ("excel.csv", b"sep=,\n" + text(ROWS).encode(), "The first line must name the columns"),
    ("page.csv", b"<html><table><tr><td>patient</td></tr></table></html>", "The first line must name the columns"),
    ("print.pdf", b"%PDF-1.4\n%\xe2\xe3", "The first line must name the columns"),
    ("base.sqlite", b"SQLite format 3\x00" + b"\x00" * 99, "binary data"),
    ("windows.csv", text(ROWS).replace("ward", "w\u00e4rd").encode("cp1252"), 'encoding = "windows-1252"'),
    ("twice.csv", text([[*row, "x"] for row in ROWS], [*COLUMNS, "age"]).encode(), "more than one column named 'age'"),
]


@pytest.mark.parametrize(("name", "content", "told"), FILES)
def test_a_wrong_file(clinic: Path, name: str, content: bytes | None, told: str) -> None:
    if content is not None:
        (clinic / name).write_bytes(content)
    refused(run(clinic, "publish", "s", name), told)


@pytest.mark.parametrize("column", COLUMNS)
def test_a_missing_column(clinic: Path, column: str) -> None:
    kept = [place for place, name in enumerate(COLUMNS) if name != column]
    rows = [[row[place] for place in kept] for row in ROWS]
    (clinic / "bad.csv").write_text(text(rows, [COLUMNS[place] for place in kept]))
    refused(run(clinic, "publish", "s", "bad.csv"), f"Column '{column}' is missing")


@pytest.mark.parametrize("written", ["Age", "age ", "AGE", "Alter", "years_age"])
def test_a_column_of_another_name(clinic: Path, written: str) -> None:
    (clinic / "bad.csv").write_text(text(ROWS).replace("age", written, 1))
    told = "The columns are" if written == "Alter" else f"Did you mean '{written}'"
    refused(run(clinic, "publish", "s", "bad.csv"), "Column 'age' is missing", told)


TYPES = [
    ("age", [["x"]] * 6, "not of numbers"),
    ("age", [1.5] * 6, "not a whole number"),
    ("weight", [True] * 6, "not of numbers"),
    ("weight", [float("nan")] * 6, "not a number"),
    ("weight", [float("inf")] * 6, "not a number"),
    ("born", [7] * 6, "its type is date"),
    ("zip", [["x"]] * 6, "is not text"),
    ("patient", [1.5, 2.5, 3.0, 4.0, 5.0, 6.0], "cannot be an identifier"),
    ("patient", [["p"]] * 6, "identifiers must be text or whole numbers"),
    ("diagnosis", [1.5, 2.5, 1.5, 2.5, 1.5, 2.5], "Give it bins"),
    ("diagnosis", [b"\xff"] * 6, "is not text"),
    ("ward", [["x"]] * 6, "which a release cannot carry"),
    ("ward", [b"x"] * 6, "which a release cannot carry"),
]


@pytest.mark.parametrize(("column", "values", "told"), TYPES)
def test_a_column_of_a_wrong_type(clinic: Path, column: str, values: list, told: str) -> None:
    columns = dict(zip(COLUMNS, zip(*ROWS, strict=True), strict=True))
    table = pa.table({name: list(some) for name, some in columns.items()} | {column: values})
    pa.parquet.write_table(table, clinic / "bad.parquet")
    refused(run(clinic, "publish", "s", "bad.parquet"), f"'{column}'", told)
