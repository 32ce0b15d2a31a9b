"""What workers tell the driver about some rows of a snapshot, and how it is put together: never rows, only summaries.

However the rows are divided, the whole is the same: counts add up, the first row is the least one, what holds for all
rows holds for all parts.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from reissue.arrays.types import Int32, Int64
from reissue.coding import Kind, NumericSeen
from reissue.engine.identifiers import whole_floats
from reissue.engine.numbers import Numbers, dates_and_numbers
from reissue.engine.parsing import Forms, parse
from reissue.engine.problems import SHOWN, Check, Problem, Problems, WrongLabels
from reissue.engine.read import is_text
from reissue.engine.snapshot import joint
from reissue.engine.text import Text, first_places, is_plain, text_of
from reissue.schema import Numeric, Schema
from reissue.schema.attributes import MOST_DECIMALS

SENSITIVE = ""
"""The column under which the tuples of sensitive labels are counted."""

COUNTED = pa.schema(
    [
        ("column", pa.string()),  # null for a part
        ("label", pa.list_(pa.string())),
        ("rows", pa.int64()),
        ("first", pa.int64()),
        ("part", pa.binary()),
    ]
)


@dataclass(frozen=True)
class NumbersPart:
    """A numeric column of some rows; fits: bool[digits], whether so many digits after the point are enough."""

    kind: Kind
    lowest: float | None
    highest: float | None
    fits: tuple[bool, ...]
    nulls: int
    first_null: int


@dataclass(frozen=True)
class Part:
    """Some rows of a snapshot.

    plain: of columns that can be written in two ways, whether all these rows can be written in the short one
    looks: of text that may be dates or numbers, whether there are some that look like dates, and like numbers
    """

    rows: int
    plain: Mapping[str, bool]
    looks: Mapping[str, tuple[bool, bool]]
    numbers: Mapping[str, NumbersPart]
    problems: tuple[Problem | WrongLabels, ...]


def first_guess(schema: Schema) -> dict[str, bool]:
    """How columns are read before any was looked at; right for nearly all tables."""
    return {name: name != schema.identifier and not is_numeric(name, schema) for name in schema.columns}


def is_numeric(name: str, schema: Schema) -> bool:
    return isinstance(schema.quasi_identifiers.get(name), Numeric) or name in schema.bins


# -- on the workers


def summarized(table: pa.Table, places: Int64, schema: Schema, forms: Forms) -> pa.Table:
    """The labels of some rows counted, and one row that holds their `Part`; see COUNTED. O(rows)."""
    problems = Problems("", None)
    parsed = parse(table, schema, problems, forms, whole=False)
    numbers = {name: _numbers(one, places) for name, one in parsed.attributes.items() if isinstance(one, Numbers)}
    counted = [
        _counted(name, [[label] for label in one.labels], one.index, places)
        for name, one in parsed.attributes.items()
        if isinstance(one, Text)
    ]
    sensitive = [one for one in parsed.sensitive.values() if one is not None]
    if sensitive and len(sensitive) == len(schema.sensitive):
        values, index = joint(sensitive)
        counted.append(_counted(SENSITIVE, [list(labels) for labels in values], index, places))
    told = tuple(_placed(problem, places) for problem in problems.found)
    part = Part(table.num_rows, *_evidence(table, schema), numbers, told)
    row = [[None], [[str(places[0])]], [table.num_rows], [int(places[0])], [pickle.dumps(part)]]
    return pa.concat_tables([*counted, pa.table(row, COUNTED)])


def wrong_labels(table: pa.Table, places: Int64, schema: Schema, forms: Forms) -> pa.Table:
    """Every label of some rows that is wrong; `part` holds the number of the check. See COUNTED."""
    problems = Problems("", None)
    parse(table, schema, problems, forms, whole=False)
    found = [pa.table([[]] * len(COUNTED), COUNTED)]
    for one in problems.found:
        if isinstance(one, WrongLabels):
            count = len(one.labels)
            labels = [[label] for label in one.labels]
            check = [bytes([one.check])] * count
            found.append(pa.table([[one.column] * count, labels, one.counts, places[one.first], check], COUNTED))
    return pa.concat_tables(found)


def labels_by_look(table: pa.Table, columns: Sequence[str]) -> pa.Table:
    """The labels that look like a date (rows = 1) or a number (rows = 0), of these columns. See COUNTED."""
    found = [pa.table([[]] * len(COUNTED), COUNTED)]
    for name in columns:
        text = text_of(table.column(name))
        for look, mask in zip((1, 0), dates_and_numbers(text), strict=True):
            labels = [[text.labels[place]] for place in np.flatnonzero(mask & (text.counts > 0)).tolist()]
            count = len(labels)
            found.append(pa.table([[name] * count, labels, [look] * count, [0] * count, [None] * count], COUNTED))
    return pa.concat_tables(found)


def _counted(name: str, labels: Sequence[list[str | None]], index: Int32, places: Int64) -> pa.Table:
    counts = np.bincount(index[index >= 0], minlength=len(labels))
    first = first_places(index, len(labels))
    used = np.flatnonzero(counts)
    shown: list[list[str | None]] = [labels[place] for place in used.tolist()]
    rows, least = counts[used].tolist(), places[first[used]].tolist()
    null = index < 0
    if null.any():
        shown, rows, least = [*shown, [None]], [*rows, int(null.sum())], [*least, int(places[np.argmax(null)])]
    return pa.table([[name] * len(shown), shown, rows, least, [None] * len(shown)], COUNTED)


def _numbers(numbers: Numbers, places: Int64) -> NumbersPart:
    null = np.isnan(numbers.values)
    known = numbers.values[~null]
    fits = tuple(numbers.kind != "float" or numbers.fits(digits) for digits in range(MOST_DECIMALS))
    return NumbersPart(
        numbers.kind,
        float(known.min()) if len(known) else None,
        float(known.max()) if len(known) else None,
        fits,
        int(null.sum()),
        int(places[np.argmax(null)]) if null.any() else 0,
    )


def _placed(problem: Problem | WrongLabels, places: Int64) -> Problem | WrongLabels:
    if isinstance(problem, Problem):
        return replace(problem, rows=tuple(places[list(problem.rows)].tolist()))
    nothing = np.empty(0, dtype=np.int64)  # the labels may be as many as the rows: they are counted where they are
    return replace(problem, labels=[], counts=nothing, first=nothing)


def _evidence(table: pa.Table, schema: Schema) -> tuple[dict[str, bool], dict[str, tuple[bool, bool]]]:
    plain: dict[str, bool] = {}
    looks: dict[str, tuple[bool, bool]] = {}
    for name in table.column_names:
        if name in schema.insensitive:
            continue
        column = table.column(name)
        if pa.types.is_dictionary(column.type) and not _is_text(column.type.value_type):
            column = column.cast(column.type.value_type)
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if is_numeric(name, schema):
            attribute = schema.quasi_identifiers.get(name)
            if _is_text(kind) and (not isinstance(attribute, Numeric) or attribute.type == "numeric"):
                text = text_of(column)
                dated, numeric = (bool((mask & (text.counts > 0)).any()) for mask in dates_and_numbers(text))
                looks[name] = (dated, numeric)
        elif name == schema.identifier and _is_text(kind):
            plain[name] = whole_floats(column.cast(pa.large_string()))
        elif pa.types.is_timestamp(kind) or (pa.types.is_floating(kind) and name != schema.identifier):
            plain[name] = is_plain(column)
    return plain, looks


def _is_text(kind: pa.DataType) -> bool:
    return bool(is_text(kind) or pa.types.is_string_view(kind))


# -- on the driver


def decided(parts: Sequence[Part], dated: Mapping[str, bool]) -> dict[str, bool]:
    """How to read the columns of which there was something to decide; `dated` says it of text that is mixed."""
    forms = {name: all(part.plain[name] for part in parts) for part in parts[:1] for name in part.plain}
    for name in mixed(parts):
        forms[name] = dated[name]
    for name in (name for part in parts[:1] for name in part.looks):
        if name not in forms:
            forms[name] = any(part.looks[name][0] for part in parts)
    return forms


def mixed(parts: Sequence[Part]) -> list[str]:
    """Columns of text of which some looks like a date and some like a number."""
    names = [name for part in parts[:1] for name in part.looks]
    return [name for name in names if all(any(part.looks[name][look] for part in parts) for look in (0, 1))]


def merged_numbers(parts: Iterable[NumbersPart]) -> NumericSeen:
    """As `Snapshot.seen` tells it of the whole column."""
    parts = list(parts)
    kinds = {part.kind for part in parts}
    kind: Kind = "float" if "float" in kinds else "date" if "date" in kinds else "int"
    nulls = sum(part.nulls for part in parts)
    lowest = min((part.lowest for part in parts if part.lowest is not None), default=None)
    if lowest is None:
        return NumericSeen(kind=kind, lowest=None, highest=None, nulls=nulls)
    digits = (d for d in range(MOST_DECIMALS) if all(part.fits[d] for part in parts))
    return NumericSeen(
        kind=kind,
        lowest=lowest,
        highest=max(part.highest for part in parts if part.highest is not None),
        decimals=next(digits, MOST_DECIMALS) if kind == "float" else 0,
        nulls=nulls,
        first_null=min((part.first_null for part in parts if part.nulls), default=0),
    )


def merged_problems(parts: Iterable[Sequence[Problem | WrongLabels]]) -> list[Problem | WrongLabels]:
    """The problems of the whole: rows counted together, of each column only up to the check that ends its reading."""
    together: dict[tuple[object, ...], Problem | WrongLabels] = {}
    for one in (problem for part in parts for problem in part):
        key = (one.column, one.check, type(one), one.after or (one.before if isinstance(one, Problem) else ""))
        other = together.get(key)
        if isinstance(one, Problem) and isinstance(other, Problem):
            earlier = min(one, other, key=lambda problem: problem.rows)
            rows = tuple(sorted([*one.rows, *other.rows])[:SHOWN])
            one = replace(earlier, rows=rows, total=one.total + other.total)
        together[key] = one
    ends = {one.column: one.check for one in sorted(together.values(), key=lambda one: -one.check) if one.check.ends}
    return [one for one in together.values() if one.column == "" or one.check <= ends.get(one.column, max(Check))]


def in_order(problems: Iterable[Problem | WrongLabels], schema: Schema) -> list[Problem | WrongLabels]:
    """As the embedded engine tells them: of the table, then column by column and check by check."""
    rank = {name: number for number, name in enumerate(["", *schema.columns])}
    return sorted(problems, key=lambda one: (rank[one.column], one.check))
