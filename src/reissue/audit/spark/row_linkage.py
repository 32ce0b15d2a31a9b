"""The insensitive columns of public releases, compared by workers of Spark: the driver gets one number a comparison.

Every worker counts the values, and the combinations of values, in one public file. Spark adds up what belongs to the
same value, keeps those that are rare in both releases, and adds up their rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from reissue.audit.row_linkage import SHARE, ColumnComparison, LinkedRows, count_shares, find_public_table
from reissue.engine.read import files_of, find
from reissue.engine.text import encode, is_plain, text_of
from reissue.errors import SnapshotError

if TYPE_CHECKING:
    from reissue.engine.spark.verbs import Spark


@dataclass(frozen=True)
class PublicPart:
    """One public file of the release at this position."""

    position: int
    path: Path


@dataclass(frozen=True, eq=False)
class PartContents:
    """What a file has of the wanted columns.

    plain: whether all its floats are whole, and all its moments midnight; see `engine.text.as_text`
    """

    columns: pa.Schema
    rows: int
    plain: Mapping[str, bool]


class SparkColumns:
    """The insensitive columns of a series, read by workers alone: `row_linkage.Columns`."""

    def __init__(self, spark: Spark, folders: Sequence[Path], wanted: Sequence[str]) -> None:
        """`folders`: of the releases, in order; `wanted`: the insensitive columns of the schema."""
        self._spark, self._folders, self._wanted = spark, folders, tuple(wanted)

    @property
    def names(self) -> list[list[str]]:
        return [list(parts[0].columns.names) if parts else [] for parts in self._contents]

    @property
    def rows(self) -> list[int]:
        return [sum(part.rows for part in parts) for parts in self._contents]

    def linked(self, comparisons: Sequence[ColumnComparison], k: int) -> list[LinkedRows]:
        from reissue.engine.spark.gathering import combine, select_where

        shares = self._spark.rows_from_tasks(self._parts, partial(_tell_shares, comparisons, self._plain), SHARE)
        values = combine(shares, ["comparison", "key"], {"left": "sum", "right": "sum"})
        both = f"left > 0 AND left < {k} AND right > 0 AND right < {k}"
        counts = []
        for rare in (select_where(values, both), select_where(values, "left = 1")):
            sums = combine(rare, ["comparison"], {"left": "sum"})
            told = self._spark.collect(sums, "rows linked by insensitive columns")
            found = dict(zip(told.column("comparison").to_pylist(), told.column("left").to_pylist(), strict=True))
            counts.append([int(found.get(number, 0)) for number in range(len(comparisons))])
        return [LinkedRows(*pair) for pair in zip(*counts, strict=True)]

    @cached_property
    def _parts(self) -> list[PublicPart]:
        """Every file; the driver only looks for their names."""
        found = []
        for position, folder in enumerate(self._folders if self._wanted else ()):
            table = find_public_table(folder.absolute())
            files = [] if table is None else files_of(table) if table.is_dir() else [table]
            found += [PublicPart(position, file) for file in files]
        return found

    @cached_property
    def _contents(self) -> list[list[PartContents]]:
        """For each release, of each of its files."""
        found: list[list[PartContents]] = [[] for _ in self._folders]
        told = self._spark.each(self._parts, partial(_describe_part, self._wanted))
        for part, one in zip(self._parts, told, strict=True):
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


def _describe_part(wanted: Sequence[str], part: PublicPart) -> PartContents:
    table = find(part.path, wanted).table
    plain = {name: is_plain(encode(table.column(name)).dictionary) for name in table.column_names}
    return PartContents(table.schema.remove_metadata(), table.num_rows, plain)


def _tell_shares(
    comparisons: Sequence[ColumnComparison], plain: Sequence[Mapping[str, bool]], part: PublicPart
) -> Iterator[pa.Table]:
    """The values of one file as SHARE says."""
    forms = plain[part.position]
    table = find(part.path, list(forms)).table
    texts = {name: text_of(table.column(name), form) for name, form in forms.items()}
    return count_shares(part.position, texts, comparisons)
