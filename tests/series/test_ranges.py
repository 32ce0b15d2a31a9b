"""Cells that show ranges of a hierarchy's values: narrower, read back exactly, refused where they could be misread."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv

import reissue as ri
from reissue.errors import SchemaError, SnapshotError
from reissue.hierarchy import Hierarchy
from reissue.methods.strategy import Strategy

PLACES = {f"region {r}": [f"town {r}{t}" for t in range(4)] for r in range(4)}
TOWNS = [town for towns in PLACES.values() for town in towns]


def schema(labels: str = "ranges") -> ri.Schema:
    return ri.Schema(
        identifier="person",
        quasi_identifiers={
            "age": {"type": "int", "weight": 2},
            "town": {"hierarchy": PLACES, "labels": labels},
            "job": {"type": "categorical", "labels": labels},
        },
        sensitive="illness",
    )


def people(rows: int) -> pa.Table:
    """The first of 500 people; those from 300 on have jobs that lie, in their order, between those of the others."""
    rng = np.random.default_rng(1)
    job = np.where(np.arange(500) < 300, rng.integers(0, 5, 500) * 2, rng.integers(0, 9, 500))
    whole = {
        "person": [f"p{i}" for i in range(500)],
        "age": rng.integers(18, 90, 500),
        "town": [TOWNS[t] for t in rng.integers(0, len(TOWNS), 500)],
        "job": [f"job {j}" for j in job],
        "illness": [f"illness {i}" for i in rng.integers(0, 8, 500)],
    }
    return pa.table(whole).slice(0, rows)


@pytest.mark.parametrize(
    "strategy", [ri.Static(k=5), ri.Standing(), ri.MInvariance(m=4), ri.BCF(k=5)], ids=lambda s: s.name
)
def test_a_series_shows_ranges_that_hold_every_row_and_read_back(tmp_path: Path, strategy: Strategy) -> None:
    """Also after new jobs came into the middle of the order: what was published before still holds its people."""
    series = ri.Series.create(tmp_path / "s", schema(), strategy)
    series.publish(people(300))
    series.publish(people(500))
    series.verify(rebuild=True)
    coding = series.coding
    for number in (1, 2):
        folder = tmp_path / "s" / "releases" / f"{number:04d}"
        release = csv.read_csv(folder / "release.csv")
        for name in ("town", "job"):
            found = release.column(name).unique().to_pylist()
            intervals = [coding.parse(name, label) for label in found]
            assert [coding.label(name, *interval) for interval in intervals] == found
            if strategy.name != "bcf":
                assert any(".." in label for label in found)
        about = json.loads((folder / "release.json").read_text())
        reading = {column["name"]: column.get("reading") for column in about["columns"]}
        assert "town 00, town 01" in reading["town"]
        assert "alphabetical order" in reading["job"]


def test_an_audit_of_the_files_alone_reads_the_ranges_as_the_series_does(tmp_path: Path) -> None:
    series = ri.Series.create(tmp_path / "s", schema(), ri.Static(k=5))
    for rows in (300, 500):
        series.publish(people(rows))
    releases = [tmp_path / "s" / "releases" / f"{number:04d}" / "release.csv" for number in (1, 2)]
    own = series.audit(attacks=["intersection"], c=0.6)
    foreign = ri.audit(releases=releases, snapshots=[people(300), people(500)], schema=schema(), match="content")
    for ours, theirs in zip(own.observed.releases, foreign.observed.releases, strict=True):
        assert set(map(bytes, ours.boxes)) == set(map(bytes, theirs.boxes))


def test_ranges_lose_less_than_groups(tmp_path: Path) -> None:
    lost = {}
    for labels in ("groups", "ranges"):
        series = ri.Series.create(tmp_path / labels, schema(labels), ri.Static(k=5))
        lost[labels] = series.publish(people(500)).utility["gcp"]
    assert lost["ranges"] < 0.9 * lost["groups"]


@pytest.mark.parametrize("suppress", [0.0, 0.05])
def test_one_level_for_everybody_may_lie_between_those_of_the_hierarchy(tmp_path: Path, suppress: float) -> None:
    """A value has the same label in every row, as ever; classes have k rows, and less is lost than in groups."""
    lost = {}
    for labels in ("groups", "ranges"):
        strategy = ri.Static(k=5, algorithm="incognito", suppress=suppress)
        series = ri.Series.create(tmp_path / labels, schema(labels), strategy)
        lost[labels] = series.publish(people(500)).utility["gcp"]
        release = csv.read_csv(tmp_path / labels / "releases" / "0001" / "release.csv")
        for name in ("town", "job"):
            found = release.column(name).unique().to_pylist()
            intervals = sorted(series.coding.parse(name, label) for label in found)
            assert all(high < low for (_, high), (low, _) in pairwise(intervals))
        sizes = release.group_by(["age", "town", "job"]).aggregate([([], "count_all")])["count_all"].to_pylist()
        assert min(sizes) >= 5
        series.verify(rebuild=True)
    assert lost["ranges"] < 0.9 * lost["groups"]


def test_labels_of_ranges_are_read_back_whatever_points_are_in_them() -> None:
    hierarchy = Hierarchy.from_nested({"x": ["St.", "b", "c."], "y": ["d", "e"]})
    for lo in range(5):
        for hi in range(lo, 5):
            assert hierarchy.parse(hierarchy.label(lo, hi)) == (lo, hi)
    assert hierarchy.label(0, 3) == "St...d"
    with pytest.raises(SchemaError, match="not a label"):
        hierarchy.parse("d..b")


def test_values_that_ranges_could_be_confused_with_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match=r"'a\.\.b' would confuse"):
        ri.Categorical({"x": ["a", "b", "a..b"]}, labels="ranges")
    with pytest.raises(SchemaError, match=r"'\.b' would confuse"):
        ri.Categorical({"x": ["a", ".b"]}, labels="ranges")
    series = ri.Series.create(tmp_path / "s", schema(), ri.Static(k=5))
    wrong = people(200).to_pandas()
    wrong.loc[3, "job"] = "a..b"
    with pytest.raises(SnapshotError, match=r"'a\.\.b' would confuse"):
        series.publish(wrong)


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        ({"type": "int", "weight": 0}, "weight is 0. Give a number"),
        ({"type": "int", "weight": float("nan")}, "weight is nan"),
        ({"type": "int", "labels": "ranges"}, "numbers always show ranges"),
        ({"type": "categorical", "labels": "range"}, "Did you mean 'ranges'"),
    ],
)
def test_mistakes_are_told(attribute: dict[str, object], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        ri.Schema(identifier="id", quasi_identifiers={"x": attribute}, sensitive="s")


def test_weights_and_labels_survive_storage() -> None:
    made = schema()
    assert ri.Schema.from_stored(made.to_dict()) == made
    assert ri.Schema.from_dict(made.to_dict()) == made
