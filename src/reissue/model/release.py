"""What strategies read and make: a coded snapshot, the history of a series, its caches, a candidate for a release."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from reissue.arrays.sets import lookup
from reissue.arrays.types import NO_CODES, NO_NUMBERS, Bool, Int32, Int64
from reissue.model.domain import Domain
from reissue.model.fragment_counts import TableCounts
from reissue.model.standing_classes import StandingClasses

IntT = TypeVar("IntT", np.int32, np.int64)

Style = Literal["generalized", "anatomized", "told", "flat"]

Table = Mapping[str, NDArray[np.generic]]
"""Named columns of equal length: the form in which caches and extras are kept in the ledger."""


def derive_seed(seed: int, number: int) -> int:
    """A seed of its own for each release of a series, or for each fragment of a release."""
    low, high = np.random.SeedSequence([seed, number]).generate_state(2, np.uint64)
    return int(low) | int(high) << 64


def take_rows(codes: Int32, rows: Int64) -> Int32:
    """Some rows of int32[n, attributes] in Fortran order, column by column: gathering whole rows is slow."""
    found = np.empty((len(rows), codes.shape[1]), dtype=np.int32, order="F")
    for a in range(found.shape[1]):
        found[:, a] = codes[rows, a]
    return found


@dataclass(frozen=True, eq=False)
class Coded:
    """A snapshot in codes: one row per subject.

    subjects: int64[rows]               surrogate numbers (>= 0), unique
    codes:    int32[rows, attributes]   leaf codes; Fortran order, so that a column is contiguous
    values:   int32[rows]               code of the sensitive value
    domains:  one per attribute
    value_count: how many sensitive values the series knows (codes are 0..value_count-1)
    """

    subjects: Int64
    codes: Int32
    values: Int32
    domains: tuple[Domain, ...]
    value_count: int

    def __len__(self) -> int:
        return len(self.subjects)

    def part(self, rows: Int64) -> Coded:
        """Some of the rows."""
        return replace(self, subjects=self.subjects[rows], codes=take_rows(self.codes, rows), values=self.values[rows])


@dataclass(frozen=True, eq=False)
class Facts:
    """One release as the ledger knows it: who was in which class with which value.

    boxes:    int32[classes, attributes, 2]  closed intervals of codes
    subjects: int64[rows]  ascending; a counterfeit has a negative number
    classes:  int32[rows]  0..classes-1, the class numbers of the published file
    values:   int32[rows]
    codes:    int32[rows, attributes]  the exact leaf codes at that time
    extras:   what the strategy wants remembered beside these (a global cut, ...); small arrays, except those named
              `row_...`, which have one entry per row
    """

    number: int
    boxes: Int32
    subjects: Int64
    classes: Int32
    values: Int32
    codes: Int32
    anatomized: bool = False
    extras: Table = field(default_factory=dict)

    @property
    def class_count(self) -> int:
        return len(self.boxes)

    @property
    def nbytes(self) -> int:
        """What the arrays take in memory."""
        rows = self.boxes.nbytes + self.subjects.nbytes + self.classes.nbytes + self.values.nbytes + self.codes.nbytes
        return rows + sum(extra.nbytes for extra in self.extras.values())

    @cached_property
    def standing(self) -> StandingClasses | None:
        """What standing classes keep of the release; None where there are none."""
        return StandingClasses.read(self.extras) if "row_standing" in self.extras else None

    @property
    def style(self) -> Style:
        """What is published: boxes and values, or exact rows and values by class, or the forms of standing classes."""
        if "row_standing" in self.extras:
            return "told" if self.extras["told"] else "flat"
        return "anatomized" if self.anatomized else "generalized"

    @property
    def real(self) -> Bool:
        """bool[rows]: rows that stand for a person."""
        return self.subjects >= 0


@dataclass(frozen=True, eq=False)
class History:
    """What the ledger tells a strategy: the facts of every release, and the strategy's own caches.

    `releases` loads a release's facts only when it is indexed. `caches` is what folding `strategy.remember` over all
    releases gives, so it can always be rebuilt from the facts. `seed` belongs to the release being made: every
    random choice derives from it. Subjects numbered from `first_new` on are in no earlier release (None: not known).
    Where all this is that of one fragment, `whole` has the counts of the whole table that the strategy asked for, and
    `fragment` is its number.
    """

    releases: Sequence[Facts]
    caches: Mapping[str, Table]
    seed: int
    first_new: int | None = None
    whole: TableCounts | None = None
    fragment: int = 0

    def __len__(self) -> int:
        return len(self.releases)


@dataclass(frozen=True, eq=False)
class Counterfeits:
    """Rows that stand for nobody.

    subjects: int64[n] negative; the same number in two releases is the same counterfeit
    classes:  int32[n]; values: int32[n]; codes: int32[n, attributes], inside the class's box
    """

    subjects: Int64
    classes: Int32
    values: Int32
    codes: Int32

    @staticmethod
    def none(attributes: int) -> Counterfeits:
        return Counterfeits(NO_NUMBERS, NO_CODES, NO_CODES, np.empty((0, attributes), dtype=np.int32, order="F"))

    def __len__(self) -> int:
        return len(self.subjects)


@dataclass(frozen=True, eq=False)
class Candidate:
    """The release a strategy proposes; nothing is published before it has passed its check.

    A plan for several fragments is a candidate without rows.

    boxes:   int32[classes, attributes, 2]
    classes: int32[rows] class of each snapshot row in the snapshot's order, -1 where the row is suppressed
    steps:   plain sentences of what was done, for `release.steps`
    extras:  as in Facts; an array named `class_...` has one entry per class, one named `row_...` one per snapshot row
    """

    boxes: Int32
    classes: Int32
    counterfeits: Counterfeits
    steps: tuple[str, ...]
    anatomized: bool = False
    extras: Table = field(default_factory=dict)

    def renumber(self, numbers: Int32) -> Candidate:
        """The same release with class i called numbers[i], a permutation; extras named `class_...` go along."""
        old = np.empty_like(numbers)
        old[numbers] = np.arange(len(numbers), dtype=np.int32)
        return replace(
            self,
            boxes=self.boxes[old],
            classes=np.where(self.classes >= 0, numbers[self.classes], np.int32(-1)) if len(numbers) else self.classes,
            counterfeits=replace(self.counterfeits, classes=numbers[self.counterfeits.classes]),
            extras={name: part[old] if name.startswith("class_") else part for name, part in self.extras.items()},
        )

    def facts(self, number: int, snapshot: Coded) -> Facts:
        """The facts the ledger will keep of this candidate: counterfeits first, then subjects, ascending."""
        rows = np.flatnonzero(self.classes >= 0)
        if (np.diff(snapshot.subjects[rows]) < 0).any():
            rows = rows[np.argsort(snapshot.subjects[rows], kind="stable")]
        every = len(rows) == len(snapshot) and bool((rows[:-1] < rows[1:]).all())
        fake = self.counterfeits
        first = np.argsort(fake.subjects, kind="stable")

        def column(fakes: NDArray[IntT], real: NDArray[IntT]) -> NDArray[IntT]:
            picked = real if every else real[rows]
            return np.concatenate([fakes[first], picked]) if len(first) else picked

        nobody = np.full(len(first), -1, dtype=np.int32)
        extras = {
            name: column(nobody, part) if name.startswith("row_") else part  # type: ignore[type-var]
            for name, part in self.extras.items()
        }
        codes = snapshot.codes
        if not every or len(first):  # column by column: gathering rows of a Fortran array is slow
            codes = np.empty((len(first) + len(rows), snapshot.codes.shape[1]), dtype=np.int32, order="F")
            for a in range(codes.shape[1]):
                codes[:, a] = column(fake.codes[:, a], snapshot.codes[:, a])
        return Facts(
            number=number,
            boxes=self.boxes,
            subjects=column(fake.subjects, snapshot.subjects),
            classes=column(fake.classes, self.classes),
            values=column(fake.values, snapshot.values),
            codes=codes,
            anatomized=self.anatomized,
            extras=extras,
        )


# Caches that grow release by release are kept in segments, so that what is old is neither read nor written again. A
# segment is a cache of its own, whose name ends in its place and its number of rows: how long it is must be known
# without reading it. Rows that come are a new segment; one that is not twice as long as the next is joined with it. So
# there are few segments, and a row is written O(log rows) times in its life. Of rows of one subject the newest counts.


def take_numbers(table: Table, *names: str) -> tuple[Int64, ...]:
    """Columns of numbers: of subjects, counts, places."""
    return tuple(np.asarray(table[name], dtype=np.int64) for name in names)


def take_codes(table: Table, *names: str) -> tuple[Int32, ...]:
    """Columns of codes, and of what else fits into as few bits."""
    return tuple(np.asarray(table[name], dtype=np.int32) for name in names)


Join = Callable[[Table, Table], Table]
"""An older and a newer table as one."""


def list_segments(caches: Mapping[str, Table], name: str) -> list[str]:
    """The names of the segments, the oldest first. What has no place is older: a whole cache of an earlier version."""
    return sorted((one for one in caches if one == name or one.startswith(f"{name}/")), key=_read_place)


def add_segment(caches: Mapping[str, Table], name: str, rows: Table, join: Join) -> dict[str, Table]:
    """The caches with more rows, which are newer than all others."""
    found, count = dict(caches), _count_rows(rows)
    if count == 0:
        return found
    names = list_segments(caches, name)
    while names and "/" in names[-1].removeprefix(name) and _read_rows(names[-1]) < 2 * count:
        rows = join(found.pop(names.pop()), rows)
        count = _count_rows(rows)
    place = _read_place(names[-1]) + 1 if names else 0
    return {**found, f"{name}/{place}.{count}": rows}


def read_segments(caches: Mapping[str, Table], name: str) -> list[Table]:
    """The tables, the newest first; each is read when it is looked at."""
    return [caches[one] for one in reversed(list_segments(caches, name))]


def join_rows(older: Table, newer: Table) -> Table:
    """One after the other."""
    return {column: np.concatenate([older[column], newer[column]]) for column in newer}


def join_by_subject(older: Table, newer: Table) -> Table:
    """Ascending by `subject`; who is in both is there as in the newer one."""
    stays = ~lookup(newer["subject"], older["subject"])[1]  # type: ignore[arg-type]
    both = {column: np.concatenate([older[column][stays], newer[column]]) for column in newer}
    order = np.argsort(both["subject"], kind="stable")
    return {column: both[column][order] for column in both}


def find_newest(tables: Sequence[Table], wanted: np.ndarray, columns: Sequence[str]) -> tuple[np.ndarray, Table]:
    """(bool[wanted] which are in any table; their columns as in the newest, of no meaning where there is none).

    tables: the newest first, ascending by `subject`; wanted: int64[n]. Older ones are read only while somebody is
    missing.
    """
    known = np.zeros(len(wanted), dtype=np.bool_)
    found: dict[str, np.ndarray] = {column: np.full(len(wanted), -1, dtype=np.int32) for column in columns}
    for table in tables:
        missing = np.flatnonzero(~known)
        if not len(missing):
            break
        at, here = lookup(table["subject"], wanted[missing])  # type: ignore[arg-type]
        for column in columns:
            found[column][missing[here]] = table[column][at[here]]
        known[missing[here]] = True
    return known, found


def _count_rows(rows: Table) -> int:
    return len(next(iter(rows.values())))


def _read_place(name: str) -> int:
    place = name.rpartition("/")[2].partition(".")
    return int(place[0]) if place[1] else -1


def _read_rows(name: str) -> int:
    return int(name.rpartition(".")[2])
