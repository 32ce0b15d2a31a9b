"""Looking numbers up in sorted ones."""

from __future__ import annotations

import numpy as np

from reissue.core.domain import Bool, Int64


def seek(ascending: Int64, wanted: Int64) -> tuple[Int64, Bool]:
    """(int64[n] position of each wanted number, bool[n] whether it is there). O(n log table)."""
    if len(ascending) == 0:
        return np.zeros(len(wanted), dtype=np.int64), np.zeros(len(wanted), dtype=np.bool_)
    at = np.minimum(np.searchsorted(ascending, wanted), len(ascending) - 1)
    return at, np.asarray(ascending[at] == wanted, dtype=np.bool_)


def find(ascending: Int64, wanted: Int64) -> tuple[Bool, Int64]:
    """(bool[wanted] which of `wanted` occur in `ascending`, int64[] where those do)."""
    at, here = seek(ascending, wanted)
    return here, at[here]
