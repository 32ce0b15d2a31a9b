"""A real Spark session for tests: one per process, small, on loopback; and the marks that keep it to one process."""

from __future__ import annotations

import atexit
import functools
import shutil
import tempfile
from typing import TYPE_CHECKING

import pytest

from reissue.engine.spark.session import require, start
from reissue.engine.spark.verbs import Spark
from reissue.errors import SettingsError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

together = pytest.mark.xdist_group("spark")
"""On every test that uses Spark, so that one worker has the only session."""

quiet = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")


QUICK = {
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
}
"""Settings with which Spark begins and handles small tables sooner. Java compiles in its quick way, for a short life,
with room for all of Spark's code, which it would otherwise sweep and compile again."""


def engine() -> Spark:
    """A Spark engine with its own count of collected rows; skips the test where Spark cannot run."""
    if missing():
        pytest.skip(missing())
    return Spark(session())


@functools.cache
def missing() -> str:
    """Why Spark cannot run here; nothing if it can."""
    try:
        require()
    except SettingsError as error:
        return str(error)
    return ""


@functools.cache
def session() -> SparkSession:
    folder = tempfile.mkdtemp(prefix="reissue-spark-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return start(
        {
            "master": "local[2]",
            **QUICK,
            "spark.sql.warehouse.dir": f"{folder}/tables",
            "spark.local.dir": folder,
        }
    )
