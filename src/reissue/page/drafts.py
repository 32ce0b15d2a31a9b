"""A series before it is one: a table in a private folder, and what was decided about it so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from reissue.compare.planning import KNOWS, list_fitting, propose_policy
from reissue.errors import InputError, SchemaError
from reissue.ledger.keys import read_key
from reissue.ledger.sealing import read_name
from reissue.page.jobs import Workplace
from reissue.page.uploads import find_waiting, open_waiting
from reissue.schema import Schema
from reissue.schema.proposal import Proposal

ROLES = {
    "identifier": "who the row is about",
    "quasi-identifier": "outsiders may know it",
    "sensitive": "nobody may learn it",
    "left out": "not published",
}


@dataclass(eq=False)
class SeriesDraft(Workplace):
    """A table whose series is not made yet.

    changes, knows: the answers to the two questions; config: once it is written
    """

    proposal: Proposal | None = None
    changes: str = "anything"
    knows: Sequence[str] = tuple(KNOWS)
    comparison: dict[str, object] | None = None
    config: Path | None = None

    under: ClassVar[str] = "/new"

    @property
    def table(self) -> Path:
        found = find_waiting(self.path)
        if found is None:
            raise InputError("The table is not there any more: begin again.")
        return found

    @property
    def file(self) -> Path:
        """What the table is called."""
        return Path(read_name(self.table))

    def open(self) -> AbstractContextManager[Path]:
        """The table as it was sent, for as long as it is read."""
        return open_waiting(self.table, None if self.key is None else read_key(self.key))

    def suggest(self, roles: Mapping[str, str] | None = None) -> Proposal:
        """What the columns may be; roles: by column, where the steward has decided."""
        given = {} if roles is None else _read_roles(roles)
        with self.open() as table:
            made = Schema.suggest(table, **given)  # type: ignore[arg-type]
        self.proposal = replace(made, sources=(self.file.name,))
        self.comparison = self.config = None
        return self.proposal

    def get_proposal(self) -> Proposal:
        return self.proposal or self.suggest()

    def list_policies(self) -> list[dict[str, object]]:
        """The strategies that fit, each with settings that keep the same promises."""
        policy = self.get_proposal().policy
        return [propose_policy(name, policy) for name in list_fitting(self.changes, self.knows)]

    def choose(self, strategy: str) -> Proposal:
        """The proposal with that strategy."""
        proposal = self.get_proposal()
        return replace(proposal, policy=propose_policy(strategy, proposal.policy))


def _read_roles(roles: Mapping[str, str]) -> dict[str, object]:
    by = {role: [name for name, own in roles.items() if own == role] for role in ROLES}
    if len(by["identifier"]) != 1:
        raise SchemaError("Choose one column that says who a row is about.")
    if not by["sensitive"]:
        raise SchemaError("Choose at least one column that nobody may learn.")
    return {
        "identifier": by["identifier"][0],
        "sensitive": by["sensitive"],
        "quasi_identifiers": by["quasi-identifier"],
    }
