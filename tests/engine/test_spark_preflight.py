"""Workers that lack Reissue, or the folder, are named before they are given anything to do."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from reissue.engine.spark.preflight import Expected, WorkerReport, _look_around
from reissue.errors import SettingsError

WORKER = "import sys, pickle; sys.modules['reissue'] = None; print(repr(pickle.load(sys.stdin.buffer)(3)))"


def look(folder: Path) -> WorkerReport:
    """As a worker does that has no Reissue to import: it gets the task as bytes."""
    from pyspark import cloudpickle

    sent = cloudpickle.dumps(_look_around(str(folder)))
    told = subprocess.run([sys.executable, "-c", WORKER], input=sent, capture_output=True, check=True).stdout
    report: WorkerReport = ast.literal_eval(told.decode())
    return report


def expected(folder: Path, reissue: str | None = None) -> Expected:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "token").write_text("secret")
    return Expected(folder, "secret", reissue or str(look(folder)[2]))


def test_a_worker_that_has_everything_is_not_complained_about(tmp_path: Path) -> None:
    expected(tmp_path / "shared").refuse([look(tmp_path / "shared")])


def test_a_worker_that_does_not_see_the_folder_is_named(tmp_path: Path) -> None:
    _, *rest = look(tmp_path / "elsewhere")
    with pytest.raises(SettingsError, match=f"node7 does not see the folder {tmp_path}.*mount it.*Nothing was changed"):
        expected(tmp_path / "shared").refuse([("node7", *rest), look(tmp_path / "shared")])  # type: ignore[list-item]


def test_a_worker_whose_file_does_not_arrive_is_named(tmp_path: Path) -> None:
    wanted, told = expected(tmp_path / "shared"), look(tmp_path / "shared")
    (tmp_path / "shared" / told[4]).unlink()
    with pytest.raises(SettingsError, match=f"{told[0]} cannot write to the folder"):
        wanted.refuse([told])


def test_a_worker_without_reissue_or_with_another_version_is_named(tmp_path: Path) -> None:
    wanted, told = expected(tmp_path / "shared", "9.9"), look(tmp_path / "shared")
    with pytest.raises(SettingsError, match=rf"has Reissue {told[2]}, but this is 9\.9 \(install the same version\)"):
        wanted.refuse([told])
    with pytest.raises(SettingsError, match=r"has no Reissue in its Python .*--archives"):
        wanted.refuse([(told[0], told[1], None, *told[3:])])
