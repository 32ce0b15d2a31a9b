"""Documents of a series, for programs and people: as text, and in a file where one is named."""

from __future__ import annotations

import errno
import json
import os
import secrets
import shutil
import stat
from collections.abc import Mapping
from contextlib import suppress
from os import PathLike
from pathlib import Path

from reissue.errors import InputError, escape_json
from reissue.ledger.disk import find_cause, keep_writers_out, open_private, put_in_place
from reissue.ledger.system import force_file, force_folder, move

AUDIT = "reissue-audit/1"
COMPARISON = "reissue-comparison/1"
"""The formats of documents."""

_REMEDIES = {
    errno.ENOSPC: "The disk is full. Free some space, or choose another place.",
    errno.EDQUOT: "Your disk quota is used up. Free some space, or choose another place.",
    errno.EFBIG: "The file would exceed the size allowed here. Raise the limit, or choose another place.",
    errno.EROFS: "The disk is mounted read-only. Choose another place.",
    errno.EACCES: "You may not write there. Choose another place, or correct the permissions.",
    errno.EPERM: "You may not write there. Choose another place, or correct the permissions.",
    errno.ENOENT: "There is no such folder. Make it, or choose another place.",
}


def write_json(document: object, path: str | PathLike[str] | None, public: bool = False) -> str:
    """The document as JSON, also written to `path` if one is given."""
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    return write_text(escape_json(text) + "\n", path, public)


def write_text(text: str, path: str | PathLike[str] | None, public: bool = False) -> str:
    """The text, also written to `path` if one is given."""
    if path is not None:
        write_bytes(text.encode(), path, public)
    return text


def write_bytes(content: bytes, path: str | PathLike[str], public: bool = False) -> None:
    """Write a file as a whole: on a full disk, or if it is interrupted, what was there before is still there.

    Only its owner may read it, whatever the umask is and whoever could read the one before; public: with the
    permissions that the file had; a new one as the umask says, but that only its owner may write.
    """
    try:
        target = Path(path).resolve()  # a link stays one
        if target.exists() and not target.is_file():  # a pipe or /dev/stdout has nothing to lose
            target.write_bytes(content)
        else:
            _replace(target, content, public)
    except OSError as error:
        raise InputError(_explain(path, error)) from error


def write_zip(files: Mapping[str, Path], path: Path) -> None:
    """Files by the names that they get, as one zip file, copied in pieces: the same files give the same one."""
    from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

    beside = path.with_name(f".reissue-{secrets.token_hex(4)}.new")
    try:
        with ZipFile(beside, "x") as packed:
            for name in sorted(files):
                about = ZipInfo(name)  # its date is the same for all
                about.compress_type = ZIP_STORED if name.endswith(".parquet") else ZIP_DEFLATED
                about.external_attr = 0o644 << 16
                with files[name].open("rb") as content, packed.open(about, "w", force_zip64=True) as inside:
                    shutil.copyfileobj(content, inside, 1 << 20)
        keep_writers_out(beside)
        force_file(beside)
        move(beside, path)
        _keep_name(path)
    except OSError as error:
        raise InputError(_explain(path, error)) from error
    finally:
        beside.unlink(missing_ok=True)


def _explain(path: str | PathLike[str], error: OSError) -> str:
    code, reason = find_cause(error)
    kept = " The file that is there is as it was." if Path(path).is_file() else ""
    return f"Writing {os.fspath(path)} failed: {reason}. {_REMEDIES.get(code, 'Choose another place.')}{kept}"


def _replace(target: Path, content: bytes, public: bool) -> None:
    beside = target.with_name(f".reissue-{secrets.token_hex(4)}.new")  # nobody's name, and never too long
    file = beside.open("xb") if public else open_private(beside)
    if public and target.exists():
        beside.chmod(stat.S_IMODE(target.stat().st_mode))
    elif public:
        keep_writers_out(beside)
    put_in_place(target, beside, file, content)
    _keep_name(target)


def _keep_name(target: Path) -> None:
    with suppress(OSError):  # some network drives have no such thing; the file is there
        force_folder(target.parent)
