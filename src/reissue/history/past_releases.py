"""The past of a series: releases as strategies see them, in today's codes; who has which number; caches of facts.

Only the series puts names to numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from reissue.arrays.sets import lookup_present
from reissue.arrays.types import Int64
from reissue.coding import Coding
from reissue.engine.identifiers import join_identifiers, simplify
from reissue.engine.text import Text
from reissue.errors import LedgerDamaged
from reissue.ledger import Ledger, Marks, ReleaseRecord, Shelf
from reissue.methods.strategy import Strategy
from reissue.model.observed import LazySequence, ObservedRelease
from reissue.model.release import Facts, Table, add_segment, join_by_subject, list_segments
from reissue.schema import Schema

if TYPE_CHECKING:
    from reissue.engine.spark.verbs import Frame, Spark


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


class Definitions:
    """Schema and codes of a series as of now: the file of the ledger that says so is read once."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._schema: tuple[str, Schema] | None = None
        self._coding: tuple[str, Coding] | None = None

    @property
    def schema(self) -> Schema:
        digest = self._ledger.shelf.file("meta", "meta").sha256
        if self._schema is None or self._schema[0] != digest:
            stored = self._ledger.meta["schema"]
            assert isinstance(stored, Mapping)
            self._schema = digest, Schema.from_stored(stored)
        return self._schema[1]

    @property
    def coding(self) -> Coding:
        shelf = self._ledger.shelf
        if not shelf.coding_versions:
            return Coding.start(self.schema)
        digest = shelf.file("coding", shelf.coding_name(None)).sha256
        if self._coding is None or self._coding[0] != digest:
            self._coding = digest, Coding.from_dict(self._ledger.coding())
        return self._coding[1]

    def keep(self, coding: Coding) -> None:
        """The codes that were just written need not be read again."""
        shelf = self._ledger.shelf
        if shelf.coding_versions[-1:] == [coding.version]:
            self._coding = shelf.file("coding", shelf.coding_name(coding.version)).sha256, coding


def read_coding(ledger: Ledger | Shelf, version: int) -> Coding:
    """A version of the coding, made of its file once for as long as the series is open."""
    shelf = ledger.shelf if isinstance(ledger, Ledger) else ledger
    file = shelf.file("coding", shelf.coding_name(version))
    return shelf.store.kept.take(file.sha256, lambda: Coding.from_dict(shelf.coding(version)), lambda _: 10 * file.size)


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
            counted = self._counted and read.number != position + 1
            self._read[position] = replace(read, number=position + 1) if counted else read
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
        made_under = read_coding(self._shelf, record.coding_version)
        boxes, codes = self._coding.remap(made_under, facts.boxes, facts.codes)
        if boxes is facts.boxes and codes is facts.codes:
            return facts
        recoded = replace(facts, boxes=boxes, codes=codes)
        if not facts.extras:
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


@dataclass(frozen=True, eq=False)
class Identities:
    """The private map of a series. One identifier may have had several numbers; its latest is the highest."""

    identifiers: pa.Array
    known: Int64
    marks: Marks | None = None

    @staticmethod
    def read(ledger: Ledger) -> Identities:
        marks = Marks.read(ledger.shelf) if ledger.shelf.has_marks else None
        return Identities(*ledger.identities(), marks)

    def numbers(self, identifiers: pa.Array) -> Int64:
        """int64[rows]: the latest number of each identifier, -1 if it has none; forgotten people are known by mark."""
        found = join_identifiers((self.identifiers, self.known), identifiers)
        return found if self.marks is None else self.marks.fill(identifiers, found)

    def of(self, identifiers: Sequence[str]) -> Int64:
        """The same for a few identifiers of any plain type."""
        return self.numbers(pa.array([str(one) for one in identifiers], pa.large_string()))

    def list_numbers(self, identifier: str) -> Int64:
        """int64[]: every number that this identifier has had, forgotten ones by mark; none if it is not known."""
        own = np.asarray(pc.equal(self.identifiers.cast(pa.large_string()), identifier)).astype(np.bool_)
        last = self.of([identifier])
        return np.unique(np.concatenate([self.known[own], last[last >= 0]]))

    def near(self, identifier: str) -> str | None:
        """One that differs from this one only in what programs drop or add: zeros in front, capitals."""
        if not len(self.identifiers):
            return None
        plain = simplify(self.identifiers)
        same = np.flatnonzero(np.asarray(pc.equal(plain, simplify(pa.array([identifier]))[0])))
        return str(self.identifiers[int(same[0])]) if len(same) else None

    def including(self, identifiers: pa.Array, numbers: Int64) -> Identities:
        """With those of a snapshot that is about to be published."""
        whole = pa.concat_arrays([self.identifiers.cast(pa.large_string()), identifiers.cast(pa.large_string())])
        return Identities(whole, np.concatenate([self.known, numbers]), self.marks)

    @cached_property
    def _place(self) -> dict[int, int]:
        return {int(number): place for place, number in enumerate(self.known)}

    def name(self, number: int) -> str:
        """The identifier of a subject; its number if it has been forgotten."""
        place = self._place.get(number)
        return f"subject {number}" if place is None else str(self.identifiers[place].as_py())


def read_identities(spark: Spark, shelf: Shelf) -> Frame:
    """Who has which number: `identifier`, `subject`."""
    schema = pa.schema([("identifier", pa.string()), ("subject", pa.int64())])
    return spark.rows_from_tasks(shelf.state.of_role("identities"), lambda file: [shelf.read(file)], schema)


def find_name(spark: Spark, shelf: Shelf, number: int) -> str:
    """The identifier of a subject; its number if it has been forgotten."""
    found = spark.collect(read_identities(spark, shelf).where(f"subject = {number}"), "names in a message")
    return str(found.column("identifier")[0].as_py()) if found.num_rows else f"subject {number}"
