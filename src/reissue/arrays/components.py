"""What hangs together in a graph: components, and strong components where edges have a direction."""

from __future__ import annotations

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.types import Int64


def strong_components(tail: Int64, head: Int64, nodes: int) -> Int64:
    """int64[nodes]: the strong component of each node."""
    from scipy.sparse import coo_array  # few releases need it, so none waits for the import before it does
    from scipy.sparse.csgraph import connected_components

    arcs = coo_array((np.ones(len(tail), dtype=np.int8), (tail, head)), shape=(nodes, nodes))
    return connected_components(arcs.tocsr(), directed=True, connection="strong")[1].astype(np.int64)


def connected_components(tail: Int64, head: Int64, nodes: int) -> Int64:
    """int64[nodes]: the connected component of each node, whatever the direction of edges; numbered by their lowest."""
    return _components(tail, head, 0, nodes)


def bipartite_components(left: Int64, right: Int64, lefts: int, rights: int) -> tuple[Int64, Int64]:
    """(int64[lefts], int64[rights]): the connected component of each node of a bipartite graph."""
    label = _components(left, right, lefts, rights)
    return label[:lefts], label[lefts:]


@njit(cache=True)
def _components(left: Int64, right: Int64, lefts: int, rights: int) -> Int64:
    """Each node points to a lower one of its component, the lowest to itself; they are numbered by the lowest."""
    up = np.arange(lefts + rights)
    for edge in range(len(left)):
        one, other = left[edge], right[edge] + lefts
        while up[one] != one:
            up[one] = up[up[one]]
            one = up[one]
        while up[other] != other:
            up[other] = up[up[other]]
            other = up[other]
        up[max(one, other)] = min(one, other)
    count = 0
    for node in range(lefts + rights):
        if up[node] == node:
            up[node] = count
            count += 1
        else:
            up[node] = up[up[node]]  # what it points to is lower, so it has its number already
    return up
