"""BayFrame and JS-reduce at several settings, and their runs over generated histories."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from reissue.methods.beliefs.bay_frame import BayFrame
from reissue.methods.beliefs.cycle import BeliefState
from reissue.methods.beliefs.js_reduce import JSReduce
from reissue.model.release import Candidate, Coded, Facts, History, Table
from tests.support.histories import EVERYTHING, generate

Bayesian = BayFrame | JSReduce

STRATEGIES: list[Bayesian] = [
    BayFrame(k=3, J=0.5, beta=3.0),
    BayFrame(k=4, J=0.3, t=0.4, steps=2, order="hilbert"),
    BayFrame(k=2, J=0.2, beta=2.0, estimator="omega"),
    BayFrame(k=5, J=0.25, beta=2.0, estimator="js-reduce"),
    BayFrame(k=3, J=0.6, beta=5.0, cascading="posterior"),
    JSReduce(k=3, t=0.4, J=0.4),
    JSReduce(k=5, t=0.3, J=0.5, steps=2),
]


def run(strategy: Bayesian, snapshots: list[Coded]) -> list[tuple[Coded, Candidate, Facts, History, BeliefState]]:
    made = []
    releases: list[Facts] = []
    caches: Mapping[str, Table] = {}
    for number, snapshot in enumerate(snapshots, start=1):
        history = History(list(releases), caches, 17 * number)
        candidate = strategy.publish(snapshot, history)
        facts = candidate.facts(number, snapshot)
        caches = strategy.remember(caches, facts)
        releases.append(facts)
        made.append((snapshot, candidate, facts, history, BeliefState.read(caches)))
    return made


def histories(seed: int, rows: int = 300, values: int = 5, skew: float = 0.4) -> list[Coded]:
    rng = np.random.default_rng(seed)
    return generate(rng, releases=5, rows=rows, values=values, turnover=EVERYTHING, skew=skew)
