"""Sets of classes whose difference is tested for too frequent a value: which they are, and what they leave over.

Flows decide whether some set breaks c. Who is left over by sets that do is found by testing some sets: single classes,
whole components, what flows find at fixed shares, and for every class the smallest set of the largest share. None of
them depends on c; a stricter c only begins earlier in the list of shares. So it tests all that a laxer one tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.flow.augmenting import Graph, PathSearch, reset_search, search_path
from reissue.arrays.sorting import sort_ascending, sort_by_bucket
from reissue.arrays.types import Bool, Int64
from reissue.methods.incremental.difference_regions import (
    ConnectedSets,
    Gap,
    counts_of,
    find_largest,
    find_obstructions,
    sharpen,
)

if TYPE_CHECKING:
    from reissue.methods.incremental.difference import DifferencePart

LEVELS = sorted({Fraction(n, d) for d in (2, 3, 4, 5, 6, 8, 10, 20, 50) for n in range(1, d) if d <= 10 or n == 1})
"""The shares at which flows look for sets: those that people write."""
CLOSED = 1_000, 20
"""How many classes the smallest sets of the largest share may name in a component: so many, and so many for each."""
FEW = 10
"""Of so many left classes of a component all sets are tested, where flows are not exact."""

SomeSets = tuple[Int64, Int64]
"""(how many classes in each set, int64[] the classes of one set after the other, as positions in the part)."""


class WeightedClasses(NamedTuple):
    """The classes of a part with their people, in all and with one value, as kernels read them."""

    left_start: Int64
    left_edges: Int64
    edge_right: Int64
    left_size: Int64
    left_count: Int64
    right_size: Int64
    right_count: Int64

    @staticmethod
    def of(part: DifferencePart, value: int) -> WeightedClasses:
        left, right = ((groups.sizes, counts_of(groups, value)) for groups in (part.left, part.right))
        return WeightedClasses(*part.incident[:2], part.edge_right, *left, *right)


@dataclass(frozen=True, eq=False)
class LeftSets:
    """Some sets of left classes of a part, and what they leave over.

    start: int64[sets + 1] into lefts: int64[] positions in the part, ascending within a set
    """

    part: DifferencePart
    value: int
    start: Int64
    lefts: Int64

    @staticmethod
    def of(part: DifferencePart, value: int, sets: list[SomeSets]) -> LeftSets:
        many = np.concatenate([np.zeros(1, np.int64), *(sizes for sizes, _ in sets)])
        lefts = np.concatenate([np.empty(0, np.int64), *(own for _, own in sets)])
        return LeftSets(part, value, np.cumsum(many), lefts)

    @cached_property
    def left_over(self) -> tuple[Int64, Int64]:
        """(size, count) int64[sets]: the people left over, and those of them with the value."""
        return _measure(self.start, self.lefts, WeightedClasses.of(self.part, self.value))

    def find_above(self, share: tuple[int, int]) -> Int64:
        """int64[]: of the sets that have the value above c, each once, the largest share first."""
        size, count = self.left_over
        above = np.flatnonzero((size > 0) & (count * share[1] > share[0] * size))
        once = {self.lefts[self.start[s] : self.start[s + 1]].tobytes(): s for s in above[::-1].tolist()}
        kept = np.array(sorted(once.values()), dtype=np.int64)
        first = self.lefts[self.start[kept]]
        return kept[np.lexsort((kept, first, -count[kept] / size[kept]))]

    def find_worst(self) -> tuple[int, int]:
        """(count, size) of the largest share, (0, 1) if no set leaves anybody over."""
        size, count = self.left_over
        if not (size > 0).any():
            return 0, 1
        worst = int(np.argmax(np.where(size > 0, count / np.maximum(size, 1), -1.0)))
        return int(count[worst]), int(size[worst])

    def mark(self, chosen: Int64, link_risk: Bool, loose_risk: Bool) -> None:
        """Whoever is left over by one of the chosen sets is at risk."""
        part = self.part
        edges, rights = np.zeros(len(part.link), np.bool_), np.zeros(len(part.rights), np.bool_)
        _mark(chosen, self.start, self.lefts, *part.incident, part.edge_left, part.edge_right, edges, rights)
        link_risk[part.link[edges]] = True
        loose_risk[part.rights[rights & (part.loose > 0)]] = True

    def gap(self, one: int) -> Gap:
        part, inner = self.part, self.lefts[self.start[one] : self.start[one + 1]]
        own = np.zeros(len(part.lefts), np.bool_)
        own[inner] = True
        outer = np.zeros(len(part.rights), np.bool_)
        outer[part.edge_right[own[part.edge_left]]] = True
        size, count = (int(of[one]) for of in self.left_over)
        return Gap(part.lefts[inner], part.rights[outer], size, self.value, count)


def list_sets(
    part: DifferencePart, value: int, share: tuple[int, int], highest: tuple[Int64, Int64]
) -> tuple[LeftSets, Bool]:
    """The sets to test, and bool[components] where the largest share of all sets is among theirs.

    highest: (count, size) int64[components] of the class with the largest share of the value: from there on flows are
    exact. Below, weights under 0 turn the closure into a problem for which no fast exact form is known; clamped at 0
    the flow finds some sets.
    """
    lefts, number = len(part.lefts), len(highest[0])
    own = np.bincount(part.left_component, minlength=number)
    sets = [
        (np.ones(lefts, np.int64), np.arange(lefts)),
        (own[own > 1], np.flatnonzero(own[part.left_component] > 1)[_sort(part.left_component, own)]),
    ]
    top, bottom = highest[0].copy(), highest[1].copy()
    sets += _look_at_levels(part, value, share, highest, top, bottom)
    find_largest(part, value, top, bottom)
    closed = _find_closed(part, value, top, bottom)
    settled = np.zeros(number, np.bool_)
    settled[part.left_component[closed[1]]] = True
    few = ~settled & (own > 1) & (own <= FEW)
    every = _try_all_sets(part.only(few), value)
    sets += [closed, (every[0], np.searchsorted(part.lefts, every[1]))]
    return LeftSets.of(part, value, sets), settled | (own <= FEW)


def _sort(component: Int64, own: Int64) -> Int64:
    """The order, by component, of the classes that are not alone in theirs."""
    return np.argsort(component[own[component] > 1], kind="stable")


class LatestPart:
    """A part within some components, which one level after the other often asks for: the latest is kept."""

    def __init__(self, part: DifferencePart) -> None:
        self._part, self._kept, self._latest = part, np.ones(part.components, np.bool_), part

    def find_obstructions(self, component: Bool, value: int, at: tuple[Int64, Int64]) -> ConnectedSets | None:
        if not component.any():
            return None
        if not np.array_equal(component, self._kept):
            self._kept, self._latest = component.copy(), self._part.only(component)
        return find_obstructions(self._latest, value, *at)


def _look_at_levels(
    part: DifferencePart, value: int, share: tuple[int, int], highest: tuple[Int64, Int64], top: Int64, bottom: Int64
) -> list[SomeSets]:
    """What flows find at the level at or below c and at all above; top / bottom is raised to the largest share seen.

    Where no class is above the level, nothing found there means that nothing is to be found further up.
    """
    sets, number = list[SomeSets](), len(top)
    open_ = np.ones(number, np.bool_)
    rough, exact = LatestPart(part), LatestPart(part)
    first = sum(level * share[1] <= share[0] for level in LEVELS) - 1
    for level in LEVELS[max(0, first) :]:
        at = np.full(number, level.numerator), np.full(number, level.denominator)
        high = at[0] * highest[1] < highest[0] * at[1]
        some = rough.find_obstructions(high, value, at)
        for found, chosen in [] if some is None else sharpen(some, number):
            sets.append(_collect(part, found, chosen))
        some, open_ = exact.find_obstructions(open_ & ~high, value, at), high
        if some is not None:
            component, best = some.best()
            open_[component] = True
            more = some.count[best] * bottom[component] > top[component] * some.size[best]
            top[component[more]], bottom[component[more]] = some.count[best[more]], some.size[best[more]]
            sets.append(_collect(part, some, some.filled))
    return sets


def _collect(part: DifferencePart, found: ConnectedSets, chosen: Int64) -> SomeSets:
    """Some connected sets, found in a part of the part."""
    wanted = np.zeros(len(found.size), np.bool_)
    wanted[chosen] = True
    at = np.flatnonzero(found.label >= 0)
    at = at[wanted[found.label[at]]]
    order = at[np.argsort(found.label[at], kind="stable")]
    many = np.bincount(found.label[at], minlength=len(found.size))[wanted]
    return many, np.searchsorted(part.lefts, found.part.lefts[order])


def _find_closed(part: DifferencePart, value: int, top: Int64, bottom: Int64) -> SomeSets:
    """For every left class the smallest set with it whose difference has the value just at top / bottom, if any.

    No set is above, so the flow sends everything; from these sets it reaches no room. O(edges) for each class at most,
    and no more than `CLOSED` in all.
    """
    transport = part.transport(*part.weights(value, top, bottom))
    transport.saturate()
    own = np.bincount(part.left_component, minlength=len(top))
    return _list_closed(
        transport.graph,
        transport.search,
        part.left_component,
        CLOSED[0] + CLOSED[1] * own,
        part.left.sizes,
        part.right.sizes,
    )


@njit(cache=True)
def _list_closed(
    graph: Graph, search: PathSearch, component: Int64, budget: Int64, left_size: Int64, right_size: Int64
) -> tuple[Int64, Int64]:
    """O(edges) for each class; those that leave nobody over are left out."""
    lefts, sets, filled = len(graph.unsent), 0, 0
    many, members = np.empty(lefts, np.int64), np.empty(lefts + 1, np.int64)
    for e in range(lefts):
        if budget[component[e]] <= 0:
            continue
        end, reached = search_path(graph, search, e, -1, -1)
        size, inside = 0, 0
        for p in range(reached):
            node = search.queue[p]
            inside += node < lefts
            size += -left_size[node] if node < lefts else right_size[node - lefts]
        if end < 0 and size > 0:
            while filled + inside > len(members):
                members = np.concatenate((members, members))
            first = filled
            for p in range(reached):
                if search.queue[p] < lefts:
                    members[filled] = search.queue[p]
                    filled += 1
            sort_ascending(members[first:filled])
            many[sets] = inside
            sets += 1
            budget[component[e]] -= inside
        reset_search(search, reached)
    return many[:sets].copy(), members[:filled].copy()


def _try_all_sets(part: DifferencePart, value: int) -> SomeSets:
    """Of each component the set with the largest share of the value; its classes by their numbers."""
    start, order = sort_by_bucket(part.left_component, part.components)
    many, lefts = _find_worst_sets(start, order, WeightedClasses.of(part, value))
    return many, part.lefts[lefts]


@njit(cache=True)
def _find_worst_sets(start: Int64, order: Int64, graph: WeightedClasses) -> tuple[Int64, Int64]:
    """O(2^classes edges) for each component."""
    many, lefts, sets, filled = np.empty(len(start), np.int64), np.empty(len(order), np.int64), 0, 0
    seen, turn = np.full(len(graph.right_size), -1, np.int64), 0
    for component in range(len(start) - 1):
        first, own = start[component], start[component + 1] - start[component]
        best, top, bottom = 0, 0, 1
        for chosen in range(1, 1 << own if own else 1):
            size, count, turn = 0, 0, turn + 1
            for i in range(own):
                if not chosen >> i & 1:
                    continue
                e = order[first + i]
                size, count = size - graph.left_size[e], count - graph.left_count[e]
                for q in range(graph.left_start[e], graph.left_start[e + 1]):
                    right = graph.edge_right[graph.left_edges[q]]
                    if seen[right] != turn:
                        seen[right] = turn
                        size, count = size + graph.right_size[right], count + graph.right_count[right]
            if size > 0 and count * bottom > top * size:
                best, top, bottom = chosen, count, size
        if best:
            many[sets] = 0
            for i in range(own):
                if best >> i & 1:
                    lefts[filled] = order[first + i]
                    filled += 1
                    many[sets] += 1
            sets += 1
    return many[:sets].copy(), lefts[:filled].copy()


@njit(cache=True)
def _measure(start: Int64, lefts: Int64, graph: WeightedClasses) -> tuple[Int64, Int64]:
    """(size, count) int64[sets] of N(E) - E. O(edges of the sets)."""
    size, count = np.zeros(len(start) - 1, np.int64), np.zeros(len(start) - 1, np.int64)
    seen = np.full(len(graph.right_size), -1, np.int64)
    for one in range(len(start) - 1):
        for p in range(start[one], start[one + 1]):
            e = lefts[p]
            size[one] -= graph.left_size[e]
            count[one] -= graph.left_count[e]
            for q in range(graph.left_start[e], graph.left_start[e + 1]):
                right = graph.edge_right[graph.left_edges[q]]
                if seen[right] != one:
                    seen[right] = one
                    size[one] += graph.right_size[right]
                    count[one] += graph.right_count[right]
    return size, count


@njit(cache=True)
def _mark(
    chosen: Int64,
    start: Int64,
    lefts: Int64,
    left_start: Int64,
    left_edges: Int64,
    right_start: Int64,
    right_edges: Int64,
    edge_left: Int64,
    edge_right: Int64,
    edges: Bool,
    rights: Bool,
) -> None:
    """Mark the edges from classes outside a set into its N(E), and all of N(E). O(edges around the sets)."""
    inside, seen = np.full(len(left_start), -1, np.int64), np.full(len(right_start), -1, np.int64)
    for one in chosen:
        for p in range(start[one], start[one + 1]):
            inside[lefts[p]] = one
        for p in range(start[one], start[one + 1]):
            for q in range(left_start[lefts[p]], left_start[lefts[p] + 1]):
                right = edge_right[left_edges[q]]
                if seen[right] == one:
                    continue
                seen[right], rights[right] = one, True
                for r in range(right_start[right], right_start[right + 1]):
                    if inside[edge_left[right_edges[r]]] != one:
                        edges[right_edges[r]] = True
