"""Kill -9 at any instant of publish: the series is at N or N+1 releases, complete and verified, and a retry publishes.

The child is forked from a process that has imported everything, so that hundreds of kills take a minute.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import reissue as ri
from reissue.errors import SeriesBusy
from reissue.history.public_files import read_description
from reissue.ledger.disk import FAULT_POINTS
from tests.support.hospital import hospital_schema, population
from tests.support.publisher import ROWS_AFTER, ROWS_BEFORE, Publisher, grown

PUBLISH_POINTS = [point for point in FAULT_POINTS if point.startswith(("stage.", "commit."))]
ROUNDS = int(os.environ.get("REISSUE_KILLS", "60")) // 4
"""Kills of each part; `make kills` asks for many more."""
SEED = int(os.environ.get("REISSUE_KILLS_SEED", "0"))


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A series with one release."""
    path = tmp_path_factory.mktemp("kills") / "origin"
    with ri.Series.create(path, hospital_schema(), ri.Static(k=5)) as series:
        series.publish(population(ROWS_BEFORE))
    return path


@pytest.fixture(scope="module")
def publisher() -> Iterator[Publisher]:
    process = Publisher()
    yield process
    process.close()


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
        release = series.publish(grown())
        assert release.number == done + 1
        assert release.counts["published"] == ROWS_AFTER
        assert series.verify() == []


@pytest.mark.parametrize("point", PUBLISH_POINTS)
def test_killed_at_a_fault_point(origin: Path, publisher: Publisher, tmp_path: Path, point: str) -> None:
    path = tmp_path / "series"
    shutil.copytree(origin, path)
    publisher.start(path, fault=point)
    status = publisher.ended()
    assert os.WIFSIGNALED(status), f"fault point {point} was not reached"
    assert os.WTERMSIG(status) == signal.SIGKILL
    seen = {entry.name for entry in (path / "releases").iterdir()}
    assert_retry_publishes(path, assert_whole(path, seen))


def time_of_publish(publisher: Publisher, origin: Path, path: Path) -> float:
    """Seconds from the fork to the end, kernels loaded."""
    seconds = []
    for _ in range(3):
        shutil.copytree(origin, path)
        start = time.perf_counter()
        publisher.start(path)
        assert publisher.ended() == 0
        seconds.append(time.perf_counter() - start)
        shutil.rmtree(path)
    return min(seconds)


@pytest.mark.parametrize("part", range(4))
def test_killed_at_random_moments(origin: Path, publisher: Publisher, tmp_path: Path, part: int) -> None:
    """Moments spread over the whole of publish, until both outcomes have occurred: else the test proves nothing.

    However slow the machine is now, half of the kills come at the end: after a kill that came before the commit the
    next ones may come later, after one behind it they come earlier.
    """
    latest = time_of_publish(publisher, origin, tmp_path / "timed")
    rng = random.Random(4 * SEED + part)
    outcomes: list[int] = []
    while len(outcomes) < ROUNDS or set(outcomes) != {1, 2}:
        path = tmp_path / f"series{len(outcomes)}"
        shutil.copytree(origin, path)
        pid = publisher.start(path)
        time.sleep(rng.random() * latest)
        seen = {entry.name for entry in (path / "releases").iterdir()}
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        publisher.ended()
        done = assert_whole(path, seen)
        if len(outcomes) % 8 == 0:
            assert_retry_publishes(path, done)
        outcomes.append(done)
        latest *= 1.1 if done == 1 else 0.8
        shutil.rmtree(path)


def test_two_publishers_at_once(origin: Path, tmp_path: Path) -> None:
    path = tmp_path / "series"
    shutil.copytree(origin, path)
    with ri.Series.open(path) as first, ri.Series.open(path) as second, first._ledger.publisher():
        with pytest.raises(SeriesBusy, match="publish"):
            second.publish(grown())
        with pytest.raises(SeriesBusy, match="publish"):
            second.forget("IDENT-000001-Q")
    with ri.Series.open(path) as series:
        assert series.publish(grown()).number == 2


def test_two_processes_race(origin: Path, tmp_path: Path) -> None:
    """Both start at once: each either publishes or says that the series is busy; the numbers are 2 and maybe 3."""
    path = tmp_path / "series"
    shutil.copytree(origin, path)
    publishers = [Publisher(), Publisher()]
    for one in publishers:
        one.start(path)
    done = sum(os.waitstatus_to_exitcode(one.ended()) == 0 for one in publishers)
    for one in publishers:
        one.close()
    assert done >= 1
    with ri.Series.open(path) as series:
        assert [release.number for release in series.releases] == list(range(1, done + 2))
        assert series.verify() == []
