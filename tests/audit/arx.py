"""Releases in ARX's output style: full-domain generalization by levels, outliers suppressed, rows in order."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa

import reissue as ri

QUASI = ("age", "sex", "race", "marital-status", "education")
SENSITIVE = "occupation"


def levels(folder: Path, name: str) -> dict[str, list[str]]:
    """Each value with its labels by level, as ARX reads them from its hierarchy file."""
    with (folder / f"adult_hierarchy_{name}.csv").open() as file:
        return {row[0]: row for row in csv.reader(file, delimiter=";")}


def adult(folder: Path, rows: int, seed: int = 0) -> pa.Table:
    """Some rows of Adult with an identifier."""
    with gzip.open(folder / "adult.csv.gz", "rt") as file:
        read = list(csv.DictReader(file, delimiter=";"))
    chosen = np.random.default_rng(seed).permutation(len(read))[:rows]
    columns = {name: [read[i][name] for i in chosen] for name in (*QUASI, SENSITIVE)}
    return pa.table({"id": [f"P{i:05d}" for i in chosen], **columns})


def schema(folder: Path) -> ri.Schema:
    return ri.Schema(
        identifier="id",
        quasi_identifiers={
            name: ri.Categorical(hierarchy=ri.Hierarchy.from_file(folder / f"adult_hierarchy_{name}.csv"))
            for name in QUASI
        },
        sensitive=SENSITIVE,
    )


def generalize(folder: Path, table: pa.Table, chosen: dict[str, int], k: int) -> list[dict[str, str]]:
    """The rows at these levels; rows of classes below k get `*` in every quasi-identifier, as ARX does."""
    rows = []
    for row in table.to_pylist():
        labels = {name: levels_of(folder, name)[row[name]][chosen[name]] for name in QUASI}
        rows.append({**labels, SENSITIVE: row[SENSITIVE]})
    sizes: dict[tuple[str, ...], int] = {}
    for row in rows:
        key = tuple(row[name] for name in QUASI)
        sizes[key] = sizes.get(key, 0) + 1
    return [
        row if sizes[tuple(row[name] for name in QUASI)] >= k else {**row, **dict.fromkeys(QUASI, "*")} for row in rows
    ]


_LEVELS: dict[tuple[Path, str], dict[str, list[str]]] = {}


def levels_of(folder: Path, name: str) -> dict[str, list[str]]:
    if (folder, name) not in _LEVELS:
        _LEVELS[folder, name] = levels(folder, name)
    return _LEVELS[folder, name]


def write(path: Path, rows: list[dict[str, str]]) -> Path:
    """A CSV file with semicolons, as ARX exports it."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=";")
        writer.writeheader()
        writer.writerows(rows)
    return path
