"""Two hundred wrong inputs: no traceback, the place and the value named, a remedy told, and nothing changed.

Each is a command as a steward types it, on tiny tables: a cell, a file, a config, a hierarchy, a release or an option.
"""

from __future__ import annotations

import contextlib
import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from click.testing import CliRunner, Result

from reissue.cli import main

COLUMNS = ["patient", "age", "born", "weight", "zip", "sex", "diagnosis", "ward"]
ROWS = [
    ["p1", "21", "1990-01-01", "70.5", "12040", "f", "flu", "A"],
    ["p2", "24", "1990-02-01", "71.5", "12041", "m", "cold", "A"],
    ["p3", "33", "1985-03-01", "82.0", "12050", "f", "flu", "B"],
    ["p4", "35", "1985-04-01", "83.5", "12040", "m", "cold", "B"],
    ["p5", "36", "1984-05-01", "64.0", "12041", "f", "gastritis", "A"],
    ["p6", "52", "1970-06-01", "65.5", "12050", "m", "flu", "A"],
]
CONFIG = """[schema]
identifier = "patient"
sensitive = "diagnosis"
insensitive = "ward"
[schema.quasi_identifiers]
age = { type = "int" }
born = { type = "date" }
weight = { type = "float", decimals = 1 }
zip = { hierarchy = "zip.csv" }
sex = { type = "categorical" }
[policy]
strategy = "static"
k = 2
"""
ZIP = "12040;1204*;*\n12041;1204*;*\n12050;1205*;*\n"


def text(rows: list[list[str]], columns: list[str] | None = None, mark: str = ",") -> str:
    return "".join(mark.join(row) + "\n" for row in [columns or COLUMNS, *rows])


def run(folder: Path, *arguments: str) -> Result:
    with contextlib.chdir(folder):
        return CliRunner().invoke(main, list(arguments))


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A series with one release, its config and its tables."""
    folder = tmp_path_factory.mktemp("clinic")
    (folder / "c.toml").write_text(CONFIG)
    (folder / "zip.csv").write_text(ZIP)
    (folder / "good.csv").write_text(text(ROWS))
    assert run(folder, "init", "s", "--config", "c.toml", "--seed", "1").exit_code == 0
    assert run(folder, "publish", "s", "good.csv").exit_code == 0
    return folder


@pytest.fixture(autouse=True)
def unchanged(clinic: Path):
    """Whatever is refused, the series has what it had: nothing is lost, nothing published."""
    before = sorted((str(path), path.stat().st_mtime_ns) for path in (clinic / "s" / "releases").rglob("*"))
    yield
    after = sorted((str(path), path.stat().st_mtime_ns) for path in (clinic / "s" / "releases").rglob("*"))
    assert before == after


def refused(done: Result, *parts: str, codes: tuple[int, ...] = (2, 3)) -> None:
    shown = done.stderr + done.stdout
    assert done.exit_code in codes, shown
    assert "Traceback" not in shown
    assert "fault in Reissue" not in shown
    for part in parts:
        assert part in shown, f"{part!r} is not in: {shown}"
    assert "Error: " in done.stderr


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


CONFIGS = [
    ("[schema]", "[shema]", "Did you mean 'schema'"),
    ("identifier", "identifer", "Did you mean 'identifier'"),
    ('identifier = "patient"\n', "", "schema.identifier: missing"),
    ('identifier = "patient"', "identifier = 5", "schema.identifier: received 5"),
    ('sensitive = "diagnosis"', "sensitive = 5", "schema.sensitive"),
    ('sensitive = "diagnosis"', "sensitive = []", "sensitive is empty"),
    ('sensitive = "diagnosis"', 'sensitive = "age"', "'age' has several roles"),
    ('insensitive = "ward"', 'insensitive = "patient"', "'patient' has several roles"),
    ('insensitive = "ward"', 'missing = "drop"', "schema.missing: received 'drop'"),
    ('type = "int"', 'type = "integer"', "Did you mean 'int'"),
    ('type = "int"', 'typ = "int"', "Did you mean 'type'"),
    ('{ type = "int" }', "5", "received 5"),
    ('{ type = "int" }', "{ }", "nothing says how it is coded"),
    ('type = "int"', 'type = "int", decimals = 2', "decimals is 2"),
    ("decimals = 1", "decimals = 9", "decimals is 9"),
    ('hierarchy = "zip.csv"', 'hierarchy = "zap.csv"', "zap.csv: cannot be read"),
    ('hierarchy = "zip.csv"', "intervals = [5, 12]", "does not nest"),
    ('hierarchy = "zip.csv"', "prefix = [0]", "lengths are [0]"),
    ('hierarchy = "zip.csv"', 'type = "int", hierarchy = "zip.csv"', "are given"),
    ('strategy = "static"', 'strategy = "statc"', "Did you mean 'static'"),
    ('strategy = "static"', "strategy = 5", "strategy"),
    ("k = 2", "k = 0", "k is 0"),
    ("k = 2", 'k = "2"', "k"),
    ("k = 2", "kk = 2", "kk"),
    ("k = 2", "k = 2\non_change = 'ignore'", "on_change"),
    ("k = 2", "k = 2\n[output]\nformats = ['xml']", "output.formats"),
    ("k = 2", "k = 2\n[ledger]\nkay = 'x'", "ledger.kay: unknown key"),
    ("k = 2", "k = 2\n[ledger]\nkey = 'file:no.key'", "no.key"),
    ("k = 2", "k = 2\n[engine]\nname = 'dask'", "engine.name: received 'dask'"),
    ("k = 2", "k = 2\n[audit]\nattacks = ['guessing']", "guessing"),
    ("k = 2", "k = 2\n[gates]\nfew-rowz = 0.1", "few-rowz"),
    ("k = 2", "k = 2\n[labels]\nunknown = 5", "labels.unknown: received 5"),
    ("k = 2", "k = 2\n[schema.spelling]\ndates = 'dd/mm/yy'", "schema.spelling.dates"),
    ("k = 2", "k = 2\n[schema.spelling]\nmissing = [99]", "as text in quotes"),
    ("k = 2", "k = 2\n[schema.bins]\nage = [1, 2]", "bins.age: is not a sensitive column"),
    ("k = 2", "k = 2\n[schema.bins]\ndiagnosis = [2, 1]", "must rise"),
    ('"patient"', "“patient”", "Write straight quotes"),
    ('"patient"', "patient", "Put text into quotes"),
    ('"zip.csv"', '"maps\\zip.csv"', "Write / instead of \\"),
    ("[schema]", "[schema", "TOML"),
]


@pytest.mark.parametrize(("old", "new", "told"), CONFIGS)
def test_a_wrong_config(clinic: Path, old: str, new: str, told: str) -> None:
    assert old in CONFIG
    (clinic / "bad.toml").write_text(CONFIG.replace(old, new, 1))
    refused(run(clinic, "init", "new", "--config", "bad.toml"), told)
    assert not (clinic / "new").exists()


HIERARCHIES = [
    ("", "the file is empty"),
    ("value;group;root\n" + ZIP, "line 1"),
    ("12040;1204*;*\n12040;1205*;*\n", "line 2"),
    ("12040;1204*;*\n12041;1204*\n", "columns where most lines have"),
    ("12040;;*\n12041;1204*;*\n", "line 1: column 2 is empty"),
    ("12040;1204*;*\n1204*;x;*\n", "1204*"),
    ('12040;"1204*;*\n', "Close every quote"),
    ("\xff\xfe", "UTF"),
]


@pytest.mark.parametrize(("content", "told"), HIERARCHIES)
def test_a_wrong_hierarchy(clinic: Path, content: str, told: str) -> None:
    (clinic / "wrong.csv").write_bytes(content.encode("latin-1"))
    (clinic / "bad.toml").write_text(CONFIG.replace("zip.csv", "wrong.csv"))
    refused(run(clinic, "init", "new", "--config", "bad.toml"), "schema.quasi_identifiers.zip", "wrong.csv", told)
    refused(run(clinic, "extend", "s", "--hierarchy", "zip=wrong.csv"), "wrong.csv", told)


GOOD_RELEASE = [["20-29", "1990-01-01 to 1990-12-31", "70-72", "1204*", "*", row[6], row[7]] for row in ROWS[:2]]
RELEASES = [
    ("age", "old", "'old' in row 1"),
    ("age", "30-20", "'30-20'"),
    ("age", "30_39_49", "'30_39_49'"),
    ("age", "{1, x}", "'{1, x}'"),
    ("age", "30-39", "which holds '30-39'"),
    ("age", "22.5", "microaggregation"),
    ("born", "soon", "'soon' in row 1"),
    ("born", "1991-01-01 to 1990-01-01", "1991-01-01"),
    ("weight", "heavy", "'heavy' in row 1"),
    ("weight", "100-200", "which holds"),
    ("zip", "13*", "'13*' in row 1"),
    ("zip", "Oslo", "'Oslo' in row 1"),
    ("zip", "1205*", "which holds '12050'"),
    ("sex", "m", "which holds 'm'"),
    ("diagnosis", "cold", "says 'cold' in 'diagnosis'"),
]


@pytest.mark.parametrize(("column", "value", "told"), RELEASES)
def test_a_wrong_release(clinic: Path, column: str, value: str, told: str) -> None:
    rows = [list(row) for row in GOOD_RELEASE]
    rows[0][COLUMNS.index(column) - 1] = value
    (clinic / "release.csv").write_text(text(rows, COLUMNS[1:], ";"))
    (clinic / "two.csv").write_text(text(ROWS[:2]))
    done = run(clinic, "audit", "--config", "c.toml", "--release", "release.csv", "--snapshot", "two.csv")
    refused(done, column, told)


COMMANDS = [
    (("publish",), "SERIES"),
    (("publish", "s"), "SNAPSHOT"),
    (("publish", "none", "good.csv"), "none"),
    (("publish", "good.csv", "good.csv"), "good.csv"),
    (("publish", "s", "good.csv", "--strategy", "magic"), "magic"),
    (("publish", "s", "good.csv", "--set", "k"), "is not KEY=VALUE"),
    (("publish", "s", "good.csv", "--set", "k=x"), "k"),
    (("publish", "s", "good.csv", "--set", "strategy=bcf"), "use --strategy"),
    (("publish", "s", "good.csv", "--format", "xml"), "xml"),
    (("publish", "s", "good.csv", "--on-change", "ignore"), "ignore"),
    (("publish", "s", "good.csv", "--allow", "anything"), "anything"),
    (("publish", "s", "good.csv", "--table", "t"), "Spark"),
    (("publish", "s", "/dev/null"), "pipe or device"),
    (("publish", "s", "https://host/a.csv"), "is an address"),
    (("publish", "s", "table:people"), "is a table of Spark's"),
    (("publish", "s", ""), "is empty"),
    (("publish", "s", "."), "folder"),
    (("publish", "s", "good.csv", "absent.csv", "--table", "t"), "one snapshot at a time"),
    (("init", "new"), "--config FILE, or --from TABLE"),
    (("init", "s", "--config", "c.toml"), "has published 1 releases"),
    (("init", "new", "--config", "absent.toml"), "absent.toml"),
    (("init", "new", "--config", "c.toml", "--seed", "-1"), "seed is -1"),
    (("init", "new", "--from", "absent.csv", "--yes"), "does not exist"),
    (("init", "new", "--from", "zip.csv", "--yes"), "zip.csv"),
    (("init", "new", "--from", "good.csv", "--yes", "--identifier", "pateint"), "Did you mean 'patient'"),
    (("init", "new", "--from", "good.csv", "--yes", "--identifier", "sex"), "rows repeat a value"),
    (("init", "new", "--from", "good.csv", "--yes", "--sensitive", "illness"), "Column 'illness' is missing"),
    (("audit",), "SERIES"),
    (("audit", "s", "--attack", "guessing"), "guessing"),
    (("audit", "--config", "c.toml"), "release"),
    (
        ("audit", "--config", "c.toml", "--release", "good.csv", *(("--snapshot", "good.csv") * 2)),
        "snapshots 2",
    ),
    (("audit", "--config", "c.toml", "--release", "absent.csv"), "absent.csv"),
    (("audit", "s", "--html", "nowhere/report.html"), "there is no folder nowhere"),
    (("report", "s", "-o", "s/releases/report.html"), "lies in the releases"),
    (("forget", "s", "nobody"), "nobody"),
    (("extend", "s", "--hierarchy", "zip"), "is not COLUMN=FILE"),
    (("extend", "s", "--hierarchy", "age=zip.csv"), "age"),
    (("extend", "s", "--hierarchy", "zap=zip.csv"), "zap"),
    (("withdraw", "s", "--reason", "x"), "--not-handed-out"),
    (("log", "none"), "none"),
    (("verify", "none"), "none"),
    (("compare", "--config", "c.toml"), "SNAPSHOT"),
    (("publsh", "s", "good.csv"), "publsh"),
]


@pytest.mark.parametrize(("arguments", "told"), COMMANDS)
def test_a_wrong_command(clinic: Path, arguments: tuple[str, ...], told: str) -> None:
    refused(run(clinic, *arguments), told)


def test_the_list_has_two_hundred_inputs() -> None:
    lists = (CELLS, FILES, COLUMNS, TYPES, CONFIGS, HIERARCHIES, RELEASES, COMMANDS)
    assert sum(map(len, lists)) >= 200
