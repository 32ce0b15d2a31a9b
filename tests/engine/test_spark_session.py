"""Starting Spark: settings, and one clear sentence where Spark or Java is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from reissue.engine.spark import session
from reissue.errors import SettingsError
from tests.support import spark as support

BLOCKED = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pyspark", "py4j"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Blocked())
"""


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


def java(folder: Path, told: str) -> Path:
    """A `java` that tells this version and does nothing else."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\nprintf '%s\\n' '{told}' >&2\n")
    program.chmod(0o755)
    return folder


def test_everything_else_works_without_pyspark(tmp_path: Path) -> None:
    code = f"""{BLOCKED}
import pyarrow as pa, reissue as ri
schema = ri.Schema(identifier="p", quasi_identifiers={{"age": {{"type": "numeric"}}}}, sensitive="d")
series = ri.Series.create({str(tmp_path / "s")!r}, schema, ri.MInvariance(m=2))
series.publish(pa.table({{"p": ["a", "b", "c", "d"], "age": [1, 2, 3, 4], "d": ["x", "y", "x", "y"]}}))
assert not any(name.startswith("pyspark") for name in sys.modules)
from reissue.engine.spark.verbs import Spark
from reissue.errors import SettingsError
try:
    Spark()
except SettingsError as error:
    print(error.exit_code, error)
"""
    done = run(code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("2 The engine 'spark' needs pyspark 4")
    assert "pip install 'reissue[spark]'" in done.stdout
    assert done.stderr == ""


def test_a_missing_java_is_told_before_spark_says_anything(tmp_path: Path) -> None:
    code = f"""
import os
os.environ.pop("JAVA_HOME", None)
os.environ["PATH"] = {str(tmp_path)!r}
from reissue.engine.spark.session import start
from reissue.errors import SettingsError
try:
    start()
except SettingsError as error:
    print(error)
"""
    done = run(code)
    assert "there is no `java` on the PATH. Install a Java runtime of version 17" in done.stdout
    assert "JAVA_HOME" in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        ('openjdk version "11.0.2" 2019-01-15', "Spark needs Java 17, but the Java here is version 11. Install"),
        ('java version "1.8.0_301"', "the Java here is version 8"),
        ("Segmentation fault", "does not tell its version"),
    ],
)
def test_an_old_java_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: str, sentence: str) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java(tmp_path, told)))
    with pytest.raises(SettingsError, match=sentence):
        session.require()


def test_a_new_java_is_taken_and_a_wrong_home_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java(tmp_path / "java", 'openjdk version "21" 2023-09-19')))
    session.require()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(SettingsError, match=r"JAVA_HOME is '.*nowhere', but there is no Java"):
        session.require()


def test_an_unknown_setting_is_refused() -> None:
    with pytest.raises(SettingsError, match="'cores' is no setting of Spark"):
        session.start({"cores": "4"})


@support.together
@support.quiet
def test_one_session_per_process() -> None:
    running = support.engine().session
    assert session.start() is running
    assert session.start({"master": "local[2]"}) is running
    assert running.conf.get("spark.sql.session.timeZone") == "UTC"
    assert running.sparkContext.getConf().get("spark.driver.host") == "127.0.0.1"
    with pytest.raises(SettingsError, match=r"already runs .* 'local\[2\]', not 'spark://elsewhere:7077'"):
        session.start({"master": "spark://elsewhere:7077"})
    assert os.environ["PYSPARK_PYTHON"] == sys.executable


@support.together
def test_a_start_that_fails_says_why_and_starting_is_quiet() -> None:
    if support.missing():
        pytest.skip(support.missing())
    code = """
from reissue.engine.spark.session import start
from reissue.errors import SettingsError
try:
    start({"master": "nonsense"})
except SettingsError as error:
    print(error)
"""
    done = run(code)
    assert "Spark did not start with master 'nonsense': Master must" in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("log", "cause"),
    [
        (
            "WARNING: Using incubator modules\n26/11/18 ERROR SparkContext: Error initializing SparkContext.\n"
            "java.nio.file.NoSuchFileException: /nowhere/env.tar.gz\n  at sun.nio.fs\n",
            "NoSuchFileException: /nowhere/env.tar.gz",
        ),
        ("org.apache.spark.SparkException: Master must be yarn.\n\tat x\n", "Master must be yarn"),
        (
            "Invalid maximum heap size: -Xmxlots\nError: Could not create the JVM.\n",
            "Invalid maximum heap size: -Xmxlots",
        ),
        ("WARNING: nothing else\n", "it does not say why"),
    ],
)
def test_the_cause_is_found_in_what_java_wrote(log: str, cause: str) -> None:
    assert session._find_cause(log) == cause


@pytest.mark.parametrize("settings", [{"master": "sc://host:15002"}, {}])
def test_spark_connect_is_refused_with_what_to_use(settings: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_REMOTE", "sc://host:15002")
    with pytest.raises(SettingsError, match=r"Spark Connect .* cannot run Reissue.*Use a classic session: a master"):
        session.start(settings)
