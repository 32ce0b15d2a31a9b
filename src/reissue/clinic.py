"""A clinic that never was: seeded monthly snapshots of patients whose exam results change by a known matrix.

Everything an adversary could know about these people is exported beside the data: `FIRST` (how the first result
depends on sex and age) and `TRANSITIONS` (how a result moves from one month to the next).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from reissue.core.domain import Bool, Float64, Int64
from reissue.errors import SettingsError

Strings = list[str]

EXAMS = (
    "Flu", "Bronchitis", "Pneumonia", "Asthma", "Gastric ulcer", "GERD", "Diabetes-I", "Diabetes-II",
    "Kidney failure", "Hypertension", "Depression", "Alzheimer", "Cancer-I", "Cancer-II",
)  # fmt: skip
"""The exam results, the sensitive values. -I and -II are an early and a late stage."""

SEXES = ("F", "M")
WARDS = ("Garden", "Harbour", "Hill", "Station")
ZIPS = tuple(
    f"{prefix}{last}"
    for prefix, lasts in {
        "1204": "0123", "1205": "135", "1209": "027", "1231": "0458", "1232": "126", "1238": "39", "1250": "1469",
        "1257": "08",
    }.items()
    for last in lasts
)  # fmt: skip

FIRST_YEAR = 2024
LEAVE, RETURN, RETURN_AT_MOST = 0.065, 0.03, 0.35
"""A month's leavers as a share of the present; returns as a share of the clinic's size, and of the absent at most."""
MOVE = 0.03
"""How often a patient gives another zip when a new episode begins."""


@dataclass(frozen=True, eq=False)
class Matrix:
    """Probabilities with names: shares float64[rows, columns]; every row sums to 1."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    shares: Float64

    def of(self, row: str, column: str) -> float:
        return float(self.shares[self.rows.index(row), self.columns.index(column)])


def _transitions() -> Matrix:
    """Monthly moves: the share that stays, the moves medicine knows, and the rest evenly over all other results."""
    known: dict[str, tuple[float, dict[str, float]]] = {
        "Flu": (0.60, {"Bronchitis": 0.12, "Pneumonia": 0.10, "Asthma": 0.05, "GERD": 0.04}),
        "Bronchitis": (0.74, {"Asthma": 0.08, "Pneumonia": 0.06, "Flu": 0.04}),
        "Pneumonia": (0.70, {"Bronchitis": 0.08, "Asthma": 0.06, "Flu": 0.05, "Cancer-I": 0.02}),
        "Asthma": (0.86, {"Bronchitis": 0.05, "Flu": 0.03}),
        "Gastric ulcer": (0.80, {"GERD": 0.10, "Cancer-I": 0.03, "Flu": 0.02}),
        "GERD": (0.84, {"Gastric ulcer": 0.07, "Flu": 0.02, "Depression": 0.02}),
        "Diabetes-I": (0.84, {"Diabetes-II": 0.08, "Hypertension": 0.03}),
        "Diabetes-II": (0.86, {"Kidney failure": 0.05, "Diabetes-I": 0.03, "Hypertension": 0.02}),
        "Kidney failure": (0.86, {"Diabetes-II": 0.03, "Hypertension": 0.04, "Depression": 0.02}),
        "Hypertension": (0.86, {"Kidney failure": 0.03, "Diabetes-I": 0.04, "Alzheimer": 0.02}),
        "Depression": (0.85, {"GERD": 0.04, "Gastric ulcer": 0.03, "Alzheimer": 0.02}),
        "Alzheimer": (0.88, {"Depression": 0.05, "Pneumonia": 0.02}),
        "Cancer-I": (0.80, {"Cancer-II": 0.12, "Depression": 0.03}),
        "Cancer-II": (0.86, {"Cancer-I": 0.04, "Depression": 0.04, "Pneumonia": 0.02}),
    }
    shares = np.zeros((len(EXAMS), len(EXAMS)))
    for i, exam in enumerate(EXAMS):
        stay, moves = known[exam]
        others = len(EXAMS) - 1 - len(moves)
        shares[i] = (1.0 - stay - sum(moves.values())) / others
        shares[i, i] = stay
        for target, share in moves.items():
            shares[i, EXAMS.index(target)] = share
    return Matrix(EXAMS, EXAMS, shares / shares.sum(axis=1, keepdims=True))


def _first() -> Matrix:
    """First results by sex and age. No value is above 16% of a row or 10% of all arrivals, so m = 4 is feasible."""
    per_thousand = {
        # Flu Bro Pne Ast Ulc GERD D-I D-II Kid Hyp Dep Alz C-I C-II
        "F 18-39": (150, 100, 60, 150, 70, 90, 80, 30, 30, 30, 150, 10, 40, 10),
        "F 40-64": (80, 80, 60, 80, 80, 90, 100, 60, 40, 90, 110, 30, 70, 30),
        "F 65-": (40, 60, 80, 40, 60, 60, 60, 80, 70, 110, 80, 150, 60, 50),
        "M 18-39": (150, 110, 70, 160, 100, 110, 90, 30, 30, 40, 70, 10, 20, 10),
        "M 40-64": (70, 80, 60, 60, 110, 100, 100, 80, 50, 110, 50, 20, 70, 40),
        "M 65-": (40, 70, 90, 40, 70, 60, 50, 90, 90, 100, 40, 100, 80, 80),
    }
    return Matrix(tuple(per_thousand), EXAMS, np.array(list(per_thousand.values())) / 1000.0)


TRANSITIONS = _transitions()
"""P(result next month | result this month), the same for everybody, in the clinic or not. All entries are positive."""
FIRST = _first()
"""P(first result | sex, age band)."""


def first_results(female: Bool, age: Int64) -> Float64:
    """float64[people, results]: the distribution of the first result, given bool[people] and int64[people]."""
    band = (age >= 40).astype(np.int64) + (age >= 65)
    return FIRST.shares[np.where(female, 0, 3) + band]


def month_names(months: int) -> Strings:
    """ "2024-01", "2024-02", ..."""
    return [f"{FIRST_YEAR + i // 12}-{i % 12 + 1:02d}" for i in range(months)]


def _draw(rng: np.random.Generator, shares: Float64) -> Int64:
    """int64[n]: one column per row of float64[n, columns], by that row's probabilities."""
    above = rng.random(len(shares))[:, None] >= np.cumsum(shares, axis=1)
    drawn: Int64 = np.minimum(above.sum(axis=1), shares.shape[1] - 1).astype(np.int64)
    return drawn


@dataclass(eq=False)
class _Patients:
    """Everybody who ever came, in order of arrival; all arrays are [patients].

    exam moves every month; shown is the result of the last visit; episode counts the changes of shown.
    """

    female: Bool
    born: Int64  # months since year 0
    exam: Int64
    weight: Float64
    zip: Int64
    ward: Int64
    shown: Int64
    present: Bool
    episode: Int64 = field(init=False)

    def __post_init__(self) -> None:
        self.episode = np.ones(len(self.exam), dtype=np.int64)

    def __len__(self) -> int:
        return len(self.exam)

    def join(self, new: _Patients) -> None:
        for name in self.__dataclass_fields__:
            setattr(self, name, np.concatenate([getattr(self, name), getattr(new, name)]))


def _arrivals(rng: np.random.Generator, count: int, now: int) -> _Patients:
    """New patients of month `now` (in months since year 0)."""
    female = rng.random(count) < 0.52
    years = rng.choice(np.array([29, 52, 74]), count, p=[0.30, 0.38, 0.32]) + rng.integers(-11, 13, count)
    age = np.clip(years, 18, 95).astype(np.int64)
    exam = _draw(rng, first_results(female, age))
    typical = np.where(female, 66.0, 81.0) + 0.1 * np.minimum(age - 18, 40)
    weight = np.clip(np.round(rng.normal(typical, 11.0), 1), 40.0, 140.0)
    popular = 1.0 / np.sqrt(np.arange(2.0, len(ZIPS) + 2.0))
    home = rng.choice(len(ZIPS), count, p=popular / popular.sum())
    return _Patients(
        female=female,
        born=now - 12 * age - rng.integers(0, 12, count),
        exam=exam,
        weight=weight,
        zip=home.astype(np.int64),
        ward=rng.integers(0, len(WARDS), count),
        shown=exam.copy(),
        present=np.ones(count, dtype=np.bool_),
    )


def _next_month(rng: np.random.Generator, people: _Patients, now: int, patients: int) -> None:
    """Leavers, returns, changed results, arrivals: in this order, so nobody leaves and returns in one month."""
    absent = ~people.present
    leaving = people.present & (rng.random(len(people)) < LEAVE)
    chance = min(RETURN_AT_MOST, RETURN * patients / max(1, int(absent.sum())))
    people.present = (people.present & ~leaving) | (absent & (rng.random(len(people)) < chance))
    # The illness goes on while a patient is away: two months apart means TRANSITIONS squared.
    people.exam = _draw(rng, TRANSITIONS.shares[people.exam])
    changed = people.present & (people.exam != people.shown)
    people.shown[changed] = people.exam[changed]
    people.episode[changed] += 1
    count = int(changed.sum())
    drift = people.weight[changed] + rng.normal(0.0, 1.5, count)
    people.weight[changed] = np.clip(np.round(drift, 1), 40.0, 140.0)
    moved = np.flatnonzero(changed)[rng.random(count) < MOVE]
    people.zip[moved] = rng.integers(0, len(ZIPS), len(moved))
    people.ward[changed] = rng.integers(0, len(WARDS), count)
    people.join(_arrivals(rng, int(rng.poisson(max(0, patients - int(people.present.sum())))), now))


def _table(people: _Patients, rows: Int64, now: Int64) -> pa.Table:
    """The snapshot's rows; now int64[rows] is the month of which `age` speaks."""
    patient = np.char.mod("P%06d", rows + 1)
    episode = np.char.add(np.char.add(patient, "-"), people.episode[rows].astype(np.str_))
    return pa.table(
        {
            "patient": pa.array(patient.tolist(), pa.string()),
            "episode": pa.array(episode.tolist(), pa.string()),
            "sex": pa.array(SEXES).take(pa.array((~people.female[rows]).astype(np.int64))),
            "birth_year": pa.array(people.born[rows] // 12),
            "age": pa.array((now - people.born[rows]) // 12),
            "weight": pa.array(people.weight[rows]),
            "zip": pa.array(ZIPS).take(pa.array(people.zip[rows])),
            "exam": pa.array(EXAMS).take(pa.array(people.shown[rows])),
            "ward": pa.array(WARDS).take(pa.array(people.ward[rows])),
        }
    )


def clinic_months(
    *, seed: int = 2024, months: int = 24, patients: int = 4000, cumulative: bool = False
) -> Iterator[pa.Table]:
    """One snapshot a month, rows ordered by patient; the same arguments give the same tables.

    patient is the person; episode gets a new number whenever the person's exam result changes, so within an episode
    no column but `age` changes. `cumulative` gives everybody who came so far as they were at their first visit:
    nobody leaves and nothing changes, for the strategies that allow insertions only.
    """
    for name, number in (("months", months), ("patients", patients)):
        if number < 1:
            raise SettingsError(f"{name} is {number}; a clinic needs at least 1.")
    return _months(np.random.default_rng(seed), months, patients, cumulative)


def _months(rng: np.random.Generator, months: int, patients: int, cumulative: bool) -> Iterator[pa.Table]:
    start = 12 * FIRST_YEAR
    people = _arrivals(rng, patients, start)
    files: list[pa.Table] = []
    for now in range(start, start + months):
        known = 0 if now == start else len(people)
        if now > start:
            _next_month(rng, people, now, patients)
        if cumulative:
            new = np.arange(known, len(people))
            files.append(_table(people, new, np.full(len(new), now)))
            yield pa.concat_tables(files).combine_chunks()
        else:
            here = np.flatnonzero(people.present)
            yield _table(people, here, np.full(len(here), now))


def hierarchies() -> dict[str, list[tuple[str, ...]]]:
    """Rows of an ARX file by attribute: the value, then its ancestors up to the root."""
    return {
        "sex": [(sex, "*") for sex in SEXES],
        "zip": [(zip, f"{zip[:4]}*", f"{zip[:3]}**", "*") for zip in ZIPS],
    }


def config(
    *,
    identifier: Literal["patient", "episode"] = "episode",
    strategy: str = "m-invariance",
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
) -> list[Path]:
    """Snapshots 2024-01.parquet ..., clinic.toml, hierarchies/ and transitions.csv; the paths of the snapshots."""
    if format not in ("parquet", "csv", "both"):
        raise SettingsError(f"format is '{format}'; it can be 'parquet', 'csv' or 'both'.")
    tables = clinic_months(seed=seed, months=months, patients=patients, cumulative=cumulative)
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
