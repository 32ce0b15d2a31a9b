"""How labels and identifiers in knowledge files become the codes and numbers of a series."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from reissue.coding import Coding
from reissue.core.domain import Int64
from reissue.engine.identifiers import join_identifiers
from reissue.series.identities import Identities


@dataclass(frozen=True, eq=False)
class SeriesNames:
    """The names of a series and of the snapshot about to be published.

    identifiers, subjects: of the snapshot's rows; empty when nothing is being published
    """

    coding: Coding
    identities: Identities
    identifiers: pa.Array
    subjects: Int64

    @property
    def values(self) -> Sequence[str]:
        return self.coding.values

    @property
    def attributes(self) -> Sequence[str]:
        return self.coding.attributes

    def interval(self, attribute: str, label: str) -> tuple[int, int]:
        return self.coding.parse(attribute, label)

    def numbers(self, identifiers: Sequence[str]) -> Int64:
        """The subject of each identifier: as in the snapshot, else as last published; -1 if the series knows none."""
        wanted = pa.array([str(one) for one in identifiers], pa.string())
        known = self.identities.numbers(wanted)
        here = join_identifiers((self.identifiers, self.subjects), wanted)
        return np.where(here >= 0, here, known)
