"""A series of an older version, brought to today's format: one transaction, and a copy of the catalogue to go back to.

Format 2 adds marks, receipts, events, withdrawals and encrypted words to format 1, and changes nothing else. A version
that knows format 1 only would pass over what was added and break promises; the number keeps it from trying.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reissue.errors import SeriesError
from reissue.ledger.events import EVENT
from reissue.ledger.records import FORMAT, CatalogueState
from reissue.ledger.shelf import name_of
from reissue.ledger.stage import document_table

if TYPE_CHECKING:
    from reissue.ledger.catalogue import Catalogue, Connection
    from reissue.ledger.shelf import Shelf
    from reissue.ledger.store import Staged, Store

_BEFORE, _NAME = "before", "catalogue"


@dataclass(frozen=True)
class Upgrade:
    """One upgrade, planned. The copy of the catalogue is a private file: hashed, with a key encrypted."""

    catalogue: Catalogue
    store: Store
    state: CatalogueState

    @property
    def sentence(self) -> str:
        return (
            f"The ledger was brought from format {self.state.format} to {FORMAT}, which older versions do not read; a "
            "copy of the catalogue as it was is kept."
        )

    def write(self, folder: Path) -> list[Staged]:
        last = self.state.releases[-1].number if self.state.releases else 0
        return [self.store.write(document_table(self.catalogue.copy_rows()), folder, _BEFORE, _NAME, last)]

    def put(self, connection: Connection) -> None:
        """In the transaction: the new format; with a key, the words about releases are encrypted from now on."""
        pointer = {**json.loads(self.state.pointer), "format": FORMAT}
        self.catalogue.put_format(connection, FORMAT, json.dumps(pointer, indent=2) + "\n")
        for record in self.state.releases if self.store.key is not None else ():
            self.catalogue.put_words(connection, self.store.seal(record))


def restore_rows(catalogue: Catalogue, shelf: Shelf, connection: Connection) -> None:
    """In the transaction: the catalogue as it was before the upgrade, unless that would forget a later change."""
    if not shelf.state.of_role(_BEFORE):
        raise SeriesError("The series was not upgraded, so there is nothing to go back to.")
    copied: dict[str, Any] = shelf.document(_BEFORE, _NAME)
    known = {(file["role"], file["name"]): file["sha256"] for file in copied["reissue_files"]}
    events = sum(role == EVENT for role, _ in known)
    own = {(_BEFORE, _NAME), (EVENT, name_of(events + 1))}  # what the upgrade itself has written
    if known != {key: file.sha256 for key, file in shelf.state.files.items() if key not in own}:
        raise SeriesError(
            "The series was changed after the upgrade. The version before would forget that, so it cannot go back."
        )
    catalogue.replace_rows(connection, copied)
