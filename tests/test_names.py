"""The exported names are a promise: a change here is a change for everybody who scripts against them."""

from __future__ import annotations

import reissue
import reissue.attacks

NAMES = [
    "CheckedIncognito",
    "Knowledge",
    "Audit",
    "adopt",
    "audit",
    "BCF",
    "BayFrame",
    "Categorical",
    "CheckedMondrian",
    "CorSplit",
    "EEquivalence",
    "Estimate",
    "Hierarchy",
    "JSReduce",
    "MInvariance",
    "Merge",
    "Numeric",
    "Release",
    "Schema",
    "Series",
    "Standing",
    "Static",
    "__version__",
    "attacks",
    "clinic",
    "errors",
    "estimate",
    "utility",
    "weights",
]
ATTACKS = [
    "BackgroundKnowledge",
    "Association",
    "Attack",
    "Correspondence",
    "Difference",
    "Equivalence",
    "Finding",
    "HistoricalCorrelation",
    "Intersection",
    "KnownAlgorithm",
    "Learning",
    "Outcome",
    "PossibleWorlds",
    "RecordTracing",
]


def test_public_names() -> None:
    assert sorted(reissue.__all__) == sorted(NAMES)
    assert dir(reissue) == sorted(reissue.__all__)
    for name in NAMES:
        assert getattr(reissue, name) is not None


def test_public_attacks() -> None:
    assert sorted(reissue.attacks.__all__) == sorted(ATTACKS)
    for name in ATTACKS:
        assert getattr(reissue.attacks, name) is not None
