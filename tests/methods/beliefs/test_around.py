"""Points by distance from a place, against sorting all distances."""

from __future__ import annotations

import numpy as np
import pytest

from reissue.methods.beliefs.neighbours import begin, heap_for, nearest, plant


@pytest.mark.parametrize("seed", range(60))
def test_points_come_in_the_order_of_their_distance_each_once(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(0, 200)), int(rng.integers(1, 5))
    points = rng.integers(0, 6, (n, d)) / 5 if seed % 2 else rng.random((n, d))  # with and without ties
    tree = plant(points)
    heap = heap_for(tree)
    for _ in range(5):  # the heap is used again
        place = rng.random(d) * 1.5
        begin(tree, heap)
        met = [nearest(tree, heap, place) for _ in range(n)]
        assert nearest(tree, heap, place) == -1
        assert sorted(met) == list(range(n))
        away = ((points - place) ** 2).sum(axis=1)
        assert np.allclose(away[met], np.sort(away))
