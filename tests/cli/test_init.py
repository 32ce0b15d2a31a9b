"""`init --from`: a proposal is shown and written, and the series made only when the steward agrees."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pyarrow.csv
import pytest

from reissue import clinic
from tests.cli.support import reissue


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number, month in enumerate(clinic.clinic_months(months=2, patients=300), start=1):
        pyarrow.csv.write_csv(month, tmp_path / f"{number}.csv")
    return tmp_path


def answer(folder: Path, *answers: str, code: int = 0) -> str:
    """`init --from` on a terminal, with these answers; what it showed."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "reissue", "init", "s", "--from", "1.csv"]
    running = subprocess.Popen(command, cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    os.write(ours, "".join(f"{line}\n" for line in answers).encode())
    shown = b""
    while True:
        try:
            block = os.read(ours, 4096)
        except OSError:  # the other side is closed
            break
        if not block:
            break
        shown += block
    assert running.wait() == code
    os.close(ours)
    return shown.decode()


def test_with_yes_nothing_is_asked_and_the_series_publishes(folder: Path) -> None:
    done = reissue("init", "s", "--from", "1.csv", "2.csv", "--yes", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "identifier" in done.stdout
    assert "Created s: strategy standing" in done.stdout
    assert (folder / "s.toml").read_text().startswith("# Proposed from 1.csv, 2.csv")
    assert reissue("publish", "s", "1.csv", "2.csv", cwd=folder).returncode == 0


def test_without_a_terminal_and_yes_only_the_config_is_written(folder: Path) -> None:
    done = reissue("init", "s", "--from", "1.csv", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "reissue init s --config s.toml" in done.stdout
    assert not (folder / "s").exists()
    assert reissue("init", "s", "--config", "s.toml", cwd=folder).returncode == 0


def test_a_config_that_was_edited_is_left_alone(folder: Path) -> None:
    reissue("init", "s", "--from", "1.csv", cwd=folder)
    assert reissue("init", "s", "--from", "1.csv", cwd=folder).returncode == 0, "the same again does no harm"
    edited = (folder / "s.toml").read_text() + "# mine\n"
    (folder / "s.toml").write_text(edited)
    done = reissue("init", "s", "--from", "1.csv", "--yes", cwd=folder)
    assert done.returncode == 2
    assert "s.toml is there already" in done.stderr
    assert (folder / "s.toml").read_text() == edited


def test_on_a_terminal_answers_change_roles_and_no_makes_no_series(folder: Path) -> None:
    shown = answer(folder, "episode", "ward", "sex, zipp", "episode", "ward", "sex, zip", "", "", "", "n")
    assert "Did you mean 'zip'?" in shown
    written = (folder / "s.toml").read_text()
    assert 'identifier = "episode"' in written
    assert 'sensitive = ["ward"]' in written
    assert "birth_year = " not in written
    assert not (folder / "s").exists()


def test_who_ends_the_questions_gets_nothing_made_and_no_code_that_means_a_breach(folder: Path) -> None:
    shown = answer(folder, "\x04", code=130)  # as Ctrl-D sends it
    assert "Nothing was created." in shown
    assert not (folder / "s.toml").exists()


def test_roles_can_be_given_as_options(folder: Path) -> None:
    done = reissue(
        *("init", "s", "--from", "1.csv", "--yes", "--identifier", "episode", "--sensitive", "exam"),
        *("--quasi-identifier", "sex", "--quasi-identifier", "zip"),
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    assert 'identifier = "episode"' in (folder / "s.toml").read_text()


def test_a_strategy_can_be_named_and_gets_settings_like_the_proposed_one(folder: Path) -> None:
    done = reissue("init", "s", "--from", "1.csv", "--strategy", "static", "--yes", cwd=folder)
    assert "Created s: strategy static" in done.stdout
    unknown = reissue("init", "t", "--from", "1.csv", "--strategy", "statik", "--yes", cwd=folder)
    assert unknown.returncode == 2
    assert "Did you mean 'static'?" in unknown.stderr
    assert not (folder / "t.toml").exists()


def test_config_and_from_exclude_each_other(folder: Path) -> None:
    for arguments in ((), ("--config", "s.toml", "--from", "1.csv"), ("--config", "s.toml", "1.csv")):
        assert reissue("init", "s", *arguments, cwd=folder).returncode == 2


def test_a_series_without_releases_is_made_anew_and_one_with_releases_is_not(folder: Path) -> None:
    reissue("init", "s", "--from", "1.csv", "--yes", "--identifier", "patient", cwd=folder)
    changed = (folder / "s.toml").read_text().replace('identifier = "patient"', 'identifier = "episode"')
    (folder / "s.toml").write_text(changed)
    done = reissue("init", "s", "--config", "s.toml", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert 'identifier = "episode"' in (folder / "s" / "reissue.toml").read_text()
    (folder / "bad.toml").write_text(changed.replace('strategy = "standing"', 'strategy = "sitting"'))
    assert reissue("init", "s", "--config", "bad.toml", cwd=folder).returncode == 2
    assert reissue("publish", "s", "1.csv", cwd=folder).returncode == 0, "what was there is still there"
    done = reissue("init", "s", "--config", "s.toml", cwd=folder)
    assert done.returncode == 2
    assert "has published 1 releases" in done.stderr
    assert [path.name for path in folder.iterdir() if "replaced" in path.name] == []
