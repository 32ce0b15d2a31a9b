"""The numbers that intervals are made of, against what defines them."""

from __future__ import annotations

import numpy as np
import pytest

from reissue.estimating.intervals import Chance, lean, meet
from reissue.estimating.reading import _find_crowding, _find_mixture, _find_off
from reissue.estimating.spreads import Spread


@pytest.mark.parametrize("odds", [0.05, 0.7, 1.0, 1.3, 30.0])
def test_two_sets_of_a_class_meet_by_their_odds_ratio(odds: float) -> None:
    """Who is in both, in one alone, in the other alone and in none make a table of just this odds ratio."""
    rng = np.random.default_rng(1)
    whole = rng.uniform(2.0, 40.0, 200)
    one, other = (rng.uniform(0.05, 0.95, 200) * whole for _ in range(2))
    both = meet(one, other, whole, odds)
    assert (both >= np.maximum(0.0, one + other - whole) - 1e-9).all()
    assert (both <= np.minimum(one, other) + 1e-9).all()
    assert np.allclose(both * (whole - one - other + both), odds * (one - both) * (other - both))


def test_who_leans_has_other_odds_and_nothing_and_everything_stay() -> None:
    part, by = np.array([0.0, 0.2, 0.5, 0.9, 1.0]), np.array([1.0, -2.0, 0.5, 3.0, -1.0])
    moved = lean(part, by)
    assert moved[[0, 4]].tolist() == [0.0, 1.0]
    inner = slice(1, 4)
    before, after = part[inner] / (1 - part[inner]), moved[inner] / (1 - moved[inner])
    assert np.allclose(np.log(after / before), by[inner])


def test_a_box_is_as_wide_as_its_share_of_the_domain() -> None:
    boxes = np.array([[10, 30], [0, 50], [20, 20], [-5, 10]], dtype=np.int32)
    spread = Spread(boxes, 0, 50, "numbers")
    assert spread.width[spread.of_row].tolist() == [0.4, 1.0, 0.0, 0.2]
    assert Spread(np.array([[7, 7]], dtype=np.int32), 7, 7, "numbers").width.tolist() == [0.0]


def test_a_part_of_a_box_is_its_part_of_the_codes_and_of_the_people_there() -> None:
    """Ten people are known to be 0..4; so are, as is learned, most of those who may be anywhere in 0..9."""
    boxes = np.array([[0, 4]] * 10 + [[0, 9]] * 2, dtype=np.int32)
    even, learned = Spread(boxes, 0, 9, "numbers").parts([(0, 2), (8, 9)])
    assert np.allclose(even, [3 / 5] * 10 + [5 / 10] * 2)
    below, above = 10 + 2 / 2, 2 / 2
    assert np.allclose(learned, [3 / 5] * 10 + [(below * 3 / 5 + above * 2 / 5) / (below + above)] * 2)


def test_classes_that_are_mixed_from_everywhere_are_not_learned_from() -> None:
    """The part of the variation inside classes: none where all of a class are alike, all where classes are alike."""
    boxes = np.repeat(np.array([0, 0, 10, 10, 20, 20], dtype=np.int32), 2).reshape(6, 1, 2)
    assert _find_mixture(boxes, np.array([0, 0, 1, 1, 2, 2], dtype=np.int32)) == pytest.approx(0.0)
    assert _find_mixture(boxes[[0, 2, 4, 0, 2, 4]], np.array([0, 0, 0, 1, 1, 1], dtype=np.int32)) == pytest.approx(1.0)
    assert _find_mixture(np.full((4, 2, 2), 7, dtype=np.int32), np.zeros(4, dtype=np.int32)) == 1.0
    halves = np.array([[0, 0], [10, 10], [20, 20], [30, 30]], dtype=np.int32).reshape(4, 1, 2)
    assert _find_mixture(halves, np.array([0, 0, 1, 1], dtype=np.int32)) == pytest.approx(100 / 500)


def test_of_a_narrow_box_somebody_is_at_each_end() -> None:
    """Of four one each, of two both; the rest lie where all boxes together suggest, and whole boxes stay whole."""
    boxes = np.array([[10, 19]] * 4 + [[30, 39]] * 2 + [[50, 50]], dtype=np.int32)
    together = np.array([4] * 4 + [2] * 2 + [1])
    spread = Spread(boxes, 0, 99, "numbers", together)
    even, learned = spread.parts([(10, 10), (30, 34)])
    assert np.allclose(even, [1 / 4 + 2 / 4 / 10] * 4 + [1 / 2] * 2 + [0])
    assert even[0] < learned[0] < 1 / 2, "as many are seen at the ends as everywhere between"
    assert np.allclose(spread.parts([(0, 99)]), 1.0)
    plain = Spread(boxes, 0, 99, "numbers").parts([(10, 10)])[0]
    assert np.allclose(plain, [1 / 10] * 4 + [0] * 3)


@pytest.mark.parametrize(("found", "variance"), [(3.0, 3.0), (50.0, 20.0), (400.0, 4.0)])
def test_chance_misses_more_above_than_below(found: float, variance: float) -> None:
    """Each bound is the number from which the one that was found is just 1.96 deviations away."""
    low, high = Chance(variance, 0.0, 0.0).find_bounds(found)
    assert low < found < high
    assert high - found > found - low
    for bound in (low, high):
        assert (bound - found) ** 2 == pytest.approx(1.96**2 * variance * bound / found)
    share, rows = found / 500, 500.0
    low, high = Chance(share * (1 - share) / rows, 0.0, 0.0, 1.0).find_bounds(share)
    for bound in (low, high):  # Wilson's interval
        assert (bound - share) ** 2 == pytest.approx(1.96**2 * bound * (1 - bound) / rows)


def test_what_is_certain_has_no_interval_and_what_was_not_dealt_may_be_there() -> None:
    assert Chance(0.0, 0.0, 0.0).find_bounds(7.0) == (7.0, 7.0)
    assert Chance(0.0, 0.0, 0.0).find_bounds(0.0) == (0.0, 0.0)
    low, high = Chance(0.0, 0.0, 1.0).find_bounds(0.0)
    assert low == 0.0
    assert high == pytest.approx(1.96**2)


def test_classes_are_crowded_by_how_many_have_one_of_their_values() -> None:
    rows = np.array([2.0, 2.0])
    assert _find_crowding(np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]), rows) == pytest.approx(3 / 4)
    assert _find_crowding(np.array([[2.0, 1.0, 0.0], [0.0, 1.0, 1.0]]), rows) == 0.0, "not all equally often"


def test_expected_totals_are_as_far_off_as_they_are_from_the_classes() -> None:
    shown = np.array([100.0, 100.0])
    assert _find_off(np.array([100, 100]), shown, 0.0) == pytest.approx(0.02)
    leaving = _find_off(np.array([80, 120]), shown, 0.0)
    assert leaving == pytest.approx(np.sqrt(0.02**2 + (np.log(0.8) ** 2 + np.log(1.2) ** 2) / 2))
    assert _find_off(np.array([80, 120]), shown, 0.5) < leaving, "in part by chance"
