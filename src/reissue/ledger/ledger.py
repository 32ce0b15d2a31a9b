"""The ledger of a series: the publisher's private memory, in one folder."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self
from weakref import WeakValueDictionary

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from reissue.errors import LedgerDamaged, ReissueError, SeriesBusy, SeriesError
from reissue.ledger import checking, creation
from reissue.ledger.disk import SeriesLock
from reissue.ledger.events import Change, Withdrawal, write_caches, write_documents
from reissue.ledger.forgetting import Forgetting, Receipt
from reissue.ledger.records import FORMAT, CatalogueState, Damage, Document, Layout, ReleaseRecord
from reissue.ledger.shelf import Shelf, name_of
from reissue.ledger.stage import Stage, check_version
from reissue.ledger.store import Store, hide_withdrawn, needs_recovery, recover, refuse_hidden
from reissue.ledger.upgrading import Upgrade, restore_rows
from reissue.model.release import Facts, Table

if TYPE_CHECKING:
    from reissue.ledger.catalogue import Catalogue


class Ledger:
    """Facts, caches, codings and identities of one series.

    Open one with `Ledger.open` or `Ledger.create`; it is also a context manager. What it shows is the series as of
    opening or of its own last change (`refresh` looks again). Not for use by several threads at once.
    """

    def __init__(self, layout: Layout, catalogue: Catalogue, store: Store, state: CatalogueState) -> None:
        self._layout = layout
        self._catalogue = catalogue
        self._store = store
        self._state = state
        self._lock = SeriesLock(layout.lock)
        self._depth = 0
        self.upgraded = ""
        self._documents: dict[str, bytes] = {}
        self._facts: WeakValueDictionary[int, Facts] = WeakValueDictionary()

    # Opening and closing

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        *,
        config: str,
        meta: Mapping[str, object],
        seed: int,
        coding: Mapping[str, object] | None = None,
        catalogue_url: str | None = None,
        key: bytes | None = None,
        unfinished: bool = False,
    ) -> Ledger:
        """Make a new series in an empty or absent folder. `config` is kept as reissue.toml; `coding` as version 1.

        unfinished: nobody else can open it before `creation.finish`, and creating it again begins anew.
        """
        given = creation.SeriesStart(config, meta, coding, seed, key)
        creation.create(creation.local_folder(path), given, catalogue_url, unfinished=unfinished)
        return cls.open(path, key=key, catalogue_url=catalogue_url, unfinished=unfinished)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        key: bytes | None = None,
        catalogue_url: str | None = None,
        unfinished: bool = False,
    ) -> Ledger:
        """Open a series, and settle what a killed run left. `catalogue_url` is only needed to give a password."""
        pointer = creation.read_pointer(Layout(creation.local_folder(path)), unfinished)
        layout = Layout(Path(path).absolute())  # workers of a cluster have working folders of their own
        catalogue = creation.open_catalogue(layout, pointer, catalogue_url)
        state = catalogue.load()
        creation.check_key(layout, state, key, str(pointer["series"]))
        ledger = cls(layout, catalogue, Store(layout, key), state)
        ledger._settle()
        return ledger

    def close(self) -> None:
        """Nothing is pending: every change is durable when its call returns."""
        self._facts.clear()
        self._documents.clear()
        self._store.kept.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def refresh(self) -> None:
        """Look at the catalogue again."""
        self._state = self._catalogue.load()

    # What it remembers

    @property
    def path(self) -> Path:
        return self._layout.root

    @property
    def config_edited(self) -> bool:
        """Whether the config beside the ledger is not as the series was created with."""
        return checking.is_edited(self._layout, self._state)

    @property
    def seed(self) -> int:
        return self._state.seed

    @property
    def meta(self) -> Document:
        """The schema, the policy and what else belongs to the series as a whole."""
        return self._document("meta", "meta")

    @property
    def releases(self) -> list[ReleaseRecord]:
        """The releases that outsiders may have seen, in order."""
        return self.shelf.releases

    @property
    def next_subject(self) -> int:
        """The number the next new subject gets; numbers are never given again, not even those of forgotten subjects."""
        return self._state.next_subject

    @property
    def coding_versions(self) -> list[int]:
        return self.shelf.coding_versions

    @property
    def shelf(self) -> Shelf:
        """The files as of now, for reading: also by workers elsewhere."""
        return Shelf(self._store, self._state)

    def coding(self, version: int | None = None) -> Document:
        """One version of the coding; the last one if none is named."""
        return self._document("coding", self.shelf.coding_name(version))

    @property
    def fragments(self) -> Document | None:
        """How the table is divided into fragments; None if it is not, or not yet."""
        return self._document("fragments", "fragments") if self._state.of_role("fragments") else None

    def facts(self, number: int) -> Facts:
        """The facts of one release as they were stored: codes under that release's coding version. O(rows)."""
        known = self._facts.get(number)
        if known is None:
            known = self._facts[number] = self.shelf.facts(number)
        return known

    def subjects(self, number: int) -> NDArray[np.int64]:
        """The subjects of one release, ascending, as in its facts; nothing else is read. O(rows)."""
        known = self._facts.get(number)
        return self.shelf.subjects(number) if known is None else known.subjects

    def caches(self, fragment: int | None = None) -> dict[str, Table]:
        """The strategy's caches after the last release, of one fragment if the series is divided."""
        self._current("cache")
        return {name: dict(table) for name, table in self.shelf.caches(fragment).items()}

    @property
    def has_older_caches(self) -> bool:
        """Whether the caches are still those that an older version made: this one may make others of the same facts."""
        last = self._state.releases[-1].number if self._state.releases else 0
        return any(file.release == last > 0 for file in self._state.of_role("before"))

    def identities(self) -> tuple[pa.Array, NDArray[np.int64]]:
        """All identifiers that are not forgotten, and their subject numbers, in the same order."""
        self._current("identities")
        return self.shelf.identities()

    # Publishing

    @contextmanager
    def publisher(self, *, patience: float = 0.3, upgrade: bool = True) -> Iterator[Self]:
        """Be the only publisher of this series; raises SeriesBusy at once if somebody else is.

        Enters with the series settled, and in today's format (`upgrade`). What is staged but not committed is discarded
        on leaving. `patience`: seconds, since who merely opens the series may hold the lock for a moment to sweep it.
        """
        if self._depth:
            self._depth += 1
            try:
                yield self
            finally:
                self._depth -= 1
            return
        self._lock.acquire(patience)
        try:
            with self._catalogue.held():
                self._depth = 1
                self._refuse_damaged()
                self._recover()
                if upgrade and self._state.format != FORMAT:
                    self._upgrade()
                try:
                    yield self
                finally:
                    with suppress(ReissueError):  # else the next opening settles it
                        self._lock.confirm()  # nothing of another publisher's is swept
                        self._recover()
        finally:
            self._depth = 0
            self._lock.release()

    def stage(self, number: int, parts: int = 1) -> Stage:
        """Begin release `number`, the next one, made in `parts` fragments; only inside `publisher()`."""
        if not self._depth:
            raise RuntimeError("A release is staged inside `with ledger.publisher():`.")
        expected = self._state.next_number
        if number != expected:
            raise SeriesError(f"The next release is {expected}, not {number}.")
        refuse_hidden(self._layout, number)
        done, confirm = partial(setattr, self, "_state"), self._lock.confirm
        return Stage(number, self._layout, self._catalogue, self._store, self._state, done, confirm, parts)

    # Changes made alone

    def add_coding(self, version: int, document: Document, meta: Document | None = None) -> None:
        """Append a version of the coding outside a release; with `meta`, which takes the place of the old one."""
        with self.publisher():
            check_version(version, self.coding_versions)
            new = [(document, "coding", name_of(version)), *([] if meta is None else [(meta, "meta", "meta")])]
            write = partial(write_documents, self._store, new)
            self._change(Change("coding" if meta is None else "amend", write))

    def replace_caches(self, caches: Mapping[str, Table]) -> None:
        """Put rebuilt caches in the place of those of the last release."""
        last = self._state.releases[-1].number if self._state.releases else 0
        write = partial(write_caches, self._store, caches, last)
        self._change(Change("caches", write, lambda connection: self._catalogue.drop_files(connection, "cache")))

    def forget(self, identifiers: Iterable[str], *, erase: bool = False, sha256: str | None = None) -> Receipt:
        """Delete people's rows of the identity map, in one transaction; what binds later releases stays.

        A keyed one-way mark of each is left, so that who comes back keeps what was promised; erase: not even that.
        sha256: of the file that named them. If the series does not know all of them, nothing is done.
        """
        with self.publisher():
            planned = Forgetting.plan(self.shelf, identifiers)
            receipt = planned.receipt(erase, sha256)
            if planned.unknown:
                return replace(receipt, people=0, unknown=tuple(planned.unknown))
            if receipt.people:
                self._change(
                    Change(
                        "forget",
                        lambda folder: planned.write(self.shelf, folder, erase, receipt),
                        lambda connection: self._catalogue.drop_these(connection, planned.replaced),
                    )
                )
        return receipt

    def withdraw(self, reason: str, caches: Mapping[str, Table]) -> None:
        """Take the last release back; caches: those after the one before it. A kill leaves all of it, or nothing."""
        planned = Withdrawal(self._state, reason)
        write, drop = partial(planned.write, self._store, caches), partial(planned.drop, self._catalogue)
        self._change(Change("withdraw", write, drop))
        hide_withdrawn(self._layout, self._state)

    def upgrade(self, back: bool = False) -> None:
        """Bring the series to today's format, as any change does; back: undo it, if nothing else was done since."""
        with self.publisher():
            if back:
                self._change(Change("back", first=partial(restore_rows, self._catalogue, self.shelf)))
                self._recover()

    # Proof

    def verify(self) -> list[Damage]:
        """Hash every private and public file again and check the catalogue; what is damaged, by name. O(bytes)."""
        return checking.check(self._layout, self._catalogue, self._store)

    # Inside

    def _change(self, change: Change) -> None:
        with self.publisher():
            self._state = change.make(self._layout, self._catalogue, self._store, self._state, self._lock.confirm)

    def _upgrade(self) -> None:
        """Bring the series of an older version to today's format, before anything else is changed."""
        planned = Upgrade(self._catalogue, self._store, self._state)
        self.upgraded = planned.sentence
        self._change(Change("upgrade", planned.write, planned.put))
        self._recover()

    def _settle(self) -> None:
        """On opening: recover if a killed run left something, unless a live publisher is at work."""
        if not needs_recovery(self._layout, self._catalogue, self._store, self._state):
            return
        if not os.access(self._layout.private, os.W_OK):
            if self._state.waiting:
                waits = next(one for one in self._state.releases if one.number == self._state.waiting[0])
                raise SeriesError(
                    f"An interrupted run left release {waits.name} of {self.path} committed but not yet visible, and "
                    "the folder may not be written. Open the series once with permission to write."
                )
            return
        try:
            with self.publisher(patience=0.0, upgrade=False):
                pass  # entering settles
        except (SeriesBusy, LedgerDamaged):
            pass  # a publisher is at work; or damage, of which `verify` and the next publisher will tell
        except SeriesError:
            if self._state.waiting:
                raise

    def _recover(self) -> None:
        self._state = recover(self._layout, self._catalogue, self._store)

    def _refuse_damaged(self) -> None:
        problem = self._catalogue.damage()
        if problem:
            raise LedgerDamaged(f"{self._catalogue.place}: {problem} Restore private/ from a backup of the series.")

    def _document(self, role: str, name: str) -> Document:
        shelf = self.shelf
        file = shelf.file(role, name)
        if file.sha256 not in self._documents:
            self._documents[file.sha256] = shelf.raw_document(file)
        document: Document = json.loads(self._documents[file.sha256])  # parsed anew: a caller may change what it gets
        return document

    def _current(self, role: str) -> None:
        """Look at the catalogue again if another process has replaced the files of a role since."""
        if not all((self._layout.files / file.path).exists() for file in self._state.of_role(role)):
            self.refresh()
