"""Groups of one value in two releases, where their rows may have gone, and what a flow tells about that.

One flow that places all rows shows which edges are possible at all (strong components of its residual graph) and how
many rows must take an edge (rerouting). How many people fit boxes is asked of the caller, and only where it matters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.flow.transport import Transport, sums
from reissue.arrays.sets import sorted_unique
from reissue.arrays.types import Bool, Int32, Int64
from reissue.model.overlap import Groups

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
