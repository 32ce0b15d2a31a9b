"""What changed between the last word published about each subject and the new snapshot, and whether it may.

What gates ask beside that is here, too: the fingerprint of a snapshot, respelled values, telling columns. Fragments
measure their own rows, wherever they are; their traits add up to those of the table.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from reissue.arrays.sets import UInt64, find_used, lookup_present, sum_hashes
from reissue.arrays.texts import append_hashes
from reissue.arrays.types import NO_NUMBERS, Bool, Int32, Int64
from reissue.coding import Coding
from reissue.engine.identifiers import hash_identifiers, simplify
from reissue.engine.text import text_of
from reissue.errors import ChangeError, show_text
from reissue.methods.strategy import Strategy
from reissue.model.release import Facts, Table, find_newest
from reissue.schema import Schema

SHOWN = 5


@dataclass(frozen=True, eq=False)
class ComparedRows:
    """The snapshot against the last word on each subject.

    numbers: int64[rows] the subject of each row, -1 for one never published
    back:    bool[rows] published before, but not in the last release
    moved:   bool[rows, attributes] quasi-identifiers that differ; updated: bool[rows] value that differs
    old_codes, old_values: the last word, where there is one
    gone:    int64[] subjects of the last release that the snapshot lacks
    """

    numbers: Int64
    back: Bool
    moved: Bool
    updated: Bool
    old_codes: Int32
    old_values: Int32
    gone: Int64

    def without(self, rows: Bool) -> ComparedRows:
        """As if nothing had changed in these rows: those of people who will not be published in any case."""
        return replace(self, back=self.back & ~rows, moved=self.moved & ~rows[:, None], updated=self.updated & ~rows)


def compare(numbers: Int64, codes: Int32, values: Int32, last: Facts | None, absent: Sequence[Table]) -> ComparedRows:
    """Look every row's subject up in the last release, then among the absent. O(n log n).

    absent: as `list_left` lists them, the newest first; not read unless somebody is back.
    """
    rows, attributes = codes.shape
    if last is None:
        nothing = np.zeros(rows, dtype=np.bool_)
        unmoved = np.zeros((rows, attributes), dtype=np.bool_, order="F")
        gone = NO_NUMBERS
        return ComparedRows(np.full(rows, -1, dtype=np.int64), nothing, unmoved, nothing, codes, values, gone)
    found = np.zeros(rows, dtype=np.bool_)
    back = np.zeros(rows, dtype=np.bool_)
    old_codes, old_values = codes.copy(order="F"), values.copy()
    real = slice(int(np.searchsorted(last.subjects, 0)), None)  # counterfeits come first
    subjects = last.subjects[real]
    here, where = lookup_present(subjects, numbers)
    found |= here
    old_values[here] = last.values[real][where]
    for a in range(attributes):  # gathering rows of a Fortran array is slow
        old_codes[here, a] = last.codes[real, a][where]
    stayed = np.zeros(len(subjects), dtype=np.bool_)
    stayed[where] = True
    gone = subjects[~stayed]
    missing = np.flatnonzero((numbers >= 0) & ~found)
    if len(missing):
        columns = [f"code{a}" for a in range(attributes)]
        known, then = find_newest(absent, numbers[missing], ["value", *columns])
        missing = missing[known]
        back[missing] = found[missing] = True
        old_values[missing] = then["value"][known]
        for a, column in enumerate(columns):
            old_codes[missing, a] = then[column][known]
    return ComparedRows(
        numbers=np.where(found, numbers, -1),
        back=back,
        moved=old_codes != codes,
        updated=old_values != values,
        old_codes=old_codes,
        old_values=old_values,
        gone=gone,
    )


@dataclass(frozen=True)
class ForbiddenChange:
    """A change that the strategy cannot protect: how many subjects, in which columns, and the first of them."""

    kind: Literal["gone", "back", "moved", "updated"]
    count: int
    shown: tuple[str, ...]
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class PermittedRows:
    """The comparison to go on with, how many rows became new subjects, and what cannot be protected."""

    compared: ComparedRows
    renewed: int
    problems: tuple[ForbiddenChange, ...]


def permit(
    strategy: Strategy,
    compared: ComparedRows,
    codes: Int32,
    values: Int32,
    coding: Coding,
    name_row: Callable[[int], str],
    on_change: str,
) -> PermittedRows:
    """What the strategy cannot protect becomes new subjects where the user asked for that, else a problem."""
    may = strategy.supports
    wrong_moved: Bool = np.asarray(compared.moved.any(axis=1) & (not may.quasi_identifiers))
    wrong_updated = compared.updated & (not may.sensitive)
    renewed_count = 0
    if on_change == "new-subject" and may.gone and (wrong_moved.any() or wrong_updated.any()):
        renewed = wrong_moved | wrong_updated
        renewed_count = int(renewed.sum())
        still_there = ~compared.back & renewed
        compared = replace(
            compared,
            numbers=np.where(renewed, -1, compared.numbers),
            back=compared.back & ~renewed,
            moved=compared.moved & ~renewed[:, None],
            updated=compared.updated & ~renewed,
            gone=np.sort(np.concatenate([compared.gone, compared.numbers[still_there]])),
        )
        wrong_moved = wrong_moved & ~renewed
        wrong_updated = wrong_updated & ~renewed
    problems = []
    if len(compared.gone) and not may.gone:
        names = tuple(mark_subject(int(number)) for number in compared.gone[:SHOWN])
        problems.append(ForbiddenChange("gone", len(compared.gone), names))
    if compared.back.any() and not may.back:
        rows = np.flatnonzero(compared.back)
        problems.append(
            ForbiddenChange("back", len(rows), tuple(show_text(name_row(int(row))) for row in rows[:SHOWN]))
        )
    if wrong_moved.any():
        problems.append(_describe_moved(compared, wrong_moved, codes, coding, name_row))
    if wrong_updated.any():
        problems.append(_describe_updated(compared, wrong_updated, values, coding, name_row))
    return PermittedRows(compared, renewed_count, tuple(problems))


def refuse(
    strategy: Strategy, problems: Sequence[ForbiddenChange], schema: Schema, named: Callable[[str], str]
) -> None:
    """Raise ChangeError if there are problems; those of one kind are told together. `named` puts names to numbers."""
    if not problems:
        return
    lines = []
    for kind, sentence in SENTENCES.items():
        same = [problem for problem in problems if problem.kind == kind]
        if same:
            count, shown = sum(problem.count for problem in same), [one for problem in same for one in problem.shown]
            columns = dict.fromkeys(name for problem in same for name in problem.columns)
            lines.append(
                "- "
                + sentence.format(
                    subjects="1 subject" if count == 1 else f"{count:,} subjects",
                    are="is" if count == 1 else "are",
                    s="s" if count == 1 else "",
                    people=_list_people(count, shown[:SHOWN]),
                    columns=", ".join(columns),
                    sensitive=", ".join(schema.sensitive),
                )
            )
    raise ChangeError(
        named(
            f"The snapshot changed in ways that the strategy '{strategy.name}' cannot protect; nothing was published.\n"
            + "\n".join(lines)
        )
    )


SENTENCES = {
    "gone": "{subjects} of the last release {are} not in the snapshot: {people}. Remedies: keep everyone who "
    "was ever published in the snapshot (whoever was forgotten counts as gone); or use a strategy for tables that "
    "people leave (standing, m-invariance, e-equivalence, cor-split).",
    "back": "{subjects} return{s} after an absence: {people}. Remedies: use a strategy for tables that people "
    "leave and rejoin (standing, m-invariance, e-equivalence, cor-split).",
    "moved": "{subjects} changed in the quasi-identifiers {columns}: {people}. Remedies: publish a "
    "quasi-identifier that does not change (birth year instead of age); an identifier per episode instead of per "
    'person; on_change = "new-subject" where the strategy allows subjects to leave; or a strategy that protects such '
    "changes (standing, m-invariance, e-equivalence, cor-split, bay-frame, js-reduce).",
    "updated": "{subjects} changed in the sensitive column {sensitive}: {people}. Remedies: an identifier per "
    'episode instead of per person; on_change = "new-subject" where the strategy allows subjects to leave; or a '
    "strategy that protects changed values (standing, bay-frame, js-reduce).",
}


def describe_renewal(strategy: Strategy, renewed: int) -> str:
    """For `release.steps`, if rows became new subjects."""
    return (
        f"{renewed:,} rows changed in ways that {strategy.name} cannot protect; each counts as a new subject "
        'and its old one as gone (on_change = "new-subject").'
    )


def _list_people(count: int, names: list[str]) -> str:
    more = f" and {count - len(names):,} more" if count > len(names) else ""
    return ", ".join(names) + more


def _describe_moved(
    compared: ComparedRows, wrong: Bool, codes: Int32, coding: Coding, name_row: Callable[[int], str]
) -> ForbiddenChange:
    rows = np.flatnonzero(wrong)
    columns = tuple(coding.domains[a].name for a in np.flatnonzero(compared.moved[rows].any(axis=0)))
    shown = []
    for row in rows[:SHOWN]:
        a = int(np.flatnonzero(compared.moved[row])[0])
        both = (side[row : row + 1, a] for side in (compared.old_codes, codes))
        old, new = (show_text(str(coding.labels(a, one, one)[0])) for one in both)
        shown.append(f"{show_text(name_row(int(row)))} ({coding.domains[a].name} {old} -> {new})")
    return ForbiddenChange("moved", len(rows), tuple(shown), columns)


def _describe_updated(
    compared: ComparedRows, wrong: Bool, values: Int32, coding: Coding, name_row: Callable[[int], str]
) -> ForbiddenChange:
    rows = np.flatnonzero(wrong)
    shown = []
    for row in rows[:SHOWN]:
        old, new = (show_text(coding.values[code]) for code in (compared.old_values[row], values[row]))
        shown.append(f"{show_text(name_row(int(row)))} ({old} -> {new})")
    return ForbiddenChange("updated", len(rows), tuple(shown))


def mark_subject(number: int) -> str:
    """A person whose name is put in later, by who has the map of all; no text from a table can hold such a mark."""
    return f"\x00subject:{number}\x00"


@dataclass(frozen=True)
class SnapshotTraits:
    """hashes: the sums, modulo 2**64, of two hashes of each row; respelled: by column, people whose value changed in
    nothing but zeros in front, capitals or a '.0' at the end; changed: by column, people whose value changed at all."""

    hashes: tuple[int, int]
    respelled: Mapping[str, int]
    changed: Mapping[str, int]

    @staticmethod
    def sum(parts: Sequence[SnapshotTraits]) -> SnapshotTraits:
        """Those of the whole table."""
        one, other = (sum(part.hashes[place] for part in parts) % 2**64 for place in (0, 1))
        respelled, changed = (
            dict(sum(map(Counter, counts), Counter[str]()).most_common())
            for counts in zip(*((part.respelled, part.changed) for part in parts), strict=True)
        )
        return SnapshotTraits((one, other), respelled, changed)

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
    changed = {domain.name: int(compared.moved[:, a].sum()) for a, domain in enumerate(coding.domains)}
    changed[" + ".join(coding.schema.sensitive)] = int(compared.updated.sum())
    return SnapshotTraits((hashes[0], hashes[1]), respelled, changed)


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
