"""Which worker runs which tests: one owns Spark and begins with it, one the browser; who is free takes a whole file.

Files that take long are begun first, so that at the end nobody waits for the last one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import pytest
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

SPARK, BROWSER, DEAREST = "spark", "browser", 10
PAGES = ("tests/report/", "tests/compare/")
LONG = (
    "tests/publish/test_common_classes.py",
    "tests/methods/incremental/test_incremental_attacks.py",
    "tests/experiments/test_learning_people.py",
    "tests/page/test_browser.py",
    "tests/arrays/test_compiled.py",
    "tests/experiments/test_every_study.py",
    "tests/audit/test_parallel.py",
    "tests/audit/test_steps.py",
    "tests/test_warming.py",
    "tests/cli/test_commands.py",
    "tests/arrays/test_kernels.py",
    "tests/cli/test_windows.py",
    "tests/cli/test_written.py",
)
"""What is begun next, so that nobody waits for it at the end. Need not be exact: who is missing costs seconds."""


def scope_of(nodeid: str) -> str:
    """Tests of one scope are run by one worker, in their order: all of Spark, all pages, else those of one file."""
    name = nodeid.partition("[")[0]
    if SPARK in name.lower():
        return SPARK
    return BROWSER if name.startswith(PAGES) else name.partition("::")[0]


def rank(scope: str) -> int:
    """Spark is begun first, since a second session would take as long again; then what takes long; then the rest."""
    first = (SPARK, *LONG)
    return first.index(scope) if scope in first else len(first)


class LongestFirst(LoadScopeScheduling):
    """Work is handed out by scope in the order of `rank`."""

    def _split_scope(self, nodeid: str) -> str:
        return scope_of(nodeid)

    def _assign_work_unit(self, node: WorkerController) -> None:
        self.workqueue.move_to_end(min(self.workqueue, key=rank), last=False)
        super()._assign_work_unit(node)


def misplaced(items: Iterable[pytest.Item]) -> list[str]:
    """Tests that use Spark without saying so in their name or their file's, so that a second worker would start it."""
    return [
        item.nodeid
        for item in items
        if scope_of(item.nodeid) != SPARK and any(SPARK in mark.args for mark in item.iter_markers("xdist_group"))
    ]


def dearest(reports: Iterable[object]) -> Sequence[tuple[str, float]]:
    """The files that took longest in seconds, all their tests with what is set up for them; nothing of a short run."""
    seconds: Counter[str] = Counter()
    for report in reports:
        if isinstance(report, pytest.TestReport):
            seconds[report.nodeid.partition("::")[0]] += report.duration  # type: ignore[assignment]
    return seconds.most_common(DEAREST) if len(seconds) > DEAREST else []
