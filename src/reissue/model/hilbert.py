"""A space-filling order of rows: rows near each other on the Hilbert curve are near each other in QI space."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.types import Int32, Int64
from reissue.model.domain import Domain

_MOST_BITS = 62


@njit(cache=True)
def _hilbert(points: Int64, bits: int) -> Int64:  # pragma: no cover - compiled
    """int64[n]: position of each point (int64[n, d], coordinates below 2**bits) on the curve. O(n d bits)."""
    n, d = points.shape
    keys = np.empty(n, dtype=np.int64)
    x = np.empty(d, dtype=np.int64)
    top = 1 << (bits - 1)
    for row in range(n):
        for a in range(d):
            x[a] = points[row, a]
        q = top
        while q > 1:  # undo excess work, from the highest bit down
            p = q - 1
            for a in range(d):
                if x[a] & q:
                    x[0] ^= p
                else:
                    t = (x[0] ^ x[a]) & p
                    x[0] ^= t
                    x[a] ^= t
            q >>= 1
        for a in range(1, d):  # Gray encode
            x[a] ^= x[a - 1]
        t = 0
        q = top
        while q > 1:
            if x[d - 1] & q:
                t ^= q - 1
            q >>= 1
        key = np.int64(0)
        for bit in range(bits - 1, -1, -1):
            for a in range(d):
                key = (key << 1) | (((x[a] ^ t) >> bit) & 1)
        keys[row] = key
    return keys


def hilbert_keys(codes: Int32, domains: Sequence[Domain]) -> Int64:
    """int64[rows]: each row's place on the Hilbert curve through the quasi-identifiers, all scaled to one length.

    With more than 62 attributes only the first 62 take part: a key has 62 bits.
    """
    used = min(len(domains), _MOST_BITS)
    if used == 0 or len(codes) == 0:
        return np.zeros(len(codes), dtype=np.int64)
    bits = min(16, _MOST_BITS // used)
    points = np.empty((len(codes), used), dtype=np.int64)
    for a in range(used):
        offset = np.clip(codes[:, a].astype(np.int64) - domains[a].lo, 0, domains[a].span)
        points[:, a] = offset * ((1 << bits) - 1) // domains[a].span
    keys: Int64 = _hilbert(points, bits)
    return keys
