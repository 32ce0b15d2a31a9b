"""Rates in an audit: what a reader of each release computes, by the pair of the config, in whatever parts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import reissue as ri
from reissue.audit.description import SeriesView, WholeSeries, Workers
from reissue.audit.rates import measure_series_rates
from reissue.errors import InputError
from reissue.model.observed import Members, Observed, ObservedRelease
from reissue.model.release import Coded
from reissue.utility import find_pair, rate_errors
from tests.audit.figures import FIRST, SECOND, SNAPSHOTS
from tests.support.hospital import hospital_schema, population, write_config

PAIR = "age x gender"


def publish_two(folder: Path, strategy: ri.MInvariance | ri.Standing) -> ri.Series:
    series = ri.Series.create(folder, hospital_schema(), strategy, seed=1)
    everybody = population(900)
    series.publish(everybody.slice(0, 600))
    series.publish(everybody.slice(150, 750))
    return series


def look(release: ObservedRelease, series: Observed) -> Coded:
    some = release.members
    assert some is not None
    return Coded(some.subjects, some.codes, some.values, series.domains, series.value_count)


@pytest.mark.parametrize("strategy", [ri.MInvariance(m=2), ri.Standing(k=5, c=0.6, l=2, form="told")])
def test_every_release_is_measured_as_its_readers_would(strategy: ri.MInvariance | ri.Standing, tmp_path: Path) -> None:
    with publish_two(tmp_path / "s", strategy) as series:
        done = series.audit(attacks=["intersection"])
    [rates] = done.rates
    assert rates.pair == PAIR
    pair = find_pair(PAIR, done.coding.attributes)
    found = [rate_errors(one, look(one, done.observed), pair) for one in done.observed.releases]
    told = [(number, one.median, one.correlation) for number, one in enumerate(found, start=1)]
    for entry, expected in zip(rates.errors, told, strict=True):
        assert entry == pytest.approx(expected, abs=1e-5)
    assert rates.error == pytest.approx((told[0][1] + told[1][1]) / 2, abs=1e-5)
    points = np.stack([side[found[-1].counted] for side in (found[-1].actual, found[-1].published)], axis=1)
    assert rates.points == np.round(points, 5).tolist()
    document: list[dict[str, Any]] = done.to_dict()["rates"]  # type: ignore[assignment]
    assert document[0]["pair"] == PAIR
    assert [one["release"] for one in document[0]["releases"]] == [1, 2]


def test_values_that_came_later_change_nothing_of_earlier_releases(tmp_path: Path) -> None:
    """A told release has totals of the values that were known when it was made."""
    everybody = population(300)
    place = everybody.column_names.index("diagnosis")
    other = everybody.set_column(
        place, "diagnosis", pa.array(["measles", "gout"] * 50 + everybody["diagnosis"].to_pylist()[100:])
    )
    with ri.Series.create(
        tmp_path / "s", hospital_schema(), ri.Standing(k=5, c=0.8, l=2, form="told"), seed=1
    ) as series:
        series.publish(everybody)
        [before] = series.audit(attacks=["intersection"]).rates
        series.publish(other)
        [after] = series.audit(attacks=["intersection"]).rates
    assert after.errors[0] == before.errors[0]


def pick(release: ObservedRelease, rest: int) -> ObservedRelease:
    """A third of the classes, and who is in them."""
    some = release.members
    assert some is not None
    rows, own = release.classes % 3 == rest, some.classes % 3 == rest
    members = Members(some.subjects[own], some.classes[own], some.codes[own], some.values[own])
    return ObservedRelease(release.number, release.boxes, release.classes[rows], release.values[rows], members)


def test_parts_that_share_no_class_add_up_to_the_whole(tmp_path: Path) -> None:
    with publish_two(tmp_path / "s", ri.MInvariance(m=2)) as series:
        whole = series.audit(attacks=["intersection"]).observed
    parts = [WholeSeries(replace(whole, releases=[pick(one, rest) for one in whole.releases])) for rest in range(3)]
    found = measure_series_rates(parts, Workers(), whole.value_count, [PAIR])
    assert found == SeriesView([WholeSeries(whole)], Workers()).measure_rates(whole.value_count, [PAIR])


def test_nothing_is_measured_where_nobody_is_known() -> None:
    assert ri.audit([FIRST, SECOND], hospital_schema(), k=2).rates == []
    [rates] = ri.audit([FIRST, SECOND], hospital_schema(), SNAPSHOTS, k=2).rates
    assert rates.errors == [(1, None, None), (2, None, None)], "no rate is of ten people"
    assert (rates.error, rates.correlation, rates.points) == (None, None, [])


def test_the_config_names_the_pairs_and_the_series_keeps_them(tmp_path: Path) -> None:
    config = write_config(tmp_path, more='\n[utility]\nrates = ["gender", "gender x age"]\n')
    with ri.Series.from_config(tmp_path / "s", config) as series:
        series.publish(population(300))
    with ri.Series.open(tmp_path / "s") as series:
        assert [one.pair for one in series.audit(attacks=["intersection"]).rates] == ["gender", "gender x age"]
    assert 'rates = ["gender", "gender x age"]' in (tmp_path / "s" / "reissue.toml").read_text(encoding="utf-8")


def test_a_pair_that_is_none_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    config = write_config(tmp_path, more='\n[utility]\nrates = ["gendre x age"]\n')
    with pytest.raises(InputError, match="Did you mean 'gender'"):
        ri.Series.from_config(tmp_path / "s", config)
    assert not (tmp_path / "s").exists()
    with pytest.raises(InputError, match="'sex' in 'sex'"):
        ri.audit([FIRST], hospital_schema(), SNAPSHOTS[:1], k=2, rates=["sex"])
