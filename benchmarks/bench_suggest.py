"""`init --from` against reading the same CSV: at most four times as long."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

import reissue as ri
from benchmarks.harness import report
from reissue.engine.read import find

ROWS = 1_000_000


def write_table(path: Path, rows: int) -> None:
    """People with an identifier, six quasi-identifiers, an exam, a ward and free text."""
    r = np.random.default_rng(1)
    days = np.datetime64("2024-01-01") + r.integers(0, 365, rows)
    table = pa.table(
        {
            "patient": [f"P{i:07d}" for i in range(rows)],
            "sex": r.choice(["f", "m"], rows),
            "birth_year": r.integers(1930, 2010, rows),
            "admitted": days.astype(str),
            "weight": np.round(r.normal(75, 14, rows), 1),
            "zip": r.choice([f"{code:05d}" for code in range(10_000, 10_900)], rows),
            "country": r.choice([f"Country {i}" for i in range(40)], rows),
            "exam": r.choice([f"exam {i}" for i in range(14)], rows),
            "note": [f"seen on day {i} by nurse {i % 7} again" for i in r.integers(0, rows, rows)],
            "ward": r.choice(list("ABCDEF"), rows),
        }
    )
    pa.csv.write_csv(table, path)


def cost(work: Callable[[], object], times: int = 5) -> tuple[float, float]:
    """(wall, CPU) seconds: the least of several runs in a warm process."""
    runs = []
    for _ in range(times):
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        runs.append((time.perf_counter() - wall, time.process_time() - cpu))
    return min(run[0] for run in runs), min(run[1] for run in runs)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.csv"
        write_table(path, ROWS)
        read, read_cpu = cost(lambda: find(path, None))
        made, made_cpu = cost(lambda: ri.Schema.suggest(path))
    report(
        "suggest",
        "Proposing a schema",
        "`ri.Schema.suggest` (which `reissue init --from` calls) against reading the same CSV of a million rows and "
        "ten columns as text, both in one warm process, the least of five runs. It must not exceed four times (of "
        "processor time, which other work on the machine does not stretch).",
        ["", "wall seconds", "CPU seconds", "times reading"],
        [
            ["reading", round(read, 2), round(read_cpu, 2), 1.0],
            ["proposing (reading included)", round(made, 2), round(made_cpu, 2), round(made_cpu / read_cpu, 1)],
        ],
    )
