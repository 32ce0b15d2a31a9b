"""Classes too large for an exact sum are dealt nearly as an exact sum would."""

from __future__ import annotations

import numpy as np
import pytest

from reissue.arrays.permanent import Deals, deal, deal_exactly

ROOMY = np.array([5, 3, 2, 6])


def one_class(members: int) -> Deals:
    return Deals(np.array([0, members]), np.array([0, len(ROOMY)]), ROOMY)


@pytest.mark.parametrize("members", [16, 12])
@pytest.mark.parametrize(("sharpness", "furthest"), [(0.0, 1e-6), (1.0, 0.02), (3.0, 0.15)])
def test_a_large_class_is_dealt_nearly_exactly(members: int, sharpness: float, furthest: float) -> None:
    for seed in range(20):
        priors = np.exp(sharpness * np.random.default_rng(seed).normal(size=members * len(ROOMY)))
        near, exact = deal(priors, one_class(members), most=1)
        truth, _ = deal_exactly(priors, one_class(members))
        assert not exact.any()
        np.testing.assert_allclose(near.reshape(members, -1).sum(axis=1), 1.0)
        assert np.abs(near - truth).max() < furthest
        assert np.abs(near - truth).mean() < furthest / 5


def test_a_small_class_is_dealt_exactly() -> None:
    priors = np.random.default_rng(1).random(16 * len(ROOMY))
    found, exact = deal(priors, one_class(16))
    assert exact.all()
    np.testing.assert_array_equal(found, deal_exactly(priors, one_class(16))[0])


def test_five_members_who_can_only_have_one_value_take_nearly_all_its_five_rows() -> None:
    priors = np.random.default_rng(2).random((16, len(ROOMY)))
    priors[:5, 1:] = 0.0
    found, _ = deal(priors.reshape(-1), one_class(16), most=1)
    found = found.reshape(16, -1)
    np.testing.assert_allclose(found[:5, 0], 1.0)
    assert found[:5, 1:].max() == 0.0
    assert found[5:, 0].max() < 0.01
