"""What tables show of their columns before anybody has said what these are: kinds, values, and who stands alone."""

from __future__ import annotations

import itertools
import os
from collections.abc import Container, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from reissue.arrays.types import Int32, Int64
from reissue.engine.numbers import dates_and_numbers
from reissue.engine.read import Read, Source, find
from reissue.engine.text import Text, as_text, text_of
from reissue.errors import SnapshotError

ProfileKind = Literal["int", "float", "date", "text", "other"]

MOST_LABELS = 20_000
"""A column of text with more different values is looked at through its first values only."""
SHOWN = 2_000
SAMPLE = 100_000
"""Rows on which pairs of columns are measured."""


@dataclass(frozen=True, eq=False)
class ColumnProfile:
    """A column of one or more tables.

    kind:     of its values, texts that stand for a missing value aside; "other" for what no release can carry
    rows:     of all tables; nulls among them
    distinct: different values; repeated: rows that repeat a value of the same table
    labels:   the values, most frequent first, and counts int64[labels] their rows; some of them only if not `whole`
    index:    int32[rows of the last table] the place of each row's value in some order, -1 for null
    """

    name: str
    kind: ProfileKind
    rows: int
    nulls: int
    distinct: int
    repeated: int
    labels: tuple[str, ...]
    counts: Int64
    index: Int32 | None

    @property
    def whole(self) -> bool:
        return self.index is not None


@dataclass(frozen=True, eq=False)
class TableProfile:
    """names: of the sources; rows: of the last one, whose people are counted by `count_alone`."""

    names: tuple[str, ...]
    rows: int
    columns: Mapping[str, ColumnProfile]

    def count_alone(self, columns: Sequence[str], rows: Int64 | None = None) -> int:
        """How many people no other has the same values as, in these columns (nulls are a value). O(rows log rows)."""
        key: Int64 = np.zeros(self.rows if rows is None else len(rows), dtype=np.int64)
        room = 1
        for name in columns:
            index = self.columns[name].index
            if index is None:
                continue
            width = int(index.max(initial=-1)) + 2
            if room * width > 2**62:
                key = np.unique(key, return_inverse=True)[1].reshape(-1).astype(np.int64)
                room = int(key.max(initial=0)) + 1
            key, room = key * width + (index if rows is None else index[rows]) + 1, room * width
        return _count_single(key)

    def are_twins(self, one: str, other: str) -> bool:
        """Whether each value of one column goes with one value of the other, both ways. O(rows log rows)."""
        first, second = self.columns[one].index, self.columns[other].index
        if first is None or second is None or self.columns[one].distinct != self.columns[other].distinct:
            return False
        pairs = len(np.unique(first.astype(np.int64) * (int(second.max(initial=0)) + 2) + second + 1))
        return pairs == len(np.unique(first)) == len(np.unique(second))

    def count_alone_in_pairs(self, columns: Sequence[str], seed: int = 0) -> dict[tuple[str, str], int]:
        """The same for each pair of columns, on a sample of at most SAMPLE rows."""
        drawn = np.random.default_rng(seed).choice(self.rows, min(self.rows, SAMPLE), replace=False)
        return {pair: self.count_alone(pair, drawn) for pair in itertools.combinations(columns, 2)}


def _count_single(key: Int64) -> int:
    ordered = np.sort(key)
    new = np.concatenate([[True], ordered[1:] != ordered[:-1], [True]]) if len(ordered) else np.zeros(1, dtype=np.bool_)
    return int(np.count_nonzero(new[1:] & new[:-1]))


def profile(sources: Sequence[Source], unknown: Container[str]) -> TableProfile:
    """Look at every column of one or more tables of the same columns; unknown: texts (in small letters) for missing."""
    parts = [find(source, None) for source in sources]
    for part in parts:
        if part.table.num_rows == 0:
            raise SnapshotError(f"{part.name}: the table has no rows. Check the export, or the query's conditions.")
        if list(part.header) != list(dict.fromkeys(part.header)) or "" in part.header:
            raise SnapshotError(f"{part.name} has columns without a name, or of one name. Name every column once.")
    common = [name for name in parts[-1].header if all(name in part.header for part in parts)]
    if len(common) < 3:
        raise SnapshotError(
            f"{parts[-1].name}: fewer than three columns are in every table ({', '.join(common) or 'none'}). A table "
            "needs an identifier, something that outsiders may know, and something that nobody may learn; the first "
            "line names the columns."
        )
    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:  # Arrow counts without the interpreter
        columns = dict(zip(common, pool.map(lambda name: _profile_column(name, parts, unknown), common), strict=True))
    return TableProfile(tuple(part.name for part in parts), parts[-1].table.num_rows, columns)


def _profile_column(name: str, parts: Sequence[Read], unknown: Container[str]) -> ColumnProfile:
    chunked = [part.table.column(name) for part in parts]
    rows = [len(column) for column in chunked]
    try:
        column = _join(chunked)
        nulls, distinct, repeated = _count_distinct(column, rows)
        text = _read_labels(column, distinct)
    except (pa.ArrowException, ValueError):
        return ColumnProfile(name, "other", sum(rows), 0, 0, 0, (), np.empty(0, dtype=np.int64), None)
    whole = len(text) == sum(rows)
    nulls = text.nulls if whole else nulls  # text of nothing but spaces is missing, too
    used = np.flatnonzero(text.counts)
    order = used[np.argsort(-text.counts[used], kind="stable")]
    labels = tuple(str(text.labels[place]) for place in order.tolist())
    kind = _find_kind(column.type, Text(labels, np.arange(len(labels), dtype=np.int32)), unknown)
    index = text.index[-rows[-1] :] if whole else None
    return ColumnProfile(name, kind, sum(rows), nulls, distinct, repeated, labels, text.counts[order], index)


def _join(columns: Sequence[pa.ChunkedArray]) -> pa.ChunkedArray:
    plain = [one.cast(one.type.value_type) if pa.types.is_dictionary(one.type) else one for one in columns]
    kinds = {one.type for one in plain}
    if len(kinds) > 1:
        plain = [pa.chunked_array([as_text(chunk) for chunk in one.chunks], pa.string()) for one in plain]
    return pa.chunked_array([chunk for one in plain for chunk in one.chunks], plain[0].type)


def _count_distinct(column: pa.ChunkedArray, rows: Sequence[int]) -> tuple[int, int, int]:
    """(nulls, distinct values, rows that repeat a value of their own table)."""
    ends = np.cumsum([0, *rows])
    parts = [column.slice(int(start), count) for start, count in zip(ends, rows, strict=False)]
    found = [_count_values(part) for part in parts]
    repeated = column.length() - column.null_count - sum(found)
    return column.null_count, found[0] if len(parts) == 1 else _count_values(column), repeated


def _count_values(column: pa.ChunkedArray) -> int:
    """Different values, nulls aside; of lists and the like, which cannot be compared, every one counts.

    Of sentences, which nobody publishes, those of the first rows tell nearly how many there are.
    """
    head = column.slice(0, SHOWN)
    try:
        if pa.types.is_string(column.type) and len(column) > SHOWN:
            several, found = pc.mean(pc.count_substring(head, " ")).as_py() or 0, pc.count_distinct(head).as_py()
            if several >= 3 and found > len(head) // 2:
                return int(min(found * len(column) // len(head), len(column) - column.null_count - 1))
        return int(pc.count_distinct(column).as_py())
    except pa.ArrowNotImplementedError:
        return int(column.length() - column.null_count)


def _read_labels(column: pa.ChunkedArray, distinct: int) -> Text:
    """All values, or the first ones of text that hardly repeats, which nobody reads one by one."""
    texts = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    few = distinct <= MOST_LABELS or (not texts) or _all_numbers(column)
    return text_of(column if few else column.slice(0, SHOWN))


def _all_numbers(column: pa.ChunkedArray) -> bool:
    try:
        column.slice(0, SHOWN).cast(pa.float64())
        column.cast(pa.float64())
    except pa.ArrowException:
        return False
    return True


def _find_kind(type_: pa.DataType, text: Text, unknown: Container[str]) -> ProfileKind:
    if pa.types.is_date(type_) or pa.types.is_timestamp(type_):
        return "date" if dates_and_numbers(text)[0].all() else "other"
    if pa.types.is_integer(type_):
        return "int"
    if pa.types.is_nested(type_) or pa.types.is_binary(type_) or pa.types.is_time(type_):
        return "other"
    if pa.types.is_boolean(type_):
        return "text"
    known = np.array([str(label).strip().casefold() not in unknown for label in text.labels], dtype=np.bool_)
    if not known.any():
        return "text"
    dated, numeric = dates_and_numbers(text)
    if dated[known].all():
        return "date"
    if not numeric[known].all():
        return "text"
    trimmed = pc.utf8_trim_whitespace(pa.array(text.labels, pa.string())).filter(pa.array(known))
    if pc.any(pc.match_substring_regex(trimmed, r"^[+-]?0[0-9]")).as_py():
        return "text"  # 007 is a code, not a number
    return "int" if pc.all(pc.match_substring_regex(trimmed, r"^[+-]?[0-9]+$")).as_py() else "float"
