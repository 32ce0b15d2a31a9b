"""Looking numbers up in sorted ones."""

from __future__ import annotations

import numpy as np

from reissue.arrays.types import Bool, Int64

_ROOMY = 8
"""A table of places may have so many times as many entries as there are numbers."""
_FEW = 32
"""A number is looked up by halving as fast as so many places are filled in."""


def seek(ascending: Int64, wanted: Int64) -> tuple[Int64, Bool]:
    """(int64[n] position of each wanted number, the first of equal ones; bool[n] whether it is there).

    The position of a number that is not there means nothing, but is one. O(n) where the sorted numbers lie close
    together, as those of subjects do, and many are wanted; else O(n log table).
    """
    if len(ascending) == 0 or len(wanted) == 0:
        return np.zeros(len(wanted), dtype=np.int64), np.zeros(len(wanted), dtype=np.bool_)
    low, high = int(ascending[0]), int(ascending[-1])
    if high - low < _ROOMY * (len(ascending) + len(wanted)) and len(ascending) < _FEW * len(wanted):
        return _looked_up(ascending, wanted, low, high)
    at = np.minimum(np.searchsorted(ascending, wanted), len(ascending) - 1)
    return at, np.asarray(ascending[at] == wanted, dtype=np.bool_)


def _looked_up(ascending: Int64, wanted: Int64, low: int, high: int) -> tuple[Int64, Bool]:
    places = np.full(high - low + 1, -1, dtype=np.int64)
    places[ascending[::-1] - low] = np.arange(len(ascending) - 1, -1, -1)  # of equal numbers, the first is set last
    inside = np.asarray((wanted >= low) & (wanted <= high), dtype=np.bool_)
    if inside.all():
        at = places[wanted - low]
        there = at >= 0
        return (at, there) if there.all() else (np.maximum(at, 0), there)
    at = np.where(inside, places[np.where(inside, wanted, low) - low], -1)
    return np.maximum(at, 0), at >= 0


def find(ascending: Int64, wanted: Int64) -> tuple[Bool, Int64]:
    """(bool[wanted] which of `wanted` occur in `ascending`, int64[] where those do)."""
    at, here = seek(ascending, wanted)
    return here, at[here]
