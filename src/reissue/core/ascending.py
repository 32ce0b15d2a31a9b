"""Looking numbers up in sorted ones."""

from __future__ import annotations

import numpy as np

from reissue.core.domain import Bool, Int64


def find(ascending: Int64, wanted: Int64) -> tuple[Bool, Int64]:
    """(bool[wanted] which of `wanted` occur in `ascending`, int64[] where those do). O(wanted log ascending)."""
    if len(ascending) == 0:
        return np.zeros(len(wanted), dtype=np.bool_), np.empty(0, dtype=np.int64)
    where = np.minimum(np.searchsorted(ascending, wanted), len(ascending) - 1)
    here = ascending[where] == wanted
    return here, where[here]
