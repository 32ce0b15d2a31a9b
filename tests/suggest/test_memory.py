"""A large table is looked at in little memory, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

MEASURE = """
import resource, sys
import pyarrow
from reissue.suggest.suggesting import suggest

def measure():
    try:
        return int(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0]) * 1024
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

pyarrow.set_cpu_count(2)
small, large = sys.argv[1:]
suggest([small])  # everything is imported
before = measure()
proposal = suggest([large])
print(measure() - before, proposal.schema.identifier, *proposal.schema.sensitive)
"""
SIZE = 17_000_000


def write(file: Path, rows: int) -> Path:
    """Eight columns of numbers that hardly repeat, as weights and incomes do not, and four of few values."""
    rng = np.random.default_rng(1)
    columns = {"person": [f"P{row:07d}" for row in range(rows)]}
    columns |= {f"measure_{place}": rng.integers(0, 10**7, rows) for place in range(8)}
    columns |= {name: rng.integers(0, 40, rows) for name in ("age", "children", "hours")}
    columns["diagnosis"] = np.array(["flu", "cold", "asthma", "diabetes", "migraine"])[rng.integers(0, 5, rows)]
    pyarrow.csv.write_csv(pa.table(columns), file)
    return file


def test_a_table_is_looked_at_in_a_few_times_its_size(tmp_path: Path) -> None:
    """Its text as codes, and two columns at a time: not every value of every column as an object of Python's."""
    small, large = write(tmp_path / "small.csv", 300), write(tmp_path / "large.csv", 180_000)
    assert 0.9 < large.stat().st_size / SIZE < 1.1
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(small), str(large)], capture_output=True, text=True, check=True
    )
    grown, identifier, sensitive = done.stdout.split()
    assert (identifier, sensitive) == ("person", "diagnosis")
    assert int(grown) < 6 * SIZE, f"{int(grown) / 2**20:.0f} MB"
