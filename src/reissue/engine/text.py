"""Columns as text: few distinct labels, and for every row the place of its label among them; and identifiers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

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
        return find_first_places(self.index, len(self.labels))

    @property
    def nulls(self) -> int:
        return int(np.count_nonzero(self.index < 0))


def count_occurrences(index: Int32, count: int) -> Int64:
    """int64[count]: how often each of 0..count-1 occurs in `index`; entries of -1 are ignored."""
    known = index if index.min(initial=0) >= 0 else index[index >= 0]
    return np.bincount(known, minlength=count).astype(np.int64, copy=False)


def find_first_places(index: Int32, count: int) -> Int64:
    """int64[count]: where each of 0..count-1 first occurs in `index`, -1 if it does not; entries of -1 are ignored."""
    first = np.full(count + 1, -1, dtype=np.int64)  # the extra place takes the entries of -1
    backwards = np.arange(len(index) - 1, -1, -1, dtype=np.int64)
    first[index[::-1]] = backwards  # of repeated assignments the last one, that is the first row, stays
    return first[:count]


def text_of(column: pa.ChunkedArray | pa.Array, plain: bool | None = None) -> Text:
    """A column of any plain type as text: whole numbers without a point, dates as 2026-01-31, true and false.

    Empty text, text of nothing but spaces, and NaN are null. For `plain` see `as_text`.
    """
    codes = encode(column)
    labels = as_text(codes.dictionary, plain)
    index = indices(codes)
    blank = pc.fill_null(pc.equal(pc.utf8_trim_whitespace(labels), ""), True)
    distinct = pc.if_else(blank, None, labels).dictionary_encode()  # two values may read alike, and "" is null
    if distinct.null_count or len(distinct.dictionary) < len(labels):
        index = np.append(indices(distinct), np.int32(-1))[index]
    return Text(distinct.dictionary.to_pylist(), index)


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


WHOLE_FLOAT = r"^[0-9]+\.0+$"


def normalize(column: pa.ChunkedArray, plain: bool | None = None) -> tuple[pa.Array, Int64]:
    """(large_string[rows] identifiers, int64[] rows that cannot be one): 1 and 1.0 are "1", " a " is "a", "" is null.

    A table with gaps turns whole numbers into 1.0; if every identifier reads like that, the point goes. Otherwise text
    is kept as it is ("007" is not "7"). Numbers with a fraction, NaN and infinity cannot be identifiers.
    plain: whether the point goes (see also `as_text`); None looks. It must be given where the column is only a part.
    """
    if pa.types.is_string(column.type) or pa.types.is_string_view(column.type):
        column = column.cast(pa.large_string())  # one array of text may exceed 2 GB
    array = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    bad = np.empty(0, dtype=np.int64)
    if pa.types.is_floating(array.type):
        array = array.cast(pa.float64())
        numbers = np.asarray(array.fill_null(0.0))
        whole = np.isfinite(numbers) & (np.floor(numbers) == numbers) & (np.abs(numbers) < 2.0**53)
        bad = np.flatnonzero(~whole)
        array = pc.if_else(pa.array(whole), array, None)
    if pa.types.is_decimal(array.type):  # 7.00 is the 7 of a column of whole numbers
        whole = np.asarray(pc.equal(pc.floor(array), array).fill_null(True))
        bad = np.flatnonzero(~whole)
        text = pc.replace_substring_regex(array.cast(pa.string()), r"\.0*$", "").cast(pa.large_string())
        return pc.if_else(pa.array(whole), text, None), bad
    numeric = pa.types.is_integer(array.type) or pa.types.is_floating(array.type)
    text = as_text(array, None if numeric else plain).cast(pa.large_string())
    if numeric:
        return text, bad
    text = _trim(text)
    if plain is None:
        plain = len(text) > 0 and text[0].is_valid and are_whole_floats(text)
    return pc.replace_substring_regex(text, r"\.0+$", "") if plain else text, bad


def are_whole_floats(text: pa.Array) -> bool:
    """Whether every identifier, spaces around it aside, is a whole number written with .0; of none they are."""
    known = _trim(text.slice(0, 100)).drop_null()
    if len(known) and "." not in known[0].as_py():  # nearly always, and found without a look at all the others
        return False
    return pc.all(pc.match_substring_regex(_trim(text), WHOLE_FLOAT)).as_py() is not False


def _trim(text: pa.Array) -> pa.Array:
    text = pc.utf8_trim_whitespace(text)
    return pc.if_else(pc.equal(text, ""), None, text)


def simplify(identifiers: pa.Array) -> pa.Array:
    """Without what programs drop or add: "007" and "7.0" are "7", "A1" is "a1"; equal ones may be meant the same."""
    text = pc.utf8_lower(pc.utf8_ltrim(identifiers.cast(pa.large_string()), characters="0"))
    return pc.replace_substring_regex(text, r"\.0+$", "")


@dataclass(frozen=True)
class Repeated:
    """An identifier of several rows: the first of them (from 0), and how many there are."""

    identifier: str
    rows: Int64
    total: int


def find_repeated(identifiers: pa.Array, shown: int = 5) -> tuple[int, list[Repeated]]:
    """(how many rows repeat an earlier identifier, the first identifiers that are repeated). O(rows)."""
    hashes = np.sort(hash_identifiers(identifiers.drop_null()))
    if (hashes[1:] != hashes[:-1]).all():  # distinct hashes prove distinct text
        return 0, []
    extra = len(hashes) - pc.count_distinct(identifiers).as_py()
    if extra == 0:
        return 0, []
    codes = encode(identifiers)
    index = indices(codes)
    several = np.flatnonzero(count_occurrences(index, len(codes.dictionary)) > 1)[:shown]  # in the order of first rows
    places = [np.flatnonzero(index == place) for place in several]
    return extra, [
        Repeated(codes.dictionary[int(place)].as_py(), rows, len(rows))
        for place, rows in zip(several, places, strict=True)
    ]


def join_identifiers(known: tuple[pa.Array, Int64], identifiers: pa.Array) -> Int64:
    """int64[rows]: the surrogate number of each identifier, -1 where it is unknown. O(known + rows).

    known: (identifiers, their numbers); of an identifier that occurs twice, the highest number counts.
    """
    names, numbers = known
    if len(names) == 0 or len(identifiers) == 0:
        return np.full(len(identifiers), -1, dtype=np.int64)
    wanted = identifiers.cast(pa.large_string()).dictionary_encode()  # fewer than those ever known
    place = pc.index_in(names.cast(pa.large_string()), value_set=wanted.dictionary)
    found: Int64 = np.full(len(wanted.dictionary) + 1, -1, dtype=np.int64)
    np.maximum.at(found, np.asarray(place.fill_null(-1)), numbers)
    found[-1] = -1  # known ones that nobody asks about
    rows: Int64 = found[np.asarray(wanted.indices.fill_null(-1))]
    return rows


def hash_identifiers(identifiers: pa.Array) -> NDArray[np.uint64]:
    """uint64[rows]: FNV-1a of the bytes of each text, the same on every machine and in every version. O(bytes)."""
    if isinstance(identifiers, pa.ChunkedArray):
        identifiers = identifiers.combine_chunks()
    text = identifiers.cast(pa.large_string())
    offsets = np.frombuffer(text.buffers()[1], dtype=np.int64)[text.offset : text.offset + len(text) + 1]
    content = text.buffers()[2]
    return _compiled_fnv()(offsets.copy(), np.frombuffer(content or b"", dtype=np.uint8).copy())


@cache
def _compiled_fnv() -> Callable[[Int64, NDArray[np.uint8]], NDArray[np.uint64]]:
    """Compiled where it is needed: reading a table must not wait for numba."""
    from reissue.arrays.compiled import njit

    return njit(cache=True)(_fnv)


def _fnv(offsets: Int64, content: NDArray[np.uint8]) -> NDArray[np.uint64]:
    found = np.empty(len(offsets) - 1, dtype=np.uint64)
    for row in range(len(found)):
        value = np.uint64(0xCBF29CE484222325)
        for place in range(offsets[row], offsets[row + 1]):
            value = (value ^ np.uint64(content[place])) * np.uint64(0x100000001B3)
        found[row] = value
    return found
