"""Settings with an attacker's knowledge in them: what two strategies and an attack share."""

from __future__ import annotations

from copy import copy
from typing import ClassVar, Self

from reissue.methods.beliefs.knowledge import Knowledge, ReadKnowledge, require_read
from reissue.methods.beliefs.knowledge_files import load_knowledge
from reissue.model.observed import Names


class Informed:
    """`knowledge` in the words of a person, and, once it is prepared, in codes."""

    knowledge: Knowledge
    _given: ClassVar[ReadKnowledge | None] = None  # an instance that was prepared has its own

    def prepare(self, names: Names) -> Self:
        """The same with the knowledge files read, their labels matched to the series' codes."""
        return self.inform(load_knowledge(self.knowledge, names))

    def inform(self, given: ReadKnowledge) -> Self:
        """The same with knowledge in codes."""
        prepared = copy(self)
        object.__setattr__(prepared, "_given", given)
        return prepared

    @property
    def given(self) -> ReadKnowledge:
        """The knowledge in codes; a SettingsError if its files were not read."""
        return require_read(self.knowledge, self._given)
