"""Forgetting people: identifiers are deleted; what is left is a one-way mark by which a returner is known again.

The mark is HMAC-SHA256 of the identifier under a key that is derived from the ledger's own secret. Without that secret
nobody can tell whose mark it is; with it one can only ask whether a given identifier is among them.
"""

from __future__ import annotations

import hmac
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from reissue.arrays.types import NO_NUMBERS
from reissue.ledger import parquet
from reissue.ledger.keys import mark_key
from reissue.ledger.records import Document, PrivateFile
from reissue.ledger.shelf import MARKS, RECEIPTS, Shelf, count_unmarked, read_receipts
from reissue.ledger.stage import document_table

if TYPE_CHECKING:
    from pathlib import Path

    from reissue.ledger.store import Staged

_LENGTH = 16


@dataclass(frozen=True)
class Receipt:
    """What was forgotten, for who must prove it.

    created: UTC, ISO 8601; people: how many were forgotten now; before: how many had been already
    erased: whether their marks were deleted too; sha256: of the file that named them, if one did
    unknown: identifiers that the series does not know; then nothing was done
    """

    created: str
    people: int
    before: int
    erased: bool
    sha256: str | None = None
    unknown: tuple[str, ...] = ()

    def to_dict(self) -> Document:
        return {key: value for key, value in asdict(self).items() if key != "unknown"}


@dataclass(frozen=True, eq=False)
class Marks:
    """The marks of forgotten people, and their subject numbers. It can be sent to a worker.

    secret: the ledger's, from which the key of the marks is derived; marks: large_binary[n]; known: int64[n]
    """

    secret: tuple[bytes | None, int]
    marks: pa.Array
    known: NDArray[np.int64]

    @staticmethod
    def read(shelf: Shelf) -> Marks:
        files = shelf.state.of_role(MARKS)
        secret = shelf.store.key, shelf.state.seed
        if not files:
            return Marks(secret, parquet.bytes_array([], pa.large_binary()), NO_NUMBERS)
        table = pa.concat_tables([shelf.read(file) for file in files])
        return Marks(secret, table["mark"].combine_chunks(), parquet.numbers_of(table["subject"]))

    def __len__(self) -> int:
        return len(self.known)

    @cached_property
    def _numbers(self) -> dict[bytes, int]:
        return dict(sorted(zip(self.marks.to_pylist(), self.known.tolist(), strict=True), key=lambda pair: pair[1]))

    @cached_property
    def _key(self) -> bytes:
        return mark_key(*self.secret)

    def of(self, identifier: str) -> bytes:
        return hmac.digest(self._key, identifier.encode(), "sha256")[:_LENGTH]

    def find(self, identifiers: Iterable[str]) -> NDArray[np.int64]:
        """int64[n]: the latest number that each of them had, -1 if it was not forgotten."""
        return np.array([self._numbers.get(self.of(one), -1) for one in identifiers], dtype=np.int64)

    def fill(self, identifiers: pa.Array | pa.ChunkedArray, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The numbers with those of forgotten people in the place of -1. O(rows without a number)."""
        if not len(self) or not len(numbers):
            return numbers
        rows = np.flatnonzero(numbers < 0)
        filled = numbers.copy()
        filled[rows] = self.find(identifiers.take(parquet.numbers_array(rows)).to_pylist())
        return filled

    def table(self, more: Iterable[tuple[str, int]] = (), without: Collection[bytes] = ()) -> pa.Table:
        """All of them, and those of some more identifiers, but for some."""
        pairs = [*zip(self.marks.to_pylist(), self.known.tolist(), strict=True)]
        pairs = [pair for pair in pairs if pair[0] not in without] + [(self.of(name), number) for name, number in more]
        marks = parquet.bytes_array([mark for mark, _ in pairs], pa.large_binary())
        numbers = np.array([number for _, number in pairs], dtype=np.int64)
        return pa.table({"mark": marks, "subject": parquet.numbers_array(numbers)})


@dataclass(frozen=True)
class Forgetting:
    """One act of forgetting, planned: which parts of the identity map it changes.

    parts: (file, what is left of it); people: (identifier, number) of those found; marked: marks of those who were
    forgotten before; unknown: the others
    """

    parts: list[tuple[PrivateFile, pa.Table]]
    people: list[tuple[str, int]]
    marks: Marks
    marked: list[bytes]
    unknown: list[str]

    @staticmethod
    def plan(shelf: Shelf, identifiers: Iterable[str]) -> Forgetting:
        """O(everybody ever published)."""
        wanted, marks = list(dict.fromkeys(identifiers)), Marks.read(shelf)
        some = parquet.bytes_array([name.encode() for name in wanted], pa.string())
        parts: list[tuple[PrivateFile, pa.Table]] = []
        people: list[tuple[str, int]] = []
        for file in shelf.state.of_role("identities"):
            part = shelf.read(file)
            hit = pc.is_in(part["identifier"], value_set=some)
            found = part.filter(hit)
            if len(found):
                parts.append((file, part.filter(pc.invert(hit))))
                people += zip(found["identifier"].to_pylist(), found["subject"].to_pylist(), strict=True)
        named = {name for name, _ in people}
        others = [name for name in wanted if name not in named]
        there = marks.find(others) >= 0
        marked = [marks.of(name) for name, before in zip(others, there, strict=True) if before]
        return Forgetting(
            parts, people, marks, marked, [n for n, before in zip(others, there, strict=True) if not before]
        )

    def receipt(self, erase: bool, sha256: str | None) -> Receipt:
        people, before = len({name for name, _ in self.people}), len(self.marked)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        return Receipt(now, people + (before if erase else 0), 0 if erase else before, erase, sha256)

    def write(self, shelf: Shelf, folder: Path, erase: bool, receipt: Receipt) -> list[Staged]:
        """The parts of the map without them, the marks, and the receipts."""
        store = shelf.store
        staged = [
            store.write(left, folder, "identities", file.name, file.release) for file, left in self.parts if len(left)
        ]
        marks = self.marks.table([] if erase else self.people, self.marked if erase else ())
        if len(marks):
            staged.append(store.write(marks, folder, MARKS, MARKS))
        gone = {number for _, number in self.people} if erase else set()
        gone |= {
            int(n) for n, m in zip(self.marks.known, self.marks.marks.to_pylist(), strict=True) if m in self.marked
        }
        kept: Document = read_receipts(shelf) or {"erased": count_unmarked(shelf), "receipts": []}
        document = {
            "erased": int(str(kept["erased"])) + (len(gone) if erase else 0),
            "receipts": [*kept["receipts"], receipt.to_dict()],  # type: ignore[misc]
        }
        return [*staged, store.write(document_table(document), folder, RECEIPTS, RECEIPTS)]

    @property
    def replaced(self) -> list[PrivateFile]:
        """Files that are no longer referred to, unless they are written anew."""
        return [*(file for file, _ in self.parts), PrivateFile(MARKS, MARKS, 0, "", 0, "")]
