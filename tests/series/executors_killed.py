"""An executor of a Spark cluster is killed in the middle of a publish: the series is at N or N+1, complete.

Not one of the usual tests: a cluster on one machine (a driver and two executors, each a JVM of its own) takes some 40
seconds a test. `make executors` runs them.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import reissue as ri
from tests.series.test_spark_kills import MOMENTS, staged, wait_for
from tests.support import spark
from tests.support.divided import CHURN, NOTED, People

CLUSTER = {
    "name": "spark",
    "master": "local-cluster[2,1,1024]",
    "settings": {
        "spark.driver.memory": "1g",
        "spark.executor.memory": "1g",
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1",  # for a short life
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.adaptive.enabled": "false",
    },
}


@pytest.fixture
def series(tmp_path: Path) -> Path:
    """A series with one release, and the next snapshot beside it."""
    if spark.missing():
        pytest.skip(spark.missing())
    first, second = People(6).months(2, CHURN)
    pq.write_table(second, tmp_path / "next.parquet")
    with ri.Series.create(tmp_path / "s", NOTED, ri.MInvariance(m=3), seed=1, fragments=3, engine=CLUSTER) as made:
        made.publish(first, engine="embedded")
    return tmp_path / "s"


@pytest.mark.parametrize("moment", MOMENTS)
def test_an_executor_is_killed(moment: str, series: Path) -> None:
    """Spark starts another and tries again, so the publish may succeed: then the release is that of one machine."""
    import pyspark

    here = shutil.copytree(series, series.parent / "here")
    command = [sys.executable, "-m", "reissue", "publish", str(series), str(series.parent / "next.parquet")]
    home = {"SPARK_HOME": str(Path(pyspark.__file__).parent), "SPARK_LOCAL_IP": "127.0.0.1"}
    driver = subprocess.Popen(command, env={**os.environ, **home}, stdout=subprocess.DEVNULL, cwd=series.parent)
    killed: list[int] = []

    def kill() -> None:
        wait_for(staged(series, MOMENTS[moment]), lambda: driver.poll() is not None)
        killed.extend(_kill_one(driver.pid))

    killer = threading.Thread(target=kill)
    killer.start()
    code = driver.wait(timeout=1800)
    killer.join()
    assert killed, "it was over before"
    with ri.Series.open(series) as opened:
        assert len(opened.releases) == (2 if code == 0 else 1)
        assert opened.verify(rebuild=True) == []
        assert not list((series / "private" / "staging").iterdir())
        if code != 0:
            opened.publish(series.parent / "next.parquet", engine="embedded")
    with ri.Series.open(here) as opened:
        opened.publish(series.parent / "next.parquet", engine="embedded")
    warnings.warn(f"killed {moment}: the publish {'succeeded' if code == 0 else 'failed'}", stacklevel=1)
    assert rows(series) == rows(here)


def _kill_one(driver: int) -> list[int]:
    """Kill one of the driver's executors; its number, if there was any."""
    with contextlib.suppress(psutil.Error):
        for process in psutil.Process(driver).children(recursive=True):
            with contextlib.suppress(psutil.Error):  # one that has just ended
                if "CoarseGrainedExecutorBackend" in " ".join(process.cmdline()):
                    process.send_signal(signal.SIGKILL)
                    return [process.pid]
    return []


def rows(series: Path) -> list[dict[str, object]]:
    """The second release, in an order of its own."""
    table: pa.Table = pq.read_table(series / "releases" / "0002" / "release.parquet")
    return sorted(table.to_pylist(), key=str)
