"""All that depends on the operating system, in one file: Linux, macOS and Windows.

What a system lacks is asked of it, not guessed from its name, so that a test can hide it (tests/support/windows.py).
Nothing that only some systems have is imported before a series is opened.
"""

from __future__ import annotations

import errno
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, NoReturn, Protocol

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700
HAS_MODES = hasattr(os, "getuid")  # else Windows, where the owner is a matter of access lists
_BINARY = getattr(os, "O_BINARY", 0)
_LOCKED_BYTE = 1 << 30  # Windows locks bytes, and nobody may read them meanwhile: one far beyond the text
_TRIES, _PAUSE = 50, 0.02


class ByteLocks(Protocol):
    """What Windows has for locks."""

    LK_NBLCK: int

    def locking(self, handle: int, mode: int, count: int) -> None: ...


def open_owned(path: Path, flags: int) -> int:
    """Open or make a file that only its owner may read, whatever the umask is and whoever made it."""
    handle = os.open(path, flags | _BINARY, PRIVATE_FILE)
    if HAS_MODES:
        os.fchmod(handle, PRIVATE_FILE)
    return handle


def force(handle: int) -> None:
    """Force what was written to disk; on macOS out of the drive's own memory, too, which fsync leaves to the drive."""
    try:
        import fcntl

        fcntl.fcntl(handle, fcntl.F_FULLFSYNC)  # type: ignore[attr-defined, unused-ignore]
    except (ImportError, AttributeError, OSError):  # Windows, Linux, drives that know no such thing
        os.fsync(handle)


def force_file(path: str | Path) -> None:
    """Force a file's content to disk."""
    _force_opened(path, (os.O_RDONLY if HAS_MODES else os.O_RDWR) | _BINARY)  # Windows forces only what may be written


def force_folder(path: Path) -> None:
    """Make the names in a folder survive a crash. Windows opens no folders, and keeps names in a journal of its own."""
    if hasattr(os, "O_DIRECTORY"):
        _force_opened(path, os.O_RDONLY | os.O_DIRECTORY)


def _force_opened(path: str | Path, flags: int) -> None:
    handle = os.open(path, flags)
    try:
        force(handle)
    finally:
        os.close(handle)


def open_folder(path: Path) -> int | None:
    """A handle of a folder, to be locked; None where folders have none."""
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY) if hasattr(os, "O_DIRECTORY") else None


def lock(handle: int) -> None:
    """Lock an open file or folder for this process alone, until it is closed. BlockingIOError if another has it."""
    try:
        import fcntl
    except ImportError:
        _lock_byte(handle)
    else:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _lock_byte(handle: int) -> None:
    import msvcrt

    locks: ByteLocks = msvcrt  # type: ignore[assignment, unused-ignore]
    os.lseek(handle, _LOCKED_BYTE, os.SEEK_SET)
    try:
        locks.locking(handle, locks.LK_NBLCK, 1)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EDEADLK):
            raise BlockingIOError(errno.EWOULDBLOCK, os.strerror(errno.EWOULDBLOCK)) from error
        raise


def move(source: str | Path, target: str | Path) -> None:
    """Give a file or a folder a new name in one step, in the place of a file or of an empty folder that has it."""
    if not HAS_MODES and os.path.isdir(target):
        os.rmdir(target)
    patiently(lambda: os.replace(source, target))


def patiently(act: Callable[[], None]) -> None:
    """Windows lets nobody move or delete what a program is just reading, a virus scanner say: try for a second."""
    for _ in range(0 if HAS_MODES else _TRIES):
        try:
            return act()
        except PermissionError:
            time.sleep(_PAUSE)
    return act()


def die() -> NoReturn:
    """End as by `kill -9`: nothing is closed, nothing is tidied up."""
    if HAS_MODES:
        os.kill(os.getpid(), signal.SIGKILL)
    os._exit(137)


def open_in_memory(path: Path) -> IO[bytes] | None:
    """A file that is never on a disk and ends with this process, under the name `path`; None where there are none.

    Other programs of the same user may open it by that name as long as it is open here.
    """
    make = getattr(os, "memfd_create", None)
    if make is None or not Path("/proc/self/fd").is_dir():
        return None
    file = os.fdopen(make("reissue"), "w+b")
    path.symlink_to(f"/proc/{os.getpid()}/fd/{file.fileno()}")
    return file


def is_running(process: int) -> bool:
    """Whether there is such a process; on Windows, where asking would end it, only this one is known."""
    if not HAS_MODES or process == os.getpid():
        return process == os.getpid()
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # somebody else's
    return True
