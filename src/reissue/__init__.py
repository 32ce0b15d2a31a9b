"""Reissue publishes the same person-level table again and again, so that the releases stay private side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reissue.lazy import export

if TYPE_CHECKING:
    from reissue import attacks as attacks
    from reissue import clinic as clinic
    from reissue import errors as errors
    from reissue import utility as utility
    from reissue.audit import Audit as Audit
    from reissue.audit import audit as audit
    from reissue.estimating import Estimate as Estimate
    from reissue.estimating import estimate as estimate
    from reissue.estimating import weights as weights
    from reissue.hierarchy import Hierarchy as Hierarchy
    from reissue.methods.baselines.merge import Merge as Merge
    from reissue.methods.baselines.static import Static as Static
    from reissue.methods.bcf.strategy import BCF as BCF
    from reissue.methods.beliefs.bay_frame import BayFrame as BayFrame
    from reissue.methods.beliefs.js_reduce import JSReduce as JSReduce
    from reissue.methods.beliefs.knowledge import Knowledge as Knowledge
    from reissue.methods.correlation.strategy import CorSplit as CorSplit
    from reissue.methods.equivalence.strategy import EEquivalence as EEquivalence
    from reissue.methods.incremental.checked_incognito import CheckedIncognito as CheckedIncognito
    from reissue.methods.incremental.checked_mondrian import CheckedMondrian as CheckedMondrian
    from reissue.methods.invariance.strategy import MInvariance as MInvariance
    from reissue.methods.standing.strategy import Standing as Standing
    from reissue.schema import Categorical as Categorical
    from reissue.schema import Numeric as Numeric
    from reissue.schema import Schema as Schema
    from reissue.series import Release as Release
    from reissue.series import Series as Series
    from reissue.series import adopt as adopt

__version__ = "0.1.0"

# Where each public name lives. Nothing heavy is imported before it is asked for.
__all__, __getattr__, __dir__ = export(
    __name__,
    {
        "reissue.attacks": "",
        "reissue.audit": "Audit audit",
        "reissue.clinic": "",
        "reissue.errors": "",
        "reissue.estimating": "Estimate estimate weights",
        "reissue.hierarchy": "Hierarchy",
        "reissue.methods.baselines.merge": "Merge",
        "reissue.methods.baselines.static": "Static",
        "reissue.methods.bcf.strategy": "BCF",
        "reissue.methods.beliefs.bay_frame": "BayFrame",
        "reissue.methods.beliefs.js_reduce": "JSReduce",
        "reissue.methods.beliefs.knowledge": "Knowledge",
        "reissue.methods.correlation.strategy": "CorSplit",
        "reissue.methods.equivalence.strategy": "EEquivalence",
        "reissue.methods.incremental.checked_incognito": "CheckedIncognito",
        "reissue.methods.incremental.checked_mondrian": "CheckedMondrian",
        "reissue.methods.invariance.strategy": "MInvariance",
        "reissue.methods.standing.strategy": "Standing",
        "reissue.schema": "Categorical Numeric Schema",
        "reissue.series": "Release Series adopt",
        "reissue.utility": "",
    },
)
__all__ += ["__version__"]
