"""Patients who come, leave, return and move: a snapshot of the clinic for every month."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from reissue.arguments import check_arguments
from reissue.arrays.types import NO_NUMBERS, Bool, Float64, Int64
from reissue.clinic.illness import EXAMS, Dependence, first_results, next_results, usual_weight
from reissue.errors import SettingsError

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


@check_arguments
def month_names(months: int) -> list[str]:
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


def _draw_arrivals(rng: np.random.Generator, count: int, now: int, dependence: Dependence) -> _Patients:
    """New patients of month `now` (in months since year 0)."""
    female = rng.random(count) < 0.52
    years = rng.choice(np.array([29, 52, 74]), count, p=[0.30, 0.38, 0.32]) + rng.integers(-11, 13, count)
    age = np.clip(years, 18, 95).astype(np.int64)
    weak = dependence == "weak"
    exam = _draw(rng, first_results(female, age)) if weak else NO_NUMBERS
    weight = np.clip(np.round(rng.normal(usual_weight(female, age), 11.0), 1), 40.0, 140.0)
    if not weak:
        exam = _draw(rng, first_results(female, age, weight))
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


def _next_month(rng: np.random.Generator, people: _Patients, now: int, patients: int, dependence: Dependence) -> None:
    """Leavers, returns, changed results, arrivals: in this order, so nobody leaves and returns in one month."""
    absent = ~people.present
    leaving = people.present & (rng.random(len(people)) < LEAVE)
    chance = min(RETURN_AT_MOST, RETURN * patients / max(1, int(absent.sum())))
    people.present = (people.present & ~leaving) | (absent & (rng.random(len(people)) < chance))
    # The illness goes on while a patient is away: two months apart means TRANSITIONS squared.
    suits = None
    if dependence == "real":
        suits = first_results(people.female, (now - people.born) // 12, people.weight)
    people.exam = _draw(rng, next_results(people.exam, suits))
    changed = people.present & (people.exam != people.shown)
    people.shown[changed] = people.exam[changed]
    people.episode[changed] += 1
    count = int(changed.sum())
    drift = people.weight[changed] + rng.normal(0.0, 1.5, count)
    people.weight[changed] = np.clip(np.round(drift, 1), 40.0, 140.0)
    moved = np.flatnonzero(changed)[rng.random(count) < MOVE]
    people.zip[moved] = rng.integers(0, len(ZIPS), len(moved))
    people.ward[changed] = rng.integers(0, len(WARDS), count)
    people.join(_draw_arrivals(rng, int(rng.poisson(max(0, patients - int(people.present.sum())))), now, dependence))


def _make_table(people: _Patients, rows: Int64, now: Int64) -> pa.Table:
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


@check_arguments
def clinic_months(
    *,
    seed: int = 2024,
    months: int = 24,
    patients: int = 4000,
    cumulative: bool = False,
    dependence: Dependence = "real",
) -> Iterator[pa.Table]:
    """One snapshot a month, rows ordered by patient; the same arguments give the same tables.

    patient is the person; episode gets a new number whenever the person's exam result changes, so within an episode
    no column but `age` changes. `cumulative` gives everybody who came so far as they were at their first visit:
    nobody leaves and nothing changes, for the strategies that allow insertions only. dependence: "real", results depend
    on sex, age and weight as illnesses do; "weak", hardly, and later results on the last one alone.
    """
    if dependence not in ("real", "weak"):
        raise SettingsError(f"dependence is '{dependence}'; results can depend on people 'real' or 'weak'.")
    for name, number in (("months", months), ("patients", patients)):
        if number < 1:
            raise SettingsError(f"{name} is {number}; a clinic needs at least 1.")
    return _months(np.random.default_rng(seed), months, patients, cumulative, dependence)


def _months(
    rng: np.random.Generator, months: int, patients: int, cumulative: bool, dependence: Dependence
) -> Iterator[pa.Table]:
    start = 12 * FIRST_YEAR
    people = _draw_arrivals(rng, patients, start, dependence)
    files: list[pa.Table] = []
    for now in range(start, start + months):
        known = 0 if now == start else len(people)
        if now > start:
            _next_month(rng, people, now, patients, dependence)
        if cumulative:
            new = np.arange(known, len(people))
            files.append(_make_table(people, new, np.full(len(new), now)))
            yield pa.concat_tables(files).combine_chunks()
        else:
            here = np.flatnonzero(people.present)
            yield _make_table(people, here, np.full(len(here), now))
