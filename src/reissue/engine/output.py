"""The files of a release.

Nothing goes into a file but what the published rows say: no label that only a suppressed row or another release has,
no order of first appearance, no metadata of the source.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
from numpy.typing import NDArray

from reissue.arrays.sets import sorted_unique
from reissue.arrays.types import Int32, Int64
from reissue.engine.text import GroupText, Text, count_occurrences

Format = Literal["parquet", "csv"]
_CSV_ROWS = 1 << 18  # written at a time

CLASS, COUNT = "class", "count"
"""What the columns that Reissue adds to a release are called, where the table has no column of that name."""


def added_name(name: str, taken: Collection[str]) -> str:
    """What an added column is called beside columns of these names."""
    names = itertools.chain((name, f"release_{name}"), (f"reissue_{name}{'_' * i}" for i in itertools.count()))
    return next(other for other in names if other not in taken)


def generalized_table(
    quasi_identifiers: Mapping[str, Text | GroupText],
    sensitive: Mapping[str, Text],
    insensitive: pa.Table | None = None,
    rows: Int64 | None = None,
) -> pa.Table:
    """One row per published row: labels of its class, its sensitive value, its insensitive columns.

    quasi_identifiers: GroupText(labels, label by class, class of each published row), or by row
    sensitive:         Text(label by value code, value of each published row)
    rows: int64[published], the row of `insensitive` that each one comes from; -1 (a counterfeit) leaves them null.
    """
    columns = _publish_texts({**quasi_identifiers, **sensitive})
    if insensitive is not None and rows is not None:
        columns |= _take_rows(insensitive, rows)
    return pa.table(columns)


def anatomized_tables(
    quasi_identifiers: Mapping[str, Text],
    classes: Int32,
    sensitive: Mapping[str, Sequence[str]],
    values: Int32,
    insensitive: pa.Table | None = None,
    rows: Int64 | None = None,
    *,
    class_name: str = CLASS,
) -> tuple[pa.Table, pa.Table]:
    """(quasi-identifiers, values): the exact rows with their class, and how often each class holds each value.

    quasi_identifiers: Text(label by code, code of each row); classes: int32[published]; values: int32[published]
    sensitive: per column the label by value code. The second table is sorted by class, then by value code, so that
    it does not tell the order of rows.
    """
    first: dict[str, pa.Array] = _publish_texts(quasi_identifiers)
    first[class_name] = pa.array(classes)
    if insensitive is not None and rows is not None:
        first |= _take_rows(insensitive, rows)
    width = int(values.max(initial=0)) + 1
    group, count = np.unique(classes.astype(np.int64) * width + values, return_counts=True)
    second = values_table(
        (group // width).astype(np.int32), (group % width).astype(np.int32), count, sensitive, class_name
    )
    return pa.table(first), second


def values_table(
    classes: Int32 | None, values: Int32, counts: Int64, sensitive: Mapping[str, Sequence[str]], class_name: str = CLASS
) -> pa.Table:
    """How often each value occurs, in each class or (None) in all: rows as they are given."""
    table: dict[str, pa.Array] = {} if classes is None else {class_name: pa.array(classes)}
    table |= _publish_texts({name: Text(labels, values) for name, labels in sensitive.items()})
    table[added_name(COUNT, sensitive)] = pa.array(counts.astype(np.int64))
    return pa.table(table)


def write_release(directory: Path, tables: Mapping[str, pa.Table], formats: Collection[Format]) -> list[Path]:
    """Write each table as `<name>.parquet` and/or `<name>.csv`; rows as they are. Returns the files written."""
    paths = []
    for name, table in tables.items():
        for format in sorted(formats):
            paths.append(directory / f"{name}.{format}")
            write_table(table, paths[-1], format)
    return paths


def write_table(table: pa.Table, path: Path, format: Format) -> None:
    """Write one file. The bytes depend on the table's values and the libraries' versions, on nothing else."""
    if format == "parquet":
        # Without the Arrow schema readers get plain text, not dictionaries, and no metadata of the source leaks.
        # Nobody looks for ranges of labels, so no statistics of them: they cost a third of the writing.
        others = [field.name for field in table.schema if not pa.types.is_dictionary(field.type)]
        pyarrow.parquet.write_table(
            table.replace_schema_metadata(None),
            path,
            compression="zstd",
            compression_level=1,
            write_statistics=others or False,
            store_schema=False,
        )
    elif table.num_columns:
        _write_csv(table, path)
    else:
        raise ValueError("a table without columns cannot be written as CSV")


def _write_csv(table: pa.Table, path: Path) -> None:
    """Comma, quotes only where they are needed, a line feed after every row. O(bytes), some rows at a time."""
    columns = [_quote_column(column.combine_chunks(), table.num_columns == 1) for column in table.columns]
    with path.open("wb") as file:
        file.write((",".join(_quote(pa.array(table.column_names, pa.large_string())).to_pylist()) + "\n").encode())
        for start in range(0, table.num_rows, _CSV_ROWS):
            cells = [_spread(column.slice(start, _CSV_ROWS)) for column in columns]
            cells.append(_join(cells.pop(), "", "\n", nulls="replace"))
            rows = _join(*cells, ",", nulls="replace")
            end = np.frombuffer(rows.buffers()[1], dtype=np.int64)[len(rows)]
            file.write(memoryview(rows.buffers()[2])[:end])  # the texts of an array follow each other in memory


def _quote_column(column: pa.Array, alone: bool) -> pa.Array:
    """A column as CSV writes it; of a dictionary its labels, of which there are few."""
    if pa.types.is_dictionary(column.type):
        labels = _quote_column(column.dictionary, alone)
        column = pa.DictionaryArray.from_arrays(column.indices, labels)
    else:
        text = column.cast(pa.large_string())
        if pa.types.is_floating(column.type):  # 1.0 stays a decimal number
            whole = pc.match_substring_regex(text, "^-?[0-9]+$")
            text = pc.if_else(whole, _join(text, "0", "."), text)
        column = _quote(text, always=alone)
    # A null alone on its line would be an empty line, which readers skip.
    return _spread(column).fill_null('""') if alone else column


def _quote(text: pa.Array, always: bool = False) -> pa.Array:
    inner = pc.replace_substring(text, '"', '""')
    quoted = _join("", inner, "", '"')
    return quoted if always else pc.if_else(pc.match_substring_regex(text, '[,"\r\n]|^$'), quoted, text)


def _join(*parts: pa.Array | str, nulls: str = "emit_null") -> pa.Array:
    """Texts put together row by row; the last part stands between the others."""
    parts = tuple(pa.scalar(part, pa.large_string()) if isinstance(part, str) else part for part in parts)
    return pc.binary_join_element_wise(*parts, null_handling=nulls)


def _spread(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _publish_texts(columns: Mapping[str, Text | GroupText]) -> dict[str, pa.Array]:
    """The columns as they are published; what many have in common, the rows' classes, is counted once."""
    counted: dict[tuple[int, int], Int64] = {}
    published = {}
    for name, text in columns.items():
        if isinstance(text, Text):
            published[name] = _publish_text(text.labels, text.index, np.flatnonzero(text.counts))
            continue
        same = id(text.group), len(text.label)
        if same not in counted:
            counted[same] = np.flatnonzero(count_occurrences(text.group, len(text.label)))
        used = sorted_unique(text.label[counted[same]]).astype(np.int64)
        published[name] = _publish_text(text.labels, text.group, used, text.label)
    return published


def _publish_text(
    labels: Sequence[str] | NDArray[np.object_], index: Int32, used: Int64, label: Int32 | None = None
) -> pa.DictionaryArray:
    """The rows' labels over a sorted dictionary of just the labels that occur: Parquet writes dictionaries whole.

    used: int64[], the labels that occur; label: int32[groups], where `index` has each row's group, not its label
    """
    occurring = pa.array(labels, pa.string()).take(pa.array(used)).dictionary_encode()
    rank = pc.rank(occurring.dictionary)  # from 1, distinct
    size = np.min_scalar_type(-len(rank) - 1)  # few labels need a quarter of the memory
    place = np.full(len(labels) + 1, -1, dtype=size)
    place[used] = (np.asarray(rank).astype(size) - 1)[np.asarray(occurring.indices)]
    found = (place if label is None else place[label])[index]
    return pa.DictionaryArray.from_arrays(
        pa.array(found, mask=found < 0 if found.min(initial=0) < 0 else None),
        pc.take(occurring.dictionary, pc.sort_indices(occurring.dictionary)),
    )


def widen_labels(table: pa.Table) -> pa.Table:
    """The same rows, whose dictionaries have room for the labels of other tables with which they are to be joined."""
    columns = {}
    for field, column in zip(table.schema, table.columns, strict=True):
        wide = pa.types.is_dictionary(field.type) and pa.dictionary(pa.int32(), field.type.value_type)
        columns[field.name] = column.cast(wide) if wide else column
    return pa.table(columns)


def sort_labels(table: pa.Table) -> pa.Table:
    """Rows of several tables: dictionaries hold the labels that occur, sorted, and nothing of who came first."""
    table, columns = table.unify_dictionaries().combine_chunks(), {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        columns[name] = column
        if pa.types.is_dictionary(column.type):
            codes = column.combine_chunks()
            index = np.asarray(codes.indices.cast(pa.int32()).fill_null(-1))
            text = Text(codes.dictionary.to_pylist(), index)
            columns[name] = _publish_text(text.labels, index, np.flatnonzero(text.counts))
    return pa.table(columns)


def _take_rows(table: pa.Table, rows: Int64) -> dict[str, pa.ChunkedArray]:
    """The rows asked for, null for -1; dictionaries become plain values, so that none names an absent row's value."""
    places = pa.array(rows, mask=rows < 0)
    taken = {}
    for field, column in zip(table.schema, table.columns, strict=True):
        if pa.types.is_dictionary(field.type):
            column = column.cast(field.type.value_type)
        taken[field.name] = column.take(places)
    return taken
