"""How often intervals hold the truth where something in a release is easily forgotten: not too rarely, not always."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import reissue as ri
from reissue.estimating.answering import make_spread
from reissue.estimating.intervals import WeighedQuery
from reissue.estimating.reading import read_release
from tests.estimating.test_estimate import SCHEMA, patients

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "experiments"))
experiment = pytest.importorskip("estimate_adult")


def publish(folder: Path, strategy: object, tables: list[pl.DataFrame]) -> ri.Release:
    with ri.Series.create(folder / "s", SCHEMA, strategy, seed=1, formats=["csv"]) as series:  # type: ignore[arg-type]
        for table in tables:
            release = series.publish(table, allow=["counterfeits"])
    return release


def test_merged_classes_are_not_allowed_for_without_end(tmp_path: Path) -> None:
    people = patients(1_500)
    found = experiment.cover(read_release(publish(tmp_path, ri.EEquivalence(m=3, e=2), [people]), SCHEMA), people, 400)
    assert 0.92 <= found["counts"] <= 0.99
    assert 0.92 <= found["rates"] <= 0.99


@pytest.mark.parametrize("publishing", ["generalized", "anatomized"])
def test_rows_of_nobody_are_allowed_for_after_some_releases(publishing: str, tmp_path: Path) -> None:
    people = patients(2_100)
    tables = [people[150 * number : 150 * number + 1_500] for number in range(5)]
    release = publish(tmp_path, ri.MInvariance(m=4, publishing=publishing), tables)  # type: ignore[arg-type]
    assert release.counts["counterfeits"] > 20
    assert experiment.cover(read_release(release, SCHEMA), tables[-1], 400)["counts"] >= 0.92


def test_totals_that_are_only_expected_are_trusted_less_where_leaving_goes_with_the_value(tmp_path: Path) -> None:
    people, rng = patients(4_500), np.random.default_rng(2)
    soon = people["diagnosis"].is_in(["Angina", "Asthma"]).to_numpy()
    live, tables = np.arange(1_500), []
    for number in range(6):
        tables.append(people[live])
        stay = rng.random(len(live)) > np.where(soon[live], 0.4, 0.08)
        live = np.concatenate([live[stay], np.arange(1_500 + 600 * number, 1_500 + 600 * number + (~stay).sum())])
    read = read_release(publish(tmp_path, ri.Standing(form="told"), tables), SCHEMA)
    assert read.off > 0.08
    found = experiment.cover(read, tables[-1], 400)
    assert found["counts"] >= 0.92
    assert found["rates"] >= 0.92


@pytest.mark.parametrize("strategy", [ri.Static(k=10), ri.Standing(), ri.MInvariance(m=4)], ids=lambda one: one.name)
def test_how_many_people_there_are_is_known_from_the_ends_of_narrow_boxes(strategy: object, tmp_path: Path) -> None:
    people = patients(1_500).with_columns(age=pl.Series(np.random.default_rng(1).normal(48, 13, 1_500).astype(int)))
    read = read_release(publish(tmp_path, strategy, [people]), SCHEMA)
    codes, _ = experiment.encode(people, read)
    spreads, held = {0: make_spread(read, 0)}, []
    for low in range(2, 60, 2):
        for high in range(low + 3, 70, 5):
            actual = int(((codes[:, 0] >= low) & (codes[:, 0] <= high)).sum())
            found = WeighedQuery(read, spreads, {0: [(low, high)]}, None).answer()[1]
            held.append(found.low - 1e-9 <= actual <= found.high + 1e-9)
    assert np.mean(held) >= 0.92


def test_a_count_that_every_row_shows_has_no_interval(tmp_path: Path) -> None:
    people = patients(200)
    found = ri.estimate(publish(tmp_path, ri.Static(k=10), [people]), "diagnosis=Flu")
    assert found.low == found.count == found.high == (people["diagnosis"] == "Flu").sum()
