"""The clinic keeps what it says about itself: its matrices, its turnover, and what may change for whom."""

from __future__ import annotations

import csv
import tomllib
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from reissue import clinic
from reissue.clinic.illness import USUAL
from reissue.errors import SettingsError
from reissue.schema import Categorical, read_config

CONSTANT_IN_EPISODE = ["patient", "sex", "birth_year", "weight", "zip", "exam", "ward"]


def rows(table: pa.Table) -> list[dict[str, object]]:
    return table.to_pylist()


@pytest.fixture(scope="module")
def months() -> list[pa.Table]:
    return list(clinic.clinic_months(dependence="weak"))


@pytest.fixture(scope="module")
def real_months() -> list[pa.Table]:
    return list(clinic.clinic_months())


def people_of(table: pa.Table) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(bool[rows] female, int64[rows] age, float64[rows] weight, int64[rows] result)."""
    exam = [clinic.EXAMS.index(value) for value in table["exam"].to_pylist()]
    female = np.array(table["sex"].to_pylist()) == "F"
    return female, table["age"].to_numpy(), table["weight"].to_numpy(), np.array(exam)


def test_same_seed_same_tables_and_another_seed_others() -> None:
    def take(seed: int) -> list[pa.Table]:
        return list(clinic.clinic_months(seed=seed, months=4, patients=300))

    assert all(a.equals(b) for a, b in zip(take(5), take(5), strict=True))
    assert not take(5)[0].equals(take(6)[0])


def test_fewer_months_are_a_prefix_of_more() -> None:
    short = list(clinic.clinic_months(months=3, patients=200))
    long = list(clinic.clinic_months(months=6, patients=200))
    assert all(a.equals(b) for a, b in zip(short, long, strict=False))


def test_matrices_are_distributions() -> None:
    assert USUAL.sum() == pytest.approx(1.0)
    assert USUAL.max() < 0.1, "no result is so frequent that m = 4 cannot hold"
    for matrix in (clinic.TRANSITIONS, clinic.FIRST):
        assert np.allclose(matrix.shares.sum(axis=1), 1.0, atol=1e-12)
        assert (matrix.shares > 0).all()
        assert matrix.columns == clinic.EXAMS
    assert clinic.TRANSITIONS.of("Cancer-I", "Cancer-II") == pytest.approx(0.12)
    assert clinic.FIRST.of("F 65-", "Alzheimer") == pytest.approx(0.15)


def chi_square(counts: np.ndarray, shares: np.ndarray) -> float:
    """The statistic per degree of freedom; about 1 when the counts follow the shares (one distribution per row)."""
    expected = counts.sum(axis=1, keepdims=True) * shares
    return float(((counts - expected) ** 2 / expected).sum() / (shares.shape[0] * (shares.shape[1] - 1)))


def steps_apart(months: Sequence[pa.Table], gap: int) -> np.ndarray:
    """int64[results, results]: how often a patient shown in months t and t + gap, and not between, went from a to b."""
    code = {exam: i for i, exam in enumerate(clinic.EXAMS)}
    counts = np.zeros((len(code), len(code)), dtype=np.int64)
    last: dict[str, tuple[int, int]] = {}
    for now, table in enumerate(months):
        for patient, exam in zip(table["patient"].to_pylist(), table["exam"].to_pylist(), strict=True):
            before = last.get(patient)
            if before is not None and now - before[0] == gap:
                counts[before[1], code[exam]] += 1
            last[patient] = (now, code[exam])
    return counts


def test_results_move_by_the_matrix(months: list[pa.Table]) -> None:
    shares = clinic.TRANSITIONS.shares
    one = steps_apart(months, 1)
    assert one.sum() > 80_000
    assert chi_square(one, shares) < 1.35  # 182 degrees of freedom: beyond three standard deviations
    assert np.abs(one / one.sum(axis=1, keepdims=True) - shares).max() < 0.03
    assert chi_square(one, np.roll(shares, 1, axis=0)) > 5  # the statistic can tell a wrong matrix


def test_results_move_on_while_a_patient_is_away() -> None:
    many = list(clinic.clinic_months(seed=1, months=12, patients=20_000, dependence="weak"))
    squared = clinic.TRANSITIONS.shares @ clinic.TRANSITIONS.shares
    away = steps_apart(many, 2)
    assert away.sum() > 1_000
    assert chi_square(away, squared) < 1.35
    assert chi_square(away, clinic.TRANSITIONS.shares) > 1.35


def test_first_results_depend_on_sex_and_age() -> None:
    table = next(clinic.clinic_months(seed=3, patients=60_000, dependence="weak"))
    female, age, _, exam = people_of(table)
    cell = np.where(female, 0, 3) + (age >= 40) + (age >= 65)
    counts = np.zeros((6, len(clinic.EXAMS)), dtype=np.int64)
    np.add.at(counts, (cell, exam), 1)
    assert chi_square(counts, clinic.FIRST.shares) < 1.5
    assert np.array_equal(clinic.first_results(female, age), clinic.FIRST.shares[cell])


def test_real_results_depend_on_sex_age_and_weight_as_they_say() -> None:
    female, age, weight, exam = people_of(next(clinic.clinic_months(seed=3, patients=60_000)))
    shares = clinic.first_results(female, age, weight)
    assert np.allclose(shares.sum(axis=1), 1.0)
    counts, expected = np.bincount(exam, minlength=len(clinic.EXAMS)), shares.sum(axis=0)
    assert (np.abs(counts - expected) < 4 * np.sqrt(expected)).all()
    chance = shares[np.arange(len(exam)), exam]
    assert abs(chance.mean() - (shares**2).sum(axis=1).mean()) < 0.005, "results are drawn by these shares"
    right = (shares.argmax(axis=1) == exam).mean()
    assert 0.30 < right < 0.37, "as many right guesses as of occupations in a census"
    for ignored in (
        clinic.first_results(~female, age, weight),
        clinic.first_results(female, age[::-1], weight),
        clinic.first_results(female, age, weight[::-1]),
    ):
        assert ignored[np.arange(len(exam)), exam].mean() < chance.mean() - 0.01, "each of the three counts"


def test_weak_results_tell_little_about_people() -> None:
    female, age, _, exam = people_of(next(clinic.clinic_months(seed=3, patients=20_000, dependence="weak")))
    shares = clinic.first_results(female, age)
    assert (shares.argmax(axis=1) == exam).mean() < 0.17


def test_real_results_go_on_suiting_the_person(real_months: list[pa.Table]) -> None:
    female, age, weight, exam = people_of(real_months[-1])
    shares = clinic.first_results(female, age, weight)
    assert (shares.argmax(axis=1) == exam).mean() > 0.25
    moved = clinic.next_results(exam, shares)
    assert np.allclose(moved.sum(axis=1), 1.0)
    here = np.arange(len(exam))
    assert np.allclose(moved[here, exam], clinic.TRANSITIONS.shares[exam, exam]), "they stay as often as ever"
    one = steps_apart(real_months, 1)
    stays = np.diag(one) / one.sum(axis=1)
    assert np.abs(stays - np.diag(clinic.TRANSITIONS.shares)).max() < 0.03


def test_an_episode_changes_if_and_only_if_the_result_does(months: list[pa.Table]) -> None:
    last: dict[object, dict[str, object]] = {}
    for table in months:
        for row in rows(table):
            before = last.get(row["patient"])
            if before is None:
                assert row["episode"] == f"{row['patient']}-1"
            else:
                assert (row["episode"] == before["episode"]) == (row["exam"] == before["exam"])
            last[row["patient"]] = row


def test_within_an_episode_only_age_changes(months: list[pa.Table]) -> None:
    seen: dict[object, list[object]] = {}
    aged = 0
    for table in months:
        for row in rows(table):
            now = [row[name] for name in CONSTANT_IN_EPISODE]
            assert seen.setdefault(row["episode"], now) == now
    for row in rows(months[0]):
        aged += row["age"] in (2024 - int(str(row["birth_year"])), 2023 - int(str(row["birth_year"])))
    assert aged == len(months[0])


def test_sex_and_birth_year_belong_to_the_person_while_weight_and_zip_change(months: list[pa.Table]) -> None:
    fixed: dict[object, tuple[object, ...]] = {}
    weights: dict[object, set[object]] = {}
    zips: dict[object, set[object]] = {}
    for table in months:
        for row in rows(table):
            assert fixed.setdefault(row["patient"], (row["sex"], row["birth_year"])) == (row["sex"], row["birth_year"])
            weights.setdefault(row["patient"], set()).add(row["weight"])
            zips.setdefault(row["patient"], set()).add(row["zip"])
    assert sum(len(found) > 1 for found in weights.values()) > 1_000
    assert sum(len(found) > 1 for found in zips.values()) > 100


def test_turnover_is_a_few_percent_of_each_kind(months: list[pa.Table]) -> None:
    ever: set[str] = set()
    before: set[str] = set()
    shares = []
    for number, table in enumerate(months):
        here = set(table["patient"].to_pylist())
        assert len(here) == len(table)
        assert 3_800 < len(here) < 4_200
        if number >= 3:
            shares.append([len(here - ever), len(before - here), len((here & ever) - before)])
        ever |= here
        before = here
    monthly = np.mean(shares, axis=0) / 4_000
    assert (monthly > 0.025).all()
    assert (monthly < 0.07).all()


@pytest.mark.parametrize("dependence", ["real", "weak"])
@pytest.mark.parametrize("seed", [2024, 1, 2])
@pytest.mark.parametrize("identifier", ["patient", "episode"])
def test_no_value_is_too_frequent_among_arrivals(identifier: str, seed: int, dependence: clinic.Dependence) -> None:
    ever: set[str] = set()
    for table in clinic.clinic_months(seed=seed, dependence=dependence):
        pairs = zip(table[identifier].to_pylist(), table["exam"].to_pylist(), strict=True)
        new = {subject: exam for subject, exam in pairs if subject not in ever}
        assert max(Counter(new.values()).values()) < 0.2 * len(new)
        ever |= set(new)


def test_cumulative_snapshots_only_gain_rows(months: list[pa.Table]) -> None:
    snapshots = list(clinic.clinic_months(cumulative=True, dependence="weak"))
    for earlier, later in pairwise(snapshots):
        assert len(later) > len(earlier)
        assert later.slice(0, len(earlier)).equals(earlier)
    assert snapshots[0].equals(months[0])
    everybody = {patient for table in months for patient in table["patient"].to_pylist()}
    assert snapshots[-1]["patient"].to_pylist() == sorted(everybody)
    assert all(episode.endswith("-1") for episode in snapshots[-1]["episode"].to_pylist())


def test_files_hold_the_snapshots_and_all_that_belongs_to_them(tmp_path: Path) -> None:
    paths = clinic.write(tmp_path, format="both", months=2, patients=50, seed=9)
    assert [path.name for path in paths] == ["2024-01.parquet", "2024-01.csv", "2024-02.parquet", "2024-02.csv"]
    tables = list(clinic.clinic_months(months=2, patients=50, seed=9))
    assert pyarrow.parquet.read_table(paths[2]).equals(tables[1])
    text = pyarrow.csv.read_csv(
        paths[3], convert_options=pyarrow.csv.ConvertOptions(column_types={"zip": pa.string(), "weight": pa.float64()})
    )
    assert text.equals(tables[1])
    with (tmp_path / "transitions.csv").open(encoding="utf-8") as file:
        head, *body = csv.reader(file)
    assert tuple(head[1:]) == clinic.EXAMS
    read = np.array([[float(share) for share in row[1:]] for row in body])
    assert np.abs(read - clinic.TRANSITIONS.shares).max() < 1e-6
    zips = [line.split(";") for line in (tmp_path / "hierarchies" / "zip.csv").read_text().splitlines()]
    assert ["12040", "1204*", "120**", "*"] in zips
    assert {row[0] for row in zips} >= set(tables[1]["zip"].to_pylist())
    assert tomllib.loads((tmp_path / "clinic.toml").read_text())["schema"]["sensitive"] == "exam"


def test_the_config_loads_by_itself_and_agrees_with_the_hierarchy_files(tmp_path: Path) -> None:
    clinic.write(tmp_path, months=1, patients=20)
    (tmp_path / "alone").mkdir()
    alone = tmp_path / "alone" / "clinic.toml"
    alone.write_text(clinic.config(), encoding="utf-8")
    config = read_config(alone)
    assert config.schema.identifier == "episode"
    assert config.policy == {"strategy": "standing"}
    assert config.schema == read_config(tmp_path / "clinic.toml").schema
    for name in ("sex", "zip"):
        inline = config.schema.quasi_identifiers[name]
        assert isinstance(inline, Categorical)
        filed = Categorical(tmp_path / "hierarchies" / f"{name}.csv").hierarchy
        assert inline.hierarchy.leaves == filed.leaves
        for side in ("lo", "hi", "parent", "level"):
            assert np.array_equal(getattr(inline.hierarchy.tree, side), getattr(filed.tree, side))


def test_months_run_over_the_end_of_the_year() -> None:
    assert clinic.month_names(14)[-3:] == ["2024-12", "2025-01", "2025-02"]


@pytest.mark.parametrize("wrong", [{"months": 0}, {"patients": 0}])
def test_an_empty_clinic_is_refused_at_once(wrong: dict[str, int]) -> None:
    with pytest.raises(SettingsError, match=f"{next(iter(wrong))} is 0"):
        clinic.clinic_months(**wrong)  # type: ignore[arg-type]


def test_an_unknown_dependence_is_refused_at_once() -> None:
    with pytest.raises(SettingsError, match="dependence is 'strong'"):
        clinic.clinic_months(dependence="strong")  # type: ignore[arg-type]


def test_config_names_what_was_asked_for() -> None:
    config = tomllib.loads(clinic.config(identifier="patient", strategy="static", settings={"k": 5, "c": 0.5}))
    assert config["schema"]["identifier"] == "patient"
    assert config["policy"] == {"strategy": "static", "k": 5, "c": 0.5}
    with pytest.raises(SettingsError, match="'name'"):
        clinic.config(identifier="name")  # type: ignore[arg-type]
