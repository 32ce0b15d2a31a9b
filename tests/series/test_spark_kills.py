"""A worker or the driver dies in the middle of a publish on Spark: the series is at N or N+1, complete."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pyarrow.parquet as pq
import pytest

import reissue as ri
from reissue.errors import EngineFailed
from tests.support import spark
from tests.support.divided import CHURN, NOTED, People

pytestmark = [spark.together, spark.quiet]


@pytest.fixture
def series(tmp_path: Path) -> Path:
    """A series with one release, and the next snapshot beside it."""
    spark.engine()
    first, second = People(6).months(2, CHURN)
    pq.write_table(second, tmp_path / "next.parquet")
    engine = {"name": "spark", "master": "local[2]", "settings": spark.QUICK}
    with ri.Series.create(tmp_path / "s", NOTED, ri.MInvariance(m=3), seed=1, fragments=3, engine=engine) as made:
        made.publish(first, engine="embedded")
    return tmp_path / "s"


def staged(series: Path, what: str) -> Callable[[], bool]:
    """Whether the run has come so far that such a file is staged."""
    folder = series / "private" / "staging" / "0002"
    return lambda: any(folder.glob(what))


MOMENTS = {
    "with fragments gathered": "rows-*",
    "with public files written": "public/release.*",
}


def test_the_driver_is_killed(series: Path) -> None:
    """At the last moment. At the one before all its processes are stopped: what they leave then, the killed leave."""
    command = [sys.executable, "-m", "reissue", "publish", str(series), str(series.parent / "next.parquet")]
    driver = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    gathered, written = (staged(series, what) for what in MOMENTS.values())
    wait_for(gathered, lambda: driver.poll() is not None)
    with all_stopped(driver):
        stopped = shutil.copytree(series, series.parent / "stopped" / "s")
    shutil.copy(series.parent / "next.parquet", stopped.parent)
    wait_for(written, lambda: driver.poll() is not None)
    children = psutil.Process(driver.pid).children(recursive=True) if driver.poll() is None else []
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    _, left = psutil.wait_procs(children, timeout=600)
    assert not left, "Spark ends with the driver"
    assert_whole(stopped)
    assert_whole(series)


@contextlib.contextmanager
def all_stopped(driver: subprocess.Popen[bytes]) -> Iterator[None]:
    """The driver, its Java and the workers do nothing meanwhile; if it has ended, there is nobody to stop."""
    processes = [psutil.Process(driver.pid)] if driver.poll() is None else []
    for process in processes:  # who is stopped starts no more of them
        process.suspend()
        while process.status() not in (psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE):
            time.sleep(0.001)
        processes += process.children()
    try:
        yield
    finally:
        for process in reversed(processes):
            process.resume()


def test_a_worker_is_killed(series: Path) -> None:
    """Here Spark may not try again, so the publish fails; nothing of it is left, and the next one works."""
    ready, done = staged(series, "rows-*"), threading.Event()

    def kill() -> None:
        wait_for(ready, done.is_set)
        for process in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.Error):  # one that has just ended
                if all("pyspark.daemon" in " ".join(one.cmdline()) for one in (process, process.parent())):
                    process.send_signal(signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        with ri.Series.open(series) as opened:
            opened.publish(series.parent / "next.parquet")
    except EngineFailed as error:
        assert "Spark could not finish" in str(error)  # noqa: PT017 (it may also have survived)
    finally:
        done.set()
        killer.join()
    assert_whole(series)


def wait_for(ready: Callable[[], bool], over: Callable[[], bool]) -> None:
    """However long it takes on this machine; what is waited for ends in one way or the other."""
    while not ready() and not over():
        time.sleep(0.005)


def assert_whole(series: Path) -> None:
    """Opened again: verified, at 1 or 2 releases, nothing staged; the retry, on either engine, publishes normally."""
    with ri.Series.open(series) as opened:
        count = len(opened.releases)
        assert count in (1, 2)
        assert opened.verify(rebuild=True) == []
        assert not list((series / "private" / "staging").iterdir())
        assert sorted(os.listdir(series / "releases")) == [f"{n:04d}" for n in range(1, count + 1)]
        opened.publish(series.parent / "next.parquet", engine="embedded")
        assert opened.verify() == []
        assert not opened.audit(attacks=["association"], engine="embedded").breaches
