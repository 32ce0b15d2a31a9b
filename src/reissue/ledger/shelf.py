"""What was written into a ledger, for reading only: small enough to be sent to a worker on another machine."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from reissue.arrays.types import NO_NUMBERS
from reissue.errors import LedgerDamaged, SeriesError
from reissue.ledger import parquet
from reissue.ledger.records import CatalogueState, Document, PrivateFile, ReleaseRecord
from reissue.ledger.store import Store
from reissue.model.fragments import join_facts, join_subjects
from reissue.model.release import Facts, Table

MARKS, RECEIPTS = "marks", "receipts"

OF_FRAGMENTS = ("facts", "shape", "cache", "identities")
"""Files of these roles belong to one fragment each, where a series is divided."""


@dataclass(frozen=True, eq=False)
class StoredTable(Mapping[str, NDArray[np.generic]]):
    """A cache as it lies in the ledger, read when a column is first asked for; one that nobody reads costs nothing."""

    store: Store
    file: PrivateFile
    label: str | None

    @cached_property
    def _read(self) -> Table:
        return parquet.unpack(self.store.read(self.file, label=self.label))

    def __getitem__(self, column: str) -> NDArray[np.generic]:
        return self._read[column]

    def __iter__(self) -> Iterator[str]:
        return iter(self._read)

    def __len__(self) -> int:
        return len(self._read)


@dataclass(frozen=True, eq=False)
class Shelf:
    """The files of a series at one moment. Everything is checked against its hash when it is read."""

    store: Store
    state: CatalogueState

    @property
    def releases(self) -> list[ReleaseRecord]:
        """The releases that outsiders may have seen, in order."""
        return [self.store.unseal(record) for record in self.state.releases if record.number not in self.state.waiting]

    @property
    def labels(self) -> dict[int, str]:
        """What people call each release by its number, where they do not call it by that."""
        return {record.number: record.label for record in self.releases if record.label is not None}

    @property
    def coding_versions(self) -> list[int]:
        """The versions of the coding that are kept, ascending."""
        return [int(file.name) for file in self.state.of_role("coding")]

    def coding(self, version: int | None = None) -> Document:
        """One version of the coding; the last one if none is named."""
        return self.document("coding", self.coding_name(version))

    def coding_name(self, version: int | None) -> str:
        """The name of one version of the coding, if it is kept; of the last one if none is named."""
        kept = self.coding_versions
        if version is None:
            version = kept[-1] if kept else 0
        if version not in kept:
            raise SeriesError(f"The ledger keeps no coding of version {version}; it keeps {kept or 'none yet'}.")
        return name_of(version)

    def facts(self, number: int, fragment: int | None = None) -> Facts:
        """The facts of one release, or of one fragment of it, as they were stored. O(rows).

        A fragment's facts have class numbers and counterfeits of their own, unless classes are common to all;
        `join_facts` makes them those of the release.
        """
        record = self.state.by_number.get(number)
        if record is None:
            raise SeriesError(f"There is no release {number}; the series has {len(self.releases)}.")
        names = self.parts(number) if fragment is None else [part_name(name_of(number), fragment)]
        if len(names) == 1:
            return self._facts(number, names[0])
        return join_facts([self._facts(number, name) for name in names], record.seed, record.common_classes)

    def subjects(self, number: int, fragment: int | None = None) -> NDArray[np.int64]:
        """int64[rows] ascending: as in the facts of a release or of one fragment of it; nothing else is read."""
        names = self.parts(number) if fragment is None else [part_name(name_of(number), fragment)]
        return join_subjects([self._subjects(number, name) for name in names])

    def shape(self, number: int, fragment: int | None = None) -> tuple[NDArray[np.int32], bool]:
        """(int32[classes, attributes, 2], whether it is anatomized): a release without its rows, as it was stored.

        Of one fragment, or of the whole where the series is not divided or classes are common. O(classes).
        """
        name = self.parts(number)[0] if fragment is None else part_name(name_of(number), fragment)
        stored = parquet.unpack(self.read(self.file("shape", name)))
        return stored["boxes"].astype(np.int32, copy=False), bool(stored["anatomized"])

    def parts(self, number: int) -> list[str]:
        """The names of the parts of a release's facts, in order; one if the series is not divided."""
        whole = name_of(number)
        return self.state.parts.get(whole, [whole])

    @property
    def fragments(self) -> list[int | None]:
        """The fragments of the series; [None] if it is not divided."""
        parts = len(self.parts(self.state.releases[0].number)) if self.state.of_role("fragments") else 1
        return [None] if parts == 1 else list(range(parts))

    @property
    def has_marks(self) -> bool:
        """Whether somebody was forgotten who would be known again by a mark."""
        return bool(self.state.of_role("marks"))

    @property
    def separate(self) -> list[int | None]:
        """The fragments, if they share neither people nor classes, so that each can be looked at alone; else [None]."""
        return [None] if any(record.common_classes for record in self.state.releases) else self.fragments

    def divided(self, fragments: int, common: Sequence[str] = ()) -> list[Shelf]:
        """For each fragment a shelf with its own files and those of no fragment: all that its worker needs. O(files).

        The whole list of files grows with fragments times releases; sent to every worker it would be what moves most.
        common: roles of which every fragment needs the files of all
        """
        if fragments == 1:
            return [self]
        shared: dict[tuple[str, str], PrivateFile] = {}
        own: list[dict[tuple[str, str], PrivateFile]] = [{} for _ in range(fragments)]
        for (role, name), file in self.state.files.items():
            everybodys = role not in OF_FRAGMENTS or role in common
            there = shared if everybodys else own[int(name.rpartition("-")[2])]
            there[role, name] = file
        return [replace(self, state=replace(self.state, files={**shared, **files})) for files in own]

    def caches(self, fragment: int | None = None) -> dict[str, Table]:
        """The caches after the last release, of one fragment if the series is divided; none is read yet."""
        end = part_name("", fragment)
        return {
            file.name.removesuffix(end): StoredTable(self.store, file, self._label(file))
            for file in self.state.of_role("cache")
            if file.name.endswith(end)
        }

    def identities(self, fragment: int | None = None) -> tuple[pa.Array, NDArray[np.int64]]:
        """All identifiers that are not forgotten, or those of one fragment, and their subject numbers in that order."""
        end = part_name("", fragment)
        files = [file for file in self.state.of_role("identities") if file.name.endswith(end)]
        parts = [self.store.kept.take(file.sha256, partial(self.read, file), _weigh) for file in files]
        if not parts:
            return pa.nulls(0, pa.string()), NO_NUMBERS
        whole = pa.concat_tables(parts)
        return whole["identifier"].combine_chunks(), parquet.numbers_of(whole["subject"])

    def document(self, role: str, name: str) -> Document:
        """A small document; parsed anew, since a caller may change what it gets."""
        document = json.loads(self.raw_document(self.file(role, name)))
        assert isinstance(document, dict)
        return document

    def raw_document(self, file: PrivateFile) -> bytes:
        return parquet.document_from(self.read(file))

    def file(self, role: str, name: str) -> PrivateFile:
        file = self.state.files.get((role, name))
        if file is None:
            raise LedgerDamaged(f"The catalogue lists no file for '{role} {name}'. Restore it from a backup.")
        return file

    def read(self, file: PrivateFile, columns: Sequence[str] | None = None) -> pa.Table:
        return self.store.read(file, columns, self._label(file))

    def _label(self, file: PrivateFile) -> str | None:
        """What people call the release that a file belongs to, if not by its number."""
        record = self.state.by_number.get(file.release)
        return None if record is None else record.label

    def _facts(self, number: int, name: str) -> Facts:
        files = self.file("facts", name), self.file("shape", name)

        def read() -> Facts:
            return parquet.read_facts(number, *map(self.read, files))

        return self.store.kept.take(_name_facts(number, *files), read, lambda facts: facts.nbytes)

    def _subjects(self, number: int, name: str) -> NDArray[np.int64]:
        """As in the facts, if these are kept; else no more is read."""
        file = self.file("facts", name)
        known: Facts | None = self.store.kept.find(_name_facts(number, file, self.file("shape", name)))
        return parquet.numbers_of(self.read(file, ["subject"])["subject"]) if known is None else known.subjects


def _name_facts(number: int, rows: PrivateFile, shape: PrivateFile) -> tuple[int, str, str]:
    return number, rows.sha256, shape.sha256


def _weigh(table: pa.Table) -> int:
    return int(table.nbytes)


def name_of(number: int) -> str:
    """Numbers as names that sort in order."""
    return f"{number:06d}"


def part_name(name: str, fragment: int | None) -> str:
    """The name of what belongs to one fragment; as it is where a series is not divided."""
    return name if fragment is None else f"{name}-{fragment:05d}"


def read_receipts(shelf: Shelf) -> Document | None:
    """The receipts so far, and how many numbers have neither an identifier nor a mark; None if there are none yet."""
    return shelf.document(RECEIPTS, RECEIPTS) if shelf.state.of_role(RECEIPTS) else None


def count_unmarked(shelf: Shelf) -> int:
    """How many numbers were given to people of whom neither identifier nor mark is left. O(everybody).

    Those who were new in a release that was withdrawn are not among them.
    """
    roles = ("identities", MARKS)
    left = sum(shelf.read(file, ["subject"]).num_rows for role in roles for file in shelf.state.of_role(role))
    withdrawn = [shelf.document(file.role, file.name) for file in shelf.state.of_role("withdrawn")]
    free = sum(int(str(one.get("numbers", 0))) for one in withdrawn)
    return int(shelf.state.next_subject - left) - free


def count_erased(shelf: Shelf) -> int:
    """How many numbers of erased people there are, whom the series would take for new ones if they came back."""
    receipts = read_receipts(shelf)
    return count_unmarked(shelf) if receipts is None else int(str(receipts["erased"]))
