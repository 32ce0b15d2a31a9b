"""A snapshot that was dropped on the page: it passes in pieces into a private folder, and waits there as one file."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote

from starlette.requests import Request

from reissue.errors import InputError, ReissueError
from reissue.ledger.disk import explain_os_errors, make_private_folder, names_in, open_private, remove_tree
from reissue.ledger.sealing import SealedWriter, name_sealed, open_sealed
from reissue.ledger.system import is_running, move

FILE = "x-reissue-file"
"""The header that names the file, percent-encoded."""
PART, OPEN = ".part-", ".open-"
"""How names begin of what is still being sent, and of what is open; the number of the process follows."""


async def receive(request: Request, folder: Path, limit: int, key: bytes | None = None) -> Path:
    """The file that is sent, whole, in the place of whatever waited in the folder. Memory: one piece at a time.

    key: that of the series, with which it is encrypted while it waits
    """
    name = _clean_name(unquote(request.headers.get(FILE, "")))
    if int(request.headers.get("content-length", "0")) > limit:
        raise InputError(_tell_limit(name, limit))
    with explain_os_errors("Keeping the file"):
        make_private_folder(folder)
        part = folder / _name_own(PART)
        try:
            sealed = await _write(request, part, limit, name, key)
            waiting = find_waiting(folder)
            if waiting is not None:
                remove_tree(waiting)
            move(part, folder / sealed)
        finally:
            part.unlink(missing_ok=True)
    return folder / sealed


async def _write(request: Request, part: Path, limit: int, name: str, key: bytes | None) -> str:
    """Write what is sent; the name under which it shall wait."""
    size = 0
    with open_private(part) if key is None else SealedWriter(part, key) as file:
        async for piece in request.stream():
            size += len(piece)
            if size > limit:
                raise InputError(_tell_limit(name, limit))
            file.write(piece)
    if not size:
        raise InputError(f"{name} is empty. Export it again.")
    return name_sealed(name, file.salt) if isinstance(file, SealedWriter) else name


def _name_own(kind: str) -> str:
    """A name that says which process uses it."""
    return f"{kind}{os.getpid()}-{secrets.token_hex(4)}"


@contextmanager
def open_waiting(waiting: Path, key: bytes | None) -> Iterator[Path]:
    """The file as it was sent, for as long as it is read; decrypted if it is sealed. Errors call it by its name."""
    if key is None:
        with _called_by_name(waiting):
            yield waiting
        return
    folder = waiting.parent / _name_own(OPEN)
    try:
        with explain_os_errors("Reading the file"):
            make_private_folder(folder)
        with open_sealed(waiting, folder, key) as file, _called_by_name(file):
            yield file
    finally:
        remove_tree(folder)


@contextmanager
def _called_by_name(file: Path) -> Iterator[None]:
    """Nobody who sent a file knows the folder where it waits."""
    try:
        yield
    except ReissueError as error:
        error.args = tuple(str(one).replace(str(file), file.name) for one in error.args)
        error.page = error.page and error.page.replace(str(file), file.name)
        raise


def sweep(folder: Path) -> None:
    """Delete what servers that were ended left open or half sent."""
    for name in names_in(folder):
        kind, _, rest = name.partition("-")
        owner = rest.partition("-")[0]
        if f"{kind}-" in (PART, OPEN) and not (owner.isdecimal() and is_running(int(owner))):
            remove_tree(folder / name)


def find_waiting(folder: Path) -> Path | None:
    """The file that waits there; None if there is none. What is being sent or read does not count."""
    names = [name for name in names_in(folder) if not name.startswith((PART, OPEN))]
    return folder / names[0] if names else None


def discard(folder: Path) -> None:
    """Delete what waits in the folder, and what a server that was ended left of a file."""
    for name in names_in(folder):
        remove_tree(folder / name)


def _clean_name(name: str) -> str:
    """A plain name: its stem becomes the label of the release."""
    plain = name.replace("\\", "/").rpartition("/")[2].strip().lstrip(".")
    plain = "".join(letter if letter.isprintable() and letter not in '<>:"|?*' else "-" for letter in plain)
    if not plain or len(plain.encode()) > 200:
        raise InputError("The file has no name, or one that is too long. Rename it, and try again.")
    return plain


def _tell_limit(name: str, limit: int) -> str:
    return (
        f"{name} is larger than the page takes ({limit / 2**30:.3g} GB). Publish it with `reissue publish`, or as "
        "Parquet, which is smaller."
    )
