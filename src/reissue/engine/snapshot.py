"""A snapshot: read, checked against the schema with all problems told at once, and turned into codes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import pyarrow as pa

from reissue.arrays.types import Int32, Int64
from reissue.coding import MISSING, Coding, NumericSeen, Seen
from reissue.coding.seen import Counted
from reissue.engine.numbers import Numbers
from reissue.engine.parsing import Parsed, parse, tell_empty, tell_missing
from reissue.engine.problems import Problems
from reissue.engine.read import Source, find
from reissue.engine.text import Text, first_places
from reissue.errors import SnapshotError
from reissue.schema import Schema
from reissue.schema.attributes import MOST_DECIMALS


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A snapshot that fits its schema, in the order of its source.

    identifiers:       large_string[rows], unique
    quasi_identifiers: by column, in the order of the schema
    sensitive:         the distinct tuples of labels (None for null), and sensitive_index int32[rows] into them
    insensitive:       the other columns to be published; None if there are none
    lines:             for text files, the line numbers of data rows (both from 1)
    """

    name: str
    identifiers: pa.Array
    quasi_identifiers: Mapping[str, Text | Numbers]
    sensitive: tuple[tuple[str | None, ...], ...]
    sensitive_index: Int32
    insensitive: pa.Table | None
    lines: Callable[[Sequence[int]], list[int]] | None = None

    @staticmethod
    def of(name: str, parsed: Parsed, lines: Callable[[Sequence[int]], list[int]] | None = None) -> Snapshot:
        """From columns without problems."""
        attributes = {name: column for name, column in parsed.attributes.items() if column is not None}
        values, index = joint([part for part in parsed.sensitive.values() if part is not None])
        return Snapshot(name, parsed.identifiers, attributes, values, index, parsed.insensitive, lines)

    def __len__(self) -> int:
        return len(self.identifiers)

    @cached_property
    def seen(self) -> Seen:
        """What a coding has to learn from this snapshot. O(rows)."""
        columns = self.quasi_identifiers.items()
        counts = np.bincount(self.sensitive_index, minlength=len(self.sensitive)).tolist()
        first = first_places(self.sensitive_index, len(self.sensitive)).tolist()
        return Seen(
            categories={name: _counted(column) for name, column in columns if isinstance(column, Text)},
            numbers={name: _extremes(column) for name, column in columns if isinstance(column, Numbers)},
            sensitive=dict(zip(self.sensitive, zip(counts, first, strict=True), strict=True)),
            name=self.name,
            lines=self.lines,
        )

    def encode(self, coding: Coding) -> tuple[Int32, Int32]:
        """(codes int32[rows, attributes] in Fortran order, values int32[rows]) under a coding that has learned `seen`.

        Distinct values are looked up, rows only gathered: O(rows) array operations.
        """
        codes = np.empty((len(self), len(coding.attributes)), dtype=np.int32, order="F")
        for a, name in enumerate(coding.attributes):
            column = self.quasi_identifiers[name]
            if isinstance(column, Numbers):
                codes[:, a] = coding.numeric(name).encode(column.values)
            else:
                codes[:, a] = _looked_up(name, column, coding.lookup(name))
        lookup = coding.value_lookup
        named = [tuple(MISSING if label is None else label for label in value) for value in self.sensitive]
        unknown = [value for value in named if value not in lookup]
        if unknown:
            raise SnapshotError(f"{self.name}: the coding does not know the sensitive value {unknown[0]!r}.")
        return codes, np.array([lookup[value] for value in named], dtype=np.int32)[self.sensitive_index]

    def identifier_at(self, row: int) -> str:
        """The identifier of one row (from 0)."""
        return str(self.identifiers[row].as_py())

    def identifiers_at(self, rows: Int64) -> pa.Array:
        """The identifiers of some rows (from 0)."""
        return self.identifiers.take(pa.array(rows))


def load(source: Source, schema: Schema) -> Snapshot:
    """Read the columns of the schema and check them; one SnapshotError tells everything that is wrong."""
    encoded = {*schema.quasi_identifiers, *schema.sensitive}
    found = find(source, schema.columns, encoded=encoded)
    problems = Problems(found.name, found.lines)
    tell_missing(schema, found.header, problems)
    if found.table.num_columns and found.table.num_rows == 0:
        tell_empty(problems)
    parsed = parse(found.table, schema, problems)
    problems.refuse()
    return Snapshot.of(found.name, parsed, found.lines)


def joint(columns: list[Text]) -> tuple[tuple[tuple[str | None, ...], ...], Int32]:
    """(distinct tuples of labels that occur, int32[rows] place of each row's tuple). O(rows log rows) if several."""
    key = np.zeros(len(columns[0]), dtype=np.int64)
    for text in columns:  # after each column the key is dense again, so it cannot overflow
        key = key * (len(text.labels) + 1) + (text.index + 1)
        key = _dense(key)
    first = first_places(key.astype(np.int32), int(key.max(initial=-1)) + 1)
    parts = [
        [None if place < 0 else str(text.labels[place]) for place in text.index[first].tolist()] for text in columns
    ]
    return tuple(zip(*parts, strict=True)), key.astype(np.int32)


def _dense(key: Int64) -> Int64:
    """The keys renumbered 0, 1, ... in their order; by counting if they are small."""
    largest = int(key.max(initial=0))
    if largest > max(1 << 20, 4 * len(key)):
        return np.unique(key, return_inverse=True)[1].astype(np.int64)
    present = np.zeros(largest + 1, dtype=np.bool_)
    present[key] = True
    place: Int64 = np.cumsum(present, dtype=np.int64) - 1
    return place[key]


def _counted(text: Text) -> Counted:
    """Every label that occurs, and None for nulls, with (rows, first row)."""
    used = np.flatnonzero(text.counts)
    labels = [text.labels[place] for place in used.tolist()]
    counted: dict[str | None, tuple[int, int]] = dict(
        zip(labels, zip(text.counts[used].tolist(), text.first[used].tolist(), strict=True), strict=True)
    )
    if text.nulls:
        counted[None] = (text.nulls, int(np.argmax(text.index < 0)))
    return counted


def _extremes(numbers: Numbers) -> NumericSeen:
    null = np.isnan(numbers.values)
    nulls = int(null.sum())
    if nulls == len(null):
        return NumericSeen(kind=numbers.kind, lowest=None, highest=None, nulls=nulls)
    return NumericSeen(
        kind=numbers.kind,
        lowest=float(np.nanmin(numbers.values)),
        highest=float(np.nanmax(numbers.values)),
        decimals=numbers.decimals(MOST_DECIMALS) if numbers.kind == "float" else 0,
        nulls=nulls,
        first_null=int(np.argmax(null)),
        where=partial(_first, numbers),
    )


def _first(numbers: Numbers, value: float | None) -> tuple[float, int]:
    row = first_row(numbers, value)
    assert row is not None
    return float(numbers.values[row]), row


def first_row(numbers: Numbers, value: float | None) -> int | None:
    """The first row with this value, or for None with one that is not whole; None if there is no such row. O(rows)."""
    wanted = numbers.values == value if value is not None else np.rint(numbers.values) != numbers.values
    rows = np.flatnonzero(wanted & ~np.isnan(numbers.values))
    return int(rows[0]) if len(rows) else None


def _looked_up(name: str, text: Text, lookup: Mapping[str, int]) -> Int32:
    """int32[rows]: the code of each row's label; a null's is that of MISSING."""
    used = text.counts > 0
    code = np.full(len(text.labels) + 1, -1, dtype=np.int32)
    code[:-1][used] = [lookup.get(text.labels[place], -1) for place in np.flatnonzero(used).tolist()]
    code[-1] = lookup.get(MISSING, -1)
    unknown = np.flatnonzero(used & (code[:-1] < 0))
    if len(unknown) or (text.nulls and code[-1] < 0):
        value = repr(text.labels[unknown[0]]) if len(unknown) else "a missing value"
        raise SnapshotError(f"Column '{name}': the coding does not know {value}. Let it learn the snapshot first.")
    return code[text.index]
