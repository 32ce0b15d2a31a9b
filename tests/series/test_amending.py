"""A schema is amended where that is safe: how tables are read, and that missing is a value."""

from __future__ import annotations

from pathlib import Path

import pytest

import reissue as ri
from reissue.errors import SchemaError, SnapshotError
from tests.cli.wrong_inputs.support import COLUMNS, CONFIG, ROWS, ZIP, run, text


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "c.toml").write_text(CONFIG)
    (tmp_path / "zip.csv").write_text(ZIP)
    (tmp_path / "1.csv").write_text(text(ROWS))
    rows = [list(row) for row in ROWS]
    for column in ("age", "zip", "sex", "diagnosis"):
        rows[1][COLUMNS.index(column)] = "NA"
        rows[3][COLUMNS.index(column)] = "NA"
    (tmp_path / "2.csv").write_text(text(rows))
    assert run(tmp_path, "init", "s", "--config", "c.toml", "--seed", "1").exit_code == 0
    assert run(tmp_path, "publish", "s", "1.csv").exit_code == 0
    return tmp_path


def amend(folder: Path, *changes: tuple[str, str]) -> ri.Schema:
    content = CONFIG
    for old, new in changes:
        assert old in content
        content = content.replace(old, new, 1)
    (folder / "amended.toml").write_text(content)
    return ri.Schema.from_toml(folder / "amended.toml")


VALUE = ('insensitive = "ward"', 'insensitive = "ward"\nmissing = "value"')
CODES = ("k = 2", 'k = 2\n[schema.spelling]\nmissing = ["NA"]')


def test_missing_becomes_a_value_and_codes_for_it_are_read(folder: Path) -> None:
    assert run(folder, "publish", "s", "2.csv").exit_code == 2
    amend(folder, VALUE, CODES)
    done = run(folder, "amend", "s", "--config", "amended.toml")
    assert done.exit_code == 0, done.output
    assert "Missing is a value of its own from now on, in: age, born, weight, zip, sex, diagnosis." in done.output
    assert "already" in run(folder, "amend", "s", "--config", "amended.toml").output
    with ri.Series.open(folder / "s") as series:
        series.publish(folder / "2.csv", allow=["missing-codes", "reformatted"])
        assert series.verify(rebuild=True) == []
        assert series.schema.spelling.missing_of("age") == ("NA",)
        assert {str(value) for value in series.membership(2)["value"].to_pylist()} >= {"(missing)"}
        assert [event.what for event in series.log() if event.what == "amend"] == ["amend"]


def test_labels_can_be_amended_and_nothing_else_changes(folder: Path) -> None:
    schema = amend(folder, ("k = 2", 'k = 2\n[labels]\nunknown = "*"'))
    with ri.Series.open(folder / "s") as series:
        assert series.amend(schema) == ["labels is {'*': {'unknown': '*'}} from now on."]
        assert series.schema == schema
        assert series.coding.hierarchies["zip"].leaves == ("12040", "12041", "12050")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (('identifier = "patient"', 'identifier = "person"'), "identifier cannot be changed: it says who is who"),
        (('sensitive = "diagnosis"', 'sensitive = "exam"'), "sensitive cannot be changed"),
        (('insensitive = "ward"', 'insensitive = "room"'), "insensitive cannot be changed"),
        (('sex = { type = "categorical" }\n', ""), "quasi_identifiers are age, born, weight, zip, sex"),
        (('age = { type = "int" }', 'age = { type = "numeric" }'), "quasi_identifiers.age: how it is coded"),
        (('hierarchy = "zip.csv"', "prefix = [3]"), "`reissue extend`"),
    ],
)
def test_what_is_out_cannot_be_changed(folder: Path, change: tuple[str, str], told: str) -> None:
    schema = amend(folder, change, CODES)
    with ri.Series.open(folder / "s") as series:
        before = series.schema
        with pytest.raises(SchemaError) as caught:
            series.amend(schema)
        assert told in str(caught.value)
        assert series.schema == before, "nothing of it was changed"


def test_missing_stays_a_value_once_it_is_one(folder: Path) -> None:
    with ri.Series.open(folder / "s") as series:
        series.amend(amend(folder, VALUE))
        with pytest.raises(SchemaError, match="age: missing has been a value of its own"):
            series.amend(amend(folder))


def test_a_series_is_amended_before_its_first_release(folder: Path) -> None:
    with ri.Series.from_config(folder / "t", folder / "c.toml", seed=1) as series:
        with pytest.raises(SnapshotError):
            series.publish(folder / "2.csv")
        series.amend(amend(folder, VALUE, CODES))
        assert series.publish(folder / "2.csv", allow=["missing-codes"]).number == 1


def test_an_encoding_is_declared_later_but_not_exchanged(folder: Path) -> None:
    """What was refused is read from then on; what was read must not become other people."""

    def encoded(name: str) -> ri.Schema:
        return amend(folder, ("k = 2", f'k = 2\n[schema.spelling]\nencoding = "{name}"'))

    content = text(ROWS).replace("cold", "grippe légère").replace("p1", "p\u00fc1")
    (folder / "windows.csv").write_bytes(content.encode("windows-1252"))
    with ri.Series.open(folder / "s") as series:
        with pytest.raises(SnapshotError, match="windows-1252"):
            series.publish(folder / "windows.csv")
        assert series.amend(encoded("windows-1252")) == ["spelling.encoding is windows-1252 from now on."]
        series.publish(folder / "windows.csv", label="windows")
        assert "grippe légère" in series.membership(2)["value"].to_pylist()
        assert "pü1" in series.membership(2)["subject"].to_pylist()
        with pytest.raises(SchemaError, match="is windows-1252 and stays it"):
            series.amend(encoded("iso-8859-2"))
