"""A process that publishes in forked children, so that a kill test costs a fork and not a start of Python.

It imports everything and loads the kernels, but runs no table library before it forks (their threads do not survive
a fork). It reads one request a line, `PATH FAULT`, answers with the child's pid, and says how each child ended.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import IO

import pyarrow as pa

from tests.support.hospital import population

ROWS_BEFORE, ROWS_AFTER = 80, 120


def grown() -> pa.Table:
    """The snapshot of the next release; somebody older than anybody before makes the coding change too."""
    oldest = {"name": ["IDENT-999999-Q"], "age": [99], "gender": ["Female"], "diagnosis": ["Flu"]}
    return pa.concat_tables([population(ROWS_AFTER - 1), pa.table(oldest)])


def serve() -> None:
    """The process itself."""
    import reissue as ri
    import reissue.engine.output
    import reissue.history.public_files
    import reissue.model.domain
    import reissue.model.requirement
    import reissue.partition.mondrian
    import reissue.publish.embedded
    import reissue.publish.publishing
    import reissue.utility

    after = grown()
    ri.Static(k=5)
    for line in sys.stdin:
        path, fault = line.rstrip("\n").split("\t")
        pid = os.fork()
        if pid == 0:
            child(path, fault, after)
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()
        _, status = os.waitpid(pid, 0)
        sys.stdout.write(f"{status}\n")
        sys.stdout.flush()


def child(path: str, fault: str, after: object) -> None:
    """Publish the next release and leave without cleaning up."""
    import reissue as ri

    try:
        if fault:
            os.environ["REISSUE_FAULT"] = fault
        with ri.Series.open(path) as series:
            series.publish(after)  # type: ignore[arg-type]
        os._exit(0)
    except BaseException as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        os._exit(17)


class Publisher:
    """The test's side of the process."""

    def __init__(self) -> None:
        command = [sys.executable, "-c", "from tests.support.publisher import serve; serve()"]
        root = Path(__file__).resolve().parents[2]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root)

    def start(self, path: Path, fault: str = "") -> int:
        """Have a child publish; its pid."""
        self._stream(self._process.stdin).write(f"{path}\t{fault}\n")
        self._stream(self._process.stdin).flush()
        return int(self._stream(self._process.stdout).readline())

    def ended(self) -> int:
        """Wait for the child; its status as of os.waitpid."""
        return int(self._stream(self._process.stdout).readline())

    def close(self) -> None:
        self._stream(self._process.stdin).close()
        self._process.wait()
        self._stream(self._process.stdout).close()

    @staticmethod
    def _stream(stream: IO[str] | None) -> IO[str]:
        assert stream is not None
        return stream
