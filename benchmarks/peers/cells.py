"""Any tool's output in the form that Reissue measures: which values of the table does each published cell allow?

A cell of a quasi-identifier with numbers allows a range: the range as written, or the range of its hierarchy's group.
Any other cell allows a set of the values that occur in the table: one value, the values below a group of the hierarchy,
or the values it lists. The measures look only at how many values an interval of codes allows, not at which, so a set of
s values becomes the interval 0..s-1. A list of values that is no group of the hierarchy thus costs what its values
cost. `grouped` is GCP once more, with every list widened to the smallest group of the hierarchy that covers it.
Rows that allow the same in every column are one class.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.peers.data import Source, lines
from reissue.arrays.types import Int32, Int64
from reissue.hierarchy import RANGE, Hierarchy
from reissue.model.domain import Domain
from reissue.model.observed import ObservedRelease
from reissue.model.release import Coded
from reissue.model.requirement import Requirement
from reissue.model.requirement_check import violations
from reissue.utility import Utility, measure

_RANGE = re.compile(r"(-?\d+)(?:-| to )(-?\d+)")
Allowed = tuple[int, ...]
"""A range (low, high) of numbers, or the codes of a set of values, rising."""


@dataclass(frozen=True, eq=False)
class Column:
    """One quasi-identifier: the values that occur, and what each label of the hierarchy allows."""

    name: str
    numeric: bool
    codes: dict[str, int]
    groups: dict[str, Allowed]
    order: tuple[str, ...] = ()
    """The values of the hierarchy as Reissue's ranges (first..last) count them."""

    @staticmethod
    def of(name: str, table: pl.DataFrame, hierarchy: Path, numeric: bool) -> Column:
        occurring = table[name].unique().sort().to_list()
        codes = {value: int(value) if numeric else i for i, value in enumerate(occurring)}
        below: dict[str, set[int]] = {}
        for value, *groups in lines(hierarchy):
            code = int(value) if numeric else codes.get(value)
            for label in (value, *groups):
                below.setdefault(label, set()).update(() if code is None else (code,))
        groups_ = {label: _range(found) if numeric else tuple(sorted(found)) for label, found in below.items()}
        order = () if numeric else Hierarchy.from_arx_csv(hierarchy).leaves
        return Column(name, numeric, codes, groups_, order)

    def allowed(self, label: str) -> Allowed:
        if label in self.groups:
            return self.groups[label]
        if self.numeric:
            found = _RANGE.fullmatch(label)
            if found is None and label != "*":
                raise ValueError(f"{self.name}: {label!r} is no number, range or group of the hierarchy.")
            return _range(set(self.codes.values())) if found is None else (int(found[1]), int(found[2]))
        codes: set[int] = set()
        first, dots, last = label.partition(RANGE)
        if dots:
            between = self.order[self.order.index(first) : self.order.index(last) + 1]
            return tuple(sorted(self.codes[value] for value in between if value in self.codes))
        for value in label.split(","):
            codes.update(self.groups[value])
        return tuple(sorted(codes))

    @property
    def domain(self) -> Domain:
        if self.numeric:
            return Domain(self.name, min(self.codes.values()), max(self.codes.values()))
        return Domain(self.name, 0, len(self.codes) - 1)

    def interval(self, allowed: Allowed) -> tuple[int, int]:
        """The closed interval of codes by which the measures count."""
        return (allowed[0], allowed[1]) if self.numeric else (0, len(allowed) - 1)

    def widened(self, allowed: Allowed) -> Allowed:
        """The smallest group of the hierarchy that covers a set of values; a range stays as it is."""
        if self.numeric:
            return allowed
        return min((group for group in self.groups.values() if set(allowed) <= set(group)), key=len)


def _range(numbers: set[int]) -> Allowed:
    return min(numbers), max(numbers)


@dataclass(frozen=True)
class Seen:
    """What an output is worth and what it keeps.

    grouped: GCP per row with lists of values widened to groups; k, diversity: smallest class, fewest values in a class;
    kept: whether the policy holds by our own check
    """

    utility: Utility
    grouped: float
    k: int
    diversity: int
    kept: bool


@dataclass(frozen=True, eq=False)
class Measurer:
    """Measures outputs made from one table."""

    columns: tuple[Column, ...]
    values: dict[str, int]
    snapshot: Coded
    sensitive: str

    @staticmethod
    def of(table: pl.DataFrame, source: Source) -> Measurer:
        columns = tuple(
            Column.of(name, table, path, name in source.numeric) for name, path in source.hierarchies.items()
        )
        values = {value: i for i, value in enumerate(table[source.sensitive].unique().sort().to_list())}
        codes = np.stack([_coded(table[column.name], column.codes) for column in columns], axis=1).astype(np.int32)
        snapshot = Coded(
            np.arange(len(table)),
            np.asfortranarray(codes),
            _coded(table[source.sensitive], values).astype(np.int32),
            tuple(column.domain for column in columns),
            len(values),
        )
        return Measurer(columns, values, snapshot, source.sensitive)

    def seen(self, output: pl.DataFrame, k: int, diversity: int | None) -> Seen:
        """Every measure of an output, and by our own check whether it keeps the promise."""
        release, wider = self.releases(output)
        broken = violations(Requirement(k=k, l=diversity), release.classes, release.values, self.snapshot.value_count)
        fewest = int(np.bincount(release.groups[0]).min())
        grouped = measure(wider, self.snapshot).gcp_share
        return Seen(measure(release, self.snapshot), grouped, int(release.sizes.min()), fewest, not broken)

    def releases(self, output: pl.DataFrame) -> tuple[ObservedRelease, ObservedRelease]:
        """The output as Reissue sees any release, and the same with widened cells.

        A `count` column says how many rows a line stands for. O(lines * attributes), and O(rows).
        """
        key: Int64 = np.zeros(len(output), dtype=np.int64)
        boxes = np.empty((2, len(output), len(self.columns), 2), dtype=np.int32)
        for a, column in enumerate(self.columns):
            labels, place = _distinct(output[column.name])
            allowed = [column.allowed(label) for label in labels]
            same = {cell: i for i, cell in enumerate(dict.fromkeys(allowed))}
            key = _dense(key * len(same) + np.array([same[cell] for cell in allowed])[place])
            for form, cells in enumerate((allowed, [column.widened(cell) for cell in allowed])):
                boxes[form, :, a] = np.array([column.interval(cell) for cell in cells], dtype=np.int32)[place]
        if "class" in output.columns:  # our files show the number of the class: who reads it sees it
            labels, place = _distinct(output["class"])
            key = _dense(key * len(labels) + place)
        first = np.unique(key, return_index=True)[1]
        values = _coded(output[self.sensitive], self.values).astype(np.int32)
        counts = output["count"].cast(pl.Int64).to_numpy() if "count" in output.columns else np.ones(len(key), np.int64)
        rows = np.repeat(key.astype(np.int32), counts), np.repeat(values, counts)
        self._refuse_invented(rows[1])
        return ObservedRelease(1, boxes[0, first], *rows), ObservedRelease(1, boxes[1, first], *rows)

    def _refuse_invented(self, values: Int32) -> None:
        had = np.bincount(self.snapshot.values, minlength=len(self.values))
        if (np.bincount(values, minlength=len(self.values)) > had).any():
            raise ValueError("The output has more rows with a sensitive value than the table.")

    def plain(self, output: pl.DataFrame) -> pl.DataFrame:
        """The output with one line per row and lists of values in one order, for pycanon."""
        columns = []
        for column in self.columns:
            labels, place = _distinct(output[column.name])
            ordered = [label if label in column.groups else ",".join(sorted(label.split(","))) for label in labels]
            columns.append(pl.Series(column.name, np.array(ordered, dtype=object)[place].tolist(), dtype=pl.String))
        more = [output[name] for name in (self.sensitive, "class") if name in output.columns]
        table = pl.DataFrame([*columns, *more])
        if "count" not in output.columns:
            return table
        return table[np.repeat(np.arange(len(output)), output["count"].cast(pl.Int64).to_numpy())]


def _distinct(labels: pl.Series) -> tuple[list[str], Int64]:
    """The labels that occur, and int64[rows]: each row's among them."""
    found = labels.unique()
    return found.to_list(), _coded(labels, {label: i for i, label in enumerate(found)})


def _coded(labels: pl.Series, codes: dict[str, int]) -> Int64:
    return labels.replace_strict(codes, return_dtype=pl.Int64).to_numpy()


def _dense(key: Int64) -> Int64:
    return np.unique(key, return_inverse=True)[1].reshape(-1)
