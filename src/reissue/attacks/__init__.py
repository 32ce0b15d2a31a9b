"""Attacks: what someone with stated knowledge infers from a series. One file each."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reissue.attacks.association import Association as Association
    from reissue.attacks.background_knowledge import BackgroundKnowledge as BackgroundKnowledge
    from reissue.attacks.base import Attack as Attack
    from reissue.attacks.base import Finding as Finding
    from reissue.attacks.base import Outcome as Outcome
    from reissue.attacks.correspondence import Correspondence as Correspondence
    from reissue.attacks.difference import Difference as Difference
    from reissue.attacks.equivalence import Equivalence as Equivalence
    from reissue.attacks.historical_correlation import HistoricalCorrelation as HistoricalCorrelation
    from reissue.attacks.intersection import Intersection as Intersection
    from reissue.attacks.possible_worlds import PossibleWorlds as PossibleWorlds
    from reissue.attacks.record_tracing import RecordTracing as RecordTracing

# Public name -> where it lives; an attack is imported when it is asked for.
_HOMES = {
    "Association": "association",
    "Attack": "base",
    "BackgroundKnowledge": "background_knowledge",
    "Correspondence": "correspondence",
    "Difference": "difference",
    "Equivalence": "equivalence",
    "Finding": "base",
    "HistoricalCorrelation": "historical_correlation",
    "Intersection": "intersection",
    "Outcome": "base",
    "PossibleWorlds": "possible_worlds",
    "RecordTracing": "record_tracing",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(f"reissue.attacks.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'reissue.attacks' has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
