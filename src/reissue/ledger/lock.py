"""One publisher at a time: a lock that the operating system frees when its holder dies."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
import time
from datetime import UTC, datetime
from pathlib import Path

from reissue.errors import SeriesBusy, SeriesError
from reissue.ledger.disk import PRIVATE_FILE, explain_os_error, explain_os_errors


class SeriesLock:
    """An exclusive flock on a file that says who holds it; the file is empty while nobody does."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle: int | None = None

    @property
    def path(self) -> Path:
        return self._path

    def acquire(self, patience: float) -> None:
        """Take the lock, or raise SeriesBusy that names the holder."""
        with explain_os_errors("Locking the series"):
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)
        until = time.monotonic() + patience
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError as error:
                taken = error.errno in (errno.EWOULDBLOCK, errno.EACCES)
                if not taken or time.monotonic() >= until:
                    message = self._busy(handle) if taken else explain_os_error("Locking the series", error)
                    os.close(handle)
                    raise (SeriesBusy if taken else SeriesError)(message) from error
                time.sleep(0.02)
        self._handle = handle
        self._say(json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": _now()}).encode())

    def release(self) -> None:
        if self._handle is not None:
            self._say(b"")
            os.close(self._handle)
            self._handle = None

    def _say(self, content: bytes) -> None:
        """Who holds the lock is a courtesy: on a full disk it stays unsaid."""
        assert self._handle is not None
        try:
            os.fchmod(self._handle, PRIVATE_FILE)
            os.ftruncate(self._handle, 0)
            os.pwrite(self._handle, content, 0)
        except OSError:
            pass

    def _busy(self, handle: int) -> str:
        who = "Another process"
        try:
            holder = json.loads(os.pread(handle, 4096, 0))
            who = f"Process {holder['pid']} on {holder['host']}, since {holder['since']} (UTC),"
        except (OSError, ValueError, KeyError, TypeError):
            pass
        return (
            f"{who} is at work in this series ({self._path.parent.parent}). "
            "Wait until it has finished, then try again. Nothing was changed."
        )


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S")
