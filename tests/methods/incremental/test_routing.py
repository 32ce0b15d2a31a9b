"""Routing: cuts placed by counting are those placed by sorting."""

from __future__ import annotations

import numpy as np

from reissue.methods.incremental.recut.routing import RoutedPart, _place, _place_dense
from reissue.model.domain import Domain
from reissue.model.requirement import Requirement
from reissue.partition.tables import build_forest, cut_buffers
from tests.support.histories import uniform_tree


def test_counting_places_the_cuts_that_sorting_places() -> None:
    rng, found = np.random.default_rng(3), 0
    domains = (Domain("number", 0, 30), Domain("tree", 0, 11, uniform_tree(3, 2, 2)))
    forest = build_forest(domains)
    scratch = cut_buffers(forest, 3)
    for _ in range(1_000):
        k, rows, clusters = (int(rng.integers(1, high)) for high in (5, 40, 12))
        limits = Requirement(k=k).limits(np.ones(3, dtype=np.int64))
        reach = int(rng.integers(2, 12))  # often narrower than the clusters
        start = int(rng.integers(0, 12 - reach + 1))
        codes = rng.integers(start, start + reach, (rows, 2)).astype(np.int32)
        boxes = np.sort(rng.integers(0, 12, (clusters, 2, 2)), axis=2).astype(np.int32)
        scratch.low[:], scratch.high[:] = codes.min(axis=0), codes.max(axis=0)
        values, marks = np.zeros(rows, dtype=np.int32), [np.zeros(many, dtype=np.bool_) for many in (rows, clusters)]
        part = RoutedPart(codes, values, boxes, np.arange(rows), np.arange(clusters), *marks)
        for a in range(2):
            if scratch.low[a] < scratch.high[a]:
                sorted_way = _place(part, a, forest, limits)
                assert _place_dense(part, a, forest, limits, scratch) == sorted_way
                found += sorted_way[0] < np.inf
    assert found > 500
