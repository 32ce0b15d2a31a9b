"""The next release while it is being made: nothing of it is visible or remembered before `commit`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from reissue.errors import LedgerDamaged, ReissueError, SeriesError
from reissue.ledger import parquet
from reissue.ledger.disk import (
    explain_os_errors,
    fault,
    hash_file,
    make_private_folder,
    remove_tree,
    sync_public,
)
from reissue.ledger.records import CatalogueState, Document, Layout, PublicFile, ReleaseRecord
from reissue.ledger.shelf import StoredTable, name_of, part_name
from reissue.ledger.store import Staged, Store, reveal
from reissue.ledger.system import force_folder
from reissue.model.release import Facts, Table

if TYPE_CHECKING:
    from reissue.ledger.catalogue import Catalogue


@dataclass(frozen=True)
class PartWriter:
    """Writes private files of one fragment of the release that is being made; it can be sent to a worker."""

    store: Store
    folder: Path
    number: int
    fragment: int | None

    def facts(self, facts: Facts) -> list[Staged]:
        """Who is in which class with which value. O(rows)."""
        if facts.number != self.number:
            raise ValueError(f"The facts are of release {facts.number}; release {self.number} is being made.")
        name = part_name(name_of(self.number), self.fragment)
        written = [self._write(parquet.rows_of(facts), "facts", name)]
        written.append(self._write(parquet.shape_of(facts), "shape", name))
        fault("stage.facts")
        return written

    def rows(self, table: pa.Table) -> Staged:
        """Rows that another worker needs; they stay in the staging folder and are swept with it."""
        return self._write(table, "rows", part_name(name_of(self.number), self.fragment))

    def caches(self, caches: Mapping[str, Table]) -> list[Staged]:
        """The strategy's caches after this release; one that is as it was stays where it is."""
        written = []
        for name, table in caches.items():
            own = part_name(name, self.fragment)
            if isinstance(table, StoredTable) and table.file.name == own:
                written.append(Staged(None, table.file))
            else:
                written.append(self._write(parquet.pack(table), "cache", own))
        fault("stage.caches")
        return written

    def identities(self, identifiers: pa.Array, numbers: NDArray[np.int64]) -> list[Staged]:
        """New subjects: identifiers and their surrogate numbers, in the same order."""
        numbers = np.asarray(numbers, dtype=np.int64)
        if len(numbers) != len(identifiers):
            raise ValueError(f"{len(identifiers)} identifiers were given with {len(numbers)} numbers.")
        if len(numbers) == 0:
            return []
        name = part_name(name_of(self.number), self.fragment or 0)
        written = [self._write(parquet.identities_table(identifiers, numbers), "identities", name)]
        fault("stage.identities")
        return written

    def _write(self, table: pa.Table, role: str, name: str) -> Staged:
        return self.store.write(table, self.folder, role, name, self.number)


class Stage:
    """Collects the files of one release. Public files are written into `public`, everything else into `folder`."""

    def __init__(
        self,
        number: int,
        layout: Layout,
        catalogue: Catalogue,
        store: Store,
        state: CatalogueState,
        done: Callable[[CatalogueState], None],
        confirm: Callable[[], None],
        parts: int = 1,
    ) -> None:
        self.number = number
        self._parts = parts
        self._layout = layout
        self._catalogue = catalogue
        self._store = store
        self._state = state
        self._done = done
        self._confirm = confirm
        self._staged: list[Staged] = []
        self._hashed: dict[str, PublicFile] = {}
        self._next_subject = state.next_subject
        self.folder = layout.staged(number)
        self.public: Path = layout.staged_public(number)
        with explain_os_errors(f"Preparing release {number}"):
            remove_tree(self.folder)
            make_private_folder(self.folder)
            self.public.mkdir()
        fault("stage.begun")

    def writer(self, fragment: int = 0) -> PartWriter:
        """Writes the private files of one fragment, in this process or another; what it returns is to be `take`n."""
        return PartWriter(self._store, self.folder, self.number, fragment if self._parts > 1 else None)

    def facts(self, facts: Facts) -> None:
        """Who is in which class with which value. O(rows)."""
        self.take(self.writer().facts(facts))

    def caches(self, caches: Mapping[str, Table]) -> None:
        """The strategy's caches after this release; those of the release before are dropped by the commit."""
        self.take(self.writer().caches(caches))

    def identities(self, identifiers: pa.Array, numbers: NDArray[np.int64]) -> None:
        """The subjects that are new in this release: identifiers and their surrogate numbers, in the same order."""
        self.number_subjects(numbers)
        part = sum(one.file.role == "identities" for one in self._staged)
        self.take(self.writer(part).identities(identifiers, numbers))

    def number_subjects(self, numbers: NDArray[np.int64]) -> None:
        """Note that these numbers are given to new subjects."""
        ordered = np.asarray(numbers, dtype=np.int64)
        if (ordered[1:] <= ordered[:-1]).any():
            ordered = np.sort(ordered)
        if len(ordered) == 0:
            return
        if int(ordered[0]) < self._next_subject or bool((ordered[1:] == ordered[:-1]).any()):
            raise ValueError(f"New subjects need numbers of their own, from {self._next_subject} on.")
        self._next_subject = int(ordered[-1]) + 1

    def take(self, staged: Iterable[Staged]) -> None:
        """Files that a writer has written for this release."""
        self._staged += staged

    def show(self, files: Iterable[PublicFile]) -> None:
        """Public files that a worker has written, forced to disk and hashed."""
        self._hashed |= {file.name: file for file in files}

    def fragments(self, document: Document) -> None:
        """How the table is divided, for the life of the series."""
        self._write(document_table(document), "fragments", "fragments")

    def coding(self, version: int, document: Document) -> None:
        """A new version of the coding, which this release may use."""
        known = versions(self._state) + [int(one.file.name) for one in self._staged if one.file.role == "coding"]
        check_version(version, known)
        self._write(document_table(document), "coding", name_of(version))
        fault("stage.coding")

    def commit(self, record: ReleaseRecord) -> ReleaseRecord:
        """Make the release part of the series for good, then visible; the record, with what failed afterwards.

        Order: everything staged is on disk; private files are in their places; one catalogue transaction; only then
        one rename shows the public files. A kill in between is settled when the series is opened again.
        """
        self._check(record)
        fault("commit.begun")
        with explain_os_errors(f"Forcing release {record.name} to disk"):
            sync_public(self.public)
            force_folder(self.folder)
            force_folder(self._layout.staging)
            shown = public_files(self.public, self._hashed)
        fault("commit.synced")
        self._store.place(self._staged, "commit.moving")
        fault("commit.moved")
        created = record.created or datetime.now(UTC).isoformat(timespec="seconds")
        record = replace(record, created=created, files=shown, steps=tuple(record.steps))
        self._record(record)
        try:
            fault("commit.committed")
            reveal(self._layout, self._catalogue, self.number)
            return self._clear()
        except ReissueError as error:
            return replace(record, warnings=(self._warn(record, error),))

    def _record(self, record: ReleaseRecord) -> None:
        """The one transaction. Where its answer is lost, the catalogue is asked whether it took place."""
        try:
            with self._catalogue.writing() as connection:
                self._catalogue.drop_files(connection, "cache")
                self._catalogue.put_files(connection, [one.file for one in self._staged])
                self._catalogue.put_next_subject(connection, self._next_subject)
                self._catalogue.put_release(connection, self._store.seal(record))
                fault("commit.transaction")
                self._confirm()
        except SeriesError as error:
            try:
                there = self.number in [known.number for known in self._catalogue.load().releases]
            except SeriesError:
                raise SeriesError(
                    f"Whether release {record.name} was committed is not known: {error} The next command that opens "
                    "the series tells (`reissue log`); look before you publish this snapshot again."
                ) from error
            if not there:
                raise

    def _clear(self) -> ReleaseRecord:
        """What is left to do once the release is visible; its record as the catalogue holds it."""
        state = self._catalogue.load()
        self._done(state)
        self._store.sweep(state.files.values())
        with explain_os_errors("Clearing the staging folder"):
            remove_tree(self.folder)
        fault("commit.swept")
        return self._store.unseal(state.releases[-1])

    def _warn(self, record: ReleaseRecord, error: ReissueError) -> str:
        place = self._layout.relative(self._layout.release(self.number))
        seen = "it can be handed out" if self._layout.release(self.number).exists() else f"{place} is not there yet"
        return (
            f"Release {record.name} is committed: {seen}. Only what follows the commit failed, and the next command "
            f"that opens the series completes it; do not publish this snapshot again. {error}"
        )

    def _check(self, record: ReleaseRecord) -> None:
        roles = [one.file.role for one in self._staged]
        if record.number != self.number:
            raise ValueError(f"The record is of release {record.number}; release {self.number} is being made.")
        if roles.count("facts") != self._parts:
            raise ValueError(f"Release {self.number} needs its facts, of {self._parts} fragments each once.")
        known = versions(self._state) + [int(one.file.name) for one in self._staged if one.file.role == "coding"]
        if record.coding_version not in known:
            raise ValueError(f"Release {self.number} uses coding version {record.coding_version}, which is not kept.")
        if self._catalogue.load().releases != self._state.releases:
            raise LedgerDamaged(f"The catalogue changed while release {record.name} was being made. Open it again.")

    def _write(self, table: pa.Table, role: str, name: str) -> None:
        self._staged.append(self._store.write(table, self.folder, role, name, self.number))


def versions(state: CatalogueState) -> list[int]:
    """The versions of the coding that are kept, ascending."""
    return [int(file.name) for file in state.of_role("coding")]


def check_version(version: int, known: list[int]) -> None:
    if known and version != known[-1] + 1:
        raise ValueError(f"The next version of the coding is {known[-1] + 1}, not {version}; codings are appended.")


def document_table(document: Mapping[str, object]) -> pa.Table:
    return parquet.document_table(json.dumps(document, ensure_ascii=False).encode())


def public_files(folder: Path, hashed: Mapping[str, PublicFile] | None = None) -> tuple[PublicFile, ...]:
    """Every file below a release's folder with its hash, in order of name; those already `hashed` are not read."""
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    files = []
    for path in found:
        name = path.relative_to(folder).as_posix()
        known = (hashed or {}).get(name)
        files.append(known or PublicFile(name, hash_file(path), path.stat().st_size))
    return tuple(files)
