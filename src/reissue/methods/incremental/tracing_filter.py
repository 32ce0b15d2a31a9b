"""The part of two releases in which rows might be traced: classes tied to a pair that shares fewer than k subjects.

In a checked series that is a small part of them, and the rest of a pair of releases need not be looked at: an attacker
who sees only classes that share subjects, and takes only shared subjects for people who fit, is surer than one who sees
everything. So where he can trace nothing, nobody can, provided that nobody's attributes or value changed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.flow.transport import Transport, sums
from reissue.arrays.sets import bipartite_components, sorted_unique
from reissue.arrays.types import Bool, Int32, Int64
from reissue.model.overlap import Groups, Overlap

FORWARD, FORCED, BACKWARD = 0, 1, 2
"""How a row was traced: all its possible classes, one class it must be in, or back from the newer release."""


@dataclass(frozen=True, eq=False)
class GroupGraph:
    """Groups of one value in two releases and where rows may have gone.

    pair: int64[edges] the class pair of an edge (-1: gone); left, right: int64[edges] groups
    flow: int64[edges] the true placement; demand: int64[rights] with one further right node per left group: gone
    """

    left: Int64
    right: Int64
    pair: Int64
    flow: Int64
    supply: Int64
    demand: Int64


def group_graph(
    older: Groups, newer: Groups, pair_left: Int64, pair_right: Int64, true: tuple[Int64, Int64, Int64], gone: Int64
) -> GroupGraph:
    """The graph over the given pairs of classes (sorted by left, then right).

    true: (pair, value, count), sorted by pair then value: how many rows of a value really went from one class to the
    other; gone: int64[older classes] rows of a class that may be missing from the newer release.
    """
    edge_left, edge_right, pair, flow = _group_edges(
        pair_left, pair_right, older.start, older.value, newer.start, newer.value, *true
    )
    missing = np.minimum(gone[older.classes], older.count)
    some = np.flatnonzero(missing > 0)
    last = len(newer.count)
    sent = older.count - sums(edge_left, flow, len(older.count))
    return GroupGraph(
        np.concatenate([edge_left, some]),
        np.concatenate([edge_right, last + np.arange(len(some))]),
        np.concatenate([pair, np.full(len(some), -1)]),
        np.concatenate([flow, sent[some]]),
        older.count,
        np.concatenate([newer.count, missing[some]]),
    )


@njit(cache=True)
def _group_edges(
    pair_left: Int64,
    pair_right: Int64,
    older_start: Int64,
    older_value: Int32,
    newer_start: Int64,
    newer_value: Int32,
    true_pair: Int64,
    true_value: Int64,
    true_count: Int64,
) -> tuple[Int64, Int64, Int64, Int64]:
    """Edges between groups of one value for every pair of classes, by merging sorted values. O(groups met)."""
    room = 16
    left, right = np.empty(room, np.int64), np.empty(room, np.int64)
    pair, flow = np.empty(room, np.int64), np.empty(room, np.int64)
    found = t = 0
    for p in range(len(pair_left)):
        i, j = older_start[pair_left[p]], newer_start[pair_right[p]]
        while i < older_start[pair_left[p] + 1] and j < newer_start[pair_right[p] + 1]:
            a, b = older_value[i], newer_value[j]
            if a == b:
                if found == room:
                    left = np.concatenate((left, np.empty(room, np.int64)))
                    right = np.concatenate((right, np.empty(room, np.int64)))
                    pair = np.concatenate((pair, np.empty(room, np.int64)))
                    flow = np.concatenate((flow, np.empty(room, np.int64)))
                    room *= 2
                while t < len(true_pair) and (true_pair[t] < p or (true_pair[t] == p and true_value[t] < a)):
                    t += 1
                left[found], right[found], pair[found], flow[found] = i, j, p, 0
                if t < len(true_pair) and true_pair[t] == p and true_value[t] == a:
                    flow[found] = true_count[t]
                found += 1
            i, j = i + (a <= b), j + (b <= a)
    return left[:found].copy(), right[:found].copy(), pair[:found].copy(), flow[:found].copy()


def place_rows(graph: GroupGraph) -> Transport | None:
    """A flow that places every row, or None if there is none: somebody changed, and rows cannot be traced."""
    transport = Transport.of(graph.supply, graph.demand, graph.left, graph.right, graph.flow)
    if (transport.graph.unsent < 0).any() or (transport.graph.room < 0).any():
        transport = Transport.of(graph.supply, graph.demand, graph.left, graph.right)
    return transport if transport.saturate() == 0 else None


def trace_rows(
    graph: GroupGraph,
    known: Int64,
    count: Callable[[Int64], Int64],
    k: int,
    hull_fit: Callable[[Int64, Int64, bool], Int64],
) -> tuple[Int64, Int64, Int64, Int64] | None:
    """(kind, at, rows, fit) of every trace to fewer than k people; None if the rows cannot be placed.

    known: int64[pairs] people who fit both boxes for sure (those whom the classes share); count(pairs): all who do, up
    to k; hull_fit(edges, nodes, backward): for possible edges grouped by node (their left or right group), how many
    people fit the hull per distinct node. at: an edge for FORCED, else the group.
    """
    transport = place_rows(graph)
    if transport is None:
        return None
    possible, real = transport.possible(), graph.pair >= 0
    usable = possible & (graph.demand[graph.right] > 0) & (graph.supply[graph.left] > 0)
    fit, thin = _thin(graph, usable, transport.flow > 0, known, count, k)
    forced = np.flatnonzero(thin & (transport.flow > 0))
    least = transport.least(forced)
    found = [(FORCED, forced[least > 0], least[least > 0], fit[graph.pair[forced[least > 0]]])]
    wide = np.zeros(len(graph.supply), np.bool_)
    wide[graph.left[usable & ~thin]] = True  # also rows that may have gone: they may be anywhere in their box
    edges = np.flatnonzero(usable & ~wide[graph.left])
    if len(edges):
        nodes, people = sorted_unique(graph.left[edges]), hull_fit(edges, graph.left[edges], False)
        few = people < k
        found.append((FORWARD, nodes[few], graph.supply[nodes[few]], people[few]))
    wide = np.zeros(len(graph.demand), np.bool_)
    wide[graph.right[usable & ~thin]] = True
    edges = np.flatnonzero(usable & real & ~wide[graph.right])
    if len(edges):
        nodes, people = sorted_unique(graph.right[edges]), hull_fit(edges, graph.right[edges], True)
        nodes, people = nodes[people < k], people[people < k]
        least = transport.least_into(nodes)
        found.append((BACKWARD, nodes[least > 0], least[least > 0], people[least > 0]))
    kind = np.concatenate([np.full(len(one[1]), one[0], dtype=np.int64) for one in found])
    at, rows, people = (np.concatenate([one[i] for one in found]) for i in (1, 2, 3))
    return kind, at, rows, people


def _thin(
    graph: GroupGraph, usable: Bool, used: Bool, known: Int64, count: Callable[[Int64], Int64], k: int
) -> tuple[Int64, Bool]:
    """(fit int64[pairs], thin bool[edges]): edges whose boxes fewer than k people fit, where that can matter.

    It matters for edges in use, and for groups whose usable edges are not known to hold k people together: the hull of
    any other group holds them all. Nothing must come to a newer group that no edge in use leads to. An edge that does
    not matter counts as wide, which keeps its groups from being traced; they cannot be.
    """
    real = graph.pair >= 0
    sure = np.where(real, known[graph.pair], k) if len(known) else np.full(len(real), k)
    left = sums(graph.left[usable], sure[usable], len(graph.supply)) < k
    right = sums(graph.right[usable], sure[usable], len(graph.demand)) < k
    right &= sums(graph.right[used], sure[used] + 1, len(graph.demand)) > 0
    asked = real & (sure < k) & (used | (usable & (left[graph.left] | right[graph.right])))
    pairs, fit = sorted_unique(graph.pair[asked]), np.full(len(known), k, dtype=np.int64)
    fit[pairs] = count(pairs)
    return fit, asked & (np.where(real, fit[graph.pair], k) < k) if len(known) else asked


@dataclass(frozen=True, eq=False)
class Laid:
    """Two releases laid over each other.

    older, newer: the values in their classes; values: int32[shared subjects] in the overlap's order
    gone: int64[older classes] rows of a class that may be missing from the newer release
    """

    older: Groups
    newer: Groups
    overlap: Overlap
    values: Int32
    value_count: int
    gone: Int64

    def went(self) -> tuple[Int64, Int64, Int64]:
        """(link, value, count), sorted: how many subjects of each value the two classes of a link share."""
        groups = Groups.of(self.overlap.link, self.values, len(self.overlap.left), self.value_count)
        return groups.classes, groups.value.astype(np.int64), groups.count

    @cached_property
    def labels(self) -> tuple[Int64, Int64]:
        """(int64[lefts], int64[rights]): the component of each class; classes that share subjects are in one."""
        return bipartite_components(self.overlap.left, self.overlap.right, len(self.older.sizes), len(self.newer.sizes))

    @cached_property
    def components(self) -> int:
        return int(max(label.max(initial=-1) for label in self.labels)) + 1

    def find_tangled(self, k: int) -> Bool:
        """bool[components]: those with a link of fewer than k subjects."""
        tangled = np.zeros(self.components, np.bool_)
        tangled[self.labels[0][self.overlap.left[self.overlap.shared < k]]] = True
        return tangled

    def only(self, component: Bool) -> TracingPart:
        """The part within some components. O(shared + classes)."""
        overlap, (label, right_label) = self.overlap, self.labels
        lefts, left_place = _renumber(component[label])
        rights, right_place = _renumber(component[right_label])
        links = np.flatnonzero(left_place[overlap.left] >= 0)
        shared = np.flatnonzero(component[label][overlap.own])
        laid = Laid(
            self.older.pick(lefts),
            self.newer.pick(rights),
            Overlap(
                left_place[overlap.left[links]],
                right_place[overlap.right[links]],
                overlap.shared[links],
                left_place[overlap.own[shared]],
                right_place[overlap.other[shared]],
                overlap.at_left[shared],
                overlap.at_right[shared],
            ),
            self.values[shared],
            self.value_count,
            self.gone[lefts],
        )
        return TracingPart(laid, lefts, rights, label[lefts], right_label[rights])


@dataclass(frozen=True, eq=False)
class TracingPart:
    """Some components of two releases, their classes renumbered.

    lefts, rights: int64[] the classes; left_label, right_label: int64[] their components, as of the whole
    """

    laid: Laid
    lefts: Int64
    rights: Int64
    left_label: Int64
    right_label: Int64

    def suspicious(self, k: int) -> bool:
        """Whether the surest attacker would trace anything."""
        overlap = self.laid.overlap
        graph = group_graph(
            self.laid.older, self.laid.newer, overlap.left, overlap.right, self.laid.went(), self.laid.gone
        )

        def hull_fit(edges: Int64, nodes: Int64, backward: bool) -> Int64:
            which, place = np.unique(nodes, return_inverse=True)
            return sums(place, overlap.shared[graph.pair[edges]], len(which))

        found = trace_rows(graph, overlap.shared, lambda pairs: np.minimum(overlap.shared[pairs], k), k, hull_fit)
        return found is None or len(found[0]) > 0


def suspicious(
    older: Groups, newer: Groups, overlap: Overlap, values: Int32, value_count: int, k: int, gone: Int64
) -> bool:
    """Whether anything might be traced: False proves that nothing is, without looking at a single box."""
    if (overlap.shared >= k).all():
        return False
    laid = Laid(older, newer, overlap, values, value_count, gone)
    return laid.only(laid.find_tangled(k)).suspicious(k)


def _renumber(kept: Bool) -> tuple[Int64, Int64]:
    """(what is kept, int64[n] the new number of each, -1 if it is not kept)."""
    place = np.cumsum(kept) - 1
    place[~kept] = -1
    return np.flatnonzero(kept), place


def members_fit_classes(groups: Groups, boxes: Int32, classes: Int32 | Int64, codes: Int32, values: Int32) -> bool:
    """Whether all of some people lie in the boxes of their classes and have rows of their values there. O(people).

    boxes: int32[classes, attributes, 2]; classes, values: [people]; codes: int32[people, attributes]
    """
    contiguous = np.ascontiguousarray(boxes), classes, np.ascontiguousarray(codes), values
    return bool(_members_fit_classes(*contiguous, groups.start, groups.value, groups.count.copy()))


@njit(cache=True)
def _members_fit_classes(
    boxes: Int32, classes: Int32 | Int64, codes: Int32, values: Int32, start: Int64, value: Int32, free: Int64
) -> bool:
    """free: int64[groups] rows that nobody has taken yet."""
    for i in range(len(classes)):
        own = classes[i]
        for a in range(codes.shape[1]):
            if codes[i, a] < boxes[own, a, 0] or codes[i, a] > boxes[own, a, 1]:
                return False
        group, end = start[own], start[own + 1]
        while group < end and value[group] < values[i]:
            group += 1
        if group == end or value[group] != values[i] or free[group] == 0:
            return False
        free[group] -= 1
    return True


@njit(cache=True)
def same(
    one_codes: Int32, one_values: Int32, at_one: Int64, other_codes: Int32, other_values: Int32, at_other: Int64
) -> bool:
    """Whether people have the same codes and values in two tables; at_one, at_other: int64[people] their rows there."""
    for i in range(len(at_one)):
        one, other = at_one[i], at_other[i]
        if one_values[one] != other_values[other]:
            return False
        for a in range(one_codes.shape[1]):
            if one_codes[one, a] != other_codes[other, a]:
                return False
    return True
