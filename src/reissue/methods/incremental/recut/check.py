"""Whether a cut keeps (k,c) against every earlier release: exact flows on what the cut touches.

All rows that ever shared a class with one of these rows are here (a cluster), so nothing outside can matter to
intersection and difference; and inside, only the component of classes that the cut is tied to. The conditions are those
of `difference` and `tracing`, which the attacks use, but no code is shared with them: a fault in one does not hide in
the other. An attacker who also reckons with boxes and people outside the cluster can only trace with less certainty, so
what holds here holds there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.types import Bool, Int32, Int64
from reissue.methods.incremental.recut.check_difference import DifferenceBuffers, difference_ok
from reissue.methods.incremental.recut.check_tracing import tracing_ok


class Cluster(NamedTuple):
    """The rows of one cluster and their past, everything renumbered from 0.

    value: int64[rows]; codes: int32[rows, attributes]; cell: int64[rows]
    chain: int32[rows, releases] class in each earlier release, -1 if not there; counts: int64[releases] classes there
    known: int64[cells, values] the running multiset of each cell (IS); fresh: bool[cells] cells of rows that were in no
    release yet: they have no past
    boxes: int32[releases, classes, attributes, 2] a box inside the one published for each class, around its people
    head: int64[releases, classes], after: int64[releases, rows] the rows of each class as a list, -1 ends it
    """

    value: Int64
    codes: Int32
    cell: Int64
    chain: Int32
    counts: Int64
    known: Int64
    fresh: Bool
    boxes: Int32
    head: Int64
    after: Int64


class Classes(NamedTuple):
    """New classes of the rows of a cluster: label: int64[rows]; boxes: int32[most classes, attributes, 2].

    head: int64[most classes], after: int64[rows] the rows of each class as a list, -1 ends it
    """

    label: Int64
    boxes: Int32
    head: Int64
    after: Int64


class Tied(NamedTuple):
    """The component of some new classes in one earlier release: lefts, rights: int64[] classes; link, old, new: tables.

    link: int64[lefts, rights] shared subjects; old: int64[lefts, values]; new: int64[rights, values]
    inside: bool[rights] whose every row is in the earlier release; left, right: int64[classes] places, -1 outside
    """

    lefts: Int64
    rights: Int64
    link: Int64
    old: Int64
    new: Int64
    inside: Bool
    left: Int64
    right: Int64


@njit(cache=True)
def find_largest(counts: Int64) -> int:
    """The largest of some counts, 0 of none. As a loop, like `_pick`: NumPy's own forms take numba long to compile."""
    largest = 0
    for count in counts:
        largest = max(largest, count)
    return int(largest)


@njit(cache=True)
def lists(chain: Int32, counts: Int64) -> tuple[Int64, Int64]:
    """(head, after): the rows of each class of each release as lists."""
    rows, releases = chain.shape
    head, after = (
        np.full((releases, max(1, find_largest(counts))), -1, np.int64),
        np.full((releases, rows), -1, np.int64),
    )
    for row in range(rows - 1, -1, -1):
        for n in range(releases):
            own = chain[row, n]
            if own >= 0:
                after[n, row], head[n, own] = head[n, own], row
    return head, after


@njit(cache=True)
def cut_is_safe(
    cluster: Cluster, made: Classes, changed: Int64, k: int, top: int, bottom: int, desk: DifferenceBuffers, most: int
) -> bool:
    """Whether the new classes are safe beside every earlier release, if they were before `changed` became classes.

    changed: int64[] the classes that are new or have lost rows. The latest release comes first: it is the hardest.
    most: after so many steps of all checks, what has not been found safe counts as unsafe
    """
    if not _common_values_ok(cluster, made, changed, top, bottom):
        return False
    left, right = np.full(max(1, find_largest(cluster.counts)), -1, np.int64), np.full(len(made.head), -1, np.int64)
    for release in range(cluster.chain.shape[1] - 1, -1, -1):
        if cluster.counts[release] == 0:
            continue
        if desk.steps[0] >= most:
            return False
        tied = _find_tied(cluster, made, changed, release, left, right)
        desk.steps[0] += len(cluster.value) + tied.link.size + tied.old.size + tied.new.size
        if len(tied.lefts) and not _pair_ok(cluster, made, tied, release, k, top, bottom, desk):
            return False
        for u in tied.lefts:
            left[u] = -1
        for v in tied.rights:
            right[v] = -1
    return True


@njit(cache=True)
def _common_values_ok(cluster: Cluster, made: Classes, changed: Int64, top: int, bottom: int) -> bool:
    """Intersection: what every cell's past leaves possible, cut with its new class."""
    values, asked = cluster.known.shape[1], np.full(len(cluster.fresh), -1, np.int64)
    new = np.zeros(values, np.int64)
    for own in changed:
        new[:] = 0
        row = made.head[own]
        while row >= 0:
            new[cluster.value[row]] += 1
            row = made.after[row]
        row = made.head[own]
        while row >= 0:
            cell = cluster.cell[row]
            row = made.after[row]
            if cluster.fresh[cell] or asked[cell] == own:
                continue
            asked[cell], total, most = own, 0, 0
            for value in range(values):
                common = min(cluster.known[cell, value], new[value])
                total, most = total + common, max(most, common)
            if bottom * most > top * total:
                return False
    return True


@njit(cache=True)
def _find_tied(cluster: Cluster, made: Classes, changed: Int64, release: int, left: Int64, right: Int64) -> Tied:
    """All classes that the changed ones are tied to by shared subjects, and what they share. O(rows in them)."""
    lefts, rights = np.empty(len(left), np.int64), np.empty(len(right), np.int64)
    known = found = head = seen = 0
    for own in changed:
        right[own], rights[found] = found, own
        found += 1
    while seen < found or head < known:
        if seen < found:
            row = made.head[rights[seen]]
            seen += 1
            while row >= 0:
                u = cluster.chain[row, release]
                if u >= 0 and left[u] < 0:
                    left[u], lefts[known] = known, u
                    known += 1
                row = made.after[row]
        else:
            row = cluster.head[release, lefts[head]]
            head += 1
            while row >= 0:
                v = made.label[row]
                if right[v] < 0:
                    right[v], rights[found] = found, v
                    found += 1
                row = cluster.after[release, row]
    values = cluster.known.shape[1]
    link, inside = np.zeros((known, found), np.int64), np.ones(found, np.bool_)
    old, new = np.zeros((known, values), np.int64), np.zeros((found, values), np.int64)
    for v in range(found):
        row = made.head[rights[v]]
        while row >= 0:
            new[v, cluster.value[row]] += 1
            u = cluster.chain[row, release]
            if u >= 0:
                link[left[u], v] += 1
                old[left[u], cluster.value[row]] += 1
            else:
                inside[v] = False
            row = made.after[row]
    return Tied(lefts[:known], rights[:found], link, old, new, inside, left, right)


@njit(cache=True)
def _pair_ok(
    cluster: Cluster, made: Classes, tied: Tied, release: int, k: int, top: int, bottom: int, desk: DifferenceBuffers
) -> bool:
    """Tracing, and difference in both directions, against one earlier release."""
    if not _nothing_is_traced(cluster, made, tied, release, k, desk):
        return False
    every = np.ones(len(tied.lefts), np.bool_)
    return difference_ok(tied.link, tied.old, tied.new, every, k, (top, bottom), desk, False) and difference_ok(
        tied.link, tied.new, tied.old, tied.inside, k, (top, bottom), desk, True
    )


@njit(cache=True)
def _nothing_is_traced(
    cluster: Cluster, made: Classes, tied: Tied, release: int, k: int, desk: DifferenceBuffers
) -> bool:
    """Whether no row can be traced to fewer than k people; at once where classes share nobody or k people."""
    thin = False
    for u in range(len(tied.lefts)):
        for v in range(len(tied.rights)):
            thin |= 0 < tied.link[u, v] < k
    if not thin:
        return True
    there, own = cluster.chain[:, release], _pick(cluster.boxes[release], tied.lefts)
    return tracing_ok(
        cluster.value,
        cluster.codes,
        there,
        made.label,
        (tied.left, tied.right),
        (own, _pick(made.boxes, tied.rights)),
        tied.link,
        tied.new,
        k,
        desk,
    )


@njit(cache=True)
def _pick(boxes: Int32, which: Int64) -> Int32:
    """Some of the boxes: `boxes[which]`, which takes numba long to compile."""
    picked = np.empty((len(which), boxes.shape[1], 2), np.int32)
    for i in range(len(which)):
        for a in range(boxes.shape[1]):
            picked[i, a, 0], picked[i, a, 1] = boxes[which[i], a, 0], boxes[which[i], a, 1]
    return picked
