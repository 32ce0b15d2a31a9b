"""How the kernels see one quasi-identifier: an interval of leaf codes, with a taxonomy over it or without.

Leaf codes make every node of a taxonomy, and every numeric range, one closed interval of codes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reissue.arrays.types import Int32

MOST_RANGES = 12
"""Ranges of a number, groups of a hierarchy's leaves: people ask for about so many of one attribute."""


@dataclass(frozen=True, eq=False)
class Tree:
    """A taxonomy over the codes 0..leaves-1; nodes are numbered so that a parent comes before its children.

    Node 0 is the root. Children of one node are consecutive intervals of codes, in order.
    lo, hi: int32[nodes] closed code interval of each node
    parent: int32[nodes] (-1 for the root)
    level:  int32[nodes] height above the leaves, as full-domain generalization counts it (leaf 0, root highest)
    """

    lo: Int32
    hi: Int32
    parent: Int32
    level: Int32

    @property
    def leaves(self) -> int:
        return int(self.hi[0]) + 1

    @cached_property
    def leaf_node(self) -> Int32:
        """int32[leaves]: the deepest node of each code."""
        node = np.zeros(self.leaves, dtype=np.int32)
        for i in range(len(self.lo)):  # parents first, so the deepest node wins
            node[self.lo[i] : self.hi[i] + 1] = i
        return node

    @cached_property
    def children(self) -> tuple[Int32, Int32]:
        """CSR (start int32[nodes+1], child int32[nodes-1]): the children of each node in code order."""
        kids = np.arange(1, len(self.parent), dtype=np.int32)
        order = np.lexsort((self.lo[kids], self.parent[kids]))
        start = np.zeros(len(self.parent) + 1, dtype=np.int32)
        np.cumsum(np.bincount(self.parent[kids], minlength=len(self.parent)), out=start[1:])
        return start, kids[order]

    @cached_property
    def height(self) -> int:
        return int(self.level[0])

    def at_level(self, level: int) -> Int32:
        """int32[leaves]: the node that stands for each code when the whole attribute is generalized to `level`.

        That is the highest ancestor of the leaf whose level does not exceed `level`.
        """
        node = self.leaf_node.copy()
        while True:
            up = self.parent[node]
            can = (up >= 0) & (self.level[np.maximum(up, 0)] <= level)
            if not can.any():
                return node
            node[can] = up[can]

    def cover(self, lo: Int32, hi: Int32) -> Int32:
        """int32[n]: the smallest node whose interval contains each [lo, hi]."""
        node = self.leaf_node[lo]
        while True:
            short = self.hi[node] < hi
            if not short.any():
                return node
            node = np.where(short, self.parent[node], node).astype(np.int32)


@dataclass(frozen=True, eq=False)
class Domain:
    """One quasi-identifier for the kernels.

    tree is None for a numeric attribute: then every interval lo..hi of codes is a legal generalization, and one unit
    of code is one unit of the value's resolution. lo and hi are the limits of the codes known so far: they serve to
    normalize widths and as the box of "anything"; they may widen as the series grows. weight: how much its detail
    matters beside that of the other attributes. ranges: whether every interval of codes is a legal generalization
    although there is a tree.
    """

    name: str
    lo: int
    hi: int
    tree: Tree | None = None
    weight: float = 1.0
    ranges: bool = False

    @property
    def span(self) -> int:
        """Number of steps between the extreme codes, at least 1, to normalize widths."""
        return max(1, self.hi - self.lo)

    @property
    def cost_span(self) -> float:
        """The span by which strategies weigh widths: the shorter, the more each step costs."""
        return self.span / self.weight

    @property
    def step(self) -> int:
        """How wide the round ranges are by which people ask for numbers: 1, 2 or 5 times a power of ten, so that about
        `MOST_RANGES` of them cover all codes, each beginning at a multiple of it. 0 where there is a tree."""
        if self.tree is not None:
            return 0
        steps = (int(times * 10**power) for power in range(10) for times in (1, 2, 5))
        return next(step for step in steps if self.hi - self.lo < step * MOST_RANGES)

    @property
    def nodes(self) -> Tree | None:
        """The tree whose nodes boxes must be; None where any interval will do."""
        return None if self.ranges else self.tree

    @property
    def numeric(self) -> bool:
        return self.tree is None
