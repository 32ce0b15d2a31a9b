"""NumPy, numba and SciPy: types, sets, orders, components, flows and cuts; no word of privacy in it.

Before any of them is imported, a place is found for compiled kernels, should numba find none.
"""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path


def find_place() -> None:
    """Give numba a folder of this user's own, if it would find none: it refuses to load cached kernels otherwise.

    A service account without a home that runs a package installed by somebody else is such a user. Compiled kernels
    are code, so the folder must be a real one, the user's own, and closed to others.
    """
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
    if "NUMBA_CACHE_DIR" in os.environ or _writable(Path(__file__).parent / "__pycache__") or _writable(home / "numba"):
        return
    own = Path(tempfile.gettempdir()) / f"reissue-kernels-{os.getuid()}"
    own.mkdir(mode=0o700, exist_ok=True)
    found = own.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) != 0o700:
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


find_place()
