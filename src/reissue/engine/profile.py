"""What tables show of their columns before anybody has said what these are: kinds, values, and who stands alone."""

from __future__ import annotations

import itertools
import os
from collections.abc import Container, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from threading import Lock
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from reissue.arrays.types import NO_CODES, NO_NUMBERS, Int32, Int64
from reissue.engine.numbers import find_dates_and_numbers
from reissue.engine.read import Read, Source, find
from reissue.engine.text import Labels, as_text, count_occurrences, encode_text
from reissue.errors import SnapshotError
from reissue.schema.spelling import UTF_8, WINDOWS

SignedInt = NDArray[np.signedinteger[Any]]
ProfileKind = Literal["int", "float", "date", "text", "other"]

MOST_LABELS = 20_000
"""A column of text with more different values is looked at through its first values only."""
SHOWN = 2_000
MANY_ROWS = 200_000
"""Texts of more rows are counted in parts: to know all of them at once takes more memory than they do."""
SAMPLE = 100_000
"""Rows on which pairs of columns are measured."""


@dataclass(frozen=True, eq=False)
class ColumnProfile:
    """A column of one or more tables.

    kind:     of its values, texts that stand for a missing value aside; "other" for what no release can carry
    rows:     of all tables; nulls among them
    distinct: different values; repeated: rows that repeat a value of the same table
    labels:   the values, most frequent first, and counts int64[labels] their rows; some of them only if not `whole`
    index:    int[rows of the last table] the place of each row's value in some order, -1 for null; as narrow as can be
    """

    name: str
    kind: ProfileKind
    rows: int
    nulls: int
    distinct: int
    repeated: int
    labels: Labels
    counts: Int64
    index: SignedInt | None

    @property
    def whole(self) -> bool:
        return self.index is not None


@dataclass(frozen=True, eq=False)
class TableProfile:
    """What the columns of one or more tables hold.

    names:    of the sources
    rows:     of the last one, whose people are counted by `count_alone`
    encoding: in which those were read that are not UTF-8
    """

    names: tuple[str, ...]
    rows: int
    columns: Mapping[str, ColumnProfile]
    encoding: str = UTF_8

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

    def count_alone_in_pairs(self, columns: Sequence[str]) -> dict[tuple[str, str], int]:
        """The same for each pair of columns, on a sample of at most SAMPLE rows."""
        drawn = np.random.default_rng(0).choice(self.rows, min(self.rows, SAMPLE), replace=False)
        return {pair: self.count_alone(pair, drawn) for pair in itertools.combinations(columns, 2)}


def _count_single(key: Int64) -> int:
    ordered = np.sort(key)
    new = np.concatenate([[True], ordered[1:] != ordered[:-1], [True]]) if len(ordered) else np.zeros(1, dtype=np.bool_)
    return int(np.count_nonzero(new[1:] & new[:-1]))


class _Every:
    """Whatever a column is called: all text comes as Arrow dictionaries, which is half as large."""

    def __contains__(self, name: object) -> bool:
        return True


def profile(sources: Sequence[Source], unknown: Container[str]) -> TableProfile:
    """Look at every column of one or more tables of the same columns; unknown: texts (in small letters) for missing.

    Memory: the tables as codes, and two columns at a time as text; each is let go when it was looked at.
    """
    with _give_back():
        return _profile([find(source, None, encoded=_Every(), encoding=WINDOWS) for source in sources], unknown)


@contextmanager
def _give_back() -> Iterator[None]:
    """Arrow takes its memory from the system, which gets it back at once; its own allocators keep it for later."""
    before = pa.default_memory_pool()
    pa.set_memory_pool(pa.system_memory_pool())
    try:
        yield
    finally:
        pa.set_memory_pool(before)


def _profile(parts: list[Read], unknown: Container[str]) -> TableProfile:
    """parts: emptied, so that no table is kept longer than its columns."""
    _release()
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
    names, rows = tuple(part.name for part in parts), parts[-1].table.num_rows
    encoding = next((part.encoding for part in parts if part.encoding != UTF_8), UTF_8)
    waiting = {name: [part.table.column(name) for part in parts] for name in common}
    parts.clear()
    del part
    with ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:  # Arrow counts without the interpreter
        alone = Lock()
        found = pool.map(lambda name: _profile_column(name, waiting.pop(name), unknown, alone), common)
        return TableProfile(names, rows, dict(zip(common, found, strict=True)), encoding)


def _release() -> None:
    """Give back to the system what is free."""
    pa.default_memory_pool().release_unused()


def _profile_column(
    name: str, chunked: Sequence[pa.ChunkedArray], unknown: Container[str], alone: Lock
) -> ColumnProfile:
    """alone: held while a column is looked at whose values are many, which takes memory; others go on meanwhile."""
    coded = _unify(chunked)
    with nullcontext() if coded is not None else alone:
        return _look_at(name, chunked, coded, unknown)


def _look_at(
    name: str, chunked: Sequence[pa.ChunkedArray], coded: pa.ChunkedArray | None, unknown: Container[str]
) -> ColumnProfile:
    rows = [len(column) for column in chunked]
    try:
        column = _join(chunked) if coded is None else coded
        nulls, distinct, repeated = _count_distinct(column, rows)
        labels, index = _read_labels(column, distinct)
    except (pa.ArrowException, ValueError):
        none = Labels(pa.array([], pa.string()))
        return ColumnProfile(name, "other", sum(rows), 0, 0, 0, none, NO_NUMBERS, None)
    whole = len(index) == sum(rows)
    nulls = int(np.count_nonzero(index < 0)) if whole else nulls  # text of nothing but spaces is missing, too
    counts = count_occurrences(index, len(labels))
    used = np.flatnonzero(counts)
    order = used[np.argsort(-counts[used], kind="stable")]
    labels = labels.take(pa.array(order))
    kind = _find_kind(column.type, labels, unknown)
    last = _narrow(index[-rows[-1] :], len(counts)) if whole else None
    del column, index
    _release()
    return ColumnProfile(name, kind, sum(rows), nulls, distinct, repeated, Labels(labels), counts[order], last)


def _narrow(index: SignedInt, labels: int) -> SignedInt:
    """A copy that takes one or two bytes for each row where there are few labels."""
    return index.astype(np.int8 if labels < 2**7 else np.int16 if labels < 2**15 else np.int32)


def _join(columns: Sequence[pa.ChunkedArray]) -> pa.ChunkedArray:
    """The column of all tables as one, its values written out."""
    plain = [one.cast(one.type.value_type) if pa.types.is_dictionary(one.type) else one for one in columns]
    kinds = {one.type for one in plain}
    if len(kinds) > 1:
        plain = [pa.chunked_array([as_text(chunk) for chunk in one.chunks], pa.string()) for one in plain]
    return pa.chunked_array([chunk for one in plain for chunk in one.chunks], plain[0].type)


def _unify(columns: Sequence[pa.ChunkedArray]) -> pa.ChunkedArray | None:
    """The column of all tables as one dictionary of few texts, not written out; None if it is not that."""
    chunks = [chunk for one in columns for chunk in one.chunks]
    kind = columns[0].type
    if not chunks or any(one.type != kind for one in columns):
        return None
    if not pa.types.is_dictionary(kind) or not pa.types.is_string(kind.value_type):
        return None
    if sum(len(chunk.dictionary) for chunk in chunks) > max(MOST_LABELS, sum(map(len, chunks)) // 4):
        return None
    joined = pa.chunked_array(chunks, kind).unify_dictionaries()
    labels = joined.chunk(0).dictionary
    return joined if pc.count_distinct(labels).as_py() == len(labels) <= MOST_LABELS else None


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
    if pa.types.is_dictionary(column.type):
        used = [chunk.indices.unique().drop_null() for chunk in column.chunks]
        return len(np.unique(np.concatenate([NO_CODES, *used])))
    head = column.slice(0, SHOWN)
    try:
        if pa.types.is_string(column.type) and len(column) > SHOWN:
            several, found = pc.mean(pc.count_substring(head, " ")).as_py() or 0, pc.count_distinct(head).as_py()
            if several >= 3 and found > len(head) // 2:
                return int(min(found * len(column) // len(head), len(column) - column.null_count - 1))
        if pa.types.is_string(column.type) and len(column) > MANY_ROWS:
            return sum(int(pc.count_distinct(part).as_py()) for part in _divide(column))
        return int(pc.count_distinct(column).as_py())
    except pa.ArrowNotImplementedError:
        return int(column.length() - column.null_count)


def _divide(column: pa.ChunkedArray, parts: int = 8) -> Iterator[pa.ChunkedArray]:
    """Texts by their last letter: equal ones are in the same part, of which one at a time is counted."""
    last = pc.utf8_slice_codeunits(column, start=-1, stop=None).dictionary_encode().unify_dictionaries()
    place = pa.chunked_array([pc.bit_wise_and(chunk.indices, parts - 1) for chunk in last.chunks])
    for part in range(parts):
        yield column.filter(pc.equal(place, part))
        _release()


def _read_labels(column: pa.ChunkedArray, distinct: int) -> tuple[pa.Array, Int32]:
    """All values, or the first ones of text that hardly repeats, which nobody reads one by one."""
    texts = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    few = distinct <= MOST_LABELS or not texts or _all_numbers(column)
    return encode_text(column if few else column.slice(0, SHOWN))


def _all_numbers(column: pa.ChunkedArray) -> bool:
    try:
        column.slice(0, SHOWN).cast(pa.float64())
        column.cast(pa.float64())
    except pa.ArrowException:
        return False
    return True


def _find_kind(type_: pa.DataType, labels: pa.Array, unknown: Container[str]) -> ProfileKind:
    if pa.types.is_date(type_) or pa.types.is_timestamp(type_):
        return "date" if find_dates_and_numbers(labels)[0].all() else "other"
    if pa.types.is_integer(type_):
        return "int"
    if pa.types.is_nested(type_) or pa.types.is_binary(type_) or pa.types.is_time(type_):
        return "other"
    if pa.types.is_boolean(type_):
        return "text"
    known = np.fromiter((label.strip().casefold() not in unknown for label in Labels(labels)), np.bool_, len(labels))
    if not known.any():
        return "text"
    dated, numeric = find_dates_and_numbers(labels)
    if dated[known].all():
        return "date"
    if not numeric[known].all():
        return "text"
    trimmed = pc.utf8_trim_whitespace(labels).filter(pa.array(known))
    if pc.any(pc.match_substring_regex(trimmed, r"^[+-]?0[0-9]")).as_py():
        return "text"  # 007 is a code, not a number
    return "int" if pc.all(pc.match_substring_regex(trimmed, r"^[+-]?[0-9]+$")).as_py() else "float"
