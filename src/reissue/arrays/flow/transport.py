"""Flows from left nodes to right nodes along uncapacitated edges, and how far such a flow can be bent.

Nearly every question an attacker asks of two releases is one of these: the left nodes are classes or groups of one
release with so much to send, the right nodes those of the other with so much room, and an edge says that something
of the left may sit in the right. Left nodes with more to send than all they reach can take are Hall's obstruction: a
set of classes whose neighbourhood is too small. All numbers are integers, so every answer is exact.

A `Transport` is bent in place: rerouting gives another flow of the same total, which is as good a start for the next
question. Searches touch only what they reach, never the whole graph, so a question costs as much as its
neighbourhood, not as much as the release.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.flow.augmenting import Graph, PathSearch, push_flow, reset_search, search_path
from reissue.arrays.sets import strong_components
from reissue.arrays.types import Bool, Int64


@dataclass(frozen=True, eq=False)
class Transport:
    """What the left nodes send to the right ones; lefts and rights count the nodes of each side."""

    graph: Graph
    search: PathSearch

    @staticmethod
    def of(supply: Int64, demand: Int64, left: Int64, right: Int64, flow: Int64 | None = None) -> Transport:
        """supply: int64[lefts]; demand: int64[rights]; left, right: int64[edges]; flow: a feasible start, or none."""
        left, right = np.asarray(left, dtype=np.int64), np.asarray(right, dtype=np.int64)
        sent = np.zeros(len(left), dtype=np.int64) if flow is None else flow.astype(np.int64)
        unsent, room = supply.astype(np.int64), demand.astype(np.int64)
        if flow is not None:
            unsent = unsent - sums(left, sent, len(supply))
            room = room - sums(right, sent, len(demand))
        graph = Graph(
            left, right, *edges_by_node(left, len(supply)), *edges_by_node(right, len(demand)), sent, unsent, room
        )
        nodes = len(supply) + len(demand)
        return Transport(graph, PathSearch(np.full(nodes, -1, dtype=np.int64), np.empty(nodes, dtype=np.int64)))

    @property
    def flow(self) -> Int64:
        """int64[edges]: what each edge carries now."""
        return self.graph.flow

    def saturate(self) -> int:
        """Send as much as possible; how much stays unsent. A greedy pass, then shortest augmenting paths."""
        _send_greedily(self.graph)
        return int(_saturate(self.graph, self.search))

    def obstruction(self) -> tuple[Bool, Bool]:
        """(lefts, rights): nodes reached from what stays unsent. The rights are all that these lefts can reach."""
        return _reachable_nodes(self.graph, self.search)

    def possible(self, full: Bool | None = None) -> Bool:
        """bool[edges]: edges that some maximum flow uses; for a maximum flow at hand. One pass, O(edges).

        An unused edge can be used iff its ends lie on a cycle of the residual graph: in one strong component.
        full: bool[rights] nodes that take all they can in every flow that counts, as they do in the one at hand.
        """
        component, lefts = self.components(full), len(self.graph.unsent)
        same = component[self.graph.left] == component[self.graph.right + lefts]
        return np.asarray((self.graph.flow > 0) | same, dtype=np.bool_)

    def components(self, full: Bool | None = None) -> Int64:
        """int64[lefts + rights]: the strong component of each node in the residual graph. See `possible`."""
        graph, lefts, rights = self.graph, len(self.graph.unsent), len(self.graph.room)
        source, sink = lefts + rights, lefts + rights + 1
        used = graph.flow > 0
        taken = sums(graph.right, graph.flow, rights) > 0
        if full is not None:
            taken &= ~full
        given = sums(graph.left, graph.flow, lefts) > 0
        some, more = np.flatnonzero(graph.room > 0) + lefts, np.flatnonzero(taken) + lefts
        late, done = np.flatnonzero(graph.unsent > 0), np.flatnonzero(given)
        tail = [graph.left, graph.right[used] + lefts, some, np.full(len(more), sink), np.full(len(late), source), done]
        head = [graph.right + lefts, graph.left[used], np.full(len(some), sink), more, late, np.full(len(done), source)]
        return strong_components(np.concatenate(tail), np.concatenate(head), sink + 1)[:source]

    def least(self, edges: Int64) -> Int64:
        """int64[len(edges)]: the least that any flow of this total sends along each edge."""
        return _least(self.graph, self.search, np.asarray(edges, dtype=np.int64))

    def most(self, edges: Int64) -> Int64:
        """int64[len(edges)]: the most that any flow of this total sends along each edge."""
        return _most(self.graph, self.search, np.asarray(edges, dtype=np.int64))

    def least_into(self, rights: Int64) -> Int64:
        """int64[len(rights)]: the least that any flow of this total sends into each right node."""
        return _least_into(self.graph, self.search, np.asarray(rights, dtype=np.int64))

    def search_in_vain(self, edge: int, shut: int | None = None) -> Bool:
        """bool[lefts + rights]: the nodes that an edge's units come by where they find no other way; none if all do.

        shut: a right node they may not go to at all, as for `least_into`; else only the edge is closed, as for `least`.
        """
        closed = -1 if shut is None else len(self.graph.unsent) + shut
        return np.asarray(_search_in_vain(self.graph, self.search, edge, closed), dtype=np.bool_)


@njit(cache=True)
def sums(index: Int64, weight: Int64, count: int) -> Int64:
    """int64[count]: the weights added up per index, exactly."""
    total = np.zeros(count, np.int64)
    for i in range(len(index)):
        total[index[i]] += weight[i]
    return total


@njit(cache=True)
def edges_by_node(node: Int64, count: int) -> tuple[Int64, Int64]:
    """(start int64[count + 1], edges): the edges of each node, in order. O(edges + nodes)."""
    start, edges = np.zeros(count + 1, np.int64), np.empty(len(node), np.int64)
    for edge in range(len(node)):
        start[node[edge] + 1] += 1
    for i in range(count):
        start[i + 1] += start[i]
    place = start.copy()
    for edge in range(len(node)):
        edges[place[node[edge]]] = edge
        place[node[edge]] += 1
    return start, edges


@njit(cache=True)
def _send_greedily(graph: Graph) -> None:
    """Send what fits without rerouting. O(edges)."""
    for edge in range(len(graph.left)):
        more = min(graph.unsent[graph.left[edge]], graph.room[graph.right[edge]])
        graph.flow[edge] += more
        graph.unsent[graph.left[edge]] -= more
        graph.room[graph.right[edge]] -= more


@njit(cache=True)
def _saturate(graph: Graph, search: PathSearch) -> int:
    """Augment from every left node that has something unsent; what no path can carry stays unsent for good."""
    left_over = 0
    for left in range(len(graph.unsent)):
        if graph.unsent[left] > 0:
            graph.unsent[left] -= push_flow(graph, search, left, graph.unsent[left], -1, -1)
            left_over += graph.unsent[left]
    return left_over


@njit(cache=True)
def _reachable_nodes(graph: Graph, search: PathSearch) -> tuple[Bool, Bool]:
    lefts = len(graph.unsent)
    in_left, in_right = np.zeros(lefts, np.bool_), np.zeros(len(graph.room), np.bool_)
    for left in range(lefts):
        if graph.unsent[left] > 0 and not in_left[left]:
            _, reached = search_path(graph, search, left, -1, -1)
            for p in range(reached):
                node = search.queue[p]
                if node < lefts:
                    in_left[node] = True
                else:
                    in_right[node - lefts] = True
            reset_search(search, reached)
    return in_left, in_right


@njit(cache=True)
def _send_elsewhere(graph: Graph, search: PathSearch, edge: int, shut_edge: int, shut_node: int) -> int:
    """Take an edge's units off and send them again with an edge or a node shut; those that find no other way."""
    units, right = graph.flow[edge], graph.right[edge]
    if units == 0:
        return 0
    graph.flow[edge] = 0
    graph.room[right] += units
    kept = units - push_flow(graph, search, graph.left[edge], units, shut_edge, shut_node)
    graph.flow[edge] = kept
    graph.room[right] -= kept
    return int(kept)


@njit(cache=True)
def _least(graph: Graph, search: PathSearch, edges: Int64) -> Int64:
    """The units that must use each edge."""
    least = np.zeros(len(edges), np.int64)
    for i in range(len(edges)):
        least[i] = _send_elsewhere(graph, search, edges[i], edges[i], -1)
    return least


@njit(cache=True)
def _least_into(graph: Graph, search: PathSearch, rights: Int64) -> Int64:
    """Send everything a right node takes elsewhere; what finds no other room must come to it."""
    lefts, least = len(graph.unsent), np.zeros(len(rights), np.int64)
    for i in range(len(rights)):
        right = rights[i]
        for p in range(graph.right_start[right], graph.right_start[right + 1]):
            least[i] += _send_elsewhere(graph, search, graph.right_edges[p], -1, lefts + right)
    return least


@njit(cache=True)
def _most(graph: Graph, search: PathSearch, edges: Int64) -> Int64:
    """Let the left end send all it can into this edge, others making way, and the rest wherever it fits."""
    lefts, most = len(graph.unsent), np.zeros(len(edges), np.int64)
    for i in range(len(edges)):
        edge = edges[i]
        left, right = graph.left[edge], graph.right[edge]
        units = 0
        for p in range(graph.left_start[left], graph.left_start[left + 1]):
            other = graph.left_edges[p]
            if other != edge:
                units += graph.flow[other]
                graph.room[graph.right[other]] += graph.flow[other]
                graph.flow[other] = 0
        while units > 0:  # one path at a time from the right end, never through the left end itself
            direct = min(units, graph.room[right])
            if direct > 0:
                graph.room[right] -= direct
                graph.flow[edge] += direct
                units -= direct
                continue
            moved = False
            for p in range(graph.right_start[right], graph.right_start[right + 1]):
                other = graph.right_edges[p]
                if other == edge or graph.flow[other] == 0:
                    continue
                want = min(units, graph.flow[other])
                graph.flow[other] -= want
                sent = _push_past(graph, search, graph.left[other], want, lefts + right, left)
                graph.flow[other] += want - sent
                graph.flow[edge] += sent
                units -= sent
                moved = moved or sent > 0
            if not moved:
                break
        most[i] = graph.flow[edge]
        if units > 0:
            push_flow(graph, search, left, units, edge, -1)
    return most


@njit(cache=True)
def _push_past(graph: Graph, search: PathSearch, start: int, limit: int, shut: int, also: int) -> int:
    """As send, with two nodes that may not be entered."""
    kept = search.came[also]
    search.came[also] = -3
    sent = push_flow(graph, search, start, limit, -1, shut)
    search.came[also] = kept
    return sent


@njit(cache=True)
def _search_in_vain(graph: Graph, search: PathSearch, edge: int, shut: int) -> Bool:
    found = np.zeros(len(search.came), np.bool_)
    left, right, units = graph.left[edge], graph.right[edge], graph.flow[edge]
    graph.flow[edge] = 0
    graph.room[right] += units
    kept = units - push_flow(graph, search, left, units, edge, shut)
    if kept > 0:
        _, reached = search_path(graph, search, left, edge, shut)
        for p in range(reached):
            found[search.queue[p]] = True
        reset_search(search, reached)
    graph.flow[edge] = kept
    graph.room[right] -= kept
    return found
