"""The division of a series into fragments: chosen at its first release, kept in the ledger, never changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from reissue.coding import Coding
from reissue.core.domain import Domain, Int32, Int64
from reissue.core.fragments import Fragments, Side, UInt64, divide, owners, sampled
from reissue.core.requirements import Requirement
from reissue.errors import SettingsError
from reissue.ledger import Document, Ledger, ReleaseRecord
from reissue.series.work import Rows
from reissue.strategies.base import Strategy

ROWS = 2_000_000
"""Rows of a fragment, where the series does not say how many fragments it wants."""

ROOM = 0.95
"""Fragments are cut so that each needs only this part of what the policy allows."""


@dataclass(frozen=True, eq=False)
class Division:
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
    def read(ledger: Ledger, strategy: Strategy, coding: Coding) -> Division | None:
        """The division of a series in today's codes; None before its first release."""
        kept = ledger.fragments
        if kept is None:
            return Division(Fragments.whole(), np.zeros(0, dtype=np.int64)) if ledger.releases else None
        tree = Fragments.from_dict(cast("Mapping[str, Sequence[int]]", kept["tree"]))
        refuse_whole(strategy, tree.count)
        _refuse_strangers(strategy, tree.count, ledger.releases)
        version = int(str(kept["coding_version"]))
        if version != coding.version:
            tree = tree.recoded(_recode(coding, Coding.from_dict(ledger.coding(version))))
        starts = [cast("list[int]", record.counts["fragments"]) for record in ledger.releases]
        return Division(tree, np.array(starts, dtype=np.int64).reshape(-1))

    @staticmethod
    def wanted(ledger: Ledger, strategy: Strategy, rows: int) -> int:
        """How many fragments the first release is to make."""
        asked = int(str(ledger.meta.get("fragments", 1)))
        if asked:
            refuse_whole(strategy, asked)
            return asked
        return 1 if whole_table(strategy) else max(1, -(-rows // ROWS))

    @staticmethod
    def made(count: int, rows: Rows, coding: Coding, strategy: Strategy, seed: int) -> Division:
        """A new division, from a sample of the first snapshot."""
        nobody = np.zeros(0, dtype=np.int64)
        if count == 1:
            return Division(Fragments.whole(), nobody)
        chosen = np.flatnonzero(sampled(np.arange(len(rows)), len(rows), seed))
        side = side_of_a_cut(strategy)
        return Division(divide(rows.codes[chosen], rows.values[chosen], coding.domains, count, side), nobody)

    def asked_for(self, ledger: Ledger, strategy: Strategy) -> Division:
        """This division; a SettingsError if it has fewer fragments than the series was created with."""
        asked = int(str(ledger.meta.get("fragments", 1)))
        if self.count < asked:
            raise SettingsError(
                f"The series is to have {asked} fragments, but '{strategy.name}' needs fragments whose boxes never "
                f"meet, and the numeric quasi-identifiers can be cut into {self.count} only. Create it without "
                "fragments: then it gets as many as can be."
            )
        return self

    def domains(self, strategy: Strategy, coding: Coding) -> list[tuple[Domain, ...]]:
        """The domains of each fragment: narrowed where fragments must stay apart."""
        return self.tree.regions(coding.domains) if apart(strategy) else [coding.domains] * self.count

    def of(self, codes: Int32, numbers: Int64, hashes: UInt64 | None) -> Int32:
        """int32[rows]: the fragment of each row; known subjects stay where they are, whatever their codes are now."""
        if self.count == 1:
            return np.zeros(len(numbers), dtype=np.int32)
        found = self.tree.of(codes, hashes)
        known = numbers >= 0
        found[known] = owners(self.starts, self.count, numbers[known])
        return found

    def parts(self, rows: Rows) -> list[Rows]:
        """The rows of each fragment, in the order of the source."""
        if self.count == 1:
            return [rows]
        from reissue.engine.hashing import hashes

        home = self.of(rows.codes, rows.numbers, hashes(rows.identifiers) if self.tree.by_identifier else None)
        order = np.argsort(home, kind="stable")
        ends = np.cumsum(np.bincount(home, minlength=self.count))[:-1]
        return [rows.part(places) for places in np.split(order, ends)]

    def document(self, coding_version: int) -> Document:
        """What the ledger keeps of it."""
        return {"coding_version": coding_version, "tree": self.tree.to_dict()}


def whole_table(strategy: Strategy) -> bool:
    """Whether the strategy's guarantee needs the whole table at once."""
    return bool(getattr(strategy, "whole_table", False))


def side_of_a_cut(strategy: Strategy) -> Side:
    """What a fragment must satisfy: as one class a little more than the strategy asks for, to stay feasible."""
    limits = strategy.thresholds()
    t, beta = limits.get("t"), limits.get("beta")
    requirement = Requirement(
        c=ROOM * min(limits.get("c", 1.0), 1 / limits.get("m", 1.0)),
        t=None if t is None else ROOM * t,
        ordered=bool(getattr(strategy, "ordered", False)),
        beta=None if beta is None else ROOM * beta,
        likeness=getattr(strategy, "likeness", "basic"),
    )
    return Side(requirement, apart(strategy))


def apart(strategy: Strategy) -> bool:
    """Whether boxes of different fragments must never meet."""
    return bool(getattr(strategy, "apart", False))


def refuse_whole(strategy: Strategy, count: int) -> None:
    """Raise SettingsError if the strategy cannot work in so many fragments."""
    if count > 1 and whole_table(strategy):
        raise SettingsError(
            f"The strategy '{strategy.name}' with these settings looks at the whole table at once; it cannot be used "
            f"in a series of {count} fragments. Create the series with fragments = 1, or choose another strategy."
        )


def _refuse_strangers(strategy: Strategy, count: int, releases: Sequence[ReleaseRecord]) -> None:
    """Raise SettingsError if the strategy would need more of earlier releases than their fragments kept."""
    follows = getattr(strategy, "follows", None)
    others = [record for record in releases if follows is not None and record.strategy not in follows]
    if count > 1 and others:
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
