"""Which pairs of classes tracing looks at: where boxes are wide nearly all of them meet, and few of them matter.

Looked at first are the pairs that share people and, for every group, a few others of its value whose boxes meet. Along
fewer pairs an attacker can only be surer, so what is not traced along these is not traced at all. What is traced has to
be looked at along all pairs; but the answer is the same along some of them, if of those left out

- none leads from one strong component of the residual graph to another (`Transport.possible`): then the components, and
  with them all places that are possible, are as with all pairs;
- none touches a group that is traced, so that all its places are known; and
- none leads out of what a row that must be somewhere comes by where it looks for another way in vain.

Groups that one of these asks for are opened: all groups of their value whose boxes meet theirs are looked at. What is
left out leads from one closed group to another, and these are in the largest component of their value.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.sets import sorted_unique
from reissue.arrays.sorting import sort_by_bucket
from reissue.arrays.types import Bool, Int32, Int64
from reissue.methods.incremental.tracing_filter import Laid
from reissue.methods.incremental.tracing_graph import BACKWARD, FORWARD, GroupGraph, Placed, Traced
from reissue.model.box_index import meets
from reissue.model.observed import Groups

Pairs = tuple[Int64, Int64]
"""Classes of the older and of the newer release, sorted by the first, then by the second."""
DRAWN, TRIED = 6, 36
"""For each group so many of its value are drawn whose boxes meet, and so many are looked at for that at most."""
NARROW, FEW = 4, 20
"""Where boxes are so narrow that less than one in NARROW of what is to be drawn is found, and so that there are fewer
pairs than FEW for each group, all of them are taken."""


@dataclass(frozen=True, eq=False)
class TracingLook:
    """What was traced along some pairs. placed: None if rows cannot be placed; met: what the boxes of a pair share."""

    graph: GroupGraph
    placed: Placed | None
    found: list[Traced]
    met: Int32

    @property
    def nothing(self) -> bool:
        return not any(len(at) for _, at, *_ in self.found)


@dataclass(frozen=True, eq=False)
class TracingPlaces:
    """Pairs of classes, with all those of opened groups: bool[older groups], bool[newer groups].

    boxes: rows go only where they meet
    """

    boxes: tuple[Int32, Int32]
    pairs: Pairs
    opened: tuple[Bool, Bool]

    @staticmethod
    def draw(laid: Laid, boxes: tuple[Int32, Int32]) -> TracingPlaces | None:
        """The pairs that share subjects, and a few for every group; None if that would be about as many as there are.

        Which are drawn depends on the order of the groups alone. O(groups).
        """
        older, newer, overlap = laid.older, laid.newer, laid.overlap
        if DRAWN * (len(older.value) + len(newer.value)) > len(older.sizes) * len(newer.sizes):
            return None
        boxes = np.ascontiguousarray(boxes[0]), np.ascontiguousarray(boxes[1])
        linked = overlap.left * len(newer.sizes) + overlap.right
        every = np.arange(len(older.value)), np.arange(len(newer.value))
        none = np.zeros(len(older.value), np.bool_), np.zeros(len(newer.value), np.bool_)
        pairs, groups = _join_pairs(laid, boxes, every, linked, DRAWN, TRIED), len(every[0]) + len(every[1])
        found, every_pair = len(pairs[0]) - len(linked), len(older.sizes) * len(newer.sizes)
        if NARROW * found < DRAWN * groups and found * every_pair < FEW * groups * TRIED * groups:
            return None
        return TracingPlaces(boxes, pairs, none)

    def widen(self, laid: Laid, look: TracingLook) -> TracingPlaces | None:
        """With groups opened until what was traced is traced along all pairs; the same if it is. None: take all."""
        wanted = find_wanted(laid, look)
        fresh = tuple(np.flatnonzero(want & ~own) for want, own in zip(wanted, self.opened, strict=True))
        if not len(fresh[0]) and not len(fresh[1]):
            return self
        opened = wanted[0] | self.opened[0], wanted[1] | self.opened[1]
        if any(2 * np.count_nonzero(own) > len(own) for own in opened):
            return None
        known = self.pairs[0] * len(laid.newer.sizes) + self.pairs[1]
        everything = len(laid.older.value) + len(laid.newer.value)
        pairs = _join_pairs(laid, self.boxes, (fresh[0], fresh[1]), known, everything, everything)
        return replace(self, pairs=pairs, opened=opened)


def _join_pairs(
    laid: Laid, boxes: tuple[Int32, Int32], groups: tuple[Int64, Int64], known: Int64, many: int, tried: int
) -> Pairs:
    """Some pairs (left * rights + right), and those of some groups of the older and of the newer release."""
    rights = len(laid.newer.sizes)
    left, met = _find_places(laid.older, laid.newer, boxes, laid.value_count, groups[0], many, tried)
    right, came = _find_places(laid.newer, laid.older, boxes[::-1], laid.value_count, groups[1], many, tried)
    return np.divmod(sorted_unique(np.concatenate([known, left * rights + met, came * rights + right])), rights)


def _find_places(
    one: Groups, other: Groups, boxes: tuple[Int32, Int32], value_count: int, groups: Int64, many: int, tried: int
) -> Pairs:
    start, order = sort_by_bucket(other.value, value_count)
    sides = boxes[0], boxes[1], other.classes[order], start
    return _list_places(groups, one.classes, one.value, *sides, many, tried)


@njit(cache=True)
def _list_places(
    groups: Int64,
    classes: Int64,
    values: Int32,
    boxes: Int32,
    other_boxes: Int32,
    others: Int64,
    start: Int64,
    many: int,
    tried: int,
) -> Pairs:
    """For each group up to `many` classes of the other side that have its value and whose boxes meet, of `tried` ones.

    others: int64[groups] the classes of the other side by value, those of value v from start[v] on
    """
    left, right, found = np.empty(1024, np.int64), np.empty(1024, np.int64), 0
    for group in groups:
        begin, there = start[values[group]], start[values[group] + 1] - start[values[group]]
        stop, turns = found + many, min(there, tried)
        for turn in range(turns):
            at = begin + (group * 40_503 + turn * (there // turns)) % there
            if meets(boxes[classes[group]], other_boxes[others[at]]):
                if found == len(left):
                    left = np.concatenate((left, np.empty(found, np.int64)))
                    right = np.concatenate((right, np.empty(found, np.int64)))
                left[found], right[found] = classes[group], others[at]
                found += 1
                if found == stop:
                    break
    return left[:found].copy(), right[:found].copy()


def find_wanted(laid: Laid, look: TracingLook) -> tuple[Bool, Bool]:
    """(bool[older groups], bool[newer groups]) that have to be open for the traces to be those along all pairs."""
    older, newer, graph = laid.older, laid.newer, look.graph
    assert look.placed is not None
    transport, full = look.placed
    label = transport.components(full)[: len(older.value) + len(newer.value)]
    left, right = np.split(_find_apart(np.concatenate([older.value, newer.value]), label), [len(older.value)])
    for kind, at, _, edges, _ in look.found:
        if kind == FORWARD:
            left[at] = True
        elif kind == BACKWARD:
            right[at] = True
            for edge in edges[transport.flow[edges] > 0].tolist():
                _want(older, newer, transport.search_in_vain(edge, int(graph.right[edge])), left, right)
        else:
            for edge in at.tolist():
                _want(older, newer, transport.search_in_vain(edge), left, right)
    return left, right


def _find_apart(values: Int32, label: Int64) -> Bool:
    """bool[groups]: those that are not in the component in which most groups of their value are."""
    key, of, count = np.unique(values.astype(np.int64) << 32 | label, return_inverse=True, return_counts=True)
    most = np.zeros(int(values.max(initial=-1)) + 1, dtype=np.int64)
    np.maximum.at(most, key >> 32, count)
    first = np.full(len(most), -1, dtype=np.int64)
    largest = np.flatnonzero(count == most[key >> 32])[::-1]
    first[key[largest] >> 32] = largest
    return np.asarray(first[values] != of, dtype=np.bool_)


def _want(older: Groups, newer: Groups, reached: Bool, left: Bool, right: Bool) -> None:
    """Ask for the groups from which a pair that is left out might lead on: those reached, or else all others there."""
    came = np.flatnonzero(reached[: len(older.value)])
    beyond = ~reached[len(older.value) : len(older.value) + len(newer.value)]
    shown = np.zeros(1 + max(int(newer.value.max(initial=0)), int(older.value.max(initial=0))), dtype=np.bool_)
    shown[older.value[came]] = True
    beyond &= shown[newer.value]
    if len(came) <= np.count_nonzero(beyond):
        left[came] = True
    else:
        right |= beyond
