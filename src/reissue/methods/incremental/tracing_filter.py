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
from reissue.arrays.components import bipartite_components
from reissue.arrays.flow.transport import sums
from reissue.arrays.types import Bool, Int32, Int64
from reissue.methods.incremental.tracing_graph import group_graph, trace_rows
from reissue.model.overlap import Groups, Overlap


@dataclass(frozen=True, eq=False)
class Laid:
    """Two releases laid over each other.

    older, newer: the values in their classes; values: int32[shared subjects] in the overlap's order
    gone: int64[older classes] rows of a class that may be missing from the newer release
    """

    older: Groups
    newer: Groups
    overlap: Overlap
    values: Int32
    value_count: int
    gone: Int64

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

    def tangled(self, k: int) -> Bool:
        """bool[components]: those with a link of fewer than k subjects."""
        tangled = np.zeros(self.components, np.bool_)
        tangled[self.labels[0][self.overlap.left[self.overlap.shared < k]]] = True
        return tangled

    def only(self, component: Bool) -> TracingPart:
        """The part within some components. O(shared + classes)."""
        overlap, (label, right_label) = self.overlap, self.labels
        lefts, left_place = _renumbered(component[label])
        rights, right_place = _renumbered(component[right_label])
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
        graph = group_graph(
            self.laid.older, self.laid.newer, overlap.left, overlap.right, self.laid.went(), self.laid.gone
        )

        def hull_fit(edges: Int64, nodes: Int64, backward: bool) -> Int64:
            which, place = np.unique(nodes, return_inverse=True)
            return sums(place, overlap.shared[graph.pair[edges]], len(which))

        found = trace_rows(graph, overlap.shared, lambda pairs: np.minimum(overlap.shared[pairs], k), k, hull_fit)
        return found is None or len(found[0]) > 0


def suspicious(
    older: Groups, newer: Groups, overlap: Overlap, values: Int32, value_count: int, k: int, gone: Int64
) -> bool:
    """Whether anything might be traced: False proves that nothing is, without looking at a single box."""
    if (overlap.shared >= k).all():
        return False
    laid = Laid(older, newer, overlap, values, value_count, gone)
    return laid.only(laid.tangled(k)).suspicious(k)


def _renumbered(kept: Bool) -> tuple[Int64, Int64]:
    """(what is kept, int64[n] the new number of each, -1 if it is not kept)."""
    place = np.cumsum(kept) - 1
    place[~kept] = -1
    return np.flatnonzero(kept), place


def members_fit_classes(groups: Groups, boxes: Int32, classes: Int32 | Int64, codes: Int32, values: Int32) -> bool:
    """Whether all of some people lie in the boxes of their classes and have rows of their values there. O(people).

    boxes: int32[classes, attributes, 2]; classes, values: [people]; codes: int32[people, attributes]
    """
    contiguous = np.ascontiguousarray(boxes), classes, np.ascontiguousarray(codes), values
    return bool(_members_fit_classes(*contiguous, groups.start, groups.value, groups.count.copy()))


@njit(cache=True)
def _members_fit_classes(
    boxes: Int32, classes: Int32 | Int64, codes: Int32, values: Int32, start: Int64, value: Int32, free: Int64
) -> bool:
    """free: int64[groups] rows that nobody has taken yet."""
    for i in range(len(classes)):
        own = classes[i]
        for a in range(codes.shape[1]):
            if codes[i, a] < boxes[own, a, 0] or codes[i, a] > boxes[own, a, 1]:
                return False
        group, end = start[own], start[own + 1]
        while group < end and value[group] < values[i]:
            group += 1
        if group == end or value[group] != values[i] or free[group] == 0:
            return False
        free[group] -= 1
    return True


@njit(cache=True)
def same(
    one_codes: Int32, one_values: Int32, at_one: Int64, other_codes: Int32, other_values: Int32, at_other: Int64
) -> bool:
    """Whether people have the same codes and values in two tables; at_one, at_other: int64[people] their rows there."""
    for i in range(len(at_one)):
        one, other = at_one[i], at_other[i]
        if one_values[one] != other_values[other]:
            return False
        for a in range(one_codes.shape[1]):
            if one_codes[one, a] != other_codes[other, a]:
                return False
    return True
