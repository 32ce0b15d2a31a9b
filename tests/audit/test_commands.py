"""`reissue audit` and `reissue adopt` as a steward types them."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import click
import pyarrow as pa
import pyarrow.csv
import pytest
from click.testing import CliRunner, Result

import reissue as ri
from reissue.cli.audit import adopt, audit
from reissue.cli.report import report
from reissue.errors import InputError, ReissueError, SettingsError
from reissue.ledger.disk import hash_file
from tests.audit.figures import FIRST, SECOND, SNAPSHOTS
from tests.support.hospital import hospital_schema, write_config


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_config(tmp_path, "c = 0.5")
    for i, (release, snapshot) in enumerate(zip((FIRST, SECOND), SNAPSHOTS, strict=True), start=1):
        pa.csv.write_csv(release, tmp_path / f"r{i}.csv")
        pa.csv.write_csv(snapshot, tmp_path / f"s{i}.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


FILES = ["--release", "r1.csv", "--release", "r2.csv"]
MORE = ["--snapshot", "s1.csv", "--snapshot", "s2.csv"]


def run(command: click.Command, *arguments: str) -> Result:
    result = CliRunner().invoke(command, arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit | ReissueError):
        raise result.exception
    return result


def test_audit_of_files(folder: Path) -> None:
    done = run(audit, "--config", "c.toml", *FILES, *MORE)
    assert done.exit_code == 1, done.output
    assert "subject 4" in done.output, "people appear by number"
    assert "Alice" not in done.output
    named = run(audit, "--config", "c.toml", *FILES, *MORE, "--names", "--json", "--attack", "difference")
    document = json.loads(named.output)
    assert [attack["name"] for attack in document["attacks"]] == ["difference"]
    assert document["names_shown"] is True
    assert document["attacks"][0]["findings"][0]["subjects"] == ["Alice"]
    assert document["thresholds"]["c"] == 0.5
    assert (
        run(
            audit, "--config", "c.toml", *FILES, *MORE, "--attack", "difference", "--set", "k=1", "--set", "c=1.0"
        ).exit_code
        == 0
    )


def test_audit_of_a_series(folder: Path) -> None:
    with ri.Series.create("s", hospital_schema(), ri.Static(k=2), seed=1) as series:
        series.publish("s1.csv")
        series.publish("s2.csv")
    done = run(audit, "s", "--json")
    document = json.loads(done.output)
    assert done.exit_code == (1 if document["verdict"]["breached"] else 0)
    assert document["series"] == {
        "name": "s", "kind": "series", "strategy": "static", "settings": document["series"]["settings"],
        "config": {"name": "reissue.toml", "sha256": hash_file(folder / "s" / "reissue.toml")},
    }  # fmt: skip
    published = document["releases"][0]["files"]
    assert {one["name"]: one["sha256"] for one in published} == {
        one["name"]: hash_file(folder / "s" / "releases" / "0001" / one["name"]) for one in published
    }
    assert "Bob" not in done.output
    assert document["releases"][1]["steps"]
    (folder / "s" / "reissue.toml").write_text("# edited, which decides nothing")
    assert json.loads(run(audit, "s", "--json").output)["series"]["config"] == document["series"]["config"]


def test_an_audit_that_checked_nothing_is_no_success(folder: Path) -> None:
    """Of attacks that need members without snapshots, none runs; where one runs, the others only did not apply."""
    config = "--config", "c.toml", *FILES
    for more in ((), ("--json",)):
        done = run(audit, *config, "--attack", "intersection", "--attack", "difference", *more)
        assert isinstance(done.exception, InputError)
        assert "Nothing was checked" in str(done.exception)
        reason = "- intersection, difference: it needs to know who is in which class: give the snapshots"
        assert reason in str(done.exception)
        assert "intersection" in done.output, "the document is printed all the same"
    assert run(audit, *config, "--attack", "intersection", "--attack", "correspondence").exit_code in (0, 1)


def test_a_report_of_an_audit_that_checked_nothing_is_no_success(folder: Path) -> None:
    saved = run(audit, "--config", "c.toml", *FILES, "--attack", "intersection", "--json")
    (folder / "a.json").write_text(saved.output)
    done = run(report, "a.json", "-o", "r.html")
    assert isinstance(done.exception, InputError)
    assert "Nothing was checked" in str(done.exception)
    page = (folder / "r.html").read_text()
    assert "? Nothing could be checked" in page
    assert 'class="verdict good"' not in page


def test_a_report_of_a_damaged_document_says_so(folder: Path) -> None:
    whole = json.loads(run(audit, "--config", "c.toml", *FILES, *MORE, "--attack", "difference", "--json").output)
    for key in whole:
        for damaged in ({name: value for name, value in whole.items() if name != key}, {**whole, key: 5}):
            (folder / "a.json").write_text(json.dumps(damaged))
            done = run(report, "a.json", "-o", "r.html")
            assert done.exit_code == 0 or isinstance(done.exception, InputError), (key, done.exception)
    for text in ("[" * 100_000, "1" * 5_000, '{"format": "reissue-audit/1"}'):
        (folder / "a.json").write_text(text)
        assert isinstance(run(report, "a.json", "-o", "r.html").exception, InputError)


def test_an_audit_notes_public_files_that_are_missing(folder: Path) -> None:
    schema = replace(hospital_schema(), insensitive=("gender",), quasi_identifiers={"age": ri.Numeric()})
    with ri.Series.create("s", schema, ri.Static(k=2), seed=1) as series:
        series.publish("s1.csv")
        series.publish("s2.csv")
        assert not series.audit(attacks=["difference"]).notes
        shutil.rmtree(series.releases[0].path)
        (note,) = series.audit(attacks=["difference"]).notes
        assert f"published files of release {series.releases[0].name} are missing" in note
        assert series.releases[0].missing
        assert f"Missing: {series.releases[0].path}" in series.releases[0].describe()
        assert f"Hand out: {series.releases[1].path}" in series.releases[1].describe()


def test_what_is_named_and_cannot_be_used_is_no_attack_that_does_not_apply(folder: Path) -> None:
    """Other attacks would run, and the audit would look as if all were well."""
    (folder / "shares.csv").write_text("place,value\n")
    for setting, told in (
        ("compromised=['Zorro']", "Nobody called 'Zorro' is in these releases"),
        ("knowledge={values='shares.csv'}", "shares.csv"),
    ):
        done = run(audit, "--config", "c.toml", *FILES, *MORE, "--set", setting)
        assert isinstance(done.exception, InputError), setting
        assert told in str(done.exception)


def test_html_is_written_where_the_report_is(folder: Path) -> None:
    run(audit, "--config", "c.toml", *FILES, *MORE, "--html", "a.html")
    assert "<html" in (folder / "a.html").read_text()[:2000].lower()


def test_adopt(folder: Path) -> None:
    done = run(adopt, "s", "--config", "c.toml", *FILES, *MORE)
    assert done.exit_code == 1, done.output
    assert "reported here once" in done.output
    with ri.Series.open("s") as series:
        assert series.strategy.name == "static"
        assert len(series.releases) == 2


@pytest.mark.parametrize(
    "arguments",
    [[], ["s", "--config", "c.toml"], ["--config", "c.toml"], ["--config", "c.toml", *FILES, "--set", "names=1"]],
)
def test_usage(folder: Path, arguments: list[str]) -> None:
    assert isinstance(run(audit, *arguments).exception, SettingsError)


def test_bodies_are_short() -> None:
    import inspect

    for command in (audit, adopt, report):
        source = inspect.getsource(command.callback)  # type: ignore[arg-type]
        body = source.split('"""')[2]
        assert len([line for line in body.splitlines() if line.strip()]) <= 15


@pytest.mark.parametrize(
    ("attack", "setting", "said"),
    [
        (
            "background-knowledge",
            "knowledge=none.csv",
            "knowledge is 'none.csv'; it must be files by what they tell",
        ),
        ("learning", "statistics=none.csv", "statistics is 'none.csv': The knowledge file none.csv cannot be read"),
        ("historical-correlation", "compromised=none.csv", "Nobody called 'none.csv' is in these releases"),
    ],
)
def test_files_given_where_names_are_meant_are_named(folder: Path, attack: str, setting: str, said: str) -> None:
    done = run(audit, "--config", "c.toml", *FILES, *MORE, "--attack", attack, "--set", setting)
    assert isinstance(done.exception, SettingsError)
    assert said in str(done.exception)
