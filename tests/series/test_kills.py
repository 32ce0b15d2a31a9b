"""Kill -9 at any instant of publish: the series is at N or N+1 releases, complete and verified, and a retry publishes.

The child is forked from this process, so that it imports and compiles nothing and can be killed at a chosen fault
point or at a random moment.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from pathlib import Path

import pytest

import reissue as ri
from reissue.errors import SeriesBusy
from reissue.ledger.faults import FAULT_POINTS
from reissue.series.publication import read_description
from tests.support.hospital import hospital_schema, population

PUBLISH_POINTS = [point for point in FAULT_POINTS if point.startswith(("stage.", "commit."))]
ROUNDS = 200


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A series with one release; publishing also warms the kernels that children inherit."""
    path = tmp_path_factory.mktemp("kills") / "origin"
    with ri.Series.create(path, hospital_schema(), ri.Static(k=5)) as series:
        series.publish(population(80))
    return path


def publish_in_child(path: Path, fault: str | None = None) -> int:
    """Fork; the child publishes the second release and leaves without cleaning up."""
    pid = os.fork()
    if pid:
        return pid
    try:
        if fault:
            os.environ["REISSUE_FAULT"] = fault
        with ri.Series.open(path) as series:
            series.publish(population(120))
        os._exit(0)
    except BaseException:
        os._exit(17)


def assert_whole(path: Path, seen_outside: set[str]) -> int:
    """Reopen: complete, verified, everything outsiders could have seen is in the ledger. Returns the releases."""
    with ri.Series.open(path) as series:
        assert series.verify(rebuild=True) == []
        numbers = [release.number for release in series.releases]
        assert numbers in ([1], [1, 2])
        visible = {entry.name for entry in (path / "releases").iterdir()}
        assert visible == {f"{number:04d}" for number in numbers}
        assert seen_outside <= visible, "a release that outsiders could see is not in the ledger"
        for release in series.releases:
            rows = read_description(release.path)["counts"]
            assert isinstance(rows, dict)
            assert rows["rows"] == release.counts["published"]
        assert not list((path / "private" / "staging").iterdir())
        return len(numbers)


def assert_retry_publishes(path: Path, done: int) -> None:
    with ri.Series.open(path) as series:
        release = series.publish(population(120))
        assert release.number == done + 1
        assert release.counts["published"] == 120
        assert series.verify() == []


@pytest.mark.parametrize("point", PUBLISH_POINTS)
def test_killed_at_a_fault_point(origin: Path, tmp_path: Path, point: str) -> None:
    path = tmp_path / "series"
    shutil.copytree(origin, path)
    pid = publish_in_child(path, fault=point)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status), f"fault point {point} was not reached"
    assert os.WTERMSIG(status) == signal.SIGKILL
    seen = {entry.name for entry in (path / "releases").iterdir()}
    assert_retry_publishes(path, assert_whole(path, seen))


def test_killed_at_random_moments(origin: Path, tmp_path: Path) -> None:
    """Moments spread over the whole of publish; both outcomes must occur, or the test proves nothing."""
    start = time.perf_counter()
    timed = tmp_path / "timed"
    shutil.copytree(origin, timed)
    os.waitpid(publish_in_child(timed), 0)
    whole = time.perf_counter() - start
    shutil.rmtree(timed)
    rng = random.Random(5)
    outcomes = []
    for round_ in range(ROUNDS):
        path = tmp_path / f"series{round_}"
        shutil.copytree(origin, path)
        pid = publish_in_child(path)
        time.sleep(rng.random() * whole * 1.2)
        seen = {entry.name for entry in (path / "releases").iterdir()}
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        done = assert_whole(path, seen)
        outcomes.append(done)
        if round_ % 4 == 0:
            assert_retry_publishes(path, done)
        shutil.rmtree(path)
    assert set(outcomes) == {1, 2}, outcomes


def test_two_publishers_at_once(origin: Path, tmp_path: Path) -> None:
    path = tmp_path / "series"
    shutil.copytree(origin, path)
    with ri.Series.open(path) as first, ri.Series.open(path) as second, first._ledger.publisher():
        with pytest.raises(SeriesBusy, match="publish"):
            second.publish(population(120))
        with pytest.raises(SeriesBusy):
            second.forget("IDENT-000001-Q")
    with ri.Series.open(path) as series:
        assert series.publish(population(120)).number == 2


def test_two_processes_race(origin: Path, tmp_path: Path) -> None:
    """Both start at once: each either publishes or says that the series is busy; the numbers are 2 and maybe 3."""
    path = tmp_path / "series"
    shutil.copytree(origin, path)
    codes = [os.waitpid(pid, 0)[1] for pid in [publish_in_child(path), publish_in_child(path)]]
    done = sum(os.WEXITSTATUS(code) == 0 for code in codes)
    assert done >= 1
    with ri.Series.open(path) as series:
        assert [release.number for release in series.releases] == list(range(1, done + 2))
        assert series.verify() == []
