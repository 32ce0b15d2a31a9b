"""What the sentences of findings say is true: each is read back and evaluated on the series, class by class."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from reissue.methods.attack import Finding
from reissue.methods.baselines.static import Static
from reissue.methods.bcf.attack import Correspondence
from reissue.methods.beliefs.attack import BackgroundKnowledge
from reissue.methods.correlation.attack import HistoricalCorrelation
from reissue.methods.correlation.strategy import CorSplit
from reissue.methods.equivalence.attack import Equivalence
from reissue.methods.incremental.difference_attack import Difference
from reissue.methods.incremental.intersection_attack import Intersection
from reissue.methods.incremental.tracing_attack import RecordTracing
from reissue.methods.invariance.attack import Association
from reissue.methods.invariance.known_algorithm_attack import KnownAlgorithm
from reissue.methods.invariance.strategy import MInvariance
from reissue.methods.learning.attack import Learning
from reissue.methods.registry import ATTACKS
from reissue.methods.worlds.attack import PossibleWorlds
from reissue.model.observed import Observed
from tests.audit.sentence_checks import (
    check_association,
    check_beliefs,
    check_correlation,
    check_correspondence,
    check_difference,
    check_equivalence,
    check_intersection,
    check_known_algorithm,
    check_learning,
    check_tracing,
    check_worlds,
)
from tests.methods.learning.townspeople import live_on, publish, town
from tests.support.histories import CHURN, INSERTS, generate, observe, run_series
from tests.support.plain_series import Truth, tiny_series


def tiny(grows: bool = False, people: int = 7, count: int = 40) -> Iterator[Observed]:
    for seed in range(count):
        yield tiny_series(np.random.default_rng(seed), people=people, grows=grows)


def with_counterfeits() -> Iterator[Observed]:
    for seed in range(4):
        snapshots = generate(np.random.default_rng(seed), releases=3, rows=40, values=5, turnover=CHURN, skew=0.5)
        yield observe(run_series(CorSplit(m=2, n=1, on_ineligible="counterfeit"), snapshots, seed), snapshots[-1])


def growing() -> Iterator[Observed]:
    yield from tiny(grows=True, people=12, count=12)
    for seed in range(3):  # people leave and come back: a new chain begins
        snapshots = generate(
            np.random.default_rng(seed), releases=4, rows=60, values=4, turnover=(CHURN, INSERTS)[seed % 2]
        )
        yield observe(run_series(Static(k=4), snapshots, seed), snapshots[-1])


def from_a_town() -> Iterator[Observed]:
    yield publish(MInvariance(m=4, on_ineligible="counterfeit"), live_on(town(2400, dependence=3.0), 1000, 4))


CASES: dict[str, tuple[Callable[[], Iterator[Observed]], object, Callable[[Truth, Finding, object], None], int]] = {
    "intersection": (lambda: tiny(people=12), Intersection(c=0.4), check_intersection, 100),
    "difference": (lambda: tiny(people=12), Difference(k=3, c=0.5), check_difference, 80),
    "record-tracing": (lambda: tiny(grows=True, people=12), RecordTracing(k=4), check_tracing, 100),
    "correspondence": (growing, Correspondence(k=4), check_correspondence, 50),
    "association": (lambda: tiny(people=12), Association(m=2, invariant=True), check_association, 100),
    "equivalence": (lambda: [*tiny(), *with_counterfeits()], Equivalence(e=3), check_equivalence, 100),  # type: ignore[dict-item,return-value]
    "historical-correlation": (
        lambda: [*tiny(), *with_counterfeits()],  # type: ignore[dict-item,return-value]
        HistoricalCorrelation(n=3, compromised=(0, 1)),
        check_correlation,
        100,
    ),
    "background-knowledge": (lambda: tiny(people=12), BackgroundKnowledge(threshold=0.1), check_beliefs, 100),
    "possible-worlds": (lambda: tiny(people=6), PossibleWorlds(c=0.4), check_worlds, 50),
    "learning": (from_a_town, Learning(c=0.4), check_learning, 10),
    "known-algorithm": (from_a_town, KnownAlgorithm(c=0.4), check_known_algorithm, 20),
}


def test_every_attack_is_read_back() -> None:
    assert set(CASES) == set(ATTACKS)


@pytest.mark.parametrize("name", CASES)
def test_a_findings_sentence_is_true_of_the_series(name: str) -> None:
    make, attack, check, least = CASES[name]
    told = 0
    for series in make():
        everybody = {s for r in series.releases if r.members is not None for s in r.members.subjects.tolist()}
        if getattr(attack, "compromised", None) and not {0, 1} <= everybody:
            continue
        for finding in attack.run(series).findings:  # type: ignore[attr-defined]
            check(Truth(series), finding, attack)
            told += 1
    assert told >= least, "or the test proves nothing"
