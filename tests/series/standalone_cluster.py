"""A real standalone cluster of Spark on loopback (a master and two workers, processes of their own) makes a series.

Not one of the usual tests: it takes a minute or two. `make executors` runs it. With REISSUE_ARCHIVE the workers get
their Python from that archive, as docs/spark.md describes, and have nothing else installed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import reissue as ri
from tests.conftest import free_port
from tests.series.executors_killed import rows
from tests.support import spark
from tests.support.divided import CHURN, NOTED, People

ARCHIVE = os.environ.get("REISSUE_ARCHIVE", "")


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    """The address of a cluster that lives as long as the test."""
    if spark.missing():
        pytest.skip(spark.missing())
    import pyspark

    home = Path(pyspark.__file__).parent
    environment = {**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m"}
    if ARCHIVE:  # workers that know nothing of this environment
        environment.pop("PYTHONPATH", None)
    port = free_port()
    address = f"spark://127.0.0.1:{port}"
    with ExitStack() as stack, (tmp_path / "cluster.log").open("wb") as log:

        def start(*arguments: str) -> None:
            command = [str(home / "bin" / "spark-class"), *arguments, "--host", "127.0.0.1", "--webui-port", "0"]
            process = stack.enter_context(subprocess.Popen(command, env=environment, stdout=log, stderr=log))
            stack.callback(process.terminate)

        start("org.apache.spark.deploy.master.Master", "--port", str(port))
        for number in (1, 2):
            folder = str(tmp_path / f"worker-{number}")
            worker = ("org.apache.spark.deploy.worker.Worker", address, "--cores", "1", "--memory", "1500m")
            start(*worker, "--work-dir", folder)
        while log_text(tmp_path).count("Registering worker") < 2:
            time.sleep(0.2)
        yield address


def log_text(folder: Path) -> str:
    return (folder / "cluster.log").read_text(errors="replace")


def test_two_releases_from_relative_paths_are_those_of_one_machine(tmp_path: Path, master: str) -> None:
    months = People(6).months(2, CHURN)
    for number, month in enumerate(months, start=1):
        pq.write_table(month, tmp_path / f"{number}.parquet")
    settings = {"spark.driver.memory": "1g", "spark.executor.memory": "1g"}
    if ARCHIVE:
        settings |= {"spark.archives": f"{ARCHIVE}#environment"}
    engine = {"name": "spark", "master": master, "settings": settings}
    for name, chosen in (("s", engine), ("here", "embedded")):
        ri.Series.create(tmp_path / name, NOTED, ri.MInvariance(m=3), seed=1, fragments=3, engine=chosen).close()
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
    if ARCHIVE:
        environment |= {"PYSPARK_PYTHON": "./environment/bin/python"}
    for number in (1, 2):
        for name in ("s", "here"):
            command = [sys.executable, "-m", "reissue", "publish", name, f"{number}.parquet"]
            done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=1800)
            assert done.returncode == 0, done.stderr
    with ri.Series.open(tmp_path / "s") as series:
        assert series.verify(rebuild=True) == []
    assert rows(tmp_path / "s") == rows(tmp_path / "here")
    assert any((tmp_path / f"worker-{number}").glob("app-*") for number in (1, 2)), "workers took part"
