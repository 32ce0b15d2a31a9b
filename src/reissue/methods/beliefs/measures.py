"""What beliefs amount to: the divergence among the members of a class, and an attacker's gain of knowledge."""

from __future__ import annotations

import numpy as np

from reissue.arrays.types import Float64, Int32


def compute_entropies(shares: Float64) -> Float64:
    """float64[n]: Shannon entropy in bits of each row of float64[n, values]."""
    logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0.0)
    return np.asarray(-(shares * logs).sum(axis=1), dtype=np.float64)


def compute_divergences(shares: Float64, classes: Int32, count: int) -> Float64:
    """float64[count]: Jensen-Shannon divergence in bits among the rows of each class, all weighing the same (eq. 6).

    A class without rows has 0. O(rows log rows + rows * values).
    """
    size = np.bincount(classes, minlength=count)
    order = np.argsort(classes, kind="stable")
    filled = np.flatnonzero(size)
    found = np.zeros(count)
    if len(filled) == 0:
        return found
    start = np.searchsorted(classes[order], filled)
    middle = np.add.reduceat(shares[order], start, axis=0) / size[filled, None]
    apart = np.add.reduceat(compute_entropies(shares)[order], start) / size[filled]
    found[filled] = np.maximum(0.0, compute_entropies(middle) - apart)
    return found


def compute_gains(
    after: Float64, member_classes: Int32, member_values: Int32, row_classes: Int32, row_values: Int32
) -> Float64:
    """float64[people]: gain of knowledge about each one's true value (equation 8).

    |P - f| / (1 - f), where f is the value's share in the class: what the class alone tells; |1 - P| if f is 1.
    """
    width = after.shape[1]
    count = int(max(row_classes.max(initial=-1), member_classes.max(initial=-1))) + 1
    size = np.bincount(row_classes, minlength=count)
    key, number = np.unique(row_classes.astype(np.int64) * width + row_values, return_counts=True)
    at = np.searchsorted(key, member_classes.astype(np.int64) * width + member_values)
    share = number[at] / size[member_classes]
    belief = after[np.arange(len(after)), member_values]
    alone = share >= 1.0
    return np.where(alone, np.abs(1.0 - belief), np.abs(belief - share) / np.where(alone, 1.0, 1.0 - share))
