"""The past of a series as strategies see it: facts in today's codes, and caches folded from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from reissue.arrays.sets import lookup_present
from reissue.arrays.types import Int64
from reissue.coding import Coding
from reissue.engine.text import Text
from reissue.errors import LedgerDamaged
from reissue.ledger import Ledger, ReleaseRecord, Shelf
from reissue.methods.strategy import Strategy
from reissue.model.observed import LazySequence, ObservedRelease
from reissue.model.release import Facts, Table, add_segment, join_by_subject, list_segments

ABSENT = "series/absent"


@dataclass(frozen=True, eq=False)
class UnseenRelease:
    """A release that is finished but not published: what the ledger and outsiders would know of it.

    identifiers, numbers: of its new people; columns: the insensitive ones as they would be published
    """

    record: ReleaseRecord
    facts: Facts
    identifiers: pa.Array
    numbers: Int64
    columns: Mapping[str, Text]


class PastReleases(LazySequence[Facts]):
    """The facts of every release, each read when it is first asked for and recoded to the coding of today."""

    def __init__(
        self, ledger: Ledger | Shelf, coding: Coding, fragment: int | None = None, counted: bool = False
    ) -> None:
        """`fragment`: only what belongs to that fragment of a divided series.

        counted: releases are numbered 1, 2, ..., as strategies and their caches know them, also where one between them
        was withdrawn
        """
        self._shelf, self._coding, self._fragment, self._counted = ledger, coding, fragment, counted
        self._records = list(ledger.releases)
        self._read: dict[int, Facts] = {}
        super().__init__(len(self._records))

    def at(self, position: int) -> Facts:
        if position not in self._read:
            read = self._recoded(position)
            self._read[position] = replace(read, number=position + 1) if self._counted else read
        return self._read[position]

    def subjects(self, position: int) -> Int64:
        """As `model.observed.Listing`: numbers do not depend on the coding."""
        known = self._read.get(position)
        if known is not None:
            return known.subjects
        number = self._records[position].number
        if isinstance(self._shelf, Ledger):
            return self._shelf.subjects(number)
        return self._shelf.subjects(number, self._fragment)

    def _recoded(self, position: int) -> Facts:
        record = self._records[position]
        facts = self._facts(record.number)
        if record.coding_version == self._coding.version:
            return facts
        made_under = Coding.from_dict(self._shelf.coding(record.coding_version))
        boxes, codes = self._coding.remap(made_under, facts.boxes, facts.codes)
        recoded = replace(facts, boxes=boxes, codes=codes)
        if boxes is facts.boxes or not facts.extras:
            return recoded
        from reissue.partition.global_recoding import Cut  # kernels, which most series never need here

        cut = Cut.read(facts.extras)
        if cut is None:
            return recoded
        then = cut.recode(made_under.domains, lambda labels: self._coding.remap(made_under, labels, codes[:0])[0])
        return replace(recoded, extras={**facts.extras, **then.table()})

    def _facts(self, number: int) -> Facts:
        if isinstance(self._shelf, Ledger):  # it keeps what is in use
            return self._shelf.facts(number)
        return self._shelf.facts(number, self._fragment)


def read_releases(
    shelf: Shelf, coding: Coding, fragment: int | None = None, positions: Sequence[int] | None = None
) -> LazySequence[ObservedRelease]:
    """The releases of a series as outsiders see them, read anew whenever one is asked for: none is kept.

    fragment: only that fragment of a divided series, with class numbers and counterfeits of its own; positions: of the
    releases that are meant, None for all
    """
    meant = range(len(shelf.releases)) if positions is None else positions

    def read(place: int) -> ObservedRelease:
        return ObservedRelease.of(PastReleases(shelf, coding, fragment)[meant[place]])

    return LazySequence(len(meant), read)


def list_left(previous: Facts, release: Facts) -> Table:
    """What was last published about each subject of the release before who is not in `release`.

    Columns subject int64 ascending, release int32, value int32, code0..codeN int32. With the facts of the last
    release these tables are the last word on everybody, without rereading older releases: who came back is in the last
    release, and who left again in a newer table.
    """
    left = np.flatnonzero(previous.real & ~lookup_present(release.subjects, previous.subjects)[0])
    return {
        "subject": previous.subjects[left],
        "release": np.full(len(left), previous.number, dtype=np.int32),
        "value": previous.values[left],
        **{f"code{a}": previous.codes[left, a] for a in range(previous.codes.shape[1])},
    }


def codes_agree(now: Coding, then: Coding) -> bool:
    """Whether codes and boxes made under `then` mean the same under `now`."""
    attributes = len(now.domains)
    boxes = np.empty((0, attributes, 2), dtype=np.int32)
    return now.remap(then, boxes, np.empty((0, attributes), dtype=np.int32))[0] is boxes


def fold_caches(
    strategy: Strategy, caches: Mapping[str, Table], previous: Facts | None, release: Facts
) -> dict[str, Table]:
    """All caches after `release`: the strategy's own, and the series' memory of who is absent."""
    own = strategy.remember(own_caches(caches), release)
    absent = {name: caches[name] for name in list_segments(caches, ABSENT)}
    if previous is not None:
        absent = add_segment(absent, ABSENT, list_left(previous, release), join_by_subject)
    return {**own, **absent}


def own_caches(caches: Mapping[str, Table]) -> dict[str, Table]:
    """Those of the strategy: without the memory of who is absent."""
    absent = list_segments(caches, ABSENT)
    return {name: table for name, table in caches.items() if name not in absent}


def rebuild_caches(strategy: Strategy, releases: Sequence[Facts]) -> dict[str, Table]:
    """The caches from nothing but the facts."""
    caches: dict[str, Table] = {}
    previous: Facts | None = None
    for release in releases:
        caches = fold_caches(strategy, caches, previous, release)
        previous = release
    return caches


def compare_caches(right: Mapping[str, Table], kept: Mapping[str, Table]) -> list[str]:
    """Names of the caches that are missing, superfluous, damaged or different in any column."""

    def same(one: Table, other: Table) -> bool:
        return (
            is_readable(other)
            and set(one) == set(other)
            and all(np.array_equal(one[name], other[name]) for name in one)
        )

    names = sorted(set(right) | set(kept))
    return [name for name in names if name not in right or name not in kept or not same(right[name], kept[name])]


def is_readable(table: Table) -> bool:
    """Whether a cache that was kept is what was written, whatever it says."""
    try:
        return all(table[name] is not None for name in table)
    except LedgerDamaged:
        return False
