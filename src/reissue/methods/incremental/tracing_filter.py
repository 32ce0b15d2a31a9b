"""The part of two releases in which rows might be traced: classes tied to a pair that shares fewer than k subjects.

In a checked series that is a small part of them, and the rest of a pair of releases need not be looked at: an attacker
who sees only classes that share subjects, and takes only shared subjects for people who fit, is surer than one who sees
everything. So where he can trace nothing, nobody can, provided that nobody's attributes or value changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.flow.transport import sums
from reissue.arrays.sets import bipartite_components
from reissue.arrays.types import Bool, Int32, Int64
from reissue.methods.incremental.sides import count_even
from reissue.methods.incremental.tracing_graph import group_graph, place_rows, renumber, trace_rows
from reissue.model.observed import Groups
from reissue.model.overlap import Overlap


@dataclass(frozen=True, eq=False)
class Laid:
    """Two releases laid over each other.

    older, newer: the values in their classes; values: int32[shared subjects] in the overlap's order
    gone: int64[older classes] rows of a class that may be missing from the newer release; surely: bool[older classes]
    whether so many are, since all of them are somebody's
    k: fewer people than that are too few; settled: whether all who are in both have rows of their values in both
    """

    older: Groups
    newer: Groups
    overlap: Overlap
    values: Int32
    value_count: int
    gone: Int64
    surely: Bool
    k: int
    settled: bool

    @staticmethod
    def of(
        older: tuple[Int32, Groups],
        newer: tuple[Int32, Groups],
        overlap: Overlap,
        members: tuple[Int32, Int32, Int32],
        value_count: int,
        k: int,
    ) -> Laid:
        """older, newer: boxes int32[classes, attributes, 2] and groups; members: codes, classes, values of the older.

        Whoever lies outside the box of one of the two classes has moved: attackers know that from the snapshots, so
        that person's row counts as gone from the older release and as new in the newer one.
        """
        (codes, classes, values), at = members, overlap.at_left
        left, right = _with_boxes(*older), _with_boxes(*newer)
        followed, settled = find_followed(left, right, overlap.own, overlap.other, at, codes, values[at])
        if not followed.all():
            overlap = overlap.only(followed)
        rows = np.bincount(classes, minlength=len(older[0]))
        stay = np.bincount(overlap.own, minlength=len(older[0]))
        gone, surely = np.maximum(0, older[1].sizes - stay), older[1].sizes == rows
        own = values[overlap.at_left]
        return Laid(older[1], newer[1], overlap, own, value_count, gone, surely, k, settled)

    def went(self) -> tuple[Int64, Int64, Int64]:
        """(link, value, count), sorted: how many subjects of each value the two classes of a link share."""
        groups = Groups.of(self.overlap.link, self.values, len(self.overlap.left), self.value_count)
        return groups.classes, groups.value.astype(np.int64), groups.count

    @cached_property
    def labels(self) -> tuple[Int64, Int64]:
        """(int64[lefts], int64[rights]): the component of each class; classes that share subjects are in one."""
        return bipartite_components(self.overlap.left, self.overlap.right, len(self.older.sizes), len(self.newer.sizes))

    @cached_property
    def components(self) -> int:
        return int(max(label.max(initial=-1) for label in self.labels)) + 1

    @cached_property
    def tangled(self) -> Bool:
        """bool[components]: those with a link of fewer than k subjects, unless they are known to tell nothing."""
        tangled = np.zeros(self.components, np.bool_)
        tangled[self.labels[0][self.overlap.left[self.overlap.shared < self.k]]] = True
        if not tangled.any():
            return tangled
        shown = count_even((self.older, self.labels[0]), (self.newer, self.labels[1]), self.components)
        return tangled & (shown < self.k)

    @cached_property
    def quiet(self) -> bool:
        """Whether it is plain that nothing is traced: no two classes share so few, or only where that tells nothing."""
        return self.settled and (not (self.overlap.shared < self.k).any() or not self.tangled.any())

    def only(self, component: Bool) -> TracingPart:
        """The part within some components. O(shared + classes)."""
        overlap, (label, right_label) = self.overlap, self.labels
        lefts, left_place = renumber(component[label])
        rights, right_place = renumber(component[right_label])
        links = np.flatnonzero(left_place[overlap.left] >= 0)
        shared = np.flatnonzero(component[label][overlap.own])
        laid = Laid(
            self.older.pick(lefts),
            self.newer.pick(rights),
            Overlap(
                left_place[overlap.left[links]],
                right_place[overlap.right[links]],
                overlap.shared[links],
                left_place[overlap.own[shared]],
                right_place[overlap.other[shared]],
                overlap.at_left[shared],
                overlap.at_right[shared],
            ),
            self.values[shared],
            self.value_count,
            self.gone[lefts],
            self.surely[lefts],
            self.k,
            self.settled,
        )
        return TracingPart(laid, lefts, rights, label[lefts], right_label[rights])


@dataclass(frozen=True, eq=False)
class TracingPart:
    """Some components of two releases, their classes renumbered.

    lefts, rights: int64[] the classes; left_label, right_label: int64[] their components, as of the whole
    """

    laid: Laid
    lefts: Int64
    rights: Int64
    left_label: Int64
    right_label: Int64

    def suspicious(self, k: int) -> bool:
        """Whether the surest attacker would trace anything."""
        overlap = self.laid.overlap
        graph = group_graph(self.laid, overlap.left, overlap.right, self.laid.went())

        def fits(edges: Int64, place: Int64) -> Int64:
            return sums(place, overlap.shared[graph.pair[edges]], int(place.max(initial=-1)) + 1)

        placed = place_rows(graph)
        if placed is None:
            return True
        found = trace_rows(graph, placed, overlap.shared, lambda pairs: np.minimum(overlap.shared[pairs], k), k, fits)
        return any(len(at) for _, at, *_ in found)


def _with_boxes(boxes: Int32, groups: Groups) -> tuple[Int64, Int32, Int64, Int32]:
    return groups.start, groups.value, groups.count.copy(), np.ascontiguousarray(boxes)


@njit(cache=True)
def find_followed(
    older: tuple[Int64, Int32, Int64, Int32],
    newer: tuple[Int64, Int32, Int64, Int32],
    own: Int32 | Int64,
    other: Int32 | Int64,
    at: Int64,
    codes: Int32,
    values: Int32,
) -> tuple[Bool, bool]:
    """(bool[people], bool): who lies in the boxes of both classes; whether they all have rows of their values there.

    older, newer: (start, value, rows that nobody has taken yet) of the groups, boxes int32[classes, attributes, 2];
    own, other: [people] their classes; at: int64[people] their places in codes; values: int32[people]. O(people).
    """
    followed, settled = np.ones(len(at), np.bool_), True
    for i in range(len(at)):
        for a in range(codes.shape[1]):
            low, high = (
                max(older[3][own[i], a, 0], newer[3][other[i], a, 0]),
                min(older[3][own[i], a, 1], newer[3][other[i], a, 1]),
            )
            followed[i] &= low <= codes[at[i], a] <= high
        if followed[i]:
            settled &= _take_row(older, own[i], values[i]) and _take_row(newer, other[i], values[i])
    return followed, settled


@njit(cache=True)
def _take_row(side: tuple[Int64, Int32, Int64, Int32], own: int, wanted: int) -> bool:
    start, value, free, _ = side
    group, end = start[own], start[own + 1]
    while group < end and value[group] < wanted:
        group += 1
    if group == end or value[group] != wanted or free[group] == 0:
        return False
    free[group] -= 1
    return True
