"""The connection to Spark: one per process, and a clear word where Spark or Java is missing."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from reissue.errors import SettingsError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDEST_JAVA = 17
OLDEST_SPARK = 4
INSTALL_SPARK = "Install it in this Python environment: pip install 'reissue[spark]'."
INSTALL_JAVA = (
    f"Install a Java runtime of version {OLDEST_JAVA} or later (on Debian and Ubuntu: "
    "apt install openjdk-17-jre-headless), and set JAVA_HOME to its folder if `java` is not on the PATH."
)


def start(settings: Mapping[str, str] | None = None) -> SparkSession:
    """The Spark session of this process: the active one, or a new one.

    settings: `master` (default: SPARK_MASTER, else local[*]) and any Spark property ("spark.executor.memory", ...).
    An active session is used as it is; a `master` that differs from its own is refused.
    """
    settings = dict(settings or {})
    unknown = [name for name in settings if name != "master" and not name.startswith("spark.")]
    if unknown:
        raise SettingsError(
            f"{unknown[0]!r} is no setting of Spark. Use 'master' or a property such as 'spark.cores.max'."
        )
    refuse_connect(settings.get("master") or os.environ.get("SPARK_REMOTE") or os.environ.get("SPARK_MASTER") or "")
    require()
    # pyspark warns of pandas 3 whenever it is used; nothing here passes through pandas.
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    if SparkContext._active_spark_context is not None:
        active = SparkSession.builder.getOrCreate()
        running = active.sparkContext.master
        if settings.get("master", running) != running:
            raise SettingsError(
                f"Spark already runs in this process with master {running!r}, not {settings['master']!r}. "
                "Stop that session first, or leave the master out."
            )
        return active
    return _new(settings)


def refuse_connect(address: str = "sc://") -> None:
    """Raise SettingsError for an address of Spark Connect, or for its kind of session and frames (no address)."""
    if address.startswith("sc://"):
        raise SettingsError(
            "Spark Connect (sc://...) cannot run Reissue: its workers must share a folder with this process and take "
            "its Python tasks. Use a classic session: a master such as local[*], spark://host:7077, yarn or k8s://..., "
            "or run this with spark-submit on the cluster, and unset SPARK_REMOTE."
        )


def require() -> None:
    """Raise SettingsError if Spark cannot run here: pyspark or Java is missing or too old."""
    if not _is_installed("pyspark"):
        raise SettingsError(f"The engine 'spark' needs pyspark {OLDEST_SPARK}, which is not installed. {INSTALL_SPARK}")
    found = version("pyspark")
    if int(found.partition(".")[0]) < OLDEST_SPARK:
        raise SettingsError(
            f"The engine 'spark' needs pyspark {OLDEST_SPARK} or later, but {found} is installed. {INSTALL_SPARK}"
        )
    if not _is_installed("pandas"):
        raise SettingsError(f"pyspark needs pandas, which is not installed. {INSTALL_SPARK}")
    number = _java()
    if number < OLDEST_JAVA:
        raise SettingsError(f"Spark needs Java {OLDEST_JAVA}, but the Java here is version {number}. {INSTALL_JAVA}")


def _is_installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        return False


def _java() -> int:
    """The version of the Java that Spark would start."""
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    where = f"JAVA_HOME is {home!r}, but there is no Java" if home else "there is no `java` on the PATH"
    if program is None or not os.access(program, os.X_OK):
        raise SettingsError(f"The engine 'spark' needs Java, but {where}. {INSTALL_JAVA}")
    try:
        told = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SettingsError(f"{program} cannot be started ({error}). {INSTALL_JAVA}") from None
    found = re.search(r'version "(?:1\.)?(\d+)', told.stderr + told.stdout)  # Java 8 called itself 1.8
    if found is None:
        raise SettingsError(f"{program} does not tell its version. {INSTALL_JAVA}")
    return int(found[1])


def _new(settings: Mapping[str, str]) -> SparkSession:
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    properties = _properties(settings)
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    if properties["spark.master"].startswith("local"):
        os.environ["PYSPARK_PYTHON"] = sys.executable
    else:  # the machines of a cluster may have it elsewhere
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    conf = SparkConf(loadDefaults=False).setAll(list(properties.items()))
    # The JVM writes warnings before it can be told not to; they go to a file that is shown if it does not start.
    with tempfile.TemporaryFile() as log:
        try:
            gateway = launch_gateway(conf, {"stderr": log, "stdout": log})  # type: ignore[no-untyped-call]
            SparkContext._ensure_initialized(gateway=gateway, conf=conf)
            context = SparkContext(conf=SparkConf())  # ours, and those of Spark's own files
        except Exception as error:
            log.seek(0)
            why = _find_cause(f"{log.read().decode(errors='replace')}\n{error}")
            raise SettingsError(
                f"Spark did not start with master {properties['spark.master']!r}: {why}. Check the settings of Spark."
            ) from error
    context.setLogLevel("FATAL")  # what goes wrong comes as an exception
    return SparkSession(context)


def _find_cause(log: str) -> str:
    """The line of Java's output that says why: its first exception, else the first that is no warning."""
    lines = [line.strip() for line in log.splitlines() if line.strip() and not line.startswith("WARNING")]
    for line in lines:
        found = re.search(r"\w+(?:\.\w+)+\.(\w+(?:Exception|Error)): (.+)", line)
        if found:  # some exceptions only name what they are about: then their own name is needed, too
            return (found[2] if " " in found[2].strip() else f"{found[1]}: {found[2]}").strip(" .")
    return (lines or ["it does not say why"])[0].strip(" .")


def _properties(settings: Mapping[str, str]) -> dict[str, str]:
    master = settings.get("master") or os.environ.get("SPARK_MASTER") or "local[*]"
    properties = {
        "spark.app.name": "reissue",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.caseSensitive": "true",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    }
    if master.startswith("local"):
        cores = os.cpu_count() or 1
        properties |= {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": _quarter_of_memory(),
            "spark.python.daemon.module": "reissue.engine.spark.daemon",
            "spark.sql.shuffle.partitions": str(2 * cores),
        }
    return {**properties, "spark.master": master} | {name: text for name, text in settings.items() if name != "master"}


def _quarter_of_memory() -> str:
    """For the JVM; the rest is for the Python workers, which hold the Arrow tables."""
    try:
        bytes_ = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return "2g"
    return f"{max(1, min(16, bytes_ // 4 // 2**30))}g"
