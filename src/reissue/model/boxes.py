"""Boxes, and an order of rows along the Hilbert curve in which neighbours are near each other.

A box is one closed interval of codes per quasi-identifier; to match, to be comparable or compatible is to meet.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.types import Bool, Float64, Int32, Int64
from reissue.model.domain import Domain


@njit(cache=True)
def bounding_boxes(codes: Int32, classes: Int32 | Int64, count: int) -> Int32:
    """int32[count, attributes, 2]: the smallest box around each class's rows; rows of class -1 are ignored. O(rows).

    A class without rows gets the impossible box (lo > hi).
    """
    boxes = np.empty((count, codes.shape[1], 2), np.int32)
    boxes[:, :, 0], boxes[:, :, 1] = np.iinfo(np.int32).max, np.iinfo(np.int32).min
    for a in range(codes.shape[1]):
        for row in range(len(classes)):
            own = classes[row]
            if own >= 0:
                boxes[own, a, 0] = min(boxes[own, a, 0], codes[row, a])
                boxes[own, a, 1] = max(boxes[own, a, 1], codes[row, a])
    return boxes


def widen_to_nodes(boxes: Int32, domains: Sequence[Domain]) -> Int32:
    """Widen every interval of an attribute that is labelled by groups to the smallest taxonomy node that covers it."""
    snapped = boxes.copy()
    for a, domain in enumerate(domains):
        if domain.nodes is not None:
            node = domain.nodes.cover(boxes[:, a, 0], boxes[:, a, 1])
            snapped[:, a, 0], snapped[:, a, 1] = domain.nodes.lo[node], domain.nodes.hi[node]
    return snapped


def contain(boxes: Int32, codes: Int32, classes: Int32) -> Bool:
    """bool[rows]: whether each row's codes lie in the box of its class (rows of class -1: True)."""
    inside = np.ones(len(codes), dtype=np.bool_)
    block = 1 << 16  # a block at a time: what is made of it stays in the processor's cache
    for a in range(codes.shape[1]):
        lo, hi = np.ascontiguousarray(boxes[:, a, 0]), np.ascontiguousarray(boxes[:, a, 1])
        for start in range(0, len(codes), block):
            some = slice(start, start + block)
            own, code = classes[some], codes[some, a]
            inside[some] &= (code >= lo[own]) & (code <= hi[own])
    return inside | (classes < 0)


def losses(boxes: Int32, domains: Sequence[Domain]) -> Float64:
    """float64[boxes, attributes]: the share of its domain that each interval spans, 0 (exact) to 1 (anything).

    Numeric: (hi - lo) / span. Hierarchical: (leaves - 1) / (all leaves - 1), that is NCP of the covered leaves.
    """
    lost = np.empty(boxes.shape[:2], dtype=np.float64)
    for a, domain in enumerate(domains):
        lo = np.maximum(boxes[:, a, 0], domain.lo)
        hi = np.minimum(boxes[:, a, 1], domain.hi)
        lost[:, a] = np.clip((hi.astype(np.float64) - lo) / domain.span, 0.0, 1.0)
    return lost


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
    """int64[rows]: each row's place on the Hilbert curve through the quasi-identifiers, scaled to their weights.

    With more than 62 attributes only the first 62 take part: a key has 62 bits.
    """
    used = min(len(domains), _MOST_BITS)
    if used == 0 or len(codes) == 0:
        return np.zeros(len(codes), dtype=np.int64)
    bits = min(16, _MOST_BITS // used)
    points = np.empty((len(codes), used), dtype=np.int64)
    heaviest = max(domain.weight for domain in domains[:used])
    for a in range(used):
        offset = np.clip(codes[:, a].astype(np.int64) - domains[a].lo, 0, domains[a].span)
        length = int(((1 << bits) - 1) * (domains[a].weight / heaviest))
        points[:, a] = offset * length // domains[a].span
    keys: Int64 = _hilbert(points, bits)
    return keys


def find_neighbours(places: Int64, rows: int, reach: int, rng: np.random.Generator) -> Int64:
    """int64[n]: for each place in an order of so many rows another one, at most `reach` away; itself if it is alone."""
    step = rng.integers(1, min(reach, max(rows - 1, 1)) + 1, len(places))
    return np.asarray((places + np.where(rng.random(len(places)) < 0.5, step, -step)) % max(rows, 1), dtype=np.int64)
