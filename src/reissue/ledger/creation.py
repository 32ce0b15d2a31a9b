"""Making and finding a series. A killed creation leaves nothing that `open` accepts, and can be tried again."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from reissue.errors import KeyMissing, LedgerDamaged, SeriesError
from reissue.ledger.disk import (
    SeriesLock,
    explain_os_errors,
    fault,
    make_private_folder,
    make_public_folder,
    names_in,
    remove_tree,
    write_durably,
)
from reissue.ledger.keys import key_check, same_check
from reissue.ledger.records import FORMAT, OLDER_FORMATS, CatalogueState, Document, Layout
from reissue.ledger.shelf import name_of
from reissue.ledger.stage import document_table
from reissue.ledger.store import Store
from reissue.ledger.system import HAS_MODES, force_folder, move

if TYPE_CHECKING:
    from reissue.ledger.catalogue import Catalogue

_DRAFT = ".creating"
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
_SQLITE = "sqlite"


def local_folder(path: str | os.PathLike[str]) -> Path:
    """The path; the address of another store (s3a://, hdfs://, dbfs:/) would become a folder of that name here."""
    address = _ADDRESS.match(os.fspath(path))
    if address:
        raise SeriesError(
            f"{os.fspath(path)} is an address of {address[1]}, but a series is a folder: its ledger needs files that "
            "can be locked and renamed. Give a folder on a disk, or one that is mounted on this machine (with Spark, "
            "on every worker, too). Nothing was changed."
        )
    return Path(path)


@dataclass(frozen=True)
class SeriesStart:
    """What a series begins with.

    config: kept as reissue.toml; meta: schema and policy; coding: version 1, if there is one already
    """

    config: str
    meta: Mapping[str, object]
    coding: Mapping[str, object] | None
    seed: int
    key: bytes | None


def create(root: Path, given: SeriesStart, catalogue_url: str | None, *, unfinished: bool = False) -> None:
    """Make a series. Its private folder is built under another name; renaming it is the moment of creation.

    unfinished: nobody can open it before `finish`; created again, it begins anew.
    """
    layout, draft = Layout(root), Layout(root, _DRAFT)
    address = _SQLITE if catalogue_url is None else _without_password(catalogue_url)
    if os.path.lexists(root) and not root.is_dir():
        what = f"a link to {os.readlink(root)}, where no folder is" if root.is_symlink() else "no folder"
        raise SeriesError(f"{root} is {what}; a series is one. Give another path. Nothing was changed.")
    with explain_os_errors(f"Creating the series {root}"):
        made = not root.exists()
        if made:
            root.parent.mkdir(parents=True, exist_ok=True)
            make_private_folder(root)
        _discard_unfinished(layout)
        _refuse_occupied(layout)
        make_private_folder(draft.private)
        force_folder(root)  # first of all, so that whatever else a power cut leaves is known to be ours
    lock = SeriesLock(draft.lock)
    lock.acquire(patience=0.0)
    try:
        _refuse_occupied(layout)
        fault("create.begun")
        with explain_os_errors(f"Creating the series {root}"):
            pointer = _prepare(draft, address)
            if unfinished:
                write_durably(draft.unfinished, b"")
        catalogue = open_catalogue(draft, pointer, catalogue_url, new=True)
        _fill(draft, catalogue, pointer, given)
        with explain_os_errors(f"Creating the series {root}"):
            _appear(layout, draft, given.config, lock)
    except BaseException:
        _clear(layout, draft, made=made)
        raise
    finally:
        lock.release()


def finish(layout: Layout) -> None:
    """The series is all that it was created to be: from now on it can be opened."""
    with explain_os_errors(f"Finishing the series {layout.root}"):
        fault("adopt.unfinished")
        layout.unfinished.unlink()
        force_folder(layout.private)
    fault("adopt.finished")


def is_draft(layout: Layout) -> bool:
    """Whether a series was begun there and never came to be."""
    return layout.unfinished.exists() or ((layout.root / _DRAFT).exists() and not layout.private.exists())


def remove_unfinished(layout: Layout, *, made: bool) -> None:
    """Leave the folder as it was found, or none if it was `made` for the series."""
    _discard_unfinished(layout)
    _clear(layout, Layout(layout.root, _DRAFT), made=made)


def _discard_unfinished(layout: Layout) -> None:
    """Turn a series that was never finished back into a draft. Raises SeriesBusy if somebody is at work in it."""
    if not layout.unfinished.exists():
        return
    lock = SeriesLock(layout.lock)
    lock.acquire(patience=0.0)
    try:
        with explain_os_errors(f"Discarding what an interrupted adoption left in {layout.root}"):
            remove_tree(layout.root / _DRAFT)
            if not HAS_MODES:
                lock.release()
            move(layout.private, layout.root / _DRAFT)
            force_folder(layout.root)
            for name in names_in(layout.releases):
                remove_tree(layout.releases / name)
    finally:
        lock.release()


def read_pointer(layout: Layout, unfinished: bool = False) -> Document:
    """What private/series.json says: format, series id, and where the catalogue is; unfinished: even if it is."""
    try:
        pointer = json.loads(layout.pointer.read_text(encoding="utf-8"))
        version, series, catalogue = pointer["format"], pointer["series"], pointer["catalogue"]
    except (FileNotFoundError, NotADirectoryError) as error:
        raise SeriesError(_explain_absent(layout)) from error
    except OSError as error:
        raise SeriesError(
            f"{layout.pointer} cannot be read: {error.strerror}. Only the owner of a series can open it."
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise LedgerDamaged(
            f"{layout.relative(layout.pointer)}: it is not what was written. Restore it from a backup of the series."
        ) from error
    if layout.unfinished.exists() and not unfinished:
        raise SeriesError(
            f"The adoption of releases into {layout.root} was interrupted. Adopt them again: it begins anew."
        )
    if version not in (FORMAT, *OLDER_FORMATS):
        raise SeriesError(
            f"The series {layout.root} has format {version}; this version of Reissue reads format {FORMAT}. "
            "Install the version of Reissue with which it was last written, or a newer one."
        )
    if not isinstance(series, str) or not isinstance(catalogue, str):
        raise LedgerDamaged(f"{layout.relative(layout.pointer)}: it is not what was written. Restore it from a backup.")
    return {"format": version, "series": series, "catalogue": catalogue}


def open_catalogue(layout: Layout, pointer: Document, catalogue_url: str | None, *, new: bool = False) -> Catalogue:
    """The catalogue where the series says it is; an address given now (with a password) goes before that."""
    series, place = str(pointer["series"]), str(pointer["catalogue"])
    if place == _SQLITE:
        if catalogue_url is not None:
            raise SeriesError(f"The series {layout.root} keeps its catalogue in SQLite; open it without an address.")
        from reissue.ledger.sqlite import SQLiteCatalogue

        return SQLiteCatalogue.create(layout, series) if new else SQLiteCatalogue(layout, series)
    from reissue.ledger.postgresql import PostgreSQLCatalogue, parse_url

    return PostgreSQLCatalogue(parse_url(catalogue_url or place), series)


def check_key(layout: Layout, state: CatalogueState, key: bytes | None, series: str) -> None:
    """Refuse a missing, wrong or needless key before any file is read."""
    if not state.key_check and key is not None:
        raise SeriesError(f"The series {layout.root} is not encrypted, but a key was given. Open it without a key.")
    if state.key_check and key is None:
        raise KeyMissing(f"The ledger of {layout.root} is encrypted. Give its key: env:NAME or file:PATH.")
    if state.key_check and key is not None and not same_check(state.key_check, key_check(key, series)):
        raise KeyMissing(f"The key given does not open the ledger of {layout.root}: it was made with another key.")


def pointer_text(pointer: Document) -> str:
    return json.dumps(pointer, indent=2) + "\n"


def _without_password(catalogue_url: str) -> str:
    from reissue.ledger.postgresql import parse_url, without_password

    return without_password(parse_url(catalogue_url))


def _explain_absent(layout: Layout) -> str:
    if (layout.root / _DRAFT).exists():
        return f"The creation of the series {layout.root} was interrupted. Create it again; nothing is lost."
    missing = layout.relative(layout.pointer)
    if layout.config.exists():
        return (
            f"{layout.root} has lost its ledger: {missing} is missing. Restore private/ from a backup of the series. A "
            "new series would know nothing of what was published about the same people."
        )
    if layout.root.exists():
        return f"{layout.root} is not a series: it has no {missing}. Create one with `reissue init`."
    return f"There is no series {layout.root}. Check the path, or create one with `reissue init`."


def _refuse_occupied(layout: Layout) -> None:
    """A folder may be taken only if it is empty, or holds nothing but what a killed creation left."""
    found = set(os.listdir(layout.root))
    if "private" in found:
        raise SeriesError(f"{layout.root} is a series already. Open it, or give another path. Nothing was changed.")
    ours = _DRAFT in found and not found - {_DRAFT, "reissue.toml", "reissue.toml.new", "releases"}
    if found and (not ours or (layout.releases.exists() and os.listdir(layout.releases))):
        names = ", ".join(sorted(found)[:3])
        if layout.root == Path():
            raise SeriesError(f"This folder is not empty (it holds {names}). Name one for the series.")
        raise SeriesError(f"{layout.root} is not empty (it holds {names}). Give a new path. Nothing was changed.")


def _prepare(draft: Layout, address: str) -> Document:
    """Empty the draft, and name the series; an id left by a killed attempt is used again, to find its rows."""
    series = secrets.token_hex(16)
    try:
        left = read_pointer(draft, unfinished=True)
        series = str(left["series"]) if left["catalogue"] == address else series
    except SeriesError:
        pass
    for entry in draft.private.iterdir():
        if entry.is_dir():
            remove_tree(entry)
        elif entry != draft.lock:
            entry.unlink()
    pointer: Document = {"format": FORMAT, "series": series, "catalogue": address}
    write_durably(draft.pointer, pointer_text(pointer).encode())
    make_private_folder(draft.files)
    make_private_folder(draft.staging)
    fault("create.pointer")
    return pointer


def _fill(draft: Layout, catalogue: Catalogue, pointer: Document, given: SeriesStart) -> None:
    store = Store(draft, given.key)
    staged = [store.write(document_table(given.meta), draft.staging, "meta", "meta")]
    if given.coding is not None:
        staged.append(store.write(document_table(given.coding), draft.staging, "coding", name_of(1)))
    store.place(staged, "create.files")
    row: Document = {
        "format": FORMAT,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "seed": str(given.seed),
        "next_subject": 0,
        "key_check": "" if given.key is None else key_check(given.key, str(pointer["series"])),
        "pointer": pointer_text(pointer),
        "config_sha256": hashlib.sha256(given.config.encode()).hexdigest(),
    }
    with catalogue.writing() as connection:
        catalogue.create_tables(connection)
        catalogue.add_series(connection, row, [one.file for one in staged])
        fault("create.transaction")
    fault("create.catalogue")


def _appear(layout: Layout, draft: Layout, config: str, lock: SeriesLock) -> None:
    write_durably(layout.config, config.encode())
    make_public_folder(layout.releases)
    force_folder(draft.private)
    force_folder(layout.root)
    fault("create.config")
    if not HAS_MODES:  # Windows renames no folder in which a file is open
        lock.release()
    move(draft.private, layout.private)
    force_folder(layout.root)
    force_folder(layout.root.parent)
    fault("create.renamed")


def _clear(layout: Layout, draft: Layout, *, made: bool) -> None:
    """Creation failed: leave the folder as it was found. What cannot be removed, the next attempt knows as a draft."""
    with suppress(OSError):
        if draft.private.exists() and not layout.private.exists():
            layout.config.unlink(missing_ok=True)
            if layout.releases.exists():
                layout.releases.rmdir()
        remove_tree(draft.private)
        if made:
            layout.root.rmdir()
