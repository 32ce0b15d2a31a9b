"""Run one command under a time limit and write what it cost: `python timed.py SECONDS COST.json COMMAND...`.

A process of its own, because the peak memory that the kernel reports for a child begins at that of the process which
started it: this one imports next to nothing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time


def main(limit: float, target: str, command: list[str]) -> None:
    start = time.perf_counter()
    process = subprocess.Popen(command)
    timer = threading.Timer(limit, process.kill)
    timer.daemon = True
    timer.start()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    timer.cancel()
    cost = {
        "seconds": seconds,
        "cpu": usage.ru_utime + usage.ru_stime,
        "megabytes": usage.ru_maxrss / 1024,
        "code": os.waitstatus_to_exitcode(status),
        "finished": seconds < limit,
    }
    with open(target, "w", encoding="utf-8") as file:
        json.dump(cost, file)


if __name__ == "__main__":
    main(float(sys.argv[1]), sys.argv[2], sys.argv[3:])
