"""Is everything still what the ledger wrote? Every file is hashed again."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from reissue.errors import SeriesError
from reissue.ledger.disk import OTHERS_WRITE, describe_absence, hash_file, names_in
from reissue.ledger.records import CatalogueState, Damage, Layout, ReleaseRecord, folder_name, is_ours
from reissue.ledger.store import FORGOTTEN, RESTORE, Store
from reissue.ledger.system import HAS_MODES

if TYPE_CHECKING:
    from reissue.ledger.catalogue import Catalogue

_PRIVATE_ENTRIES = {
    "series.json",
    "catalogue.sqlite",
    "catalogue.sqlite-journal",
    "catalogue.sha256",
    "lock",
    "files",
    "staging",
    "uploads",
}
_KEEP_LOCK = "The next publish makes it anew. Do not delete it: it keeps two publishers apart."
_NO_LINK = "The ledger makes no links: put the file itself in its place."
_PERMIT = "Run as the owner of the series, or correct the permissions."
_REMOVE = "If it is not needed, remove it; Reissue has not put it there."


def check(layout: Layout, catalogue: Catalogue, store: Store) -> list[Damage]:
    """All damage found, the catalogue's first. O(bytes of the series)."""
    found: list[Damage] = []
    problem = catalogue.damage()
    if problem:
        remedy = "Restore private/ from a backup of the series."
        found.append(Damage(file=catalogue.place, reason=problem, remedy=remedy))
    try:
        state = catalogue.load()
    except SeriesError:
        return found
    found += [*_pointer_and_config(layout, state), *_private_entries(layout), *_open_folders(layout, state)]
    broken = [(file, store.check(file)) for file in state.files.values()]
    if any(damage for _, damage in broken):  # a publisher at work may have replaced a file meanwhile
        present = set(catalogue.load().files.values())
        found += [damage for file, damage in broken if damage and file in present]
    for record in state.releases:
        if record.number not in state.waiting or not layout.staged_public(record.number).exists():
            found += _public(layout, record)
    labels = {record.number: record.label for record in state.releases}
    found = [replace(damage, label=labels.get(damage.release or 0)) for damage in found]
    return found + list(_unknown_releases(layout, state))


def _pointer_and_config(layout: Layout, state: CatalogueState) -> Iterator[Damage]:
    if layout.pointer.read_text(encoding="utf-8", errors="replace") != state.pointer:
        yield Damage(file=layout.relative(layout.pointer), reason="it is not what was written.", remedy=RESTORE)
    name = layout.relative(layout.config)
    if not layout.config.is_file():
        yield Damage(file=name, reason="it is missing.", remedy=RESTORE)
    elif is_edited(layout, state):
        yield Damage(
            file=name,
            reason="it was changed after the series was created. The series goes by what its ledger holds.",
            remedy="Undo the change, so that nobody is misled.",
        )


def is_edited(layout: Layout, state: CatalogueState) -> bool:
    """Whether the config beside the ledger is not what the series was created with, or cannot be read."""
    try:
        return hash_file(layout.config) != state.config_sha256
    except OSError:
        return True


def _private_entries(layout: Layout) -> Iterator[Damage]:
    """A lost lock, things that are not the ledger's, and things others may read (Windows says that nowhere)."""
    if not layout.lock.exists():
        yield Damage(file=layout.relative(layout.lock), reason="it is missing.", remedy=_KEEP_LOCK)
    for path in _list_entries(layout.private):
        if path.name not in _PRIVATE_ENTRIES:
            yield Damage(file=layout.relative(path), reason="it is not a file of the ledger.", remedy=_REMOVE)
    for path in _list_entries(layout.files):
        if not is_ours(path.name):
            yield Damage(file=layout.relative(path), reason="it is not a file of the ledger.", remedy=_REMOVE)
    for path in _list_entries(layout.private):
        if path.is_symlink():
            reason = f"it is a link to {os.readlink(path)}."
            yield Damage(file=layout.relative(path), reason=reason, remedy=_NO_LINK)
    if not HAS_MODES:
        return
    for path in (layout.private, *_list_entries(layout.private), *_list_entries(layout.files)):
        if path.is_symlink() and not path.exists():
            continue
        mode = stat.S_IMODE(path.stat().st_mode)  # of what a link leads to: that is what others could use
        if mode & 0o077:
            right = "700" if path.is_dir() else "600"
            yield Damage(
                file=layout.relative(path),
                reason=f"others than its owner may use it (mode {mode:04o}).",
                remedy=f"Run: chmod {right} '{path}'",
            )


def _open_folders(layout: Layout, state: CatalogueState) -> Iterator[Damage]:
    """Public folders, and the series' own, in which a stranger could put something else in the place of a release."""
    for path in (layout.root, layout.releases, *(layout.release(record.number) for record in state.releases)):
        mode = stat.S_IMODE(path.stat().st_mode) if HAS_MODES and path.is_dir() else 0
        if mode & OTHERS_WRITE:
            reason = f"others than its owner may write in it (mode {mode:04o}), and replace a release."
            yield Damage(file=layout.relative(path), reason=reason, remedy=f"Run: chmod go-w '{path}'")


def _list_entries(folder: Path) -> list[Path]:
    return [folder / name for name in names_in(folder)]


def _public(layout: Layout, record: ReleaseRecord) -> Iterator[Damage]:
    folder = layout.release(record.number)
    found, closed = _find_files(folder)
    known = {folder / file.name: file.sha256 for file in record.files}
    wrong = [(path, f"it cannot be read ({reason}).", _PERMIT) for path, reason in closed.items()]
    for path, sha256 in known.items():
        if not any(place in path.parents for place in closed):
            wrong += [(path, *why) for why in _differences(path, sha256)]
    wrong += [(path, "it is not part of the release.", _REMOVE) for path in sorted(found) if path not in known]
    for path, reason, remedy in wrong:
        yield Damage(file=layout.relative(path), reason=reason, remedy=remedy, release=record.number)


def _find_files(folder: Path) -> tuple[list[Path], dict[Path, str]]:
    """Everything below a folder that is no folder itself, and the folders that may not be looked into."""
    found: list[Path] = []
    errors: list[OSError] = []
    for place, folders, names in os.walk(folder, onerror=errors.append):
        paths = [Path(place) / name for name in names + folders]
        found += [path for path in paths if path.name in names or path.is_symlink()]
    closed = [error for error in errors if not isinstance(error, FileNotFoundError | NotADirectoryError)]
    return found, {Path(error.filename): str(error.strerror) for error in closed}


def _differences(path: Path, sha256: str) -> Iterator[tuple[str, str]]:
    """What is wrong with a public file, and what to do."""
    try:
        absent = describe_absence(path)
        if absent:
            yield absent, RESTORE
        elif hash_file(path) != sha256:
            yield "its content is not what was published (SHA-256 differs).", RESTORE
    except OSError as error:
        yield f"it cannot be read ({error.strerror}).", _PERMIT


def _unknown_releases(layout: Layout, state: CatalogueState) -> Iterator[Damage]:
    known = {folder_name(record.number) for record in state.releases}
    try:
        names = names_in(layout.releases)
    except OSError as error:
        reason = f"it cannot be read ({error.strerror})."
        yield Damage(file=layout.relative(layout.releases), reason=reason, remedy=_PERMIT)
        return
    for name in names:
        if name not in known:
            path = layout.relative(layout.releases / name)
            yield Damage(file=path, reason="the ledger knows no such release.", remedy=FORGOTTEN)
