"""Words for audits: also for boxes that are no node of a hierarchy, as other tools make them."""

from __future__ import annotations

from dataclasses import dataclass

from reissue.arrays.types import Int32
from reissue.coding import Coding, CodingWords


def interval_label(coding: Coding, a: int, lo: int, hi: int) -> str:
    """The label of an interval of codes; "first .. last" where no group of the hierarchy covers just that."""
    try:
        return coding.label(a, lo, hi)
    except ValueError:
        return f"{coding.label(a, lo, lo)} .. {coding.label(a, hi, hi)}"


@dataclass(frozen=True)
class AuditWords(CodingWords):
    """The words of an audited series."""

    def box(self, box: Int32) -> str:
        parts = [
            f"{self.coding.attributes[a]} {interval_label(self.coding, a, lo, hi)}"
            for a, (lo, hi) in enumerate(box.tolist())
            if not self._anything(a, lo, hi)
        ]
        return ", ".join(parts) or "everyone"
