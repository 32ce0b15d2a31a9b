"""The clinic as files: snapshots, hierarchies, what is known of the illness, and a config for them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import pyarrow.csv
import pyarrow.parquet

from reissue.clinic.illness import EXAMS, TRANSITIONS, Dependence
from reissue.clinic.months import SEXES, ZIPS, clinic_months, month_names
from reissue.errors import SettingsError


def hierarchies() -> dict[str, list[tuple[str, ...]]]:
    """Rows of an ARX file by attribute: the value, then its ancestors up to the root."""
    return {
        "sex": [(sex, "*") for sex in SEXES],
        "zip": [(zip, f"{zip[:4]}*", f"{zip[:3]}**", "*") for zip in ZIPS],
    }


def config(
    *,
    identifier: Literal["patient", "episode"] = "episode",
    strategy: str = "standing",
    settings: Mapping[str, object] | None = None,
) -> str:
    """The text of a config file for these snapshots, hierarchies included: it needs no other file.

    With identifier "episode" a subject's value and quasi-identifiers never change; with "patient" both do.
    `settings` are the strategy's; without them m-invariance gets m = 4 and every other strategy its own defaults.
    """
    if identifier not in ("patient", "episode"):
        raise SettingsError(f"identifier is '{identifier}'; the clinic has 'patient' and 'episode'.")
    if settings is None:
        settings = {"m": 4} if strategy == "m-invariance" else {}
    policy = {"strategy": strategy, **settings}
    lines = [
        "[schema]",
        f'identifier = "{identifier}"',
        'sensitive = "exam"',
        'insensitive = "ward"',
        "",
        "[schema.quasi_identifiers]",
        f"sex = {{ hierarchy = {json.dumps(SEXES)} }}",
        'birth_year = { type = "int" }',
        'weight = { type = "float", decimals = 1 }',
        f"zip = {{ prefix = [4, 3], values = {json.dumps(ZIPS)} }}",
        "",
        "[policy]",
        *(f"{name} = {json.dumps(value)}" for name, value in policy.items()),
    ]
    return "\n".join(lines) + "\n"


def write(
    directory: str | Path,
    *,
    format: Literal["parquet", "csv", "both"] = "parquet",
    seed: int = 2024,
    months: int = 24,
    patients: int = 4000,
    cumulative: bool = False,
    dependence: Dependence = "real",
) -> list[Path]:
    """Snapshots 2024-01.parquet ..., clinic.toml, hierarchies/ and transitions.csv; the paths of the snapshots."""
    if format not in ("parquet", "csv", "both"):
        raise SettingsError(f"format is '{format}'; it can be 'parquet', 'csv' or 'both'.")
    tables = clinic_months(seed=seed, months=months, patients=patients, cumulative=cumulative, dependence=dependence)
    folder = Path(directory)
    (folder / "hierarchies").mkdir(parents=True, exist_ok=True)
    for name, rows in hierarchies().items():
        _write_lines(folder / "hierarchies" / f"{name}.csv", rows, ";")
    shares = [[f"{share:.6f}" for share in row] for row in TRANSITIONS.shares]
    named = [(name, *row) for name, row in zip(EXAMS, shares, strict=True)]
    _write_lines(folder / "transitions.csv", [("exam", *EXAMS), *named], ",")
    (folder / "clinic.toml").write_text(config(identifier="patient" if cumulative else "episode"), encoding="utf-8")
    paths: list[Path] = []
    for month, table in zip(month_names(months), tables, strict=True):
        if format != "csv":
            paths.append(folder / f"{month}.parquet")
            pyarrow.parquet.write_table(table, paths[-1])
        if format != "parquet":
            paths.append(folder / f"{month}.csv")
            pyarrow.csv.write_csv(table, paths[-1])
    return paths


def _write_lines(path: Path, rows: Sequence[Sequence[str]], separator: str) -> None:
    path.write_text("".join(separator.join(row) + "\n" for row in rows), encoding="utf-8")
