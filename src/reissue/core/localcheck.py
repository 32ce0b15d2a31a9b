"""Whether a new partition of a few classes keeps (k,c) against every earlier release: exact flows on small tables.

All rows that ever shared a class with one of these rows are here (a cluster), so nothing outside can matter. The
conditions are those of reissue.core.hall and reissue.core.tracing; tables are dense, since clusters are small.
For tracing only classes that share subjects are joined and people are counted by what classes share: an attacker who
must also reckon with boxes that merely meet can only be less sure, so what holds here holds there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from reissue.core.domain import Bool, Int32, Int64

MOST = 40
"""Classes of one release in a cluster that is still recut."""


class Cluster(NamedTuple):
    """The rows of one cluster and their past, everything renumbered from 0.

    value: int64[rows]; cell: int64[rows]; chain: int32[rows, releases] class in each earlier release, -1 if not there
    counts: int64[releases] classes there; known: int64[cells, values] the running multiset of each cell (IS)
    fresh: bool[cells] cells of rows that were in no release yet: they have no past
    """

    value: Int64
    cell: Int64
    chain: Int32
    counts: Int64
    known: Int64
    fresh: Bool


class Desk(NamedTuple):
    """Working memory: link, flow: int64[MOST, MOST]; from_left, from_right: int64[MOST]; queue: int64[2 MOST]."""

    link: Int64
    flow: Int64
    from_left: Int64
    from_right: Int64
    queue: Int64


def desk() -> Desk:
    square, line = (MOST, MOST), np.empty(MOST, dtype=np.int64)
    return Desk(
        np.zeros(square, np.int64), np.zeros(square, np.int64), line, line.copy(), np.empty(2 * MOST, dtype=np.int64)
    )


@njit(cache=True)
def keeps(cluster: Cluster, label: Int64, classes: int, k: int, top: int, bottom: int, desk: Desk) -> bool:
    """Whether the new classes `label` (int64[rows], 0..classes-1) are safe beside every earlier release."""
    rows, values = len(cluster.value), cluster.known.shape[1]
    new = np.zeros((classes, values), np.int64)
    for row in range(rows):
        new[label[row], cluster.value[row]] += 1
    if not _common_values_ok(cluster, label, new, top, bottom):
        return False
    for release in range(cluster.chain.shape[1] - 1, -1, -1):  # the latest is the hardest
        if not _pair_ok(cluster, label, new, release, k, top, bottom, desk):
            return False
    return True


@njit(cache=True)
def _common_values_ok(cluster: Cluster, label: Int64, new: Int64, top: int, bottom: int) -> bool:
    """Intersection: what every cell's past leaves possible, cut with its new class."""
    asked = np.zeros((len(cluster.fresh), len(new)), np.bool_)
    for row in range(len(label)):
        cell, own = cluster.cell[row], label[row]
        if cluster.fresh[cell] or asked[cell, own]:
            continue
        asked[cell, own] = True
        total = most = 0
        for value in range(new.shape[1]):
            common = min(cluster.known[cell, value], new[own, value])
            total, most = total + common, max(most, common)
        if bottom * most > top * total:
            return False
    return True


@njit(cache=True)
def _pair_ok(
    cluster: Cluster, label: Int64, new: Int64, release: int, k: int, top: int, bottom: int, desk: Desk
) -> bool:
    """Difference in both directions, and tracing, against one earlier release."""
    lefts, rights, values = cluster.counts[release], len(new), new.shape[1]
    if lefts == 0:
        return True
    link, old = desk.link, np.zeros((lefts, values), np.int64)
    _clear(link, lefts, rights)
    for row in range(len(label)):
        own = cluster.chain[row, release]
        if own >= 0:
            old[own, cluster.value[row]] += 1
            link[own, label[row]] += 1
    every = np.ones(lefts, np.bool_)
    if not _difference_ok(link, old, new, every, k, top, bottom, desk, False):
        return False
    inside = np.ones(rights, np.bool_)
    for row in range(len(label)):
        if cluster.chain[row, release] < 0:
            inside[label[row]] = False
    if not _difference_ok(link, new, old, inside, k, top, bottom, desk, True):
        return False
    return _tracing_ok(cluster, label, release, link, old, new, k, desk)


@njit(cache=True)
def _clear(table: Int64, rows: int, columns: int) -> None:
    for i in range(rows):
        for j in range(columns):
            table[i, j] = 0


@njit(cache=True)
def _sizes(table: Int64) -> Int64:
    """int64[classes]: rows of each class."""
    size = np.zeros(len(table), np.int64)
    for i in range(len(table)):
        for j in range(table.shape[1]):
            size[i] += table[i, j]
    return size


@njit(cache=True)
def _has(table: Int64, value: int) -> bool:
    for i in range(len(table)):  # noqa: SIM110 (numba compiles loops, not generators)
        if table[i, value] > 0:
            return True
    return False


@njit(cache=True)
def _shared(link: Int64, left: int, right: int, turned: bool) -> int:
    return int(link[right, left] if turned else link[left, right])


@njit(cache=True)
def _difference_ok(
    link: Int64, one: Int64, other: Int64, inside: Bool, k: int, top: int, bottom: int, desk: Desk, turned: bool
) -> bool:
    """No set of left classes `one` inside right classes `other` leaves 1..k-1 people or a value above c."""
    lefts, rights, values = len(one), len(other), one.shape[1]
    size_one, size_other, room = _sizes(one), _sizes(other), _sizes(other)
    edge = np.zeros((lefts, rights), np.bool_)
    for u in range(lefts):
        for v in range(rights):
            if inside[u] and _shared(link, u, v, turned) > 0:
                edge[u, v] = True
                room[v] -= _shared(link, u, v, turned)
    part = _parts(edge, inside)
    for u in range(lefts):
        if not inside[u]:
            continue
        loose = beside = 0
        for v in range(rights):
            if part[lefts + v] == part[u]:
                loose += room[v]
                beside += room[v] * edge[u, v]
        if beside >= k:
            continue
        if loose > 0:
            if _spare(link, edge, room, u, -1, k, desk, turned) < k:
                return False
        elif not _closed_ok(link, edge, room, part, u, k, desk, turned):
            return False
    supply, demand = np.zeros(lefts, np.int64), np.zeros(rights, np.int64)
    for value in range(values):
        if not _has(other, value):
            continue
        for u in range(lefts):
            supply[u] = max(0, top * size_one[u] - bottom * one[u, value]) if inside[u] else 0
        for v in range(rights):
            demand[v] = max(0, top * size_other[v] - bottom * other[v, value])
        if not _sends_all(edge, supply, demand, desk):
            return False
    return True


@njit(cache=True)
def _parts(edge: Bool, inside: Bool) -> Int64:
    """int64[lefts + rights]: connected components by the lowest left in them; -1 for rights without a left."""
    lefts, rights = edge.shape
    part = np.full(lefts + rights, -1, np.int64)
    stack = np.empty(lefts + rights, np.int64)
    for first in range(lefts):
        if not inside[first] or part[first] >= 0:
            continue
        part[first], stack[0], height = first, first, 1
        while height:
            height -= 1
            node = stack[height]
            for other in range(rights if node < lefts else lefts):
                u, v = (node, other) if node < lefts else (other, node - lefts)
                reached = lefts + v if node < lefts else u
                if edge[u, v] and part[reached] < 0:
                    part[reached], stack[height] = first, reached
                    height += 1
    return part


@njit(cache=True)
def _closed_ok(link: Int64, edge: Bool, room: Int64, part: Int64, left: int, k: int, desk: Desk, turned: bool) -> bool:
    """In a component whose every row is filled: no set without some neighbour of `left` leaves 1..k-1 people."""
    lefts, rights = edge.shape
    here = 0
    for v in range(rights):
        here += part[lefts + v] == part[left]
    if here == 1:
        return True  # what is left over are whole left classes
    for other in range(lefts):
        if other == left or part[other] != part[left]:
            continue
        beside = False
        for v in range(rights):
            beside |= edge[left, v] and edge[other, v]
        if beside and _spare(link, edge, room, left, other, k, desk, turned) < k:
            return False
    return True


@njit(cache=True)
def _spare(link: Int64, edge: Bool, room: Int64, left: int, without: int, k: int, desk: Desk, turned: bool) -> int:
    """How many more units `left` can push, up to k, if class `without` is taken out."""
    lefts, rights = edge.shape
    free = room.copy()
    for u in range(lefts):
        for v in range(rights):
            desk.flow[u, v] = _shared(link, u, v, turned) if edge[u, v] and u != without else 0
    if without >= 0:
        for v in range(rights):
            if edge[without, v]:
                free[v] += _shared(link, without, v, turned)
    sent = 0
    while sent < k:
        more = _augment(edge, free, left, k - sent, without, -1, desk)
        if more == 0:
            break
        sent += more
    return sent


@njit(cache=True)
def _sends_all(edge: Bool, supply: Int64, demand: Int64, desk: Desk) -> bool:
    """Whether the lefts can send all they have."""
    lefts, rights = edge.shape
    _clear(desk.flow, lefts, rights)
    for u in range(lefts):
        need = supply[u]
        while need > 0:
            more = _augment(edge, demand, u, need, -1, -1, desk)
            if more == 0:
                return False
            need -= more
    return True


@njit(cache=True)
def _augment(edge: Bool, free: Int64, start: int, limit: int, without: int, shut: int, desk: Desk) -> int:
    """One shortest augmenting path from a left class to a right class with room; how much it carried.

    without: a left class that may not be used; shut: a right class that may not be entered.
    """
    lefts, rights = edge.shape
    for u in range(lefts):
        desk.from_left[u] = -2
    for v in range(rights):
        desk.from_right[v] = -1
    desk.from_left[start], desk.queue[0] = -1, start
    head, tail, end = 0, 1, -1
    while head < tail and end < 0:
        node = desk.queue[head]
        head += 1
        if node < lefts:
            for v in range(rights):
                if edge[node, v] and v != shut and desk.from_right[v] < 0:
                    desk.from_right[v], desk.queue[tail] = node, lefts + v
                    tail += 1
                    if free[v] > 0:
                        end = v
                        break
        else:
            for u in range(lefts):
                if u != without and desk.from_left[u] == -2 and desk.flow[u, node - lefts] > 0:
                    desk.from_left[u], desk.queue[tail] = node - lefts, u
                    tail += 1
    if end < 0:
        return 0
    most, v = min(limit, free[end]), end
    while desk.from_left[desk.from_right[v]] >= 0:
        u = desk.from_right[v]
        v = desk.from_left[u]
        most = min(most, desk.flow[u, v])
    free[end] -= most
    v = end
    while True:
        u = desk.from_right[v]
        desk.flow[u, v] += most
        v = desk.from_left[u]
        if v < 0:
            return int(most)
        desk.flow[u, v] -= most


@njit(cache=True)
def _tracing_ok(
    cluster: Cluster, label: Int64, release: int, link: Int64, old: Int64, new: Int64, k: int, desk: Desk
) -> bool:
    """No row of the earlier release is forced, forward or back, among fewer than k people."""
    (lefts, values), rights = old.shape, len(new)
    thin = False
    for u in range(lefts):
        for v in range(rights):
            thin |= 0 < link[u, v] < k
    if not thin:
        return True
    true = np.zeros((values, lefts, rights), np.int64)
    for row in range(len(label)):
        if cluster.chain[row, release] >= 0:
            true[cluster.value[row], cluster.chain[row, release], label[row]] += 1
    for value in range(values):  # noqa: SIM110 (numba compiles loops, not generators)
        if _has(old, value) and not _value_ok(true, value, link, new, k, desk):
            return False
    return True


@njit(cache=True)
def _value_ok(true: Int64, value: int, link: Int64, new: Int64, k: int, desk: Desk) -> bool:
    """Tracing for one value. true: int64[values, lefts, rights], where its rows really went."""
    lefts, rights = true.shape[1], true.shape[2]
    edge, free = np.zeros((lefts, rights), np.bool_), np.empty(rights, np.int64)
    for v in range(rights):
        free[v] = new[v, value]
        for u in range(lefts):
            edge[u, v] = link[u, v] > 0 and new[v, value] > 0
            desk.flow[u, v] = true[value, u, v]
            free[v] -= true[value, u, v]
    for u in range(lefts):  # all places a row can be
        sends = fit = 0
        for v in range(rights):
            sends += desk.flow[u, v]
            if edge[u, v] and (desk.flow[u, v] > 0 or free[v] > 0):
                fit += link[u, v]
        if sends > 0 and fit < k:
            return False
    for v in range(rights):  # all places a row that must be old can come from
        takes = fit = 0
        for u in range(lefts):
            takes += desk.flow[u, v]
            fit += link[u, v] * (desk.flow[u, v] > 0)
        if takes > 0 and fit < k and not _moves_away(edge, free, -1, v, desk):
            return False
    for u in range(lefts):
        for v in range(rights):
            if 0 < link[u, v] < k and desk.flow[u, v] > 0 and not _moves_away(edge, free, u, v, desk):
                return False
    return True


@njit(cache=True)
def _moves_away(edge: Bool, free: Int64, left: int, right: int, desk: Desk) -> bool:
    """Whether all units of one edge (or, with left = -1, all that come to a right class) can go elsewhere."""
    for u in range(len(edge)):
        units = desk.flow[u, right]
        if units == 0 or (left >= 0 and u != left):
            continue
        kept = edge[u, right]
        desk.flow[u, right], edge[u, right] = 0, False
        free[right] += units
        while units > 0:  # with left >= 0 others may still come to the class, only not along this edge
            more = _augment(edge, free, u, units, -1, right if left < 0 else -1, desk)
            if more == 0:
                break
            units -= more
        desk.flow[u, right], edge[u, right] = units, kept
        free[right] -= units
        if units > 0:
            return False
    return True
