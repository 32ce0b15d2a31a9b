"""What workers tell the driver about some rows of a snapshot, and how it is put together: never rows, only summaries.

However the rows are divided, the whole is the same: counts add up, the first row is the least one, what holds for all
rows holds for all parts. Of labels that cannot be read, those of the first part are named.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from zlib import crc32

import numpy as np
import pyarrow as pa

from reissue.arrays.types import Int64
from reissue.coding import Kind, NumericSummary
from reissue.coding.learning import Labels
from reissue.engine.identifiers import are_whole_floats, deal_hashes, hash_identifiers, have_twins
from reissue.engine.numbers import Numbers, dates_and_numbers
from reissue.engine.parsing import Forms, parse
from reissue.engine.problems import SHOWN, Check, Problems, SnapshotProblem, WrongLabels
from reissue.engine.read import is_text
from reissue.engine.respelling import respell
from reissue.engine.snapshot import count_labels, count_text, join_labels, summarize_numbers
from reissue.engine.text import Text, is_plain, text_of
from reissue.schema import Numeric, Schema
from reissue.schema.attributes import MOST_DECIMALS
from reissue.schema.spelling import USUAL

SENSITIVE = ""
"""The column under which the tuples of sensitive labels are counted."""

COUNTED = pa.schema(
    [
        ("place", pa.int32()),  # which worker puts it together with others of its kind
        ("column", pa.string()),  # null for a part, and for hashes
        ("label", pa.list_(pa.string())),
        ("rows", pa.int64()),
        ("first", pa.int64()),
        ("part", pa.binary()),
        ("hashes", pa.binary()),  # of identifiers; of those put together only whether some are equal
    ]
)


@dataclass(frozen=True)
class SnapshotPart:
    """Some rows of a snapshot.

    plain: of columns that can be written in two ways, whether all these rows can be written in the short one
    dated: of text that may be dates or numbers, whether some of it looks like dates
    """

    rows: int
    plain: Mapping[str, bool]
    dated: Mapping[str, bool]
    numbers: Mapping[str, NumericSummary]
    problems: tuple[SnapshotProblem | WrongLabels, ...]


def first_guess(schema: Schema) -> dict[str, bool]:
    """How columns are read before any was looked at; right for nearly all tables."""
    return {name: name != schema.identifier and not is_numeric(name, schema) for name in schema.columns}


def is_numeric(name: str, schema: Schema) -> bool:
    return isinstance(schema.quasi_identifiers.get(name), Numeric) or name in schema.bins


# -- on the workers


def summarize(table: pa.Table, places: Int64, schema: Schema, forms: Forms, count: int) -> pa.Table:
    """The labels of some rows counted, one row that holds their `SnapshotPart`, and the hashes of their identifiers.

    See COUNTED; equal labels and equal hashes go to the same of `count` workers. O(rows).
    """
    problems = Problems("", None)
    parsed = parse(table, schema, problems, forms, whole=False)
    columns = parsed.attributes.items()
    numbers = {name: summarize_numbers(one, places) for name, one in columns if isinstance(one, Numbers)}
    texts = {name: count_text(one, places) for name, one in columns if isinstance(one, Text)}
    found = [_label_rows(name, {(label,): told for label, told in text.items()}, count) for name, text in texts.items()]
    sensitive = [one for one in parsed.sensitive.values() if one is not None]
    if sensitive and len(sensitive) == len(schema.sensitive):
        values, index = join_labels(sensitive)
        found.append(_label_rows(SENSITIVE, count_labels(values, index, places), count))
    told = tuple(_place_problem(problem, places) for problem in problems.found)
    part = SnapshotPart(table.num_rows, *_find_evidence(table, schema), numbers, told)
    found.append(_counted({"place": [0], "first": [int(places[0])], "part": [pickle.dumps(part)]}))
    hashes = hash_identifiers(parsed.identifiers.drop_null())
    owner = deal_hashes(hashes, count)
    shares = [hashes[owner == place].tobytes() for place in range(count)]
    return pa.concat_tables([*found, _counted({"place": range(count), "hashes": shares})])


def _counted(columns: Mapping[str, Sequence[object]]) -> pa.Table:
    """Rows of COUNTED; columns that are not given are null."""
    rows = len(next(iter(columns.values())))
    return pa.table([columns.get(name, [None] * rows) for name in COUNTED.names], COUNTED)


def _label_rows(name: str, counted: Mapping[Labels, tuple[int, int]], count: int) -> pa.Table:
    rows, first = zip(*counted.values(), strict=True) if counted else ((), ())
    places = [crc32(repr(one).encode()) % count for one in counted]
    labels = [list(one) for one in counted]
    return _counted({"place": places, "column": [name] * len(labels), "label": labels, "rows": rows, "first": first})


def merge(counted: pa.Table, place: int) -> list[pa.Table]:
    """What came to one worker: equal labels together, and of all hashes only whether some are equal."""
    labels: dict[tuple[str, Labels], tuple[int, int]] = {}
    told = counted.filter(counted.column("column").is_valid()).select(["column", "label", "rows", "first"])
    for name, label, rows, first in zip(*(column.to_pylist() for column in told.columns), strict=True):
        key = (name, tuple(label))
        before = labels.get(key, (0, first))
        labels[key] = before[0] + rows, min(before[1], first)
    hashes = [np.frombuffer(cell.as_buffer(), np.uint64) for cell in counted.column("hashes").drop_null()]
    found = [counted.filter(counted.column("part").is_valid())]
    for name in {name for name, _ in labels}:
        found.append(_label_rows(name, {label: one for (own, label), one in labels.items() if own == name}, 1))
    if have_twins(np.concatenate(hashes)):
        found.append(_counted({"place": [place], "hashes": [b"twins"]}))
    return found


def _place_problem(problem: SnapshotProblem | WrongLabels, places: Int64) -> SnapshotProblem | WrongLabels:
    if isinstance(problem, SnapshotProblem):
        return replace(problem, rows=tuple(places[list(problem.rows)].tolist()))
    return replace(  # the labels may be as many as the rows: some do
        problem,
        labels=problem.labels[:SHOWN],
        counts=problem.counts[:SHOWN],
        first=places[problem.first[:SHOWN]],
        total=problem.rows if len(problem.labels) > SHOWN else 0,
    )


def _find_evidence(table: pa.Table, schema: Schema) -> tuple[dict[str, bool], dict[str, bool]]:
    plain: dict[str, bool] = {}
    dated: dict[str, bool] = {}
    if schema.spelling is not USUAL:
        table = respell(table, schema, Problems("", None))
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
                dated[name] = bool((dates_and_numbers(text)[0] & (text.counts > 0)).any())
        elif name == schema.identifier and _is_text(kind):
            plain[name] = are_whole_floats(column.cast(pa.large_string()))
        elif pa.types.is_timestamp(kind) or (pa.types.is_floating(kind) and name != schema.identifier):
            plain[name] = is_plain(column)
    return plain, dated


def _is_text(kind: pa.DataType) -> bool:
    return bool(is_text(kind) or pa.types.is_string_view(kind))


# -- on the driver


def decide_forms(parts: Sequence[SnapshotPart]) -> dict[str, bool]:
    """How to read the columns of which there was something to decide. Text of dates and numbers is refused anyway."""
    plain = {name: all(part.plain[name] for part in parts) for part in parts[:1] for name in part.plain}
    return plain | {name: any(part.dated[name] for part in parts) for part in parts[:1] for name in part.dated}


def merge_numbers(parts: Sequence[NumericSummary]) -> NumericSummary:
    """As one machine summarizes the whole column."""
    kinds = {part.kind for part in parts}
    kind: Kind = "float" if "float" in kinds else "date" if "date" in kinds else "int"
    digits = (d for d in range(MOST_DECIMALS) if all(part.fits[d] for part in parts))
    whole = NumericSummary(
        kind=kind,
        lowest=None,
        highest=None,
        nulls=sum(part.nulls for part in parts),
        first_null=min((part.first_null for part in parts if part.nulls), default=0),
    )
    lows = [(part.lowest, part.rows[0]) for part in parts if part.lowest is not None and part.rows is not None]
    highs = [(part.highest, -part.rows[1]) for part in parts if part.highest is not None and part.rows is not None]
    if not lows or not highs:
        return whole
    (lowest, low), (highest, high) = min(lows), max(highs)
    return replace(
        whole,
        lowest=lowest,
        highest=highest,
        decimals=next(digits, MOST_DECIMALS) if kind == "float" else 0,
        rows=(low, -high),
        fraction=min((part.fraction for part in parts if part.fraction), key=lambda one: one[1], default=None),
    )


def merge_problems(parts: Iterable[Sequence[SnapshotProblem | WrongLabels]]) -> list[SnapshotProblem | WrongLabels]:
    """The problems of the whole: rows counted together, of each column only up to the check that ends its reading."""
    together: dict[tuple[object, ...], SnapshotProblem | WrongLabels] = {}
    for one in (problem for part in parts for problem in part):
        key = (one.column, one.check, type(one), one.after or (one.before if isinstance(one, SnapshotProblem) else ""))
        other = together.get(key)
        if isinstance(one, SnapshotProblem) and isinstance(other, SnapshotProblem):
            earlier = min(one, other, key=lambda problem: problem.rows)
            rows = tuple(sorted([*one.rows, *other.rows])[:SHOWN])
            one = replace(earlier, rows=rows, total=one.total + other.total)
        elif isinstance(one, WrongLabels) and isinstance(other, WrongLabels):
            earlier_labels = min(one, other, key=lambda problem: int(problem.first[0]))
            one = replace(earlier_labels, total=one.rows + other.rows)
        together[key] = one
    ends = {one.column: one.check for one in sorted(together.values(), key=lambda one: -one.check) if one.check.ends}
    return [one for one in together.values() if one.column == "" or one.check <= ends.get(one.column, max(Check))]


def sort_problems(
    problems: Iterable[SnapshotProblem | WrongLabels], schema: Schema
) -> list[SnapshotProblem | WrongLabels]:
    """As the embedded engine tells them: of the table, then column by column and check by check."""
    rank = {name: number for number, name in enumerate(["", *schema.columns])}
    return sorted(problems, key=lambda one: (rank[one.column], one.check))
