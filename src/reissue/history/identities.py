"""Who has which subject number. Only the series layer puts names to numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from reissue.arrays.types import Int64
from reissue.engine.identifiers import join_identifiers, simplify
from reissue.ledger import Ledger, Shelf

if TYPE_CHECKING:
    from reissue.engine.spark.verbs import Frame, Spark


@dataclass(frozen=True, eq=False)
class Identities:
    """The private map of a series. One identifier may have had several numbers; its latest is the highest."""

    identifiers: pa.Array
    known: Int64

    @staticmethod
    def read(ledger: Ledger) -> Identities:
        return Identities(*ledger.identities())

    def numbers(self, identifiers: pa.Array) -> Int64:
        """int64[rows]: the latest number of each identifier, -1 if it has none."""
        return join_identifiers((self.identifiers, self.known), identifiers)

    def of(self, identifiers: Sequence[str]) -> Int64:
        """The same for a few identifiers of any plain type."""
        return self.numbers(pa.array([str(one) for one in identifiers], pa.large_string()))

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
        return Identities(whole, np.concatenate([self.known, numbers]))

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
