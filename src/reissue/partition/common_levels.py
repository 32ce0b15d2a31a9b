"""One level per attribute for a table made in fragments: chosen by asking every fragment what it can publish.

A node of the lattice is admissible if every fragment can publish its own classes at it, and costs what it costs in all
of them together. Both follow from answers that are small whatever the number of rows, so one place can choose:

1. every fragment tells the extents of its codes, so that all have the levels of the whole table;
2. each tells the set of nodes that meet its requirement, and its loss at each level. What all have in common can be
   published; the best of it is known at once, or (for other metrics) from the costs of its lowest nodes;
3. where nodes must also be safe beside earlier releases, each is asked about that node. If one refuses, paths through
   the lattice are asked for, on each of which a fragment finds its lowest safe node by bisection: what fails rules out
   its specializations, and nothing is asked about nodes that cost as much as one that is safe for all.

The node that is chosen has itself been found safe by every fragment. `level_answers` is the fragments' side.
"""

from __future__ import annotations

import zlib
from collections.abc import Generator, Sequence
from functools import reduce
from math import prod
from typing import TypeVar

import numpy as np

from reissue.arrays.types import Bool, Float64, Int64
from reissue.model.fragment_counts import Conversation, Said
from reissue.partition.incognito import Metric
from reissue.partition.lattice import Node, extents_together, minimal, path_up

WIDEST = 8
"""Paths in one question at most. It begins with one, and doubles: what is learnt of one may save asking the next."""

FREE = ("loss", "height")
"""Metrics by which every node's cost is known without asking."""

FoundT = TypeVar("FoundT")
Asking = Generator[Said, Sequence[Said], FoundT]
"""A part of a conversation, with what it finds out."""


def packed(nodes: Bool) -> Said:
    """A set of nodes as bits, to be sent: at most 2 MB for the largest lattice, mostly far less."""
    bits = zlib.compress(np.packbits(nodes).tobytes())
    return {"shape": np.array(nodes.shape, dtype=np.int64), "nodes": np.frombuffer(bits, dtype=np.uint8)}


def unpacked(said: Said) -> Bool:
    """bool[lattice]: the nodes that were packed."""
    shape = tuple(said["shape"].tolist())
    bits = np.frombuffer(zlib.decompress(said["nodes"].tobytes()), dtype=np.uint8)
    return np.unpackbits(bits, count=prod(shape)).astype(np.bool_).reshape(shape)


def choosing(said: Sequence[Said], metric: Metric, beside: bool) -> Conversation:
    """Choose levels by asking all fragments, which have said their `extents`; the choice is `levels`, `extents`.

    beside: whether there are earlier releases that a node must be safe beside
    """
    extents = extents_together([np.asarray(one["extents"], dtype=np.int64) for one in said])
    told = yield {"extents": extents}
    shared = Shared(extents, told, metric)
    lowest = minimal(shared.admissible)
    yield from shared.weigh([*lowest, shared.top] if beside else lowest)
    chosen = min(lowest, key=shared.rank)
    if beside:
        chosen = yield from shared.safe(chosen)
    return {"levels": np.array(chosen, dtype=np.int64), "extents": extents}


class Shared:
    """What is known of all fragments together.

    admissible: bool[lattice], nodes that meet the requirement in every fragment: closed upwards, with the top
    """

    def __init__(self, extents: Int64, told: Sequence[Said], metric: Metric) -> None:
        self.admissible: Bool = reduce(np.logical_and, (unpacked(one) for one in told))
        self.top: Node = tuple(size - 1 for size in self.admissible.shape)
        self._extents, self._metric = extents, metric
        lost: Float64 = np.sum([one["lost"] for one in told], axis=0)
        self._lost = np.split(lost, np.cumsum(self.admissible.shape)[:-1])
        self._costs: dict[Node, float] = {}

    def rank(self, node: Node) -> tuple[float, int, Node]:
        """As `incognito.ranking`, over all fragments; the node must have been weighed."""
        if self._metric == "loss":
            cost = sum(float(self._lost[a][level]) for a, level in enumerate(node))
        else:
            cost = self._costs.get(node, 0.0)
        return cost, sum(node), node

    def weigh(self, nodes: Sequence[Node]) -> Asking[None]:
        """Ask what nodes cost, where that is not known."""
        if self._metric not in FREE and (new := [node for node in nodes if node not in self._costs]):
            told = yield {"extents": self._extents, "nodes": np.array(new, dtype=np.int64)}
            costs: Float64 = np.sum([one["costs"] for one in told], axis=0)
            self._costs |= dict(zip(new, costs.tolist(), strict=True))

    def safe(self, chosen: Node) -> Asking[Node]:
        """The best node that every fragment finds safe; chosen: the best that is admissible."""
        if not (yield from self._lowest([[chosen]])).any():
            return chosen
        passed, failed = np.zeros_like(self.admissible), ~self.admissible
        failed[_below(chosen)] = True
        chosen, width, untried = (
            self.top,
            1,
            [[self.top]],
        )  # which every fragment must find safe, or there is no release
        while (paths := (yield from self._paths(passed, failed, chosen, width))) or untried:
            lowest, untried = (yield from self._lowest([*paths, *untried])), []
            found = dict[Node, bool]()
            for path, own in zip(paths, lowest, strict=False):
                at = int(own.max())
                if at:
                    failed[_below(path[at - 1])] = True
                if at < len(path):
                    found[path[at]] = bool((own == at).all())
            chosen = yield from self._better(found, chosen, failed)
            width = min(2 * width, WIDEST)
        return chosen

    def _better(self, found: dict[Node, bool], chosen: Node, failed: Bool) -> Asking[Node]:
        """The best of the nodes found, if it is better than what is chosen.

        found: whether each was tried by all fragments; those that only infer it from a node below are asked.
        """
        yield from self.weigh([*found])
        for node in sorted(found, key=self.rank):
            if self.rank(node) >= self.rank(chosen):
                break
            if found[node] or not (yield from self._lowest([[node]])).any():
                return node
            failed[_below(node)] = True
        return chosen

    def _paths(self, passed: Bool, failed: Bool, chosen: Node, count: int) -> Asking[list[list[Node]]]:
        """Up to `count` paths of undecided nodes that would be better than what is chosen; no node is on two.

        From the cheapest of the lowest undecided nodes upwards. What cannot be better is marked as passed.
        """
        lowest = [node for node in minimal(~failed) if not passed[node]]
        yield from self.weigh(lowest)
        lowest.sort(key=self.rank)
        for node in lowest:
            if self.rank(node) >= self.rank(chosen):
                passed[_above(node)] = True
        taken, paths = passed | failed, list[list[Node]]()
        for node in lowest:
            if len(paths) < count and not taken[node]:
                paths.append([one for one in path_up(node, taken, taken) if not self._no_better(one, chosen)])
                taken[tuple(np.array(paths[-1]).T)] = True
        return paths

    def _no_better(self, node: Node, chosen: Node) -> bool:
        known = self._metric in FREE or node in self._costs
        return known and self.rank(node) >= self.rank(chosen)

    def _lowest(self, paths: Sequence[Sequence[Node]]) -> Asking[Int64]:
        """int64[paths, fragments]: how far up each fragment's lowest safe node is; the path's length if none is."""
        nodes = np.array([node for path in paths for node in path], dtype=np.int64)
        start = np.cumsum([0, *map(len, paths)])
        told = yield {"extents": self._extents, "nodes": nodes, "start": start}
        return np.stack([np.asarray(one["lowest"], dtype=np.int64) for one in told], axis=1)


def _below(node: Node) -> tuple[slice, ...]:
    """The node and all its specializations."""
    return tuple(slice(None, level + 1) for level in node)


def _above(node: Node) -> tuple[slice, ...]:
    """The node and all its generalizations."""
    return tuple(slice(level, None) for level in node)
