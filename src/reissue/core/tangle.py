"""The part of two releases in which rows might be traced: classes tied to a pair that shares fewer than k subjects.

In a checked series that is a small part of them, and the rest of a pair of releases need not be looked at: an attacker
who sees only classes that share subjects, and takes only shared subjects for people who fit, is surer than one who sees
everything. So where he can trace nothing, nobody can, provided that nobody's attributes or value changed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reissue.core.domain import Bool, Int32, Int64
from reissue.core.flows import components, sums
from reissue.core.groupgraph import group_graph, trace
from reissue.core.overlap import Groups, Overlap


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

    def tangle(self, k: int) -> Tangle | None:
        """What is tied to a link of fewer than k subjects; None if there is no such link. O(shared + classes)."""
        overlap, thin = self.overlap, self.overlap.shared < k
        if not thin.any():
            return None
        label, right_label = components(overlap.left, overlap.right, len(self.older.sizes), len(self.newer.sizes))
        tied = np.zeros(len(label) + len(right_label), np.bool_)
        tied[label[overlap.left[thin]]] = True
        lefts, left_place = _renumbered(tied[label])
        rights, right_place = _renumbered(tied[right_label])
        links, place = _renumbered(tied[label[overlap.left]])
        shared = np.flatnonzero(place[overlap.link] >= 0)
        laid = Laid(
            self.older.pick(lefts),
            self.newer.pick(rights),
            Overlap(
                left_place[overlap.left[links]],
                right_place[overlap.right[links]],
                overlap.shared[links],
                place[overlap.link[shared]],
                overlap.at_left[shared],
                overlap.at_right[shared],
            ),
            self.values[shared],
            self.value_count,
            self.gone[lefts],
        )
        return Tangle(laid, lefts, rights, label[lefts], right_label[rights])


@dataclass(frozen=True, eq=False)
class Tangle:
    """Some classes of two releases, closed under sharing subjects and renumbered.

    lefts, rights: int64[] the classes; left_label, right_label: int64[] which of them are tied to each other
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

        found = trace(graph, overlap.shared, lambda pairs: np.minimum(overlap.shared[pairs], k), k, hull_fit)
        return found is None or len(found[0]) > 0


def suspicious(
    older: Groups, newer: Groups, overlap: Overlap, values: Int32, value_count: int, k: int, gone: Int64
) -> bool:
    """Whether anything might be traced: False proves that nothing is, without looking at a single box."""
    tangle = Laid(older, newer, overlap, values, value_count, gone).tangle(k)
    return tangle is not None and tangle.suspicious(k)


def _renumbered(kept: Bool) -> tuple[Int64, Int64]:
    """(what is kept, int64[n] the new number of each, -1 if it is not kept)."""
    place = np.cumsum(kept) - 1
    place[~kept] = -1
    return np.flatnonzero(kept), place
