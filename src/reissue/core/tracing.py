"""Where the rows of an older release must be in a newer one, and how far that narrows down whose they are.

Rows of one value are traced on a group graph: every row of the older release sits in one class of the newer whose box
meets its own (or has gone, as far as the members tell). The box of a traced row is cut with the hull of the boxes it
can be in, and the people who fit are counted. Most of two releases can be left out beforehand: see reissue.core.tangle.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from reissue.core.ascending import seek
from reissue.core.compiled import njit
from reissue.core.domain import Int32, Int64
from reissue.core.groupgraph import BACKWARD, FORCED, FORWARD, GroupGraph, group_graph, trace
from reissue.core.meets import Points, cut, meeting
from reissue.core.overlap import Groups, Overlap
from reissue.core.sets import once
from reissue.core.tangle import Laid, Tangle, suspicious

__all__ = ["BACKWARD", "FORCED", "FORWARD", "Traces", "suspicious", "traces"]


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
) -> Traces:
    """All rows of the older release that its boxes and values narrow down to fewer than k people, exactly.

    older, newer: boxes int32[classes, attributes, 2] and groups; people: the members of the older release;
    values: int32[shared subjects] in the overlap's order; gone: as in `Laid`.
    If nobody's attributes or value changed, less is looked at first, as long as it suffices: nothing but the tangle of
    the two releases, without boxes; then with them, and only the people in it; then everybody. With fewer edges and
    fewer people an attacker can only be surer, so no trace there means none at all.
    """
    laid = Laid(older[1], newer[1], overlap, values, value_count, gone)
    boxes = older[0], newer[0]
    if _unchanged(laid, boxes, people):
        tangle = laid.tangle(k)
        if tangle is None or not tangle.suspicious(k) or _quiet(tangle, boxes, people, k):
            return _nothing(older[0].shape[1])
    return _traced(laid, boxes, meeting(*boxes), people, k)


def _unchanged(laid: Laid, boxes: tuple[Int32, Int32], people: Points) -> bool:
    """Whether everybody shared lies in both boxes and has a row of the same value in the newer class. O(shared)."""
    overlap, newer = laid.overlap, laid.newer
    met = _cuts(*boxes, overlap.left, overlap.right)
    there = overlap.link, overlap.right, overlap.at_left
    return bool(_all_there(*there, people.codes, met, laid.values, newer.start, newer.value, newer.count.copy()))


@njit(cache=True)
def _all_there(
    link: Int64,
    right: Int64,
    at: Int64,
    codes: Int32,
    met: Int32,
    values: Int32,
    start: Int64,
    value: Int32,
    free: Int64,
) -> bool:
    """Whether every shared subject lies in what the boxes share, and takes one of the free rows of its group."""
    for i in range(len(link)):
        own = link[i]
        for a in range(codes.shape[1]):
            if codes[at[i], a] < met[own, a, 0] or codes[at[i], a] > met[own, a, 1]:
                return False
        group, end = start[right[own]], start[right[own] + 1]
        while group < end and value[group] < values[i]:
            group += 1
        if group == end or value[group] != values[i] or free[group] == 0:
            return False
        free[group] -= 1
    return True


def _quiet(tangle: Tangle, boxes: tuple[Int32, Int32], people: Points, k: int) -> bool:
    """Whether nothing is traced among the boxes of a tangle: with the people in it, or else with everybody."""
    own = boxes[0][tangle.lefts], boxes[1][tangle.rights]

    def marked(boxes: Int32, label: Int64) -> Int32:
        """With what a class is tied to as one more attribute, so that only boxes of tied classes meet."""
        mark = np.repeat(label.astype(np.int32), 2).reshape(len(label), 1, 2)
        return np.concatenate([mark, boxes], axis=1)

    pairs = meeting(marked(own[0], tangle.left_label), marked(own[1], tangle.right_label))
    overlap = tangle.laid.overlap
    alone = replace(tangle.laid, overlap=replace(overlap, at_left=np.arange(len(overlap.at_left))))
    if len(_traced(alone, own, pairs, Points(people.codes[overlap.at_left]), k)) == 0:
        return True
    return len(_traced(tangle.laid, own, pairs, people, k)) == 0


def _cuts(left_boxes: Int32, right_boxes: Int32, left: Int64, right: Int64) -> Int32:
    """int32[pairs, attributes, 2]: what the two boxes of each pair share."""
    return _cut_all(np.ascontiguousarray(left_boxes), np.ascontiguousarray(right_boxes), left, right)


@njit(cache=True)
def _cut_all(left_boxes: Int32, right_boxes: Int32, left: Int64, right: Int64) -> Int32:
    met = np.empty((len(left), left_boxes.shape[1], 2), np.int32)
    for p in range(len(left)):
        cut(left_boxes[left[p]], right_boxes[right[p]], met[p])
    return met


def _traced(laid: Laid, boxes: tuple[Int32, Int32], pairs: tuple[Int64, Int64], people: Points, k: int) -> Traces:
    """As `traces`, if rows can go only along these pairs of classes, sorted by left, then right."""
    (left_boxes, right_boxes), (pair_left, pair_right), overlap = boxes, pairs, laid.overlap
    own = _pair_of(overlap, pair_left, pair_right, len(right_boxes))
    graph = group_graph(laid.older, laid.newer, pair_left, pair_right, _to_pairs(own, laid.went()), laid.gone)
    met = _cuts(left_boxes, right_boxes, pair_left, pair_right)
    narrowed: dict[bool, tuple[Int64, Int32]] = {}

    def hull_fit(edges: Int64, nodes: Int64, backward: bool) -> Int64:
        there, which = graph.pair[edges], once(nodes)
        if backward:
            outer, mine = left_boxes[pair_left[there]], right_boxes[laid.newer.classes[which]]
        else:
            outer, mine = right_boxes[pair_right[there]], left_boxes[laid.older.classes[which]]
        narrowed[backward] = which, _hulls(outer, np.searchsorted(which, nodes), mine)
        return people.inside(narrowed[backward][1], k)

    known = _known(overlap.link, overlap.at_left, people.codes, met, own)
    found = trace(graph, known, lambda asked: people.inside(met[asked], k), k, hull_fit)
    if found is None:
        return _nothing(left_boxes.shape[1], complete=False)
    return _described(found, graph, laid, (pair_left, pair_right, met), narrowed)


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
    pair, there = seek(key, overlap.left * rights + overlap.right)
    return np.where(there, pair, -1)


def _to_pairs(pair: Int64, true: tuple[Int64, Int64, Int64]) -> tuple[Int64, Int64, Int64]:
    """Counts per link as counts per meeting pair."""
    link, value, count = true
    kept = pair[link] >= 0
    order = np.lexsort((value[kept], pair[link[kept]]))
    return pair[link[kept]][order], value[kept][order], count[kept][order]


@njit(cache=True)
def _known(link: Int64, at: Int64, codes: Int32, met: Int32, pair: Int64) -> Int64:
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


def _described(
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


def _nothing(attributes: int, *, complete: bool = True) -> Traces:
    none = np.empty(0, dtype=np.int64)
    boxes = np.empty((0, attributes, 2), dtype=np.int32)
    return Traces(none, none.astype(np.int32), none, none, none, boxes, none, complete)
