"""Rules by which a hierarchy grows with the data: each gives a value's path of labels.

A rule keeps its promise over a whole series: a label means the same set of possible values in every release.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from typing import ClassVar, Protocol

from reissue.errors import SchemaError
from reissue.hierarchy.links import MISSING, ROOT

Steps = list[tuple[str, int]]
"""(label, level) from the first group above a value to the last below the root."""

Key = tuple[Decimal | str | date, str]


class Rule(Protocol):
    """How a value finds its groups; equal rules make equal hierarchies from equal values."""

    @property
    def order(self) -> str:
        """The order of values in words."""

    def problem(self, value: str) -> str | None:
        """Why the value does not fit the rule; None where it does."""

    def key(self, value: str) -> Key:
        """The order of values; the values of one group are consecutive in it."""

    def steps(self, value: str) -> Steps: ...

    def height(self) -> int:
        """The root's level; 0 where it follows from the data."""

    def to_dict(self) -> dict[str, object]: ...


@dataclass(frozen=True)
class Flat:
    """Values directly under the root."""

    order: ClassVar[str] = "alphabetical order"

    def problem(self, value: str) -> str | None:
        return f"{value!r} is a reserved label" if value in (ROOT, MISSING, "") else None

    def key(self, value: str) -> Key:
        return value, value

    def steps(self, value: str) -> Steps:
        return []

    def height(self) -> int:
        return 1

    def to_dict(self) -> dict[str, object]:
        return {"type": "categorical"}


@dataclass(frozen=True)
class Intervals:
    """Fixed-width intervals from `start`; each width is a multiple of the one before, so that intervals nest.

    Whole numbers give labels such as 20-24; where a width or the start has decimals, half-open ones: [20.0, 22.5).
    """

    order: ClassVar[str] = "the order of numbers"

    widths: tuple[int | float, ...]
    start: int | float = 0

    def __post_init__(self) -> None:
        numbers = (*self.widths, self.start)
        if not self.widths or any(isinstance(n, bool) or not isinstance(n, int | float) for n in numbers):
            raise SchemaError(
                f"intervals: widths are {list(self.widths)} from {self.start!r}. Give numbers, such as [5, 10]."
            )
        exact = [Decimal(str(width)) for width in self.widths]
        if not all(n.is_finite() for n in (*exact, Decimal(str(self.start)))) or exact[0] <= 0:
            raise SchemaError(f"intervals: widths are {list(self.widths)} from {self.start!r}. They must be above 0.")
        for small, large in pairwise(exact):
            if large <= small or large % small:
                raise SchemaError(
                    f"intervals: width {large} does not nest over width {small}. "
                    "Make every width a multiple of the one before, such as [5, 10, 20]."
                )

    @property
    def whole(self) -> bool:
        return all(isinstance(n, int) for n in (*self.widths, self.start))

    def problem(self, value: str) -> str | None:
        number = _parse_number(value)
        if number is None:
            return f"{value!r} is not a number"
        if abs(number) > _LARGEST:
            return f"{value!r} is too large for intervals"
        if self.whole and number != number.to_integral_value():
            return f"{value!r} is not a whole number (write a width with decimals, such as 5.0, to allow it)"
        return None

    def key(self, value: str) -> Key:
        return Decimal(value.strip()), value

    def steps(self, value: str) -> Steps:
        number, start = Decimal(value.strip()), Decimal(str(self.start))
        found: Steps = []
        for level, width in enumerate((Decimal(str(width)) for width in self.widths), start=1):
            lo = (number - start) // width * width + start
            if lo > number:  # Decimal division truncates towards zero
                lo -= width
            found.append((self._label(lo, lo + width), level))
        return found

    def _label(self, lo: Decimal, end: Decimal) -> str:
        if not self.whole:
            return f"[{lo:f}, {end:f})"
        hi = int(end) - 1
        if hi == lo:
            return f"{hi} to {hi}"  # never the same text as the value itself, which may be written otherwise
        return f"{int(lo)} to {hi}" if lo < 0 else f"{int(lo)}-{hi}"

    def height(self) -> int:
        return len(self.widths) + 1

    def to_dict(self) -> dict[str, object]:
        return {"intervals": {"widths": list(self.widths), "start": self.start}}


@dataclass(frozen=True)
class Prefix:
    """Groups by the first characters: 12043 under 120* under 1*; `lengths` descending, or every `step` characters."""

    order: ClassVar[str] = "alphabetical order"

    lengths: tuple[int, ...] = ()
    step: int = 0

    def __post_init__(self) -> None:
        given = (*self.lengths, self.step) if self.step else self.lengths
        if bool(self.lengths) == bool(self.step) or any(
            isinstance(n, bool) or not isinstance(n, int) or n < 1 for n in given
        ):
            raise SchemaError(
                f"prefix: lengths are {list(self.lengths)}, step is {self.step}. "
                "Give the lengths to keep, such as prefix = [3, 1], or prefix = {step = 1}; whole numbers from 1."
            )
        object.__setattr__(self, "lengths", tuple(sorted(set(self.lengths), reverse=True)))

    def problem(self, value: str) -> str | None:
        if value.endswith("*") or value in ("", MISSING):
            return f"{value!r} is a reserved label (a * at the end marks a prefix)"
        return None

    def key(self, value: str) -> Key:
        return value, value

    def steps(self, value: str) -> Steps:
        if self.step:
            longest = len(value) // self.step * self.step
            return [(f"{value[:length]}*", 0) for length in range(longest, 0, -self.step)]
        return [
            (f"{value[:length]}*", level) for level, length in enumerate(self.lengths, start=1) if length <= len(value)
        ]

    def height(self) -> int:
        return len(self.lengths) + 1 if self.lengths else 0

    def to_dict(self) -> dict[str, object]:
        return {"prefix": {"step": self.step} if self.step else {"lengths": list(self.lengths)}}


_LARGEST = Decimal(10**15)
"""Beyond it, exact division into intervals would need more digits than Decimal keeps."""

_PERIODS = ("day", "month", "quarter", "year", "decade")


@dataclass(frozen=True)
class Dates:
    """Days under months, quarters, years, decades: 2026-01-15, 2026-01, 2026-Q1, 2026, 2020s."""

    order: ClassVar[str] = "the order of time"

    levels: tuple[str, ...] = ("day", "month", "year")

    def __post_init__(self) -> None:
        unknown = [level for level in self.levels if level not in _PERIODS]
        if unknown or not self.levels:
            raise SchemaError(f"levels: received {list(self.levels)}. Allowed: {', '.join(_PERIODS)}.")
        ordered = ("day", *(period for period in _PERIODS[1:] if period in self.levels))
        object.__setattr__(self, "levels", ordered)

    def problem(self, value: str) -> str | None:
        try:
            if date.fromisoformat(value).isoformat() == value:
                return None
        except ValueError:
            pass
        return f"{value!r} is not a day such as 2026-01-15"

    def key(self, value: str) -> Key:
        return date.fromisoformat(value), value

    def steps(self, value: str) -> Steps:
        day = date.fromisoformat(value)
        labels = {
            "month": value[:7],
            "quarter": f"{value[:4]}-Q{(day.month + 2) // 3}",
            "year": value[:4],
            "decade": f"{value[:3]}0s",
        }
        return [(labels[period], level) for level, period in enumerate(self.levels[1:], start=1)]

    def height(self) -> int:
        return len(self.levels)

    def to_dict(self) -> dict[str, object]:
        return {"type": "date", "levels": list(self.levels)}


def _parse_number(text: str) -> Decimal | None:
    try:
        if "_" in text:  # which Python skips: 30_39 is not 3039
            return None
        number = Decimal(text.strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def rule_from_dict(given: Mapping[str, object]) -> Rule:
    """The inverse of `to_dict` of each rule."""
    match given:
        case {"intervals": {"widths": list() as widths, "start": int() | float() as start}}:
            return Intervals(tuple(widths), start)
        case {"prefix": {"step": int() as step}}:
            return Prefix(step=step)
        case {"prefix": {"lengths": list() as lengths}}:
            return Prefix(tuple(lengths))
        case {"type": "date", "levels": list() as levels}:
            return Dates(tuple(levels))
        case {"type": "categorical"}:
            return Flat()
    raise SchemaError(f"The stored rule {dict(given)!r} is unknown. It was written by another version of Reissue.")
