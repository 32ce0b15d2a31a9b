"""Numeric columns: whole numbers, decimals or dates, read strictly from numbers, dates or text."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from reissue.arrays.types import Bool, Float64, Int64
from reissue.coding.numeric import FIRST_DAY, LAST_DAY
from reissue.engine.problems import Check, Problems
from reissue.engine.text import Text, text_of

Kind = Literal["int", "float", "date"]
Expected = Literal["numeric", "int", "float", "date"]

LARGEST = 2.0**53  # beyond this, neighbouring whole numbers look alike
NUMBER = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$"
DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
PLAIN = (
    "Write plain numbers such as 1234.5: no units, no thousands separators, a point before the decimals (or declare a "
    'comma, [schema.spelling] decimal = ",")'
)
ISO = 'Write dates as 2026-01-31, or declare their form ([schema.spelling] dates = "dd/mm/yyyy")'
UNKNOWN = "or leave it empty if it is unknown (codes for that can be declared: [schema.spelling] missing)."
SMALLER = "Give it as text with a hierarchy, or in a larger unit."


@dataclass(frozen=True, eq=False)
class Numbers:
    """A numeric column; values: float64[rows], days since 1970-01-01 for dates, NaN where missing.

    exact: how many significant digits the source's type carries
    """

    kind: Kind
    values: Float64
    exact: int = 15

    def __len__(self) -> int:
        return len(self.values)

    def decimals(self, most: int) -> int:
        """Digits after the point that the values need, at most `most`. O(rows) per digit."""
        return next((digits for digits in range(most) if self.fits(digits)), most)

    @cached_property
    def _finite(self) -> Float64:
        return self.values[np.isfinite(self.values)]

    def fits(self, digits: int) -> bool:
        """Whether no value needs more than so many digits after the point."""
        scaled = self._finite * 10.0**digits
        slack = np.maximum(np.abs(scaled), 1.0) * 10.0 ** (1 - self.exact)
        return bool((np.abs(scaled - np.rint(scaled)) <= slack).all())


def numbers_of(
    name: str, column: pa.ChunkedArray, expected: Expected, problems: Problems, dates: bool | None = None
) -> Numbers | None:
    """The column as numbers; what cannot be read goes to `problems`, and the result is None.

    dates: whether text is to be read as dates; None looks which of its labels are more. It must be given where
    the column is only a part of one.
    """
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_null(kind):
        return Numbers("int", np.full(len(column), np.nan))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return _from_text(name, text_of(column), expected, problems, dates)
    if pa.types.is_dictionary(column.type):
        column = column.cast(kind)
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return _from_dates(name, column, expected, problems)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return _from_numbers(name, column, expected, problems)
    problems.add(
        f"Column '{name}' is of type {kind}, not of numbers. Convert it, or give it a hierarchy in the schema.", name
    )
    return None


def _from_numbers(name: str, column: pa.ChunkedArray, expected: Expected, problems: Problems) -> Numbers | None:
    if expected == "date":
        problems.add(f"Column '{name}' holds numbers ({column.type}), but its type is date. {ISO}.", name)
        return None
    exact = 6 if pa.types.is_float32(column.type) or pa.types.is_float16(column.type) else 15
    values = _fill_nulls(column.cast(pa.float64(), safe=False))
    wrong = np.isinf(values)
    if pa.types.is_floating(column.type):
        wrong |= np.asarray(pc.fill_null(pc.is_nan(column), False))
    if wrong.any():
        rows = np.flatnonzero(wrong)
        after = "Leave the field empty (null) if it is unknown, or correct it."
        problems.rows(name, Check.READABLE, f"Column '{name}': {values[rows[0]]} is not a number,", rows, after)
        return None
    large = np.flatnonzero(np.abs(values) >= LARGEST)
    if len(large):
        before = f"Column '{name}': {column[int(large[0])].as_py()} is too large,"
        problems.rows(name, Check.SIZE, before, large, SMALLER)
        return None
    return _check_whole(name, values, expected, problems, exact)


def _fill_nulls(column: pa.ChunkedArray) -> Float64:
    """float64[rows], NaN for null."""
    return np.asarray(pc.fill_null(column, np.nan) if column.null_count else column, dtype=np.float64)


def _check_whole(name: str, values: Float64, expected: Expected, problems: Problems, exact: int = 15) -> Numbers | None:
    """Whole numbers are an int column, whatever type carried them; under type "int" nothing else is allowed."""
    broken = (np.floor(values) != values) & ~np.isnan(values)
    if expected == "int" and broken.any():
        rows = np.flatnonzero(broken)
        after = 'Round it, or write type = "float" in the schema.'
        problems.rows(name, Check.WHOLE, f"Column '{name}': {values[rows[0]]} is not a whole number,", rows, after)
        return None
    return Numbers("float" if broken.any() or expected == "float" else "int", values, exact)


def _from_dates(name: str, column: pa.ChunkedArray, expected: Expected, problems: Problems) -> Numbers | None:
    if expected in ("int", "float"):
        sentence = f"Column '{name}' holds dates, but its type is {expected}. Write type = \"date\" in the schema."
        problems.add(sentence, name)
        return None
    if pa.types.is_timestamp(column.type):
        plain = column if column.type.tz is None else pc.local_timestamp(column)
        timed = np.flatnonzero(np.asarray(pc.not_equal(pc.floor_temporal(plain, unit="day"), plain).fill_null(False)))
        if len(timed):
            first = plain.slice(int(timed[0]), 1).cast(pa.timestamp("s"), safe=False)
            shown = first.cast(pa.string())[0]  # Python knows no year beyond 9999
            before = f"Column '{name}': {shown} has a time of day,"
            problems.rows(name, Check.READABLE, before, timed, "Keep only the date.")
            return None
        column = plain
    days = _fill_nulls(column.cast(pa.date32()).cast(pa.int32()).cast(pa.float64()))
    outside = np.flatnonzero((days < FIRST_DAY) | (days > LAST_DAY))
    if len(outside):
        before = f"Column '{name}' has a date outside the years 1 to 9999"
        problems.rows(name, Check.READABLE, before, outside, "Correct it, or leave it empty if it is unknown.")
        return None
    return Numbers("date", days)


def _from_text(name: str, text: Text, expected: Expected, problems: Problems, as_date: bool | None) -> Numbers | None:
    """Text is parsed label by label, so the cost depends on the distinct values."""
    labels = pc.utf8_trim_whitespace(pa.array(text.labels, pa.string()))
    dated, numeric = dates_and_numbers(text)
    used = text.counts > 0
    if expected != "numeric" or as_date is None:
        as_date = expected == "date" or (expected == "numeric" and (dated & used).sum() > (numeric & used).sum())
    if as_date:
        parsed, good = _parse_days(labels, dated)
        what, after = "not a date", f"{ISO}, correct it, {UNKNOWN}"
    else:
        parsed, good = _parse_floats(labels, numeric)
        what, after = "not a number", f"{PLAIN}; {UNKNOWN}"
    if (~good & used).any():
        problems.labels(name, Check.READABLE, text, np.flatnonzero(~good), what, after)
        return None
    large = np.abs(parsed) >= LARGEST
    if (large & used).any():
        problems.labels(name, Check.SIZE, text, np.flatnonzero(large), "too large", SMALLER)
        return None
    values = np.append(np.where(good, parsed, np.nan), np.nan)[text.index]
    return Numbers("date", values) if as_date else _check_whole(name, values, expected, problems)


def dates_and_numbers(text: Text) -> tuple[Bool, Bool]:
    """bool[labels] each: which labels look like a date, and which like a number."""
    return find_dates_and_numbers(pa.array(text.labels, pa.string()))


def find_dates_and_numbers(labels: pa.Array) -> tuple[Bool, Bool]:
    """The same of labels in Arrow's memory."""
    labels = pc.utf8_trim_whitespace(labels)
    dated = np.asarray(pc.match_substring_regex(labels, DATE), dtype=np.bool_)
    return dated, np.asarray(pc.match_substring_regex(labels, NUMBER), dtype=np.bool_)


def _parse_floats(labels: pa.Array, numeric: Bool) -> tuple[Float64, Bool]:
    """float64[labels] and which of them are numbers; 1e999 is none."""
    chosen = pc.if_else(pa.array(numeric), pc.utf8_ltrim(labels, "+"), "0")
    parsed = np.asarray(chosen.cast(pa.float64()))
    return parsed, numeric & np.isfinite(parsed)


def _parse_days(labels: pa.Array, dated: Bool) -> tuple[Float64, Bool]:
    """float64[labels] days since 1970-01-01, and which labels are dates: 2026-02-30 and the year 0 are none."""
    chosen = pc.if_else(pc.and_(pa.array(dated), pc.greater_equal(labels, "0001")), labels, None)
    moments = pc.strptime(chosen, format="%Y-%m-%d", unit="s", error_is_null=True)
    same = pc.equal(pc.strftime(moments, format="%Y-%m-%d"), chosen).fill_null(False)
    days: Int64 = np.asarray(moments.cast(pa.date32(), safe=False).cast(pa.int32()).fill_null(0)).astype(np.int64)
    return days.astype(np.float64), np.asarray(same, dtype=np.bool_)
