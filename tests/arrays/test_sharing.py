"""Several processes compile what a first run needs: each kernel once, waiting for nobody who is no more."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from reissue.arrays import sharing
from reissue.arrays.sharing import Agreement

KERNELS = """
from reissue.arrays.compiled import njit


@njit(cache=True)
def inner(numbers):
    return numbers.sum()


@njit(cache=True)
def early(numbers):
    return inner(numbers) + 1


@njit(cache=True)
def late(numbers):
    return 2 * inner(numbers)
"""
LIST = {
    "kernels": [
        ["not_there", "early", "for Python", ["int64[1C]"]],
        ["kernels", "inner", "for kernels", ["int64[1C]"]],
        ["kernels", "late", "for Python", ["int64[1C]"]],
        ["kernels", "gone", "for Python", ["int64[1C]"]],
        ["kernels", "late", "for Python", ["int64[1C]", "int64"]],
        ["endless", "late", "for Python", ["int64[1C]"]],
    ],
    "steps": {"some": {"first": [0, 1, 2, 3, 4], "next": [5]}},
}
MAIN = """
import subprocess, sys, time
from pathlib import Path
import numpy as np
from reissue.arrays import sharing


class Told(subprocess.Popen):
    def __init__(self, command, **more):
        super().__init__(command, **more)
        print(self.pid, command[-1], flush=True)


sharing.subprocess.Popen = Told
sharing.LIST = Path(__file__).with_name("list.json")
sharing.EXPECTED.update(strategy="some", step=sys.argv[1])
assert sharing.find_claims(1) is None, "one processor has enough to do"
import kernels

if sys.argv[1] == "next":
    sharing.find_claims(2)
    time.sleep(60)
sharing.find_claims(2)
end = time.monotonic() + 60
while sharing._State.claims is not None and time.monotonic() < end:
    time.sleep(0.01)
assert kernels.early(np.arange(4)) == 7
assert not kernels.early.stats.cache_hits, "it was not listed as it is"
assert kernels.late(np.arange(4)) == 12
assert kernels.late.stats.cache_hits, "a helper compiled it, though not all that was listed is there"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (("kernels.py", KERNELS), ("main.py", MAIN), ("list.json", json.dumps(LIST))):
        (tmp_path / name).write_text(text)
    (tmp_path / "endless.py").write_text("import time\n\ntime.sleep(60)\n")
    return tmp_path


def begin(folder: Path, step: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")}
    command = [sys.executable, str(folder / "main.py"), step]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def is_running(process: str) -> bool:
    state = Path(f"/proc/{process}/stat")
    return state.exists() and state.read_text().rpartition(")")[2].split()[0] != "Z"


def wait_for_end(process: str) -> None:
    end = time.monotonic() + 20
    while is_running(process) and time.monotonic() < end:
        time.sleep(0.02)
    assert not is_running(process)


def test_a_helper_compiles_what_is_listed_and_ends(folder: Path) -> None:
    told, errors = begin(folder, "first").communicate()
    assert not errors
    (helper, place) = told.split()
    wait_for_end(helper)
    assert not Path(place).exists()


def test_a_helper_ends_with_a_parent_that_is_killed(folder: Path) -> None:
    with begin(folder, "next") as parent:
        assert parent.stdout
        helper, place = parent.stdout.readline().split()
        assert is_running(helper)
        parent.kill()
    wait_for_end(helper)
    assert not Path(place).exists()


def agree(folder: Path, alive: bool = True) -> Agreement:
    return Agreement(folder, lambda: alive)


def test_a_kernel_belongs_to_who_begins_it_until_it_is_kept(tmp_path: Path) -> None:
    one, other = agree(tmp_path), agree(tmp_path)
    assert one.is_open("a")
    assert one.take("a")
    assert one.take("a"), "it may be tried again"
    assert not other.take("a")
    assert not other.is_open("a")
    assert not other.is_finished("a")
    one.finish("a")
    assert other.is_finished("a")
    assert not other.is_open("a")
    assert other.take("a"), "should it not have been kept"


def test_who_waits_goes_on_when_the_kernel_is_kept(tmp_path: Path) -> None:
    one, other = agree(tmp_path), agree(tmp_path)
    one.take("a")
    threading.Timer(0.2, one.finish, ["a"]).start()
    start = time.monotonic()
    other.wait("a")
    assert 0.1 < time.monotonic() - start < 5


def test_nobody_waits_for_the_dead_or_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agree(tmp_path).take("a")
    start = time.monotonic()
    agree(tmp_path, alive=False).wait("a")
    monkeypatch.setattr(sharing, "_PATIENCE", 0.1)
    agree(tmp_path).wait("a")
    assert time.monotonic() - start < 5


def test_what_a_process_gives_up_is_free(tmp_path: Path) -> None:
    one, other = agree(tmp_path), agree(tmp_path)
    one.take("a")
    one.take("b")
    one.give_up()
    assert other.take("a")
    assert other.take("b")


def test_without_their_folder_everybody_compiles(tmp_path: Path) -> None:
    gone = agree(tmp_path / "gone")
    assert gone.take("a")
    gone.finish("a")
    gone.wait("a")
