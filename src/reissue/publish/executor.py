"""Where a release is made: what publishing asks of this process, or of the workers of Spark."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from reissue.arrays.types import Int64
from reissue.coding import Coding, SnapshotSummary
from reissue.engine.output import Format
from reissue.ledger import ReleaseRecord, Stage
from reissue.model.domain import Domain
from reissue.model.fragment_counts import TableCounts
from reissue.model.fragments import Fragments
from reissue.publish.changes import ColumnTraits
from reissue.publish.division import FragmentChanges, FragmentSummary, TableDivision
from reissue.publish.fragment import FragmentJob
from reissue.publish.self_check import CommonCheck
from reissue.schema import Schema

if TYPE_CHECKING:
    from reissue.engine.read import Source
    from reissue.history.public_files import Extent
    from reissue.model.requirement import Requirement


class Executor(ABC):
    """One attempt to publish, on one engine: it keeps the rows, publishing sees a few numbers of each fragment.

    Its verbs are called in the order in which they stand here; lists have one entry per fragment.
    """

    @abstractmethod
    def start(self, progress: Callable[[str], None]) -> None:
        """Whatever must be there before the snapshot is read."""

    @abstractmethod
    def read(self, source: Source, schema: Schema) -> SnapshotSummary:
        """Read the snapshot and check it: what a coding has to learn from it."""

    @abstractmethod
    def encode(self, coding: Coding) -> int:
        """Put the rows into codes; how many there are."""

    @abstractmethod
    def cut(self, count: int, side: Requirement) -> Fragments:
        """Cuts for so many fragments, from a sample of the rows; each is to satisfy the requirement as one class."""

    @abstractmethod
    def survey(
        self, jobs: Sequence[FragmentJob], division: TableDivision, stage: Stage | None
    ) -> list[FragmentChanges]:
        """Deal the rows out, compare them with their past, and count what fragments need to know of each other.

        stage: None for a preview, of which nothing is written
        """

    @abstractmethod
    def measure_columns(self) -> list[ColumnTraits]:
        """What is in the insensitive columns."""

    @abstractmethod
    def refuse_lookalikes(self, surveys: Sequence[FragmentChanges]) -> None:
        """Raise SnapshotError if known people come under identifiers that a program has altered."""

    @abstractmethod
    def find_name(self, number: int) -> str:
        """The identifier of a subject; its number if it has been forgotten."""

    @abstractmethod
    def sum_counts(self) -> list[TableCounts] | None:
        """What each fragment is told of the whole table; None if the strategy does not ask."""

    @abstractmethod
    def plan(self) -> None:
        """One plan for all fragments, from the sums of their counts: `make` puts rows into its classes."""

    @abstractmethod
    def make(
        self, firsts: Sequence[int], observed: Sequence[Domain], tables: Sequence[TableCounts] | None
    ) -> list[Int64]:
        """Make and check every fragment: int64[values] of each, how often it would publish each value.

        firsts: the numbers of their first new subjects; observed: the domains by which losses are measured
        """

    @abstractmethod
    def check_plan(self) -> CommonCheck:
        """The check of all fragments together, where one plan was made for them."""

    @abstractmethod
    def summarize(self) -> list[FragmentSummary]:
        """What was made last."""

    @abstractmethod
    def write(self, stage: Stage, formats: Sequence[Format], extent: Extent) -> list[str]:
        """Write the private files and the public ones; the names of the latter."""

    @abstractmethod
    def after(self, record: ReleaseRecord) -> None:
        """What is left to do once the release is published."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the snapshot."""
