"""Columns in the spelling that the schema declares, turned into the one that everything else reads."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from reissue.engine.problems import Check, Problems
from reissue.engine.text import encode, indices, text_of
from reissue.hierarchy.rules import Dates, Intervals
from reissue.schema import Numeric, Schema
from reissue.schema.spelling import DATES, ISO

COMMA = r"^\s*[+-]?[0-9]*,[0-9]+([eE][+-]?[0-9]+)?\s*$"
POINT = r"^\s*[+-]?[0-9]*\.[0-9]+([eE][+-]?[0-9]+)?\s*$"


def respell(table: pa.Table, schema: Schema, problems: Problems) -> pa.Table:
    """The table with missing codes as nulls, a point before decimals, and ISO dates. O(rows), only where declared."""
    spelling = schema.spelling
    for name in (*schema.quasi_identifiers, *schema.sensitive):
        if name not in table.column_names:
            continue
        column, place = table.column(name), table.column_names.index(name)
        codes = spelling.missing_of(name)
        if codes:
            column = _blank(column, codes)
        if spelling.decimal == "," and _is_number(name, schema) and _is_text(column):
            column = _read_commas(name, column, problems)
        if spelling.dates != ISO and _may_be_date(name, schema) and _is_text(column):
            column = _relabel(column, lambda labels: _to_iso(labels, spelling.dates))
        table = table.set_column(place, name, column)
    return table


def _is_text(column: pa.ChunkedArray) -> bool:
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _is_number(name: str, schema: Schema) -> bool:
    attribute = schema.quasi_identifiers.get(name)
    if attribute is None:
        return name in schema.bins
    return isinstance(attribute, Numeric) or isinstance(attribute.hierarchy.rule, Intervals)


def _may_be_date(name: str, schema: Schema) -> bool:
    attribute = schema.quasi_identifiers.get(name)
    if isinstance(attribute, Numeric):
        return attribute.type in ("numeric", "date")
    return attribute is not None and isinstance(attribute.hierarchy.rule, Dates)


def _blank(column: pa.ChunkedArray, codes: tuple[str, ...]) -> pa.ChunkedArray:
    """Null where a code stands; of numbers, where they equal a code that is one."""
    kind = column.type
    if _is_text(column):
        known = pa.array(codes, pa.string())

        def blank(labels: pa.Array) -> pa.Array:
            return pc.if_else(pc.is_in(pc.utf8_trim_whitespace(labels), known), None, labels)

        return _relabel(column, blank)
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        return column
    numbers = [float(code) for code in codes if _reads_as_number(code)]
    found = np.isin(np.asarray(column.cast(pa.float64(), safe=False).fill_null(np.nan)), numbers)
    return pc.if_else(pa.array(found), pa.scalar(None, kind), column) if found.any() else column


def _reads_as_number(code: str) -> bool:
    try:
        return bool(np.isfinite(float(code)))
    except ValueError:
        return False


def _relabel(column: pa.ChunkedArray, change: Callable[[pa.Array], pa.Array]) -> pa.ChunkedArray:
    """The column with its distinct texts changed: O(distinct) texts, O(rows) numbers."""
    codes = encode(column)
    changed = change(codes.dictionary.cast(pa.string()))
    index = pa.array(indices(codes), mask=indices(codes) < 0)
    return pa.chunked_array([changed.take(index)])


def _read_commas(name: str, column: pa.ChunkedArray, problems: Problems) -> pa.ChunkedArray:
    """1,5 as 1.5; a point is refused, since 1.234 may mean two things where commas stand before decimals."""
    text = text_of(column)
    labels = pa.array(text.labels, pa.string())
    pointed = np.flatnonzero(np.asarray(pc.match_substring_regex(labels, POINT), dtype=np.bool_))
    after = 'The schema says that decimals follow a comma (spelling.decimal = ","): write 1234,5 and no points.'
    problems.labels(name, Check.VALUE, text, pointed, "written with a point", after)
    return _relabel(
        column,
        lambda labels: pc.if_else(
            pc.match_substring_regex(labels, COMMA), pc.replace_substring(labels, ",", "."), labels
        ),
    )


def _to_iso(labels: pa.Array, form: str) -> pa.Array:
    """Dates of that form as 2026-01-31; whatever is none stays as it is, and is told later."""
    trimmed = pc.utf8_trim_whitespace(labels)
    parts = pc.extract_regex(trimmed, DATES[form])
    day, month, year = (pc.struct_field(parts, part) for part in ("day", "month", "year"))
    padded = pc.binary_join_element_wise(year, pc.utf8_lpad(month, 2, "0"), pc.utf8_lpad(day, 2, "0"), "-")
    real = pc.strptime(padded, format="%Y-%m-%d", unit="s", error_is_null=True)
    same = pc.equal(pc.strftime(real, format="%Y-%m-%d"), padded).fill_null(False)
    return pc.if_else(same, padded, labels)
