"""Identifiers: one text per person, whatever type the file used; who is there twice, who is known already.

Known people may come under identifiers that a program has altered: as new ones they would be published anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from reissue.arrays.types import NO_NUMBERS, Bool, Int32, Int64
from reissue.engine.text import as_text, count_occurrences, encode, indices
from reissue.errors import SnapshotError

SHOWN = 3
"""Altered identifiers that a message names."""
SHARE = 0.2
FEWEST = 5
"""So many of the new identifiers, and more than this share of them, are no accident: in a system that tells capitals
apart, somebody may leave as `a7` and somebody else come as `A7`."""
MARKS = "='\""
"""What spreadsheets put around text."""


@dataclass(frozen=True, eq=False)
class Identifiers:
    """Identifiers of a table's rows, or of some of them: text is only copied for those whose text is asked for.

    text: large_string[rows of the table]; hashes: uint64[rows], see `hash_identifiers`
    places: int64[rows] where each one's text is; None: in the order of the rows
    """

    text: pa.Array
    hashes: NDArray[np.uint64]
    places: Int64 | None = None

    @staticmethod
    def of(text: pa.Array) -> Identifiers:
        return Identifiers(text, hash_identifiers(text))

    def __len__(self) -> int:
        return len(self.hashes)

    def part(self, rows: Int64) -> Identifiers:
        return Identifiers(self.text, self.hashes[rows], rows if self.places is None else self.places[rows])

    def take(self, rows: Int64) -> pa.Array:
        """The text of some rows."""
        if self.places is None and len(rows) == len(self) and (rows[1:] > rows[:-1]).all():
            return self.text
        return self.text.take(pa.array(rows if self.places is None else self.places[rows]))

    def at(self, row: int) -> str:
        return str(self.text[row if self.places is None else int(self.places[row])].as_py())


MANY = 10_000
"""Rows from which on it pays to load a compiled kernel."""

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
    bad = NO_NUMBERS
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
    if len(text) >= MANY:
        from reissue.arrays.texts import are_trimmed  # where it is needed: reading must not wait for numba

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


def find_repeated(identifiers: pa.Array) -> tuple[int, list[Repeated]]:
    """(how many rows repeat an earlier identifier, the first identifiers that are repeated). O(rows log rows)."""
    known = identifiers.drop_null()
    if len(known) >= MANY and not have_twins(hash_identifiers(known)):  # distinct hashes prove distinct text
        return 0, []
    extra = len(known) - pc.count_distinct(known).as_py()
    if extra == 0:
        return 0, []
    codes = encode(identifiers)
    index = indices(codes)
    several = np.flatnonzero(count_occurrences(index, len(codes.dictionary)) > 1)[:5]  # in the order of first rows
    places = [np.flatnonzero(index == place) for place in several]
    return extra, [
        Repeated(codes.dictionary[int(place)].as_py(), rows, len(rows))
        for place, rows in zip(several, places, strict=True)
    ]


def have_twins(hashes: NDArray[np.uint64]) -> bool:
    """Whether two of them are equal. O(n log n), by NumPy's sort, which is faster than a table in memory."""
    ordered = np.sort(hashes)
    return bool((ordered[1:] == ordered[:-1]).any())


def join_identifiers(known: tuple[pa.Array, Int64], identifiers: pa.Array) -> Int64:
    """int64[rows]: the surrogate number of each identifier, -1 where it is unknown. O(known + rows).

    known: (identifiers, their numbers); of an identifier that occurs twice, the highest number counts.
    """
    names, numbers = known
    if len(names) == 0 or len(identifiers) == 0:
        return np.full(len(identifiers), -1, dtype=np.int64)
    place, rows = _match_identifiers(names, identifiers)
    found: Int64 = np.full(len(identifiers) + 1, -1, dtype=np.int64)
    np.maximum.at(found, place, numbers)
    found[-1] = -1  # known ones that nobody asks about
    found = found[rows]
    if identifiers.null_count:
        found[np.asarray(identifiers.is_null())] = -1
    return found


def _match_identifiers(names: pa.Array, identifiers: pa.Array) -> tuple[Int32, Int32]:
    """(int32[names] a row of each name among the identifiers, -1 if it is not; int32[rows] a row with the same one).

    By hashes, if equal ones turn out to be of equal text: else by the text, which takes five times as long.
    """
    from reissue.arrays.texts import are_equal, match_hashes

    rows, place = match_hashes(hash_identifiers(identifiers), hash_identifiers(names))
    own, others = _view(identifiers), _view(names)
    if are_equal(*own, *own, rows) and are_equal(*others, *own, place):
        return place, rows
    wanted = identifiers.cast(pa.large_string()).dictionary_encode()
    place = np.asarray(pc.index_in(names.cast(pa.large_string()), value_set=wanted.dictionary).fill_null(-1))
    return place.astype(np.int32), np.asarray(wanted.indices.fill_null(-1)).astype(np.int32)


def hash_identifiers(identifiers: pa.Array | pa.ChunkedArray) -> NDArray[np.uint64]:
    """uint64[rows]: FNV-1a of the bytes of each text, the same on every machine and in every version. O(bytes)."""
    from reissue.arrays.texts import hash_texts

    return hash_texts(*_view(identifiers))


def deal_hashes(hashes: NDArray[np.uint64], count: int) -> Int32:
    """int32[n]: a number below `count` for each, evenly; by their upper bits, since tables of hashes use the lower."""
    return ((hashes >> np.uint64(32)) % np.uint64(count)).astype(np.int32)


def _view(identifiers: pa.Array | pa.ChunkedArray) -> tuple[Int64, NDArray[np.uint8]]:
    """(offsets, content) of an array of text as `arrays.texts` reads them; the array's own memory where it can be."""
    if isinstance(identifiers, pa.ChunkedArray):
        identifiers = identifiers.combine_chunks()
    text = identifiers.cast(pa.large_string())
    offsets = np.frombuffer(text.buffers()[1] or bytes(8), dtype=np.int64)[text.offset : text.offset + len(text) + 1]
    content = np.frombuffer(text.buffers()[2] or b"", dtype=np.uint8)
    offsets.flags.writeable = content.flags.writeable = False  # kernels are compiled for this alone
    return offsets, content


def refuse_lookalikes(identifiers: pa.Array, new: Bool, gone: Int64, known: tuple[pa.Array, Int64], place: str) -> None:
    """Raise SnapshotError if new identifiers are those of people who seem gone, but for zeros in front and the like.

    Spreadsheets make 7 of 007. A person who counts as gone and as somebody new gets a new class and new values, and
    no strategy can protect that. identifiers: of the snapshot's rows; new: bool[rows]; gone: int64[] subjects of the
    last release that the snapshot lacks; known: identifiers and their subjects; place: the file and its column.
    O(new + gone + known).
    """
    places = np.flatnonzero(np.isin(known[1], gone)) if new.any() and len(gone) else np.empty(0, np.int64)
    if not len(places):
        return
    left = known[0].take(pa.array(places))
    fresh = identifiers.filter(pa.array(new))
    found = join_identifiers((_strip_marks(left), np.arange(len(left))), _strip_marks(fresh))
    alike = np.flatnonzero(found >= 0)
    first = alike[np.asarray(pc.sort_indices(fresh.take(pa.array(alike))))[:SHOWN]]
    pairs = [(str(fresh[int(one)]), str(left[int(found[one])])) for one in first]
    tell_lookalikes(pairs, len(alike), len(fresh), place)


def _strip_marks(identifiers: pa.Array) -> pa.Array:
    """As `simplify`, and without what spreadsheets mark text by: '007, ="007"."""
    return simplify(pc.utf8_trim(identifiers.cast(pa.large_string()), characters=MARKS))


def tell_lookalikes(pairs: Sequence[tuple[str, str]], alike: int, new: int, place: str) -> None:
    """Raise SnapshotError if they are no accident. pairs: the identifier in the snapshot, the one published before."""
    if alike < FEWEST or alike <= SHARE * new:
        return
    shown = ", ".join(f"'{now}' ('{before}' before)" for now, before in pairs)
    more = f" and {alike - len(pairs):,} more" if alike > len(pairs) else ""
    raise SnapshotError(
        f"{place} (identifier): {alike:,} of the {new:,} new ones are those of people of earlier snapshots, but for "
        f"zeros in front, quotes, capitals or '.0' at the end: {shown}{more}. Taken for other people, they would be "
        "published anew and given away, and no audit would notice. Export the column as text (spreadsheets drop "
        "zeros), as it was before; if they are other people, give them identifiers that differ in more than that."
    )
