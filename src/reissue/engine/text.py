"""Columns as text: few distinct labels, and for every row the place of its label among them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from reissue.arrays.types import Int32, Int64


@dataclass(frozen=True, eq=False)
class Text:
    """A column of text; row i says labels[index[i]], or nothing where index[i] is -1.

    labels: str each; may repeat, and may hold labels of no row; index: int32[rows]
    """

    labels: Sequence[str] | NDArray[np.object_]
    index: Int32

    def __len__(self) -> int:
        return len(self.index)

    @cached_property
    def counts(self) -> Int64:
        """int64[labels]: rows of each label."""
        return count_occurrences(self.index, len(self.labels))

    @cached_property
    def first(self) -> Int64:
        """int64[labels]: the first row (from 0) of each label, -1 for a label of no row. O(rows)."""
        return find_first_places(self.index, self.counts)

    @property
    def nulls(self) -> int:
        return int(np.count_nonzero(self.index < 0))


@dataclass(frozen=True, eq=False)
class GroupText:
    """A column of text of which groups of rows have the same; row i says labels[label[group[i]]].

    labels: str each; may repeat; label: int32[groups]; group: int32[rows]
    """

    labels: Sequence[str] | NDArray[np.object_]
    label: Int32
    group: Int32


_BLOCK = 1 << 16
"""Rows that are looked at together, so that what is made of them stays in the processor's cache."""


def count_occurrences(index: Int32, count: int) -> Int64:
    """int64[count]: how often each of 0..count-1 occurs in `index`; entries of -1 are ignored."""
    found = np.zeros(count, dtype=np.int64)
    block = max(_BLOCK, count)
    for start in range(0, len(index), block):
        part = index[start : start + block]
        found += np.bincount(part if part.min() >= 0 else part[part >= 0], minlength=count)
    return found


def find_first_places(index: Int32, counts: Int64) -> Int64:
    """int64[labels]: where each label first occurs in `index`, -1 if it does not; entries of -1 are ignored.

    counts: int64[labels], how often each occurs: once all have been found, the rest is not looked at.
    """
    first = np.full(len(counts), -1, dtype=np.int64)
    missing, block = np.count_nonzero(counts), max(_BLOCK, len(counts))
    for start in range(0, len(index) if missing else 0, block):
        part = index[start : start + block]
        found = np.full(len(counts) + 1, -1, dtype=np.int64)  # the extra place takes the entries of -1
        # of repeated assignments the last one, that is the first row, stays
        found[part[::-1]] = np.arange(start + len(part) - 1, start - 1, -1)
        new = np.flatnonzero((first < 0) & (found[:-1] >= 0))
        first[new] = found[new]
        missing -= len(new)
        if not missing:
            break
    return first


def text_of(column: pa.ChunkedArray | pa.Array, plain: bool | None = None) -> Text:
    """A column of any plain type as text: whole numbers without a point, dates as 2026-01-31, true and false.

    Empty text, text of nothing but spaces, and NaN are null. For `plain` see `as_text`.
    """
    labels, index = encode_text(column, plain)
    return Text(labels.to_pylist(), index)


def encode_text(column: pa.ChunkedArray | pa.Array, plain: bool | None = None) -> tuple[pa.Array, Int32]:
    """The same with the labels as an Arrow array of strings, which takes a tenth of the memory where they are many."""
    codes = encode(column)
    labels = as_text(codes.dictionary, plain)
    index = indices(codes)
    blank = pc.fill_null(pc.equal(pc.utf8_trim_whitespace(labels), ""), True)
    distinct = pc.if_else(blank, None, labels).dictionary_encode()  # two values may read alike, and "" is null
    if distinct.null_count or len(distinct.dictionary) < len(labels):
        index = np.append(indices(distinct), np.int32(-1))[index]
    return distinct.dictionary, index


class Labels(Sequence[str]):
    """Labels that stay in Arrow's memory: they become Python's a few thousand at a time, and are not kept."""

    PIECE = 4096

    def __init__(self, strings: pa.Array) -> None:
        self.strings = strings

    def __len__(self) -> int:
        return len(self.strings)

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self.strings), self.PIECE):
            yield from self.strings.slice(start, self.PIECE).to_pylist()

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> Labels: ...

    def __getitem__(self, place: int | slice) -> str | Labels:
        return Labels(self.strings[place]) if isinstance(place, slice) else str(self.strings[place].as_py())


def encode(column: pa.ChunkedArray | pa.Array) -> pa.DictionaryArray:
    """One dictionary array; values that do not occur may be in its dictionary."""
    if isinstance(column, pa.Array):
        column = pa.chunked_array([column])
    if pa.types.is_dictionary(column.type):
        column = column.unify_dictionaries()
    else:
        if pa.types.is_string_view(column.type):
            column = column.cast(pa.large_string())
        column = column.dictionary_encode()
    if column.num_chunks == 0:
        return pa.array([], column.type)
    merged = column.combine_chunks()
    if isinstance(merged, pa.ChunkedArray):  # more text than one array can hold
        raise ValueError("the distinct values of one column exceed 2 GB of text")
    return merged


def indices(codes: pa.DictionaryArray) -> Int32:
    """int32[rows]: the index into the dictionary, -1 for null."""
    index = codes.indices
    if index.null_count:
        index = pc.fill_null(index.cast(pa.int64()), -1)
    return np.asarray(index).astype(np.int32, copy=False)


def as_text(values: pa.Array, plain: bool | None = None) -> pa.Array:
    """Arrow string array of the values; floats that are all whole lose their point (gaps make 1 a 1.0).

    plain: whether whole floats lose their point and moments their time; None looks whether all can. It must be given
    where the values are only a part of a column.
    """
    kind = values.type
    if pa.types.is_dictionary(kind):
        return as_text(values.dictionary_decode(), plain)
    if pa.types.is_duration(kind):  # Arrow would write a number without its unit
        raise ValueError(f"{kind} has no text form of its own")
    if plain is None:
        plain = is_plain(values)
    if pa.types.is_floating(kind):
        numbers = pc.if_else(pc.is_nan(values), None, values)
        return numbers.cast(pa.int64()).cast(pa.string()) if plain else numbers.cast(pa.string())
    if pa.types.is_timestamp(kind):
        local = _local(values)
        return local.cast(pa.date32()).cast(pa.string()) if plain else pc.strftime(local, "%Y-%m-%d %H:%M:%S")
    return values.cast(pa.string())


def is_plain(values: pa.Array | pa.ChunkedArray) -> bool:
    """Whether all floats are whole, or all moments midnight; of no values they are."""
    if pa.types.is_floating(values.type):
        numbers = pc.if_else(pc.is_nan(values), None, values)
        whole = pc.all(pc.equal(pc.floor(numbers), numbers)).as_py() is not False
        return bool(whole and (pc.max(pc.abs(numbers)).as_py() or 0) < 2**53)
    if pa.types.is_timestamp(values.type):
        local = _local(values)
        return pc.all(pc.equal(pc.floor_temporal(local, unit="day"), local)).as_py() is not False
    return False


def _local(moments: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    kind = moments.type
    return moments.cast(pa.timestamp(kind.unit)) if kind.tz is None else pc.local_timestamp(moments)
