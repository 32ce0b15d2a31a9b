"""Incognito (LeFevre et al. 2005): all minimal full-domain generalizations under which every class meets a requirement.

The rows are counted once into distinct (leaf QI, value) groups; everything after that works on such counts. A node of
the lattice is evaluated by rolling up the counts of an already evaluated, more specific node. Subsets of the attributes
are searched first, smallest first: if a generalization of a subset fails, so does every generalization of a larger set
that agrees with it, since leaving out an attribute merges classes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import cache
from itertools import combinations
from math import prod
from operator import le
from typing import Literal

import numpy as np

from reissue.arrays.types import Bool, Float64, Int32, Int64
from reissue.errors import SettingsError
from reissue.model.domain import Domain
from reissue.model.requirement_kernels import Limits
from reissue.partition.frequencies import Frequencies, count, pack, roll_up
from reissue.partition.lattice import Ladder, Node, build_ladders, loss_per_level, minimal, settle, shape_of
from reissue.partition.mondrian import Partition

SMALL = 10_000
"""Classes that can be rolled up without intermediate steps."""

ROOM = 6
"""How many times the leaf counts may be kept in memory."""

LARGEST = 1 << 24
"""Nodes of the largest lattice that is searched."""

ONE_LEVEL = (
    "{name} chooses one level of every attribute for the whole table, which no fragment can do by itself: create the "
    "series with fragments = 1, or use {other}."
)
"""Why a table cannot be made in fragments."""

Metric = Literal["loss", "discernibility", "classes", "height"]


class LatticeSearch:
    """The lattice of one table: which generalizations meet the limits, which of them are minimal, which is best.

    Counts of nodes on the way to others are kept for reuse, up to a few times the size of the leaf counts.
    """

    def __init__(
        self,
        codes: Int32,
        values: Int32,
        domains: Sequence[Domain],
        limits: Limits,
        spare: int = 0,
        *,
        stays: Bool | None = None,
        amounts: Int64 | None = None,
        between: bool = False,
    ) -> None:
        """codes: int32[rows, attributes], values: int32[rows], at least one row. spare: how many rows may be in classes
        of fewer than k, to be left out; stays: bool[rows], those that may not, where only sizes matter. amounts:
        int64[rows], how many each row stands for; None: one. between: see `build_ladders`."""
        self.ladders = build_ladders(domains, codes, between)
        self.tops = tuple(ladder.height for ladder in self.ladders)
        if prod(shape_of(self.ladders)) > LARGEST:
            raise SettingsError(
                f"incognito would search {prod(shape_of(self.ladders)):,} combinations of levels, at most {LARGEST:,} "
                "are possible; use algorithm='mondrian', or coarser or fewer quasi-identifiers."
            )
        if not limits.by_value:  # only sizes matter: one value stands for all, and another for all who stay
            values = np.zeros_like(values) if stays is None else stays.astype(np.int32)
            limits = limits._replace(table=np.ones(1 if stays is None else 2))
        self.limits, self.spare, self._stays = limits, spare, -1 if stays is None else 1
        self.leaves = count(codes, values, len(limits.table), self.ladders, amounts)
        self._kept: OrderedDict[Node, Frequencies] = OrderedDict()

    def find_satisfied(self) -> Bool:
        """bool[lattice]: the nodes under which every class meets the limits.

        A subset of the attributes is the face of the lattice where all others are at the top. Faces are settled from
        the smallest subsets to the whole lattice, so what fails for a subset is not asked again for more attributes.
        """
        passed = np.zeros(shape_of(self.ladders), dtype=np.bool_)
        failed = np.zeros_like(passed)
        for size in range(1, len(self.ladders) + 1):
            for subset in combinations(range(len(self.ladders)), size):
                face = tuple(slice(None) if a in subset else slice(top, top + 1) for a, top in enumerate(self.tops))
                settle(passed, failed, face, self.holds)
        return passed

    def holds(self, node: Node) -> bool:
        """Whether every class meets the limits at this node."""
        return self._roll(self._source(node), node, keep=False).holds

    def counts(self, node: Node) -> Frequencies:
        """The value counts of every class at this node."""
        return self._roll(self._source(node), node, keep=True)

    def lost(self) -> list[Float64]:
        """Per attribute float64[levels]: the loss of all rows, if it is generalized to each level."""
        table = self.leaves
        weights = [np.bincount(label, table.sizes).astype(np.float64) for label in table.labels]
        return [loss_per_level(ladder, weight) for ladder, weight in zip(self.ladders, weights, strict=True)]

    def _source(self, node: Node) -> Frequencies:
        """Counts of a more specific node, small enough to roll up from; made step by step, and kept, where needed."""
        while True:
            kept = [table for table in self._kept.values() if all(map(le, table.levels, node))]
            source = min(kept, key=len, default=self.leaves)
            if kept:
                self._kept.move_to_end(source.levels)
            ahead = self._ahead(source.levels, node)
            if len(source) <= SMALL or len(ahead) <= 1:
                return source
            a = ahead[0]
            self._keep(self._roll(source, (*source.levels[:a], node[a], *source.levels[a + 1 :]), keep=True))

    def _ahead(self, low: Node, high: Node) -> list[int]:
        """The attributes still to raise, first those that lose most labels, so that counts become small soon."""

        def left(a: int) -> float:
            return self.ladders[a].size(high[a]) / self.ladders[a].size(low[a])

        return sorted((a for a in range(len(low)) if low[a] < high[a]), key=left)

    def _keep(self, table: Frequencies) -> None:
        self._kept[table.levels] = table
        room = ROOM * len(self.leaves.counts)
        while len(self._kept) > 1 and sum(len(kept.counts) for kept in self._kept.values()) > room:
            self._kept.popitem(last=False)

    def _roll(self, table: Frequencies, node: Node, keep: bool) -> Frequencies:
        return roll_up(table, node, self.ladders, self.limits, keep, self.spare, self._stays)


def rank_by(search: LatticeSearch, metric: Metric = "loss") -> Callable[[Node], tuple[float, int, Node]]:
    """What a node costs, as a key to sort by; ties go to the lowest in height, then to the first in lexical order.

    "loss": least information lost per row (AIL, NCP of the published intervals); "discernibility": least sum of squared
    class sizes; "classes": most classes, that is smallest on average; "height": fewest generalization steps.
    Each rises, or stays, with generalization, so the best of the minimal nodes is the best of all.
    """
    lost = search.lost() if metric == "loss" else []
    known = cache(lambda node: cost_of(search, node, lost, metric))
    return lambda node: (known(node), sum(node), node)


def cost_of(search: LatticeSearch, node: Node, lost: Sequence[Float64], metric: Metric) -> float:
    """What a node costs by a metric (see ranking); it adds up over fragments. lost: see Search.lost, for "loss"."""
    if metric == "loss":
        return sum(float(lost[a][level]) for a, level in enumerate(node))
    if metric == "discernibility":
        return float((search.counts(node).sizes.astype(np.float64) ** 2).sum())
    return -float(len(search.counts(node))) if metric == "classes" else 0.0


def best(search: LatticeSearch, nodes: Sequence[Node], metric: Metric = "loss") -> Node:
    """The node that costs least: see ranking."""
    return min(nodes, key=rank_by(search, metric))


def apply_levels(ladders: Sequence[Ladder], codes: Int32, node: Node) -> Partition:
    """The classes of a table generalized to a node, numbered in the order of their boxes. O(n), O(n log n) if sparse.

    codes: int32[rows, attributes], all among those the ladders were made for.
    """
    labels = [ladder.of(codes[:, a], level) for a, (ladder, level) in enumerate(zip(ladders, node, strict=True))]
    sizes = [ladder.size(level) for ladder, level in zip(ladders, node, strict=True)]
    key, room = pack(labels, sizes), prod(sizes)
    if room <= max(1 << 16, 4 * len(key)):  # by marking, since sorting rows is dear
        first = np.full(room, -1, dtype=np.int64)
        first[key] = np.arange(len(key))
        classes = (np.cumsum(first >= 0) - 1)[key]
        first = first[first >= 0]
    else:
        _, first, classes = np.unique(key, return_index=True, return_inverse=True)
    boxes = np.stack(
        [ladder.boxes[level][label[first]] for ladder, level, label in zip(ladders, node, labels, strict=True)], axis=1
    )
    return Partition(classes.astype(np.int32), np.ascontiguousarray(boxes, dtype=np.int32))


class Leaves:
    """A table by its distinct leaf QIs, to be generalized to many nodes: each costs O(leaves) and one look per row."""

    def __init__(self, ladders: Sequence[Ladder], codes: Int32) -> None:
        """codes: int32[rows, attributes], all among those the ladders were made for."""
        labels = [ladder.of(codes[:, a], 0) for a, ladder in enumerate(ladders)]
        key = pack(labels, [ladder.size(0) for ladder in ladders])
        _, first, self._leaf = np.unique(key, return_index=True, return_inverse=True)
        self._ladders, self._codes = ladders, np.asfortranarray(codes[first])

    def at(self, node: Node) -> Partition:
        """The classes of the rows at a node, as `apply` numbers them."""
        leaves = apply_levels(self._ladders, self._codes, node)
        return Partition(leaves.classes[self._leaf], leaves.boxes)


def incognito(
    codes: Int32,
    values: Int32,
    domains: Sequence[Domain],
    limits: Limits,
    *,
    spare: int = 0,
) -> tuple[Partition, Node]:
    """Generalize every attribute to one level, as little as the limits allow; the whole table must satisfy the limits.

    One O(n log n) pass over the rows, then work on distinct counts. Returns the partition and the node it came from.
    Where an attribute shows ranges, groups of its hierarchy are halved between one level and the next.
    spare: how many rows may be left out, class -1: those of classes of fewer than k rows, whatever their values.
    """
    search = LatticeSearch(codes, values, domains, limits, spare, between=True)
    if spare and limits.by_value:
        sizes = LatticeSearch(codes, values, domains, limits._replace(by_value=False), spare, between=True)
        node = _find_with_values(search, sizes)
    else:
        node = best(search, minimal(search.find_satisfied()))
    partition = apply_levels(search.ladders, codes, node)
    return (_leave_out(partition, limits.k) if spare else partition), node


def _find_with_values(search: LatticeSearch, sizes: LatticeSearch) -> Node:
    """The node of least loss that holds. Whether there are rows enough rises with generalization; whether values are
    mixed enough need not, where rows that were left out join a class again: so nodes are tried one after the other."""
    rank = rank_by(search)
    nodes = sorted((tuple(map(int, node)) for node in np.argwhere(sizes.find_satisfied())), key=rank)
    return next(node for node in nodes if search.holds(node))


def _leave_out(partition: Partition, k: int) -> Partition:
    """The partition without its classes of fewer than k rows."""
    kept = np.bincount(partition.classes) >= k
    number = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
    return Partition(number[partition.classes], partition.boxes[kept])
