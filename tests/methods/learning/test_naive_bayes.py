"""Naive Bayes says what counting says."""

from __future__ import annotations

import numpy as np
import pytest

from reissue.methods.learning.statistics import STRENGTH, NaiveBayes

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
