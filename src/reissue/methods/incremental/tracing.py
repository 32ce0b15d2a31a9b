"""Where the rows of an older release must be in a newer one, and how far that narrows down whose they are.

Rows of one value are traced on a group graph: every row of the older release sits in one class of the newer whose box
meets its own (or has gone, as far as the members tell). The box of a traced row is cut with the union of the boxes it
can be in, and the people who fit are counted. Most of two releases can be left out beforehand: see `tracing_filter`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.sets import distinct, lookup, sorted_unique
from reissue.arrays.types import Bool, Int32, Int64
from reissue.methods.incremental.tracing_filter import Laid, TracingPart
from reissue.methods.incremental.tracing_graph import (
    BACKWARD,
    FORWARD,
    group_graph,
    place_rows,
    trace_rows,
)
from reissue.methods.incremental.tracing_places import Pairs, TracingLook, TracingPlaces
from reissue.model.box_index import Points, cut, find_meeting, meet_any
from reissue.model.overlap import Overlap

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


def traces(laid: Laid, boxes: tuple[Int32, Int32], people: Points) -> Traces:
    """All rows of the older release that boxes and values narrow down to fewer than k people, exactly.

    boxes: int32[classes, attributes, 2] of the older and of the newer release; people: where the members of the older
    one lie. If all who are in both have rows of their values in both, most of the two releases is left out of account,
    as long as that suffices: see `_quiet`.
    """
    if laid.settled and _quiet(laid, boxes, people, laid.k):
        return _no_traces(boxes[0].shape[1])
    if laid.settled:
        return _trace_where_needed(laid, boxes, people, laid.k)
    return _trace_pairs(laid, boxes, find_meeting(*boxes), people, laid.k)


def _trace_where_needed(
    laid: Laid, boxes: tuple[Int32, Int32], people: Points, k: int, meeting: tuple[Int32, Int32] | None = None
) -> Traces:
    """As `_trace_pairs` along all pairs that meet, if nobody changed; few of them are looked at (`tracing_places`).

    meeting: boxes that meet where rows can go, if these are not the ones that people must fit
    """
    meeting = meeting or boxes
    places = TracingPlaces.draw(laid, meeting)
    while places is not None:
        look = _look_along(laid, boxes, places.pairs, people, k)
        if look.nothing:
            return _no_traces(boxes[0].shape[1])
        wider = places.widen(laid, look)
        if wider is places:
            return _describe(look, laid, places.pairs, people)
        places = wider
    return _trace_pairs(laid, boxes, find_meeting(*meeting), people, k)


def _quiet(laid: Laid, boxes: tuple[Int32, Int32], people: Points, k: int) -> bool:
    """Whether a part of the two releases proves that nothing is traced.

    Looked at are classes that share few subjects and all that are tied to them: first without boxes; then with them, if
    rows stay among classes that are tied; then those where something was traced, with all whose boxes meet theirs,
    and those around, until nothing is traced or the part is no longer small. With fewer edges and fewer people an
    attacker can only be surer, so that a component in which nothing is traced need not be looked at again.
    """
    if laid.quiet:
        return True
    part = laid.only(laid.tangled)
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
    return _trace_where_needed(alone, own, Points(people.codes[overlap.at_left]), k, (left, right))


def _around(laid: Laid, boxes: tuple[Int32, Int32], here: Bool) -> Bool:
    """bool[components]: some components, and those with boxes that meet one of theirs."""
    wider, inner = here.copy(), [of[here[label]] for of, label in zip(boxes, laid.labels, strict=True)]
    for outer, label in zip(boxes, laid.labels, strict=True):
        for some in inner:
            wider[label[meet_any(outer, some)]] = True
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


def _trace_pairs(laid: Laid, boxes: tuple[Int32, Int32], pairs: Pairs, people: Points, k: int) -> Traces:
    """As `traces`, if rows can go only along these pairs of classes, sorted by left, then right."""
    look = _look_along(laid, boxes, pairs, people, k)
    if look.placed is None or look.nothing:
        return _no_traces(boxes[0].shape[1], complete=look.placed is not None)
    return _describe(look, laid, pairs, people)


def _look_along(laid: Laid, boxes: tuple[Int32, Int32], pairs: Pairs, people: Points, k: int) -> TracingLook:
    overlap = laid.overlap
    own = _pair_of(overlap, *pairs, len(boxes[1]))
    graph = group_graph(laid, *pairs, _to_pairs(own, laid.went()))
    met = _cuts(*boxes, *pairs)
    placed = place_rows(graph)
    if placed is None:
        return TracingLook(graph, None, [], met)

    def fits(edges: Int64, place: Int64) -> Int64:
        return np.bincount(
            _find_people(people, met[graph.pair[edges]], place)[0], minlength=int(place.max(initial=-1)) + 1
        )

    known = _count_known(overlap.link, overlap.at_left, people.codes, met, own)
    found = trace_rows(graph, placed, known, lambda asked: _count_people(people, met[asked], k), k, fits)
    return TracingLook(graph, placed, found, met)


def _find_distinct(boxes: Int32) -> tuple[Int64, Int32]:
    """(one of each box, int32[boxes] which of these it is): many pairs of classes share the same box."""
    return distinct([boxes[:, a, side] for a in range(boxes.shape[1]) for side in (0, 1)])


def _count_people(people: Points, boxes: Int32, k: int) -> Int64:
    """int64[boxes]: how many people lie in each box, up to k."""
    first, same = _find_distinct(boxes)
    return people.inside(boxes[first], k)[same]


def _find_people(people: Points, boxes: Int32, place: Int64) -> tuple[Int64, Int64]:
    """(place, person), ascending, each once: who lies in one of the boxes at a place; for boxes with few people."""
    first, same = _find_distinct(boxes)
    box, person = people.within(boxes[first])
    start = np.searchsorted(box, np.arange(len(first) + 1))
    where, which = np.divmod(sorted_unique(place * len(first) + same), max(1, len(first)))
    sizes = np.diff(start)[which]
    at = np.arange(int(sizes.sum())) + np.repeat(start[which] - np.cumsum(sizes) + sizes, sizes)
    both: Int64 = sorted_unique(np.repeat(where, sizes) * len(people) + person[at])
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


def _describe(look: TracingLook, laid: Laid, pairs: Pairs, people: Points) -> Traces:
    found, graph, met = look.found, look.graph, look.met
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
