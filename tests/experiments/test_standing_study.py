"""The studies of standing classes, on a slice: a flat curve beside a steep one, and raking that mends ageing shares."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "experiments"))
pytest.importorskip("altair")
standing_study = pytest.importorskip("standing_study")


def test_standing_tells_after_four_releases_what_it_told_after_one_and_m_invariance_does_not(shared_data: Path) -> None:
    adult = standing_study.read_adult(shared_data)
    names = {"m": standing_study.FAMILY["m-invariance, m=4"], "s": standing_study.STANDING["standing, c=.4 l=4 k=8"]}
    rows = {(row["strategy"], row["release"]): row for row in standing_study.follow_risk(adult, 3_000, 4, 0.1, names)}
    first, last = rows["s", 1], rows["s", 4]
    assert last["first belief"] == pytest.approx(first["first belief"], abs=1e-6)
    assert last["first right"] == pytest.approx(first["first right"], abs=1e-6)
    assert last["first belief"] < last["first statistics"] + 0.06
    assert last["first right"] < last["first statistics right"] + 0.09
    assert last["later belief"] < last["later statistics"] + 0.09
    assert rows["m", 4]["first right"] > 0.9


def test_raking_mends_what_leaving_by_value_does(shared_data: Path) -> None:
    adult = standing_study.in_ranges(standing_study.read_adult(shared_data))
    common = np.argsort(-np.bincount(adult.values))[:2]
    leaving = {int(value): 4.0 for value in common}
    found = next(
        row
        for row in standing_study.read_errors(adult, 3_000, 8, 0.1, leaving)
        if row["strategy"] == "standing, c=.4 l=4 k=8"
    )
    assert found["wide raked"] < 0.75 * found["wide told"]


def test_pages_are_tables_of_what_was_measured() -> None:
    rows = [{"strategy": "x", "release": 3, "first belief": 0.25}]
    text = standing_study.tabulate(rows, ("strategy", "release", "first belief"))
    assert text.splitlines()[-1] == "| x | 3 | 0.250 |"
