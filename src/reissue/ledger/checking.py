"""Is everything still what the ledger wrote? Every file is hashed again."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from reissue.errors import SeriesError
from reissue.ledger.disk import hash_file, names_in
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
    found += [*_pointer_and_config(layout, state), *_private_entries(layout)]
    broken = [(file, store.check(file)) for file in state.files.values()]
    if any(damage for _, damage in broken):  # a publisher at work may have replaced a file meanwhile
        present = set(catalogue.load().files.values())
        found += [damage for file, damage in broken if damage and file in present]
    for record in state.releases:
        if record.number not in state.waiting or not layout.staged_public(record.number).exists():
            found += _public(layout, record)
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
    for path in _entries(layout.private):
        if path.name not in _PRIVATE_ENTRIES:
            yield Damage(file=layout.relative(path), reason="it is not a file of the ledger.", remedy=_REMOVE)
    for path in _entries(layout.files):
        if not is_ours(path.name):
            yield Damage(file=layout.relative(path), reason="it is not a file of the ledger.", remedy=_REMOVE)
    if not HAS_MODES:
        return
    for path in (layout.private, *_entries(layout.private), *_entries(layout.files)):
        mode = stat.S_IMODE(path.lstat().st_mode)
        if mode & 0o077:
            right = "700" if path.is_dir() else "600"
            yield Damage(
                file=layout.relative(path),
                reason=f"others than its owner may use it (mode {mode:04o}).",
                remedy=f"Run: chmod {right} '{path}'",
            )


def _entries(folder: Path) -> list[Path]:
    return [folder / name for name in names_in(folder)]


def _public(layout: Layout, record: ReleaseRecord) -> Iterator[Damage]:
    folder = layout.release(record.number)
    known = {file.name: file for file in record.files}
    for name, file in known.items():
        reason = _difference(folder / name, file.sha256)
        if reason:
            place = layout.relative(folder / name)
            yield Damage(file=place, reason=reason, remedy=RESTORE, release=record.number)
    if folder.is_dir():
        for path in sorted(folder.rglob("*")):
            if not path.is_dir() and path.relative_to(folder).as_posix() not in known:
                reason = "it is not part of the release."
                yield Damage(file=layout.relative(path), reason=reason, remedy=_REMOVE, release=record.number)


def _difference(path: Path, sha256: str) -> str | None:
    if not path.is_file():
        return "it is missing."
    try:
        return None if hash_file(path) == sha256 else "its content is not what was published (SHA-256 differs)."
    except OSError as error:
        return f"it cannot be read ({error.strerror})."


def _unknown_releases(layout: Layout, state: CatalogueState) -> Iterator[Damage]:
    known = {folder_name(record.number) for record in state.releases}
    for name in names_in(layout.releases):
        if name not in known:
            path = layout.relative(layout.releases / name)
            yield Damage(file=path, reason="the ledger knows no such release.", remedy=FORGOTTEN)
