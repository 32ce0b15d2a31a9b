"""The division of a series into fragments: chosen at its first release, kept in the ledger, never changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from reissue.arrays.mixing import UInt64
from reissue.arrays.types import Int32, Int64
from reissue.coding import Coding
from reissue.errors import SettingsError
from reissue.ledger import Document, Ledger, ReleaseRecord
from reissue.methods.registry import ADOPTED, strategy_class
from reissue.methods.strategy import Strategy
from reissue.model.fragments import Fragments, divide_by_identifier, find_owners
from reissue.model.requirement import Requirement
from reissue.publish.fragment import SnapshotRows

ROWS = 2_000_000
"""Rows of a fragment, where the series does not say how many fragments it wants."""

ROOM = 0.95
"""Fragments are cut so that each needs only this part of what the policy allows."""


@dataclass(frozen=True, eq=False)
class TableDivision:
    """Which fragment every row belongs to.

    tree:   for new subjects
    starts: int64[releases * fragments] the first number of each fragment's new subjects, release after release: for
            those who are known
    """

    tree: Fragments
    starts: Int64

    @property
    def count(self) -> int:
        return self.tree.count

    @staticmethod
    def read(ledger: Ledger, strategy: Strategy, coding: Coding) -> TableDivision | None:
        """The division of a series in today's codes; None before its first release."""
        _refuse_after_standing(strategy, ledger.releases)
        kept = ledger.fragments
        if kept is None:
            return TableDivision(Fragments.whole(), np.zeros(0, dtype=np.int64)) if ledger.releases else None
        tree = Fragments.from_dict(cast("Mapping[str, Sequence[int]]", kept["tree"]))
        _refuse_strangers(strategy, tree.count, ledger.releases)
        version = int(str(kept["coding_version"]))
        if version != coding.version:
            tree = tree.recoded(_recode(coding, Coding.from_dict(ledger.coding(version))))
        starts = [cast("list[int]", record.counts["fragments"]) for record in ledger.releases]
        return TableDivision(tree, np.array(starts, dtype=np.int64).reshape(-1))

    @staticmethod
    def new(
        ledger: Ledger, strategy: Strategy, rows: int, cuts: Callable[[int, Requirement], Fragments]
    ) -> TableDivision:
        """The division that a first release of so many rows makes.

        cuts: makes that many fragments of a sample, each of which as one class is to satisfy the requirement
        """
        count = int(str(ledger.meta.get("fragments", 1))) or (1 if strategy.undivided else max(1, -(-rows // ROWS)))
        strategy.refuse_fragments(count)
        if count == 1:
            tree = Fragments.whole()
        elif strategy.plans_for_all:
            tree = divide_by_identifier(count)  # where classes are common, any rows will do
        else:
            tree = cuts(count, strategy.side_of_a_cut(ROOM))
        return TableDivision(tree, np.zeros(0, dtype=np.int64))

    def of(self, codes: Int32, numbers: Int64, hashes: UInt64 | None) -> Int32:
        """int32[rows]: the fragment of each row; known subjects stay where they are, whatever their codes are now."""
        if self.count == 1:
            return np.zeros(len(numbers), dtype=np.int32)
        found = self.tree.of(codes, hashes)
        known = numbers >= 0
        found[known] = find_owners(self.starts, self.count, numbers[known])
        return found

    def parts(self, rows: SnapshotRows) -> list[SnapshotRows]:
        """The rows of each fragment, in the order of the source."""
        if self.count == 1:
            return [rows]
        from reissue.engine.text import hash_identifiers

        home = self.of(
            rows.codes, rows.numbers, hash_identifiers(rows.identifiers) if self.tree.by_identifier else None
        )
        order = np.argsort(home, kind="stable")
        ends = np.cumsum(np.bincount(home, minlength=self.count))[:-1]
        return [rows.part(places) for places in np.split(order, ends)]

    def document(self, coding_version: int) -> Document:
        """What the ledger keeps of it."""
        return {"coding_version": coding_version, "tree": self.tree.to_dict()}


def _refuse_after_standing(strategy: Strategy, releases: Sequence[ReleaseRecord]) -> None:
    """Raise SettingsError if classes that stand for life would be left: others would take dealt values for true."""
    standing = [record for record in releases if record.strategy != ADOPTED and strategy_class(record.strategy).stands]
    if standing and not strategy.stands:
        first = standing[0]
        raise SettingsError(
            f"Release {first.number} was made by '{first.strategy}': its classes stand for life, its rows show dealt "
            f"values, so '{strategy.name}' cannot build on it. Go on with '{first.strategy}', or begin a new series."
        )


def _refuse_strangers(strategy: Strategy, count: int, releases: Sequence[ReleaseRecord]) -> None:
    """Raise SettingsError if the strategy would need more of earlier releases than their fragments kept."""
    if count == 1:
        return
    strategy.refuse_fragments(count)
    apart = [record for record in releases if record.common_classes != strategy.plans_for_all]
    if apart:
        with_common, without = "makes one plan for all fragments", "makes every fragment by itself"
        one, other = (with_common, without) if apart[0].common_classes else (without, with_common)
        raise SettingsError(
            f"Release {apart[0].number} was made by '{apart[0].strategy}', which {one}; '{strategy.name}' {other}, and "
            f"cannot follow it in a series of {count} fragments. Begin a new series, or go on with a strategy like it."
        )
    follows = strategy.follows
    others = [record for record in releases if follows is not None and record.strategy not in follows]
    if others:
        raise SettingsError(
            f"Release {others[0].number} was made by '{others[0].strategy}'. In a series of {count} fragments "
            f"'{strategy.name}' can only follow {' and '.join(follows or ())}: others do not keep what it would need "
            "to know of all fragments. Begin a new series, or go on with another strategy."
        )


def _recode(now: Coding, then: Coding) -> Callable[[Int32], Int32]:
    """Codes of an earlier coding in those of today."""
    attributes = len(now.domains)

    def recode(codes: Int32) -> Int32:
        wide = np.zeros((len(codes), attributes), dtype=np.int32)
        wide[:, : codes.shape[1]] = codes
        return now.remap(then, np.empty((0, attributes, 2), dtype=np.int32), wide)[1]

    return recode
