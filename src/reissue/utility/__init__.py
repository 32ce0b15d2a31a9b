"""How much a release still tells: measures on (release, snapshot).

Each measure's docstring says whether it averages over rows, over classes or over queries, or is a sum.
"""

from __future__ import annotations

from reissue.utility.linkage import record_linkage
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
from reissue.utility.queries import Queries, QueryErrors, count_exactly, estimate, query_errors, random_queries

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
