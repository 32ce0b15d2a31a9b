"""What a snapshot tells a coding (aggregates, never rows), and everything that does not fit it in one message."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from reissue.coding.numeric import Kind, NumericCoding
from reissue.errors import SnapshotError
from reissue.hierarchy import MISSING, Hierarchy
from reissue.schema.attributes import MOST_DECIMALS, Numeric, breaks_ranges, refuse_dots

if TYPE_CHECKING:
    from reissue.coding.codes import Coding


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


SHOWN = 10
"""How many unknown values of one column a message names."""

Learned = tuple[dict[str, Hierarchy], dict[str, NumericCoding], tuple[tuple[str, ...], ...]]
"""The hierarchies, numeric codings and sensitive values after a snapshot."""


@dataclass
class _Places:
    """Tells where rows are. lines: the line of each row (both from 1), once they are known; asked: rows told so far."""

    ordered: bool
    lines: Mapping[int, int] = field(default_factory=dict)
    asked: set[int] = field(default_factory=set)

    def rows(self, count: int, first: int) -> str:
        """ "row 3 (line 4)"; `first` counts from 0."""
        if not self.ordered:
            return "a row" if count == 1 else f"{count:,} rows"
        row = first + 1
        self.asked.add(row)
        place = f"row {row} (line {self.lines[row]})" if row in self.lines else f"row {row}"
        return place if count == 1 else f"{count:,} rows, first in {place}"


def learn(coding: Coding, seen: SnapshotSummary) -> Learned:
    """What the coding knows after a snapshot; one SnapshotError tells everything that does not fit."""
    places = _Places(seen.ordered)
    after, problems = _learn(coding, seen, places)
    if not problems:
        return after
    if seen.lines is not None and places.asked:  # the file is walked once, for all rows that are told
        asked = sorted(places.asked)
        _, problems = _learn(coding, seen, _Places(True, dict(zip(asked, seen.lines(asked), strict=True))))
    head = f"{seen.name} does not fit the schema"
    if len(problems) == 1:
        raise SnapshotError(f"{head}. {problems[0]}")
    raise SnapshotError("\n- ".join([f"{head}; {len(problems)} problems:", *problems]))


def _learn(coding: Coding, seen: SnapshotSummary, places: _Places) -> tuple[Learned, list[str]]:
    problems: list[str] = []
    hierarchies = dict(coding.hierarchies)
    numbers = dict(coding.numbers)
    for name in coding.attributes:
        missing = coding.schema.takes_missing(name)
        if name in hierarchies and name in seen.categories:
            counted = seen.categories[name]
            found = _find_unknown(name, hierarchies[name], counted, missing, coding.shows_ranges(name), places)
            problems += found
            if not found:
                hierarchies[name] = hierarchies[name].grow(value for value in counted if value is not None)
        elif name in numbers and name in seen.numbers:
            number, found = _learn_number(coding, name, seen.numbers[name], places)
            numbers[name] = number
            problems += found
        else:
            problems.append(f"Column '{name}' is missing. Add it, or correct the schema.")
    values, found = _learn_values(coding, seen.sensitive, places)
    return (hierarchies, numbers, values), problems + found


def _find_unknown(
    name: str, hierarchy: Hierarchy, counted: Counted, missing: bool, ranges: bool, places: _Places
) -> list[str]:
    problems = []
    if None in counted and not missing:
        problems.append(_nulls(name, places.rows(*counted[None])))
    bad = {value: reason for value in counted if value is not None and (reason := hierarchy.problem(value))}
    if ranges:
        bad |= {value: refuse_dots(value) for value in counted if value is not None and breaks_ranges(value)}
    if not bad:
        return problems
    many = f"{len(bad):,} values are" if len(bad) > 1 else "a value is"
    if not hierarchy.grows:
        listed = _tell_bad(bad, counted, places, lambda value, _: repr(value) + _explain_unknown(value, hierarchy))
        them, source = "them" if len(bad) > 1 else "it", f" ({hierarchy.source})" if hierarchy.source else ""
        return [
            *problems,
            f"Column '{name}': {many} not in its hierarchy{source}: {listed}. Correct the snapshot, or add {them} to "
            f"the hierarchy; to that of a series by `reissue extend SERIES --hierarchy {name}=FILE.csv`, a file like "
            "the hierarchy's.",
        ]
    listed = _tell_bad(bad, counted, places, lambda _, reason: reason)
    return [*problems, f"Column '{name}': {many} not allowed: {listed}. Correct the snapshot."]


def _tell_bad(bad: Mapping[str, str], counted: Counted, places: _Places, word: Callable[[str, str], str]) -> str:
    """The most frequent bad values with their rows, then how many more there are."""
    order = sorted(bad, key=lambda value: (-counted[value][0], value))
    shown = [f"{word(value, bad[value])} in {places.rows(*counted[value])}" for value in order[:SHOWN]]
    more = [f"... and {len(bad) - SHOWN:,} more"] if len(bad) > SHOWN else []
    return "; ".join([*shown, *more])


def _explain_unknown(value: str, hierarchy: Hierarchy) -> str:
    """Why a value may be unknown: spaces, case, a lost leading zero, a number read as a decimal."""
    known = hierarchy.codes
    if value.strip() in known:
        return " (with spaces around it)"
    spaced = next((leaf for leaf in hierarchy.leaves if leaf != value and leaf.strip() == value), None)
    if spaced is not None:
        return f" (the hierarchy has {spaced!r}, with spaces around it)"
    padded = next(
        (text for width in range(len(value) + 1, len(value) + 4) if (text := value.zfill(width)) in known), ""
    )
    if value.isdigit() and padded:
        return f" (is it {padded!r} without its zeros? read the column as text)"
    if value.endswith(".0") and value[:-2] in known:
        return f" (is it {value[:-2]!r}, read as a decimal number?)"
    if value in hierarchy.all_labels:
        return " (a group, not a value)"
    return ""


def _nulls(name: str, where: str) -> str:
    return (
        f"Column '{name}' is empty in {where}. Fill it in, leave these rows out, "
        'or set missing = "value" in the schema to make missing a value of its own.'
    )


def _learn_number(coding: Coding, name: str, seen: NumericSummary, places: _Places) -> tuple[NumericCoding, list[str]]:
    """The numeric coding after a snapshot; kind and decimals are fixed by the first one with values."""
    number = coding.numbers[name]
    if seen.nulls and not number.missing:
        return number, [_nulls(name, places.rows(seen.nulls, seen.first_null))]
    if seen.nulls:
        number = replace(number, nulls=True)
    if seen.lowest is None or seen.highest is None:
        return number, []
    attribute = coding.schema.quasi_identifiers[name]
    assert isinstance(attribute, Numeric)
    first = number.hi < number.lo
    if number.kind is None:
        number = replace(number, kind=_find_kind(seen, attribute))
    if number.kind == "date":
        number = replace(number, decimals=0)
    problem = _misfit(name, number, seen, places)
    if problem:
        return number, [problem]
    if first and number.kind == "float" and attribute.decimals is None:
        number = replace(number, decimals=min(seen.decimals, MOST_DECIMALS))
    low, high = number.code(seen.lowest), number.code(seen.highest)
    if low is None or high is None:
        worst, end = (seen.lowest, 0) if low is None else (seen.highest, 1)
        where = f" in {places.rows(1, seen.rows[end])}" if seen.rows is not None else ""
        return number, [f"Column '{name}': the value {worst}{where} does not fit: {number.limits()}"]
    return number.widened(low, high), []


def _find_kind(seen: NumericSummary, attribute: Numeric) -> Kind:
    """Floats without decimals are whole numbers (a column with nulls often arrives as floats)."""
    if seen.kind == "float" and not seen.decimals and not attribute.decimals:
        return "int"
    return "float" if seen.kind == "int" and attribute.decimals else seen.kind


def _misfit(name: str, number: NumericCoding, seen: NumericSummary, places: _Places) -> str | None:
    if (number.kind == "date") != (seen.kind == "date"):
        return (
            f"Column '{name}' holds {_PLURAL[seen.kind]}, but this series codes it as {_PLURAL[number.kind or 'int']}. "
            "Give the column in the same form in every snapshot."
        )
    if number.kind == "int" and seen.kind == "float" and seen.decimals:
        first = f" ({seen.fraction[0]} in {places.rows(1, seen.fraction[1])})" if seen.fraction is not None else ""
        return (
            f"Column '{name}' has decimals{first}, but this series codes it as whole numbers. Round the column; "
            'for a new series set type = "float" and decimals in the schema.'
        )
    return None


_PLURAL = {"int": "whole numbers", "float": "decimal numbers", "date": "dates"}


def _learn_values(
    coding: Coding, sensitive: Iterable[Labels], places: _Places
) -> tuple[tuple[tuple[str, ...], ...], list[str]]:
    """The sensitive values with the new ones appended in sorted order, so that old codes stay."""
    known = coding.value_lookup
    fresh: set[tuple[str, ...]] = set()
    problems: list[str] = []
    nulls: set[str] = set()
    for labels in sensitive:
        if len(labels) != len(coding.schema.sensitive):
            raise ValueError(f"a sensitive value has {len(labels)} labels for columns {coding.schema.sensitive}")
        if coding.schema.missing == "refuse":
            nulls.update(name for name, label in zip(coding.schema.sensitive, labels, strict=True) if label is None)
        named = tuple(MISSING if label is None else label for label in labels)
        if named not in known:
            fresh.add(named)
    counts = sensitive if isinstance(sensitive, Mapping) else {}
    for i, name in enumerate(coding.schema.sensitive):
        if name in nulls:
            rows = [counted for labels, counted in counts.items() if labels[i] is None]
            count, first = sum(count for count, _ in rows), min((first for _, first in rows), default=0)
            where = f" in {places.rows(count, first)}" if rows else ""
            problems.append(
                f"Column '{name}' (sensitive) is empty{where}. Fill it in, leave these rows out, "
                'or set missing = "value" in the schema.'
            )
    for i, name in enumerate(coding.schema.sensitive):
        problems += _find_twins(name, i, coding, fresh, counts, places)
    return (*coding.value_labels, *sorted(fresh)), problems


def _find_twins(
    name: str,
    i: int,
    coding: Coding,
    fresh: Iterable[tuple[str, ...]],
    counts: Mapping[Labels, tuple[int, int]],
    places: _Places,
) -> list[str]:
    """New labels that read like another label: one value counted as two would pass for diversity."""
    known = {labels[i] for labels in coding.value_labels}
    new = {labels[i] for labels in fresh} - known
    by_text: dict[str, list[str]] = {}
    for label in sorted(known | new):
        by_text.setdefault(_as_read(label), []).append(label)
    problems = []
    for text, twins in by_text.items():
        if len(twins) > 1 and not new.isdisjoint(twins):
            rows = [counted for labels, counted in counts.items() if labels[i] in twins and labels[i] != text]
            where = places.rows(sum(count for count, _ in rows), min(first for _, first in rows)) if rows else ""
            problems.append(
                f"Column '{name}' (sensitive): {' and '.join(map(repr, twins))} {_difference(twins)}"
                f"{f', in {where}' if where else ''}. They would count as different values: write them alike."
            )
    return problems


def _as_read(label: str) -> str:
    """The label without what a reader does not see: spaces to excess, invisible signs, how accents are put together."""
    if not label.isascii():
        label = unicodedata.normalize("NFC", "".join(sign for sign in label if unicodedata.category(sign) != "Cf"))
    return " ".join(label.split())


def _difference(twins: list[str]) -> str:
    if len({label.strip() for label in twins}) == 1:
        return "differ only in spaces around them"
    return f"read alike but are made of other characters ({' and '.join(map(ascii, twins))})"
