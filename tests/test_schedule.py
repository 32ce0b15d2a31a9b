"""Which worker runs which tests, in which order, and where tests write."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from tests.support import schedule, scratch
from tests.support.schedule import BROWSER, SPARK, rank, read_seconds, scope_of

ROOT = Path(__file__).resolve().parents[1]


def test_spark_is_begun_first_then_what_takes_long() -> None:
    long, longer = sorted((s for s in read_seconds() if s not in (SPARK, BROWSER)), key=lambda s: read_seconds()[s])[
        -2:
    ]
    scopes = ["tests/none/test_new.py", long, SPARK, longer]
    assert sorted(scopes, key=rank) == [SPARK, longer, long, "tests/none/test_new.py"]


def test_what_was_measured_is_there() -> None:
    """What was moved is measured anew, or moved in the list, too: REISSUE_SECONDS=1 make suite."""
    assert {SPARK, BROWSER} <= set(read_seconds())
    for scope in read_seconds():
        assert scope in (SPARK, BROWSER) or (ROOT / scope).is_file(), scope
        assert scope in (SPARK, BROWSER) or scope_of(f"{scope}::test[spark]") == scope, "begun with all of Spark"


def test_seconds_are_kept_by_scope_the_longest_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def report(name: str, seconds: float) -> pytest.TestReport:
        return pytest.TestReport(name, ("", 0, ""), {}, "passed", None, "call", duration=seconds)

    monkeypatch.setattr(schedule, "MEASURED", tmp_path / "seconds.json")
    took = [("tests/a/test_a.py::test_a", 2.0), ("tests/a/test_a.py::test_b[1]", 2.4), ("tests/b/test_spark.py::c", 60)]
    schedule.keep_seconds([report(*one) for one in [*took, ("tests/b/test_b.py::test_short", 2.9)]])
    assert (tmp_path / "seconds.json").read_text() == '{\n  "spark": 60,\n  "tests/a/test_a.py": 4\n}\n'


def test_one_worker_owns_spark_and_one_the_browser() -> None:
    assert (
        scope_of("tests/publish/test_spark.py::test_a") == scope_of("tests/page/test_a.py::test_on_spark[b]") == SPARK
    )
    for test in ("tests/report/test_a.py::test_a", "tests/compare/test_b.py::test_b"):
        assert scope_of(test) == BROWSER
    assert scope_of("tests/page/test_a.py::test_a[spark]") == "tests/page/test_a.py"


def test_tests_write_into_memory_where_there_is_plenty_and_nobody_chose_a_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def place(chosen: bool, plenty: int, folder: Path) -> str:
        monkeypatch.setattr(scratch, "MEMORY", folder)
        monkeypatch.setattr(scratch, "PLENTY", plenty)
        scratch.write_into_memory(chosen)
        return tempfile.gettempdir()

    monkeypatch.setenv("TMPDIR", "")  # so that it is restored afterwards
    monkeypatch.delenv("TMPDIR")
    monkeypatch.setattr(tempfile, "tempdir", None)
    before = tempfile.gettempdir()
    assert place(False, 0, tmp_path / "none") == place(False, 1 << 60, tmp_path) == place(True, 0, tmp_path) == before
    assert place(False, 0, tmp_path) == os.environ["TMPDIR"] == str(tmp_path)
    assert place(False, 0, tmp_path.parent) == str(tmp_path), "chosen by TMPDIR"
