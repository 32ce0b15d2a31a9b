"""How a column may be coded: ranges, months and years, prefixes, ordered intervals, groups of about equal size."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from reissue.arrays.types import Float64, Int64
from reissue.engine.profile import ColumnProfile
from reissue.engine.text import Labels
from reissue.schema.proposal import Groups, ProposedColumn
from reissue.schema.spelling import DATES, ISO
from reissue.suggest.clues import MARKS, OUTSIDERS, POSTAL, SECRETS, are_icd, rank, words_of

MANY_YEARS = 20
"""Dates of more years, as those of birth, are published as ranges: a class has people of several, and would show *."""
CATEGORIES = 30
"""A sensitive column of whole numbers with more different values gets bins."""


@dataclass(frozen=True, eq=False)
class Spelled:
    """A column, the texts of it that stand for missing, the form of its dates, and whether decimals follow a comma."""

    column: ColumnProfile
    missing: tuple[str, ...]
    date_form: str | None
    commas: bool

    @property
    def name(self) -> str:
        return self.column.name

    @property
    def is_secret(self) -> bool:
        return rank(self.name, SECRETS) is not None

    @cached_property
    def known(self) -> tuple[Labels, Int64]:
        """The values that are not missing, most frequent first, and their rows."""
        labels, counts = self.column.labels, self.column.counts
        if not self.missing:
            return labels, counts
        kept = np.fromiter((label.strip() not in self.missing for label in labels), np.bool_, len(labels))
        return Labels(labels.strings.filter(pa.array(kept))), counts[kept]

    @cached_property
    def numbers(self) -> Float64:
        """float64[known values]"""
        found = (float(label.replace(",", ".") if self.commas else label) for label in self.known[0])
        return np.fromiter(found, np.float64, len(self.known[0]))

    @cached_property
    def largest(self) -> float:
        return float(np.abs(self.numbers).max(initial=0.0))

    @cached_property
    def is_prefixed(self) -> bool:
        """Whether the first characters of its values mean something: zip and ICD codes."""
        return bool(POSTAL & set(words_of(self.name))) or are_icd(self.known[0])

    def count_values(self) -> int:
        """Different values, missing ones aside; bins where it gets some."""
        return len(self.bins()) + 1 if self.bins() else len(self.known[0])

    def bins(self) -> list[int | float]:
        """Edges of bins for a column of many numbers, were it sensitive."""
        decimals = self.column.kind == "float" or self.commas
        if not self.column.whole or self.date_form or not (decimals or self.column.kind == "int"):
            return []
        if not decimals and len(self.known[0]) <= CATEGORIES:
            return []
        return find_bins(self.numbers, self.known[1])

    def count_years(self) -> int:
        """In how many different years its dates are."""
        found = (re.fullmatch(DATES[self.date_form or ISO], label.strip()[:10]) for label in self.known[0])
        return len({match["year"] for match in found if match})

    def tell_missing(self) -> str:
        if not self.missing:
            return ""
        return f" {', '.join(repr(code) for code in self.missing)} is read as missing."


def find_top_share(one: Spelled) -> float:
    """The share of rows that have the most frequent value, or bin; missing is a value, too."""
    from reissue.schema import Bins

    counts, edges = one.known[1], one.bins()
    if edges:
        counts = np.bincount(Bins(edges=tuple(edges)).index(one.numbers), counts)
    absent = one.column.rows - int(one.known[1].sum()) if one.column.whole else 0
    return float(max(int(counts.max(initial=0)), absent) / max(one.column.rows, 1))


def code_column(one: Spelled, alone: int | None, rows: int, refused: str | None) -> ProposedColumn:
    """The column as a quasi-identifier, or left out for the reason `refused`."""
    column = one.column
    if refused is not None:
        return ProposedColumn(
            name=one.name, role="left out", reason=refused, distinct=column.distinct, alone=alone, missing=one.missing
        )
    coding, groups, how = _choose_coding(one)
    why = "outsiders may know it" if rank(one.name, OUTSIDERS) is not None else "outsiders might know it"
    singled = "nobody" if not alone else f"{alone:,} of {rows:,} people"
    return ProposedColumn(
        name=one.name,
        role="quasi-identifier",
        reason=f"{why}; {column.distinct:,} values, which alone single out {singled}. {how}{one.tell_missing()}",
        coding=coding,
        groups=groups,
        missing=one.missing,
        nulls=column.nulls > 0,
        distinct=column.distinct,
        alone=alone,
        values={} if coding and coding.get("type") in ("int", "float") else _count_values(one),
    )


def _count_values(one: Spelled) -> dict[str, int]:
    labels, counts = one.known
    return {label.strip(): count for label, count in zip(labels, counts.tolist(), strict=True)}


def _choose_coding(one: Spelled) -> tuple[Mapping[str, object] | None, Groups, str]:
    """(coding, groups, how it is published)."""
    values, counts = one.known
    column = one.column
    if column.kind == "date" or one.date_form:
        if one.count_years() > MANY_YEARS:
            coding = {"type": "date", "levels": ["month", "year", "decade"], "labels": "ranges"}
            return coding, (), "Published as a day, month, year or decade, or as a range of days."
        return {"type": "date", "levels": ["month", "year"]}, (), "Published as a day, month or year."
    if POSTAL & set(words_of(one.name)):
        length = max(map(len, values), default=1)
        kept = list(range(length - 1, 0, -1)) or [1]
        return {"prefix": kept}, (), f"Published by its first characters, {length} to 1."
    if column.kind == "text" and are_icd(values):
        return {"prefix": [3, 1]}, (), "ICD codes, published as a code, its category or its chapter's letter."
    if one.commas or column.kind == "float":
        return {"type": "float", "decimals": _count_decimals(values)}, (), "Published as ranges."
    if column.kind == "int" and not (set(words_of(one.name)) & {*MARKS, "code", "type", "class"}):
        return {"type": "int"}, (), "Published as ranges."
    ordered = group_in_order(values)
    if ordered:
        return None, ordered, "Ordered intervals, published two, four, ... together."
    groups = group_by_frequency(values, counts)
    if groups:
        return None, groups, "Grouped by the alphabet into groups of about equally many rows: better ones are yours."
    return {"type": "categorical"}, (), "Published as it is or as *."


def _count_decimals(values: Sequence[str]) -> int:
    return min(3, max((len(value.replace(",", ".").strip().partition(".")[2]) for value in values), default=0))


Rows = tuple[tuple[str, ...], ...]
"""Lines of a hierarchy file: a value, its groups, and `*`."""

FEW = 4
"""So many values, or fewer, need no groups."""
FINEST, COARSEST = 16, 4

_INTERVAL = re.compile(
    r"[\[(]?\s*(?P<low>-?\d+(?:\.\d+)?)\s*(?:-|to|–|,|;|\.\.)\s*(?P<high>-?\d+(?:\.\d+)?)\s*[\])\[(]?"
    r"|(?P<under><=?|under|below)\s*(?P<most>\d+(?:\.\d+)?)"
    r"|(?P<over>>=?|over|above)\s*(?P<least>\d+(?:\.\d+)?)|(?P<from>\d+(?:\.\d+)?)\s*(?:\+|and over|and older)",
    re.IGNORECASE,
)


def group_by_frequency(values: Sequence[str], counts: Int64) -> Rows:
    """Values in the order of the alphabet, cut where about equally many rows come together; two levels where many."""
    order = sorted(range(len(values)), key=lambda place: (values[place].casefold(), values[place]))
    names, weights = [values[place] for place in order], counts[np.array(order, dtype=np.int64)]
    if len(names) <= FEW:
        return ()
    fine = _cut(weights.astype(np.float64), min(FINEST, -(-len(names) // 3)))
    levels = [fine]
    if len(set(fine)) > 2 * COARSEST:
        totals = np.bincount(fine, weights, minlength=max(fine) + 1)
        coarse = _cut(np.asarray(totals, dtype=np.float64), COARSEST)
        levels.append([coarse[group] for group in fine])
    return _write_rows(names, levels)


def group_in_order(values: Sequence[str]) -> Rows:
    """Intervals such as [0-10) in their order, two, four, ... together; nothing where values are no intervals."""
    found = [(_lower_end(value), value) for value in values]
    known = [(low, value) for low, value in found if low is not None]
    if len(known) < len(found) or len(known) <= 2:
        return ()
    names = [value for _, value in sorted(known)]
    levels, width = [], 2
    while width < len(names):
        levels.append([place // width for place in range(len(names))])
        width *= 2
    return _write_rows(names, levels)


def _lower_end(value: str) -> float | None:
    match = _INTERVAL.fullmatch(value.strip())
    if match is None:
        return None
    part = match.groupdict()
    if part["most"] is not None:
        return float(part["most"]) - 1e9
    return float(part["low"] or part["least"] or part["from"])


def _cut(weights: Float64, groups: int) -> list[int]:
    """The group of each value: neighbours whose middles fall into the same share of all rows.

    A value that has most of the rows counts as one group, so that the others are still told apart.
    """
    for _ in range(5):
        weights = np.minimum(weights, weights.sum() / groups)
    middle = np.cumsum(weights) - weights / 2
    share = np.floor(groups * middle / max(float(weights.sum()), 1.0))
    found: list[int] = np.unique(share, return_inverse=True)[1].reshape(-1).tolist()
    return found


def _write_rows(names: Sequence[str], levels: Sequence[Sequence[int]]) -> Rows:
    columns = [_name_groups(names, level) for level in levels]
    return tuple((name, *(column[place] for column in columns), "*") for place, name in enumerate(names))


def _name_groups(names: Sequence[str], groups: Sequence[int]) -> list[str]:
    """`Cambodia to Ecuador` for every member; a group of one is called by its member."""
    members: dict[int, list[str]] = {}
    for name, group in zip(names, groups, strict=True):
        members.setdefault(group, []).append(name)
    called = {
        group: some[0] if len(some) == 1 else f"{some[0]} {'or' if len(some) == 2 else 'to'} {some[-1]}"
        for group, some in members.items()
    }
    taken = set(names)
    return [
        called[group] if len(members[group]) == 1 or called[group] not in taken else f"{called[group]} (group)"
        for group in groups
    ]


BINS = 8
"""Into so many bins numbers are put, where they need any."""


def find_bins(numbers: Sequence[float] | Float64, counts: Int64) -> list[int | float]:
    """Edges between bins of about equally many rows, rounded to numbers that people like."""
    numbers = np.asarray(numbers, dtype=np.float64)
    order = np.argsort(numbers)
    ordered, weights = numbers[order], counts[order]
    share = np.cumsum(weights) / weights.sum()
    raw = ordered[np.minimum(np.searchsorted(share, np.arange(1, BINS) / BINS), len(ordered) - 1)]
    edges = sorted({_round(float(edge)) for edge in raw if edge > ordered[0]})
    return [int(edge) if edge == int(edge) else edge for edge in edges]


def _round(number: float) -> float:
    """With two digits that count."""
    return float(f"{number:.2g}")
