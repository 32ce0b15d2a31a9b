"""Who is in which class: rows of a release matched with rows of its snapshot, by order or by content."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from reissue.arrays.sets import strong_components
from reissue.arrays.types import NO_NUMBERS, Int32, Int64
from reissue.errors import ReleaseError
from reissue.model.box_index import find_meeting

BY_CONTENT = 'match by content (--match content, in Python match="content")'
NODES = 100
"""Branchings of the program that matches an anatomized release: work and not seconds, so every machine ends alike."""


@dataclass(frozen=True, eq=False)
class Matched:
    """classes: int32[people] the class of each row of the snapshot, -1 where it is in none.

    ambiguous: people who could as well be in another class; unmatched: published rows that fit nobody left over.
    """

    classes: Int32
    ambiguous: int = 0
    unmatched: int = 0


def match_by_order(
    boxes: Int32,
    classes: Int32,
    values: Int32,
    codes: Int32,
    true_values: Int32,
    told: Callable[[int, int | None], str],
) -> Matched:
    """Row i of the release is row i of the snapshot; classes is -1 for suppressed rows.

    told(row, attribute) describes the misfit of a row in one attribute, or in the sensitive value for None.
    """
    if len(classes) != len(codes):
        raise ReleaseError(
            f"the release has {len(classes):,} rows and its snapshot {len(codes):,}, so they cannot be matched by "
            f"order. Give the snapshot that the release was made from, or {BY_CONTENT}."
        )
    shown = np.flatnonzero(classes >= 0)
    its = classes[shown]
    for a in range(codes.shape[1]):
        outside = (codes[shown, a] < boxes[its, a, 0]) | (codes[shown, a] > boxes[its, a, 1])
        if outside.any():
            raise ReleaseError(told(int(shown[np.argmax(outside)]), a))
    differs = values[shown] != true_values[shown]
    if differs.any():
        raise ReleaseError(told(int(shown[np.argmax(differs)]), None))
    return Matched(classes)


def match_by_content(boxes: Int32, classes: Int32, values: Int32, codes: Int32, true_values: Int32) -> Matched:
    """Put as many people as possible into rows that fit them: a maximum flow from kinds of people to groups.

    A kind is (codes, value), a group (class, value). O(kinds * classes that contain them).
    """
    width = int(max(values.max(initial=0), true_values.max(initial=0))) + 1
    shown = classes >= 0
    groups, room = np.unique(classes[shown].astype(np.int64) * width + values[shown], return_counts=True)
    point, at = np.unique(codes, axis=0, return_inverse=True)
    kinds, kind, people = np.unique(
        at.reshape(-1).astype(np.int64) * width + true_values, return_inverse=True, return_counts=True
    )
    left, right = _find_fits(point, boxes, kinds, groups, width)
    flow = _find_flow(people, room, left, right)
    taken = _deal_places(kind.reshape(-1), len(kinds), left, right, flow)
    own = np.where(taken >= 0, groups[np.maximum(taken, 0)] // width, -1) if len(groups) else np.full(len(codes), -1)
    ambiguous = _find_ambiguous(people, room, left, right, flow)
    return Matched(own.astype(np.int32), int(people[ambiguous].sum()), int(room.sum() - flow.sum()))


def match_exactly(rows: tuple[Int32, Int32], groups: tuple[Int32, Int32], codes: Int32, true_values: Int32) -> Matched:
    """People of an anatomized release, whose rows (codes, class) and values (class, value) stand apart.

    A class takes no more people with the same codes, and with the same value, than it shows: an integer program over
    kinds of people and classes, mostly trivial. Whoever fits several classes counts as ambiguous.
    """
    width = int(max(groups[1].max(initial=0), true_values.max(initial=0))) + 1
    shown, room = np.unique(groups[0].astype(np.int64) * width + groups[1], return_counts=True)
    point, at = np.unique(np.concatenate([rows[0], codes]), axis=0, return_inverse=True)
    row_point, person_point = np.split(at.reshape(-1).astype(np.int64), [len(rows[0])])
    slot, places = np.unique(row_point * (int(rows[1].max(initial=0)) + 1) + rows[1], return_counts=True)
    slot_point, slot_class = np.divmod(slot, int(rows[1].max(initial=0)) + 1)
    kinds, kind, people = np.unique(person_point * width + true_values, return_inverse=True, return_counts=True)
    start = np.searchsorted(slot_point, np.arange(len(point) + 1))
    count = np.diff(start)[kinds // width]
    left = np.repeat(np.arange(len(kinds)), count)
    here = np.repeat(start[kinds // width], count) + np.arange(len(left)) - np.repeat(np.cumsum(count) - count, count)
    wanted = slot_class[here] * width + kinds[left] % width
    group = np.minimum(np.searchsorted(shown, wanted), len(shown) - 1)
    fits = shown[group] == wanted
    left, here, group = left[fits], here[fits], group[fits]
    limits = [(left, people), (here, places), (group, room)]
    flow = _place_most(limits)
    taken = _deal_places(kind.reshape(-1), len(kinds), left, slot_class[here], flow)
    several = np.bincount(left, minlength=len(kinds)) > 1
    return Matched(taken.astype(np.int32), int(people[several].sum()), int(len(rows[0]) - flow.sum()))


def _place_most(limits: list[tuple[Int64, Int64]]) -> Int64:
    """int64[pairs]: the most that can be sent in all; limits: (owner of each pair, int64[] the most of each owner)."""
    pairs = len(limits[0][0])
    if pairs == 0:
        return NO_NUMBERS
    from scipy.optimize import LinearConstraint, milp  # few audits need it, so none waits for the import before it does
    from scipy.sparse import csr_array

    rules = [
        LinearConstraint(csr_array((np.ones(pairs), (owner, np.arange(pairs))), shape=(len(most), pairs)), 0, most)
        for owner, most in limits
    ]
    whole = np.ones(pairs, dtype=np.int64)
    found = milp(-np.ones(pairs), integrality=whole, constraints=rules, options={"node_limit": NODES})
    if found.status != 0 or found.x is None:
        raise ReleaseError("people fit too many classes alike; who is in which class cannot be told from the files.")
    flow: Int64 = np.rint(found.x).astype(np.int64)
    return flow


def _find_fits(point: Int32, boxes: Int32, kinds: Int64, groups: Int64, width: int) -> tuple[Int64, Int64]:
    """(kind, group): every pair where the kind's codes lie in the class's box and the values agree."""
    dots = np.ascontiguousarray(np.stack([point, point], axis=2))
    dot, cls = find_meeting(dots, boxes)
    start = np.searchsorted(dot, np.arange(len(point) + 1))
    its = kinds // width
    count = start[its + 1] - start[its]
    left = np.repeat(np.arange(len(kinds)), count)
    within = np.arange(len(left)) - np.repeat(np.cumsum(count) - count, count)
    wanted = cls[np.repeat(start[its], count) + within] * width + kinds[left] % width
    right = np.minimum(np.searchsorted(groups, wanted), max(len(groups) - 1, 0))
    there = groups[right] == wanted if len(groups) else np.zeros(len(wanted), dtype=np.bool_)
    return left[there].astype(np.int64), right[there].astype(np.int64)


def _find_flow(people: Int64, room: Int64, left: Int64, right: Int64) -> Int64:
    """int64[pairs]: how many of each kind go into each group, as many as possible in all."""
    from scipy.sparse import coo_array, csr_array
    from scipy.sparse.csgraph import maximum_flow

    kinds, groups = len(people), len(room)
    source, sink = kinds + groups, kinds + groups + 1
    heads = np.concatenate([np.full(kinds, source), left, kinds + np.arange(groups)])
    tails = np.concatenate([np.arange(kinds), kinds + right, np.full(groups, sink)])
    most = np.concatenate([people, np.minimum(people[left], room[right]), room]).astype(np.int32)
    graph = coo_array((most, (heads, tails)), shape=(sink + 1, sink + 1)).tocsr()
    sent = maximum_flow(graph, source, sink).flow
    return np.asarray(csr_array(sent)[left, kinds + right]).reshape(-1).astype(np.int64) if len(left) else left


def _deal_places(kind: Int64, kinds: int, left: Int64, right: Int64, flow: Int64) -> Int64:
    """int64[people]: the group of each person, dealt out in order to people of one kind; -1 when none is left."""
    order = np.argsort(kind, kind="stable")
    pairs = np.lexsort((right, left))
    owner, group = np.repeat(left[pairs], flow[pairs]), np.repeat(right[pairs], flow[pairs])
    first = np.searchsorted(kind[order], np.arange(kinds))
    begun = np.searchsorted(owner, np.arange(kinds))
    taken = np.full(len(kind), -1, dtype=np.int64)
    taken[order[first[owner] + np.arange(len(owner)) - begun[owner]]] = group
    return taken


def _find_ambiguous(people: Int64, room: Int64, left: Int64, right: Int64, flow: Int64) -> Int64:
    """int64[]: kinds that another flow of the same size sends elsewhere, or nowhere.

    A pair is used by some such flow iff it carries one now or lies on a cycle of the residual graph.
    """
    kinds, groups = len(people), len(room)
    source, sink = kinds + groups, kinds + groups + 1
    sent, filled = np.bincount(left, flow, kinds), np.bincount(right, flow, groups)
    back = flow > 0
    waiting, placed = np.flatnonzero(sent < people), np.flatnonzero(sent > 0)
    free, used = np.flatnonzero(filled < room), np.flatnonzero(filled > 0)
    heads = [left, kinds + right[back], np.full(len(waiting), source), placed, kinds + free, np.full(len(used), sink)]
    tails = [kinds + right, left[back], waiting, np.full(len(placed), source), np.full(len(free), sink), kinds + used]
    part = strong_components(np.concatenate(heads), np.concatenate(tails), sink + 1)
    usable = (flow > 0) | (part[left] == part[kinds + right])
    nowhere = (sent < people) | ((part[:kinds] == part[source]) & (sent > 0))
    ways = np.bincount(left[usable], minlength=kinds) + nowhere
    return np.flatnonzero(ways > 1)
