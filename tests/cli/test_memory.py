"""What a small table costs: hardly more memory than importing the libraries."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from reissue import clinic

PEAK = "next(int(line.split()[1]) / 1024 for line in open('/proc/self/status') if line.startswith('VmHWM'))"
IMPORTS = f"import numba, polars, pyarrow; print({PEAK})"
COMMAND = f"""
import sys
import reissue.cli

reissue.cli._leave = lambda code: print({PEAK}, [name for name in sys.modules if name.startswith('pyarrow._s3')], code)
reissue.cli.main(sys.argv[1:])
"""
LIMIT = 30
"""Megabytes."""


def run(code: str, *arguments: object) -> str:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[-1]


@pytest.mark.parametrize("strategy", ["static", "standing"])
def test_200_rows_take_little_more_than_the_libraries(strategy: str, tmp_path: Path) -> None:
    (snapshot,) = clinic.write(tmp_path, months=1, patients=200, format="csv")
    (tmp_path / "c.toml").write_text(clinic.config(strategy=strategy, settings={"k": 5}))
    for series in ("first", "second"):  # the first may have kernels to compile
        run(COMMAND, "init", tmp_path / series, "--config", tmp_path / "c.toml")
        peak, clients, code = run(COMMAND, "publish", tmp_path / series, snapshot).split(" ")
    assert (clients, code) == ("[]", "0")
    assert float(peak) < float(run(IMPORTS)) + LIMIT
