"""Who has which subject number, and known people under identifiers that a program has altered.

Only the series layer puts names to numbers. As new people, known ones would be published anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from reissue.arrays.types import Bool, Int64
from reissue.engine.identifiers import join_identifiers, simplify
from reissue.errors import SnapshotError
from reissue.ledger import Ledger, Marks, Shelf

if TYPE_CHECKING:
    from reissue.engine.spark.verbs import Frame, Spark


@dataclass(frozen=True, eq=False)
class Identities:
    """The private map of a series. One identifier may have had several numbers; its latest is the highest."""

    identifiers: pa.Array
    known: Int64
    marks: Marks | None = None

    @staticmethod
    def read(ledger: Ledger) -> Identities:
        marks = Marks.read(ledger.shelf) if ledger.shelf.has_marks else None
        return Identities(*ledger.identities(), marks)

    def numbers(self, identifiers: pa.Array) -> Int64:
        """int64[rows]: the latest number of each identifier, -1 if it has none; forgotten people are known by mark."""
        found = join_identifiers((self.identifiers, self.known), identifiers)
        return found if self.marks is None else self.marks.fill(identifiers, found)

    def of(self, identifiers: Sequence[str]) -> Int64:
        """The same for a few identifiers of any plain type."""
        return self.numbers(pa.array([str(one) for one in identifiers], pa.large_string()))

    def list_numbers(self, identifier: str) -> Int64:
        """int64[]: every number that this identifier has had, forgotten ones by mark; none if it is not known."""
        own = np.asarray(pc.equal(self.identifiers.cast(pa.large_string()), identifier)).astype(np.bool_)
        last = self.of([identifier])
        return np.unique(np.concatenate([self.known[own], last[last >= 0]]))

    def near(self, identifier: str) -> str | None:
        """One that differs from this one only in what programs drop or add: zeros in front, capitals."""
        if not len(self.identifiers):
            return None
        plain = simplify(self.identifiers)
        same = np.flatnonzero(np.asarray(pc.equal(plain, simplify(pa.array([identifier]))[0])))
        return str(self.identifiers[int(same[0])]) if len(same) else None

    def including(self, identifiers: pa.Array, numbers: Int64) -> Identities:
        """With those of a snapshot that is about to be published."""
        whole = pa.concat_arrays([self.identifiers.cast(pa.large_string()), identifiers.cast(pa.large_string())])
        return Identities(whole, np.concatenate([self.known, numbers]), self.marks)

    @cached_property
    def _place(self) -> dict[int, int]:
        return {int(number): place for place, number in enumerate(self.known)}

    def name(self, number: int) -> str:
        """The identifier of a subject; its number if it has been forgotten."""
        place = self._place.get(number)
        return f"subject {number}" if place is None else str(self.identifiers[place].as_py())


def read_identities(spark: Spark, shelf: Shelf) -> Frame:
    """Who has which number: `identifier`, `subject`."""
    schema = pa.schema([("identifier", pa.string()), ("subject", pa.int64())])
    return spark.rows_from_tasks(shelf.state.of_role("identities"), lambda file: [shelf.read(file)], schema)


def find_name(spark: Spark, shelf: Shelf, number: int) -> str:
    """The identifier of a subject; its number if it has been forgotten."""
    found = spark.collect(read_identities(spark, shelf).where(f"subject = {number}"), "names in a message")
    return str(found.column("identifier")[0].as_py()) if found.num_rows else f"subject {number}"


SHOWN = 3
SHARE = 0.2
FEWEST = 5
"""So many of the new identifiers, and more than this share of them, are no accident: in a system that tells capitals
apart, somebody may leave as `a7` and somebody else come as `A7`."""
MARKS = "='\""
"""What spreadsheets put around text."""


def refuse_lookalikes(identifiers: pa.Array, new: Bool, gone: Int64, identities: Identities, place: str) -> None:
    """Raise SnapshotError if new identifiers are those of people who seem gone, but for zeros in front and the like.

    Spreadsheets make 7 of 007. A person who counts as gone and as somebody new gets a new class and new values, and
    no strategy can protect that. identifiers: of the snapshot's rows; new: bool[rows]; gone: int64[] subjects of the
    last release that the snapshot lacks; place: the file and its column. O(new + gone + known).
    """
    places = np.flatnonzero(np.isin(identities.known, gone)) if new.any() and len(gone) else np.empty(0, np.int64)
    if not len(places):
        return
    left = identities.identifiers.take(pa.array(places))
    fresh = identifiers.filter(pa.array(new))
    found = join_identifiers((_strip_marks(left), np.arange(len(left))), _strip_marks(fresh))
    alike = np.flatnonzero(found >= 0)
    first = alike[np.asarray(pc.sort_indices(fresh.take(pa.array(alike))))[:SHOWN]]
    pairs = [(str(fresh[int(one)]), str(left[int(found[one])])) for one in first]
    _refuse(pairs, len(alike), len(fresh), place)


def _strip_marks(identifiers: pa.Array) -> pa.Array:
    """As `simplify`, and without what spreadsheets mark text by: '007, ="007"."""
    return simplify(pc.utf8_trim(identifiers.cast(pa.large_string()), characters=MARKS))


def refuse_lookalikes_on_spark(spark: Spark, rows: Frame, known: Frame, place: str) -> None:
    """The same by workers; all who were ever published count. It reads the snapshot again: for when most are new.

    rows: `identifier` and `number`, -1 of who is new; known: `identifier` of whoever was published.
    """
    from reissue.engine.spark.counting import match_altered

    _refuse(*match_altered(spark, rows, known, SHOWN), place)


def _refuse(pairs: Sequence[tuple[str, str]], alike: int, new: int, place: str) -> None:
    """pairs: the identifier in the snapshot, and the one published before."""
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
