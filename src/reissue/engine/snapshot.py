"""A snapshot: read, checked against the schema with all problems told at once, and turned into codes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from reissue.arrays.types import Int32, Int64
from reissue.coding import MISSING, Coding, NumericSummary, SnapshotSummary
from reissue.engine.numbers import Numbers
from reissue.engine.parsing import Parsed, parse, tell_empty, tell_missing
from reissue.engine.problems import Problems
from reissue.engine.read import Source, find
from reissue.engine.text import Text, count_occurrences, find_first_places
from reissue.errors import SnapshotError
from reissue.schema import Schema
from reissue.schema.attributes import MOST_DECIMALS

Label = TypeVar("Label")


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
        values, index = join_labels([part for part in parsed.sensitive.values() if part is not None])
        return Snapshot(name, parsed.identifiers, attributes, values, index, parsed.insensitive, lines)

    def __len__(self) -> int:
        return len(self.identifiers)

    @cached_property
    def seen(self) -> SnapshotSummary:
        """What a coding has to learn from this snapshot. O(rows)."""
        columns = self.quasi_identifiers.items()
        return SnapshotSummary(
            categories={name: count_text(column) for name, column in columns if isinstance(column, Text)},
            numbers={name: summarize_numbers(column) for name, column in columns if isinstance(column, Numbers)},
            sensitive=count_labels(self.sensitive, self.sensitive_index),
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
                codes[:, a] = _look_up(name, column, coding.lookup(name))
        lookup = coding.value_lookup
        named = [tuple(MISSING if label is None else label for label in value) for value in self.sensitive]
        unknown = [value for value in named if value not in lookup]
        if unknown:
            raise SnapshotError(f"{self.name}: the coding does not know the sensitive value {unknown[0]!r}.")
        return codes, np.array([lookup[value] for value in named], dtype=np.int32)[self.sensitive_index]

    def identifiers_at(self, rows: Int64) -> pa.Array:
        """The identifiers of some rows (from 0)."""
        return self.identifiers.take(pa.array(rows))


def load(source: Source, schema: Schema) -> Snapshot:
    """Read the columns of the schema and check them; one SnapshotError tells everything that is wrong."""
    encoded = {*schema.quasi_identifiers, *schema.sensitive}
    found = find(source, schema.columns, encoded=encoded, encoding=schema.spelling.encoding)
    problems = Problems(found.name, found.lines)
    tell_missing(schema, found.header, problems)
    if found.table.num_columns and found.table.num_rows == 0:
        tell_empty(problems)
    parsed = parse(found.table, schema, problems)
    problems.refuse()
    return Snapshot.of(found.name, parsed, found.lines)


def join_labels(columns: list[Text]) -> tuple[tuple[tuple[str | None, ...], ...], Int32]:
    """(distinct tuples of labels that occur, int32[rows] place of each row's tuple). O(rows log rows) if several."""
    key = _number_labels(columns[0])
    for text in columns[1:]:  # after each column the key is dense again, so it cannot overflow
        wide = key.astype(np.int64) * (len(text.labels) + 1) + (text.index + 1)
        key = _compact(wide).astype(np.int32)
    first = find_first_places(key, count_occurrences(key, int(key.max(initial=-1)) + 1))
    parts = [
        [None if place < 0 else str(text.labels[place]) for place in text.index[first].tolist()] for text in columns
    ]
    return tuple(zip(*parts, strict=True)), key


def _number_labels(text: Text) -> Int32:
    """int32[rows]: the labels that occur numbered 0, 1, ... in their order, after null."""
    present = np.append(text.counts > 0, False)
    place = np.cumsum(present, dtype=np.int32) - np.int32(text.nulls == 0)
    place[-1] = 0
    return place[text.index]


def _compact(key: Int64) -> Int64:
    """The keys renumbered 0, 1, ... in their order; by counting if they are small."""
    largest = int(key.max(initial=0))
    if largest > max(1 << 20, 4 * len(key)):
        return np.unique(key, return_inverse=True)[1].astype(np.int64)
    present = np.zeros(largest + 1, dtype=np.bool_)
    present[key] = True
    place: Int64 = np.cumsum(present, dtype=np.int64) - 1
    return place[key]


def count_labels(labels: Sequence[Label], index: Int32, places: Int64 | None = None) -> dict[Label, tuple[int, int]]:
    """Every label that occurs, with (rows, place of the first of them); index: int32[rows], -1 is skipped.

    places: int64[rows] ascending, where each row stands in its source; None: they are the rows of the source
    """
    counts = count_occurrences(index, len(labels))
    return _tell_counts(labels, counts, find_first_places(index, counts), places)


def count_text(text: Text, places: Int64 | None = None) -> dict[str | None, tuple[int, int]]:
    """As `count_labels`, with None for nulls."""
    counted: dict[str | None, tuple[int, int]] = {**_tell_counts(text.labels, text.counts, text.first, places)}
    if text.nulls:
        row = int(np.argmax(text.index < 0))
        counted[None] = (text.nulls, row if places is None else int(places[row]))
    return counted


def _tell_counts(
    labels: Sequence[Label] | NDArray[np.object_], counts: Int64, first: Int64, places: Int64 | None
) -> dict[Label, tuple[int, int]]:
    used = np.flatnonzero(counts)
    where = first[used] if places is None else places[first[used]]
    pairs = zip(counts[used].tolist(), where.tolist(), strict=True)
    return dict(zip([labels[place] for place in used.tolist()], pairs, strict=True))


def summarize_numbers(numbers: Numbers, places: Int64 | None = None) -> NumericSummary:
    """A numeric column, or part of one: then with `fits`; for places see `count_labels`. O(rows)."""
    values, null = numbers.values, np.isnan(numbers.values)
    nulls, part = int(null.sum()), places is not None
    fits = tuple(numbers.kind != "float" or numbers.fits(digits) for digits in range(MOST_DECIMALS)) if part else ()

    def place(row: np.integer) -> int:
        return int(row if places is None else places[row])

    first_null = place(np.argmax(null)) if nulls else 0
    if nulls == len(null):
        return NumericSummary(
            kind=numbers.kind, lowest=None, highest=None, nulls=nulls, first_null=first_null, fits=fits
        )
    low, high = (np.nanargmin(values), np.nanargmax(values)) if nulls else (np.argmin(values), np.argmax(values))
    broken = np.flatnonzero((np.rint(values) != values) & ~null)[:1] if numbers.kind == "float" else ()
    return NumericSummary(
        kind=numbers.kind,
        lowest=float(values[low]),
        highest=float(values[high]),
        decimals=numbers.decimals(MOST_DECIMALS) if numbers.kind == "float" and not part else 0,
        nulls=nulls,
        first_null=first_null,
        rows=(place(low), place(high)),
        fraction=next(((float(values[row]), place(row)) for row in broken), None),
        fits=fits,
    )


def _look_up(name: str, text: Text, lookup: Mapping[str, int]) -> Int32:
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


class Ahead:
    """A snapshot that another thread reads and checks; `take` waits for it, and raises what the reading raised.

    Reading files hardly needs the interpreter, importing needs nothing else, so that the two go well side by side.
    """

    def __init__(self, source: Source, schema: Schema) -> None:
        self._done: Future[Snapshot] = Future()
        if isinstance(source, str | Path):
            pool = ThreadPoolExecutor(1, thread_name_prefix="reissue-read")
            self._done = pool.submit(_load_and_summarize, source, schema)
            pool.shutdown(wait=False)
        else:  # frames are in memory already
            self._done.set_result(load(source, schema))

    def take(self) -> Snapshot:
        """The snapshot, once: it is not kept here, where it would lie beside its codes."""
        done, self._done = self._done, Future()
        return done.result()


def _load_and_summarize(source: Source, schema: Schema) -> Snapshot:
    snapshot = load(source, schema)
    _ = snapshot.seen  # is kept: whoever publishes asks for it first
    pa.default_memory_pool().release_unused()  # else Arrow keeps as much again for the next table
    return snapshot
