"""Kernels load for a user who can write neither the package nor a home."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from reissue import arrays


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The temporary folder of a user who may write nowhere else."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")  # so that it is restored afterwards
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    monkeypatch.setattr(arrays, "_writable", lambda folder: False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_a_folder_of_the_users_own(nowhere: Path) -> None:
    arrays.find_place()
    place = Path(os.environ["NUMBA_CACHE_DIR"])
    assert place.parent == nowhere
    assert place.stat().st_mode & 0o777 == 0o700
    del os.environ["NUMBA_CACHE_DIR"]
    arrays.find_place()
    assert Path(os.environ["NUMBA_CACHE_DIR"]) == place, "the next process finds its kernels again"


def test_a_folder_that_others_could_fill_is_not_used(nowhere: Path) -> None:
    """Compiled kernels are code: whoever can put files there could have them run."""
    planted = nowhere / f"reissue-kernels-{os.getuid()}"
    (nowhere / "elsewhere").mkdir(mode=0o700)
    planted.symlink_to(nowhere / "elsewhere")
    arrays.find_place()
    assert Path(os.environ["NUMBA_CACHE_DIR"]) != planted
    planted.unlink()
    planted.mkdir()
    planted.chmod(0o777)
    del os.environ["NUMBA_CACHE_DIR"]
    arrays.find_place()
    assert Path(os.environ["NUMBA_CACHE_DIR"]) != planted


def test_nothing_is_changed_where_numba_finds_a_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")  # so that it is restored afterwards
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "not" / "yet"))
    arrays.find_place()
    assert "NUMBA_CACHE_DIR" not in os.environ
    assert not (tmp_path / "not").exists()


def test_the_first_kernel_of_a_user_who_can_write_nowhere_is_kept(tmp_path: Path) -> None:
    code = (
        "import os\nos.access = lambda *_: False\n"
        "import reissue, pyarrow\n"
        "from reissue.engine.identifiers import hash_identifiers\nhash_identifiers(pyarrow.array(['a']))\n"
        "print(os.environ['NUMBA_CACHE_DIR'])"
    )
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    environment |= {"TMPDIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    place = Path(done.stdout.strip())
    assert place.parent == tmp_path
    assert list(place.rglob("*.nbi")), "the kernel was compiled for this process alone"
