"""Top-down specialization of a global cut, on distinct combinations, checking only the classes that a step touches.

The release being made is position J of a chain. For a class q and a sensitive value s let g(s) be its records, and
N_j(s) the records newer than release j in its *cell* of j: all classes comparable to the same classes of j. Then

    g(s) less its B crack by j = min(g(s), N_j(s))

and someone who arrived with release t keeps, of value s, min(past(s), g(s), N_j(s) for all j < t) candidates, where
past(s) is what earlier releases leave. A step that specializes node w splits the classes that contain w and, for a
release whose cut is below w, their cells; no other class or cell changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.sets import find_starts
from reissue.arrays.sorting import find_order
from reissue.arrays.types import NO_CODES, NO_NUMBERS, Bool, Int32, Int64
from reissue.methods.bcf.candidates import Targets


class Items(NamedTuple):
    """Distinct (leaf codes, value), sorted by value.

    codes: int32[items, attributes]; values: int32[items]; counts: int64[items]
    after: int64[J, items] the records that are newer than each earlier release
    """

    codes: Int32
    values: Int32
    counts: Int64
    after: Int64


class PastTargets(NamedTuple):
    """What earlier releases leave for everyone who arrived with one of them.

    arrivals: int64[T] positions in the chain at which somebody arrived, ascending; J, the release being made, included
    lows:     int32[targets, attributes] lower corners of where each target must be, all arrivals together
    start, values, amounts: the targets' candidates by value
    bounds:   int64[T + 1] where the targets of each arrival begin
    """

    arrivals: Int64
    lows: Int32
    start: Int64
    values: Int32
    amounts: Int64
    bounds: Int64


class SpecializationState(NamedTuple):
    """The classes so far, and their cells. All arrays are changed in place.

    order:   int64[items] items class by class, by value within a class
    begin, end, size: int64[classes] slice of `order` and records of each class; node: int32[classes, attributes]
    cell:    int64[J, items] the item that names the group (cell of release j, value) an item is in
    newer:   int64[J, items] N_j of each such group, at the item that names it
    spare:   int64[J, items] all 0 between steps, so that a step pays only for what it touches; name: likewise, all -1
    ranked:  int64[targets] targets cell by cell; first, last: int64[T, classes] slice of `ranked` comparable to a class
    """

    order: Int64
    begin: Int64
    end: Int64
    size: Int64
    node: Int32
    cell: Int64
    newer: Int64
    spare: Int64
    name: Int64
    ranked: Int64
    first: Int64
    last: Int64


def past_targets(
    arrivals: Sequence[int], targets: Sequence[Targets], boxes: Sequence[Int32], attributes: int
) -> PastTargets:
    """Put the targets of every earlier arrival together; an arrival without targets (the newest) has an empty slice."""
    sizes = [len(t) for t in targets] + [0] * (len(arrivals) - len(targets))
    entries = find_starts([len(t.amounts) for t in targets])
    start = [t.start[:-1] + entries[i] for i, t in enumerate(targets)]
    lows = [box[..., 0] for box in boxes] or [np.empty((0, attributes), dtype=np.int32)]
    return PastTargets(
        np.asarray(arrivals, dtype=np.int64),
        np.ascontiguousarray(np.concatenate(lows), dtype=np.int32),
        np.concatenate([*start, entries[-1:]]).astype(np.int64),
        np.concatenate([*(t.values for t in targets), NO_CODES]).astype(np.int32),
        np.concatenate([*(t.amounts for t in targets), NO_NUMBERS]).astype(np.int64),
        find_starts(sizes),
    )


def begin(items: Items, past: PastTargets, most_classes: int) -> SpecializationState:
    """Everything in one class, which is one cell of every earlier release."""
    count, releases, arrivals = len(items.values), len(items.after), len(past.arrivals)
    starts = np.flatnonzero(np.diff(items.values, prepend=-1))
    name = np.repeat(starts, np.diff(np.append(starts, count)))
    newer = np.zeros((releases, count), dtype=np.int64)
    for j in range(releases):
        newer[j, starts] = np.add.reduceat(items.after[j], starts)
    state = SpecializationState(
        np.arange(count, dtype=np.int64),
        np.zeros(most_classes, dtype=np.int64),
        np.zeros(most_classes, dtype=np.int64),
        np.zeros(most_classes, dtype=np.int64),
        np.zeros((most_classes, items.codes.shape[1]), dtype=np.int32),
        np.tile(name.astype(np.int64), (releases, 1)),
        newer,
        np.zeros((releases, count), dtype=np.int64),
        np.full(count, -1, dtype=np.int64),
        np.arange(past.bounds[-1], dtype=np.int64),
        np.zeros((arrivals, most_classes), dtype=np.int64),
        np.zeros((arrivals, most_classes), dtype=np.int64),
    )
    state.end[0], state.size[0] = count, items.counts.sum()
    state.first[:, 0], state.last[:, 0] = past.bounds[:-1], past.bounds[1:]
    return state


class SplitStep(NamedTuple):
    """One step: the classes that contain the node, and their items dealt to the node's parts.

    touched: int64[n] classes; bounds: int32[parts] highest code of each part; attribute: the node's
    dealt:   int64[items of touched] items class by class, part by part
    stops:   int64[n, parts + 1] where the parts of each class begin in `dealt`
    sizes:   int64[n, parts] records of each
    splits_cells: bool[J] whether the node is above release j's cut; splits_targets: bool[T] likewise
    """

    touched: Int64
    bounds: Int32
    attribute: int
    dealt: Int64
    stops: Int64
    sizes: Int64
    splits_cells: Bool
    splits_targets: Bool


def plan_split(
    items: Items, state: SpecializationState, touched: Int64, attribute: int, bounds: Int32, cells: Bool, targets: Bool
) -> SplitStep:
    dealt, stops, sizes = _deal(items, state, touched, attribute, bounds)
    return SplitStep(touched, bounds, attribute, dealt, stops, sizes, cells, targets)


def plan_nothing(items: Items, state: SpecializationState, past: PastTargets, classes: int) -> SplitStep:
    """The step that changes nothing: to measure all the classes there are."""
    bounds = np.array([np.iinfo(np.int32).max], dtype=np.int32)
    none = np.zeros(len(items.after), dtype=np.bool_), np.zeros(len(past.arrivals), dtype=np.bool_)
    return plan_split(items, state, np.arange(classes), 0, bounds, *none)


@njit(cache=True)
def _deal(
    items: Items, state: SpecializationState, touched: Int64, attribute: int, bounds: Int32
) -> tuple[Int64, Int64, Int64]:
    """Deal the items of each touched class to the parts, keeping their order by value. O(items touched)."""
    parts, room = len(bounds), 0
    for x in range(len(touched)):
        room += state.end[touched[x]] - state.begin[touched[x]]
    dealt = np.empty(room, dtype=np.int64)
    stops = np.zeros((len(touched), parts + 1), dtype=np.int64)
    sizes = np.zeros((len(touched), parts), dtype=np.int64)
    part = np.empty(room, dtype=np.int32)
    at = 0
    for x in range(len(touched)):
        q = touched[x]
        for p in range(state.begin[q], state.end[q]):
            item = state.order[p]
            c = np.searchsorted(bounds, items.codes[item, attribute])
            part[at + p - state.begin[q]] = c
            stops[x, c + 1] += 1
            sizes[x, c] += items.counts[item]
        stops[x, 0] = at
        for c in range(parts):
            stops[x, c + 1] += stops[x, c]
        to = stops[x, :-1].copy()
        for p in range(state.begin[q], state.end[q]):
            c = part[at + p - state.begin[q]]
            dealt[to[c]] = state.order[p]
            to[c] += 1
        at = stops[x, parts]
    return dealt, stops, sizes


@njit(cache=True)
def apply_split(
    items: Items, past: PastTargets, state: SpecializationState, step: SplitStep, parts: Int32, classes: int
) -> int:
    """Carry the step out; the number of classes afterwards. O(items touched + targets touched)."""
    _split_cells(items, state, step)
    _split_targets(past, state, step)
    for x in range(len(step.touched)):
        q = step.touched[x]
        base, targets, ends = state.begin[q], state.first[:, q].copy(), state.last[:, q].copy()
        node = state.node[q].copy()
        for p in range(step.stops[x, 0], step.stops[x, len(parts)]):
            state.order[base + p - step.stops[x, 0]] = step.dealt[p]
        fresh = True
        for c in range(len(parts)):
            if step.stops[x, c] == step.stops[x, c + 1]:
                continue
            to = q if fresh else classes
            classes += 0 if fresh else 1
            fresh = False
            state.begin[to] = base + step.stops[x, c] - step.stops[x, 0]
            state.end[to] = base + step.stops[x, c + 1] - step.stops[x, 0]
            state.size[to] = step.sizes[x, c]
            for a in range(len(node)):  # assigning whole arrays takes a second to compile
                state.node[to, a] = parts[c] if a == step.attribute else node[a]
            for t in range(len(past.arrivals)):
                first, last = targets[t], ends[t]
                if step.splits_targets[t]:  # the cell's targets now lie part by part
                    while first < last and _side(past, state, step, first) < c:
                        first += 1
                    last = first
                    while last < ends[t] and _side(past, state, step, last) == c:
                        last += 1
                state.first[t, to], state.last[t, to] = first, last
    return classes


@njit(cache=True)
def _side(past: PastTargets, state: SpecializationState, step: SplitStep, at: int) -> int:
    return int(np.searchsorted(step.bounds, past.lows[state.ranked[at], step.attribute]))


@njit(cache=True)
def _split_cells(items: Items, state: SpecializationState, step: SplitStep) -> None:
    """Give every part of a split cell's groups a name and its own count of newer records."""
    name = state.name
    seen = np.empty(len(step.dealt), dtype=np.int64)
    for j in range(len(items.after)):
        if not step.splits_cells[j]:
            continue
        total = state.spare[j]
        for c in range(len(step.bounds)):
            found = 0
            for x in range(len(step.touched)):
                for p in range(step.stops[x, c], step.stops[x, c + 1]):
                    item = step.dealt[p]
                    old = state.cell[j, item]
                    if name[old] < 0:
                        name[old] = item
                        seen[found] = old
                        found += 1
                    total[old] += items.after[j, item]
            for x in range(len(step.touched)):
                for p in range(step.stops[x, c], step.stops[x, c + 1]):
                    state.cell[j, step.dealt[p]] = name[state.cell[j, step.dealt[p]]]
            for i in range(found):
                state.newer[j, name[seen[i]]] = total[seen[i]]
                name[seen[i]], total[seen[i]] = -1, 0


@njit(cache=True)
def _split_targets(past: PastTargets, state: SpecializationState, step: SplitStep) -> None:
    """Sort the targets of every split cell by part. Classes of one cell share one slice, which is sorted once."""
    done = np.zeros(len(state.ranked) + 1, dtype=np.bool_)
    for t in range(len(past.arrivals)):
        if not step.splits_targets[t]:
            continue
        for x in range(len(step.touched)):
            first, last = state.first[t, step.touched[x]], state.last[t, step.touched[x]]
            if first == last or done[first]:
                continue
            done[first] = True
            side = np.empty(last - first, dtype=np.int32)
            for p in range(first, last):
                side[p - first] = _side(past, state, step, p)
            before, ascending = state.ranked[first:last].copy(), find_order(side)
            for p in range(len(before)):
                state.ranked[first + p] = before[ascending[p]]


@njit(cache=True)
def homes(order: Int64, begin: Int64, end: Int64, classes: int) -> Int32:
    """int32[items]: the class of each item."""
    home = np.empty(len(order), dtype=np.int32)
    for q in range(classes):
        for p in range(begin[q], end[q]):
            home[order[p]] = q
    return home


@njit(cache=True)
def tentative(state: SpecializationState, step: SplitStep, classes: int) -> tuple[Int32, Int64, Int64]:
    """The classes as they would be after a step: each item's class; each class's present class and part (or -1)."""
    home = homes(state.order, state.begin, state.end, classes)
    parts = len(step.bounds)
    origin = np.empty(classes + len(step.touched) * parts, dtype=np.int64)
    part = np.full(len(origin), -1, dtype=np.int64)
    for q in range(classes):
        origin[q] = q
    for x in range(len(step.touched)):
        fresh = True
        for c in range(parts):
            if step.stops[x, c] == step.stops[x, c + 1]:
                continue
            to = step.touched[x] if fresh else classes
            classes += 0 if fresh else 1
            fresh = False
            origin[to], part[to] = step.touched[x], c
            for p in range(step.stops[x, c], step.stops[x, c + 1]):
                home[step.dealt[p]] = to
    return home, origin[:classes], part[:classes]
