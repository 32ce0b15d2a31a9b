"""Two releases laid over each other: the left classes that count, and the right classes they share subjects with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from reissue.arrays.components import bipartite_components
from reissue.arrays.flow.augmenting import Graph, PathSearch
from reissue.arrays.flow.transport import Transport, edges_by_node
from reissue.arrays.types import Bool, Int64
from reissue.model.overlap import Groups, Overlap, sort_by_bucket


@dataclass(frozen=True, eq=False)
class Gap:
    """One difference that gives people away.

    lefts: int64[] the classes E; rights: int64[] the classes N(E); size: how many people are left over
    value: the value that is too frequent among them, count times; -1 if they are just too few
    of: the class of the left whose smallest difference it is; where a value is too frequent, the first of E
    """

    lefts: Int64
    rights: Int64
    size: int
    value: int = -1
    count: int = 0
    left: int = -1

    @property
    def share(self) -> float:
        return self.count / self.size

    @property
    def of(self) -> int:
        return self.left if self.left >= 0 else int(self.lefts[0])


@dataclass(frozen=True, eq=False)
class DifferencePart:
    """Connected components of left classes that count and the right classes they share subjects with.

    lefts, rights: int64[] class numbers; left, right: the values of just these classes, in this order
    edges between positions in them; link: int64[edges] of the overlap
    loose: int64[rights] rows of a right class that no left class fills; component: of each left and each right
    """

    left: Groups
    right: Groups
    lefts: Int64
    rights: Int64
    edge_left: Int64
    edge_right: Int64
    shared: Int64
    link: Int64
    loose: Int64
    left_component: Int64
    right_component: Int64

    @staticmethod
    def of(left: Groups, right: Groups, overlap: Overlap, inside: Bool, kept: Int64) -> DifferencePart:
        """The part of some links, all of them from classes that count."""
        tied = np.zeros(len(inside), np.bool_)
        tied[overlap.left[kept]] = True
        lefts, place = np.flatnonzero(tied), np.cumsum(tied) - 1
        met = np.zeros(len(right.sizes), np.bool_)
        met[overlap.right[kept]] = True
        rights, right_place = np.flatnonzero(met), np.cumsum(met) - 1
        edge_left, edge_right = place[overlap.left[kept]], right_place[overlap.right[kept]]
        shared = overlap.shared[kept]
        filled = np.bincount(edge_right, weights=shared, minlength=len(rights)).astype(np.int64)
        labels = bipartite_components(edge_left, edge_right, len(lefts), len(rights))
        loose = right.sizes[rights] - filled
        own = left.pick(lefts), right.pick(rights)
        return DifferencePart(*own, lefts, rights, edge_left, edge_right, shared, kept, loose, *labels)

    def only(self, component: Bool) -> DifferencePart:
        """The part within some components."""
        left_kept, right_kept = component[self.left_component], component[self.right_component]
        edges = np.flatnonzero(left_kept[self.edge_left])
        left_place, right_place = np.cumsum(left_kept) - 1, np.cumsum(right_kept) - 1
        return replace(
            self,
            left=self.left.pick(np.flatnonzero(left_kept)),
            right=self.right.pick(np.flatnonzero(right_kept)),
            lefts=self.lefts[left_kept],
            rights=self.rights[right_kept],
            edge_left=left_place[self.edge_left[edges]],
            edge_right=right_place[self.edge_right[edges]],
            shared=self.shared[edges],
            link=self.link[edges],
            loose=self.loose[right_kept],
            left_component=self.left_component[left_kept],
            right_component=self.right_component[right_kept],
        )

    def values(self) -> Iterator[tuple[int, Bool]]:
        """(value, bool[components]) for every value in the right classes of the part: the components that show it."""
        start, groups = sort_by_bucket(self.right.value, int(self.right.value.max(initial=-1)) + 1)
        component = self.right_component[self.right.classes[groups]]
        for value in range(len(start) - 1):
            if start[value] < start[value + 1]:
                shows = np.zeros(self.components, np.bool_)
                shows[component[start[value] : start[value + 1]]] = True
                yield value, shows

    @cached_property
    def components(self) -> int:
        return int(max(self.left_component.max(initial=-1), self.right_component.max(initial=-1))) + 1

    @cached_property
    def _incident(self) -> tuple[Int64, Int64, Int64, Int64]:
        """The edges of each left and right class: the same for every value, and a third of the cost of a flow."""
        return *edges_by_node(self.edge_left, len(self.lefts)), *edges_by_node(self.edge_right, len(self.rights))

    def transport(self, supply: Int64, demand: Int64) -> Transport:
        """A transport along the edges, with nothing sent yet."""
        flow = np.zeros(len(self.edge_left), dtype=np.int64)
        graph = Graph(self.edge_left, self.edge_right, *self._incident, flow, supply, demand)
        nodes = len(self.lefts) + len(self.rights)
        return Transport(graph, PathSearch(np.full(nodes, -1, dtype=np.int64), np.empty(nodes, dtype=np.int64)))

    def weights(self, value: int, top: Int64, bottom: Int64) -> tuple[Int64, Int64]:
        """w of each left and right class for one value, at least 0 (a class above c by itself is not a difference).

        top, bottom: int64[components], c = top / bottom in each.
        """
        both = []
        for groups, at in ((self.left, self.left_component), (self.right, self.right_component)):
            both.append(np.maximum(0, top[at] * groups.sizes - bottom[at] * counts_of(groups, value)))
        return both[0], both[1]


def counts_of(groups: Groups, value: int) -> Int64:
    """int64[classes]: how often one value occurs in each class."""
    at = np.flatnonzero(groups.value == value)
    count = np.zeros(len(groups.sizes), dtype=np.int64)
    count[groups.classes[at]] = groups.count[at]
    return count
