"""Naive Bayes says what counting says."""

from __future__ import annotations

import numpy as np
import pytest

from reissue.methods.learning.statistics import STRENGTH, NaiveBayes, _bin_codes
from reissue.model.domain import Domain
from tests.support.histories import uniform_tree

WIDTHS = np.array([3, 2])


def draw(rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.integers(0, WIDTHS, (rows, 2)).astype(np.int32), rng.random((rows, 4))


def test_predictions_are_those_of_counting_by_hand() -> None:
    bins, weights = draw(60)
    found = NaiveBayes.fit(bins, WIDTHS, weights).predict(bins[:5])
    totals = weights.sum(axis=0)
    for row in range(5):
        likely = (totals + STRENGTH / 4) / (totals.sum() + STRENGTH)
        for a, width in enumerate(WIDTHS.tolist()):
            same = bins[:, a] == bins[row, a]
            usual = (weights[same].sum() + 1) / (totals.sum() + width)
            likely = likely * (weights[same].sum(axis=0) + STRENGTH * usual) / (totals + STRENGTH)
        np.testing.assert_allclose(found[row], likely / likely.sum())


def test_attributes_that_tell_nothing_leave_the_shares_of_the_values() -> None:
    weights = np.tile([[3.0, 1.0]], (400, 1))
    bins = np.stack([np.arange(400) % 3, np.arange(400) % 2], axis=1).astype(np.int32)
    found = NaiveBayes.fit(bins, WIDTHS, weights).predict(bins)
    assert found[:, 0] == pytest.approx(0.75, abs=0.01)


def test_a_bin_that_only_one_value_has_points_to_it() -> None:
    bins = np.repeat(np.array([[0, 0], [1, 1]], dtype=np.int32), 500, axis=0)
    weights = np.repeat(np.eye(2), 500, axis=0)
    assert NaiveBayes.fit(bins, WIDTHS, weights).predict(bins)[:500, 0].min() > 0.95


def test_many_codes_are_put_together_level_by_level_or_by_their_rows() -> None:
    """At most 64 bins: the finest level of a hierarchy with so few groups; of numbers, about as many rows in each."""
    few = Domain("few", 5, 68)
    assert _bin_codes(np.zeros(9, dtype=np.int32), few).tolist() == list(range(64))
    wide = Domain("tree", 0, 119, uniform_tree(4, 5, 6))
    assert _bin_codes(np.zeros(9, dtype=np.int32), wide).tolist() == np.repeat(np.arange(20), 6).tolist()
    column = np.repeat(np.arange(1000, dtype=np.int32), 3)
    bins = _bin_codes(column, Domain("numbers", 0, 999))
    assert (np.diff(bins) >= 0).all()
    sizes = np.bincount(bins[column])
    assert len(sizes) == 64
    assert sizes.max() - sizes.min() <= 3
