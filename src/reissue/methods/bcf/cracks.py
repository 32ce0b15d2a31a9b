"""Two releases side by side: which records of one can still be which records of the other (Fung et al. 2008).

Every record of the earlier release has a buddy in the later one, with the same sensitive value and a box that meets
its own. All that an attacker can rule out follows from two numbers, which this module computes exactly:

most   for two groups that may share people: the most records that can be in both
old    for a group of the later release: the least number of its records that must have been in the earlier one

On global cuts of a taxonomy the graph of comparable groups falls into complete bipartite pieces and both have closed
forms. Any other piece (multidimensional or local recoding, another tool's output) is solved by flows. The pieces
themselves tell which is which, so nothing has to be known about how a release was made.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.flow.transport import Transport
from reissue.arrays.sets import bipartite_components, sum_rows
from reissue.arrays.types import Bool, Int32, Int64
from reissue.model.box_index import find_meeting
from reissue.model.overlap import GroupedRelease


@dataclass(frozen=True, eq=False)
class Pair:
    """What an earlier release (left) and a later one (right) say about each other.

    left_class, right_class: int32[pairs] comparable classes that have records, sorted by left, then right
    edge_start: int64[pairs + 1] where each pair's comparable groups begin
    edge_left, edge_right: int64[edges] the groups; most: int64[edges]
    old:        int64[right groups] the B crack of each group
    closed:     whether every piece was complete, so that most is the smaller count everywhere
    unplaced:   records of the left that no buddy is left for; above 0 the later release does not contain the earlier
    """

    left: GroupedRelease
    right: GroupedRelease
    left_class: Int32
    right_class: Int32
    edge_start: Int64
    edge_left: Int64
    edge_right: Int64
    most: Int64
    old: Int64
    closed: bool
    unplaced: int

    @cached_property
    def shared(self) -> Int64:
        """int64[pairs]: candidates of someone of the left release in these two classes, summed over values."""
        return sum_rows(self.most, self.edge_start)

    @cached_property
    def forward(self) -> Int64:
        """int64[pairs]: F crack, the records of the left class that can be ruled out."""
        return self.left.sizes[self.left_class] - self.shared

    @cached_property
    def cross(self) -> Int64:
        """int64[pairs]: C crack, the records of the right class that can be ruled out."""
        return self.right.sizes[self.right_class] - self.shared

    @cached_property
    def backward(self) -> Int64:
        """int64[right classes]: B crack, the records that cannot be those of a newcomer."""
        return sum_rows(self.old, self.right.start)

    @property
    def newcomers(self) -> int:
        return self.right.total - self.left.total

    def count_crossings(self) -> int:
        """Pairs of comparable classes of which neither contains the other."""
        one, other = self.left.boxes[self.left_class], self.right.boxes[self.right_class]
        inside = ((one[..., 0] >= other[..., 0]) & (one[..., 1] <= other[..., 1])).all(axis=-1)
        around = ((one[..., 0] <= other[..., 0]) & (one[..., 1] >= other[..., 1])).all(axis=-1)
        return int(np.count_nonzero(~inside & ~around))

    def anonymity(self) -> dict[str, int]:
        """FA, CA and, unless nobody is new in the right release, BA: definitions 3.2, 3.4 and 3.6."""
        levels = {}
        if len(self.left_class):
            levels["FA"] = int((self.left.sizes[self.left_class] - self.forward).min())
            levels["CA"] = int((self.right.sizes[self.right_class] - self.cross).min())
        present = self.right.sizes > 0
        if self.newcomers > 0 and present.any():
            levels["BA"] = int((self.right.sizes - self.backward)[present].min())
        return levels


def compare(left: GroupedRelease, right: GroupedRelease) -> Pair:
    """Lay two releases side by side. O(comparable groups), plus flows where pieces are not complete."""
    i, j = comparable_classes(left, right)
    start, edge_left, edge_right = _comparable_groups(i, j, left.start, left.values, right.start, right.values)
    piece_left, piece_right = bipartite_components(edge_left, edge_right, len(left.values), len(right.values))
    pieces = max(int(piece_left.max(initial=-1)), int(piece_right.max(initial=-1))) + 1
    complete = _complete(piece_left, piece_right, piece_left[edge_left], pieces)
    supply = np.bincount(piece_left, left.counts, minlength=pieces).astype(np.int64)
    room = np.bincount(piece_right, right.counts, minlength=pieces).astype(np.int64)
    most = np.minimum(left.counts[edge_left], right.counts[edge_right])
    old = np.maximum(0, supply[piece_right] - room[piece_right] + right.counts)
    unplaced = int(np.maximum(0, supply - room)[complete].sum())
    odd = np.flatnonzero(~complete[piece_left[edge_left]])
    if len(odd):
        unplaced += _solve_odd(left, right, edge_left, edge_right, odd, most, old)
    return Pair(left, right, i, j, start, edge_left, edge_right, most, old, len(odd) == 0, unplaced)


def comparable_classes(left: GroupedRelease, right: GroupedRelease) -> tuple[Int32, Int32]:
    """Pairs of classes with records whose boxes meet, sorted by left, then right."""
    here, there = np.flatnonzero(left.sizes > 0), np.flatnonzero(right.sizes > 0)
    i, j = find_meeting(left.boxes[here], right.boxes[there])
    order = np.lexsort((j, i))
    return here[i[order]].astype(np.int32), there[j[order]].astype(np.int32)


def _complete(piece_left: Int64, piece_right: Int64, piece_edge: Int64, pieces: int) -> Bool:
    """bool[pieces]: whether every left group of the piece is comparable to every right group of it."""
    lefts = np.bincount(piece_left, minlength=pieces)
    rights = np.bincount(piece_right, minlength=pieces)
    return np.asarray(np.bincount(piece_edge, minlength=pieces) == lefts * rights, dtype=np.bool_)


def _solve_odd(
    left: GroupedRelease,
    right: GroupedRelease,
    edge_left: Int64,
    edge_right: Int64,
    odd: Int64,
    most: Int64,
    old: Int64,
) -> int:
    """Fill `most` and `old` of the pieces that are not complete by flows; the records that could not be placed."""
    lefts, from_left = np.unique(edge_left[odd], return_inverse=True)
    rights, to_right = np.unique(edge_right[odd], return_inverse=True)
    flow = Transport.of(left.counts[lefts], right.counts[rights], from_left, to_right)
    unplaced = flow.saturate()
    several = np.flatnonzero(most[odd] > 1)
    many = flow.most(several)
    most[odd] = flow.possible()  # of single records all edges are told by one search
    most[odd[several]] = many
    old[rights] = flow.least_into(np.arange(len(rights)))
    return unplaced


@njit(cache=True)
def _comparable_groups(
    i: Int32, j: Int32, left_start: Int64, left_values: Int32, right_start: Int64, right_values: Int32
) -> tuple[Int64, Int64, Int64]:
    """Groups of one value in each pair of classes, by merging their sorted values. O(groups of the pairs)."""
    start = np.zeros(len(i) + 1, dtype=np.int64)
    edge_left = np.empty(0, dtype=np.int64)
    edge_right = np.empty(0, dtype=np.int64)
    for write in (False, True):
        for p in range(len(i)):
            a, b, at = left_start[i[p]], right_start[j[p]], start[p]
            while a < left_start[i[p] + 1] and b < right_start[j[p] + 1]:
                if left_values[a] < right_values[b]:
                    a += 1
                elif left_values[a] > right_values[b]:
                    b += 1
                else:
                    if write:
                        edge_left[at], edge_right[at] = a, b
                    a, b, at = a + 1, b + 1, at + 1
            if not write:
                start[p + 1] = at
        if not write:
            edge_left = np.empty(start[-1], dtype=np.int64)
            edge_right = np.empty(start[-1], dtype=np.int64)
    return start, edge_left, edge_right
