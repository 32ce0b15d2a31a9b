"""However a command ends: its exit code is its own, and no fault looks like a breach."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from reissue.cli import main
from reissue.cli.options import writable
from reissue.errors import InputError
from tests.cli.support import reissue


def test_disk_full_is_a_clear_error(clinic: Path) -> None:
    """A file-size limit stands for a full disk: the write fails half-way, nothing is published, a retry works."""
    command = [sys.executable, "-m", "reissue", "publish", "s", "1.csv"]
    limit = 600

    def small_files() -> None:
        import signal

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    done = subprocess.run(command, capture_output=True, text=True, cwd=clinic, preexec_fn=small_files)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert reissue("publish", "s", "1.csv", cwd=clinic).returncode == 0
    assert reissue("verify", "s", cwd=clinic).returncode == 0


def test_a_finished_command_keeps_its_exit_code_however_the_interpreter_dies(tmp_path: Path) -> None:
    script = "import atexit, os; atexit.register(os.abort); from reissue.cli import main; main(['log', 'nowhere'])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2, "threads of native libraries may abort a process that is being taken down"
    assert done.stderr.startswith("Error: There is no series nowhere.")


def test_an_interrupt_is_no_breach(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("reissue.series.Series.open", interrupt)
    with pytest.raises(SystemExit) as ended:
        main.main(["log", "s"])
    assert ended.value.code == 130, "1 means that the audit found a breach"
    assert capsys.readouterr().err.startswith("Interrupted.")


@pytest.mark.parametrize("error", [TypeError("oops"), RuntimeError("oops"), AssertionError("oops"), MemoryError()])
def test_a_fault_is_no_breach(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("reissue.series.Series.open", fail)
    with pytest.raises(SystemExit) as ended:
        main.main(["audit", "s"])
    assert ended.value.code == 70, "1 means that the audit found a breach"
    told = capsys.readouterr().err
    assert "Traceback" in told, "for the report"
    assert "Nothing was lost" in told.splitlines()[-1]


def test_clicks_own_ways_to_end_are_no_fault(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, code in ((["log", "--help"], 0), (["log"], 2), (["log", "s", "--nonsense"], 2)):
        with pytest.raises(SystemExit) as ended:
            main.main(arguments)
        assert ended.value.code == code
        assert "Traceback" not in capsys.readouterr().err


def test_a_reader_that_leaves_early_gets_no_traceback(clinic: Path) -> None:
    reissue("publish", "s", "1.csv", cwd=clinic)
    command = f"set -o pipefail; {sys.executable} -m reissue log s --json | true"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=clinic)
    assert done.stderr == ""
    assert done.returncode in (0, 141), "1 means that the audit found a breach"


def test_a_reader_that_leaves_in_the_middle_of_a_long_answer_gets_no_error() -> None:
    command = [sys.executable, "-m", "reissue", "schema", "audit"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()  # what is written is more than any buffer holds
        assert running.stderr.read() == b""
    assert running.returncode == 141


def test_a_place_that_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for arguments in (["demo", "--data", "file/x"], ["demo", "-o", "file/x", "--months", "1"]):
        done = reissue(*arguments, cwd=tmp_path)
        assert done.returncode == 2, done.stderr
        assert done.stderr.startswith("Error: `")
        assert "Not a directory (file/x" in done.stderr
        assert "Traceback" not in done.stderr


def test_a_place_without_permission_is_found_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever may do everything, as root may, cannot be refused by the disk: the disk's answer is made up."""
    (tmp_path / "old.html").touch()
    writable(str(tmp_path / "new.html"))
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    for name, place in (("old.html", tmp_path / "old.html"), ("new.html", tmp_path)):
        with pytest.raises(InputError, match=re.escape(f"you may not write to {place}. Choose another place")):
            writable(str(tmp_path / name))
