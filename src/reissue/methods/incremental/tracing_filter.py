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
from reissue.arrays.sets import bipartite_components
from reissue.arrays.types import Bool, Int32, Int64
from reissue.methods.incremental.sides import count_even
from reissue.model.overlap import Groups, Overlap

FORWARD, FORCED, BACKWARD = 0, 1, 2
"""How a row was traced: all its possible classes, one class it must be in, or back from the newer release."""


@dataclass(frozen=True, eq=False)
class GroupGraph:
    """Groups of one value in two releases and where rows may have gone.

    pair: int64[edges] the class pair of an edge (-1: gone); left, right: int64[edges] groups
    flow: int64[edges] the true placement; demand: int64[rights] with one further right node per left class: its rows
    that may be gone, of whatever value; full: bool[rights] those that are gone for sure
    """

    left: Int64
    right: Int64
    pair: Int64
    flow: Int64
    supply: Int64
    demand: Int64
    full: Bool


def group_graph(laid: Laid, pair_left: Int64, pair_right: Int64, true: tuple[Int64, Int64, Int64]) -> GroupGraph:
    """The graph over the given pairs of classes (sorted by left, then right).

    true: (pair, value, count), sorted by pair then value: how many rows of a value really went from one class to the
    other. What has gone from a class is one budget for all its values.
    """
    older, newer = laid.older, laid.newer
    edge_left, edge_right, pair, flow = _group_edges(
        pair_left, pair_right, older.start, older.value, newer.start, newer.value, *true
    )
    fewer, place = _renumber(laid.gone > 0)
    some = np.flatnonzero(place[older.classes] >= 0)
    sent = older.count - sums(edge_left, flow, len(older.count))
    return GroupGraph(
        np.concatenate([edge_left, some]),
        np.concatenate([edge_right, len(newer.count) + place[older.classes[some]]]),
        np.concatenate([pair, np.full(len(some), -1)]),
        np.concatenate([flow, sent[some]]),
        older.count,
        np.concatenate([newer.count, laid.gone[fewer]]),
        np.concatenate([np.zeros(len(newer.count), np.bool_), laid.surely[fewer]]),
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


Traced = tuple[int, Int64, Int64, Int64, Int64]
"""(kind, at, rows, edges, ends): at is an edge for FORCED, else the group; rows: so many are traced; edges: int64[] the
places of all traces, one after the other up to its end in ends."""
Placed = tuple[Transport, Bool | None]
"""A flow that places every row, and the nodes that it must fill."""


def place_rows(graph: GroupGraph) -> Placed | None:
    """A flow that places every row and the nodes it must fill, or None if there is none: rows cannot be traced.

    Where somebody's value changed the true placement is none; then any that places all rows counts, whoever has gone.
    """
    transport = Transport.of(graph.supply, graph.demand, graph.left, graph.right, graph.flow)
    full = graph.full if (transport.graph.unsent == 0).all() else None
    if (graph.flow < 0).any() or (transport.graph.unsent < 0).any() or (transport.graph.room < 0).any():
        transport, full = Transport.of(graph.supply, graph.demand, graph.left, graph.right), None
    return (transport, full) if transport.saturate() == 0 else None


def trace_rows(
    graph: GroupGraph,
    placed: Placed,
    known: Int64,
    count: Callable[[Int64], Int64],
    k: int,
    fits: Callable[[Int64, Int64], Int64],
) -> list[Traced]:
    """Traces to fewer than k people by kind; the flow is bent on the way.

    known: int64[pairs] people who fit both boxes for sure (those whom the classes share); count(pairs): all who do, up
    to k; fits(edges, place): how many people fit one of the edges at each place, all of them edges that fewer than k
    fit.
    """
    transport, full = placed
    real = graph.pair >= 0
    usable = transport.possible(full) & (graph.demand[graph.right] > 0) & (graph.supply[graph.left] > 0)
    sure = np.where(real, known[graph.pair], k) if len(known) else np.full(len(real), k)
    used = transport.flow > 0
    forced = np.flatnonzero(used & (sure < k))
    least = transport.least(forced)
    forced, least = forced[least > 0], least[least > 0]
    thin = _thin(graph, usable, used, forced, sure, count, k)
    forced, least = forced[thin[forced]], least[thin[forced]]
    found = [(FORCED, forced, least, forced, np.arange(1, len(forced) + 1))]
    for kind, end, nodes in ((FORWARD, graph.left, len(graph.supply)), (BACKWARD, graph.right, len(graph.demand))):
        wide = np.zeros(nodes, np.bool_)
        wide[end[usable & ~thin]] = True  # also rows that may have gone: they may be anywhere in their box
        edges = np.flatnonzero(usable & real & ~wide[end])
        at, place = np.unique(end[edges], return_inverse=True)
        few = fits(edges, place) < k
        least = graph.supply[at] if kind == FORWARD else np.zeros(len(at), np.int64)
        if kind == BACKWARD:
            least[few] = transport.least_into(at[few])
        few &= least > 0
        edges, place = edges[few[place]], place[few[place]]
        edges = edges[np.argsort(place, kind="stable")]
        found.append((kind, at[few], least[few], edges, np.cumsum(np.bincount(place, minlength=len(at))[few])))
    return found


def _thin(
    graph: GroupGraph,
    usable: Bool,
    used: Bool,
    forced: Int64,
    sure: Int64,
    count: Callable[[Int64], Int64],
    k: int,
) -> Bool:
    """bool[edges]: edges whose boxes fewer than k people fit, where that can matter.

    It matters for edges that must be used, and for groups whose usable edges are not known to hold k people together:
    the region of any other group holds them all. Nothing must come to a newer group that no edge in use leads to. One
    usable edge that is wide is enough, so a few edges of a group are looked at first. An edge that does not matter
    counts as wide, which keeps its groups from being traced; they cannot be.
    """
    left = sums(graph.left[usable], sure[usable], len(graph.supply)) < k
    right = sums(graph.right[usable], sure[usable], len(graph.demand)) < k
    right &= sums(graph.right[used], sure[used] + 1, len(graph.demand)) > 0
    thin, asked = np.zeros(len(sure), np.bool_), np.zeros(len(sure), np.bool_)
    few, many, wide = forced, 1, np.flatnonzero(usable & (sure >= k))
    left[graph.left[wide]], right[graph.right[wide]] = False, False
    while True:
        pairs, place = np.unique(graph.pair[few], return_inverse=True)
        thin[few] = (count(pairs) < k)[place]
        asked[few] = True
        wide = few[~thin[few]]
        left[graph.left[wide]], right[graph.right[wide]] = False, False
        rest = np.flatnonzero(usable & (sure < k) & ~asked & (left[graph.left] | right[graph.right]))
        if len(rest) == 0:
            return thin
        few = rest[_find_first(graph.left[rest], many) | _find_first(graph.right[rest], many)]
        many *= 2


@njit(cache=True)
def _find_first(end: Int64, many: int) -> Bool:
    """bool[edges]: the first few edges of each node. O(edges + nodes)."""
    first, seen = np.empty(len(end), np.bool_), np.zeros(end.max() + 1 if len(end) else 0, np.int64)
    for edge in range(len(end)):
        first[edge] = seen[end[edge]] < many
        seen[end[edge]] += 1
    return first


@dataclass(frozen=True, eq=False)
class Laid:
    """Two releases laid over each other.

    older, newer: the values in their classes; values: int32[shared subjects] in the overlap's order
    gone: int64[older classes] rows of a class that may be missing from the newer release; surely: bool[older classes]
    whether so many are, since all of them are somebody's
    """

    older: Groups
    newer: Groups
    overlap: Overlap
    values: Int32
    value_count: int
    gone: Int64
    surely: Bool

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
        """bool[components]: those with a link of fewer than k subjects, unless they are known to tell nothing."""
        tangled = np.zeros(self.components, np.bool_)
        tangled[self.labels[0][self.overlap.left[self.overlap.shared < k]]] = True
        return tangled & (count_even((self.older, self.labels[0]), (self.newer, self.labels[1]), self.components) < k)

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
            self.surely[lefts],
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
        graph = group_graph(self.laid, overlap.left, overlap.right, self.laid.went())

        def fits(edges: Int64, place: Int64) -> Int64:
            return sums(place, overlap.shared[graph.pair[edges]], int(place.max(initial=-1)) + 1)

        placed = place_rows(graph)
        if placed is None:
            return True
        found = trace_rows(graph, placed, overlap.shared, lambda pairs: np.minimum(overlap.shared[pairs], k), k, fits)
        return any(len(at) for _, at, *_ in found)


def _renumber(kept: Bool) -> tuple[Int64, Int64]:
    """(what is kept, int64[n] the new number of each, -1 if it is not kept)."""
    place = np.cumsum(kept) - 1
    place[~kept] = -1
    return np.flatnonzero(kept), place


@njit(cache=True)
def find_followed(
    older: tuple[Int64, Int32, Int64, Int32],
    newer: tuple[Int64, Int32, Int64, Int32],
    own: Int32 | Int64,
    other: Int32 | Int64,
    at: Int64,
    codes: Int32,
    values: Int32,
) -> tuple[Bool, bool]:
    """(bool[people], bool): who lies in the boxes of both classes; whether they all have rows of their values there.

    older, newer: (start, value, rows that nobody has taken yet) of the groups, boxes int32[classes, attributes, 2];
    own, other: [people] their classes; at: int64[people] their places in codes; values: int32[people]. O(people).
    """
    followed, settled = np.ones(len(at), np.bool_), True
    for i in range(len(at)):
        for a in range(codes.shape[1]):
            low, high = (
                max(older[3][own[i], a, 0], newer[3][other[i], a, 0]),
                min(older[3][own[i], a, 1], newer[3][other[i], a, 1]),
            )
            followed[i] &= low <= codes[at[i], a] <= high
        if followed[i]:
            settled &= _take_row(older, own[i], values[i]) and _take_row(newer, other[i], values[i])
    return followed, settled


@njit(cache=True)
def _take_row(side: tuple[Int64, Int32, Int64, Int32], own: int, wanted: int) -> bool:
    start, value, free, _ = side
    group, end = start[own], start[own + 1]
    while group < end and value[group] < wanted:
        group += 1
    if group == end or value[group] != wanted or free[group] == 0:
        return False
    free[group] -= 1
    return True
