"""The breach probabilities against the lemmas written out, and n-Choose against trying every n."""

from __future__ import annotations

import numpy as np
import pytest

from reissue.errors import InfeasiblePolicy, SettingsError
from reissue.methods.correlation.breach_probability import (
    breach_probability,
    choose_degree,
    ct_probability,
    find_longest_life,
    hc_probability,
)


def f(p: float, lived: int, m: int, n: int) -> float:
    return (1 - (1 - p) ** lived * (1 - (p - p / m) ** n) ** (lived * (m // n))) ** (m - 1)


def test_the_lemmas_as_the_paper_writes_them() -> None:
    rng = np.random.default_rng(1)
    for _ in range(500):
        p, lived, m = float(rng.random() * 0.3), int(rng.integers(1, 60)), int(rng.integers(2, 12))
        n = int(rng.integers(1, m + 1))
        assert ct_probability(p, lived) == pytest.approx(1 - (1 - p) ** lived)
        assert hc_probability(p, lived, m, n) == pytest.approx(
            1 - (1 - (p - p / m) ** n) ** (lived * (m // n)), abs=1e-12
        )
        assert breach_probability(p, lived, m, n) == pytest.approx(f(p, lived, m, n), abs=1e-12)


def test_the_papers_parameters() -> None:
    assert choose_degree(0.04, 24, 6, 0.1) == 3
    assert choose_degree(0.04, 21, 6, 0.1) == 2  # the paper runs 3 for both
    assert breach_probability(0.04, 21, 6, 2) == pytest.approx(0.081, abs=5e-4)
    assert breach_probability(0.04, 24, 6, 2) < 0.15
    assert breach_probability(0.04, 24, 6, 3) < 0.1
    assert breach_probability(0.04, 24, 6, 1) > 0.9


def test_n_choose_takes_the_smallest_degree_or_refuses() -> None:
    rng = np.random.default_rng(2)
    refused = 0
    for _ in range(250):
        p, lived, m = float(rng.random() * 0.2), int(rng.integers(1, 40)), int(rng.integers(2, 10))
        h = float(rng.uniform(0.01, 1))
        enough = [n for n in range(1, m + 1) if f(p, lived, m, n) < h]
        if enough:
            assert choose_degree(p, lived, m, h) == enough[0]
        else:
            refused += 1
            with pytest.raises(InfeasiblePolicy, match="cannot hold"):
                choose_degree(p, lived, m, h)
    assert refused > 25


def test_the_remedies_of_a_refusal_work() -> None:
    with pytest.raises(InfeasiblePolicy, match=r"\(L=24\), or raise m to 18, or accept .* \(h above 0.4987\)"):
        choose_degree(0.04, 50, 6, 0.1)
    assert choose_degree(0.04, 24, 6, 0.1) == 3
    assert choose_degree(0.04, 50, 18, 0.1) <= 18
    assert choose_degree(0.04, 50, 6, 0.4988) <= 6


def test_the_longest_life_is_the_longest() -> None:
    rng = np.random.default_rng(3)
    for _ in range(200):
        p, m, h = float(rng.uniform(0.01, 0.5)), int(rng.integers(2, 9)), float(rng.uniform(0.01, 0.9))
        n = int(rng.integers(1, m + 1))
        lived = find_longest_life(p, m, h, n)
        assert lived == 0 or f(p, lived, m, n) < h
        assert f(p, lived + 1, m, n) >= h * (1 - 1e-9)


def test_extremes() -> None:
    assert breach_probability(0.0, 24, 6, 2) == 0.0
    assert breach_probability(1.0, 1, 6, 2) == 1.0
    with pytest.raises(InfeasiblePolicy, match="lower p"):
        choose_degree(1.0, 5, 3, 0.1)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ((-0.1, 5, 3, 0.1), "p is -0.1; "),
        ((0.1, 0, 3, 0.1), "L is 0; "),
        ((0.1, 5, 1, 0.1), "m is 1; "),
        ((0.1, 5, 3, 0.0), "h is 0.0; "),
        ((0.1, 5, 3, 1.5), "h is 1.5; "),
    ],
)
def test_settings_out_of_range_are_refused(settings: tuple[float, int, int, float], told: str) -> None:
    with pytest.raises(SettingsError, match=f"^{told}"):
        choose_degree(*settings)


@pytest.mark.parametrize("chance", [hc_probability, breach_probability])
@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"p": 1.5}, "p is 1.5; "),
        ({"lived": 0}, "L is 0; "),
        ({"m": 1}, "m is 1; "),
        ({"n": 0}, "n is 0; it must be between 1 and m=6."),
        ({"n": 7}, "n is 7; it must be between 1 and m=6."),
    ],
    ids=str,
)
def test_chances_of_numbers_that_mean_nothing_are_refused(chance, wrong: dict[str, float], told: str) -> None:
    with pytest.raises(SettingsError, match=f"^{told}"):
        chance(**{"p": 0.1, "lived": 5, "m": 6, "n": 2, **wrong})
