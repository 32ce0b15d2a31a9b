"""Where a cut may run when classes are cut anew: between children of the node that covers a part."""

from __future__ import annotations

import numpy as np
import pytest

from reissue.methods.incremental.recut.routing import _between_nodes, route
from reissue.model.domain import Domain, Tree
from reissue.model.requirement import Requirement
from reissue.partition.tables import build_forest, cut_buffers
from tests.partition.tables import ragged_tree
from tests.support.histories import uniform_tree


@pytest.mark.parametrize("tree", [uniform_tree(3, 4), uniform_tree(5), ragged_tree()], ids=["3 x 4", "flat", "ragged"])
def test_a_cut_runs_between_two_children_of_the_smallest_node_around_a_part(tree: Tree) -> None:
    last, found = int(tree.hi[0]), 0
    forest = build_forest((Domain("number", 0, 9), Domain("place", 0, last, tree)))
    for low in range(last + 1):
        for high in range(low + 1, last + 1):
            around = np.flatnonzero((tree.lo <= low) & (tree.hi >= high))
            node = min(around.tolist(), key=lambda one: (tree.hi[one] - tree.lo[one], -one))
            ends = set(tree.hi[tree.parent == node].tolist())
            for at in range(-1, last + 2):
                expected = low <= at < high and at in ends
                assert _between_nodes(1, at, low, high, forest) == expected, (low, at, high)
                found += expected
    assert found > last


@pytest.mark.parametrize(("rows", "parts"), [(3, 1), (7, 1), (8, 2), (11, 2), (16, 4)])
def test_new_rows_are_divided_as_long_as_both_sides_have_k(rows: int, parts: int) -> None:
    """Four clusters side by side, k = 4, new rows spread evenly over them: each side of a cut stands alone."""
    forest, requirement = build_forest((Domain("number", 0, 39),)), Requirement(k=4)
    codes = (np.arange(rows) * 40 // rows).astype(np.int32)[:, None]
    values = (np.arange(rows) % 2).astype(np.int32)
    boxes = np.array([[[low, low + 9]] for low in (0, 10, 20, 30)], dtype=np.int32)
    limits = requirement.limits(np.bincount(values, minlength=2))
    row_leaf, cluster_leaf = route(codes, values, boxes, forest, limits, cut_buffers(forest, 2))
    assert len(np.unique(row_leaf)) == parts
    assert np.bincount(row_leaf).min() >= min(rows, 4)
    for leaf in range(parts):
        inside = codes[row_leaf == leaf, 0]
        assert (np.diff(np.flatnonzero(cluster_leaf == leaf)) == 1).all()
        assert set(inside // 10) <= set(np.flatnonzero(cluster_leaf == leaf).tolist())
