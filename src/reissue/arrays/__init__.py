"""NumPy, numba and SciPy: types, sets, orders, components, flows and cuts; no word of privacy in it.

Before any of them is imported, a place is found for compiled kernels, should numba find none.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def find_place() -> None:
    """Give numba a folder of this user's own, if it would find none: it refuses to load cached kernels otherwise.

    A service account without a home that runs a package installed by somebody else is such a user. Compiled kernels
    are code, so the folder must be a real one, the user's own, and closed to others.
    """
    home = Path(os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or Path("~/.cache").expanduser())
    if "NUMBA_CACHE_DIR" in os.environ or _writable(Path(__file__).parent / "__pycache__") or _writable(home / "numba"):
        return
    user = os.getuid() if hasattr(os, "getuid") else None  # Windows: each user has a folder of temporary files
    own = Path(tempfile.gettempdir()) / f"reissue-kernels-{'own' if user is None else user}"
    own.mkdir(mode=0o700, exist_ok=True)
    found = own.lstat()
    closed = user is None or (found.st_uid == user and stat.S_IMODE(found.st_mode) == 0o700)
    if not stat.S_ISDIR(found.st_mode) or not closed:
        own = Path(tempfile.mkdtemp(prefix="reissue-kernels-"))
    os.environ["NUMBA_CACHE_DIR"] = str(own)


def _writable(folder: Path) -> bool:
    """Whether files can be made there; a folder that does not exist would be made in the nearest one that does."""
    for place in (folder, *folder.parents):
        try:
            place.stat()
        except FileNotFoundError:
            continue
        except OSError:
            return False
        return os.access(place, os.W_OK | os.X_OK)
    return False


_LISTENERS: list[Callable[[bool], None]] = []


@contextmanager
def listening(heard: Callable[[bool], None]) -> Iterator[None]:
    """Be told when a kernel is about to be compiled (True), which takes seconds and happens once, and when it is."""
    _LISTENERS.append(heard)
    try:
        yield
    finally:
        _LISTENERS.remove(heard)


def announce(compiling: bool) -> None:
    """Tell whoever listens that a kernel is being compiled, or has been."""
    for heard in _LISTENERS:
        heard(compiling)


find_place()
