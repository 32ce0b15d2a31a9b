"""Cells as other tools write them, before their labels are read: aliases, missing values, counted rows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from reissue.arrays.types import Int32, Int64
from reissue.coding import MISSING
from reissue.engine.text import Text
from reissue.errors import ReleaseError
from reissue.hierarchy import ROOT
from reissue.schema import Categorical, Schema

if TYPE_CHECKING:
    from reissue.audit.foreign.reading import Published

EMPTY = re.compile(r"NA|<NA>|N/A|#N/A|NaN|nan|None|NULL|null|\.[a-z]?")
"""What R, pandas, SQL and Stata (`.`, `.a` to `.z`) write where nothing is."""

SHOWN = 3


def relabel(text: Text, change: Mapping[str, str | None]) -> Text:
    """The column with some labels replaced, or emptied (None); labels that become equal are one."""
    labels = [change.get(str(label).strip(), str(label)) for label in text.labels]
    distinct = list(dict.fromkeys(label for label in labels if label is not None))
    place = {label: number for number, label in enumerate(distinct)}
    new = np.array([*(-1 if label is None else place[label] for label in labels), -1], dtype=np.int32)
    return Text(distinct, new[text.index])


def read_cells(text: Text, name: str, schema: Schema, notes: list[str]) -> Text:
    """A quasi-identifier with aliases put right and empty cells filled: `(missing)` where that is a value, else `*`."""
    written = [str(label).strip() for label in text.labels]
    aliases = {label: meant for label in written if (meant := schema.spelling.meaning(name, label)) is not None}
    attribute = schema.quasi_identifiers[name]
    known = set(attribute.hierarchy.all_labels) if isinstance(attribute, Categorical) else set()
    declared = set(schema.spelling.missing_of(name))
    empty = [
        label
        for label in written
        if label in declared or (EMPTY.fullmatch(label) and label not in known and label not in aliases)
    ]
    if aliases or empty:
        text = relabel(text, {**aliases, **dict.fromkeys(empty)})
    if text.nulls == 0:
        return text
    stands = MISSING if schema.takes_missing(name) else ROOT
    if stands == ROOT:
        how = f" ({', '.join(sorted(set(empty))[:SHOWN])} among them)" if empty else ""
        notes.append(f"{text.nulls:,} empty cells in '{name}'{how} were read as *.")
    return fill_with(text, stands)


def fill_with(text: Text, label: str) -> Text:
    """The column with a label in its empty cells."""
    labels = [str(one) for one in text.labels]
    place = labels.index(label) if label in labels else len(labels)
    index = np.where(text.index < 0, np.int32(place), text.index).astype(np.int32)
    return Text(labels if place < len(labels) else [*labels, label], index)


def is_masked(text: Text) -> bool:
    """Whether a column says nothing: `*` or empty throughout, as tools leave an identifier that they suppressed."""
    used = [str(text.labels[place]).strip() for place in np.flatnonzero(text.counts).tolist()]
    return all(not label.strip("*") or EMPTY.fullmatch(label) for label in used)


def read_whole_numbers(text: Text) -> Int64 | None:
    """int64[rows] if every label is a whole number of reasonable size."""
    if text.nulls or not all(re.fullmatch(r"\s*[+-]?[0-9]{1,18}\s*", str(label)) for label in text.labels):
        return None
    numbers = np.array([int(str(label)) for label in text.labels], dtype=np.int64)
    return numbers[text.index] if len(numbers) else None


def expand_counts(published: Published, count: Text | None, name: str) -> Published:
    """A release whose rows stand for several people each (as anonypy writes it): every row as often as it counts.

    Only where no two rows are alike, so that they are plainly counted; a column of another meaning is left alone.
    """
    numbers = None if count is None else read_whole_numbers(count)
    columns = [*published.labels.values(), *published.sensitive.values()]
    if numbers is None or (numbers < 1).any() or (numbers > 1).sum() == 0 or _count_kinds(columns) < published.rows:
        return published
    if int(numbers.sum()) > 50_000_000:
        raise ReleaseError(f"{published.name}: '{name}' adds up to {int(numbers.sum()):,} people. Correct the counts.")
    rows = np.repeat(np.arange(published.rows), numbers)

    def spread(table: Mapping[str, Text]) -> dict[str, Text]:
        return {column: Text(text.labels, text.index[rows]) for column, text in table.items()}

    note = f"{published.name}: '{name}' says for how many people a row stands; {len(rows):,} rows were made of it."
    return replace(
        published,
        rows=len(rows),
        labels=spread(published.labels),
        sensitive=spread(published.sensitive),
        insensitive=spread(published.insensitive),
        classes=None if published.classes is None else published.classes[rows],
        notes=(*published.notes, note),
        counted=True,
    )


def _count_kinds(columns: Sequence[Text]) -> int:
    key: Int32 | Int64 = np.zeros(len(columns[0]), dtype=np.int64)
    for text in columns:
        key = np.unique(key * (len(text.labels) + 1) + text.index + 1, return_inverse=True)[1].reshape(-1)
    return int(key.max(initial=-1)) + 1
