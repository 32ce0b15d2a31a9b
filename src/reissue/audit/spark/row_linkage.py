"""The insensitive columns of public releases, compared by workers of Spark: the driver gets one number a comparison.

Every worker counts the values, and the combinations of values, in some rows of a public file. Spark adds up what
belongs to the same value, keeps those that are rare in both releases, and adds up their rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from reissue.arrays.types import Int64
from reissue.audit.row_linkage import Comparison, public_table
from reissue.engine.read import chosen, files_of, open_csv, reading_parquet, refuse_twins
from reissue.engine.text import Text, encode, first_places, is_plain, text_of
from reissue.errors import SnapshotError

if TYPE_CHECKING:
    from reissue.engine.spark.verbs import Spark

PIECE = 1 << 16
"""Rows that a worker counts at a time: few enough that their text fits into one Arrow array."""

SHARE = pa.schema(
    [("comparison", pa.int32()), ("key", pa.list_(pa.string())), ("left", pa.int64()), ("right", pa.int64())]
)
"""Of a value or combination, by number of the comparison: some rows of the earlier and of the later release that have
it; all rows of one key are to be added up."""


@dataclass(frozen=True)
class PublicPart:
    """One public file of the release at this position."""

    position: int
    path: Path


@dataclass(frozen=True, eq=False)
class Contents:
    """What a file has of the wanted columns.

    plain: whether all its floats are whole, and all its moments midnight; see `engine.text.as_text`
    """

    columns: pa.Schema
    rows: int
    plain: Mapping[str, bool]


@dataclass(frozen=True)
class Asked:
    """Columns whose values are to be counted; comparisons: by number, with whether this release is the earlier one."""

    columns: tuple[str, ...]
    comparisons: tuple[tuple[int, bool], ...]


class SparkColumns:
    """The insensitive columns of a series, read by workers alone: `traceable.Columns`."""

    def __init__(self, spark: Spark, folders: Sequence[Path], wanted: Sequence[str]) -> None:
        """`folders`: of the releases, in order; `wanted`: the insensitive columns of the schema."""
        self._spark, self._folders, self._wanted = spark, folders, tuple(wanted)

    @property
    def names(self) -> list[list[str]]:
        return [list(parts[0].columns.names) if parts else [] for parts in self._contents]

    @property
    def rows(self) -> list[int]:
        return [sum(part.rows for part in parts) for parts in self._contents]

    def linked(self, comparisons: Sequence[Comparison], k: int) -> list[int]:
        asked: list[list[Asked]] = [[] for _ in self._folders]
        for position, own in enumerate(asked):
            sides: dict[tuple[str, ...], list[tuple[int, bool]]] = {}
            for number, (earlier, columns) in enumerate(comparisons):
                if position - earlier in (0, 1):
                    sides.setdefault(columns, []).append((number, position == earlier))
            own += [Asked(columns, tuple(numbers)) for columns, numbers in sides.items()]
        frame = self._spark.rows_from_tasks(self._parts, partial(_shares, asked, self._plain), SHARE)
        values = frame.groupBy("comparison", "key").sum("left", "right").toDF("comparison", "key", "left", "right")
        rare = values.where(f"left > 0 AND left < {k} AND right > 0 AND right < {k}")
        linked = rare.groupBy("comparison").sum("left").toDF("comparison", "left")
        told = self._spark.collect(linked, "rows linked by insensitive columns")
        found = dict(zip(told.column("comparison").to_pylist(), told.column("left").to_pylist(), strict=True))
        return [int(found.get(number, 0)) for number in range(len(comparisons))]

    @cached_property
    def _parts(self) -> list[PublicPart]:
        """Every file; the driver only looks for their names."""
        found = []
        for position, folder in enumerate(self._folders if self._wanted else ()):
            table = public_table(folder.absolute())
            files = [] if table is None else files_of(table) if table.is_dir() else [table]
            found += [PublicPart(position, file) for file in files]
        return found

    @cached_property
    def _contents(self) -> list[list[Contents]]:
        """For each release, of each of its files."""
        found: list[list[Contents]] = [[] for _ in self._folders]
        for part, one in zip(self._parts, self._spark.each(self._parts, partial(_contents, self._wanted)), strict=True):
            others = found[part.position]
            if others and one.columns != others[0].columns:
                raise SnapshotError(
                    f"{part.path} has other columns than the files beside it. Restore the folder of the release."
                )
            others.append(one)
        return found

    @cached_property
    def _plain(self) -> list[dict[str, bool]]:
        """For each release how its columns are written: as short as all of its files can be."""
        return [
            {name: all(part.plain[name] for part in parts) for name in names}
            for parts, names in zip(self._contents, self.names, strict=True)
        ]


# -- on the workers


def _contents(wanted: Sequence[str], part: PublicPart) -> Contents:
    """Of Parquet only columns are read whose values can be written in two ways."""
    if (opened := open_csv(part.path, wanted)) is not None:
        refuse_twins(str(part.path), opened.header, wanted)
        names = chosen(opened.header, wanted)
        rows = sum(batch.num_rows for batch in opened.batches(names)) if names else 0
        return Contents(pa.schema([pa.field(name, pa.string()) for name in names]), rows, dict.fromkeys(names, False))
    with reading_parquet(part.path), pyarrow.parquet.ParquetFile(part.path) as file:
        refuse_twins(str(part.path), file.schema_arrow.names, wanted)
        schema = pa.schema([file.schema_arrow.field(name) for name in chosen(file.schema_arrow.names, wanted)])
        rows = file.metadata.num_rows
    either = [field.name for field in schema if _either_way(field.type)]
    plain = {field.name: field.name in either for field in schema}
    for piece in _pieces(part.path, either) if either else ():
        plain |= {name: plain[name] and is_plain(encode(piece.column(name)).dictionary) for name in either}
    return Contents(schema.remove_metadata(), rows, plain)


def _either_way(kind: pa.DataType) -> bool:
    value = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_floating(value) or pa.types.is_timestamp(value))


def _pieces(path: Path, names: Sequence[str]) -> Iterator[pa.Table]:
    """These columns of a public file, some rows at a time."""
    if (opened := open_csv(path, names)) is not None:
        yield from (pa.Table.from_batches([batch]) for batch in opened.batches(names))
        return
    with reading_parquet(path), pyarrow.parquet.ParquetFile(path) as file:
        for batch in file.iter_batches(PIECE, columns=list(names)):
            yield pa.Table.from_batches([batch])


def _shares(
    asked: Sequence[Sequence[Asked]], plain: Sequence[Mapping[str, bool]], part: PublicPart
) -> Iterator[pa.Table]:
    """The values of one file as SHARE says."""
    wanted, forms = asked[part.position], plain[part.position]
    names = list(dict.fromkeys(name for one in wanted for name in one.columns))
    for piece in _pieces(part.path, names) if names else ():
        yield from counted({name: text_of(piece.column(name), forms[name]) for name in names}, wanted)


def counted(texts: Mapping[str, Text], asked: Sequence[Asked]) -> Iterator[pa.Table]:
    """What is asked of these rows, as SHARE says; of texts without labels that repeat. O(rows log rows) each."""
    for one in asked:
        key, rows = _combinations([texts[name] for name in one.columns])
        nothing = np.zeros_like(rows)
        for number, earlier in one.comparisons:
            sides = (rows, nothing) if earlier else (nothing, rows)
            comparison = np.full(len(rows), number, dtype=np.int32)
            yield pa.table([pa.array(comparison), key, *map(pa.array, sides)], schema=SHARE)


def _combinations(texts: Sequence[Text]) -> tuple[pa.ListArray, Int64]:
    """(the different combinations of labels, int64[combinations] how many rows have each).

    A row without a label is not counted where there is one column, and has null there where there are several.
    """
    if len(texts) == 1:
        used = np.flatnonzero(texts[0].counts)
        return _listed([pa.array(texts[0].labels, pa.string()).take(pa.array(used))]), texts[0].counts[used]
    key = np.zeros(len(texts[0]), dtype=np.int64)
    for text in texts:  # at most rows * (labels + 1): far below 2**63
        key = np.unique(key * (len(text.labels) + 1) + text.index + 1, return_inverse=True)[1].reshape(-1)
    first = first_places(key.astype(np.int32), int(key.max(initial=-1)) + 1)
    columns = []
    for text in texts:
        index = text.index[first]
        columns.append(pa.array(text.labels, pa.string()).take(pa.array(index, mask=index < 0)))
    return _listed(columns), np.bincount(key).astype(np.int64)


def _listed(columns: Sequence[pa.Array]) -> pa.ListArray:
    """For each row the list of its values in these columns."""
    rows, width = len(columns[0]), len(columns)
    places = np.arange(rows)[:, None] + rows * np.arange(width)
    values = pa.concat_arrays(columns).take(pa.array(places.reshape(-1)))
    return pa.ListArray.from_arrays(pa.array(np.arange(rows + 1, dtype=np.int32) * np.int32(width)), values)
