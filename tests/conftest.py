"""Fixtures that several parts share: real data where it is at hand, a real browser, a real PostgreSQL."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from tests.support.schedule import LongestFirst, dearest, keep_seconds, misplaced
from tests.support.scratch import write_into_memory

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# A slow machine is no failure, and one folder may serve many examples. The same examples on every machine, every day;
# `--hypothesis-profile=search` looks for others.
relaxed = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.differing_executors]
settings.register_profile("search", deadline=None, suppress_health_check=relaxed, print_blob=True)
settings.register_profile("reissue", settings.get_profile("search"), derandomize=True)
settings.load_profile("reissue")

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(autouse=True)
def open_gates(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests of other things publish tiny and repeated tables on purpose; those marked `gates` meet the real ones."""
    if request.node.get_closest_marker("gates") is None:
        monkeypatch.setattr("reissue.publish.gates.GATES", ())


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data beside the project."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the real data (../shared/data) is not here")
    return SHARED_DATA


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One for all tests of pages: starting it takes longer than most of them."""
    from playwright.sync_api import sync_playwright

    from tests.report.browser import ARGUMENTS, CHROMIUM, PATIENCE

    if CHROMIUM is None:
        pytest.skip("needs chromium (scripts/prepare-tests installs it)")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS, timeout=PATIENCE)
        yield started
        started.close()


def postgresql_programs() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb")) or [
        Path(program) for program in [shutil.which("initdb")] if program
    ]
    return found[-1].parent if found else None


def free_port() -> int:
    """A port that is free now; another process may take it first."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture(scope="session")
def postgresql_url() -> Iterator[str]:
    """A PostgreSQL server of our own on loopback, as `postgresql://user:password@host:port/database`."""
    programs = postgresql_programs()
    if programs is None:
        pytest.skip("PostgreSQL's server programs are not installed")
    home = Path(tempfile.mkdtemp(prefix="reissue-postgresql-"))  # pytest's own folder is closed to other users
    password = home / "password"
    password.write_text("secret\n")
    user: str | None = None
    if os.geteuid() == 0:  # the server refuses to run as root
        user = "postgres"
        owner = pwd.getpwnam(user)
        for path in (home, password):
            os.chown(path, owner.pw_uid, owner.pw_gid)

    def run(*command: str) -> None:
        subprocess.run(command, check=True, capture_output=True, user=user, cwd=home)

    cluster = home / "cluster"
    control = (str(programs / "pg_ctl"), "-D", str(cluster), "-w", "-t", "600")
    access = ("-U", "reissue", "-A", "scram-sha-256", f"--pwfile={password}")
    run(str(programs / "initdb"), "-D", str(cluster), "--no-locale", "--encoding=UTF8", *access)
    for attempt in range(10):
        port = free_port()
        options = f"-c listen_addresses=127.0.0.1 -p {port} -k {home} -c fsync=off"
        try:
            run(*control, "-l", str(home / "log"), "-o", options, "start")
            break
        except subprocess.CalledProcessError:
            if attempt == 9 or "Address already in use" not in (home / "log").read_text():
                raise
    try:
        yield f"postgresql://reissue:secret@127.0.0.1:{port}/postgres"
    finally:
        run(*control, "-m", "immediate", "stop")
        shutil.rmtree(home, ignore_errors=True)


def pytest_configure(config: pytest.Config) -> None:
    write_into_memory(chosen=bool(config.option.basetemp or os.environ.get("PYTEST_DEBUG_TEMPROOT")))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LongestFirst:
    return LongestFirst(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if wrong := misplaced(items):
        raise pytest.UsageError(f"these tests use Spark, so their names or their files' must say so: {wrong}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Where the time went: who makes a file dearer sees it."""
    every = [report for reports in terminalreporter.stats.values() for report in reports]
    if os.environ.get("REISSUE_SECONDS"):
        keep_seconds(every)
    if found := dearest(every):
        terminalreporter.section("dearest files")
    for file, seconds in found:
        terminalreporter.write_line(f"{seconds:7.1f} s  {file}")
