"""Files and folders: owner-only, forced to disk, hashed while written; errors told in words.

The points at which a test can kill the process are here, too; and the lock that lets one publisher at a time in. The
system frees it with its process, also when that is killed. Both the folder and a file in it are locked. Of the file it
can be read who holds it; but a file can be deleted or replaced, and then whoever opens it locks another one: so it is
compared with its name, after locking and before every commit. The folder cannot be replaced without the catalogue.
Windows has no handles of folders, but it deletes no file that is open.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
import socket
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from reissue.errors import SeriesBusy, SeriesError
from reissue.ledger import system
from reissue.ledger.system import PRIVATE_FOLDER

OTHERS_WRITE = 0o022
_REMEDIES = {
    errno.ENOSPC: "The disk is full. Free some space and try again.",
    errno.EDQUOT: "Your disk quota is used up. Free some space and try again.",
    errno.EFBIG: "The file would exceed the size allowed here. Raise the limit or move the series, then try again.",
    errno.EROFS: "The disk is mounted read-only. Mount it for writing and try again.",
    errno.EACCES: "You may not write there. Run as the owner of the series, or correct the permissions.",
    errno.EPERM: "You may not write there. Run as the owner of the series, or correct the permissions.",
}


@contextmanager
def explain_os_errors(doing: str) -> Iterator[None]:
    """Turn an operating system's error into a SeriesError that says what was being done and what to do."""
    try:
        yield
    except OSError as error:
        raise SeriesError(explain_os_error(doing, error)) from error


def explain_os_error(doing: str, error: OSError) -> str:
    code, reason = find_cause(error)
    remedy = _REMEDIES.get(code, "Correct this and try again.")
    place = f" ({error.filename})" if error.filename else ""
    return f"{doing} failed: {reason}{place}. {remedy} What was committed before is untouched."


def find_cause(error: OSError) -> tuple[int, str]:
    """The number of an operating system's error, 0 if it has none, and its words."""
    code = error.errno or _code_in(str(error))
    return code, os.strerror(code) if code else str(error)


def _code_in(message: str) -> int:
    """The number of an error that a library tells in words only: "No space left on device (os error 28)"."""
    found = re.search(r"os error (\d+)", message)
    return int(found[1]) if found else 0


def make_private_folder(path: Path) -> None:
    """Make a folder for its owner only, whatever the umask is; it may exist."""
    path.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
    path.chmod(PRIVATE_FOLDER)


def make_public_folder(path: Path) -> None:
    """Make a folder that others may look into as far as the umask lets them, and never write in; it may exist."""
    path.mkdir(exist_ok=True)
    keep_writers_out(path)


def keep_writers_out(path: Path) -> None:
    """Let nobody but the owner write in a folder, or to a file, whatever the umask was when it was made."""
    mode = stat.S_IMODE(path.stat().st_mode)
    if system.HAS_MODES and mode & OTHERS_WRITE:
        path.chmod(mode & ~OTHERS_WRITE)


def open_private(path: Path) -> IO[bytes]:
    """Open a new file for writing, readable by its owner only, whatever the umask is."""
    return open(system.open_owned(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb", buffering=1 << 20)


def write_durably(path: Path, content: bytes) -> None:
    """Replace a small private file in one step that survives a crash: the old content or the new, never a mixture."""
    beside = path.with_name(path.name + ".new")
    put_in_place(path, beside, open_private(beside), content)
    system.force_folder(path.parent)


def put_in_place(path: Path, beside: Path, file: IO[bytes], content: bytes) -> None:
    """Fill `file`, a new one open at `beside`, and put it in the place of `path`, which stays as it is till then."""
    try:
        with file:
            file.write(content)
            file.flush()
            system.force(file.fileno())
        system.move(beside, path)
    except BaseException:  # also when it is interrupted
        beside.unlink(missing_ok=True)
        raise


def sync_public(path: Path) -> None:
    """Force every file and folder below `path`, and itself, to disk; nobody but the owner may write to any of them."""
    for folder, _, names in os.walk(path, topdown=False):
        for name in names:
            keep_writers_out(Path(folder, name))
            system.force_file(os.path.join(folder, name))
        keep_writers_out(Path(folder))
        system.force_folder(Path(folder))


def hash_file(path: Path) -> str:
    with open(path, "rb", buffering=0) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def remove_tree(path: Path) -> None:
    """Remove a folder with all it holds, or a file; it may be gone already."""
    if path.is_dir() and not path.is_symlink():
        system.patiently(lambda: shutil.rmtree(path))
    else:
        system.patiently(lambda: path.unlink(missing_ok=True))


def names_in(folder: Path) -> list[str]:
    """The names in a folder, sorted; none if it does not exist (backups often drop empty folders)."""
    try:
        return sorted(os.listdir(folder))
    except FileNotFoundError:
        return []


def describe_absence(path: Path) -> str | None:
    """Why there is no file of its own at a path; None if there is one. Raises OSError where nobody may look."""
    if path.is_symlink():
        return f"it is a link to {os.readlink(path)}, not a file of its own."
    return None if path.is_file() else "it is a folder or device, not a file." if path.exists() else "it is missing."


class HashingFile:
    """A file that hashes what passes through it, so that the name of a file does not depend on reading it back."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self.size = 0

    def write(self, data: bytes | memoryview) -> int:
        self._file.write(data)
        self._hash.update(data)
        self.size += len(data)
        return len(data)

    def tell(self) -> int:
        return self.size

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self._file.flush()

    @property
    def closed(self) -> bool:
        return self._file.closed

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()


_CHANGES = ("coding", "caches", "forget", "withdraw", "amend", "upgrade")
_CHANGE_STEPS = ("written", "moved", "transaction", "committed", "swept")

FAULT_POINTS: tuple[str, ...] = (
    "create.begun",
    "create.pointer",
    "create.files",
    "create.transaction",
    "create.catalogue",
    "create.config",
    "create.renamed",
    "adopt.unfinished",
    "adopt.finished",
    "stage.begun",
    "stage.facts",
    "stage.caches",
    "stage.identities",
    "stage.coding",
    "commit.begun",
    "commit.synced",
    "commit.moving",
    "commit.moved",
    "commit.transaction",
    "commit.committed",
    "commit.renamed",
    "commit.synced-reveal",
    "commit.marked",
    "commit.swept",
    "catalogue.opened",
    "catalogue.sealed",
    *(f"{change}.{step}" for change in _CHANGES for step in _CHANGE_STEPS),
    "withdraw.hidden",
    *(f"back.{step}" for step in _CHANGE_STEPS if step != "moved"),
)
"""Every point over the whole sequence, in order: creation, staging, commit, and the changes made alone."""


def fault(name: str) -> None:
    """Do nothing, unless the environment variable REISSUE_FAULT names this point: then die as by `kill -9`."""
    if os.environ.get("REISSUE_FAULT") == name:
        system.die()


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
