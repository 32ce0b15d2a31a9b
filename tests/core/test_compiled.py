"""Many processes compile the same kernel for different types at once: each must find its own code in the cache."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

KERNEL = """
import sys
from reissue.core.compiled import njit

@njit(cache=True)
def weighed(number, factor):
    return number * factor + 1

kinds = {"int": (3, 5), "float": (3.5, 5), "mixed": (3, 5.5), "complex": (3j, 5), "bool": (True, 5), "all": (True, 1j)}
for name in sys.argv[1:]:
    number, factor = kinds[name]
    assert weighed(number, factor) == number * factor + 1, (name, weighed(number, factor))
"""
KINDS = ["int", "float", "mixed", "complex", "bool", "all"]


def run(folder: Path, *kinds: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, str(folder / "kernel.py"), *kinds],
        env={**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")},
    )


def test_processes_that_compile_at_once_do_not_mix_their_kernels_up(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(KERNEL)
    for process in [run(tmp_path, kind) for kind in KINDS]:
        assert process.wait() == 0
    files = list((tmp_path / "cache").rglob("*.nbc"))
    assert len(files) == len({file.name for file in files}) >= len(KINDS), "one file for each"
    for order in (KINDS, KINDS[::-1]):
        assert run(tmp_path, *order).wait() == 0, "and each holds what its name says"
