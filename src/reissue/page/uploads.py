"""A snapshot that was dropped on the page: it passes in pieces into a private folder, and waits there as one file."""

from __future__ import annotations

import secrets
from pathlib import Path
from urllib.parse import unquote

from starlette.requests import Request

from reissue.errors import InputError
from reissue.ledger.disk import explain_os_errors, make_private_folder, names_in, open_private, remove_tree
from reissue.ledger.system import move

FILE = "x-reissue-file"
"""The header that names the file, percent-encoded."""
PART = ".part-"


async def receive(request: Request, folder: Path, limit: int) -> Path:
    """The file that is sent, whole, in the place of whatever waited in the folder. Memory: one piece at a time."""
    name = _clean_name(unquote(request.headers.get(FILE, "")))
    if int(request.headers.get("content-length", "0")) > limit:
        raise InputError(_tell_limit(name, limit))
    with explain_os_errors("Keeping the file"):
        make_private_folder(folder)
        part = folder / f"{PART}{secrets.token_hex(4)}"
        try:
            await _write(request, part, limit, name)
            waiting = find_waiting(folder)
            if waiting is not None:
                remove_tree(waiting)
            move(part, folder / name)
        finally:
            part.unlink(missing_ok=True)
    return folder / name


async def _write(request: Request, part: Path, limit: int, name: str) -> None:
    size = 0
    with open_private(part) as file:
        async for piece in request.stream():
            size += len(piece)
            if size > limit:
                raise InputError(_tell_limit(name, limit))
            file.write(piece)
    if not size:
        raise InputError(f"{name} is empty. Export it again.")


def find_waiting(folder: Path) -> Path | None:
    """The file that waits there; None if there is none. What is still being sent does not count."""
    names = [name for name in names_in(folder) if not name.startswith(PART)]
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
