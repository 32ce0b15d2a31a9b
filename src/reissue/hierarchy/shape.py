"""From labelled nodes to the kernels' Tree: codes, intervals, levels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reissue.hierarchy.links import Nodes
from reissue.model.domain import Tree


@dataclass(frozen=True, eq=False)
class Shape:
    """A hierarchy in codes.

    tree, labels: nodes with different intervals only; of a chain of single members the lowest one stands for all
    by_label:     the interval of every label, also of those that the tree leaves out
    """

    tree: Tree
    labels: tuple[str, ...]
    leaves: tuple[str, ...]
    by_interval: dict[tuple[int, int], str]
    by_label: dict[str, tuple[int, int]]


def shape_of(nodes: Nodes) -> Shape:
    """Number the leaves, give every node its interval, merge chains, order breadth first. O(nodes log nodes)."""
    count = len(nodes.names)
    members = np.bincount(np.array(nodes.parents[1:], dtype=np.int64), minlength=count).tolist()
    lo, hi = _intervals(nodes, members)
    kept, parent, depth = _drop_chains(nodes, members)
    order = sorted(range(len(kept)), key=lambda i: (depth[i], lo[kept[i]]))
    rank = [0] * len(kept)
    for new, old in enumerate(order):
        rank[old] = new
    ids = [kept[i] for i in order]
    above = [rank[parent[i]] if parent[i] >= 0 else -1 for i in order]
    levels = [0 if members[node] == 0 else nodes.levels[node] for node in ids]
    for i in range(len(ids) - 1, 0, -1):  # children come after parents, so one backward pass lifts all
        levels[above[i]] = max(levels[above[i]], levels[i] + 1)
    columns = ([lo[n] for n in ids], [hi[n] for n in ids], above, levels)
    return Shape(
        tree=Tree(*(np.array(column, dtype=np.int32) for column in columns)),
        labels=tuple(nodes.names[n] for n in ids),
        leaves=tuple(name for name, inside in zip(nodes.names[1:], members[1:], strict=True) if not inside),
        by_interval={(lo[n], hi[n]): nodes.names[n] for n in ids},
        by_label={name: (lo[n], hi[n]) for n, name in enumerate(nodes.names)},
    )


def _intervals(nodes: Nodes, members: list[int]) -> tuple[list[int], list[int]]:
    """Closed code intervals; nodes come depth first. A root without leaves gets 0..-1."""
    count = len(nodes.names)
    lo = [0] * count
    hi = [-1] * count
    code = 0
    for i in range(count):
        lo[i] = code
        if members[i] == 0 and i:
            hi[i] = code
            code += 1
    for i in range(count - 1, 0, -1):
        hi[nodes.parents[i]] = max(hi[nodes.parents[i]], hi[i])
    return lo, hi


def _drop_chains(nodes: Nodes, members: list[int]) -> tuple[list[int], list[int], list[int]]:
    """(node, parent, depth) of the nodes without exactly one member; parent is a position in this list."""
    kept: list[int] = []
    parent: list[int] = []
    depth: list[int] = []
    nearest = [-1] * len(nodes.names)  # position of the nearest kept node at or above
    for i, above in enumerate(nodes.parents):
        up = nearest[above] if above >= 0 else -1
        nearest[i] = up
        if members[i] != 1:
            nearest[i] = len(kept)
            kept.append(i)
            parent.append(up)
            depth.append(depth[up] + 1 if up >= 0 else 0)
    return kept, parent, depth
