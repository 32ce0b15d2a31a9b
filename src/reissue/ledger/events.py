"""What was done to a series beside publishing: small private documents, kept in the same transaction as the change.

A withdrawn release is such a document under its own number, so that the number is never given again. Nobody is named.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from reissue.ledger import parquet
from reissue.ledger.disk import explain_os_errors, fault, make_private_folder, remove_tree
from reissue.ledger.records import CatalogueState, Document, Layout, ReleaseRecord, find_user
from reissue.ledger.shelf import name_of
from reissue.ledger.stage import document_table
from reissue.model.release import Table

if TYPE_CHECKING:
    from pathlib import Path

    from reissue.ledger.catalogue import Catalogue, Connection
    from reissue.ledger.shelf import Shelf
    from reissue.ledger.store import Staged, Store

EVENT, WITHDRAWN = "event", "withdrawn"
LOGGED = {"forget": "forget", "coding": "extend", "amend": "amend", "upgrade": "upgrade"}
"""Changes that the log tells, by the name that the ledger gives them."""
_AFTER = "after"
"""Kept with an event: the number of the last release then; with a withdrawal: that of the last event."""


@dataclass(frozen=True)
class Event:
    """what: one of LOGGED, or withdraw; time: UTC, ISO 8601; user: who did it; details: what else is kept.

    place: where it stands among all that was committed: times are told in seconds, and clocks are set back
    """

    what: str
    time: str
    user: str
    details: Mapping[str, object]
    place: tuple[int, ...] = ()

    def document(self) -> Document:
        return {"what": self.what, "time": self.time, "user": self.user, "details": dict(self.details)}


def make_event(what: str, **details: object) -> Event:
    """Something that is done now, by who runs this process."""
    return Event(what, datetime.now(UTC).isoformat(timespec="seconds"), find_user(), details)


def write_event(store: Store, state: CatalogueState, folder: Path, change: str) -> list[Staged]:
    """Write into `folder` that such a change is made now, if the log tells of it; to be placed with the change."""
    if change not in LOGGED:
        return []
    event = {**make_event(LOGGED[change]).document(), _AFTER: state.next_number - 1}
    return [store.write(document_table(event), folder, EVENT, name_of(_count_events(state) + 1))]


def _count_events(state: CatalogueState) -> int:
    return max((int(file.name) for file in state.of_role(EVENT)), default=0)


@dataclass(frozen=True)
class Change:
    """One change outside a release.

    write: writes files into a folder; first: what is done in the transaction before they are put
    """

    name: str
    write: Callable[[Path], list[Staged]] = lambda folder: []
    first: Callable[[Connection], None] = lambda connection: None

    def make(
        self, layout: Layout, catalogue: Catalogue, store: Store, state: CatalogueState, confirm: Callable[[], None]
    ) -> CatalogueState:
        """Write files beside, place them, one transaction, sweep what it replaced; confirm: of the lock."""
        folder = layout.staging / "change"
        with explain_os_errors("Preparing a change"):
            remove_tree(folder)
            make_private_folder(folder)
        staged = [*self.write(folder), *write_event(store, state, folder, self.name)]
        fault(f"{self.name}.written")
        store.place(staged, f"{self.name}.moved")
        with catalogue.writing() as connection:
            self.first(connection)
            catalogue.put_files(connection, [one.file for one in staged])
            fault(f"{self.name}.transaction")
            confirm()
        fault(f"{self.name}.committed")
        state = catalogue.load()
        store.sweep(state.files.values())
        remove_tree(folder)
        fault(f"{self.name}.swept")
        return state


def write_caches(store: Store, caches: Mapping[str, Table], release: int, folder: Path) -> list[Staged]:
    """Caches as they are after that release."""
    return [store.write(parquet.pack(table), folder, "cache", name, release) for name, table in caches.items()]


def write_documents(store: Store, documents: Sequence[tuple[Document, str, str]], folder: Path) -> list[Staged]:
    """Documents, each with its role and name."""
    return [store.write(document_table(one), folder, role, name) for one, role, name in documents]


@dataclass(frozen=True)
class Withdrawal:
    """The last release taken back: its files are no longer referred to; the fact and the reason stay.

    Numbers of people who were new in it are not given again; how many there were is kept, since nobody erased them.
    """

    state: CatalogueState
    reason: str

    @property
    def record(self) -> ReleaseRecord:
        return self.state.releases[-1]

    def write(self, store: Store, caches: Mapping[str, Table], folder: Path) -> list[Staged]:
        """The caches after the release before it, and what stays of it."""
        number, label = self.record.number, self.record.counts.get("label")
        before = self.state.releases[-2].number if len(self.state.releases) > 1 else 0
        new = [file for file in self.state.of_role("identities") if file.release == number]
        numbers = sum(store.read(file, ["subject"]).num_rows for file in new)
        kept = make_event("withdraw", release=number, label=label, reason=self.reason)
        document = {**kept.document(), "numbers": numbers, _AFTER: _count_events(self.state)}
        return [
            *write_caches(store, caches, before, folder),
            store.write(document_table(document), folder, WITHDRAWN, name_of(number), number),
        ]

    def drop(self, catalogue: Catalogue, connection: Connection) -> None:
        """In the transaction, before its files are put. A coding on which a later one builds is kept."""
        codings = self.state.of_role("coding")
        own = [file for file in codings if file.release == self.record.number]
        catalogue.drop_files(connection, "cache")
        catalogue.drop_release(connection, self.record.number)
        if own and own[-1] != codings[-1]:
            catalogue.put_files(connection, [replace(file, release=0) for file in own])


def read_events(shelf: Shelf) -> list[Event]:
    """All events, in the order in which they were committed; an older version kept only their times."""
    state, found = shelf.state, list[Event]()
    for file in [*state.of_role(EVENT), *state.of_role(WITHDRAWN)]:
        kept = shelf.document(file.role, file.name)
        details, time, number = kept["details"], str(kept["time"]), int(file.name)
        assert isinstance(details, Mapping)
        if file.role == EVENT:
            then = max((one.number for one in state.releases if one.created <= time), default=0)
            place = (int(str(kept.get(_AFTER, then))), number, 0)
        else:
            before = sum(one.time <= time for one in found if one.what != "withdraw")
            place = (number, int(str(kept.get(_AFTER, before))), 1)
        found.append(Event(str(kept["what"]), time, str(kept["user"]), details, place))
    return sorted(found, key=lambda event: event.place)
