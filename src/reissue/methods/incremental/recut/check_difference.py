"""The conditions of `difference` for one small dense component, apart on purpose from the code of the attack.

It repeats them so that a fault in the one does not deceive the other.

link: int64[lefts, rights] subjects shared; tables are as large as the component, so a check costs what it touches.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.types import Bool, Int64


class DifferenceBuffers(NamedTuple):
    """flow: int64[classes, classes]; from_left, from_right: int64[classes]; queue: int64[2 classes].

    steps: int64[1] how much work the checks took so far: entries of tables that were looked at
    """

    flow: Int64
    from_left: Int64
    from_right: Int64
    queue: Int64
    steps: Int64


@njit(cache=True)
def difference_buffers(lefts: int, rights: int) -> DifferenceBuffers:
    """Working memory for graphs of so many classes on each side, in either direction."""
    most = max(lefts, rights)
    line = np.empty(most, np.int64)
    flow, queue = np.zeros((most, most), np.int64), np.empty(2 * most, np.int64)
    return DifferenceBuffers(flow, line, line.copy(), queue, np.zeros(1, np.int64))


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
def difference_ok(
    link: Int64,
    one: Int64,
    other: Int64,
    inside: Bool,
    k: int,
    share: tuple[int, int],
    desk: DifferenceBuffers,
    turned: bool,
) -> bool:
    """No set of left classes `one` inside right classes `other` leaves 1..k-1 people or a value above c.

    share: c, as numerator and denominator
    """
    lefts, rights, some = len(one), len(other), False
    for u in range(lefts):
        some |= inside[u]
    if not some:
        return True
    size_one, size_other, room = _sizes(one), _sizes(other), _sizes(other)
    edge, shared = np.zeros((lefts, rights), np.bool_), np.zeros((lefts, rights), np.int64)
    for u in range(lefts):
        for v in range(rights):
            if inside[u]:
                shared[u, v] = link[v, u] if turned else link[u, v]
                edge[u, v] = shared[u, v] > 0
                room[v] -= shared[u, v]
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
            if _spare(shared, edge, room, u, -1, k, desk) < k:
                return False
        elif not _closed_ok(shared, edge, room, part, u, k, desk):
            return False
    return share[0] == share[1] or _shares_ok(one, other, inside, edge, (size_one, size_other), k, share, desk)


@njit(cache=True)
def _shares_ok(
    one: Int64,
    other: Int64,
    inside: Bool,
    edge: Bool,
    size: tuple[Int64, Int64],
    k: int,
    share: tuple[int, int],
    desk: DifferenceBuffers,
) -> bool:
    """No set of left classes leaves a value above c; those it leaves are at least k, so rare values cannot be."""
    (lefts, rights), values, (top, bottom) = edge.shape, one.shape[1], share
    supply, demand = np.zeros(lefts, np.int64), np.zeros(rights, np.int64)
    for value in range(values):
        total = 0
        for v in range(rights):
            total += other[v, value]
        if bottom * total <= top * k:
            continue
        for u in range(lefts):
            supply[u] = max(0, top * size[0][u] - bottom * one[u, value]) if inside[u] else 0
        for v in range(rights):
            demand[v] = max(0, top * size[1][v] - bottom * other[v, value])
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
def _closed_ok(shared: Int64, edge: Bool, room: Int64, part: Int64, left: int, k: int, desk: DifferenceBuffers) -> bool:
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
        beside = 0  # rows of the other class that `left` could take at once
        for v in range(rights):
            if edge[left, v] and edge[other, v]:
                beside += shared[other, v]
        if 0 < beside < k and _spare(shared, edge, room, left, other, k, desk) < k:
            return False
    return True


@njit(cache=True)
def _spare(shared: Int64, edge: Bool, room: Int64, left: int, without: int, k: int, desk: DifferenceBuffers) -> int:
    """How many more units `left` can push, up to k, if class `without` is taken out."""
    lefts, rights = edge.shape
    free = room.copy()
    for u in range(lefts):
        for v in range(rights):
            desk.flow[u, v] = shared[u, v] if u != without else 0
    if without >= 0:
        for v in range(rights):
            if edge[without, v]:
                free[v] += shared[without, v]
    sent = 0
    while sent < k:
        more = augment(edge, free, left, k - sent, without, -1, desk)
        if more == 0:
            break
        sent += more
    return sent


@njit(cache=True)
def _sends_all(edge: Bool, supply: Int64, demand: Int64, desk: DifferenceBuffers) -> bool:
    """Whether the lefts can send all they have."""
    lefts, rights = edge.shape
    _clear(desk.flow, lefts, rights)
    for u in range(lefts):  # what fits directly, before searching
        for v in range(rights):
            if edge[u, v] and supply[u] > 0 and demand[v] > 0:
                more = min(supply[u], demand[v])
                desk.flow[u, v], supply[u], demand[v] = more, supply[u] - more, demand[v] - more
    for u in range(lefts):
        need = supply[u]
        while need > 0:
            more = augment(edge, demand, u, need, -1, -1, desk)
            if more == 0:
                return False
            need -= more
    return True


@njit(cache=True)
def augment(edge: Bool, free: Int64, start: int, limit: int, without: int, shut: int, desk: DifferenceBuffers) -> int:
    """One shortest augmenting path from a left class to a right class with room; how much it carried.

    without: a left class that may not be used; shut: a right class that may not be entered.
    """
    lefts, rights = edge.shape
    desk.steps[0] += lefts * rights
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
def moves_away(edge: Bool, free: Int64, left: int, right: int, desk: DifferenceBuffers) -> bool:
    """Whether all units of one edge (or, with left = -1, all that come to a right class) can go elsewhere."""
    for u in range(len(edge)):
        units = desk.flow[u, right]
        if units == 0 or (left >= 0 and u != left):
            continue
        kept = edge[u, right]
        desk.flow[u, right], edge[u, right] = 0, False
        free[right] += units
        while units > 0:  # with left >= 0 others may still come to the class, only not along this edge
            more = augment(edge, free, u, units, -1, right if left < 0 else -1, desk)
            if more == 0:
                break
            units -= more
        desk.flow[u, right], edge[u, right] = units, kept
        free[right] -= units
        if units > 0:
            return False
    return True
