"""Identifiers as text, and matching them in bulk."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from reissue.arrays.processors import processors
from reissue.arrays.types import Int64
from reissue.engine.text import as_text

WHOLE_FLOAT = r"^[0-9]+\.0+$"
WORTH_A_THREAD = 100_000
"""From so many known identifiers for each of them, they are looked for by several threads."""


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
    text = _trimmed(text)
    if plain is None:
        plain = len(text) > 0 and text[0].is_valid and whole_floats(text)
    return pc.replace_substring_regex(text, r"\.0+$", "") if plain else text, bad


def whole_floats(text: pa.Array) -> bool:
    """Whether every identifier, spaces around it aside, is a whole number written with .0; of none they are."""
    known = _trimmed(text.slice(0, 100)).drop_null()
    if len(known) and "." not in known[0].as_py():  # nearly always, and found without a look at all the others
        return False
    return pc.all(pc.match_substring_regex(_trimmed(text), WHOLE_FLOAT)).as_py() is not False


def _trimmed(text: pa.Array) -> pa.Array:
    text = pc.utf8_trim_whitespace(text)
    return pc.if_else(pc.equal(text, ""), None, text)


def plainest(identifiers: pa.Array) -> pa.Array:
    """Without what programs drop or add: "007" and "7.0" are "7", "A1" is "a1"; equal ones may be meant the same."""
    text = pc.utf8_lower(pc.utf8_ltrim(identifiers.cast(pa.large_string()), characters="0"))
    return pc.replace_substring_regex(text, r"\.0+$", "")


@dataclass(frozen=True)
class Repeated:
    """An identifier of several rows: the first of them (from 0), and how many there are."""

    identifier: str
    rows: Int64
    total: int


def repeated(identifiers: pa.Array, shown: int = 5) -> tuple[int, list[Repeated]]:
    """(how many rows repeat an earlier identifier, the first identifiers that are repeated). O(rows)."""
    from reissue.arrays.text_index import index

    known = identifiers.drop_null()
    extra = int((index(*_buffers(known))[1] != np.arange(len(known))).sum())
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
    from reissue.arrays.text_index import highest, index

    wanted, (data, starts), numbers = _buffers(identifiers), _buffers(names), np.ascontiguousarray(numbers)
    table, first = index(*wanted)

    def sought(part: tuple[int, int]) -> Int64:
        low, high = part
        return highest(table, *wanted, data, starts[low : high + 1], numbers[low:high])

    parts = max(1, min(processors(), len(numbers) // WORTH_A_THREAD))  # each waits for memory most of its time
    limits = np.linspace(0, len(numbers), parts + 1).astype(np.int64).tolist()
    with ThreadPoolExecutor(parts) as pool:
        found = reduce(np.maximum, pool.map(sought, pairwise(limits)))[first]
    if identifiers.null_count:
        found[np.asarray(identifiers.is_null())] = -1
    return found


def _buffers(text: pa.Array | pa.ChunkedArray) -> tuple[NDArray[np.uint8], Int64]:
    """(bytes, int64[n + 1] where each text begins and the last one ends) of text, without copying large strings."""
    whole = text.cast(pa.large_string())
    if isinstance(whole, pa.ChunkedArray):
        whole = pa.concat_arrays(whole.chunks) if whole.num_chunks else pa.array([], pa.large_string())
    _, offsets, data = whole.buffers()
    content = np.frombuffer(data, dtype=np.uint8) if data is not None and data.size else np.empty(0, dtype=np.uint8)
    starts = np.zeros(1, dtype=np.int64)
    if len(whole):
        starts = np.frombuffer(offsets, dtype=np.int64)[whole.offset : whole.offset + len(whole) + 1]
    for array in (content, starts):  # kernels are compiled for one kind of arrays
        array.flags.writeable = False
    return content, starts
