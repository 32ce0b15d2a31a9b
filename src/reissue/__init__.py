"""Reissue publishes the same person-level table again and again, so that the releases stay private side by side."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reissue import attacks as attacks
    from reissue import clinic as clinic
    from reissue import errors as errors
    from reissue import utility as utility
    from reissue.audit import Audit as Audit
    from reissue.audit import adopt as adopt
    from reissue.audit import audit as audit
    from reissue.beliefs.knowledge import Knowledge as Knowledge
    from reissue.hierarchy import Hierarchy as Hierarchy
    from reissue.schema import Categorical as Categorical
    from reissue.schema import Numeric as Numeric
    from reissue.schema import Schema as Schema
    from reissue.series import Release as Release
    from reissue.series import Series as Series
    from reissue.strategies.bay_frame import BayFrame as BayFrame
    from reissue.strategies.bcf import BCF as BCF
    from reissue.strategies.checked_incognito import CheckedIncognito as CheckedIncognito
    from reissue.strategies.checked_mondrian import CheckedMondrian as CheckedMondrian
    from reissue.strategies.cor_split import CorSplit as CorSplit
    from reissue.strategies.e_equivalence import EEquivalence as EEquivalence
    from reissue.strategies.js_reduce import JSReduce as JSReduce
    from reissue.strategies.m_invariance import MInvariance as MInvariance
    from reissue.strategies.merge import Merge as Merge
    from reissue.strategies.static import Static as Static

__version__ = "0.1.0"

# Public name -> where it lives. Nothing heavy is imported before it is asked for.
_HOMES = {
    "Audit": "reissue.audit",
    "BCF": "reissue.strategies.bcf",
    "BayFrame": "reissue.strategies.bay_frame",
    "Categorical": "reissue.schema",
    "CheckedIncognito": "reissue.strategies.checked_incognito",
    "CheckedMondrian": "reissue.strategies.checked_mondrian",
    "CorSplit": "reissue.strategies.cor_split",
    "EEquivalence": "reissue.strategies.e_equivalence",
    "Hierarchy": "reissue.hierarchy",
    "JSReduce": "reissue.strategies.js_reduce",
    "Knowledge": "reissue.beliefs.knowledge",
    "MInvariance": "reissue.strategies.m_invariance",
    "Merge": "reissue.strategies.merge",
    "Numeric": "reissue.schema",
    "Release": "reissue.series",
    "Schema": "reissue.schema",
    "Series": "reissue.series",
    "Static": "reissue.strategies.static",
    "adopt": "reissue.audit",
    "audit": "reissue.audit",
}
_MODULES = ("attacks", "clinic", "errors", "utility")

__all__ = ["__version__", *sorted([*_HOMES, *_MODULES])]


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(f"reissue.{name}")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'reissue' has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
