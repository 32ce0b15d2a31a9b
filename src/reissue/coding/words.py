"""Between codes and what people call them: for the sentences of findings, and for knowledge files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reissue.arrays.types import Int32, Int64
from reissue.coding.codes import Coding
from reissue.coding.numeric import MISSING_CODE


def interval_label(coding: Coding, a: int, lo: int, hi: int) -> str:
    """The label of an interval of codes; "first .. last" where no group covers just that: other tools make such."""
    try:
        return coding.label(a, lo, hi)
    except ValueError:
        return f"{coding.label(a, lo, lo)} .. {coding.label(a, hi, hi)}"


@dataclass(frozen=True)
class CodingWords:
    """The words of a series. `names` gives a subject's name by its number (a private lookup of the publisher)."""

    coding: Coding
    names: Callable[[int], str]

    def box(self, box: Int32) -> str:
        """int32[attributes, 2] as "age 21-30, zip 120*"; attributes that cover everything are left out."""
        parts = []
        for a, (lo, hi) in enumerate(box.tolist()):
            if not self._anything(a, lo, hi):
                parts.append(f"{self.coding.attributes[a]} {interval_label(self.coding, a, lo, hi)}")
        return ", ".join(parts) or "everyone"

    def _anything(self, a: int, lo: int, hi: int) -> bool:
        domain = self.coding.domains[a]
        number = self.coding.numbers.get(domain.name)
        lowest = MISSING_CODE if number is not None and number.nulls else domain.lo
        return bool(lo <= lowest and hi >= domain.hi)

    def value(self, code: int) -> str:
        return self.coding.values[code]

    def subject(self, number: int) -> str:
        return self.names(number)

    def release(self, number: int) -> str:
        return f"release {number}"


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
