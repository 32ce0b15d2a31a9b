"""One publisher at a time: a lock that the system frees with its process, also when that is killed.

Both the folder and a file in it are locked. Of the file it can be read who holds it; but a file can be deleted or
replaced, and then whoever opens it locks another one: so it is compared with its name, after locking and before every
commit. The folder cannot be replaced without the catalogue. Windows has no handles of folders, but it deletes no file
that is open.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from reissue.errors import SeriesBusy, SeriesError
from reissue.ledger import system
from reissue.ledger.disk import explain_os_error, explain_os_errors

_UNKNOWN = (errno.EBADF, errno.EINVAL, errno.ENOLCK, errno.ENOTSUP)  # some network drives lock no folders


class SeriesLock:
    """An exclusive lock on a folder, and on a file in it that says who holds it; it is empty while nobody does."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle: int | None = None
        self._folder: int | None = None

    @property
    def path(self) -> Path:
        return self._path

    def acquire(self, patience: float) -> None:
        """Take the lock, or raise SeriesBusy that names the holder."""
        until = time.monotonic() + patience
        while True:
            try:
                self._try()
                break
            except BlockingIOError as error:
                if time.monotonic() >= until:
                    raise SeriesBusy(self._busy()) from error
                time.sleep(0.02)
            except OSError as error:
                raise SeriesError(explain_os_error("Locking the series", error)) from error
        self._say(json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": _now()}).encode())

    def confirm(self) -> None:
        """Raise SeriesError unless the file at the lock's path is still the one that is locked."""
        with explain_os_errors("Looking at the lock"):
            same = self._is_ours()
        if not same:
            raise SeriesError(
                f"{self._path} was deleted or replaced while this process was at work, so another one may be at work, "
                "too. Nothing was changed. Leave that file alone, and try again."
            )

    def release(self) -> None:
        if self._handle is not None:
            self._say(b"")
            self._close()

    def _try(self) -> None:
        """Raises BlockingIOError if somebody has the lock."""
        try:
            self._folder = system.open_folder(self._path.parent)
            if self._folder is not None:
                self._lock_folder(self._folder)
            self._handle = system.open_owned(self._path, os.O_RDWR | os.O_CREAT)
            system.lock(self._handle)
            if not self._is_ours():
                raise BlockingIOError(errno.EWOULDBLOCK, "the lock was replaced meanwhile")
        except BaseException:
            self._close()
            raise

    @staticmethod
    def _lock_folder(folder: int) -> None:
        try:
            system.lock(folder)
        except OSError as error:
            if error.errno not in _UNKNOWN:
                raise

    def _is_ours(self) -> bool:
        assert self._handle is not None
        try:
            return os.path.samestat(os.fstat(self._handle), os.stat(self._path))
        except FileNotFoundError:
            return False

    def _close(self) -> None:
        for handle in (self._handle, self._folder):
            if handle is not None:
                os.close(handle)
        self._handle = self._folder = None

    def _say(self, content: bytes) -> None:
        """Who holds the lock is a courtesy: on a full disk it stays unsaid."""
        assert self._handle is not None
        with suppress(OSError):
            os.ftruncate(self._handle, 0)
            os.lseek(self._handle, 0, os.SEEK_SET)
            os.write(self._handle, content)

    def _busy(self) -> str:
        who = "Another process"
        with suppress(OSError, ValueError, KeyError, TypeError):
            with open(self._path, "rb") as file:
                holder = json.loads(file.read(4096))
            who = f"Process {holder['pid']} on {holder['host']}, since {holder['since']} (UTC),"
        return (
            f"{who} is at work in this series ({self._path.parent.parent}). "
            "Wait until it has finished, then try again. Nothing was changed."
        )


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S")
