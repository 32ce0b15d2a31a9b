"""Where a cut may run when classes are cut anew: between children of the node that covers a part."""

from __future__ import annotations

import numpy as np
import pytest

from reissue.methods.incremental.recut.routing import _between_nodes
from reissue.model.domain import Domain, Tree
from reissue.partition.tables import build_forest
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
