"""What the engine tells the coding about a snapshot: small aggregates per column, never rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from reissue.coding.numeric import Kind

Counted = Mapping[str | None, tuple[int, int]]
"""Each distinct value (None for null) with (rows that have it, index of the first such row from 0)."""

Labels = tuple[str | None, ...]
"""One sensitive value: a label per sensitive column, after binning; None for null."""


@dataclass(frozen=True, kw_only=True)
class NumericSummary:
    """A numeric column of a snapshot.

    kind:        of the column as it came: "int", "float" or "date"
    lowest, highest: extremes of the values without nulls; days since 1970-01-01 for dates; None where all are null
    decimals:    digits after the point that the values need (for floats; at most 6 matter)
    nulls:       how many rows are null (NaN counts); first_null is the index of the first
    rows:        if known, for messages: the first row with the lowest value, and with the highest
    fraction:    if known, for messages: the first value that is not whole, and its row
    fits:        of a part of a column: whether 0, 1, ... digits after the point are enough
    """

    kind: Kind
    lowest: float | None
    highest: float | None
    decimals: int = 0
    nulls: int = 0
    first_null: int = 0
    rows: tuple[int, int] | None = field(default=None, compare=False)
    fraction: tuple[float, int] | None = field(default=None, compare=False)
    fits: tuple[bool, ...] = field(default=(), compare=False)


@dataclass(frozen=True, kw_only=True)
class SnapshotSummary:
    """A snapshot in aggregates.

    categories: for every quasi-identifier with a hierarchy, its distinct values
    numbers:    for every numeric quasi-identifier, its extremes
    sensitive:  the distinct label tuples; with counts, if a mapping is given
    name:       what to call the snapshot in a message
    ordered:    whether its rows have an order, so that a message can say which one is wrong
    lines:      for text files, the line numbers of data rows (both from 1)
    """

    categories: Mapping[str, Counted] = field(default_factory=dict)
    numbers: Mapping[str, NumericSummary] = field(default_factory=dict)
    sensitive: Iterable[Labels] | Mapping[Labels, tuple[int, int]] = ()
    name: str = field(default="The snapshot", compare=False)
    ordered: bool = field(default=True, compare=False)
    lines: Callable[[Sequence[int]], list[int]] | None = field(default=None, compare=False)
