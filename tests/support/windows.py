"""Windows as far as it can be imitated: `python -m tests.support.windows FOLDER` works there as a steward would.

Hidden: what Windows lacks (fcntl and its kin, owners, handles of folders, positioned reads). Refused: what it refuses
(moving or deleting what is open, renaming over what exists, forcing a file that was opened for reading). Modes mean
nothing, streams are cp1252, and opening text without saying its encoding is an error in our code.
"""

from __future__ import annotations

import errno
import fcntl
import functools
import json
import os
import shutil
import signal
import stat
import subprocess  # noqa: F401  # before msvcrt is there, by which it tells the system
import sys
import tempfile
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

HIDDEN = [
    "O_CLOEXEC",
    "O_DIRECTORY",
    "O_NOFOLLOW",
    "SCHED_OTHER",
    "chown",
    "fchmod",
    "fchown",
    "geteuid",
    "getgid",
    "getuid",
    "pread",
    "pwrite",
    "sched_getaffinity",
    "setuid",
    "statvfs",
]
MODULES = ["fcntl", "grp", "pwd", "resource", "termios"]


def in_use() -> Iterator[str]:
    """Files that this process has open, or in its memory."""
    for handle in os.listdir("/proc/self/fd"):
        try:
            yield os.readlink(f"/proc/self/fd/{handle}")
        except OSError:
            continue
    with open("/proc/self/maps", encoding="utf-8") as maps:
        yield from (words[5] for words in (line.split() for line in maps) if len(words) == 6)


def refuse_in_use(*paths: Any) -> None:
    for path in map(os.path.abspath, paths):
        if any(one == path or one.startswith(path + "/") for one in in_use()):
            raise PermissionError(errno.EACCES, "the file is in use", path)


def hide_what_windows_lacks() -> None:
    for name in HIDDEN:
        if hasattr(os, name):
            delattr(os, name)
    del signal.SIGKILL
    for name in MODULES:
        sys.modules[name] = None  # type: ignore[assignment]
    sys.modules["msvcrt"] = byte_locks()
    tempfile.TemporaryFile = tempfile.NamedTemporaryFile  # type: ignore[assignment, misc]
    shutil._use_fd_functions = False  # type: ignore[attr-defined]
    if hasattr(shutil, "_rmtree_impl"):
        shutil._rmtree_impl = shutil._rmtree_unsafe  # type: ignore[attr-defined]


def byte_locks() -> types.ModuleType:
    locks = types.ModuleType("msvcrt")

    def locking(handle: int, mode: int, count: int) -> None:
        assert (mode, count) == (2, 1)
        assert os.lseek(handle, 0, os.SEEK_CUR) > 1 << 20, "nobody could read who holds the lock"
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise PermissionError(errno.EACCES, "Permission denied") from error

    locks.LK_NBLCK, locks.locking = 2, locking  # type: ignore[attr-defined]
    return locks


def refuse_what_windows_refuses() -> None:
    def wrap(name: str, check: Callable[..., None]) -> None:
        call = getattr(os, name)

        @functools.wraps(call)
        def run(*args: Any, **options: Any) -> Any:
            check(*args)
            return call(*args, **options)

        setattr(os, name, run)

    def opening(path: Any, *more: Any) -> None:
        if os.path.isdir(path):
            raise PermissionError(errno.EACCES, "Permission denied", path)

    def renaming(source: Any, target: Any) -> None:
        if os.path.exists(target):
            raise FileExistsError(errno.EEXIST, "Cannot create a file when that file already exists", target)
        refuse_in_use(source)

    def replacing(source: Any, target: Any) -> None:
        if os.path.isdir(target):
            raise PermissionError(errno.EACCES, "Access is denied", target)
        refuse_in_use(source, target)

    def forcing(handle: int) -> None:
        if not stat.S_ISREG(os.fstat(handle).st_mode) or not fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_ACCMODE:
            raise OSError(errno.EBADF, "Bad file descriptor")

    wrap("open", opening)
    wrap("rename", renaming)
    wrap("replace", replacing)
    wrap("fsync", forcing)
    for name in ("unlink", "remove", "rmdir"):
        wrap(name, refuse_in_use)
    os.chmod = lambda *args, **options: None
    os.umask(0)  # whoever looks at modes finds that everybody may read everything


def work(folder: Path) -> dict[str, int]:
    """Init, publish twice, audit, verify, compare and demo; the exit code of each."""
    from reissue import clinic
    from reissue.cli import main

    def run(*arguments: str) -> int:
        print("$ reissue", *arguments, flush=True)  # noqa: T201
        try:
            main.main(list(arguments))
        except SystemExit as ended:
            return int(ended.code or 0)
        return 0

    os.chdir(folder)
    first, second = clinic.write(Path("clinic"), format="csv", months=2, patients=200)
    vars(clinic)["write"] = functools.partial(clinic.write, patients=200)
    chosen = [word for name in ("standing", "static") for word in ("--strategy", name)]
    return {
        "init": run("init", "s", "--config", "clinic/clinic.toml"),
        "publish": run("publish", "s", str(first)),
        "publish again": run("publish", "s", str(second), "--format", "csv"),
        "busy": busy(lambda: run("forget", "s", "1")),
        "audit": run("audit", "s", "--html", "audit.html"),
        "verify": run("verify", "s", "--rebuild"),
        "compare": run("compare", "--config", "clinic/clinic.toml", *chosen, str(first), str(second)),
        "demo": run("demo", "--months", "2"),
        "adopt": adopt_again(run, first),
    }


def adopt_again(run: Callable[..., int], snapshot: Path) -> int:
    """After an adoption that was interrupted: what it left is thrown away first."""
    standing = Path("clinic", "clinic.toml").read_text(encoding="utf-8")
    static = standing.replace('strategy = "standing"', 'strategy = "static"\nk = 4')
    Path("clinic", "static.toml").write_text(static, encoding="utf-8")
    for name in ("n", "a"):
        run("init", name, "--config", "clinic/static.toml")
    run("publish", "n", str(snapshot))
    Path("a", "private", "unfinished").touch()
    files = ("--release", "n/releases/0001/release.parquet", "--snapshot", str(snapshot), "--match", "content")
    run("adopt", "a", "--config", "clinic/static.toml", *files)  # whose code says what an attacker learns from them
    return run("verify", "a")


def busy(run: Callable[[], int]) -> int:
    """While another publisher is at work."""
    from reissue.ledger import Ledger

    with Ledger.open("s").publisher():
        return run()


if __name__ == "__main__":
    warnings.filterwarnings("error", category=EncodingWarning, module=r"reissue\b.*")
    hide_what_windows_lacks()
    refuse_what_windows_refuses()
    Path(sys.argv[1], "codes.json").write_text(json.dumps(work(Path(sys.argv[1]))), encoding="utf-8")
