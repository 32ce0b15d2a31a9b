"""Insensitive columns that name rows of a release, or by which the same row can be found again in another one.

Whatever is asked is one count: how many rows of a release have a value, or a combination of values, that occurs in few
rows of it and of the next release, or in one row alone. `Columns` gives it, from tables in this process or from
workers' counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from reissue.arrays.types import Int64
from reissue.engine.text import Text

ALONE = 0.05
LEAST = 10
"""A column whose values are alone in more than this share of a release's rows, and in so many, names them."""


@dataclass(frozen=True)
class Traceable:
    """linked_rows: rows of the earlier release whose value occurs in fewer than k rows of both releases.

    Where both releases are the same one: its rows that are alone with their value, whoever has only this release.
    """

    column: str
    releases: tuple[int, int]
    linked_rows: int
    share: float
    sentence: str

    def to_dict(self) -> dict[str, object]:
        return {**asdict(self), "releases": list(self.releases)}


class ColumnComparison(NamedTuple):
    """Columns, taken together, of the release at position `earlier` and of the next one."""

    earlier: int
    columns: tuple[str, ...]


class LinkedRows(NamedTuple):
    """Rows of the earlier release whose value occurs in fewer than k rows of both, and in no other row of its own."""

    linked: int
    alone: int


class Columns(Protocol):
    """The insensitive columns of every release, wherever they are."""

    @property
    def names(self) -> Sequence[Sequence[str]]:
        """Those that each release has."""
        ...

    @property
    def rows(self) -> Sequence[int]:
        """The rows of each release."""
        ...

    def linked(self, comparisons: Sequence[ColumnComparison], k: int) -> Sequence[LinkedRows]:
        """Of each, how many rows of the earlier release can be found by their value.

        A missing value of a single column is no value; in a combination it is one like others.
        """
        ...


def find_traceable(
    columns: Columns, identifier: str, k: int, called: Sequence[tuple[int, str]] | None = None
) -> list[Traceable]:
    """Each column in each release, and all of them together between each release and the next; the most telling first.

    Of a column that names rows by itself, the release is told in which it names most. called: the number of each
    release, and what people call it; by default they are counted
    """
    called = called or [(number, f"release {number}") for number in range(1, len(columns.names) + 1)]
    asked = _list_comparisons(columns.names, identifier)
    found: dict[int, list[Traceable]] = {}
    naming: dict[str, Traceable] = {}
    for one, (linked, alone) in zip(asked, columns.linked(asked, k) if asked else (), strict=True):
        rows = columns.rows[one.earlier]
        known = naming.get(one.columns[0])
        if len(one.columns) == 1 and alone >= LEAST and alone > max(ALONE, known.share if known else 0) * rows:
            naming[one.columns[0]] = _describe_alone(called[one.earlier], one.columns[0], alone, rows)
        some = found.setdefault(one.earlier, [])
        least = max((other.linked_rows for other in some), default=0) if len(one.columns) > 1 else 0
        if linked > least:
            named = one.columns == (identifier,)
            some.append(
                _describe(called[one.earlier : one.earlier + 2], " + ".join(one.columns), linked, rows, k, named)
            )
    every = [one for some in found.values() for one in some]
    every += [one for name, one in naming.items() if name != identifier]
    published = identifier in {name for names in columns.names for name in names}
    if published and not any(one.column == identifier for one in every):
        says = f"The identifier '{identifier}' itself is in a release: every row is named. Never publish it."
        every.append(Traceable(identifier, (called[0][0], called[0][0]), 0, 1.0, says))
    return sorted(every, key=lambda one: -one.share)


def _list_comparisons(names: Sequence[Sequence[str]], identifier: str) -> list[ColumnComparison]:
    """In order of releases; each column before all of them together, who are told of only if they tell more."""
    found = []
    for earlier in range(len(names)):
        found += [ColumnComparison(earlier, (name,)) for name in names[earlier]]
        shared = tuple(name for name in names[earlier] if name in names[earlier + 1]) if names[earlier + 1 :] else ()
        if len(shared) > 1 and identifier not in shared:
            found.append(ColumnComparison(earlier, shared))
    return found


def _describe(called: Sequence[tuple[int, str]], name: str, linked: int, rows: int, k: int, named: bool) -> Traceable:
    (one, earlier), (other, later) = called
    what = f"The identifier '{name}' itself is published and" if named else f"The insensitive column '{name}'"
    few = "one row each" if k <= 2 else f"fewer than {k} rows each"
    sentence = (
        f"{what} links {linked:,} of the {rows:,} rows of {earlier} to {few} of {later}: whoever "
        "follows it undoes the generalization. Leave it out or make it coarser."
    )
    return Traceable(name, (one, other), linked, linked / max(rows, 1), sentence)


def _describe_alone(called: tuple[int, str], name: str, alone: int, rows: int) -> Traceable:
    number, release = called
    sentence = (
        f"The insensitive column '{name}' has a value of its own in {alone:,} of the {rows:,} rows of {release}: "
        f"whoever knows somebody's value finds the row. Leave it out or make it coarser."
    )
    return Traceable(name, (number, number), alone, alone / max(rows, 1), sentence)


def find_public_table(folder: Path) -> Path | None:
    """The table of a published release that has its insensitive columns: a file, or a folder of files."""
    for name in ("release", "quasi_identifiers"):
        for suffix in (".parquet", ".csv"):
            if (folder / f"{name}{suffix}").exists():
                return folder / f"{name}{suffix}"
    return None


# -- counts that add up

SHARE = pa.schema([("comparison", pa.int32()), ("key", pa.string()), ("left", pa.int64()), ("right", pa.int64())])
"""Of a value or combination, by number of the comparison: some rows of the earlier and of the later release that have
it; all rows of one key are to be added up."""


def count_shares(
    position: int, texts: Mapping[str, Text], comparisons: Sequence[ColumnComparison]
) -> Iterator[pa.Table]:
    """What rows of the release at a position add to each comparison, as SHARE says. O(rows) for each set of columns."""
    counted: dict[tuple[str, ...], tuple[pa.Array, Int64]] = {}
    for number, (earlier, columns) in enumerate(comparisons):
        if position - earlier not in (0, 1) or not set(columns) <= set(texts):  # the next release may lack a column
            continue
        if columns not in counted:
            counted[columns] = _count_combinations([texts[name] for name in columns])
        key, rows = counted[columns]
        sides = (rows, np.zeros_like(rows)) if position == earlier else (np.zeros_like(rows), rows)
        comparison = np.full(len(rows), number, dtype=np.int32)
        yield pa.table([pa.array(comparison), key, *map(pa.array, sides)], schema=SHARE)


def _count_combinations(texts: Sequence[Text]) -> tuple[pa.Array, Int64]:
    """(the different combinations of labels as one text each, int64[combinations] how many rows have each)."""
    if len(texts) == 1:
        used = np.flatnonzero(texts[0].counts)
        return pa.array(texts[0].labels, pa.string()).take(pa.array(used)), texts[0].counts[used]
    names = [str(place) for place in range(len(texts))]
    found = pa.table([text.index for text in texts], names).group_by(names).aggregate([([], "count_all")])
    parts = []
    for name, text in zip(names, texts, strict=True):
        index = np.asarray(found[name])
        label = pa.array(text.labels, pa.string()).take(pa.array(index, mask=index < 0))
        length = pc.fill_null(pc.utf8_length(label).cast(pa.string()), "-")  # so that no two combinations read alike
        parts += [length, pc.fill_null(label, "")]
    return pc.binary_join_element_wise(*parts, ":"), np.asarray(found["count_all"]).astype(np.int64)


class ReadColumns:
    """The columns of each release, read into this process."""

    def __init__(self, releases: Sequence[Mapping[str, Text]]) -> None:
        self._releases = releases

    @staticmethod
    def of(folders: Sequence[Path], wanted: Sequence[str]) -> ReadColumns:
        """The wanted columns as they were published in these folders."""
        from reissue.engine.read import find
        from reissue.engine.text import text_of

        releases: list[dict[str, Text]] = []
        for folder in folders:
            path = find_public_table(folder) if wanted else None
            table = pa.table({}) if path is None else find(path, wanted).table
            releases.append({name: text_of(table.column(name)) for name in table.column_names})
        return ReadColumns(releases)

    def followed_by(self, release: Mapping[str, Text]) -> ReadColumns:
        """With the columns of one more release."""
        return ReadColumns([*self._releases, release])

    @property
    def names(self) -> list[list[str]]:
        return [list(release) for release in self._releases]

    @property
    def rows(self) -> list[int]:
        return [max(map(len, release.values()), default=0) for release in self._releases]

    def linked(self, comparisons: Sequence[ColumnComparison], k: int) -> list[LinkedRows]:
        told = [table for i, texts in enumerate(self._releases) for table in count_shares(i, texts, comparisons)]
        sums = pa.concat_tables(told).group_by(["comparison", "key"]).aggregate([("left", "sum"), ("right", "sum")])
        number, left, right = (np.asarray(sums[name]) for name in ("comparison", "left_sum", "right_sum"))
        rare = (left > 0) & (left < k) & (right > 0) & (right < k)
        linked = np.bincount(number[rare], left[rare], minlength=len(comparisons))
        alone = np.bincount(number[left == 1], minlength=len(comparisons))
        return [LinkedRows(int(one), int(other)) for one, other in zip(linked, alone, strict=True)]
