"""Insensitive columns by which the same row can be found again in another release.

Whatever is asked is one count: how many rows of a release have a value, or a combination of values, that occurs in few
rows of it and of the next release. `Columns` gives it, from tables in this process or from workers' counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from reissue.arrays.types import Int64
from reissue.engine.text import Text


@dataclass(frozen=True)
class Traceable:
    """linked_rows: rows of the earlier release whose value occurs in fewer than k rows of both releases."""

    column: str
    releases: tuple[int, int]
    linked_rows: int
    share: float
    sentence: str

    def to_dict(self) -> dict[str, object]:
        return {**asdict(self), "releases": list(self.releases)}


class Comparison(NamedTuple):
    """Columns, taken together, of the release at position `earlier` and of the next one."""

    earlier: int
    columns: tuple[str, ...]


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

    def linked(self, comparisons: Sequence[Comparison], k: int) -> Sequence[int]:
        """Of each: the rows of the earlier release whose value occurs in fewer than k rows of both releases.

        A missing value of a single column is no value; in a combination it is one like others.
        """
        ...


def traceable(columns: Columns, identifier: str, k: int) -> list[Traceable]:
    """Each column, and all of them together, between each release and the next; the most telling first."""
    asked = _comparisons(columns.names, identifier)
    found: dict[int, list[Traceable]] = {}
    for one, linked in zip(asked, columns.linked(asked, k) if asked else (), strict=True):
        some = found.setdefault(one.earlier, [])
        least = max((other.linked_rows for other in some), default=0) if len(one.columns) > 1 else 0
        if linked > least:
            named = one.columns == (identifier,)
            some.append(_told(one.earlier, " + ".join(one.columns), linked, columns.rows[one.earlier], k, named))
    every = [one for some in found.values() for one in some]
    published = identifier in {name for names in columns.names for name in names}
    if published and not any(one.column == identifier for one in every):
        says = f"The identifier '{identifier}' itself is in a release: every row is named. Never publish it."
        every.append(Traceable(identifier, (1, 1), 0, 1.0, says))
    return sorted(every, key=lambda one: -one.share)


def _comparisons(names: Sequence[Sequence[str]], identifier: str) -> list[Comparison]:
    """In order of releases; each column before all of them together, who are told of only if they tell more."""
    found = []
    for earlier in range(len(names) - 1):
        shared = tuple(name for name in names[earlier] if name in names[earlier + 1])
        found += [Comparison(earlier, (name,)) for name in shared]
        if len(shared) > 1 and identifier not in shared:
            found.append(Comparison(earlier, shared))
    return found


def _told(position: int, name: str, linked: int, rows: int, k: int, named: bool) -> Traceable:
    one, other = position + 1, position + 2
    what = f"The identifier '{name}' itself is published and" if named else f"The insensitive column '{name}'"
    few = "one row each" if k <= 2 else f"fewer than {k} rows each"
    sentence = (
        f"{what} links {linked:,} of the {rows:,} rows of release {one} to {few} of release {other}: whoever "
        "follows it undoes the generalization. Leave it out or make it coarser."
    )
    return Traceable(name, (one, other), linked, linked / max(rows, 1), sentence)


def public_table(folder: Path) -> Path | None:
    """The table of a published release that has its insensitive columns: a file, or a folder of files."""
    for name in ("release", "quasi_identifiers"):
        for suffix in (".parquet", ".csv"):
            if (folder / f"{name}{suffix}").exists():
                return folder / f"{name}{suffix}"
    return None


# -- in this process


class ReadColumns:
    """The columns of each release, read. O(rows) for each comparison."""

    def __init__(self, releases: Sequence[Mapping[str, Text]]) -> None:
        self._releases = releases

    @staticmethod
    def of(folders: Sequence[Path], wanted: Sequence[str]) -> ReadColumns:
        """The wanted columns as they were published in these folders."""
        from reissue.engine.read import find
        from reissue.engine.text import text_of

        releases: list[dict[str, Text]] = []
        for folder in folders:
            path = public_table(folder) if wanted else None
            table = pa.table({}) if path is None else find(path, wanted).table
            releases.append({name: text_of(table.column(name)) for name in table.column_names})
        return ReadColumns(releases)

    @property
    def names(self) -> list[list[str]]:
        return [list(release) for release in self._releases]

    @property
    def rows(self) -> list[int]:
        return [max(map(len, release.values()), default=0) for release in self._releases]

    def linked(self, comparisons: Sequence[Comparison], k: int) -> list[int]:
        found = []
        for earlier, names in comparisons:
            left, right = self._releases[earlier], self._releases[earlier + 1]
            one, other = _alone(names[0], left, right) if len(names) == 1 else _jointly(names, left, right)
            found.append(int(one[(one > 0) & (one < k) & (other > 0) & (other < k)].sum()))
        return found


def _alone(name: str, left: Mapping[str, Text], right: Mapping[str, Text]) -> tuple[Int64, Int64]:
    """int64[labels] twice: rows of each label of the earlier release, in it and in the later one."""
    one, other = left[name], right[name]
    places = {str(label): place for place, label in enumerate(one.labels)}
    their = np.array([places.get(str(label), -1) for label in other.labels], dtype=np.int64)
    counts = np.zeros(len(one.labels), dtype=np.int64)
    np.add.at(counts, their[their >= 0], other.counts[their >= 0])
    return one.counts, counts


def _jointly(names: Sequence[str], left: Mapping[str, Text], right: Mapping[str, Text]) -> tuple[Int64, Int64]:
    """All columns together: the same as one column of their combinations."""
    key = np.zeros(len(left[names[0]]) + len(right[names[0]]), dtype=np.int64)
    for name in names:
        labels = {
            label: place for place, label in enumerate({*map(str, left[name].labels), *map(str, right[name].labels)})
        }
        index = [
            np.append(np.array([labels[str(label)] for label in text.labels], dtype=np.int64), -1)[text.index]
            for text in (left[name], right[name])
        ]
        key = np.unique(key * (len(labels) + 1) + np.concatenate(index) + 1, return_inverse=True)[1].reshape(-1)
    rows = len(left[names[0]])
    width = int(key.max(initial=0)) + 1
    return np.bincount(key[:rows], minlength=width), np.bincount(key[rows:], minlength=width)
