"""Augmenting paths on a bipartite graph: how one more unit finds room, others making way.

A search touches only what it reaches, never the whole graph, and leaves its working memory as it found it.
"""

from __future__ import annotations

from typing import NamedTuple

from reissue.arrays.compiled import njit
from reissue.arrays.types import Int64


class Graph(NamedTuple):
    """A bipartite graph and a flow on it, for kernels.

    left, right: int64[edges] ends of each edge; left_start, left_edges / right_start, right_edges: edges of each node
    flow: int64[edges]; unsent: int64[lefts]; room: int64[rights] what a right node could still take
    """

    left: Int64
    right: Int64
    left_start: Int64
    left_edges: Int64
    right_start: Int64
    right_edges: Int64
    flow: Int64
    unsent: Int64
    room: Int64


class PathSearch(NamedTuple):
    """Working memory of a search: all -1 between searches, so that a search pays only for what it reaches.

    came: int64[lefts + rights] edge by which a node was reached (-2 for a start); queue: int64[lefts + rights]
    """

    came: Int64
    queue: Int64


@njit(cache=True)
def search_path(graph: Graph, search: PathSearch, start: int, without: int, shut: int) -> tuple[int, int]:
    """Breadth first from a left node to a right node with room: (that node or -1, nodes reached).

    without: an edge that may not be used; shut: a node that may not be entered (lefts + number for a right node).
    """
    lefts = len(graph.unsent)
    search.came[start], search.queue[0] = -2, start
    head, tail = 0, 1
    while head < tail:
        node = search.queue[head]
        head += 1
        if node < lefts:
            for p in range(graph.left_start[node], graph.left_start[node + 1]):
                edge = graph.left_edges[p]
                right = graph.right[edge]
                if edge == without or lefts + right == shut or search.came[lefts + right] != -1:
                    continue
                search.came[lefts + right], search.queue[tail] = edge, lefts + right
                tail += 1
                if graph.room[right] > 0:
                    return right, tail
            continue
        for p in range(graph.right_start[node - lefts], graph.right_start[node - lefts + 1]):
            edge = graph.right_edges[p]
            left = graph.left[edge]
            if edge == without or graph.flow[edge] == 0 or left == shut or search.came[left] != -1:
                continue
            search.came[left], search.queue[tail] = edge, left
            tail += 1
    return -1, tail


@njit(cache=True)
def reset_search(search: PathSearch, reached: int) -> None:
    for p in range(reached):
        search.came[search.queue[p]] = -1


@njit(cache=True)
def push_flow(graph: Graph, search: PathSearch, start: int, limit: int, without: int, shut: int) -> int:
    """Send up to `limit` units from left node `start` to room, by shortest augmenting paths; how many were sent."""
    lefts, sent = len(graph.unsent), 0
    while sent < limit:
        end, reached = search_path(graph, search, start, without, shut)
        if end >= 0:
            most, right = min(limit - sent, graph.room[end]), end
            while True:  # the narrowest backward edge of the path
                left = graph.left[search.came[lefts + right]]
                if search.came[left] == -2:
                    break
                most = min(most, graph.flow[search.came[left]])
                right = graph.right[search.came[left]]
            graph.room[end] -= most
            right = end
            while True:
                edge = search.came[lefts + right]
                graph.flow[edge] += most
                left = graph.left[edge]
                if search.came[left] == -2:
                    break
                graph.flow[search.came[left]] -= most
                right = graph.right[search.came[left]]
            sent += most
        reset_search(search, reached)
        if end < 0:
            break
    return sent
