"""Where the rows of an older release must be in a newer one, and how far that narrows down whose they are.

Rows of one value are traced on a group graph: every row of the older release sits in one class of the newer whose box
meets its own (or has gone, as far as the members tell). The box of a traced row is cut with the hull of the boxes it
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
    group_graph,
    members_fit_classes,
    suspicious,
    trace_rows,
)
from reissue.model.box_index import Points, cut, find_meeting
from reissue.model.overlap import Groups, Overlap

__all__ = ["BACKWARD", "FORCED", "FORWARD", "Traces", "suspicious", "traces"]

SMALL = 4
"""A part that is looked at instead of the whole has at most one in so many of its components."""


@dataclass(frozen=True, eq=False)
class Traces:
    """Rows whose box is narrowed down to fewer than k people of the older release.

    kind: int8[n] FORWARD, FORCED or BACKWARD; value: int32[n]; rows: int64[n] how many rows are traced so
    left: int64[n] class in the older release (-1: several); right: int64[n] class in the newer (-1: several)
    boxes: int32[n, attributes, 2]; fit: int64[n] people of the older release who fit
    """

    kind: Int64
    value: Int32
    rows: Int64
    left: Int64
    right: Int64
    boxes: Int32
    fit: Int64
    complete: bool = True

    def __len__(self) -> int:
        return len(self.kind)


def traces(
    older: tuple[Int32, Groups],
    newer: tuple[Int32, Groups],
    overlap: Overlap,
    values: Int32,
    value_count: int,
    people: Points,
    k: int,
    gone: Int64,
    *,
    unchanged: bool = False,
) -> Traces:
    """All rows of the older release that its boxes and values narrow down to fewer than k people, exactly.

    older, newer: boxes int32[classes, attributes, 2] and groups; people: the members of the older release;
    values: int32[shared subjects] in the overlap's order; gone: as in `Laid`; unchanged: whether it is known already
    that everybody shared lies in both boxes and has rows of the same value in both classes.
    If so, most of the two releases is left out of account, as long as that suffices: see `_quiet`.
    """
    laid, boxes = Laid(older[1], newer[1], overlap, values, value_count, gone), (older[0], newer[0])
    if (unchanged or _nobody_changed(laid, boxes, people)) and _quiet(laid, boxes, people, k):
        return _no_traces(older[0].shape[1])
    return _trace_pairs(laid, boxes, find_meeting(*boxes), people, k)


def _nobody_changed(laid: Laid, boxes: tuple[Int32, Int32], people: Points) -> bool:
    """Whether everybody shared lies in both boxes and has rows of the same value in both classes. O(shared)."""
    overlap, codes = laid.overlap, people.codes[laid.overlap.at_left]
    return members_fit_classes(laid.newer, boxes[1], overlap.other, codes, laid.values) and members_fit_classes(
        laid.older, boxes[0], overlap.own, codes, laid.values
    )


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
    return _trace_pairs(alone, own, find_meeting(left, right), Points(people.codes[overlap.at_left]), k)


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
    graph = group_graph(laid.older, laid.newer, pair_left, pair_right, _to_pairs(own, laid.went()), laid.gone)
    met = _cuts(left_boxes, right_boxes, pair_left, pair_right)
    narrowed: dict[bool, tuple[Int64, Int32]] = {}

    def hull_fit(edges: Int64, nodes: Int64, backward: bool) -> Int64:
        there, which = graph.pair[edges], sorted_unique(nodes)
        if backward:
            outer, mine = left_boxes[pair_left[there]], right_boxes[laid.newer.classes[which]]
        else:
            outer, mine = right_boxes[pair_right[there]], left_boxes[laid.older.classes[which]]
        narrowed[backward] = which, _hulls(outer, np.searchsorted(which, nodes), mine)
        return people.inside(narrowed[backward][1], k)

    known = _count_known(overlap.link, overlap.at_left, people.codes, met, own)
    found = trace_rows(graph, known, lambda asked: people.inside(met[asked], k), k, hull_fit)
    if found is None:
        return _no_traces(left_boxes.shape[1], complete=False)
    return _describe(found, graph, laid, (pair_left, pair_right, met), narrowed)


def _hulls(outer: Int32, place: Int64, mine: Int32) -> Int32:
    """int32[len(mine), attributes, 2]: each box cut with the hull of the outer boxes at its place."""
    boxes = np.empty_like(mine)
    boxes[..., 0], boxes[..., 1] = np.iinfo(np.int32).max, np.iinfo(np.int32).min
    np.minimum.at(boxes[..., 0], place, outer[..., 0])
    np.maximum.at(boxes[..., 1], place, outer[..., 1])
    boxes[..., 0], boxes[..., 1] = np.maximum(boxes[..., 0], mine[..., 0]), np.minimum(boxes[..., 1], mine[..., 1])
    return boxes


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
    found: tuple[Int64, Int64, Int64, Int64],
    graph: GroupGraph,
    laid: Laid,
    pairs: tuple[Int64, Int64, Int32],
    narrowed: dict[bool, tuple[Int64, Int32]],
) -> Traces:
    kind, at, rows, fit = found
    pair_left, pair_right, met = pairs
    value, left = np.empty(len(kind), np.int32), np.full(len(kind), -1, np.int64)
    right, boxes = np.full(len(kind), -1, np.int64), np.empty((len(kind), *met.shape[1:]), np.int32)
    one = kind == FORCED
    pair = graph.pair[at[one]]
    value[one] = laid.older.value[graph.left[at[one]]]
    left[one], right[one], boxes[one] = pair_left[pair], pair_right[pair], met[pair]
    for backward, groups, which in ((False, laid.older, kind == FORWARD), (True, laid.newer, kind == BACKWARD)):
        if which.any():
            nodes, hulls = narrowed[backward]
            value[which] = groups.value[at[which]]
            (right if backward else left)[which] = groups.classes[at[which]]
            boxes[which] = hulls[np.searchsorted(nodes, at[which])]
    return Traces(kind, value, rows, left, right, boxes, fit)


def _no_traces(attributes: int, *, complete: bool = True) -> Traces:
    none = np.empty(0, dtype=np.int64)
    boxes = np.empty((0, attributes, 2), dtype=np.int32)
    return Traces(none, none.astype(np.int32), none, none, none, boxes, none, complete)
