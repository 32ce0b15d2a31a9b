"""The rows: Adult as ARX publishes it, larger tables made from it, or a table of one's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from benchmarks.bench_publish import QUASI_IDENTIFIERS, adult
from benchmarks.harness import DATA

IDENTIFIER = "patient"
ADULT = DATA / "arx_adult"


@dataclass(frozen=True)
class Source:
    """Where the rows come from.

    hierarchies: the file of each quasi-identifier; numeric: those whose values are numbers
    grows: whether larger tables can be made from it (Adult only)
    """

    title: str
    table: pl.DataFrame
    sensitive: str
    hierarchies: dict[str, Path]
    numeric: tuple[str, ...]
    grows: bool

    @property
    def quasi_identifiers(self) -> list[str]:
        return list(self.hierarchies)

    def rows(self, count: int) -> pl.DataFrame:
        """The table itself; fewer rows from its top; more rows resampled with jittered ages."""
        table = self.table
        if count > len(table):
            table = adult(count)
        table = table.head(count).select(*self.quasi_identifiers, self.sensitive)
        return table.with_columns(pl.Series(IDENTIFIER, [f"P{i:09d}" for i in range(len(table))]))


def source(folder: Path | None, sensitive: str, quasi_identifiers: Sequence[str] | None) -> Source | None:
    """Adult without a folder (None where it is absent), or the table and the hierarchies in a folder of one's own."""
    own = folder is not None
    place = folder or ADULT
    found = [path for path in sorted(place.glob("*.csv*")) if "hierarchy_" not in path.name] if place.is_dir() else []
    if not found:
        return None
    files = {path.stem.split("hierarchy_", 1)[1]: path for path in sorted(place.glob("*hierarchy_*.csv"))}
    names = quasi_identifiers or ([name for name in files if name != sensitive] if own else list(QUASI_IDENTIFIERS))
    hierarchies = {name: files[name] for name in names}
    table = pl.read_csv(found[0], separator=";", infer_schema=False)
    numeric = tuple(name for name, path in hierarchies.items() if all(_is_number(line[0]) for line in lines(path)))
    title = f"the table {found[0].name}" if own else "UCI Adult (the 30,162 complete rows, ARX's hierarchies)"
    return Source(title, table, sensitive, hierarchies, numeric, not own)


def lines(path: Path) -> list[list[str]]:
    """A hierarchy file: a value and its ever wider groups on each line."""
    return [line.split(";") for line in path.read_text(encoding="utf-8").splitlines() if line]


def halved(path: Path) -> str:
    """A hierarchy over the same values, in the order of their groups, that halves them until one is left.

    Its groups are called by their values, so that they read like the lists of other tools.
    """
    values = [line[0] for line in sorted(lines(path), key=lambda line: line[::-1])]
    groups = {value: _halves(values, place) for place, value in enumerate(values)}
    depth = max(len(found) for found in groups.values())
    made = [[value] * (depth - len(found) + 1) + found[::-1] for value, found in groups.items()]
    return "".join(";".join([*line, "*"]) + "\n" for line in made)


def _halves(values: list[str], place: int) -> list[str]:
    """The ever smaller groups of at least two values around one place, without the group of all."""
    low, high = 0, len(values)
    found = []
    while high - low > 1:
        middle = (low + high + 1) // 2
        low, high = (low, middle) if place < middle else (middle, high)
        found += [",".join(values[low:high])] if high - low > 1 else []
    return found


def _is_number(text: str) -> bool:
    return text.removeprefix("-").isdigit()
