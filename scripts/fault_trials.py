"""Runs the tests that a fault is given: pytest in copies of this process, which need not import or collect again."""

from __future__ import annotations

import os
import re
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from fault_memory import Living
from fault_places import Fault

NO_TESTS, UNPLANTED, BROKEN = 5, 97, 99
"""How a copy ends that has nothing to run, as pytest does; that cannot put the fault into its memory; that broke."""

WARMING = "tests/kept/"
"""Tests that run nearly every kernel: once here, so that no copy has to load these."""


class Watch:
    """Writes down which test has begun, and ends the process if one takes twenty times as long as without a fault."""

    def __init__(self, folder: Path, seconds: dict[str, float]) -> None:
        self.folder, self.seconds, self.failed = folder, seconds, False

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        (self.folder / "test").write_text(nodeid)
        signal.setitimer(signal.ITIMER_PROF, 20 * (1 + self.seconds[nodeid]) if nodeid in self.seconds else 0)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failed = True
            crash = getattr(report.longrepr, "reprcrash", None)
            said = f"FAILED {report.nodeid} - {getattr(crash, 'message', '')}"
            (self.folder / "out").write_text(said.replace("\n", " ") + "\n" + str(report.longrepr))


def limit(patience: float) -> None:
    """So that a fault that never ends, or takes all memory, harms nobody else, nor one that is gone already."""
    os.setsid()
    sys.dont_write_bytecode, os.environ["PYTHONDONTWRITEBYTECODE"] = True, "1"
    resource.setrlimit(resource.RLIMIT_CPU, (int(patience), int(patience) + 5))
    resource.setrlimit(resource.RLIMIT_DATA, (6 << 30, 6 << 30))


def run_fresh(tree: Path, tests: list[str], folder: Path, watch: Watch, *options: str) -> int:
    """What a copy does that has imported nothing of the program."""
    out = os.open(folder / "said", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(out, 1)
    os.dup2(out, 2)
    os.chdir(tree)
    sys.path[:1] = [str(tree / "src"), str(tree)]
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path[:2])
    given = ["-q", "-p", "no:cacheprovider", f"--basetemp={folder / 't'}", *options, *tests]
    code = int(import_module("pytest").main(given, plugins=[watch]))
    sys.stdout.flush()
    gone = set(re.findall(r"^ERROR: not found: (?:\S*?/)?(tests/\S+)", (folder / "said").read_text(), re.MULTILINE))
    if not gone:
        return code
    # a case may be called otherwise than the survey knew it: then all cases of its test are run
    left = dict.fromkeys(name if (name := test.split("[")[0]) in gone else test for test in tests)
    left = {test: None for test in left if test not in gone or test not in tests}
    return run_fresh(tree, list(left), folder, watch, *options) if left else 0


class Collected:
    """A run of pytest that has collected every test, and gives `work` the loop."""

    def __init__(self, tree: Path, work: Callable[[Collected], None]) -> None:
        self.tree, self.work = tree, work
        self.items: dict[str, Any] = {}

    def pytest_runtestloop(self, session: Any) -> bool:
        import numba

        numba.njit(lambda one: one + 1)(1)  # so that no copy has to import what compiles
        self.items = {item.nodeid: item for item in session.items}
        kept = [item for item in session.items if item.nodeid.startswith(WARMING)]
        for item, following in zip(kept, [*kept[1:], None], strict=False):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        self.living = Living(self.tree / "src")
        self.work(self)
        return True

    def run(self, fault: Fault, place: Path, tests: list[str], folder: Path, watch: Watch) -> int:
        """What a copy does: no test of it is collected again."""
        out = os.open(folder / "said", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 1)
        os.dup2(out, 2)
        items = [self.items[test] for test in tests if test in self.items]
        if not items:
            return NO_TESTS
        if not self.living.plant(fault, place):
            return UNPLANTED
        config = items[0].config
        config.pluginmanager.unregister(name="terminalreporter")
        config.pluginmanager.register(watch)
        config._tmp_path_factory._given_basetemp, config._tmp_path_factory._basetemp = folder / "t", None
        for item, following in zip(items, [*items[1:], None], strict=True):
            config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if watch.failed:
                return 1
        return 0


def in_copy(patience: float, act: Callable[[Path], int]) -> tuple[int | None, str, str]:
    """How `act` ended in a copy of this process (nothing where it waited too long), what failed, and the last test."""
    with tempfile.TemporaryDirectory(prefix="reissue-faults-") as name:
        folder = Path(name)
        child = os.fork()
        if not child:
            try:
                limit(patience)
                os._exit(act(folder))
            except BaseException as error:
                (folder / "out").write_text(f"{type(error).__name__}: {error}")
            finally:
                os._exit(BROKEN)
        code = wait(child, max(2 * patience, 120))
        out, test = (
            (folder / one).read_text(errors="replace") if (folder / one).exists() else "" for one in ("out", "test")
        )
        return code, out or said(folder), test


def said(folder: Path) -> str:
    return (folder / "said").read_text(errors="replace") if (folder / "said").exists() else ""


def wait(child: int, seconds: float) -> int | None:
    ends = time.monotonic() + seconds
    while not (ended := os.waitpid(child, os.WNOHANG))[0] and time.monotonic() < ends:
        time.sleep(0.02)
    if ended[0]:
        return os.waitstatus_to_exitcode(ended[1])
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None
