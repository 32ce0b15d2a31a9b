"""Where the rows of an older release must be in a newer one, and how far that narrows down whose they are.

Rows of one value are traced on a group graph: every row of the older release sits in one class of the newer whose box
meets its own (or has gone, as far as the members tell). One flow that places all of them shows which edges are
possible at all (strong components of its residual graph) and how many rows must take an edge (rerouting). The
box of a traced row is cut with the hull of the boxes it can be in, and the people who fit are counted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from reissue.core.ascending import seek
from reissue.core.compiled import njit
from reissue.core.domain import Bool, Int32, Int64
from reissue.core.flows import Transport, components, sums
from reissue.core.meets import Points, meeting
from reissue.core.overlap import Groups, Overlap
from reissue.core.sets import once

FORWARD, FORCED, BACKWARD = 0, 1, 2
"""How a row was traced: all its possible classes, one class it must be in, or back from the newer release."""


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


@dataclass(frozen=True, eq=False)
class GroupGraph:
    """Groups of one value in two releases and where rows may have gone.

    pair: int64[edges] the class pair of an edge (-1: gone); left, right: int64[edges] groups
    flow: int64[edges] the true placement; demand: int64[rights] with one further right node per left group: gone
    """

    left: Int64
    right: Int64
    pair: Int64
    flow: Int64
    supply: Int64
    demand: Int64


def group_graph(
    older: Groups, newer: Groups, pair_left: Int64, pair_right: Int64, true: tuple[Int64, Int64, Int64], gone: Int64
) -> GroupGraph:
    """The graph over the given pairs of classes (sorted by left, then right).

    true: (pair, value, count), sorted by pair then value: how many rows of a value really went from one class to the
    other; gone: int64[older classes] rows of a class that may be missing from the newer release.
    """
    edge_left, edge_right, pair, flow = _group_edges(
        pair_left, pair_right, older.start, older.value, newer.start, newer.value, *true
    )
    missing = np.minimum(gone[older.classes], older.count)
    some = np.flatnonzero(missing > 0)
    last = len(newer.count)
    sent = older.count - sums(edge_left, flow, len(older.count))
    return GroupGraph(
        np.concatenate([edge_left, some]),
        np.concatenate([edge_right, last + np.arange(len(some))]),
        np.concatenate([pair, np.full(len(some), -1)]),
        np.concatenate([flow, sent[some]]),
        older.count,
        np.concatenate([newer.count, missing[some]]),
    )


@njit(cache=True)
def _group_edges(
    pair_left: Int64,
    pair_right: Int64,
    older_start: Int64,
    older_value: Int32,
    newer_start: Int64,
    newer_value: Int32,
    true_pair: Int64,
    true_value: Int64,
    true_count: Int64,
) -> tuple[Int64, Int64, Int64, Int64]:
    """Edges between groups of one value for every pair of classes, by merging sorted values. O(groups met)."""
    room = 16
    left, right = np.empty(room, np.int64), np.empty(room, np.int64)
    pair, flow = np.empty(room, np.int64), np.empty(room, np.int64)
    found = t = 0
    for p in range(len(pair_left)):
        i, j = older_start[pair_left[p]], newer_start[pair_right[p]]
        while i < older_start[pair_left[p] + 1] and j < newer_start[pair_right[p] + 1]:
            a, b = older_value[i], newer_value[j]
            if a == b:
                if found == room:
                    left = np.concatenate((left, np.empty(room, np.int64)))
                    right = np.concatenate((right, np.empty(room, np.int64)))
                    pair = np.concatenate((pair, np.empty(room, np.int64)))
                    flow = np.concatenate((flow, np.empty(room, np.int64)))
                    room *= 2
                while t < len(true_pair) and (true_pair[t] < p or (true_pair[t] == p and true_value[t] < a)):
                    t += 1
                left[found], right[found], pair[found], flow[found] = i, j, p, 0
                if t < len(true_pair) and true_pair[t] == p and true_value[t] == a:
                    flow[found] = true_count[t]
                found += 1
            i, j = i + (a <= b), j + (b <= a)
    return left[:found].copy(), right[:found].copy(), pair[:found].copy(), flow[:found].copy()


def placed(graph: GroupGraph) -> Transport | None:
    """A flow that places every row, or None if there is none: then values changed and rows cannot be traced."""
    transport = Transport.of(graph.supply, graph.demand, graph.left, graph.right, graph.flow)
    if (transport.graph.unsent < 0).any() or (transport.graph.room < 0).any():
        transport = Transport.of(graph.supply, graph.demand, graph.left, graph.right)
    return transport if transport.saturate() == 0 else None


def trace(
    graph: GroupGraph,
    known: Int64,
    count: Callable[[Int64], Int64],
    k: int,
    hull_fit: Callable[[Int64, Int64, bool], Int64],
) -> tuple[Int64, Int64, Int64, Int64] | None:
    """(kind, at, rows, fit) of every trace to fewer than k people; None if the rows cannot be placed.

    known: int64[pairs] people who fit both boxes for sure (those whom the classes share); count(pairs): all who do, up
    to k; hull_fit(edges, nodes, backward): for possible edges grouped by node (their left or right group), how many
    people fit the hull per distinct node. at: an edge for FORCED, else the group.
    """
    transport = placed(graph)
    if transport is None:
        return None
    possible, real = transport.possible(), graph.pair >= 0
    usable = possible & (graph.demand[graph.right] > 0) & (graph.supply[graph.left] > 0)
    fit, thin = _thin(graph, usable, transport.flow > 0, known, count, k)
    forced = np.flatnonzero(thin & (transport.flow > 0))
    least = transport.least(forced)
    found = [(FORCED, forced[least > 0], least[least > 0], fit[graph.pair[forced[least > 0]]])]
    wide = np.zeros(len(graph.supply), np.bool_)
    wide[graph.left[usable & ~thin]] = True  # also rows that may have gone: they may be anywhere in their box
    edges = np.flatnonzero(usable & ~wide[graph.left])
    if len(edges):
        nodes, people = once(graph.left[edges]), hull_fit(edges, graph.left[edges], False)
        few = people < k
        found.append((FORWARD, nodes[few], graph.supply[nodes[few]], people[few]))
    wide = np.zeros(len(graph.demand), np.bool_)
    wide[graph.right[usable & ~thin]] = True
    edges = np.flatnonzero(usable & real & ~wide[graph.right])
    if len(edges):
        nodes, people = once(graph.right[edges]), hull_fit(edges, graph.right[edges], True)
        nodes, people = nodes[people < k], people[people < k]
        least = transport.least_into(nodes)
        found.append((BACKWARD, nodes[least > 0], least[least > 0], people[least > 0]))
    kind = np.concatenate([np.full(len(one[1]), one[0], dtype=np.int64) for one in found])
    at, rows, people = (np.concatenate([one[i] for one in found]) for i in (1, 2, 3))
    return kind, at, rows, people


def _thin(
    graph: GroupGraph, usable: Bool, used: Bool, known: Int64, count: Callable[[Int64], Int64], k: int
) -> tuple[Int64, Bool]:
    """(fit int64[pairs], thin bool[edges]): edges whose boxes fewer than k people fit, where that can matter.

    It matters for edges in use, and for groups whose usable edges are not known to hold k people together: the hull of
    any other group holds them all. Nothing must come to a newer group that no edge in use leads to. An edge that does
    not matter counts as wide, which keeps its groups from being traced; they cannot be.
    """
    real = graph.pair >= 0
    sure = np.where(real, known[graph.pair], k) if len(known) else np.full(len(real), k)
    left = sums(graph.left[usable], sure[usable], len(graph.supply)) < k
    right = sums(graph.right[usable], sure[usable], len(graph.demand)) < k
    right &= sums(graph.right[used], sure[used] + 1, len(graph.demand)) > 0
    asked = real & (sure < k) & (used | (usable & (left[graph.left] | right[graph.right])))
    pairs, fit = once(graph.pair[asked]), np.full(len(known), k, dtype=np.int64)
    fit[pairs] = count(pairs)
    return fit, asked & (np.where(real, fit[graph.pair], k) < k) if len(known) else asked


def true_groups(overlap: Overlap, values: Int32, value_count: int) -> tuple[Int64, Int64, Int64]:
    """(link, value, count), sorted: how many subjects of each value the two classes of a link share.

    values: int32[shared subjects] in the overlap's order.
    """
    groups = Groups.of(overlap.link.astype(np.int64), values, len(overlap.left), value_count)
    return groups.classes, groups.value.astype(np.int64), groups.count


def suspicious(
    older: Groups, newer: Groups, overlap: Overlap, values: Int32, value_count: int, k: int, gone: Int64
) -> bool:
    """Whether anything might be traced: False proves that nothing is, without looking at a single box.

    Only classes that share subjects are joined, and people who fit are counted by the subjects the classes share.
    With more edges and wider hulls an attacker can only be less sure, so no trace here means none at all.
    """
    thin = overlap.shared < k
    if not thin.any():
        return False
    label, _ = components(overlap.left, overlap.right, len(older.sizes), len(newer.sizes))
    tangled = np.zeros(int(label.max()) + 1, np.bool_)
    tangled[label[overlap.left[thin]]] = True
    inside = tangled[label]  # only classes tied to a thin link can be traced
    kept = np.flatnonzero(inside[overlap.left])
    place = np.full(len(overlap.left), -1, dtype=np.int64)
    place[kept] = np.arange(len(kept))
    left, right, shared = overlap.left[kept], overlap.right[kept], overlap.shared[kept]
    which = place[overlap.link] >= 0
    true = Groups.of(place[overlap.link][which], values[which], len(kept), value_count)
    rest = Groups(older.start, older.value, np.where(inside[older.classes], older.count, 0))
    graph = group_graph(rest, newer, left, right, (true.classes, true.value.astype(np.int64), true.count), gone)

    def hull_fit(edges: Int64, nodes: Int64, backward: bool) -> Int64:
        which, place = np.unique(nodes, return_inverse=True)
        return sums(place, shared[graph.pair[edges]], len(which))

    found = trace(graph, shared, lambda pairs: np.minimum(shared[pairs], k), k, hull_fit)
    return found is None or len(found[0]) > 0


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

    older, newer: boxes int32[classes, attributes, 2] and groups; people: the members of the older release.
    Boxes that meet are first looked at only among classes tied by shared subjects: as in `suspicious`, no trace there
    means none at all, provided that nobody's attributes or value changed.
    """
    rest = overlap, values, value_count, people, k, gone
    if _unchanged(older[0], newer, overlap, values, value_count, people):
        inside, *pairs = _tied_pairs(older[0], newer[0], overlap, k)
        groups = Groups(older[1].start, older[1].value, np.where(inside[older[1].classes], older[1].count, 0))
        if len(_traced((older[0], groups), newer, (pairs[0], pairs[1]), *rest)) == 0:
            return nothing(older[0].shape[1])
    return _traced(older, newer, meeting(older[0], newer[0]), *rest)


def _unchanged(
    left_boxes: Int32,
    newer: tuple[Int32, Groups],
    overlap: Overlap,
    values: Int32,
    value_count: int,
    people: Points,
) -> bool:
    """Whether everybody shared lies in both boxes and has a row of the same value in the newer class. O(shared)."""
    met = _cut(left_boxes, newer[0], overlap.left, overlap.right)
    links = np.arange(len(overlap.left))
    if not np.array_equal(_known(overlap.link, overlap.at_left, people.codes, met, links), overlap.shared):
        return False
    arrived = Groups.of(overlap.right[overlap.link], values, len(newer[0]), value_count)
    at, there = seek(
        newer[1].classes.astype(np.int64) * value_count + newer[1].value,
        arrived.classes.astype(np.int64) * value_count + arrived.value,
    )
    return bool(there.all()) and bool((arrived.count <= newer[1].count[at]).all())


def _tied_pairs(left_boxes: Int32, right_boxes: Int32, overlap: Overlap, k: int) -> tuple[Bool, Int64, Int64]:
    """(bool[older classes] tied to a link of fewer than k, the pairs of them that meet and are tied to each other)."""
    label, right_label = components(overlap.left, overlap.right, len(left_boxes), len(right_boxes))
    tangled = np.zeros(len(left_boxes) + len(right_boxes), np.bool_)
    tangled[label[overlap.left[overlap.shared < k]]] = True
    lefts, rights = np.flatnonzero(tangled[label]), np.flatnonzero(tangled[right_label])

    def marked(boxes: Int32, own: Int64) -> Int32:
        """With the component as one more attribute, so that only boxes of one component meet."""
        mark = np.repeat(own.astype(np.int32), 2).reshape(len(own), 1, 2)
        return np.concatenate([mark, boxes], axis=1)

    left, right = meeting(marked(left_boxes[lefts], label[lefts]), marked(right_boxes[rights], right_label[rights]))
    return np.asarray(tangled[label], dtype=np.bool_), lefts[left], rights[right]


def _cut(left_boxes: Int32, right_boxes: Int32, left: Int64, right: Int64) -> Int32:
    """int32[pairs, attributes, 2]: what the two boxes of each pair share."""
    met = np.empty((len(left), left_boxes.shape[1], 2), dtype=np.int32)
    met[..., 0] = np.maximum(left_boxes[left, :, 0], right_boxes[right, :, 0])
    met[..., 1] = np.minimum(left_boxes[left, :, 1], right_boxes[right, :, 1])
    return met


def _traced(
    older: tuple[Int32, Groups],
    newer: tuple[Int32, Groups],
    pairs: tuple[Int64, Int64],
    overlap: Overlap,
    values: Int32,
    value_count: int,
    people: Points,
    k: int,
    gone: Int64,
) -> Traces:
    """As `traces`, if rows can go only along these pairs of classes, sorted by left, then right."""
    (left_boxes, left_groups), (right_boxes, right_groups) = older, newer
    pair_left, pair_right = pairs
    own = _pair_of(overlap, pair_left, pair_right, len(right_boxes))
    true = _to_pairs(own, true_groups(overlap, values, value_count))
    graph = group_graph(left_groups, right_groups, pair_left, pair_right, true, gone)
    met = _cut(left_boxes, right_boxes, pair_left, pair_right)

    def hull(edges: Int64, nodes: Int64, backward: bool) -> Int32:
        which, place = np.unique(nodes, return_inverse=True)
        boxes = np.empty((len(which), *left_boxes.shape[1:]), dtype=np.int32)
        boxes[..., 0], boxes[..., 1] = np.iinfo(np.int32).max, np.iinfo(np.int32).min
        there = graph.pair[edges]
        outer = left_boxes[pair_left[there]] if backward else right_boxes[pair_right[there]]
        np.minimum.at(boxes[..., 0], place, outer[..., 0])
        np.maximum.at(boxes[..., 1], place, outer[..., 1])
        mine = right_boxes[right_groups.classes[which]] if backward else left_boxes[left_groups.classes[which]]
        boxes[..., 0], boxes[..., 1] = np.maximum(boxes[..., 0], mine[..., 0]), np.minimum(boxes[..., 1], mine[..., 1])
        return boxes

    narrowed: dict[bool, tuple[Int64, Int32]] = {}

    def hull_fit(edges: Int64, nodes: Int64, backward: bool) -> Int64:
        boxes = hull(edges, nodes, backward)
        narrowed[backward] = once(nodes), boxes
        return people.inside(boxes, k)

    known = _known(overlap.link, overlap.at_left, people.codes, met, own)
    found = trace(graph, known, lambda pairs: people.inside(met[pairs], k), k, hull_fit)
    if found is None:
        return _nothing(left_boxes.shape[1], complete=False)
    return _described(found, graph, left_groups, right_groups, (pair_left, pair_right, met), narrowed)


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
    older: Groups,
    newer: Groups,
    pairs: tuple[Int64, Int64, Int32],
    narrowed: dict[bool, tuple[Int64, Int32]],
) -> Traces:
    kind, at, rows, fit = found
    pair_left, pair_right, met = pairs
    value, left = np.empty(len(kind), np.int32), np.full(len(kind), -1, np.int64)
    right, boxes = np.full(len(kind), -1, np.int64), np.empty((len(kind), *met.shape[1:]), np.int32)
    one = kind == FORCED
    pair = graph.pair[at[one]]
    value[one] = older.value[graph.left[at[one]]]
    left[one], right[one], boxes[one] = pair_left[pair], pair_right[pair], met[pair]
    for backward, groups, which in ((False, older, kind == FORWARD), (True, newer, kind == BACKWARD)):
        if which.any():
            nodes, hulls = narrowed[backward]
            value[which] = groups.value[at[which]]
            (right if backward else left)[which] = groups.classes[at[which]]
            boxes[which] = hulls[np.searchsorted(nodes, at[which])]
    return Traces(kind, value, rows, left, right, boxes, fit)


def _nothing(attributes: int, complete: bool) -> Traces:
    none = np.empty(0, dtype=np.int64)
    boxes = np.empty((0, attributes, 2), dtype=np.int32)
    return Traces(none, none.astype(np.int32), none, none, none, boxes, none, complete)


def nothing(attributes: int) -> Traces:
    """No trace at all."""
    return _nothing(attributes, complete=True)
