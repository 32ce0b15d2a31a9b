"""Totals: exact where nothing needs to be hidden, noise drawn once where somebody left, returned or was blended."""

from __future__ import annotations

import numpy as np
import pytest

from reissue.methods.standing.strategy import Standing
from reissue.methods.standing.totals import draw_noise, weigh_totals
from reissue.model.release import Facts
from tests.support.standing_series import Publisher, Town, standing_of


def errors(facts: Facts) -> np.ndarray:
    """All noise, of which the published totals show a part; where there is none, they are exact."""
    kept = standing_of(facts)
    assert kept.noise is not None
    assert kept.totals is not None
    if not kept.noise.any():
        assert np.array_equal(kept.totals, np.bincount(facts.values, minlength=len(kept.totals)))
    return kept.noise


def test_noise_has_the_scale_that_epsilon_asks_for_and_no_bias() -> None:
    noise = draw_noise(0.5, 200_000, np.random.default_rng(0))
    assert abs(float(noise.mean())) < 0.05
    assert float(noise.std()) == pytest.approx(np.sqrt(2) * 4, rel=0.02)
    ratio = (noise == 3).sum() / (noise == 4).sum()
    assert ratio == pytest.approx(np.exp(0.25), rel=0.05)  # one person moves two counts: e^(epsilon / 2) each


def test_first_totals_are_exact_and_stay_so_while_people_only_come() -> None:
    town, publisher = Town(np.random.default_rng(1)), Publisher(Standing(totals=0.5))
    for _ in range(3):
        town.arrive(100)
        assert not errors(publisher.publish(town.snapshot())).any()


def test_leaving_and_returning_are_hidden_and_nothing_is_drawn_twice_for_them() -> None:
    town, publisher = Town(np.random.default_rng(1)), Publisher(Standing(totals=0.5))
    town.arrive(200)
    publisher.publish(town.snapshot())
    town.leave(0.1)
    second = errors(publisher.publish(town.snapshot()))
    assert second.any()
    same = errors(publisher.publish(town.snapshot()))
    assert np.array_equal(same, second)
    town.come_back(1.0)
    assert not np.array_equal(errors(publisher.publish(town.snapshot())), second)


def test_blended_people_are_hidden() -> None:
    for seed in range(5):
        town, publisher = Town(np.random.default_rng(seed)), Publisher(Standing(totals=0.5), seed=seed)
        town.arrive(200)
        publisher.publish(town.snapshot())
        town.arrive(5)
        facts = publisher.publish(town.snapshot())
        assert errors(facts).any() or len(standing_of(facts).waiting) == 5


def test_totals_that_begin_late_hide_everybody_who_left_before() -> None:
    town = Town(np.random.default_rng(2))
    publisher = Publisher(Standing())
    town.arrive(200)
    publisher.publish(town.snapshot())
    town.leave(0.2)
    publisher.publish(town.snapshot())
    publisher.strategy = Standing(totals=0.5)
    assert errors(publisher.publish(town.snapshot())).any()


def test_a_value_that_nobody_had_before_gets_a_total() -> None:
    town, publisher = Town(np.random.default_rng(3), values=5), Publisher(Standing(totals=0.5))
    town.arrive(200)
    publisher.publish(town.snapshot())
    town.values = 6
    town.leave(0.1)
    town.arrive(100)
    totals = standing_of(publisher.publish(town.snapshot())).totals
    assert totals is not None
    assert len(totals) == 6


def test_noise_that_hides_more_than_it_tells_is_not_followed() -> None:
    rng = np.random.default_rng(0)
    expected = rng.integers(100, 900, 14)
    far = expected + rng.integers(-200, 200, 14)
    for truth, most in ((expected, 0.3), (far, 1.05)):
        noisy = [truth + draw_noise(0.5, 14, rng) for _ in range(200)]
        raked = [weigh_totals(expected, one, 0.5, 1) for one in noisy]
        before, after = (np.mean([np.sum((one - truth) ** 2) for one in some]) for some in (noisy, raked))
        assert after < most * before
