"""A hierarchy as a tree with the rows of a table counted at every group: to be looked at before it is used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from reissue.hierarchy import Hierarchy


@dataclass(frozen=True)
class Branch:
    """A group or a value. rows: of the tables; inside: what the group holds, in the order of the hierarchy."""

    label: str
    rows: int
    inside: tuple[Branch, ...] = ()

    def trace(self) -> tuple[str, ...]:
        """The labels that the most frequent value may be published by, the value first."""
        if not self.inside:
            return (self.label,)
        return (*max(self.inside, key=lambda branch: branch.rows).trace(), self.label)


def count_branches(hierarchy: Hierarchy, rows: Mapping[str, int]) -> Branch:
    """The tree over these values; a hierarchy that grows takes those in that fit its rule. O(nodes + values)."""
    grown = hierarchy
    if hierarchy.grows:
        grown = hierarchy.grow(value for value in rows if hierarchy.problem(value) is None)
    tree, known = grown.tree, [(grown.codes[value], count) for value, count in rows.items() if value in grown.codes]
    counts = np.zeros(tree.leaves, dtype=np.int64)
    np.add.at(counts, [code for code, _ in known], [count for _, count in known])
    before = np.concatenate([[0], np.cumsum(counts)])
    start, child = tree.children

    def make(node: int) -> Branch:
        own = int(before[tree.hi[node] + 1] - before[tree.lo[node]])
        kids = child[start[node] : start[node + 1]].tolist()
        return Branch(grown.labels[node], own, tuple(make(kid) for kid in kids))

    return make(0)
