"""The experiment of standing classes, on a slice: what the full run reports holds in small."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "experiments"))
pytest.importorskip("altair")
standing_adult = pytest.importorskip("standing_adult")


def test_five_thousand_rows_tell_what_the_method_says_they_do(shared_data: Path) -> None:
    """Boxes as ranges, 4 releases: errors and detail of the published table, each within a third."""
    table = standing_adult.in_ranges(standing_adult.read(shared_data))
    found = standing_adult.measure(table, standing_adult.SETTINGS["c=.4 l=4 k=8 row_k=4 row_l=1"], 5_000, 4)
    expected = {"wide told": 0.108, "wide flat": 0.128, "narrow told": 0.085, "narrow flat": 0.1, "detail lost": 0.06}
    for measure, number in expected.items():
        assert found[measure] < number * 4 / 3, measure


def test_detail_lost_in_groups_of_the_hierarchies(shared_data: Path) -> None:
    found = standing_adult.measure(standing_adult.read(shared_data), standing_adult.SETTINGS["c=.4 l=4 k=8"], 5_000, 2)
    assert found["detail lost"] < 0.15
