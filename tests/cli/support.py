"""Commands as a steward types them, in this process or in one of their own."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner

from reissue.cli import main


def in_own_process(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "reissue", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd)


def reissue(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The same without a process of its own, which takes a second to start."""
    with contextlib.chdir(cwd):
        done = CliRunner().invoke(main, [str(one) for one in arguments])
    return subprocess.CompletedProcess(arguments, done.exit_code, done.stdout, done.stderr)
