"""Where tests write: in memory where there is plenty, since series force thousands of files to disk one after another.

What is forced is watched by tests that look at the calls themselves (tests/support/power.py), and no test can see more:
a disk would have to lose its power.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")
PLENTY = 1 << 30
"""Much more than is there at a time (40 MB of series), since folders of tests that passed are removed."""


def has_plenty(folder: Path) -> bool:
    """Whether programs may lie there, too, and there is room for whatever tests write."""
    if not os.access(folder, os.W_OK | os.X_OK):
        return False
    return not os.statvfs(folder).f_flag & os.ST_NOEXEC and shutil.disk_usage(folder).free >= PLENTY


def write_into_memory(chosen: bool) -> None:
    """From now on temporary folders of this process and of those it starts lie in memory; no if a place is `chosen`."""
    if not chosen and "TMPDIR" not in os.environ and has_plenty(MEMORY):
        os.environ["TMPDIR"] = str(MEMORY)
        tempfile.tempdir = None  # asks again
