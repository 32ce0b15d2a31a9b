"""Compiling beside other processes: the first run of a strategy takes about half as long on two processors.

The first kernel that must be compiled starts helpers: processes that compile what else is known to be needed, the last
of it first (`arrays.helper`). What each of them has begun is told by files in a folder of their own: whoever comes to a
kernel that another is compiling waits until it is kept. A helper that fails costs nothing but its help, and ends with
the process that started it, however that ends.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

__all__ = ["EXPECTED", "Agreement", "compile_alone", "find_claims", "join_claims"]

LIST = Path(__file__).with_name("kernels.json")
"""What strategies need, see `arrays.helper`."""
MOST_HELPERS = 3
_PATIENCE = 60.0
"""Seconds after which nobody waits for a kernel any longer; none takes nearly as long."""
_START = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from reissue.arrays.helper import help_compiling
help_compiling(*sys.argv[2:])
"""


class Agreement:
    """Who compiles which kernel: for each a file in a folder, made by who begins it and renamed when it is kept."""

    def __init__(self, folder: Path, alive: Callable[[], bool]) -> None:
        self._folder, self._alive = folder, alive
        self._own: set[str] = set()

    def take(self, kernel: str) -> bool:
        """Whether it is this process that is to compile it."""
        try:
            (self._folder / kernel).touch(exist_ok=False)
        except FileExistsError:
            return kernel in self._own
        except OSError:  # the folder is gone, or cannot be written: everybody compiles alone
            return True
        self._own.add(kernel)
        return True

    def is_open(self, kernel: str) -> bool:
        """Whether nobody has begun it."""
        return not (self._folder / kernel).exists() and not self.is_finished(kernel)

    def is_finished(self, kernel: str) -> bool:
        return self._finished(kernel).exists()

    def finish(self, kernel: str) -> None:
        """It has been compiled, or never will be by this process."""
        self._own.discard(kernel)
        with suppress(OSError):
            os.replace(self._folder / kernel, self._finished(kernel))

    def give_up(self) -> None:
        """Nothing of what this process has begun will be finished."""
        for kernel in list(self._own):
            self.finish(kernel)

    def wait(self, kernel: str) -> None:
        """Until it is finished, or nobody is there who could."""
        end = time.monotonic() + _PATIENCE
        while (self._folder / kernel).exists() and self._alive() and time.monotonic() < end:
            time.sleep(0.01)

    def _finished(self, kernel: str) -> Path:
        return self._folder / f"{kernel}.kept"


EXPECTED: dict[str, str] = {}
"""What kernels are needed for from now on: a `strategy` and its `step`, "first" or "next" (release), or "audit"."""


class _State:
    """With whom this process compiles, if it may with others."""

    alone = False
    claims: Agreement | None = None


def compile_alone() -> None:
    """From now on this process has no helpers: there are others like it, or what it compiles is to be noted."""
    _State.alone = True


def join_claims(claims: Agreement) -> None:
    """Compile with others who have begun: what a helper does."""
    _State.claims = claims


def find_claims(processors: int) -> Agreement | None:
    """With whom a kernel is compiled that nobody has kept; the first that is expected starts helpers."""
    if EXPECTED and _State.claims is None and not _State.alone and processors > 1 and _can_start():
        strategy, step = EXPECTED["strategy"], EXPECTED["step"]
        EXPECTED.clear()
        with suppress(OSError):
            _State.claims = _start(strategy, step, min(processors - 1, MOST_HELPERS))
    return _State.claims


def _can_start() -> bool:
    """Whether this is a Python that can be started again; a program that has one inside may not."""
    return bool(sys.executable) and not hasattr(sys, "frozen")


def _start(strategy: str, step: str, count: int) -> Agreement:
    folder = Path(tempfile.mkdtemp(prefix="reissue-compiling-"))
    path = [os.path.abspath(place) for place in sys.path]
    command = [sys.executable, "-P", "-c", _START, json.dumps(path), str(LIST), strategy, step, str(folder)]
    quiet = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    helpers = [subprocess.Popen(command, **quiet) for _ in range(count)]  # type: ignore[call-overload]
    claims = Agreement(folder, lambda: any(helper.poll() is None for helper in helpers))
    threading.Thread(target=_reap, args=(helpers, folder), name="reissue-helpers", daemon=True).start()
    return claims


def _reap(helpers: list[subprocess.Popen[bytes]], folder: Path) -> None:
    """Wait until they have done their part. Should this process end before, so do they: nobody holds their input."""
    for helper in helpers:
        helper.wait()
        assert helper.stdin is not None
        helper.stdin.close()
    _State.claims = None
    shutil.rmtree(folder, ignore_errors=True)


def _forget() -> None:
    """A fork has no helpers: those of its parent would not wait for it."""
    EXPECTED.clear()
    _State.claims = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
