"""The immutable private files: written beside, moved into place under their hash, checked whenever they are read.

After a kill: what was committed is revealed, what was not is discarded, what nobody refers to is swept. What was read
is kept while a series is open: every publish lays the new release beside all earlier ones.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from secrets import token_hex
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar, cast

import pyarrow as pa

from reissue.errors import LedgerDamaged, SeriesError
from reissue.ledger import parquet
from reissue.ledger.disk import (
    describe_absence,
    explain_os_errors,
    fault,
    hash_file,
    make_private_folder,
    make_public_folder,
    names_in,
    remove_tree,
    write_durably,
)
from reissue.ledger.keys import SALT_BYTES, file_key, new_salt
from reissue.ledger.records import CatalogueState, Damage, Layout, PrivateFile, ReleaseRecord, is_ours
from reissue.ledger.system import force_file, force_folder, move

if TYPE_CHECKING:
    from reissue.ledger.catalogue import Catalogue

T = TypeVar("T")
RESTORE = "Restore it from a backup of the series."
REBUILD = "Run `reissue verify --rebuild` to make it again from the facts."
IN_CLEAR = ("fragments", "common_classes")
"""Counts that say how files belong together: needed to read a series, and numbers only."""
MOST = 1 << 26
"""Bytes that are kept in all."""
MOST_OF_ONE = MOST >> 4
"""What is larger is read again: few releases would fit beside it, and there are never so many of them."""


class Kept:
    """What was made of files, by their hashes, for as long as a series is open; what was used longest ago goes first.

    Nobody may change what it holds. It is not sent to workers: elsewhere it begins empty.
    """

    def __init__(self) -> None:
        self._held: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._bytes, self._lock = 0, Lock()

    def take(self, key: Hashable, make: Callable[[], T], size: Callable[[T], int]) -> T:
        """What is kept by that key; else what `make` makes, of so many bytes."""
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                return cast("T", self._held[key][0])
        made = make()
        if (bytes_ := size(made)) <= MOST_OF_ONE:
            with self._lock:
                if key not in self._held:
                    self._held[key] = made, bytes_
                    self._bytes += bytes_
                while self._bytes > MOST:
                    self._bytes -= self._held.popitem(last=False)[1][1]
        return made

    def find(self, key: Hashable) -> Any:
        """What is kept by that key, or None."""
        with self._lock:
            return self._held.get(key, (None,))[0]

    def clear(self) -> None:
        with self._lock:
            self._held.clear()
            self._bytes = 0

    def __reduce__(self) -> tuple[type[Kept], tuple[()]]:
        return Kept, ()


@dataclass(frozen=True)
class Staged:
    """A file that is written but not yet in its place. path: None where it is in its place already, and stays."""

    path: Path | None
    file: PrivateFile


class Store:
    """Writes, places and reads private files, encrypted if there is a key. kept: what was made of them."""

    def __init__(self, layout: Layout, key: bytes | None) -> None:
        self._layout = layout
        self._key = key
        self.kept = Kept()

    @property
    def key(self) -> bytes | None:
        """The master key, if the series is encrypted."""
        return self._key

    def write(self, table: pa.Table, folder: Path, role: str, name: str, release: int = 0) -> Staged:
        """Write a table into `folder`, to be placed later. Not forced to disk yet."""
        salt = b"" if self._key is None else new_salt()
        key = None if self._key is None else file_key(self._key, salt)
        path = folder / f"{role}-{token_hex(8)}.parquet"  # its own, also when a worker tries again
        with explain_os_errors(f"Writing {self._layout.relative(path)}"):
            sha256, size = parquet.write_table(path, table, key)
        return Staged(path, PrivateFile(role, name, release, sha256, size, salt.hex()))

    def seal(self, record: ReleaseRecord) -> ReleaseRecord:
        """The record as the catalogue may keep it: with a key, its words are encrypted like a file."""
        if self._key is None or record.sealed:
            return record
        words = {"strategy": record.strategy, "settings": dict(record.settings), "counts": dict(record.counts)}
        content = json.dumps({**words, "steps": list(record.steps)}, ensure_ascii=False).encode()
        salt = new_salt()
        cipher = parquet.to_bytes(parquet.document_table(content), file_key(self._key, salt))
        clear = {name: record.counts[name] for name in IN_CLEAR if name in record.counts}
        sealed = base64.b64encode(salt + cipher).decode()
        return replace(record, strategy="", settings={}, counts=clear, steps=(), sealed=sealed)

    def unseal(self, record: ReleaseRecord) -> ReleaseRecord:
        """The record with its words."""
        if not record.sealed or self._key is None:
            return record
        words = _unseal(self._key, record.sealed)
        return replace(record, **{**words, "steps": tuple(words["steps"])}, sealed="")

    def place(self, staged: Iterable[Staged], moving: str) -> None:
        """Force files to disk and move them into place. One that is there already is replaced by its equal."""
        with explain_os_errors("Moving private files into place"):
            for one in staged:
                if one.path is None:
                    continue
                force_file(one.path)
                move(one.path, self._layout.files / one.file.path)
                fault(moving)
            force_folder(self._layout.files)

    def read(self, file: PrivateFile, columns: Sequence[str] | None = None, label: str | None = None) -> pa.Table:
        """Read a file, or some columns of it, after checking it against its hash. O(bytes).

        label: what people call its release, for the message about a damaged file
        """
        return self._read(file, self._layout.files / file.path, columns, label)

    def read_staged(self, staged: Staged) -> pa.Table:
        """Read a file that is not in its place yet."""
        return self.read(staged.file) if staged.path is None else self._read(staged.file, staged.path)

    def _read(
        self, file: PrivateFile, path: Path, columns: Sequence[str] | None = None, label: str | None = None
    ) -> pa.Table:
        try:
            content = path.read_bytes()
        except OSError as error:
            raise self._refuse(file, f"it cannot be read ({error.strerror}).", label) from error
        if hashlib.sha256(content).hexdigest() != file.sha256:
            raise self._refuse(file, _explain_altered(len(content), file.size), label)
        try:
            key = file_key(self._key, bytes.fromhex(file.salt)) if self._key is not None else None
            return parquet.read_table(content, key, columns)
        except (OSError, ValueError, pa.ArrowException) as error:  # the hash is right, so the salt is not
            raise self._refuse(file, f"it cannot be decoded ({error}).", label) from error

    def check(self, file: PrivateFile) -> Damage | None:
        """Hash a file again. O(bytes), without holding it in memory."""
        path = self._layout.files / file.path
        try:
            absent = describe_absence(path)
            if absent:
                return self._damage(file, absent)
            found = hash_file(path)
        except OSError as error:
            return self._damage(file, f"it cannot be read ({error.strerror}).")
        if found != file.sha256:
            return self._damage(file, _explain_altered(path.stat().st_size, file.size))
        return None

    def orphans(self, known: Iterable[PrivateFile]) -> list[Path]:
        """Files in the ledger's own naming that the catalogue does not know."""
        names = {file.path for file in known}
        strays = [name for name in names_in(self._layout.files) if is_ours(name) and name not in names]
        return [self._layout.files / name for name in strays]

    def sweep(self, known: Iterable[PrivateFile]) -> None:
        """Delete what no row of the catalogue refers to: files of a killed run, and those just replaced."""
        with explain_os_errors("Deleting private files that are no longer needed"):
            orphans = self.orphans(known)
            for path in orphans:
                remove_tree(path)
            if orphans:
                force_folder(self._layout.files)

    def _refuse(self, file: PrivateFile, reason: str, label: str | None) -> LedgerDamaged:
        return LedgerDamaged(str(replace(self._damage(file, reason), label=label)))

    def _damage(self, file: PrivateFile, reason: str) -> Damage:
        path = self._layout.relative(self._layout.files / file.path)
        remedy = REBUILD if file.role == "cache" else RESTORE
        return Damage(
            file=path, reason=f"{reason} It holds {file.meaning}.", remedy=remedy, release=file.release or None
        )


@lru_cache(maxsize=4096)
def _unseal(key: bytes, sealed: str) -> dict[str, Any]:
    try:
        content = base64.b64decode(sealed)
        table = parquet.read_table(content[SALT_BYTES:], file_key(key, content[:SALT_BYTES]))
        words: dict[str, Any] = json.loads(parquet.document_from(table))
    except (OSError, ValueError, pa.ArrowException) as error:
        raise LedgerDamaged(
            f"The catalogue: what it says of a release cannot be decoded ({error}). Restore private/ from a backup."
        ) from error
    return words


def _explain_altered(size: int, expected: int) -> str:
    if size < expected:
        return f"it is truncated: {size} of {expected} bytes."
    return "its content is not what was written (SHA-256 differs)."


def needs_recovery(layout: Layout, catalogue: Catalogue, store: Store, state: CatalogueState) -> bool:
    """Whether a killed run left something, or a publisher is at work right now."""
    leftovers = names_in(layout.staging) or _find_half_written(layout) or store.orphans(state.files.values())
    half = leftovers or _shown_withdrawn(layout, state) or _pointer_behind(layout, state)
    return bool(state.waiting or half) or catalogue.needs_settling()


def recover(layout: Layout, catalogue: Catalogue, store: Store) -> CatalogueState:
    """Bring the series to a settled state; only under the lock. Doing it twice changes nothing."""
    catalogue.settle()
    with explain_os_errors("Settling the series"):
        make_public_folder(layout.releases)  # a backup may have dropped empty folders
        for folder in (layout.files, layout.staging):
            make_private_folder(folder)
        for path in _find_half_written(layout):
            path.unlink(missing_ok=True)
    state = catalogue.load()
    for number in state.waiting:
        reveal(layout, catalogue, number)
    if state.waiting:
        state = catalogue.load()
    hide_withdrawn(layout, state)
    if _pointer_behind(layout, state):
        write_durably(layout.pointer, state.pointer.encode())
    with explain_os_errors("Discarding what an interrupted run left"):
        leftovers = names_in(layout.staging)
        for name in leftovers:
            remove_tree(layout.staging / name)
        if leftovers:
            force_folder(layout.staging)
    store.sweep(state.files.values())
    return state


def hide_withdrawn(layout: Layout, state: CatalogueState) -> None:
    """Remove the public files of withdrawn releases: out of sight in one step, then for good."""
    for number in _shown_withdrawn(layout, state):
        hidden = layout.staging / f"withdrawn-{number}"
        with explain_os_errors(f"Removing {layout.relative(layout.release(number))}, which is withdrawn"):
            remove_tree(hidden)
            move(layout.release(number), hidden)
            for folder in (layout.staging, layout.releases):
                force_folder(folder)
            fault("withdraw.hidden")
            remove_tree(hidden)


def _shown_withdrawn(layout: Layout, state: CatalogueState) -> list[int]:
    return [number for number in state.withdrawn if layout.release(number).exists()]


def _pointer_behind(layout: Layout, state: CatalogueState) -> bool:
    """Whether a change of format was killed between the catalogue and series.json: they differ in nothing else."""
    try:
        there, known = (json.loads(text) for text in (layout.pointer.read_bytes(), state.pointer))
        return bool(there != known and {**there, "format": 0} == {**known, "format": 0})
    except (OSError, ValueError, TypeError):  # damaged, of which `verify` tells
        return False


def _find_half_written(layout: Layout) -> list[Path]:
    return [layout.private / name for name in names_in(layout.private) if name.endswith(".new")]


FORGOTTEN = (
    "If it was published and private/ comes from an older backup, the ledger has forgotten what was said about whom: "
    "restore the latest private/ before you publish. Only if it was put there by hand, move it away."
)


def refuse_hidden(layout: Layout, number: int) -> None:
    """Refuse, before anything is made, a release that could be committed but not revealed."""
    place = layout.relative(layout.release(number))
    if layout.release(number).exists():
        raise SeriesError(f"{place} exists, but the ledger knows no such release. {FORGOTTEN}")
    with explain_os_errors(f"Looking at {layout.relative(layout.releases)}"):
        same_disk = layout.releases.stat().st_dev == layout.staging.stat().st_dev
    if not same_disk:
        raise SeriesError(
            f"{layout.relative(layout.releases)} is on another disk than the rest of the series, so {place} could not "
            "appear in one step. Keep it inside the series, and copy releases from there."
        )
    if not os.access(layout.releases, os.W_OK):
        raise SeriesError(f"{place} cannot be made: you may not write in {layout.relative(layout.releases)}.")


def reveal(layout: Layout, catalogue: Catalogue, number: int) -> None:
    """Make a committed release visible: one rename, then the mark that it is done."""
    staged, shown = layout.staged_public(number), layout.release(number)
    place = layout.relative(shown)
    if staged.exists():
        if shown.exists() and os.listdir(shown):
            raise LedgerDamaged(
                f"{place} exists already, but the ledger has not put it there. The release is committed and waits "
                f"in {layout.relative(staged)}. Move the folder {place} away and open the series again."
            )
        with explain_os_errors(f"Revealing {place} (it is committed; opening the series again will reveal it)"):
            move(staged, shown)
            fault("commit.renamed")
            force_folder(layout.releases)
            force_folder(staged.parent)
        fault("commit.synced-reveal")
    elif not shown.exists():
        raise LedgerDamaged(
            f"{place} is missing: the release is committed, but its public files are neither there nor in "
            f"{layout.relative(staged)}. Restore them from a backup of the series."
        )
    with catalogue.writing() as connection:
        catalogue.mark_revealed(connection, number)
    fault("commit.marked")
