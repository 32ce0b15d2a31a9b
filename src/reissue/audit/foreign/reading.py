"""Reading releases made by any tool: a CSV or Parquet file, a data frame, or one of our own release folders."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from reissue.arrays.sets import sorted_unique
from reissue.arrays.types import Bool, Int32, Int64
from reissue.audit.foreign.labels import LONGEST, quote
from reissue.coding import MISSING
from reissue.engine.output import CLASS, COUNT, added_name
from reissue.engine.read import find, missing_column, refuse_addresses
from reissue.engine.text import Text, text_of
from reissue.errors import ReleaseError, SnapshotError
from reissue.hierarchy import ROOT
from reissue.history.public_files import README, read_description
from reissue.methods.registry import ADOPTED
from reissue.schema import Categorical, Schema

if TYPE_CHECKING:
    from reissue.engine.read import Source


@dataclass(frozen=True, eq=False)
class Published:
    """A release as its files say it, before its labels are understood. Suppressed rows are among its rows.

    labels, sensitive, insensitive: by column; no label is null (`*` or `(missing)` stand for it)
    classes: int32[rows] numbers of a class column of ours; None if there is none
    counts:  of an anatomized release, (class, sensitive columns, rows) of its second table
    counted: its file has one row for several people, so that rows have no order
    """

    name: str
    rows: int
    labels: Mapping[str, Text]
    sensitive: Mapping[str, Text]
    insensitive: Mapping[str, Text]
    classes: Int32 | None = None
    ours: bool = False
    counts: tuple[Int32, Mapping[str, Text], Int64] | None = None
    notes: tuple[str, ...] = ()
    about: Mapping[str, object] = field(default_factory=dict)
    counted: bool = False

    @property
    def suppressed(self) -> Bool:
        """bool[rows]: `*` in every quasi-identifier. Our own files have no such rows: there it is a class."""
        hidden = np.full(self.rows, not self.ours and bool(self.labels))
        for text in self.labels.values():
            star = np.array([str(label).strip() == ROOT for label in text.labels], dtype=np.bool_)
            hidden &= star[text.index] if len(star) else False
        return hidden


_OWN_FILES = ("release", "quasi_identifiers", "values")
"""What the tables of our own releases are called."""


def read_published(source: Source, schema: Schema, number: int) -> Published:
    """Release `number` of an audit; every way it can be wrong is a ReleaseError that says where."""
    try:
        if isinstance(source, str | PathLike) and not str(source).startswith("postgres"):
            refuse_addresses(str(source))
            path = Path(source)
            return _read_folder(path, schema) if path.is_dir() else _read_file(path, schema)
        return _read_table(source, schema, f"release {number}")
    except SnapshotError as error:
        raise ReleaseError(f"Release {number}: {error}") from error
    except (pa.ArrowException, OSError, ValueError, UnicodeError) as error:
        raise ReleaseError(f"Release {number} cannot be read: {quote(str(error))}.") from error


def _read_file(path: Path, schema: Schema) -> Published:
    """A file by itself; one of our own releases, beside its description, as that says."""
    try:
        about = read_description(path.parent) if path.stem in _OWN_FILES else None
    except ReleaseError:  # there is none, or it is somebody else's
        about = None
    if about is not None and about.get("style") in ("anatomized", "told"):
        return _read_folder(path.parent, schema)
    return _read_table(path, schema, path.name, about)


def _read_folder(path: Path, schema: Schema) -> Published:
    if not (path / README).exists():
        raise ReleaseError(f"{path} is a folder without {README}. Name the CSV or Parquet file of the release.")
    about = read_description(path)
    style = about.get("style")
    if style not in ("anatomized", "told"):
        return _read_table(find_file(path, "release"), schema, path.name, about)
    rows = "release" if style == "told" else "quasi_identifiers"
    first = _read_table(find_file(path, rows), schema, path.name, about, values=False)
    second = _read_table(find_file(path, "values"), schema, path.name, about, identifiers=False)
    if first.classes is None or second.classes is None:
        raise ReleaseError(f"{path}: both tables of an anatomized release need the column of class numbers.")
    named = added_name(COUNT, schema.sensitive)
    count = read_whole_numbers(second.insensitive[named]) if named in second.insensitive else None
    if count is None or (count < 1).any():
        raise ReleaseError(f"{path}: the table of values needs a column '{named}' of whole numbers from 1 on.")
    if style != "told" and int(count.sum()) != first.rows:
        raise ReleaseError(f"{path}: the values count {int(count.sum()):,} rows, the other table has {first.rows:,}.")
    table = (second.classes, second.sensitive, count.astype(np.int64))
    return Published(
        first.name, first.rows, first.labels, {}, first.insensitive, first.classes, True, table, first.notes, about
    )


def find_file(path: Path, name: str) -> Path:
    """A table of a release folder, in whichever format there is."""
    for suffix in (".parquet", ".csv"):
        if (path / f"{name}{suffix}").exists():
            return path / f"{name}{suffix}"
    raise ReleaseError(f"{path} has neither {name}.parquet nor {name}.csv.")


def _read_table(
    source: Source,
    schema: Schema,
    name: str,
    about: Mapping[str, object] | None = None,
    *,
    identifiers: bool = True,
    values: bool = True,
) -> Published:
    """One table with the columns of the schema that a release may have; other columns are left alone."""
    needed = [*(schema.quasi_identifiers if identifiers else ()), *(schema.sensitive if values else ())]
    others = [*schema.insensitive] if identifiers else [added_name(COUNT, schema.sensitive)]
    flat = about is not None and about.get("style") == "flat"
    ours = about is not None and about.get("strategy") != ADOPTED
    class_name = added_name(CLASS, schema.columns)
    counter = added_name(COUNT, schema.columns)
    wanted = (*needed, *others, schema.identifier, class_name, *(() if ours else (counter,)))
    found = find(source, list(dict.fromkeys(wanted)), encoding=schema.spelling.encoding)
    missing = [missing_column(column, found.header) for column in needed if column not in found.header]
    if missing:
        more = f" ({len(missing) - 3} more columns are missing.)" if len(missing) > 3 else ""
        raise ReleaseError(f"{found.name}: {' '.join(missing[:3])}{more}")
    if found.table.num_rows == 0:
        raise ReleaseError(f"{found.name} has no rows. Check the export.")
    columns = {
        column: _read_text(found.name, column, found.table.column(column)) for column in found.table.column_names
    }
    notes: list[str] = []
    labels = {
        column: read_cells(columns[column], column, schema, notes) for column in schema.quasi_identifiers if identifiers
    }
    sensitive = {column: _name_sensitive(columns[column], column, schema) for column in schema.sensitive if values}
    insensitive = {column: columns[column] for column in others if column in columns}
    if schema.identifier in columns and is_masked(columns[schema.identifier]):
        notes.append(f"the column '{schema.identifier}' says nothing (* throughout), and identifies nobody.")
    elif schema.identifier in columns:
        insensitive[schema.identifier] = columns[schema.identifier]
    classes = None if flat else _read_classes(columns.get(class_name), labels, class_name, ours, notes)
    told = tuple(f"{name}: {note}" for note in notes)
    rows = found.table.num_rows
    read = Published(name, rows, labels, sensitive, insensitive, classes, ours, None, told, about or {})
    return read if about is not None else expand_counts(read, columns.get(counter), counter)


def _read_text(source: str, name: str, column: pa.ChunkedArray) -> Text:
    try:
        return text_of(column)
    except (pa.ArrowException, ValueError) as error:
        raise ReleaseError(f"{source}: column '{name}' is of type {column.type}, which is not text.") from error


def _name_sensitive(text: Text, name: str, schema: Schema) -> Text:
    """Sensitive labels: empty is `(missing)`; numbers are put into the schema's bins, unless they already are."""
    missing = dict.fromkeys(schema.spelling.missing_of(name))
    text = relabel(text, missing) if missing else text
    text = fill_with(text, MISSING) if text.nulls else text
    bins = schema.bins.get(name)
    if bins is None:
        return text
    named = []
    for label in text.labels:
        try:
            if "_" in str(label):
                raise ValueError(label)
            named.append(bins.labels(np.array([float(label)]))[0])
        except (ValueError, OverflowError):
            named.append(str(label))
    distinct, place = np.unique(np.array(named, dtype=object).astype(str), return_inverse=True)
    return Text([str(label) for label in distinct], place.astype(np.int32)[text.index])


def _read_classes(
    text: Text | None, labels: Mapping[str, Text], name: str, ours: bool, notes: list[str]
) -> Int32 | None:
    """The class column: numbers, or names of classes; rows of one class have one set of labels. A column of another
    meaning is left alone."""
    numbers = None if text is None else read_whole_numbers(text)
    if ours and (numbers is None or (numbers < 0).any()):
        raise ReleaseError(f"The column '{name}' must hold the class number of every row.")
    if text is None or text.nulls:
        return None
    key = text.index.astype(np.int64) if numbers is None or (numbers < 0).any() else numbers
    _, dense = np.unique(key, return_inverse=True)
    for column in labels.values():
        pairs = sorted_unique(dense.astype(np.int64) * (len(column.labels) + 1) + column.index)
        if len(sorted_unique(pairs // (len(column.labels) + 1))) < len(pairs) and not ours:
            what = "number" if numbers is not None else "name"
            notes.append(f"the column '{name}' is no class {what} (rows of one {what} differ) and was left alone.")
            return None
    return dense.astype(np.int32)


def refuse_long_labels(published: Published) -> None:
    """Refuse cells that cannot be labels before they are looked at one by one."""
    for column, text in published.labels.items():
        for label in text.labels:
            if len(str(label)) > LONGEST:
                raise ReleaseError(
                    f"{published.name}: a cell of '{column}' has {len(str(label)):,} characters ({quote(str(label))}); "
                    "that is no label. Correct the release, or the schema's columns."
                )


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
