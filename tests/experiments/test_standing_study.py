"""The studies of standing classes, on a slice: a flat curve beside a steep one, and raking that mends ageing shares."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from reissue.methods.standing.strategy import Standing
from reissue.model.release import Coded, Facts

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "experiments"))
pytest.importorskip("sklearn")
study = pytest.importorskip("standing_study")
readers = pytest.importorskip("standing_readers")
report = pytest.importorskip("standing_study_report")


@pytest.fixture(scope="module")
def adult(shared_data: Path) -> Coded:
    table: Coded = study.read_adult(shared_data)
    return table


def last_of(strategy: Standing, table: Coded, *history: object) -> tuple[Facts, Coded]:
    made = study.publish(strategy, readers.churn(table, *history))
    return made.releases[-1], made.snapshots[-1]


def test_standing_tells_after_four_releases_what_it_told_after_one_and_m_invariance_does_not(adult: Coded) -> None:
    people, others = study.divide(adult, 6_500)
    scene = study.Scene("some", lambda: readers.churn(people, 5_000, 4, 0.1), others)
    rows = {
        (name, row["release"]): row
        for name in (study.DEFAULT, "m-invariance, m=4")
        for row in study.follow(scene, name, study.STRATEGIES[name], False)
    }
    first, last = rows[study.DEFAULT, 1], rows[study.DEFAULT, 4]
    assert last["first belief"] == pytest.approx(first["first belief"], abs=1e-4)
    assert last["first right"] == pytest.approx(first["first right"], abs=1e-3)
    assert last["first belief"] < last["first statistics"] + 0.06
    assert last["first right"] < last["first statistics right"] + 0.09
    assert last["later belief"] < last["later statistics"] + 0.09
    assert rows["m-invariance, m=4", 4]["first right"] > 2 * last["first right"]
    assert rows["m-invariance, m=4", "all"]["wide told"] > 1.5 * rows[study.DEFAULT, "all"]["wide told"]


def test_raking_mends_what_leaving_by_value_does(adult: Coded) -> None:
    common = np.argsort(-np.bincount(adult.values))[:2]
    leaving = {int(value): 4.0 for value in common}
    facts, snapshot = last_of(Standing(totals=0.5), readers.in_ranges(adult), 3_000, 8, 0.1, leaving)
    found = readers.query_errors(facts, snapshot, wide=True)
    assert found["raked"] < 0.75 * found["told"]


def test_who_learns_from_all_classes_is_off_by_sixty_percent_of_m_invariance_under_its_promise(adult: Coded) -> None:
    history = (adult, 5_000, 6, 0.1)
    found = readers.measure_reading(*last_of(study.STRATEGIES["standing, c=.25 l=4 k=4"], *history))
    others = readers.measure_reading(*last_of(study.STRATEGIES["m-invariance, m=4"], *history))
    for width in ("wide", "narrow"):
        assert found[f"{width} learned"] < 0.6 * others[f"{width} told"], width
    assert found["wide learned"] < 0.8 * found["wide told"]


def test_five_thousand_rows_tell_what_the_method_says_they_do(adult: Coded) -> None:
    """Boxes as ranges, 4 releases: errors and detail of the published table, each within a third."""
    strategy = Standing(totals=0.5, row_k=4, row_l=1)
    found = readers.measure_reading(*last_of(strategy, readers.in_ranges(adult), 5_000, 4, 0.1))
    expected = {"wide told": 0.108, "wide flat": 0.128, "narrow told": 0.085, "narrow flat": 0.1, "detail lost": 0.06}
    for measure, number in expected.items():
        assert found[measure] < number * 4 / 3, measure


def test_detail_lost_in_groups_of_the_hierarchies(adult: Coded) -> None:
    facts, snapshot = last_of(Standing(), adult, 5_000, 2, 0.1)
    assert readers.detail_lost(facts, snapshot) < 0.15


def test_people_come_and_go_as_the_history_says(adult: Coded) -> None:
    sizes = [len(one) for one in readers.churn(adult, 1_000, 4, 0.1, growth=-0.05)]
    assert sizes == [1_000, 950, 903, 858]
    grown = list(readers.churn(adult, 1_000, 3, 0.0, growth=0.1))
    assert set(grown[0].subjects.tolist()) < set(grown[2].subjects.tolist())


def test_the_page_of_the_strategy_says_what_was_measured() -> None:
    measured = json.loads((ROOT / "docs" / "experiments" / "standing" / "measured.json").read_text(encoding="utf-8"))
    page = (ROOT / "docs" / "strategies" / "standing.md").read_text(encoding="utf-8")
    rows = [row for row in measured["rows"] if row["scene"] == "Adult, 10% replaced" and row["release"] == 24]
    for name, told in {
        "m-invariance, m=4": "m-invariance, m=4",
        study.DEFAULT: "standing, defaults",
        "standing, c=.25 l=4 k=4": "standing, c=.25, k=4: the promise of m = 4",
    }.items():
        row = next(row for row in rows if row["strategy"] == name)
        shown = [
            f"{row[f'{who} {what}']:.2f}".lstrip("0") for who in ("first", "later") for what in ("belief", "right")
        ]
        assert "| {} | {} / {} | {} / {} |".format(told, *shown) in page

    end = {row["strategy"]: f"{row['first right']:.0%}" for row in rows}
    words = f"m-invariance rises to {end['m-invariance, m=4']}, standing stays at {end[study.DEFAULT]}"
    for place in ("README.md", "docs/index.md", "docs/strategies/standing.md"):
        assert words in (ROOT / place).read_text(encoding="utf-8"), place


def test_pages_are_tables_of_what_was_measured() -> None:
    rows = [{"strategy": "x", "release": 3, "first belief": 0.25}]
    text = report.tabulate(rows, ("strategy", "release", "first belief"))
    assert text.splitlines()[-1] == "| x | 3 | 0.250 |"
