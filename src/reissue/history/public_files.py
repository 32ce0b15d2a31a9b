"""The public files of a release."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from reissue.arrays.sets import permute_ids
from reissue.arrays.types import Int32, Int64
from reissue.coding import Coding
from reissue.engine.output import (
    CLASS,
    added_name,
    anatomized_tables,
    generalized_table,
    values_table,
)
from reissue.engine.text import GroupText, Text
from reissue.errors import ReleaseError
from reissue.hierarchy import RANGE
from reissue.history.lending import LentColumns
from reissue.methods.registry import write_policy
from reissue.methods.strategy import Strategy
from reissue.model.release import Facts, Style
from reissue.model.standing_classes import StandingClasses

FORMAT = "reissue-release/1"
README = "release.json"


@dataclass(frozen=True)
class Extent:
    """How large a release, or a part of it, is: for `release.json`. smallest, largest: people of a class, not rows.

    tokens, squares: values of its standing classes, and the sum over classes of their squared numbers of values
    """

    rows: int
    classes: int
    smallest: int
    largest: int
    tokens: int = 0
    squares: int = 0

    @staticmethod
    def of(facts: Facts) -> Extent:
        """Classes are those that are published: of the form `told` the standing ones, with their tokens.

        Without boxes that a fragment shares with others: those are added once.
        """
        kept = facts.standing
        sizes = np.bincount(facts.classes[facts.real], minlength=facts.class_count)
        rows = Extent.of_sizes(sizes if kept is None or kept.shared is None else sizes[~kept.shared])
        if kept is None:
            return replace(rows, rows=len(facts.subjects))
        sizes = np.bincount(np.unique(kept.tokens.standing, return_inverse=True)[1], kept.tokens.count)
        rows = Extent.of_sizes(sizes) if kept.told else rows
        return replace(rows, rows=len(facts.subjects), tokens=int(sizes.sum()), squares=int(sizes @ sizes))

    @staticmethod
    def of_sizes(sizes: NDArray[np.generic]) -> Extent:
        """sizes: of all classes."""
        smallest, largest = (int(sizes.min()), int(sizes.max())) if len(sizes) else (0, 0)
        return Extent(int(sizes.sum()), len(sizes), smallest, largest)

    @staticmethod
    def sum(parts: Sequence[Extent]) -> Extent:
        some = [part for part in parts if part.classes]
        return Extent(
            sum(part.rows for part in parts),
            sum(part.classes for part in parts),
            min((part.smallest for part in some), default=0),
            max((part.largest for part in some), default=0),
            sum(part.tokens for part in parts),
            sum(part.squares for part in parts),
        )


def add_standing(tables: dict[str, pa.Table], facts: Facts, classes: int, seed: int, coding: Coding) -> None:
    """What standing classes need beside `make_public_tables`: class numbers exchanged, totals added. In place.

    classes: how many are published
    """
    if facts.style == "told":
        for name, table in tables.items():
            tables[name] = scatter_classes(table, classes, seed, coding, by_class=name == "values")
    if facts.standing is not None and facts.standing.totals is not None:
        tables["totals"] = totals_table(facts.standing.totals, coding)


def make_public_tables(facts: Facts, lent: LentColumns | None, order: Int64, coding: Coding) -> dict[str, pa.Table]:
    """What is published of these facts, by the name of the file; its rows in this order."""
    class_name, kept = name_class_column(coding), facts.standing
    classes, values = facts.classes[order], facts.values[order] if kept is None else kept.dealt[order]
    rows, insensitive = (None, None) if lent is None else (lent.rows[order], lent.table)
    if facts.anatomized:
        exact = {
            domain.name: _label_exactly(coding, a, facts.codes[order, a]) for a, domain in enumerate(coding.domains)
        }
        first, second = anatomized_tables(
            exact, classes, coding.value_columns, values, insensitive, rows, class_name=class_name
        )
        return {"quasi_identifiers": first, "values": second}
    labels = {
        domain.name: GroupText(*coding.name_intervals(a, facts.boxes[:, a, 0], facts.boxes[:, a, 1]), classes)
        for a, domain in enumerate(coding.domains)
    }
    if kept is not None and kept.told:
        return _told_tables(kept, labels, insensitive, rows, order, coding)
    sensitive = {name: Text(column, values) for name, column in coding.value_columns.items()}
    table = generalized_table(labels, sensitive, insensitive, rows)
    return {"release": table if kept is not None else table.append_column(class_name, pa.array(classes))}


def _told_tables(
    kept: StandingClasses,
    labels: Mapping[str, Text | GroupText],
    insensitive: pa.Table | None,
    rows: Int64 | None,
    order: Int64,
    coding: Coding,
) -> dict[str, pa.Table]:
    """Rows with the numbers of their classes, still in the order in which these were formed; and their tokens."""
    class_name = name_class_column(coding)
    live, home = np.unique(kept.tokens.standing, return_inverse=True)
    classes = np.searchsorted(live, kept.standing[order]).astype(np.int32)
    first = generalized_table(labels, {}, insensitive, rows).append_column(class_name, pa.array(classes))
    second = values_table(
        home.astype(np.int32), kept.tokens.value, kept.tokens.count.astype(np.int64), coding.value_columns, class_name
    )
    return {"release": first, "values": second}


def scatter_classes(table: pa.Table, count: int, seed: int, coding: Coding, by_class: bool) -> pa.Table:
    """The table with its class numbers, 0 to count - 1, exchanged at random; by_class: sorted by the new ones."""
    place = table.column_names.index(name_class_column(coding))
    classes = permute_ids(table.column(place).to_numpy().astype(np.int64), count, seed).astype(np.int32)
    table = table.set_column(place, table.schema.field(place), pa.array(classes))
    return table.take(pa.array(np.argsort(classes, kind="stable"))) if by_class else table


def totals_table(totals: Int64, coding: Coding) -> pa.Table:
    """How many people present have each value, as `totals` says; values in the order of their codes.

    A value with total 0 is not named: it may be that of people who wait, and so not be out at all.
    """
    named = np.flatnonzero(totals).astype(np.int32)
    return values_table(None, named, totals[named], coding.value_columns)


def write_description(
    directory: Path,
    number: int,
    style: Style,
    extent: Extent,
    coding: Coding,
    strategy: Strategy,
    files: Sequence[str],
) -> None:
    """Write `release.json`: what a recipient needs to read the files. It says nothing of counterfeits or steps."""
    about = describe_release(number, style, extent, coding, strategy, files)
    (directory / README).write_text(json.dumps(about, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def name_class_column(coding: Coding) -> str:
    """The name of the column with the class numbers; another one if the table has a column of that name."""
    return added_name(CLASS, coding.schema.columns)


def describe_column(coding: Coding, name: str) -> dict[str, object]:
    """A quasi-identifier in `release.json`: its type, how to read its labels, and whether these may be `groups`."""
    if name in coding.hierarchies:
        hierarchy, ranges = coding.hierarchies[name], ""
        if coding.shows_ranges(name):
            order = hierarchy.order or "this order: " + ", ".join(hierarchy.leaves)
            ranges = f"; first{RANGE}last is all values from the first to the last, both included, in {order}"
        reading = f"a value, or a group of its hierarchy; {hierarchy.labels[0]} is anything{ranges}"
        groups = bool(ranges) or len(hierarchy.labels) > len(hierarchy.leaves) + 1
        kind: dict[str, object] = {"type": "hierarchy", "groups": groups}
    else:
        number = coding.numeric(name).kind or "float"
        words = {"int": "a whole number", "float": "a number", "date": "a date"}[number]
        reading, kind = f"{words}, or a range with both ends included (20-29, or -5 to 3)", {"type": number}
    return {"name": name, "role": "quasi-identifier", **kind, "reading": reading}


def _label_exactly(coding: Coding, attribute: int, codes: Int32) -> Text:
    distinct, index = np.unique(codes, return_inverse=True)
    return Text(coding.labels(attribute, distinct, distinct), index.astype(np.int32))


def describe_release(
    number: int, style: Style, extent: Extent, coding: Coding, strategy: Strategy, files: Sequence[str]
) -> dict[str, object]:
    """The content of `release.json`."""
    schema, class_name = coding.schema, name_class_column(coding)
    notes = strategy.reading_notes() if style in ("told", "flat") else ()
    columns = [
        *(describe_column(coding, d.name) for d in coding.domains),
        *({"name": name, "role": "sensitive", **_SENSITIVE.get(style, {})} for name in schema.sensitive),
        *({"name": name, "role": "insensitive"} for name in schema.insensitive),
        *([] if style == "flat" else [{"name": class_name, "role": "class", "reading": _CLASS.get(style, ALIKE)}]),
    ]
    return {
        "format": FORMAT,
        "number": number,
        "style": style,
        "strategy": strategy.name,
        "parameters": select_parameters(strategy),
        "counts": {
            "rows": extent.rows,
            "classes": extent.classes,
            "smallest_class": extent.smallest,
            "largest_class": extent.largest,
            **_count_tokens(extent),
        },
        "columns": columns,
        **({"notes": list(notes)} if notes else {}),
        "files": sorted(files),
    }


def _count_tokens(extent: Extent) -> dict[str, int]:
    """What a reader needs to say how certain a count is: values of the standing classes, and how many share one."""
    if not extent.tokens:
        return {}
    return {"tokens": extent.tokens, "typical_standing_class": round(extent.squares / extent.tokens)}


ALIKE = "rows with the same number are indistinguishable; numbers mean nothing across releases"
_CLASS = {
    "told": "rows with the same number share the values that the table 'values' gives for it, without saying which row "
    "has which; numbers mean nothing across releases"
}
_SENSITIVE = {
    "flat": {"reading": "a value dealt to the row from its group; right for counts, wrong about single rows by design"},
    "told": {"reading": "in the table 'values': how often each value occurs in each class"},
}


def select_parameters(strategy: Strategy) -> dict[str, object]:
    """The settings a recipient may know: numbers and choices, not files or people."""
    return {
        key: value
        for key, value in write_policy(strategy).items()
        if key not in ("strategy", *strategy.private_settings) and isinstance(value, str | int | float | bool)
    }


def read_description(directory: Path) -> Mapping[str, object]:
    """`release.json` of a release."""
    try:
        about = json.loads((directory / README).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ReleaseError(f"{directory / README} cannot be read: {error}") from error
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise ReleaseError(f"{directory / README} is not a {FORMAT} description.")
    return about
