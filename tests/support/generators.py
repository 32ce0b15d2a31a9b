"""Brute force for correspondence attacks: every joint generator of a tiny series, one by one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from reissue.arrays.types import Int32
from reissue.methods.bcf.candidates import ReleaseChain
from reissue.model.overlap import GroupedRelease


def released(codes: Int32, values: Int32, boxes: Int32, classes: Int32) -> GroupedRelease:
    """The groups of rows put into classes (codes are there to read beside the call)."""
    width = int(values.max()) + 1
    key, counts = np.unique(classes.astype(np.int64) * width + values, return_counts=True)
    return GroupedRelease.of(boxes, (key // width).astype(np.int32), (key % width).astype(np.int32), counts)


def paths(chain: ReleaseChain) -> list[tuple[int, tuple[int, ...]]]:
    """(arrival, class in every release since): every kind of person there may be."""
    kinds = []
    for arrival in range(len(chain)):
        options = [np.flatnonzero(release.sizes > 0).tolist() for release in chain.releases[arrival:]]
        for classes in product(*options):
            boxes = [chain.releases[arrival + c].boxes[q] for c, q in enumerate(classes)]
            lo, hi = np.max([b[:, 0] for b in boxes], axis=0), np.min([b[:, 1] for b in boxes], axis=0)
            if (lo <= hi).all():
                kinds.append((arrival, classes))
    return kinds


def count(release: GroupedRelease, cls: int, value: int) -> int:
    here = slice(release.start[cls], release.start[cls + 1])
    return int(release.counts[here][release.values[here] == value].sum())


def all_generators(chain: ReleaseChain, value: int) -> list[dict[tuple[int, tuple[int, ...]], int]]:
    """Every way to make the releases' records of one value out of people: how many of each kind."""
    kinds = paths(chain)
    left = [{q: count(r, q, value) for q in range(len(r.boxes))} for r in chain.releases]
    found: list[dict[tuple[int, tuple[int, ...]], int]] = []

    def place(at: int, chosen: list[int]) -> None:
        if at == len(kinds):
            if not any(any(release.values()) for release in left):
                found.append(dict(zip(kinds, chosen, strict=True)))
            return
        arrival, classes = kinds[at]
        most = min(left[arrival + c][q] for c, q in enumerate(classes))
        for n in range(most + 1):
            for c, q in enumerate(classes):
                left[arrival + c][q] -= n
            place(at + 1, [*chosen, n])
            for c, q in enumerate(classes):
                left[arrival + c][q] += n

    place(0, [])
    return found


def exact_candidates(chain: ReleaseChain, values: Sequence[int]) -> dict[tuple[int, tuple[int, ...]], int]:
    """For every kind of person the most records that can be theirs, over all generators, summed over values."""
    total = dict.fromkeys(paths(chain), 0)
    for value in values:
        generators = all_generators(chain, value)
        assert generators, "the series has no generator: it is not cumulative"
        for kind in total:
            total[kind] += max(g[kind] for g in generators)
    return total
