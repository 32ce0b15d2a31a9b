"""Files that people write (configs, hierarchies, knowledge), read with bounds: a wrong path fills no memory."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

MOST, MANY = 1 << 26, 1 << 30
"""Bytes of a file with names and labels, and of one with lines about people."""
LONGEST = 4096
"""Characters of a name or a text in such a file: no column, label or path has more."""


def read_small(path: Path, most: int = MOST) -> bytes:
    """The content of a file of at most so many bytes. Raises OSError, also for a pipe, and does not wait for it."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "it is a pipe or device, not a file")
        with open(handle, "rb", closefd=False) as file:
            content = file.read(most + 1)
    finally:
        os.close(handle)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it is larger than {most >> 20} MB")
    return content
