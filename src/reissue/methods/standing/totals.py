"""How many people present have each value, with noise: what readers adjust to where leaving depends on the value.

Newcomers' tokens are told by their classes, so they need no noise. The value counts of those who left, returned or were
blended since the last totals get two-sided geometric noise, drawn once. Added up over the releases, the published
totals are the true ones plus all noise drawn so far: that sum is what is kept. What is published lies between these and
the totals that are expected from the classes, nearer to them the more of the difference noise alone can explain.
"""

from __future__ import annotations

from math import exp

import numpy as np

from reissue.arrays.types import Float64, Int64
from reissue.model.release import History
from reissue.model.standing_classes import StandingClasses


def draw_noise(epsilon: float, values: int, rng: np.random.Generator) -> Int64:
    """int64[values]: two-sided geometric noise. One person moves two counts by one, so its scale is 2 / epsilon."""
    stop = 1.0 - exp(-epsilon / 2.0)
    return (rng.geometric(stop, values) - rng.geometric(stop, values)).astype(np.int64)


def add_noise(epsilon: float, before: Int64, values: int, quiet: bool, rng: np.random.Generator) -> Int64:
    """int64[values]: all noise so far. quiet: nobody left, returned or was blended since the last totals.

    before: int64[] the noise until then, of the values known then.
    """
    noise = np.zeros(values, dtype=np.int64)
    noise[: len(before)] = before
    return noise if quiet else noise + draw_noise(epsilon, values, rng)


def is_quiet(history: History, stayed: Int64, blended: bool) -> bool:
    """Whether nothing needs to be hidden. stayed: int64[] ascending, those present who had their place before."""
    if blended or not len(history):
        return not blended
    last = history.releases[-1]
    facts = StandingClasses.read(last.extras)
    return facts is not None and facts.noise is not None and np.array_equal(last.subjects[last.real], stayed)


def weigh_totals(expected: Int64, noisy: Int64, epsilon: float, draws: int) -> Int64:
    """int64[values]: what is nearest to the true totals, as far as both tell (James and Stein's estimate).

    It looks at nothing else, so it costs no epsilon. draws: how often noise was drawn, at most.
    """
    apart: Float64 = (noisy - expected).astype(np.float64)
    by_noise = 8.0 / epsilon**2 * draws * len(apart)
    trust = max(0.0, 1.0 - by_noise / max(float(apart @ apart), 1e-9))
    return np.asarray(np.rint(expected + trust * apart), dtype=np.int64)
