"""Reading a snapshot while the process is busy with something else."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from reissue.engine.read import Source
from reissue.engine.snapshot import Snapshot, load
from reissue.schema import Schema


class Ahead:
    """A snapshot that another thread reads and checks; `result` waits for it, and raises what the reading raised.

    Reading files hardly needs the interpreter, importing needs nothing else, so that the two go well side by side.
    """

    def __init__(self, source: Source, schema: Schema) -> None:
        self._done: Future[Snapshot] = Future()
        if isinstance(source, str | Path):
            pool = ThreadPoolExecutor(1, thread_name_prefix="reissue-read")
            self._done = pool.submit(_loaded, source, schema)
            pool.shutdown(wait=False)
        else:  # frames are in memory already
            self._done.set_result(load(source, schema))

    def result(self) -> Snapshot:
        return self._done.result()


def _loaded(source: Source, schema: Schema) -> Snapshot:
    snapshot = load(source, schema)
    _ = snapshot.seen  # is kept: whoever publishes asks for it first
    return snapshot
