"""Processes that begin with numba at hand: one imports it, compiles something, and forks for each script to be run.

As a program: a line of the input names a script, its arguments and the folder of its kernels, and the answer is
"started"; or the line is "wait", and the answer is how each of the scripts ended and what it wrote.
"""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Forks:
    """The program, and what it is asked for. Scripts keep their kernels in `cache`, beside them."""

    def __init__(self, program: subprocess.Popen[str]) -> None:
        self._program = program

    def _ask(self, what: object) -> str:
        assert self._program.stdin
        assert self._program.stdout
        self._program.stdin.write(json.dumps(what) + "\n")
        self._program.stdin.flush()
        return self._program.stdout.readline().strip()

    def start(self, script: Path, *arguments: str) -> None:
        """Begin with it, and do not wait."""
        assert self._ask([str(script), arguments, str(script.parent / "cache")]) == "started"

    def wait(self) -> list[str]:
        """What each of those that were started wrote, in their order; a failure is told."""
        ended = json.loads(self._ask("wait"))
        for code, told in ended:
            assert code == 0, told
        return [told for _, told in ended]

    def run(self, script: Path, *arguments: str) -> str:
        """What it wrote."""
        self.start(script, *arguments)
        return self.wait()[-1]


@contextmanager
def forking() -> Iterator[Forks]:
    """Scripts are run in processes of their own."""
    command = [sys.executable, "-B", __file__]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        yield Forks(program)
        assert program.stdin
        program.stdin.close()


def save_together(processes: int) -> None:
    """Let this process list what it compiled only when as many are about to: none of them knows of the others'."""
    from numba.core.caching import IndexDataCacheFile

    save = IndexDataCacheFile._save_index

    def wait_and_save(self: IndexDataCacheFile, overloads: object) -> None:
        folder = Path(os.environ["NUMBA_CACHE_DIR"], "waiting")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / str(os.getpid())).touch()
        ends = time.monotonic() + 120
        while len(os.listdir(folder)) < processes:
            assert time.monotonic() < ends, "the others never came"
            time.sleep(0.01)
        save(self, overloads)

    IndexDataCacheFile._save_index = wait_and_save


def _be(script: str, arguments: list[str], folder: str, written: int) -> None:
    """What the child does: it becomes a process that was started with the script."""
    import numba

    os.dup2(written, 1)
    os.dup2(written, 2)
    os.environ["NUMBA_CACHE_DIR"] = folder
    numba.config.reload_config()  # type: ignore[attr-defined]
    sys.argv, sys.path[:1] = [script, *arguments], [str(Path(script).parent), str(Path(__file__).parents[2])]
    code = 1
    try:
        runpy.run_path(script, run_name="__main__")
        code = 0
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _serve() -> None:
    import numba

    from reissue.arrays import compiled  # noqa: F401  # which the scripts import

    numba.njit(lambda number: number + 1)(1)
    running: list[tuple[int, int]] = []
    for line in sys.stdin:
        if (asked := json.loads(line)) == "wait":
            ended = []
            for process, told in running:
                code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
                ended.append((code, os.pread(told, 1 << 20, 0).decode()))
                os.close(told)
            running = []
            print(json.dumps(ended), flush=True)  # noqa: T201
            continue
        script, arguments, folder = asked
        written = os.memfd_create("written")
        if not (child := os.fork()):
            _be(script, arguments, folder, written)
        running.append((child, written))
        print("started", flush=True)  # noqa: T201


if __name__ == "__main__":
    _serve()
