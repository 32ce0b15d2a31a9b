"""Who shares a class: people who live near each other, dealt by the secret seed; values are not matched to people.

Cells are cut by quasi-identifiers alone, smaller ones inside larger ones. From the smallest to the largest, the rows of
a cell that wait for a class are dealt into sets that hold each value of their signature once; what is left over waits
in the cell around it. Rows that have a signature come first, with newcomers who fill what they lack; then newcomers
among themselves, by the signatures planned for where they live. Which of several rows of one value is taken is decided
by the seed: no row is preferred because it is nearer.
"""

from __future__ import annotations

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.sorting import find_order
from reissue.arrays.types import Int64

CELL = 2
"""The smallest cells have room for so many sets."""
REGION = 8
"""A region has about so many newcomers for every value of the series and of a signature: buckets stay large."""


@njit(cache=True)
def part_regions(parent: Int64, leaf: Int64, fresh: Int64, least: int) -> Int64:
    """int64[cells]: the number of the region that each cell is in, -1 for cells that hold several.

    fresh: int64[], the newcomers' rows. A cell is parted as long as it has twice `least` newcomers. O(rows + cells).
    """
    count, parted = np.zeros(len(parent), np.int64), np.zeros(len(parent), np.bool_)
    for row in fresh:
        count[leaf[row]] += 1
    for cell in range(len(parent) - 1, 0, -1):
        count[parent[cell]] += count[cell]
        parted[parent[cell]] = True
    region, found = np.full(len(parent), -1, np.int64), 0
    for cell in range(len(parent)):
        if cell and region[parent[cell]] >= 0:
            region[cell] = region[parent[cell]]
        elif not parted[cell] or count[cell] < 2 * least:
            region[cell] = found
            found += 1
    return region


@njit(cache=True)
def deal(  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    parent, leaf, region, entry, values, turn, start, owner, shown, quota, planned, first, classes
):
    """Fill classes and the newcomers' entries; how many classes there are.

    entry: int64[rows], -1 = newcomer; quota: int64[entries]; turn: int64[rows], who comes before whom; planned, first:
    see `_sort_plan`. Rows wait in one list per cell.
    """
    head, following = np.full(len(parent), -1, np.int64), np.full(len(leaf), -1, np.int64)
    for row in range(len(leaf)):
        following[row], head[leaf[row]] = head[leaf[row]], row
    everywhere = 0
    for cell in range(len(region)):
        everywhere = max(everywhere, region[cell] + 1)
    width, count = (len(first) - 1) // (everywhere + 1), 0
    at, end = np.zeros(len(shown) + width, np.int64), np.zeros(len(shown) + width, np.int64)
    for cell in sort_cells(parent, leaf):
        waiting, kinds = _line_up(head[cell], following, entry, values, turn, len(shown), at, end)
        line = (waiting, at, end)
        begins = turn[waiting[0]] if len(waiting) else 0
        count = _complete(kinds, begins, line, entry, start, owner, shown, quota, classes, count)
        home = region[cell] if cell and region[cell] >= 0 else everywhere
        count = _start_sets(
            kinds, begins, home * width, line, entry, start, shown, quota, planned, first, classes, count
        )
        for kind in kinds:
            at[kind] = end[kind] = 0
        for row in waiting:
            if classes[row] < 0 and cell:
                following[row], head[parent[cell]] = head[parent[cell]], row
    return count


@njit(cache=True)
def sort_cells(parent, leaf):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """int64[cells]: the cells by their rows, so that quotas are used in small cells everywhere before large ones."""
    size, place = np.zeros(len(parent), np.int64), np.zeros(len(leaf) + 2, np.int64)
    for row in range(len(leaf)):
        size[leaf[row]] += 1
    for cell in range(len(parent) - 1, 0, -1):
        size[parent[cell]] += size[cell]
    for cell in range(len(parent)):
        place[size[cell] + 1] += 1
    for rows in range(len(leaf)):
        place[rows + 1] += place[rows]
    order = np.empty(len(parent), np.int64)
    for cell in range(len(parent) - 1, -1, -1):  # of equal cells the innermost first
        order[place[size[cell]]] = cell
        place[size[cell]] += 1
    return order


@njit(cache=True)
def _line_up(head, following, entry, values, turn, entries, at, end):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """(the rows that wait, those of a kind together and by turn; int64[] the kinds that there are, ascending).

    A kind is an entry, or `entries` + value for newcomers. Rows of a kind are at[kind]..end[kind]-1 in the line.
    """
    count, row = 0, head
    while row >= 0:
        count, row = count + 1, following[row]
    line, keys, row = np.empty(count, np.int64), np.empty(count, np.int64), head
    for i in range(count):
        kind = entry[row] if entry[row] >= 0 else entries + values[row]
        line[i], keys[i], row = row, kind * len(turn) + turn[row], following[row]
    order, waiting = find_order(keys), np.empty(count, np.int64)
    kinds, found = np.empty(count, np.int64), 0
    for i in range(count):
        waiting[i] = line[order[i]]
        kind = keys[order[i]] // len(turn)
        if found == 0 or kinds[found - 1] != kind:
            kinds[found], at[kind], found = kind, i, found + 1
        end[kind] = i + 1
    return waiting, kinds[:found]


@njit(cache=True)
def _count_missing(begin, stop, line, shown, quota):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """How many newcomers a set of entries begin..stop-1 would need, -1 if they are not here or not to be had."""
    _, at, end = line
    lacking = 0
    for e in range(begin, stop):
        if at[e] == end[e]:
            fresh = len(shown) + shown[e]
            if quota[e] <= 0 or at[fresh] == end[fresh]:
                return -1
            lacking += 1
    return lacking


@njit(cache=True)
def _take(begin, stop, line, entry, shown, quota, classes, number):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """Make one class: of every entry the next row, or the next newcomer with its value."""
    waiting, at, end = line
    for e in range(begin, stop):
        kind = e
        if at[e] == end[e]:
            kind = len(shown) + shown[e]
            quota[e] -= 1
        row = waiting[at[kind]]
        at[kind] += 1
        entry[row], classes[row] = e, number


@njit(cache=True)
def _complete(kinds, begins, line, entry, start, owner, shown, quota, classes, count):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """Sets around rows that have a signature, those that need the fewest newcomers first."""
    need, largest = 0, 1
    while need < largest:
        last = -1
        for i in range(len(kinds)):
            kind = kinds[(i + begins) % len(kinds)]
            if kind >= len(shown) or owner[kind] == last:
                continue
            last = owner[kind]
            begin, stop = start[last], start[last + 1]
            largest = max(largest, stop - begin)
            while 0 <= _count_missing(begin, stop, line, shown, quota) <= min(need, stop - begin - 1):
                _take(begin, stop, line, entry, shown, quota, classes, count)
                count += 1
        need += 1
    return count


@njit(cache=True)
def _start_sets(kinds, begins, home, line, entry, start, shown, quota, planned, first, classes, count):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """Sets of newcomers alone, by the signatures planned for where they live."""
    for one in range(len(kinds)):
        kind = kinds[(one + begins) % len(kinds)]
        if kind < len(shown):
            continue
        place = home + kind - len(shown)
        number = first[place + 1] - first[place]
        for other in range(number):
            i = first[place] + (other + begins) % number
            begin, stop = start[planned[i, 0]], start[planned[i, 0] + 1]
            while planned[i, 1] > 0 and _count_missing(begin, stop, line, shown, quota) >= 0:
                _take(begin, stop, line, entry, shown, quota, classes, count)
                planned[i, 1] -= 1
                count += 1
    return count
