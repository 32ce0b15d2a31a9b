"""Learn how values depend on quasi-identifiers from one's own beliefs, and reason over all classes at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reissue.arrays.factor_graph import FactorGraph, Propagation, restrict
from reissue.arrays.types import Float64, Int32
from reissue.methods.learning.class_graph import SeriesGraph
from reissue.methods.learning.statistics import Binning, FittedStatistics
from reissue.model.domain import Domain

ALONE, TOGETHER = 2, 3
"""Rounds of learning: from single classes first, then from all classes at once. Naive Bayes is then refitted: with more
rounds it would follow its own mistakes, as it takes attributes to be independent."""
SWEEPS = 6
"""Sweeps over all classes in a round of learning; what classes said is kept from round to round."""
MOST_SWEEPS = 60
CLOSE = 1e-3
"""The last sweeps end when a person's beliefs change by less than this, on average."""


@dataclass(frozen=True, eq=False)
class SeriesBeliefs:
    """What the attacker holds of everybody, all float64[people, values].

    priors: from statistics and nothing else; final: with all classes of all releases
    sweeps, change: how long the classes were laid side by side, and what the last sweep still changed
    """

    priors: Float64
    final: Float64
    sweeps: int
    change: float


def reason(graph: FactorGraph, priors: Float64, *, most: int = MOST_SWEEPS, close: float = CLOSE) -> SeriesBeliefs:
    """Beliefs over all classes at once, from priors float64[people, values]."""
    talk = Propagation(graph)
    talk.start(priors, afresh=True)
    sweeps, change = talk.sweep(most, close)
    return SeriesBeliefs(priors, talk.beliefs, sweeps, change)


def learn(series: SeriesGraph, domains: Sequence[Domain]) -> Float64:
    """float64[people, values]: priors learned from the classes alone, by expectation maximization.

    The start is even over the values that a person's classes leave possible. O(rounds * sweeps * classes).
    """
    binning = Binning.of(series.people.codes, domains)
    bins = binning.place(series.people.codes)
    graph = series.reduced
    priors = _refit(binning, bins, restrict(np.ones(graph.possible.shape), graph.possible))
    for _ in range(ALONE):
        held = graph.add_up(graph.deal_alone(restrict(priors, graph.possible)))
        priors = _refit(binning, bins, restrict(held, graph.possible))
    talk = Propagation(graph)
    for turn in range(TOGETHER):
        talk.start(priors, afresh=turn == 0)
        talk.sweep(SWEEPS)
        priors = _refit(binning, bins, talk.beliefs)
    return priors


def refit(series: SeriesGraph, domains: Sequence[Domain], beliefs: Float64) -> Float64:
    """float64[people, values]: priors learned from beliefs about everybody."""
    binning = Binning.of(series.people.codes, domains)
    return _refit(binning, binning.place(series.people.codes), beliefs)


def _refit(binning: Binning, bins: Int32, beliefs: Float64) -> Float64:
    return FittedStatistics.fit(binning, bins, beliefs).model.predict(bins)
