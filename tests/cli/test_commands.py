"""The commands as a steward types them: in this process, and in one of their own where the process is the point."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest

import reissue as ri
from reissue.cli import main
from reissue.errors import ChangeError
from tests.cli.support import in_own_process, reissue
from tests.support.hospital import FIGURE_3, frame, hospital_schema


def test_init_publish_log_verify(clinic: Path) -> None:
    done = in_own_process("publish", "s", "1.csv", cwd=clinic)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "", "nothing but the result when piped"
    assert "Release 1" in done.stdout
    document = json.loads(in_own_process("publish", "s", "2.csv", "--json", "--format", "csv", cwd=clinic).stdout)
    assert document["number"] == 2
    assert sorted(path.name for path in (clinic / "s" / "releases" / "0002").iterdir()) == [
        "release.csv",
        "release.json",
    ]
    assert [entry["number"] for entry in json.loads(in_own_process("log", "s", "--json", cwd=clinic).stdout)] == [1, 2]
    assert "1. Read 4 rows" in in_own_process("log", "s", cwd=clinic).stdout
    assert in_own_process("verify", "s", "--rebuild", cwd=clinic).returncode == 0


def test_a_backlog_is_published_in_order(clinic: Path) -> None:
    done = reissue("publish", "s", "1.csv", "2.csv", "--json", cwd=clinic)
    assert done.returncode == 0, done.stderr
    assert [release["number"] for release in json.loads(done.stdout)] == [1, 2]
    assert "1. Read 4 rows" in reissue("log", "s", cwd=clinic).stdout


def test_a_backlog_ends_at_the_first_snapshot_that_is_refused(clinic: Path) -> None:
    (clinic / "bad.csv").write_text("nothing,of,it\n1,2,3\n")
    done = reissue("publish", "s", "1.csv", "bad.csv", "2.csv", cwd=clinic)
    assert done.returncode == 2
    assert "Release 1" in done.stdout, "what was published before stays"
    assert "Release 2" not in done.stdout
    assert "1 of 3 snapshots was published; bad.csv was not. 1 after it was not tried." in done.stderr
    document = json.loads(reissue("publish", "s", "2.csv", "bad.csv", "--json", cwd=clinic).stdout)
    assert [release["number"] for release in document] == [2], "one document also where it ends early"


def test_verify_names_damage_and_returns_2(clinic: Path) -> None:
    reissue("publish", "s", "1.csv", cwd=clinic)
    victim = clinic / "s" / "releases" / "0001" / "release.csv"
    victim.write_bytes(victim.read_bytes().replace(b"Flu", b"Fly"))
    done = reissue("verify", "s", cwd=clinic)
    assert done.returncode == 2
    assert "release.csv" in done.stdout
    assert json.loads(reissue("verify", "s", "--json", cwd=clinic).stdout)[0]["file"].endswith("release.csv")


def test_a_seed_that_cannot_be_one_makes_no_series(clinic: Path) -> None:
    done = reissue("init", "t", "--config", "c.toml", "--seed", "-1", cwd=clinic)
    assert done.returncode == 2
    assert "seed is -1" in done.stderr
    assert not (clinic / "t").exists()


@pytest.mark.gates
def test_a_gate_stops_a_snapshot_that_was_not_meant_with_a_code_of_its_own(clinic: Path) -> None:
    reissue("publish", "s", "2.csv", cwd=clinic)
    same = reissue("publish", "s", "2.csv", "--json", cwd=clinic)
    assert (same.returncode, same.stdout) == (5, "")
    assert "same-snapshot: This snapshot has been published already, as release 2" in same.stderr
    allowed = reissue("publish", "s", "2.csv", "--json", "--allow", "same-snapshot", cwd=clinic)
    assert (allowed.returncode, json.loads(allowed.stdout)["number"]) == (0, 2)
    older = [(name, 100 + age, *rest) for name, age, *rest in FIGURE_3]
    pa.csv.write_csv(frame(older), clinic / "3.csv")
    done = reissue("publish", "s", "3.csv", cwd=clinic)
    assert done.returncode == 5
    assert "7 of the 7 people who were published before have changed: 'age' of 7. Is a column written" in done.stderr
    others = [(f"other {name}", *rest) for name, *rest in FIGURE_3]
    pa.csv.write_csv(frame(others), clinic / "3.csv")
    done = reissue("publish", "s", "3.csv", cwd=clinic)
    assert done.returncode == 5
    assert "nobody-known: None of the 7 people were ever published" in done.stderr
    wrong = reissue("publish", "s", "3.csv", "--allow", "nobody-knwon", cwd=clinic)
    assert wrong.returncode == 2
    assert "Did you mean 'nobody-known'?" in wrong.stderr


def test_a_release_is_withdrawn_and_the_log_tells_why(clinic: Path) -> None:
    reissue("publish", "s", "1.csv", cwd=clinic)
    reissue("publish", "s", "2.csv", "--label", "June", cwd=clinic)
    for name in ("June", "2"):  # the label, or the number
        assert reissue("pack", "s", name, cwd=clinic).stdout == "Wrote release.zip: release June, nothing private.\n"
    refused = reissue("withdraw", "s", "--reason", "wrong ward", cwd=clinic)
    assert refused.returncode == 2
    assert "Release June may have been handed out" in refused.stderr
    done = reissue("withdraw", "s", "--not-handed-out", "--reason", "wrong ward", cwd=clinic)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Withdrew release June" in done.stdout
    assert not (clinic / "s" / "releases" / "0002").exists()
    assert reissue("pack", "s", "2", cwd=clinic).returncode == 2
    packed = [reissue("pack", "s", "-o", name, cwd=clinic).returncode for name in ("a.zip", "b.zip")]
    assert packed == [0, 0]
    assert (clinic / "a.zip").read_bytes() == (clinic / "b.zip").read_bytes()
    told = reissue("log", "s", cwd=clinic).stdout
    assert "release June (number 2). wrong ward" in told
    log = json.loads(reissue("log", "s", "--json", cwd=clinic).stdout)
    assert [(one["what"], one.get("label")) for one in log] == [("publish", "1"), ("withdraw", "June")]
    assert reissue("withdraw", "s", cwd=clinic).returncode == 2
    assert reissue("withdraw", "s", "--not-handed-out", cwd=clinic).returncode == 0
    assert "(number 1). It was not handed out." in reissue("log", "s", cwd=clinic).stdout
    several = reissue("publish", "s", "1.csv", "2.csv", "--label", "July", cwd=clinic)
    assert several.returncode == 2
    assert "--label takes one snapshot at a time" in several.stderr


@pytest.mark.gates
def test_a_dry_run_tells_what_would_be_published_and_changes_nothing(clinic: Path) -> None:
    reissue("publish", "s", "1.csv", cwd=clinic)
    before = {file: file.read_bytes() for file in (clinic / "s").rglob("*") if file.is_file()}
    done = reissue("publish", "s", "2.csv", "--dry-run", "--json", cwd=clinic)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["format"], told["release"]["number"], told["would_publish"]) == ("reissue-preview/1", 2, True)
    assert told["diff"]["people"]["new"] == 3
    assert told["audit"]["format"] == "reissue-audit/1"
    stopped = reissue("publish", "s", "1.csv", "--dry-run", cwd=clinic)
    assert stopped.returncode == 5
    assert "Gate same-snapshot stops it" in stopped.stdout
    assert {file: file.read_bytes() for file in (clinic / "s").rglob("*") if file.is_file()} == before


def test_a_config_edited_in_vain_is_told(clinic: Path) -> None:
    config = clinic / "s" / "reissue.toml"
    config.write_text(config.read_text().replace("k = 2", "k = 50"))
    done = reissue("publish", "s", "1.csv", cwd=clinic)
    assert done.returncode == 0
    assert done.stderr.startswith(
        "Warning: s/reissue.toml is not as it was written, but the series goes by its ledger."
    )


def test_a_release_that_an_old_backup_forgot_is_not_called_a_stranger(clinic: Path) -> None:
    reissue("publish", "s", "1.csv", cwd=clinic)
    shutil.copytree(clinic / "s" / "private", clinic / "backup")
    reissue("publish", "s", "2.csv", cwd=clinic)
    shutil.rmtree(clinic / "s" / "private")
    shutil.copytree(clinic / "backup", clinic / "s" / "private")
    for done, said in (
        (reissue("publish", "s", "2.csv", cwd=clinic), "stderr"),
        (reissue("verify", "s", cwd=clinic), "stdout"),
    ):
        assert done.returncode == 2
        assert "releases/0002" in getattr(done, said)
        assert "restore the latest private/ before you publish" in getattr(done, said)


def test_publishing_warns_of_releases_that_are_gone(clinic: Path) -> None:
    reissue("publish", "s", "1.csv", cwd=clinic)
    shutil.rmtree(clinic / "s" / "releases" / "0001")
    done = reissue("publish", "s", "2.csv", "--json", cwd=clinic)
    assert done.returncode == 0, "the ledger remembers: nothing is less safe"
    assert json.loads(done.stdout)["number"] == 2
    assert done.stderr.startswith("Warning: s/releases/0001: published before, but not there any more.")
    assert "Missing: s/releases/0001" in reissue("log", "s", cwd=clinic).stdout


def test_changing_the_strategy(clinic: Path) -> None:
    reissue("publish", "s", "1.csv", cwd=clinic)
    done = reissue("publish", "s", "2.csv", "--strategy", "static", "--set", "k=3", cwd=clinic)
    assert "k=3" in done.stdout
    done = reissue("publish", "s", "2.csv", "--strategy", "statik", cwd=clinic)
    assert done.returncode == 2
    assert "Did you mean 'static'" in done.stderr
    done = reissue("publish", "s", "2.csv", "--set", "strategy=merge", cwd=clinic)
    assert done.returncode == 2
    assert "use --strategy" in done.stderr


def test_forget_and_extend(clinic: Path) -> None:
    reissue("publish", "s", "1.csv", cwd=clinic)
    assert reissue("forget", "s", "Bob", cwd=clinic).returncode == 0
    assert "forgotten before" in reissue("forget", "s", "Bob", cwd=clinic).stdout
    assert reissue("forget", "s", "Bub", cwd=clinic).returncode == 2
    (clinic / "ids.csv").write_text("name\nBob\nTom\n")
    assert (
        json.loads(reissue("forget", "s", "--from", "ids.csv", "--erase", "--json", cwd=clinic).stdout)["people"] == 2
    )
    more = [*FIGURE_3, ("Zed", 33, "Other", "Flu"), ("Zoe", 34, "Other", "Asthma")]
    pa.csv.write_csv(frame(more), clinic / "3.csv")
    refused = reissue("publish", "s", "3.csv", cwd=clinic)
    assert refused.returncode == 2
    row = len(FIGURE_3) + 1
    assert (
        "3.csv does not fit the schema. Column 'gender': a value is not in its hierarchy (gender.csv): "
        in refused.stderr
    )
    assert f"'Other' in 2 rows, first in row {row} (line {row + 1})" in refused.stderr
    assert "reissue extend SERIES --hierarchy gender=FILE.csv" in refused.stderr
    (clinic / "gender2.csv").write_text("Male;Person\nFemale;Person\nOther;Person\n")
    assert reissue("extend", "s", "--hierarchy", "gender=gender2.csv", cwd=clinic).returncode == 0
    assert reissue("publish", "s", "3.csv", cwd=clinic).returncode == 0
    pa.csv.write_csv(frame([*more, ("Zac", 35, "?", "Flu")]), clinic / "4.csv")
    refused = reissue("publish", "s", "4.csv", cwd=clinic)
    assert f"hierarchy (gender.csv): '?' in row {row + 2} (line {row + 3}). Correct" in refused.stderr, (
        "also once grown"
    )


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["publish", "nowhere", "1.csv"], 2, "nowhere"),
        (["publish", "s", "nofile.csv"], 2, "nofile.csv"),
        (["init", ".", "--config", "c.toml"], 2, "is not empty"),
        (["init", "t", "--config", "none.toml"], 2, "none.toml"),
        (["publish", "s", "1.csv", "--set", "k=5"], 3, "4 rows"),
        (["publish", "s", "1.csv", "--set", "k"], 2, "KEY=VALUE"),
        (["publish", "s", "1.csv", "--set", "k=many"], 2, "k is 'many'; it must be a whole number."),
        (["report", "s", "-o", "none/r.html"], 2, "none/r.html cannot be written: there is no folder none."),
        (["audit", "s", "--html", "none/r.html"], 2, "none/r.html cannot be written: there is no folder none."),
    ],
)
def test_errors_are_one_message_and_an_exit_code(clinic: Path, arguments: list[str], code: int, message: str) -> None:
    done = reissue(*arguments, cwd=clinic)
    assert done.returncode == code, done.stderr
    assert done.stderr.startswith("Error: ")
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_demo_writes_data_and_refuses_foreign_directories(tmp_path: Path) -> None:
    assert reissue("demo", "--data", "data", cwd=tmp_path).returncode == 0
    assert (tmp_path / "data" / "2024-01.csv").exists()
    assert (tmp_path / "data" / "clinic.toml").exists()
    done = reissue("demo", "-o", "out", "--months", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "2024-01" in done.stdout
    assert "2024-02" not in done.stdout
    again = reissue("demo", "-o", "out", "--months", "1", cwd=tmp_path)
    assert again.returncode == 0, "the demo may start anew in its own directory"
    refused = reissue("demo", "-o", "data", cwd=tmp_path)
    assert refused.returncode == 2
    assert (tmp_path / "data" / "clinic.toml").exists()
    assert reissue("demo", "--data", "data", cwd=tmp_path).returncode == 0, "what it wrote it may write again"
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "2024-01.csv").write_text("mine")
    refused = reissue("demo", "--data", "own", cwd=tmp_path)
    assert refused.returncode == 2
    assert "own is not empty" in refused.stderr
    assert (tmp_path / "own" / "2024-01.csv").read_text() == "mine"


def test_forgetting_says_if_the_strategy_cannot_go_on(
    clinic: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(clinic)
    with ri.Series.create("grows", hospital_schema(), ri.CheckedMondrian(k=2), seed=1) as series:
        series.publish("2.csv")
    with pytest.raises(SystemExit) as ended:
        main.main(["forget", "grows", "Bob", "--erase"])
    assert ended.value.code == 0
    assert "checked-mondrian is for tables that nobody leaves" in capsys.readouterr().out
    with ri.Series.open("grows") as series, pytest.raises(ChangeError, match="whoever was forgotten counts as gone"):
        series.publish("2.csv")
