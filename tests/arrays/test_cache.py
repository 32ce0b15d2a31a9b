"""Kernels load for a user who can write neither the package nor a home."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reissue.arrays import kernel_cache as cache


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The temporary folder of a user who may write nowhere else."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")  # so that it is restored afterwards
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    monkeypatch.setattr(cache, "_writable", lambda folder: False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_a_folder_of_the_users_own(nowhere: Path) -> None:
    cache.find_place()
    place = Path(os.environ["NUMBA_CACHE_DIR"])
    assert place.parent == nowhere
    assert place.stat().st_mode & 0o777 == 0o700
    del os.environ["NUMBA_CACHE_DIR"]
    cache.find_place()
    assert Path(os.environ["NUMBA_CACHE_DIR"]) == place, "the next process finds its kernels again"


def test_a_folder_that_others_could_fill_is_not_used(nowhere: Path) -> None:
    """Compiled kernels are code: whoever can put files there could have them run."""
    planted = nowhere / f"reissue-kernels-{os.getuid()}"
    (nowhere / "elsewhere").mkdir(mode=0o700)
    planted.symlink_to(nowhere / "elsewhere")
    cache.find_place()
    assert Path(os.environ["NUMBA_CACHE_DIR"]) != planted
    planted.unlink()
    planted.mkdir()
    planted.chmod(0o777)
    del os.environ["NUMBA_CACHE_DIR"]
    cache.find_place()
    assert Path(os.environ["NUMBA_CACHE_DIR"]) != planted


def test_nothing_is_changed_where_numba_finds_a_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")  # so that it is restored afterwards
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "not" / "yet"))
    cache.find_place()
    assert "NUMBA_CACHE_DIR" not in os.environ
    assert not (tmp_path / "not").exists()
