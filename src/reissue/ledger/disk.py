"""Files and folders: owner-only, forced to disk, hashed while written; errors told in words.

The points at which a test can kill the process are here, too.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from reissue.errors import SeriesError
from reissue.ledger import system
from reissue.ledger.system import PRIVATE_FOLDER

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


def open_private(path: Path) -> IO[bytes]:
    """Open a new file for writing, readable by its owner only, whatever the umask is."""
    return open(system.open_owned(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb", buffering=1 << 20)


def write_durably(path: Path, content: bytes, *, private: bool = True) -> None:
    """Replace a small file in one step that survives a crash: the old content or the new one, never a mixture."""
    beside = path.with_name(path.name + ".new")
    put_in_place(path, beside, open_private(beside) if private else beside.open("wb"), content)
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


def sync_tree(path: Path) -> None:
    """Force every file and folder below `path`, and itself, to disk."""
    for folder, _, names in os.walk(path, topdown=False):
        for name in names:
            system.force_file(os.path.join(folder, name))
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
