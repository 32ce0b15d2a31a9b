"""Publish one snapshot in a process of its own, and tell how long each stage took."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

STAGES = ("start", "read", "compare", "anonymize", "write", "commit")
PROCESSOR = "clock=processor"
"""An option: seconds are processor time of the process and all its children, which other load hardly changes."""


@dataclass(frozen=True)
class Staged:
    """Seconds of each stage and of all, and the peak of resident memory (MB) of the process and all its children."""

    stages: dict[str, float]
    seconds: float
    megabytes: float


def staged(series: Path, snapshot: Path, *options: str) -> Staged:
    """Publish the snapshot as the next release of the series, in a fresh process with kernels cached."""
    command = [sys.executable, "-m", "benchmarks.stages", str(series), str(snapshot), *options]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    peak = _Peak(process.pid)
    out, _ = process.communicate()
    seconds = time.perf_counter() - start
    peak.stop()
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} failed")
    told = json.loads(out.splitlines()[-1])
    if PROCESSOR in options:
        return Staged(told, sum(told.values()), peak.megabytes)
    inside = sum(told.values())
    told["start"] = told.get("start", 0.0) + seconds - inside  # Spark's start is a stage of its own
    return Staged(told, seconds, peak.megabytes)


class _Peak:
    """Watches the memory of a process and its children."""

    def __init__(self, pid: int) -> None:
        import psutil

        self.megabytes = 0.0
        self._over = threading.Event()
        self._process = psutil.Process(pid)
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        import psutil

        while not self._over.wait(0.1):
            total = 0
            try:
                for process in [self._process, *self._process.children(recursive=True)]:
                    total += process.memory_info().rss
            except psutil.Error:
                continue
            self.megabytes = max(self.megabytes, total / 2**20)


def measure_processor() -> float:
    """Processor seconds, so far, of this process, Spark's JVM and its workers."""
    import psutil

    total, here = 0.0, psutil.Process()
    for process in [here, *here.children(recursive=True)]:
        with contextlib.suppress(psutil.Error):
            spent = process.cpu_times()
            total += spent.user + spent.system + spent.children_user + spent.children_system
    return total


def main(arguments: Sequence[str]) -> None:
    from reissue.cli.commands import leave_out_unused
    from reissue.series import Series

    leave_out_unused()
    series, snapshot, *options = arguments
    given = dict(option.split("=", 1) for option in options)
    clock = measure_processor if PROCESSOR in options else time.perf_counter
    moments: list[tuple[str, float]] = []
    with Series.open(series) as opened:
        opened.publish(
            snapshot,
            engine=given.get("engine"),
            formats=["parquet"],
            allow=["suppressed"],  # bay-frame leaves out a sixth of Adult
            progress=lambda stage: moments.append((stage, clock())),
        )
        moments.append(("end", clock()))
    spent = {"start": moments[0][1]} if PROCESSOR in options else {}
    for (stage, start), (_, end) in pairwise(moments):
        spent[stage] = spent.get(stage, 0.0) + end - start
    print(json.dumps(spent))


if __name__ == "__main__":
    main(sys.argv[1:])
