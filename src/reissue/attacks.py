"""The attacks, by their public names: what someone with stated knowledge infers from a series."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reissue.lazy import export

if TYPE_CHECKING:
    from reissue.methods.attack import Attack as Attack
    from reissue.methods.attack import Finding as Finding
    from reissue.methods.attack import Outcome as Outcome
    from reissue.methods.bcf.attack import Correspondence as Correspondence
    from reissue.methods.beliefs.attack import BackgroundKnowledge as BackgroundKnowledge
    from reissue.methods.correlation.attack import HistoricalCorrelation as HistoricalCorrelation
    from reissue.methods.equivalence.attack import Equivalence as Equivalence
    from reissue.methods.incremental.difference_attack import Difference as Difference
    from reissue.methods.incremental.intersection_attack import Intersection as Intersection
    from reissue.methods.incremental.tracing_attack import RecordTracing as RecordTracing
    from reissue.methods.invariance.attack import Association as Association
    from reissue.methods.invariance.known_algorithm_attack import KnownAlgorithm as KnownAlgorithm
    from reissue.methods.learning.attack import Learning as Learning
    from reissue.methods.worlds.attack import PossibleWorlds as PossibleWorlds

__all__, __getattr__, __dir__ = export(
    __name__,
    {
        "reissue.methods.attack": "Attack Finding Outcome",
        "reissue.methods.bcf.attack": "Correspondence",
        "reissue.methods.beliefs.attack": "BackgroundKnowledge",
        "reissue.methods.correlation.attack": "HistoricalCorrelation",
        "reissue.methods.equivalence.attack": "Equivalence",
        "reissue.methods.incremental.difference_attack": "Difference",
        "reissue.methods.incremental.intersection_attack": "Intersection",
        "reissue.methods.incremental.tracing_attack": "RecordTracing",
        "reissue.methods.invariance.attack": "Association",
        "reissue.methods.invariance.known_algorithm_attack": "KnownAlgorithm",
        "reissue.methods.learning.attack": "Learning",
        "reissue.methods.worlds.attack": "PossibleWorlds",
    },
)
