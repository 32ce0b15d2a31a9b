"""Wrong configs, hierarchies, releases and options: no traceback, the place and the value named, a remedy told."""

from __future__ import annotations

from pathlib import Path

import pytest

from reissue.errors import MissingExtra
from tests.cli.wrong_inputs.support import COLUMNS, CONFIG, ROWS, ZIP, refused, run, text
from tests.cli.wrong_inputs.test_wrong_tables import CELLS, FILES, TYPES

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
    ('"zip.csv"', '"https://host/zip.csv"', "'https://host/zip.csv', an address"),
    ('"zip.csv"', '"."', "Is a directory"),
    ('type = "int"', 'type = "int", weight = -1', "weight is -1"),
    ("k = 2", "k = true", "k is true"),
    ("k = 2", "k = 2\n[utility]\nrates = ['age x']", "Did you mean 'age'"),
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
    (("report", "list.json"), "list.json is not an audit saved with --json: write one with `reissue audit --json`"),
    (("report", "list.json", "--names"), "list.json is a finished audit: --attack, --set and --names belong to"),
    (("report", "list.json", "--attack", "association"), "list.json is a finished audit"),
    (("report", "list.json", "--set", "k=3"), "list.json is a finished audit"),
    (("report", "zip.csv"), "zip.csv is neither a series nor an audit saved with --json"),
    (("audit", "--config", "weak.toml", "--release", "good.csv"), "weak.toml: k is 0"),
    (("forget", "s", "nobody"), "nobody"),
    (("extend", "s", "--hierarchy", "zip"), "is not COLUMN=FILE"),
    (("extend", "s", "--hierarchy", "age=zip.csv"), "age"),
    (("extend", "s", "--hierarchy", "zap=zip.csv"), "zap"),
    (("withdraw", "s", "--reason", "x"), "--not-handed-out"),
    (("log", "none"), "none"),
    (("verify", "none"), "none"),
    (("compare", "--config", "c.toml"), "SNAPSHOT"),
    (("publsh", "s", "good.csv"), "publsh"),
    (("publish", "s", "s"), "s is a series, not a table"),
    (("publish", "s", "good.csv", "--label", "good", "--allow", "same-snapshot"), "'good' is that of an earlier"),
    (("init", "", "--config", "c.toml"), "Name one for the series"),
    (("estimate", "s", "diagnosis=flu"), "s is a series. Name the folder of one of its releases"),
    (("estimate", "s/releases/0001", "diagnosis=flue"), "Did you mean 'flu'?"),
    (("estimate", "s/releases/0001", "ward=A"), "asks for 'ward'"),
    (("estimate", "s/releases/0001", "age=30-20"), "'30-20' is an empty range: it ends before it starts. Exchange"),
    (("estimate", "s/releases/0001", ""), "column=value is expected"),
    (("pack", "s", "7"), "There is no release 7; the series has 1 (good)"),
    (("pack", "s", "bad"), "There is no release bad; the series has 1 (good)"),
    (("pack", "s", "-o", "no/x.zip"), "no folder no"),
    (("audit", "s", "--person", "nobody"), "'nobody' is not known"),
    (("audit", "s", "--set", "foo.bar=1"), "'foo.bar'"),
    (("schema", "nothing"), "There is no document 'nothing'"),
    (("serve", "nowhere"), "nowhere is no series"),
    (("upgrade", "s", "--back"), "was not upgraded"),
    (("verify", "s", "--key", "env:NOPE"), "NOPE is not set"),
    (("log", "good.csv"), "good.csv is a file, and a series is a folder"),
    (("audit", "good.csv"), "good.csv is a file, and a series is a folder"),
    (("serve", "good.csv"), "good.csv is a file, and a series is a folder"),
    (("init", "c.toml", "--config", "c.toml"), "c.toml is a file, and a series is a folder"),
]


@pytest.mark.parametrize(("arguments", "told"), COMMANDS)
def test_a_wrong_command(clinic: Path, arguments: tuple[str, ...], told: str) -> None:
    refused(run(clinic, *arguments), told)


@pytest.mark.parametrize(
    "command",
    [
        ("report", "s"),
        ("audit", "s", "--html", "r.html"),
        ("compare", "--config", "c.toml", "--html", "r.html", "good.csv"),
    ],
)
def test_a_page_that_cannot_be_drawn_is_refused_before_the_work(
    clinic: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    """What draws it is an extra; nobody waits for an audit to be told so."""

    def fail(*_: object, **__: object) -> None:
        raise MissingExtra("Pages need what is not here.")

    def work(*_: object, **__: object) -> None:
        raise AssertionError("it began")

    monkeypatch.setattr("reissue.report.require", fail)
    for begun in ("reissue.cli.report.audit_own_series", "reissue.cli.audit.audit_own_series"):
        monkeypatch.setattr(begun, work)
    monkeypatch.setattr("reissue.compare.compare_config", work)
    refused(run(clinic, *command), "Pages need what is not here.", codes=(1, 2, 3, 4))


def test_the_list_has_two_hundred_inputs() -> None:
    lists = (CELLS, FILES, COLUMNS, TYPES, CONFIGS, HIERARCHIES, RELEASES, COMMANDS)
    assert sum(map(len, lists)) >= 200
