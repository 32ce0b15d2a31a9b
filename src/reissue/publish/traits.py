"""What gates ask about a snapshot beside who came and went: its fingerprint, respelled values, telling columns.

Fragments measure their own rows, wherever they are; their traits add up to those of the table.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from reissue.arrays.distinct import find_used
from reissue.arrays.mixing import UInt64, sum_hashes
from reissue.arrays.texts import append_hashes
from reissue.arrays.types import Bool, Int32
from reissue.coding import Coding
from reissue.engine.identifiers import hash_identifiers, simplify
from reissue.engine.text import text_of
from reissue.publish.changes import ComparedRows


@dataclass(frozen=True)
class SnapshotTraits:
    """hashes: the sums, modulo 2**64, of two hashes of each row; respelled: by column, people whose value changed in
    nothing but zeros in front, capitals or a '.0' at the end."""

    hashes: tuple[int, int]
    respelled: Mapping[str, int]

    @staticmethod
    def sum(parts: Sequence[SnapshotTraits]) -> SnapshotTraits:
        """Those of the whole table."""
        one, other = (sum(part.hashes[place] for part in parts) % 2**64 for place in (0, 1))
        columns = {name for part in parts for name in part.respelled}
        return SnapshotTraits(
            (one, other), {name: sum(part.respelled.get(name, 0) for part in parts) for name in sorted(columns)}
        )

    def fingerprint(self, rows: int, seed: int) -> str:
        """The snapshot's people, quasi-identifiers and sensitive values, in any order of rows, as one keyed hash."""
        return hashlib.sha256(f"{seed}:{rows}:{self.hashes[0]}:{self.hashes[1]}".encode()).hexdigest()


def measure_traits(
    identifiers: UInt64, codes: Int32, values: Int32, compared: ComparedRows, coding: Coding
) -> SnapshotTraits:
    """Of some rows in codes. Labels are hashed, not codes, which grow apart from release to release. O(rows).

    identifiers: uint64[rows], their hashes
    """
    row = identifiers.copy()
    for a, domain in enumerate(coding.domains):
        low, table = _hash_codes(coding, a, domain.name, codes[:, a])
        append_hashes(row, codes[:, a], low, table)
    append_hashes(row, values, 0, _hash_labels(coding.values))
    hashes = tuple(sum_hashes(row, key) for key in (0, 1))
    moved = {a: compared.moved[:, a] for a, domain in enumerate(coding.domains) if domain.name in coding.hierarchies}
    respelled = {
        coding.domains[a].name: _count_respelled(coding, a, compared.old_codes[here, a], codes[here, a])
        for a, here in moved.items()
        if here.any()
    }
    return SnapshotTraits((hashes[0], hashes[1]), respelled)


def _hash_codes(coding: Coding, a: int, name: str, codes: Int32) -> tuple[int, UInt64]:
    """(the lowest code, uint64[] the hash of its label and of those above it): of numbers none, they are their own."""
    if name not in coding.hierarchies or not len(codes):
        return 0, np.empty(0, dtype=np.uint64)
    used = find_used(codes)
    table = np.zeros(int(used[-1] - used[0]) + 1, dtype=np.uint64)
    table[used - used[0]] = _hash_labels(coding.labels(a, used, used).tolist())
    return int(used[0]), table


def _hash_labels(labels: Sequence[str]) -> UInt64:
    return hash_identifiers(pa.array(labels, pa.large_string()))


def _count_respelled(coding: Coding, a: int, old: Int32, new: Int32) -> int:
    """Rows whose labels differ in nothing that a program would not change by itself. O(rows log rows)."""
    _, first, counts = np.unique(
        old.astype(np.int64) << 32 | new.view(np.uint32).astype(np.int64), return_index=True, return_counts=True
    )
    before, after = (
        pa.array(coding.labels(a, side, side).tolist(), pa.large_string()) for side in (old[first], new[first])
    )
    same: Bool = np.asarray(pc.equal(simplify(before), simplify(after)))
    return int(counts[same].sum())


@dataclass(frozen=True)
class ColumnTraits:
    """An insensitive column: rows whose value no other row has, and rows that hold their own person's identifier."""

    name: str
    rows: int
    alone: int
    named: int


def measure_columns(table: pa.Table | None, identifiers: pa.Array) -> list[ColumnTraits]:
    """The insensitive columns of a whole snapshot. O(rows) each."""
    if table is None:
        return []
    found = []
    for name in table.column_names:
        text = text_of(table.column(name))
        own = pa.array(text.labels, pa.large_string()).take(pa.array(text.index, mask=text.index < 0))
        named = pc.sum(pc.equal(own, identifiers.cast(pa.large_string()))).as_py() or 0
        found.append(ColumnTraits(name, len(text), int((text.counts == 1).sum()), int(named)))
    return found
