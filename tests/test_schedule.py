"""Which worker runs which tests, in which order, and where tests write."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from tests.support import scratch
from tests.support.schedule import BROWSER, LONG, SPARK, rank, scope_of

ROOT = Path(__file__).resolve().parents[1]


def test_spark_is_begun_first_then_what_takes_long() -> None:
    scopes = ["tests/coding/test_codes.py", LONG[1], SPARK, BROWSER, LONG[0]]
    assert sorted(scopes, key=rank) == [SPARK, LONG[0], LONG[1], "tests/coding/test_codes.py", BROWSER]


def test_what_is_begun_early_is_there() -> None:
    for file in LONG:
        assert (ROOT / file).is_file(), file
        assert scope_of(f"{file}::test[spark]") == file, "it would be begun with all of Spark"


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
