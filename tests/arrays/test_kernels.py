"""Kernels are read from the cache without what only compiling needs, which takes nothing away from anybody."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

KERNELS = """
import sys
import numpy as np
from reissue.arrays.compiled import njit, warm_up

warm_up()

@njit(cache=True)
def spread(numbers):
    if len(numbers) == 0:
        raise ValueError("nothing to spread")
    return np.diff(numbers).max(), numbers[1:], numbers[::-1].copy().reshape(2, -1)

widest, others, pairs = spread(np.array([1, 1, 5, 9]))
assert (widest, others.tolist(), pairs.tolist()) == (4, [1, 5, 9], [[9, 5], [1, 1]])
try:
    spread(np.empty(0, dtype=np.int64))
except ValueError as error:
    assert str(error) == "nothing to spread"
else:
    raise AssertionError("a kernel that raises must raise")
compiled = [name for name in ("numba.np.arrayobj", "numba.np.linalg", "scipy.linalg") if name in sys.modules]
"""

READ = """
from numba.core.runtime.nrt import rtsys

assert not compiled, compiled
assert spread.stats.cache_hits, 'and it was in the cache'
assert rtsys._library is None, 'nor was anything compiled of the runtime'
"""

AFTERWARDS = """
import numba

@njit()
def around(numbers):
    return spread(numbers)[0] + spread(numbers * 0.5)[0]

assert around(np.array([1, 1, 5, 9])) == 4 + 2
assert numba.njit(lambda a: a @ a)(np.eye(3) * 2)[0, 0] == 4
assert abs(numba.njit(lambda a: np.linalg.det(a))(np.eye(3) * 2) - 8) < 1e-9
"""


def run(folder: Path, code: str) -> None:
    (folder / "kernel.py").write_text(KERNELS)
    environment = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(folder / "cache"),
        "PYTHONPATH": os.pathsep.join([str(folder), *sys.path]),
    }
    command = [sys.executable, "-c", f"from kernel import *\n{code}"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_cached_kernels_need_nothing_to_compile_and_others_are_compiled_as_ever(tmp_path: Path) -> None:
    run(tmp_path, "")
    run(tmp_path, READ + AFTERWARDS)
    run(tmp_path, READ)
