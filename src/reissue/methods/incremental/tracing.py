"""Where the rows of an older release must be in a newer one, and how far that narrows down whose they are.

Rows of one value are traced on a group graph: every row of the older release sits in one class of the newer whose box
meets its own (or has gone, as far as the members tell). The box of a traced row is cut with the union of the boxes it
can be in, and the people who fit are counted. Most of two releases can be left out beforehand: see `tracing_filter`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.sets import lookup, sorted_unique
from reissue.arrays.types import Bool, Int32, Int64
from reissue.methods.incremental.tracing_filter import (
    BACKWARD,
    FORCED,
    FORWARD,
    GroupGraph,
    Laid,
    TracingPart,
    find_followed,
    group_graph,
    trace_rows,
)
from reissue.model.box_index import Points, cut, find_meeting
from reissue.model.overlap import Groups, Overlap

__all__ = ["BACKWARD", "FORCED", "FORWARD", "Traces", "traces"]

DRAWN = 12, 60
"""Of the classes that a class meets, so many are drawn to prove that nothing is traced; if they do not, so many."""
SMALL = 4
"""A part that is looked at instead of the whole has at most one in so many of its components."""


@dataclass(frozen=True, eq=False)
class Traces:
    """Rows that are narrowed down to fewer than k people of the older release.

    kind: int64[n] FORWARD, FORCED or BACKWARD; value: int32[n]; rows: int64[n] how many rows are traced so
    left: int64[n] class in the older release (-1: several); right: int64[n] class in the newer (-1: several)
    boxes: int32[, attributes, 2] where the rows can be, of each trace up to its end in box_end: int64[n]
    people: int64[] who fits one of them, ascending, by their rows in the older release, up to person_end: int64[n]
    """

    kind: Int64
    value: Int32
    rows: Int64
    left: Int64
    right: Int64
    boxes: Int32
    box_end: Int64
    people: Int64
    person_end: Int64
    complete: bool = True

    def __len__(self) -> int:
        return len(self.kind)

    @property
    def fit(self) -> Int64:
        """int64[n]: how many people fit."""
        return np.diff(self.person_end, prepend=0)

    def boxes_of(self, i: int) -> Int32:
        return self.boxes[self.box_end[i - 1] if i else 0 : self.box_end[i]]

    def people_of(self, i: int) -> Int64:
        return self.people[self.person_end[i - 1] if i else 0 : self.person_end[i]]


def traces(
    older: tuple[Int32, Groups],
    newer: tuple[Int32, Groups],
    overlap: Overlap,
    members: tuple[Points, Int32, Int32],
    value_count: int,
    k: int,
) -> Traces:
    """All rows of the older release that boxes and values narrow down to fewer than k people, exactly.

    older, newer: boxes int32[classes, attributes, 2] and groups; members: of the older release, where they lie, their
    classes and values. Whoever lies outside the box of one of the two classes has moved: attackers know that from the
    snapshots, so that person's row counts as gone from the older release and as new in the newer one.
    If all others have rows of their values in both classes, most of the two releases is left out of account, as long
    as that suffices: see `_quiet`.
    """
    if len(overlap.own) == 0:  # nobody is in both, so every row of the older release has gone
        return _no_traces(older[0].shape[1])
    (people, classes, values), boxes, at = members, (older[0], newer[0]), overlap.at_left
    left, right = _with_boxes(*older), _with_boxes(*newer)
    followed, settled = find_followed(left, right, overlap.own, overlap.other, at, people.codes, values[at])
    if not followed.all():
        overlap = overlap.only(followed)
    rows = np.bincount(classes, minlength=len(older[0]))
    stay = np.bincount(overlap.own, minlength=len(older[0]))
    gone, surely = np.maximum(0, older[1].sizes - stay), older[1].sizes == rows
    laid = Laid(older[1], newer[1], overlap, values[overlap.at_left], value_count, gone, surely)
    if settled and _quiet(laid, boxes, people, k):
        return _no_traces(older[0].shape[1])
    look = _trace_if_needed if settled else _trace_pairs
    return look(laid, boxes, find_meeting(*boxes), people, k)


def _trace_if_needed(
    laid: Laid, boxes: tuple[Int32, Int32], pairs: tuple[Int64, Int64], people: Points, k: int
) -> Traces:
    """As `_trace_pairs`, if nobody changed: not all pairs are looked at where some prove that nothing is traced."""
    for drawn in DRAWN:
        some = _draw_pairs(laid, pairs, drawn)
        if 2 * len(some[0]) > len(pairs[0]):
            break
        found = _trace_pairs(laid, boxes, some, people, k)
        if len(found) == 0 and found.complete:
            return found
    return _trace_pairs(laid, boxes, pairs, people, k)


def _draw_pairs(laid: Laid, pairs: tuple[Int64, Int64], many: int) -> tuple[Int64, Int64]:
    """The pairs that share subjects, and of the others about so many for each class. O(pairs).

    Where boxes are wide nearly all of them meet, and a few places for each row prove that none is traced: with fewer
    edges an attacker can only be surer. Which are drawn depends on the numbers of the classes alone.
    """
    left, right = pairs
    degrees = [np.bincount(of, minlength=1)[of] for of in pairs]
    mixed = (left * 2_654_435_761 + right * 40_503) % 1_000_003
    drawn = (mixed % degrees[0] < many) | (mixed % degrees[1] < many)
    drawn[_pair_of(laid.overlap, left, right, len(laid.newer.sizes))] = True
    return left[drawn], right[drawn]


def _with_boxes(boxes: Int32, groups: Groups) -> tuple[Int64, Int32, Int64, Int32]:
    return groups.start, groups.value, groups.count.copy(), np.ascontiguousarray(boxes)


def _quiet(laid: Laid, boxes: tuple[Int32, Int32], people: Points, k: int) -> bool:
    """Whether a part of the two releases proves that nothing is traced.

    Looked at are classes that share few subjects and all that are tied to them: first without boxes; then with them, if
    rows stay among classes that are tied; then those where something was traced, with all whose boxes meet theirs,
    and those around, until nothing is traced or the part is no longer small. With fewer edges and fewer people an
    attacker can only be surer, so that a component in which nothing is traced need not be looked at again.
    """
    few = laid.overlap.shared < k
    if not few.any():
        return True
    part = laid.only(laid.find_tangled(k))
    if not part.suspicious(k):
        return True
    found = _within(part, boxes, people, k, tied=True)
    here = np.zeros(laid.components, np.bool_)
    here[part.left_label[found.left[found.left >= 0]]] = True
    here[part.right_label[found.right[found.right >= 0]]] = True
    while len(found):
        wider = _around(laid, boxes, here)
        if SMALL * np.count_nonzero(wider) > len(wider) or np.count_nonzero(wider) == np.count_nonzero(here):
            return False
        here, found = wider, _within(laid.only(wider), boxes, people, k, tied=False)
    return found.complete


def _within(part: TracingPart, boxes: tuple[Int32, Int32], people: Points, k: int, *, tied: bool) -> Traces:
    """The traces within a part and among its people, along all boxes that meet or only those of tied classes."""
    own = boxes[0][part.lefts], boxes[1][part.rights]
    if tied:  # the component is one more attribute, so that only boxes of one component meet
        marks = (np.repeat(of.astype(np.int32), 2).reshape(-1, 1, 2) for of in (part.left_label, part.right_label))
        left, right = (np.concatenate([mark, some], axis=1) for mark, some in zip(marks, own, strict=True))
    else:
        left, right = own
    overlap = part.laid.overlap
    alone = replace(part.laid, overlap=replace(overlap, at_left=np.arange(len(overlap.at_left))))
    return _trace_if_needed(alone, own, find_meeting(left, right), Points(people.codes[overlap.at_left]), k)


def _around(laid: Laid, boxes: tuple[Int32, Int32], here: Bool) -> Bool:
    """bool[components]: some components, and those with boxes that meet one of theirs."""
    wider, inner = here.copy(), [of[here[label]] for of, label in zip(boxes, laid.labels, strict=True)]
    for outer, label in zip(boxes, laid.labels, strict=True):
        for some in inner:
            wider[label[find_meeting(outer, some)[0]]] = True
    return wider


def _cuts(left_boxes: Int32, right_boxes: Int32, left: Int64, right: Int64) -> Int32:
    """int32[pairs, attributes, 2]: what the two boxes of each pair share."""
    return _cut_all(np.ascontiguousarray(left_boxes), np.ascontiguousarray(right_boxes), left, right)


@njit(cache=True)
def _cut_all(left_boxes: Int32, right_boxes: Int32, left: Int64, right: Int64) -> Int32:
    met = np.empty((len(left), left_boxes.shape[1], 2), np.int32)
    for p in range(len(left)):
        cut(left_boxes[left[p]], right_boxes[right[p]], met[p])
    return met


def _trace_pairs(laid: Laid, boxes: tuple[Int32, Int32], pairs: tuple[Int64, Int64], people: Points, k: int) -> Traces:
    """As `traces`, if rows can go only along these pairs of classes, sorted by left, then right."""
    (left_boxes, right_boxes), (pair_left, pair_right), overlap = boxes, pairs, laid.overlap
    own = _pair_of(overlap, pair_left, pair_right, len(right_boxes))
    graph = group_graph(laid, pair_left, pair_right, _to_pairs(own, laid.went()))
    met = _cuts(left_boxes, right_boxes, pair_left, pair_right)

    def fits(edges: Int64, place: Int64) -> Int64:
        return np.bincount(
            _find_people(people, met[graph.pair[edges]], place)[0], minlength=int(place.max(initial=-1)) + 1
        )

    known = _count_known(overlap.link, overlap.at_left, people.codes, met, own)
    found = trace_rows(graph, known, lambda asked: people.inside(met[asked], k), k, fits)
    if found is None:
        return _no_traces(left_boxes.shape[1], complete=False)
    return _describe(found, graph, laid, pairs, met, people)


def _find_people(people: Points, boxes: Int32, place: Int64) -> tuple[Int64, Int64]:
    """(place, person), ascending, each once: who lies in one of the boxes at a place; for boxes with few people."""
    box, person = people.within(boxes)
    both: Int64 = sorted_unique(place[box] * len(people) + person)
    return both // max(1, len(people)), both % max(1, len(people))


def _pair_of(overlap: Overlap, pair_left: Int64, pair_right: Int64, rights: int) -> Int64:
    """int64[links]: the meeting pair of each link; -1 if the boxes do not meet: a subject's attributes have changed."""
    key = pair_left * rights + pair_right
    pair, there = lookup(key, overlap.left * rights + overlap.right)
    return np.where(there, pair, -1)


def _to_pairs(pair: Int64, true: tuple[Int64, Int64, Int64]) -> tuple[Int64, Int64, Int64]:
    """Counts per link as counts per meeting pair."""
    link, value, count = true
    kept = pair[link] >= 0
    order = np.lexsort((value[kept], pair[link[kept]]))
    return pair[link[kept]][order], value[kept][order], count[kept][order]


@njit(cache=True)
def _count_known(link: Int64, at: Int64, codes: Int32, met: Int32, pair: Int64) -> Int64:
    """int64[pairs]: shared subjects (their link and their place in codes) who lie in both boxes of their classes."""
    known = np.zeros(len(met), np.int64)
    for i in range(len(link)):
        own = pair[link[i]]
        if own < 0:
            continue
        inside = True
        for a in range(codes.shape[1]):
            inside &= met[own, a, 0] <= codes[at[i], a] <= met[own, a, 1]
        known[own] += inside
    return known


def _describe(
    found: list[tuple[int, Int64, Int64, Int64, Int64]],
    graph: GroupGraph,
    laid: Laid,
    pairs: tuple[Int64, Int64],
    met: Int32,
    people: Points,
) -> Traces:
    kind = np.concatenate([np.full(len(at), kind) for kind, at, *_ in found])
    rows, edges = (np.concatenate([one[i] for one in found]) for i in (2, 3))
    sizes = np.concatenate([np.diff(ends, prepend=0) for *_, ends in found])
    pair, first = graph.pair[edges], edges[np.cumsum(sizes) - sizes]
    left, right = (of[graph.pair[first]] for of in pairs)
    place, person = _find_people(people, met[pair], np.repeat(np.arange(len(kind)), sizes))
    return Traces(
        kind,
        laid.older.value[graph.left[first]],
        rows,
        np.where(kind == BACKWARD, -1, left),
        np.where(kind == FORWARD, -1, right),
        met[pair],
        np.cumsum(sizes),
        person,
        np.cumsum(np.bincount(place, minlength=len(kind))),
    )


def _no_traces(attributes: int, *, complete: bool = True) -> Traces:
    none = np.empty(0, dtype=np.int64)
    boxes = np.empty((0, attributes, 2), dtype=np.int32)
    return Traces(none, none.astype(np.int32), none, none, none, boxes, none, none, none, complete)
