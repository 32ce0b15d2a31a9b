"""Numbers and dates as codes, and ranges of them as labels."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, InvalidOperation
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from reissue.arrays.types import Int32
from reissue.errors import ReleaseError, SnapshotError
from reissue.hierarchy import MISSING, ROOT
from reissue.model.domain import Domain

Kind = Literal["int", "float", "date"]

LARGEST_CODE = 2**30 - 1
"""Codes lie within +-LARGEST_CODE, so that the width of any box, the missing code included, fits int32."""

MISSING_CODE = -(2**30)
"""The code of a null of a numeric attribute, below every value."""

_EPOCH = date(1970, 1, 1)
FIRST_DAY, LAST_DAY = (date.min - _EPOCH).days, (date.max - _EPOCH).days
"""The days of the years 1 to 9999, counted from 1970-01-01."""


@dataclass(frozen=True, kw_only=True)
class NumericCoding:
    """The arithmetic of one numeric attribute, fixed for the life of a series once `kind` is known.

    int: the value itself; date: days since 1970-01-01; float: round(value * 10**decimals).
    lo, hi:  extremes of the codes seen so far, nulls excluded (hi < lo: none yet)
    missing: a null is a value of its own with the code MISSING_CODE; nulls: some were seen
    """

    kind: Kind | None = None
    decimals: int = 0
    lo: int = 0
    hi: int = -1
    missing: bool = False
    nulls: bool = False

    @property
    def scale(self) -> int:
        return int(10**self.decimals)

    def domain(self, name: str, weight: float) -> Domain:
        return Domain(name, self.lo, max(self.lo, self.hi), weight=weight)

    # --- values to codes --------------------------------------------------------------------------------------

    def encode(self, values: NDArray[np.generic]) -> Int32:
        """int32[n]: codes of whole numbers, floats (NaN is null), days or datetime64 (NaT is null). O(n)."""
        if np.issubdtype(values.dtype, np.datetime64):
            null = np.isnat(values)
            numbers = values.astype("datetime64[D]").astype(np.int64)
        elif np.issubdtype(values.dtype, np.floating):
            floats = values.astype(np.float64, copy=False)
            null = np.isnan(floats)
            numbers = np.rint(np.where(null, 0.0, floats) * self.scale)
        else:
            null = np.zeros(len(values), dtype=np.bool_)
            numbers = values.astype(np.int64, copy=False)
            if self.decimals:
                # a number that leaves the limits must not wrap around into them
                numbers = np.clip(numbers, -LARGEST_CODE - 1, LARGEST_CODE + 1) * self.scale
        if null.any() and not self.missing:
            raise SnapshotError('A numeric attribute has nulls. Set missing = "value" in the schema, or fill them.')
        outside = ~null & ~((numbers >= -LARGEST_CODE) & (numbers <= LARGEST_CODE))
        if outside.any():
            raise SnapshotError(f"The value {values[np.argmax(outside)]} does not fit: {self.limits()}")
        return np.where(null, MISSING_CODE, numbers).astype(np.int32)

    def code(self, value: float) -> int | None:
        """The code of one number or day; None where it exceeds the limits."""
        if not np.isfinite(value):
            return None
        code = int(np.rint(np.float64(value) * self.scale)) if isinstance(value, float) else int(value) * self.scale
        if self.kind == "date" and not FIRST_DAY <= code <= LAST_DAY:
            return None
        return code if -LARGEST_CODE <= code <= LARGEST_CODE else None

    def limits(self) -> str:
        """The limits of the values in words, with a remedy."""
        if self.kind == "date":
            return "dates must lie in the years 1 to 9999. Correct the dates."
        if self.decimals:
            return (
                f"with {self.decimals} decimals values must lie within +-{LARGEST_CODE // self.scale}. "
                "Set fewer decimals in the schema, for example decimals = 0."
            )
        return f"values must lie within +-{LARGEST_CODE}. Give the column in a larger unit, such as thousands."

    def widened(self, low: int, high: int) -> NumericCoding:
        """With the limits stretched to include low..high."""
        if self.hi < self.lo:
            return replace(self, lo=low, hi=high)
        return replace(self, lo=min(self.lo, low), hi=max(self.hi, high))

    # --- codes to labels and back -----------------------------------------------------------------------------

    def text(self, code: int) -> str:
        """One value as it is written in a release."""
        if self.kind == "date":
            return (_EPOCH + timedelta(days=code)).isoformat()
        if not self.decimals:
            return str(code)
        whole, part = divmod(abs(code), self.scale)
        return f"{'-' if code < 0 else ''}{whole}.{part:0{self.decimals}d}"

    def label(self, lo: int, hi: int) -> str:
        """A closed range of codes: 25, 20-29, -5 to 3, 1.50-2.75, 2026-01-01 to 2026-01-31, (missing) or <=35."""
        if lo <= MISSING_CODE:
            return MISSING if hi <= MISSING_CODE else f"{MISSING} or <={self.text(hi)}"
        if lo == hi:
            return self.text(lo)
        between = " to " if self.kind == "date" or lo < 0 or hi < 0 else "-"
        return f"{self.text(lo)}{between}{self.text(hi)}"

    def parse(self, label: str) -> tuple[int, int]:
        """The range of codes of a label; the inverse of `label`.

        Also reads what other tools write: *, [20, 30], [20, 30[, [20, 30), (20, 30], <=30, <30, >=20, >20.
        """
        text = label.strip()
        lowest, highest = (self.lo, self.hi) if self.lo <= self.hi else (-LARGEST_CODE, LARGEST_CODE)
        if text == ROOT:
            return MISSING_CODE if self.nulls else lowest, highest
        if text == MISSING:
            return MISSING_CODE, MISSING_CODE
        if text.startswith(f"{MISSING} or <="):
            return MISSING_CODE, self._bound(text.removeprefix(f"{MISSING} or <="), label)
        found = _BRACKETS.fullmatch(text)
        if found:
            left, low, high, right = found.groups()
            return self._checked(
                self._bound(low, label, ROUND_CEILING, 1 if left in "(]" else 0),
                self._bound(high, label, ROUND_FLOOR, -1 if right in ")[" else 0),
                label,
            )
        found = _COMPARED.fullmatch(text)
        if found:
            sign, bound = found.groups()
            if sign.startswith("<"):
                hi = self._bound(bound, label, ROUND_FLOOR, 0 if sign.endswith("=") else -1)
                return self._checked(min(lowest, hi), hi, label)
            lo = self._bound(bound, label, ROUND_CEILING, 0 if sign.endswith("=") else 1)
            return self._checked(lo, max(highest, lo), label)
        found = _RANGE.fullmatch(text) or (None if self.kind == "date" else _HYPHEN.fullmatch(text))
        if found:
            return self._checked(self._bound(found[1], label), self._bound(found[2], label), label)
        code = self._bound(text, label)
        return code, code

    def _checked(self, lo: int, hi: int, label: str) -> tuple[int, int]:
        if lo > hi:
            raise ReleaseError(f"{label!r} is an empty range: it ends before it starts. Exchange its ends.")
        return lo, hi

    def _bound(self, text: str, label: str, rounding: str | None = None, shift: int = 0) -> int:
        """The code of one bound; `shift` leaves out an exclusive bound that is itself a code."""
        try:
            if self.kind == "date":
                return (date.fromisoformat(text.strip()) - _EPOCH).days + shift
            if "_" in text:  # which Python skips: 30_39 is not 3039
                raise ValueError(text)
            exact = Decimal(text.strip()) * self.scale
            code = exact.to_integral_value() if rounding is None else exact.to_integral_value(rounding)
            if abs(code) <= LARGEST_CODE:
                return int(code) + (shift if code == exact else 0)
        except (ValueError, InvalidOperation):
            pass
        raise ReleaseError(f"{label!r} is no {self.kind or 'numeric'} value or range. {self._examples()}")

    def _examples(self) -> str:
        shown = "2026-01-15 or 2026-01-01 to 2026-01-31" if self.kind == "date" else "25, 20-29 or -5 to 3"
        return f"Write {shown}; * for anything."


_BRACKETS = re.compile(r"([\[(\]])\s*([^,;\s]+)\s*[,;]\s*([^,;\s]+?)\s*([\])\[])")
_COMPARED = re.compile(r"(<=|>=|<|>)\s*(\S+)")
_RANGE = re.compile(r"(\S+) to (\S+)")
_HYPHEN = re.compile(r"([0-9.]+)\s*[-–]\s*([0-9.]+)")
