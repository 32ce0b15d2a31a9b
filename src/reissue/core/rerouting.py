"""Flows that place every record of one release in another, and how far such a flow can be bent.

A saturating flow sends each left group's records to comparable right groups. One is found by max-flow; the most
that any saturating flow can send along one edge, and the least it must send into one right group, then follow by
rerouting the flow at hand along residual paths. Every bent flow saturates as well, so it serves as the next start.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from reissue.core.domain import Int64


@dataclass(frozen=True, eq=False)
class Placing:
    """A maximum flow from left groups to right groups, bent in place by `most` and `least_into`.

    supply: int64[lefts]; room: int64[rights]
    edge_left, edge_right, flow: int64[edges]
    by_left, by_right: (start, edge) of each group's edges
    unplaced: records of the left that found no place; 0 for cumulative releases
    """

    supply: Int64
    room: Int64
    edge_left: Int64
    edge_right: Int64
    flow: Int64
    by_left: tuple[Int64, Int64]
    by_right: tuple[Int64, Int64]
    unplaced: int

    def most(self) -> Int64:
        """int64[edges]: the most that one saturating flow sends along each edge. O(edges x rerouted neighbourhood)."""
        return _most(self.supply, self.room, self.edge_left, self.edge_right, self.flow, *self.by_left, *self.by_right)

    def least_into(self) -> Int64:
        """int64[rights]: the least that every saturating flow sends into each right group."""
        return _least_into(self.room, self.edge_left, self.edge_right, self.flow, *self.by_left, *self.by_right)


def saturate(supply: Int64, room: Int64, edge_left: Int64, edge_right: Int64) -> Placing:
    """Place the left records by one max-flow."""
    lefts, rights, edges = len(supply), len(room), len(edge_left)
    source, sink = lefts + rights, lefts + rights + 1
    tail = np.concatenate([edge_left, np.full(lefts, source), lefts + np.arange(rights)])
    head = np.concatenate([lefts + edge_right, np.arange(lefts), np.full(rights, sink)])
    capacity = np.concatenate([np.minimum(supply[edge_left], room[edge_right]), supply, room]).astype(np.int32)
    graph = csr_array((capacity, (tail, head)), shape=(sink + 1, sink + 1))
    solved = maximum_flow(graph, source, sink)
    flow = np.asarray(solved.flow[edge_left, lefts + edge_right], dtype=np.int64).reshape(edges)
    return Placing(
        supply.astype(np.int64),
        room.astype(np.int64),
        edge_left.astype(np.int64),
        edge_right.astype(np.int64),
        flow,
        _incident(edge_left, lefts),
        _incident(edge_right, rights),
        int(supply.sum() - solved.flow_value),
    )


def _incident(node: Int64, nodes: int) -> tuple[Int64, Int64]:
    order = np.argsort(node, kind="stable").astype(np.int64)
    return np.searchsorted(node[order], np.arange(nodes + 1)).astype(np.int64), order


@njit(cache=True)
def _search(
    origin: int,
    goal: int,
    barred: int,
    spare: Int64,
    edge_left: Int64,
    edge_right: Int64,
    flow: Int64,
    left_start: Int64,
    left_edge: Int64,
    right_start: Int64,
    right_edge: Int64,
    came: Int64,
    stamp: Int64,
    queue: Int64,
) -> int:
    """Breadth-first from right group `origin` until spare room, or left group `goal`, is found without `barred`.

    Reroutes go from a right group back along flow to a left group, and on to its other right groups. `came` keeps
    the edge by which each group was reached; the origin's own spare room does not count. Returns the right group
    with spare room, or -2 when the goal was reached, or -1.
    """
    lefts = len(left_start) - 1
    stamp[0] += 1
    mark = stamp[0]
    stamp[1 + lefts + origin] = mark
    queue[0] = origin
    first, last = 0, 1
    while first < last:
        w = queue[first]
        first += 1
        if w != origin and spare[w] > 0:
            return int(w)
        for x in range(right_start[w], right_start[w + 1]):
            e = right_edge[x]
            u = edge_left[e]
            if e == barred or flow[e] == 0 or stamp[1 + u] == mark:
                continue
            stamp[1 + u], came[u] = mark, e
            if u == goal:
                return -2
            for y in range(left_start[u], left_start[u + 1]):
                d = left_edge[y]
                v = edge_right[d]
                if d != barred and stamp[1 + lefts + v] != mark:
                    stamp[1 + lefts + v], came[lefts + v] = mark, d
                    queue[last] = v
                    last += 1
    return -1


@njit(cache=True)
def _bend(
    origin: int, end: int, wanted: int, came: Int64, edge_left: Int64, edge_right: Int64, flow: Int64, lefts: int
) -> int:
    """Reroute up to `wanted` along the path found from `origin` to right group `end`; how much was rerouted."""
    amount, w = wanted, end
    while w != origin:
        u = edge_left[came[lefts + w]]
        amount = min(amount, flow[came[u]])
        w = edge_right[came[u]]
    w = end
    while w != origin:
        forward = came[lefts + w]
        back = came[edge_left[forward]]
        flow[forward] += amount
        flow[back] -= amount
        w = edge_right[back]
    return amount


@njit(cache=True)
def _most(
    supply: Int64,
    room: Int64,
    edge_left: Int64,
    edge_right: Int64,
    flow: Int64,
    left_start: Int64,
    left_edge: Int64,
    right_start: Int64,
    right_edge: Int64,
) -> Int64:
    """Raise each edge in turn as far as it goes: what u sends elsewhere comes to v, and v makes room for it."""
    lefts, rights = len(supply), len(room)
    spare = room.copy()
    for e in range(len(flow)):
        spare[edge_right[e]] -= flow[e]
    came = np.empty(lefts + rights, dtype=np.int64)
    stamp = np.zeros(1 + lefts + rights, dtype=np.int64)
    queue = np.empty(rights, dtype=np.int64)
    most = np.empty(len(flow), dtype=np.int64)
    for e in range(len(flow)):
        u, v = edge_left[e], edge_right[e]
        while flow[e] < min(supply[u], room[v]):
            donor = -1  # an edge on which u still sends records elsewhere
            for y in range(left_start[u], left_start[u + 1]):
                if left_edge[y] != e and flow[left_edge[y]] > 0:
                    donor = left_edge[y]
                    break
            if donor < 0:
                break
            wanted = min(min(supply[u], room[v]) - flow[e], flow[donor])
            if spare[v] == 0:
                end = _search(
                    v, u, e, spare, edge_left, edge_right, flow, left_start, left_edge, right_start, right_edge,
                    came, stamp, queue,
                )  # fmt: skip
                if end == -1:
                    break
                if end == -2:  # v gives back to u itself, through others: the donor is the edge that reached u
                    donor = came[u]
                    end = edge_right[donor]
                    wanted = min(min(supply[u], room[v]) - flow[e], flow[donor])
                    amount = _bend(v, end, wanted, came, edge_left, edge_right, flow, lefts)
                else:
                    amount = _bend(v, end, min(wanted, spare[end]), came, edge_left, edge_right, flow, lefts)
                    spare[end] -= amount
                    amount = min(amount, flow[donor])
                    spare[edge_right[donor]] += amount
            else:
                amount = min(wanted, spare[v])
                spare[v] -= amount
                spare[edge_right[donor]] += amount
            flow[donor] -= amount
            flow[e] += amount
        most[e] = flow[e]
    return most


@njit(cache=True)
def _least_into(
    room: Int64,
    edge_left: Int64,
    edge_right: Int64,
    flow: Int64,
    left_start: Int64,
    left_edge: Int64,
    right_start: Int64,
    right_edge: Int64,
) -> Int64:
    """Empty each right group in turn as far as spare room elsewhere can be reached."""
    lefts, rights = len(left_start) - 1, len(room)
    inflow = np.zeros(rights, dtype=np.int64)
    for e in range(len(flow)):
        inflow[edge_right[e]] += flow[e]
    spare = room - inflow
    came = np.empty(lefts + rights, dtype=np.int64)
    stamp = np.zeros(1 + lefts + rights, dtype=np.int64)
    queue = np.empty(rights, dtype=np.int64)
    least = np.empty(rights, dtype=np.int64)
    for v in range(rights):
        while inflow[v] > 0:
            end = _search(
                v, -1, -1, spare, edge_left, edge_right, flow, left_start, left_edge, right_start, right_edge,
                came, stamp, queue,
            )  # fmt: skip
            if end == -1:
                break
            amount = _bend(v, end, min(inflow[v], spare[end]), came, edge_left, edge_right, flow, lefts)
            spare[end] -= amount
            inflow[end] += amount
            spare[v] += amount
            inflow[v] -= amount
        least[v] = inflow[v]
    return least
