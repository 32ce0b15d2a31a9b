"""The columns of a snapshot as its schema wants them, with every problem told: of a whole table, or of a part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from reissue.arrays.sets import difference
from reissue.coding import LARGEST_CODE, MISSING
from reissue.engine.identifiers import Repeated, find_repeated, normalize
from reissue.engine.numbers import Numbers, numbers_of
from reissue.engine.problems import Check, Problems
from reissue.engine.read import missing_columns
from reissue.engine.respelling import respell
from reissue.engine.text import Text, text_of
from reissue.schema import Bins, Numeric, Schema
from reissue.schema.spelling import USUAL

Forms = Mapping[str, bool]
"""How to read columns that can be read in two ways, by name: see `plain` of `text_of` and `normalize`, and `dates` of
`numbers_of`. What is not named is decided by its values, which must then be the whole column."""

FILL = 'Fill it in, leave these rows out, or set missing = "value" in the schema to make missing a value of its own.'


def tell_missing(schema: Schema, header: Sequence[str], problems: Problems) -> None:
    for sentence in missing_columns(schema.columns, header):
        problems.add(sentence)


def tell_empty(problems: Problems) -> None:
    problems.add("The table has no rows. Check the export, or the query's conditions.")


@dataclass(frozen=True, eq=False)
class Parsed:
    """The columns of a table, or of a part of one, as the schema wants them; None for one that cannot be read."""

    identifiers: pa.Array
    attributes: Mapping[str, Text | Numbers | None]
    sensitive: Mapping[str, Text | None]
    insensitive: pa.Table | None


def parse(
    table: pa.Table, schema: Schema, problems: Problems, forms: Forms | None = None, *, whole: bool = True
) -> Parsed:
    """Check the columns of the schema that the table has. O(rows).

    whole: the table is not a part of one; of a part, all `forms` must be given, and repeated identifiers are not told.
    """
    forms = forms or {}
    if schema.spelling is not USUAL:
        table = respell(table, schema, problems)
    columns = {name: table.column(name) for name in table.column_names}
    return Parsed(
        _identifiers(schema.identifier, columns, problems, forms.get(schema.identifier), whole),
        {
            name: _attribute(name, columns[name], schema, problems, forms.get(name))
            for name in schema.quasi_identifiers
            if name in columns
        },
        {
            name: _sensitive(name, columns[name], schema, problems, forms.get(name))
            for name in schema.sensitive
            if name in columns
        },
        _insensitive(table, schema, problems),
    )


def _identifiers(
    name: str, columns: Mapping[str, pa.ChunkedArray], problems: Problems, plain: bool | None, whole: bool
) -> pa.Array:
    if name not in columns:
        return pa.array([], pa.large_string())
    try:
        identifiers, bad = normalize(columns[name], plain)
    except (pa.ArrowException, ValueError):
        problems.add(
            f"Column '{name}' is of type {columns[name].type}: identifiers must be text or whole numbers. "
            f"Convert it to text first, in a query by CAST({name} AS text).",
            name,
        )
        return pa.array([], pa.large_string())
    if len(bad):
        before = f"Column '{name}': {columns[name][int(bad[0])].as_py()} cannot be an identifier,"
        problems.rows(name, Check.VALUE, before, bad, "Use text or whole numbers.")
    empty = difference(np.flatnonzero(np.asarray(identifiers.is_null())), bad)
    after = "Every row must say whose it is: fill it in, or leave these rows out."
    problems.rows(name, Check.EMPTY, f"Column '{name}' (identifier) is empty", empty, after)
    if whole:
        tell_repeated(name, *find_repeated(identifiers), problems)
    return identifiers


def tell_repeated(name: str, extra: int, shown: Sequence[Repeated], problems: Problems) -> None:
    """extra: how many rows repeat an earlier identifier; shown: the first identifiers that are repeated."""
    for one in shown:
        after = "Keep one row per subject, or use an identifier per episode."
        before = f"Column '{name}': {one.identifier!r} occurs more than once,"
        problems.rows(name, Check.REPEATED, before, one.rows, after, one.total)
    if extra > sum(one.total - 1 for one in shown):
        sentence = f"Column '{name}': {extra:,} rows in all repeat an earlier identifier."
        problems.add(sentence, name, Check.REPEATED)


def _attribute(
    name: str, column: pa.ChunkedArray, schema: Schema, problems: Problems, form: bool | None
) -> Text | Numbers | None:
    """A quasi-identifier as the schema wants it, or None after its problems were told."""
    attribute = schema.quasi_identifiers[name]
    read: Text | Numbers | None
    if isinstance(attribute, Numeric):
        read = numbers_of(name, column, attribute.type, problems, form)
        null = np.isnan(read.values) if read is not None else np.zeros(0, dtype=np.bool_)
        if read is not None:
            large = np.flatnonzero(np.abs(read.values) > LARGEST_CODE)  # whatever its decimals, it has no code
            before = f"Column '{name}': {read.values[large[:1]].sum():.15g} is beyond ±{LARGEST_CODE:,},"
            after = "Correct it, or give the column in a larger unit, such as thousands."
            problems.rows(name, Check.LIMIT, before, large, after)
    else:
        read = _text(name, column, problems, form)
        null = read.index < 0 if read is not None else np.zeros(0, dtype=np.bool_)
    if not schema.takes_missing(name):
        problems.rows(name, Check.EMPTY, f"Column '{name}' is empty", np.flatnonzero(null), FILL)
    return read


def _text(name: str, column: pa.ChunkedArray, problems: Problems, plain: bool | None) -> Text | None:
    try:
        return text_of(column, plain)
    except (pa.ArrowException, ValueError):
        problems.add(f"Column '{name}' is of type {column.type}, which is not text. Convert it to text first.", name)
        return None


def _sensitive(
    name: str, column: pa.ChunkedArray, schema: Schema, problems: Problems, form: bool | None
) -> Text | None:
    bins = schema.bins.get(name)
    if bins is None:
        read = _text(name, column, problems, form)
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        fractional = pa.types.is_floating(kind) or pa.types.is_decimal(kind)
        if read is not None and fractional and any(_fraction(label) for label in read.labels):
            problems.add(
                f"Column '{name}' is sensitive and holds decimal numbers, so that nearly every value is unique. "
                f"Give it bins in the schema, such as bins.{name} = [0, 20000, 50000], or convert it to text.",
                name,
                Check.FORM,
            )
    else:
        numbers = numbers_of(name, column, "numeric", problems, form)
        if numbers is not None and numbers.kind == "date":
            sentence = f"Column '{name}' holds dates, but bins are for numbers. Remove its bins or convert it."
            problems.add(sentence, name, Check.FORM)
        read = _bin(numbers, bins) if numbers is not None else None
    if read is None:
        return None
    if not schema.takes_missing(name):
        empty = np.flatnonzero(read.index < 0)
        problems.rows(name, Check.EMPTY, f"Column '{name}' (sensitive) is empty", empty, FILL)
    elif MISSING in read.labels:
        place = np.array([list(read.labels).index(MISSING)], dtype=np.int64)
        after = "Write it another way, or leave it empty."
        problems.labels(name, Check.RESERVED, read, place, "reserved for missing values", after)
    return read


def _fraction(label: str) -> bool:
    return bool(label.partition(".")[2].strip("0"))


def _bin(numbers: Numbers, bins: Bins) -> Text:
    present = ~np.isnan(numbers.values)
    found, place = np.unique(bins.index(numbers.values[present]), return_inverse=True)
    index = np.full(len(numbers), -1, dtype=np.int32)
    index[present] = place
    return Text([bins.name(number) for number in found.tolist()], index)


def _insensitive(table: pa.Table, schema: Schema, problems: Problems) -> pa.Table | None:
    names = [name for name in schema.insensitive if name in table.column_names]
    for name in names:
        kind = table.schema.field(name).type
        if _cannot_carry(kind.value_type if pa.types.is_dictionary(kind) else kind):
            problems.add(
                f"Column '{name}' holds {kind}, which a release cannot carry. "
                "Convert it to text or numbers, or leave it out.",
                name,
            )
    return table.select(names) if names else None


def _cannot_carry(kind: pa.DataType) -> bool:
    """Whether one cell of this type cannot be written as CSV."""
    types = pa.types
    binary = types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind)
    odd = types.is_duration(kind) or types.is_interval(kind) or types.is_decimal256(kind)
    return bool(types.is_nested(kind) or binary or types.is_fixed_size_binary(kind) or odd)
