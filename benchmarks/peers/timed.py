"""Run one command under a limit and write what it cost: `python timed.py CPU_SECONDS COST.json COMMAND...`.

A process of its own, because the peak memory that the kernel reports for a child begins at that of the process which
started it: this one imports next to nothing. The limit is one of CPU seconds, so that a busy machine stops nothing
early; a process that only waits is stopped after three times as many seconds.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import threading
import time


def main(limit: float, target: str, command: list[str]) -> None:
    whole = max(1, round(limit))
    start = time.perf_counter()
    process = subprocess.Popen(command, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (whole, whole)))
    timer = threading.Timer(3 * limit, process.kill)
    timer.daemon = True
    timer.start()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    timer.cancel()
    cpu = usage.ru_utime + usage.ru_stime
    cost = {
        "seconds": seconds,
        "cpu": cpu,
        "megabytes": usage.ru_maxrss / 1024,
        "code": os.waitstatus_to_exitcode(status),
        "finished": not os.WIFSIGNALED(status) or (cpu < 0.9 * limit and seconds < 3 * limit),
    }
    with open(target, "w", encoding="utf-8") as file:
        json.dump(cost, file)


if __name__ == "__main__":
    main(float(sys.argv[1]), sys.argv[2], sys.argv[3:])
