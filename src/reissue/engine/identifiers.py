"""Identifiers as text, and matching them in bulk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from reissue.arrays.types import Int64
from reissue.engine.text import as_text

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
    extra = len(identifiers) - identifiers.null_count - pc.count_distinct(identifiers).as_py()
    if extra == 0:
        return 0, []
    import polars as pl

    frame = pl.DataFrame({"id": pl.Series(identifiers)}).with_row_index("row").drop_nulls()
    first = frame.filter(pl.col("id").is_duplicated())["id"].unique(maintain_order=True).head(shown)
    found = []
    for name in first:
        rows = frame.filter(pl.col("id") == name)["row"].to_numpy().astype(np.int64)
        found.append(Repeated(name, rows, len(rows)))
    return extra, found


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
