"""Which worker runs which tests: one owns Spark and begins with it, one the browser; who is free takes a whole file.

Files that take long are begun first, so that at the end nobody waits for the last one.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

SPARK, BROWSER, DEAREST = "spark", "browser", 10
PAGES = ("tests/report/", "tests/compare/")
MEASURED = Path(__file__).with_name("seconds.json")
"""What scopes took when it was last measured; `REISSUE_SECONDS=1 make suite` writes it anew."""
WORTH = 3.0
"""Seconds from which on it matters when a scope is begun."""


def scope_of(nodeid: str) -> str:
    """Tests of one scope are run by one worker, in their order: all of Spark, all pages, else those of one file."""
    name = nodeid.partition("[")[0]
    if SPARK in name.lower():
        return SPARK
    return BROWSER if name.startswith(PAGES) else name.partition("::")[0]


@cache
def read_seconds() -> dict[str, float]:
    found: dict[str, float] = json.loads(MEASURED.read_text(encoding="utf-8"))
    return found


def rank(scope: str) -> float:
    """Spark is begun first, since a second session would take as long again; then what takes long; then the rest."""
    return -math.inf if scope == SPARK else -read_seconds().get(scope, 0.0)


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


def count_seconds(reports: Iterable[object], place: Callable[[str], str]) -> Counter[str]:
    """The seconds of all tests of one place, with what is set up for them."""
    seconds: Counter[str] = Counter()
    for report in reports:
        if isinstance(report, pytest.TestReport):
            seconds[place(report.nodeid)] += report.duration  # type: ignore[assignment]
    return seconds


def keep_seconds(reports: Iterable[object]) -> None:
    """Write down what took long in this run of the whole suite."""
    found = {scope: round(took) for scope, took in count_seconds(reports, scope_of).most_common() if took >= WORTH}
    MEASURED.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


def dearest(reports: Iterable[object]) -> Sequence[tuple[str, float]]:
    """The files that took longest in seconds, all their tests with what is set up for them; nothing of a short run."""
    seconds = count_seconds(reports, lambda nodeid: nodeid.partition("::")[0])
    return seconds.most_common(DEAREST) if len(seconds) > DEAREST else []
