"""Groups of one value in two releases, where their rows may have gone, and what flows along that trace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.flow.transport import Transport, sums
from reissue.arrays.types import Bool, Int32, Int64

if TYPE_CHECKING:
    from reissue.methods.incremental.tracing_filter import Laid

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
    fewer, place = renumber(laid.gone > 0)
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


def renumber(kept: Bool) -> tuple[Int64, Int64]:
    """(what is kept, int64[n] the new number of each, -1 if it is not kept)."""
    place = np.cumsum(kept) - 1
    place[~kept] = -1
    return np.flatnonzero(kept), place
