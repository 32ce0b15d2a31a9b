"""How much a release still tells: measures on (release, snapshot).

Each measure's docstring says whether it averages over rows, over classes or over queries, or is a sum.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from reissue.utility.loss import (
    ail,
    average_class_size,
    class_sizes,
    discernibility,
    discernibility_share,
    gcp,
    ncp,
)
from reissue.utility.measure import Point, RiskUtility, Utility, measure, risk_utility
from reissue.utility.published import counterfeits, observed_domains, suppressed

if TYPE_CHECKING:
    from reissue.utility.linkage import record_linkage
    from reissue.utility.queries import Queries, QueryErrors, count_exactly, estimate, query_errors, random_queries

# what has kernels to load, and is not measured of every release
_LATER = {
    "record_linkage": "reissue.utility.linkage",
    "Queries": "reissue.utility.queries",
    "QueryErrors": "reissue.utility.queries",
    "count_exactly": "reissue.utility.queries",
    "estimate": "reissue.utility.queries",
    "query_errors": "reissue.utility.queries",
    "random_queries": "reissue.utility.queries",
}

__all__ = [
    "Point",
    "Queries",
    "QueryErrors",
    "RiskUtility",
    "Utility",
    "ail",
    "average_class_size",
    "class_sizes",
    "count_exactly",
    "counterfeits",
    "discernibility",
    "discernibility_share",
    "estimate",
    "gcp",
    "measure",
    "ncp",
    "observed_domains",
    "query_errors",
    "random_queries",
    "record_linkage",
    "risk_utility",
    "suppressed",
]


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module 'reissue.utility' has no attribute '{name}'")
    return getattr(import_module(_LATER[name]), name)
