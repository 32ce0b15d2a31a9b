"""The rows of one leaf with their past, renumbered: as if no other leaf had been looked at before."""

from __future__ import annotations

import numpy as np
import pytest

from reissue.methods.incremental.recut.recut import Past, build_cluster, cluster_buffers
from reissue.partition.tables import copy_rows

ROWS, CELLS, RELEASES, CLASSES, VALUES = 40, 12, 2, 5, 4


@pytest.mark.parametrize("seed", range(5))
def test_nothing_of_one_leaf_is_left_in_the_next(seed: int) -> None:
    rng = np.random.default_rng(seed)
    held = rng.integers(1, VALUES, CELLS)
    past = Past(
        cell=rng.integers(-1, CELLS, ROWS),
        chain=rng.integers(-1, CLASSES, (CELLS, RELEASES)).astype(np.int32),
        widest=CLASSES,
        start=np.concatenate([[0], np.cumsum(held)]),
        value=np.concatenate([rng.permutation(VALUES)[:many] for many in held]).astype(np.int32),
        times=rng.integers(1, 4, held.sum()),
        boxes=np.sort(rng.integers(0, 9, (CELLS, 1, 2)), axis=2).astype(np.int32),
    )
    rows = copy_rows(np.zeros((ROWS, 1), dtype=np.int32), rng.integers(0, VALUES, ROWS).astype(np.int32))
    bench = cluster_buffers(past, VALUES)
    for start in range(0, ROWS, 8):
        found = build_cluster(rows, start, start + 8, past, bench)
        alone = build_cluster(rows, start, start + 8, past, cluster_buffers(past, VALUES))
        assert all(np.array_equal(one, other) for one, other in zip(found, alone, strict=True))
        assert all((scratch == -1).all() for scratch in bench)
