"""How much a release still tells: measures on (release, snapshot).

Each measure's docstring says whether it averages over rows, over classes or over queries, or is a sum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reissue.lazy import export
from reissue.utility.measure import (
    Point,
    RiskUtility,
    Utility,
    ail,
    average_class_size,
    class_sizes,
    counterfeits,
    discernibility,
    discernibility_share,
    gcp,
    measure,
    ncp,
    observed_domains,
    risk_utility,
    suppressed,
)

if TYPE_CHECKING:
    from reissue.utility.linkage import record_linkage as record_linkage
    from reissue.utility.queries import Queries as Queries
    from reissue.utility.queries import QueryErrors as QueryErrors
    from reissue.utility.queries import count_exactly as count_exactly
    from reissue.utility.queries import estimate as estimate
    from reissue.utility.queries import query_errors as query_errors
    from reissue.utility.queries import random_queries as random_queries
    from reissue.utility.rates import RateErrors as RateErrors
    from reissue.utility.rates import choose_pair as choose_pair
    from reissue.utility.rates import find_pair as find_pair
    from reissue.utility.rates import rate_errors as rate_errors

# What has kernels to load, and is not measured of every release, is imported when it is asked for.
_later, __getattr__, _ = export(
    __name__,
    {
        "reissue.utility.linkage": "record_linkage",
        "reissue.utility.queries": "Queries QueryErrors count_exactly estimate query_errors random_queries",
        "reissue.utility.rates": "RateErrors choose_pair find_pair rate_errors",
    },
)
__all__ = [
    "Point",
    "RiskUtility",
    "Utility",
    "ail",
    "average_class_size",
    "class_sizes",
    "counterfeits",
    "discernibility",
    "discernibility_share",
    "gcp",
    "measure",
    "ncp",
    "observed_domains",
    "risk_utility",
    "suppressed",
]
__all__ += _later
