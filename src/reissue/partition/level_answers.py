"""What a fragment answers when levels are chosen for a whole table: `common_levels` asks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from reissue.arrays.types import Int32, Int64
from reissue.model.domain import Domain
from reissue.model.fragment_counts import Said
from reissue.model.requirement_kernels import Limits
from reissue.partition.common_levels import packed
from reissue.partition.incognito import LatticeSearch, Leaves, Metric, apply_levels, cost_of
from reissue.partition.lattice import Ladder, Node, extent_of, ladders_of
from reissue.partition.mondrian import Partition


def extents_said(codes: Int32, domains: Sequence[Domain]) -> Said:
    """What a fragment says before anything is asked. codes: int32[rows, attributes]."""
    return {"extents": np.stack([extent_of(domain, codes[:, a]) for a, domain in enumerate(domains)])}


def at_levels(chosen: Said, codes: Int32, domains: Sequence[Domain]) -> tuple[Partition, Node]:
    """The classes of a fragment's rows at the levels that were chosen for all, and these levels. O(n)."""
    node = tuple(chosen["levels"].tolist())
    return apply_levels(ladders_of(domains, codes, np.asarray(chosen["extents"], dtype=np.int64)), codes, node), node


@dataclass(eq=False)
class LevelAnswers:
    """One fragment, to be asked. What it makes to answer one question is kept for the next.

    codes:  int32[rows, attributes]; values: int32[rows]: of the rows that are to be published, which taken as one class
            meet the limits
    breach: what classes would give away beside earlier releases; None if nothing
    refuse: the error to raise if that holds even of one class for everybody
    """

    codes: Int32
    values: Int32
    domains: tuple[Domain, ...]
    limits: Limits
    metric: Metric = "loss"
    breach: Callable[[Partition], str | None] = lambda _: None
    refuse: Callable[[str], Exception] = AssertionError

    def __post_init__(self) -> None:
        self._extents: Int64 | None = None
        self._safe: dict[Node, bool] = {}

    def __call__(self, question: Said) -> Said:
        """The answer to a question of `common_levels`; all of one conversation have the same extents."""
        self._extents = np.asarray(question["extents"], dtype=np.int64)
        if "nodes" not in question:
            return {**packed(self._search.satisfied()), "lost": np.concatenate(self._search.lost())}
        nodes: list[Node] = [tuple(node) for node in question["nodes"].tolist()]
        if "start" not in question:
            return {"costs": np.array([cost_of(self._search, node, [], self.metric) for node in nodes])}
        start: list[int] = question["start"].tolist()
        paths = [nodes[begin:end] for begin, end in pairwise(start)]
        return {"lowest": np.array([self._lowest(path) for path in paths], dtype=np.int64)}

    @cached_property
    def _search(self) -> LatticeSearch:
        return LatticeSearch(self.codes, self.values, self.domains, self.limits, self._extents)

    @cached_property
    def _ladders(self) -> tuple[Ladder, ...]:
        return ladders_of(self.domains, self.codes, self._extents)

    @cached_property
    def _leaves(self) -> Leaves:
        return Leaves(self._ladders, self.codes)

    def _lowest(self, path: Sequence[Node]) -> int:
        """Where on a path upwards nodes begin to be safe. By bisection: that one, and the one before, were tried."""
        low, high = 0, len(path)
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self._is_safe(path[middle]) else (middle + 1, high)
        return low

    def _is_safe(self, node: Node) -> bool:
        if node not in self._safe:
            reason = self.breach(self._leaves.at(node))
            if reason is not None and node == tuple(ladder.height for ladder in self._ladders):
                raise self.refuse(reason)
            self._safe[node] = reason is None
        return self._safe[node]
