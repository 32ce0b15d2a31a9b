"""The labels of a series for knowledge files, from its coding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reissue.arrays.types import Int64
from reissue.coding import Coding


@dataclass(frozen=True, eq=False)
class CodingNames:
    """`Names` of a series: labels as its coding has them; `lookup` gives the subjects of identifiers, -1 if unknown."""

    coding: Coding
    lookup: Callable[[Sequence[str]], Int64]

    @property
    def values(self) -> Sequence[str]:
        return self.coding.values

    @property
    def attributes(self) -> Sequence[str]:
        return self.coding.attributes

    def interval(self, attribute: str, label: str) -> tuple[int, int]:
        return self.coding.parse(attribute, label)

    def numbers(self, identifiers: Sequence[str]) -> Int64:
        return self.lookup(identifiers)
