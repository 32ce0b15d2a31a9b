"""Two releases laid over each other: the left classes that count, and the right classes they share subjects with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from reissue.arrays.flow.augmenting import Graph, PathSearch
from reissue.arrays.flow.transport import Transport, edges_by_node
from reissue.arrays.sets import bipartite_components, difference
from reissue.arrays.types import Bool, Float64, Int64
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
    def incident(self) -> tuple[Int64, Int64, Int64, Int64]:
        """The edges of each left and right class: the same for every value, and a third of the cost of a flow."""
        return *edges_by_node(self.edge_left, len(self.lefts)), *edges_by_node(self.edge_right, len(self.rights))

    def transport(self, supply: Int64, demand: Int64) -> Transport:
        """A transport along the edges, with nothing sent yet."""
        flow = np.zeros(len(self.edge_left), dtype=np.int64)
        graph = Graph(self.edge_left, self.edge_right, *self.incident, flow, supply, demand)
        nodes = len(self.lefts) + len(self.rights)
        return Transport(graph, PathSearch(np.full(nodes, -1, dtype=np.int64), np.empty(nodes, dtype=np.int64)))

    def highest(self, value: int) -> tuple[Int64, Int64]:
        """(count, size) int64[components]: of the class of each component in which the value has the largest share."""
        count, size = np.zeros(self.components, dtype=np.int64), np.ones(self.components, dtype=np.int64)
        for groups, at in ((self.left, self.left_component), (self.right, self.right_component)):
            own = counts_of(groups, value)
            order = np.argsort(own / np.maximum(groups.sizes, 1), kind="stable")  # of each component the last one stays
            best, here = np.full(self.components, -1), order[np.argsort(at[order], kind="stable")]
            best[at[here]] = here
            there = np.flatnonzero(best >= 0)
            more = there[own[best[there]] * size[there] > count[there] * groups.sizes[best[there]]]
            count[more], size[more] = own[best[more]], groups.sizes[best[more]]
        return count, size

    def weights(self, value: int, top: Int64, bottom: Int64) -> tuple[Int64, Int64]:
        """w of each left and right class for one value, at least 0; where it is, the flow is exact.

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


@dataclass(frozen=True, eq=False)
class ConnectedSets:
    """Connected sets of classes of a part: what the flow of w for one value shows to be too full of it.

    label, label_right: int64[lefts], int64[rights] the set of each class, -1 if none; size, count: int64[sets] the
    people left over, and those of them with the value
    """

    part: DifferencePart
    value: int
    label: Int64
    label_right: Int64
    size: Int64
    count: Int64

    @cached_property
    def filled(self) -> Int64:
        """int64[]: the sets that leave anybody over."""
        return np.flatnonzero(self.size > 0)

    @cached_property
    def share(self) -> Float64:
        return np.asarray(self.count / np.maximum(self.size, 1), dtype=np.float64)

    @cached_property
    def first(self) -> Int64:
        """int64[sets]: the first left class of each."""
        inside = self.label >= 0
        first = np.full(len(self.size), np.iinfo(np.int64).max)
        np.minimum.at(first, self.label[inside], self.part.lefts[inside])
        return first

    def worst(self, chosen: Int64, limit: int) -> Int64:
        return chosen[np.lexsort((self.first[chosen], -self.share[chosen]))][:limit]

    def best(self) -> tuple[Int64, Int64]:
        """(components, sets): of each component of the part, the set with the largest share, the first of them."""
        of = np.zeros(len(self.size), dtype=np.int64)
        inside = self.label_right >= 0
        of[self.label_right[inside]] = self.part.right_component[inside]
        order = self.worst(self.filled, len(self.filled))
        component, at = np.unique(of[order], return_index=True)
        return component, order[at]

    def gap(self, one: int) -> Gap:
        lefts, rights = self.part.lefts[self.label == one], self.part.rights[self.label_right == one]
        return Gap(lefts, rights, int(self.size[one]), self.value, int(self.count[one]))


def find_obstructions(part: DifferencePart, value: int, top: Int64, bottom: Int64) -> ConnectedSets | None:
    """The sets in which the value has more than share top / bottom of their component; None if there are none."""
    transport = part.transport(*part.weights(value, top, bottom))
    if transport.saturate() == 0:
        return None
    lefts, rights = transport.obstruction()
    tied = np.flatnonzero(rights[part.edge_right] & lefts[part.edge_left])
    label, label_right = bipartite_components(
        part.edge_left[tied], part.edge_right[tied], len(part.lefts), len(part.rights)
    )
    label[~lefts], label_right[~rights] = -1, -1
    total = max(label.max(), label_right.max()) + 1
    size, count = np.zeros(total, dtype=np.int64), np.zeros(total, dtype=np.int64)
    for sign, groups, which, at in ((1, part.right, rights, label_right), (-1, part.left, lefts, label)):
        np.add.at(size, at[which], sign * groups.sizes[which])
        np.add.at(count, at[which], sign * counts_of(groups, value)[which])
    return ConnectedSets(part, value, label, label_right, size, count)


def find_largest(part: DifferencePart, value: int, top: Int64, bottom: Int64) -> None:
    """Raise top / bottom, int64[components], to the largest share of the value in a difference of each component.

    Dinkelbach's iteration, for all components at once: look for sets above the best share so far until there are none.
    At the start no class is above it.
    """
    while (sets := find_obstructions(part, value, top, bottom)) is not None:
        component, best = sets.best()
        top[component], bottom[component] = sets.count[best], sets.size[best]
        open_ = np.zeros(len(top), dtype=np.bool_)
        open_[component] = True
        part = part.only(open_)


def sharpen(sets: ConnectedSets, components: int) -> list[tuple[ConnectedSets, Int64]]:
    """The sets, but of each component instead of its best one the difference with the largest share of the value.

    Dinkelbach's iteration, for all components at once: look for sets above the best share so far until there are none.
    """
    top, bottom = np.zeros(components, dtype=np.int64), np.ones(components, dtype=np.int64)
    turn, best = np.zeros(components, dtype=np.int64), np.full(components, -1, dtype=np.int64)
    found, (at, one) = [sets], sets.best()
    first = one
    while len(at):
        top[at], bottom[at] = found[-1].count[one], found[-1].size[one]
        turn[at], best[at] = len(found) - 1, one
        open_ = np.zeros(components, dtype=np.bool_)
        open_[at] = True
        more = find_obstructions(sets.part.only(open_), sets.value, top, bottom)
        if more is None:
            break
        found.append(more)
        at, one = more.best()
        better = more.count[one] * bottom[at] > top[at] * more.size[one]
        at, one = at[better], one[better]
    others = difference(sets.filled, np.sort(first))
    return [(sets, others), *((its, best[(turn == i) & (best >= 0)]) for i, its in enumerate(found))]
