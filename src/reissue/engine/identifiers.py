"""Identifiers: one text per person, whatever type the file used; who is there twice, who is known already."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from reissue.arrays.types import Int64
from reissue.engine.text import as_text, count_occurrences, encode, indices

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
    text = array
    if not pa.types.is_large_string(array.type):
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
    from reissue.arrays.texts import are_trimmed  # here and below where it is needed: reading must not wait for numba

    if are_trimmed(*_view(text)):
        return text
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
    from reissue.arrays.texts import has_twins

    hashes = hash_identifiers(identifiers.drop_null())
    if not has_twins(hashes):  # distinct hashes prove distinct text
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
    from reissue.arrays.texts import find_latest

    names, numbers = known
    found = find_latest(*_view(identifiers), *_view(names), np.ascontiguousarray(numbers, dtype=np.int64))
    if identifiers.null_count:
        found[np.asarray(identifiers.is_null())] = -1
    return found


def hash_identifiers(identifiers: pa.Array | pa.ChunkedArray) -> NDArray[np.uint64]:
    """uint64[rows]: FNV-1a of the bytes of each text, the same on every machine and in every version. O(bytes)."""
    from reissue.arrays.texts import hash_texts

    return hash_texts(*_view(identifiers))


def _view(identifiers: pa.Array | pa.ChunkedArray) -> tuple[Int64, NDArray[np.uint8]]:
    """(offsets, content) of an array of text as `arrays.texts` reads them; the array's own memory where it can be."""
    if isinstance(identifiers, pa.ChunkedArray):
        identifiers = identifiers.combine_chunks()
    text = identifiers.cast(pa.large_string())
    offsets = np.frombuffer(text.buffers()[1] or bytes(8), dtype=np.int64)[text.offset : text.offset + len(text) + 1]
    content = np.frombuffer(text.buffers()[2] or b"", dtype=np.uint8)
    offsets.flags.writeable = content.flags.writeable = False  # kernels are compiled for this alone
    return offsets, content
