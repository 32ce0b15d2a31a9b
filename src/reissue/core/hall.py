"""The difference of two releases: classes E of one inside classes N(E) of the other, and what is left over.

Who sits in N(E) but not in E is known to the attacker, and so are the values of these people: those of N(E) minus
those of E. Every E must leave nobody, or at least k people of whom no value has more than share c. Both conditions
are Hall conditions, so flows decide them without enumerating sets of classes (Byun et al. enumerate 2^n of them):

- k: the shared subjects are a flow that fills E's classes into the other's. The smallest difference of a set that holds
  class e is how many more units e can push to rows that no such class fills. Where every row is filled, one
  neighbouring class is taken out in turn.
- c: with w(e) = c |e| - count(e) for one value, a set breaks c iff w(N(E)) < w(E): iff the lefts cannot send w.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numba import njit

from reissue.core.domain import Bool, Float64, Int32, Int64
from reissue.core.flows import Graph, Search, Transport, components, explore, forget, incident, send
from reissue.core.overlap import Groups, Overlap, by_bucket
from reissue.core.sets import without


@dataclass(frozen=True, eq=False)
class Gap:
    """One difference that gives people away.

    lefts: int64[] the classes E; rights: int64[] the classes N(E); size: how many people are left over
    value: the value that is too frequent among them, count times; -1 if they are just too few
    of: the class of the left whose smallest difference it is; where a value is too frequent, the first of E
    """

    lefts: Int64
    rights: Int64
    size: int
    value: int = -1
    count: int = 0
    left: int = -1

    @property
    def share(self) -> float:
        return self.count / self.size

    @property
    def of(self) -> int:
        return self.left if self.left >= 0 else int(self.lefts[0])


@dataclass(frozen=True, eq=False)
class Gaps:
    """All differences of one release inside another that break (k,c).

    gaps: for every class of the left its smallest difference below k, for every value the sets that break c
    smallest: the least number of people left over, k if all are at least k
    link_risk: bool[links of the overlap], loose_risk: bool[rights]: whether the people are at risk that the right class
    shares with that left class, and those of it that are in no left class that counts
    inside: bool[lefts]: the left classes that count, whose every row is a subject of the right release
    total: how many differences there are, of which `gaps` are the worst
    """

    gaps: tuple[Gap, ...]
    smallest: int
    link_risk: Bool
    loose_risk: Bool
    inside: Bool
    total: int


def gaps(
    left: Groups, right: Groups, overlap: Overlap, k: int, share: tuple[int, int], limit: int, *, sharp: bool = False
) -> Gaps:
    """Differences N(E) - E for E of the left release and N(E) of the right one.

    share: c as (numerator, denominator); limit: how many differences of each kind and value to describe; sharp: find
    in every component the difference with the largest share of a value. Only left classes whose every row is a subject
    of the right release can be in E. Near linear where classes share little; a flow per value where components are
    tangled. What is found in a component does not depend on the others.
    """
    covered = np.bincount(overlap.left, weights=overlap.shared, minlength=len(left.sizes)).astype(np.int64)
    inside = (covered == left.sizes) & (left.sizes > 0)
    kept = np.flatnonzero(inside[overlap.left] & ~_unchanged(left, right, overlap))
    part = Part.of(left, right, overlap, inside, kept)
    link_risk, loose_risk = np.zeros(len(overlap.left), np.bool_), np.zeros(len(right.sizes), np.bool_)
    part = part.only(_suspect(part, k, share))
    found, total, smallest = _too_few(part, k, link_risk, loose_risk, limit)
    for value, shows in part.values():  # where no right class shows it, it cannot be too frequent
        few = 2 * np.count_nonzero(shows[part.left_component]) < len(part.lefts)
        some = part.only(shows) if few else part
        more, count = _too_frequent(some, value, share, link_risk, loose_risk, limit, sharp)
        found, total = found + more, total + count
    link_risk[~inside[overlap.left]] = False
    loose = loose_risk & (right.sizes > 0)
    return Gaps(tuple(found), smallest, link_risk, loose, inside, total)


@dataclass(frozen=True, eq=False)
class Part:
    """Connected components of left classes that count and the right classes they share subjects with.

    lefts, rights: int64[] class numbers; edges between positions in them; link: int64[edges] of the overlap
    loose: int64[rights] rows of a right class that no left class fills; component: of each left and each right
    """

    left: Groups
    right: Groups
    lefts: Int64
    rights: Int64
    edge_left: Int64
    edge_right: Int64
    shared: Int64
    link: Int64
    loose: Int64
    left_component: Int64
    right_component: Int64

    @staticmethod
    def of(left: Groups, right: Groups, overlap: Overlap, inside: Bool, kept: Int64) -> Part:
        """The part of some links, all of them from classes that count."""
        tied = np.zeros(len(inside), np.bool_)
        tied[overlap.left[kept]] = True
        lefts, place = np.flatnonzero(tied), np.cumsum(tied) - 1
        met = np.zeros(len(right.sizes), np.bool_)
        met[overlap.right[kept]] = True
        rights, right_place = np.flatnonzero(met), np.cumsum(met) - 1
        edge_left, edge_right = place[overlap.left[kept]], right_place[overlap.right[kept]]
        shared = overlap.shared[kept]
        filled = np.bincount(edge_right, weights=shared, minlength=len(rights)).astype(np.int64)
        labels = components(edge_left, edge_right, len(lefts), len(rights))
        loose = right.sizes[rights] - filled
        return Part(left, right, lefts, rights, edge_left, edge_right, shared, kept, loose, *labels)

    def only(self, component: Bool) -> Part:
        """The part within some components."""
        left_kept, right_kept = component[self.left_component], component[self.right_component]
        edges = np.flatnonzero(left_kept[self.edge_left])
        left_place, right_place = np.cumsum(left_kept) - 1, np.cumsum(right_kept) - 1
        return replace(
            self,
            lefts=self.lefts[left_kept],
            rights=self.rights[right_kept],
            edge_left=left_place[self.edge_left[edges]],
            edge_right=right_place[self.edge_right[edges]],
            shared=self.shared[edges],
            link=self.link[edges],
            loose=self.loose[right_kept],
            left_component=self.left_component[left_kept],
            right_component=self.right_component[right_kept],
        )

    def values(self) -> Iterator[tuple[int, Bool]]:
        """(value, bool[components]) for every value in the right classes of the part: the components that show it."""
        start, groups = by_bucket(self.right.value, int(self.right.value.max(initial=-1)) + 1)
        place = np.full(len(self.right.sizes), -1, dtype=np.int64)
        place[self.rights] = self.right_component
        component = place[self.right.classes[groups]]
        for value in range(len(start) - 1):
            its = component[start[value] : start[value + 1]]
            its = its[its >= 0]
            if len(its):
                shows = np.zeros(self.components, np.bool_)
                shows[its] = True
                yield value, shows

    @cached_property
    def components(self) -> int:
        return int(max(self.left_component.max(initial=-1), self.right_component.max(initial=-1))) + 1

    @cached_property
    def _incident(self) -> tuple[Int64, Int64, Int64, Int64]:
        """The edges of each left and right class: the same for every value, and a third of the cost of a flow."""
        return *incident(self.edge_left, len(self.lefts)), *incident(self.edge_right, len(self.rights))

    def transport(self, supply: Int64, demand: Int64) -> Transport:
        """A transport along the edges, with nothing sent yet."""
        flow = np.zeros(len(self.edge_left), dtype=np.int64)
        graph = Graph(self.edge_left, self.edge_right, *self._incident, flow, supply, demand)
        nodes = len(self.lefts) + len(self.rights)
        return Transport(graph, Search(np.full(nodes, -1, dtype=np.int64), np.empty(nodes, dtype=np.int64)))

    def weights(self, value: int, top: Int64, bottom: Int64) -> tuple[Int64, Int64]:
        """w of each left and right class for one value, at least 0 (a class above c by itself is not a difference).

        top, bottom: int64[components], c = top / bottom in each.
        """
        both = []
        for groups, classes, at in (
            (self.left, self.lefts, self.left_component),
            (self.right, self.rights, self.right_component),
        ):
            count = counts_of(groups, value)[classes]
            both.append(np.maximum(0, top[at] * groups.sizes[classes] - bottom[at] * count))
        return both[0], both[1]


def _unchanged(left: Groups, right: Groups, overlap: Overlap) -> Bool:
    """bool[links]: a class that is the same in both releases leaves nobody, and nothing else touches it."""
    whole = (left.sizes[overlap.left] == overlap.shared) & (right.sizes[overlap.right] == overlap.shared)
    return np.asarray(whole, dtype=np.bool_)


def counts_of(groups: Groups, value: int) -> Int64:
    """int64[classes]: how often one value occurs in each class."""
    at = np.flatnonzero(groups.value == value)
    count = np.zeros(len(groups.sizes), dtype=np.int64)
    count[groups.classes[at]] = groups.count[at]
    return count


def _suspect(part: Part, k: int, share: tuple[int, int]) -> Bool:
    """bool[components]: those that need flows. A star has one set that matters, all of it, and is decided at once."""
    total = part.components
    left_start, left_order = by_bucket(part.left_component, total)
    right_start, right_order = by_bucket(part.right_component, total)
    values = int(max(part.left.value.max(initial=0), part.right.value.max(initial=0))) + 1
    sides = []
    for groups, classes in ((part.left, part.lefts), (part.right, part.rights)):
        sides.append((groups.start, groups.value, groups.count, classes))
    return _unsafe_stars(left_start, left_order, right_start, right_order, *sides[0], *sides[1], k, *share, values)


@njit(cache=True)
def _unsafe_stars(
    left_start: Int64,
    left_order: Int64,
    right_start: Int64,
    right_order: Int64,
    a_start: Int64,
    a_value: Int32,
    a_count: Int64,
    lefts: Int64,
    b_start: Int64,
    b_value: Int32,
    b_count: Int64,
    rights: Int64,
    k: int,
    top: int,
    bottom: int,
    values: int,
) -> Bool:
    """O(groups). True for whatever is not a star, or is one that breaks (k,c), or has a left class that does."""
    total = len(left_start) - 1
    suspect, times = np.zeros(total, np.bool_), np.zeros(values, np.int64)
    for c in range(total):
        lefts_here, rights_here = left_start[c + 1] - left_start[c], right_start[c + 1] - right_start[c]
        if lefts_here == 0 or rights_here == 0:
            continue
        if lefts_here > 1 and rights_here > 1:
            suspect[c] = True
            continue
        over = 0
        for p in range(right_start[c], right_start[c + 1]):
            one = rights[right_order[p]]
            for g in range(b_start[one], b_start[one + 1]):
                times[b_value[g]] += b_count[g]
                over += b_count[g]
        for p in range(left_start[c], left_start[c + 1]):
            one, size = lefts[left_order[p]], 0
            for g in range(a_start[one], a_start[one + 1]):
                times[a_value[g]] -= a_count[g]
                size += a_count[g]
            over -= size
            for g in range(a_start[one], a_start[one + 1]):
                suspect[c] |= bottom * a_count[g] > top * size
            suspect[c] |= size < k
        suspect[c] |= 0 < over < k
        for p in range(right_start[c], right_start[c + 1]):
            one = rights[right_order[p]]
            for g in range(b_start[one], b_start[one + 1]):
                suspect[c] |= bottom * times[b_value[g]] > top * over
                times[b_value[g]] = 0
        for p in range(left_start[c], left_start[c + 1]):
            one = lefts[left_order[p]]
            for g in range(a_start[one], a_start[one + 1]):
                times[a_value[g]] = 0
    return suspect


def _too_few(part: Part, k: int, link_risk: Bool, loose_risk: Bool, limit: int) -> tuple[list[Gap], int, int]:
    """The sets that leave between 1 and k-1 people, for every left class its smallest; how many classes; the least."""
    if len(part.lefts) == 0:
        return [], 0, k
    filled = part.right.sizes[part.rights]
    transport = Transport.of(part.left.sizes[part.lefts], filled, part.edge_left, part.edge_right, part.shared)
    open_component = np.zeros(int(part.right_component.max()) + 1, np.bool_)
    open_component[part.right_component[part.loose > 0]] = True
    link_level, loose_level = np.full(len(part.link), k), np.full(len(part.rights), k)
    least, dropped = _tightest(
        transport.graph, transport.search, open_component[part.left_component], part.loose, k, link_level, loose_level
    )
    link_risk[part.link[link_level < k]] = True
    loose_risk[part.rights[loose_level < k]] = True
    found: list[Gap] = []
    few, told = np.flatnonzero(least < k), np.zeros(len(least), np.bool_)
    for e in few[np.argsort(least[few], kind="stable")].tolist():
        if len(found) == limit:
            break
        if told[e]:  # a set found already is as small for this class
            continue
        lefts, rights = _witness(transport.graph, transport.search, e, dropped[e], k)
        told[lefts[least[lefts] == least[e]]] = True
        gap = Gap(part.lefts[np.sort(lefts)], part.rights[np.sort(rights)], int(least[e]), left=int(part.lefts[e]))
        found.append(gap)
    return found, len(few), int(least.min(initial=k))


@njit(cache=True)
def _tightest(
    graph: Graph, search: Search, is_open: Bool, loose: Int64, k: int, link_level: Int64, loose_level: Int64
) -> tuple[Int64, Int64]:
    """(least int64[lefts], dropped): the smallest difference of a set with each left class, up to k.

    is_open: bool[lefts] whether some row of the component is filled by no left class. In a closed component one
    class is left out of the sets (`dropped`); leaving out the neighbours in turn reaches every proper set.
    """
    lefts = len(graph.unsent)
    least, dropped = np.full(lefts, k, np.int64), np.full(lefts, -1, np.int64)
    asked = np.full(lefts, -1, np.int64)
    for e in range(lefts):
        if is_open[e]:
            least[e] = _gap(graph, search, e, -1, k, loose, link_level, loose_level)
            continue
        units = _take_out(graph, e)
        for p in range(graph.left_start[e], graph.left_start[e + 1]):
            right = graph.right[graph.left_edges[p]]
            for r in range(graph.right_start[right], graph.right_start[right + 1]):
                other = graph.left[graph.right_edges[r]]
                if other == e or asked[other] == e:
                    continue
                asked[other] = e
                size = _gap(graph, search, other, e, k, loose, link_level, loose_level)
                if size < least[other]:
                    least[other], dropped[other] = size, e
        send(graph, search, e, units, -1, -1)
    return least, dropped


@njit(cache=True)
def _take_out(graph: Graph, left: int) -> int:
    """Take all units of a left node off; how many they were."""
    units = 0
    for p in range(graph.left_start[left], graph.left_start[left + 1]):
        edge = graph.left_edges[p]
        units += graph.flow[edge]
        graph.room[graph.right[edge]] += graph.flow[edge]
        graph.flow[edge] = 0
    return units


@njit(cache=True)
def _put_back(graph: Graph, left: int, units: int) -> None:
    """Take some units of a left node off again, whichever."""
    for p in range(graph.left_start[left], graph.left_start[left + 1]):
        edge = graph.left_edges[p]
        less = min(units, graph.flow[edge])
        graph.flow[edge] -= less
        graph.room[graph.right[edge]] += less
        units -= less


@njit(cache=True)
def _gap(
    graph: Graph, search: Search, e: int, shut: int, k: int, loose: Int64, link_level: Int64, loose_level: Int64
) -> int:
    """How many units more e can push, up to k; below k the people of that difference are marked with its size."""
    lefts = len(graph.unsent)
    size = send(graph, search, e, k, -1, shut)
    if size < k:
        _, reached = explore(graph, search, e, -1, shut)
        for p in range(reached):
            right = search.queue[p] - lefts
            if right < 0:
                continue
            for r in range(graph.right_start[right], graph.right_start[right + 1]):
                edge = graph.right_edges[r]
                if search.came[graph.left[edge]] == -1:
                    link_level[edge] = min(link_level[edge], size)
            if loose[right] > 0:
                loose_level[right] = min(loose_level[right], size)
        forget(search, reached)
    _put_back(graph, e, size)
    return size


@njit(cache=True)
def _witness(graph: Graph, search: Search, e: int, dropped: int, k: int) -> tuple[Int64, Int64]:
    """(lefts, rights): the set behind a class's smallest difference."""
    lefts, units = len(graph.unsent), 0
    if dropped >= 0:
        units = _take_out(graph, dropped)
    size = send(graph, search, e, k, -1, dropped)
    _, reached = explore(graph, search, e, -1, dropped)
    nodes = search.queue[:reached].copy()
    forget(search, reached)
    _put_back(graph, e, size)
    if dropped >= 0:
        send(graph, search, dropped, units, -1, -1)
    return nodes[nodes < lefts], nodes[nodes >= lefts] - lefts


def _too_frequent(
    part: Part, value: int, share: tuple[int, int], link_risk: Bool, loose_risk: Bool, limit: int, sharp: bool
) -> tuple[list[Gap], int]:
    """The sets whose difference has the value above share c: one per connected obstruction of the flow of w."""
    number = part.components
    sets = _obstructions(part, value, np.full(number, share[0]), np.full(number, share[1]))
    if sets is None:
        return [], 0
    lefts, rights = sets.label >= 0, sets.label_right >= 0
    risky = rights[part.edge_right] & ~lefts[part.edge_left]
    link_risk[part.link[risky]] = True
    loose_risk[part.rights[rights & (part.loose > 0)]] = True
    kinds = [(sets, sets.filled)] if not sharp else _sharpened(sets, number)
    worst = [(found, one) for found, chosen in kinds for one in found.worst(chosen, limit).tolist()]
    worst.sort(key=lambda item: (-item[0].share[item[1]], item[0].first[item[1]]))
    return [found.gap(one) for found, one in worst[:limit]], len(sets.filled)


@dataclass(frozen=True, eq=False)
class _Sets:
    """Connected sets of classes of a part: what the flow of w for one value shows to be too full of it.

    label, label_right: int64[lefts], int64[rights] the set of each class, -1 if none; size, count: int64[sets] the
    people left over, and those of them with the value
    """

    part: Part
    value: int
    label: Int64
    label_right: Int64
    size: Int64
    count: Int64

    @cached_property
    def filled(self) -> Int64:
        """int64[]: the sets that leave anybody over."""
        return np.flatnonzero(self.size > 0)

    @cached_property
    def share(self) -> Float64:
        return np.asarray(self.count / np.maximum(self.size, 1), dtype=np.float64)

    @cached_property
    def first(self) -> Int64:
        """int64[sets]: the first left class of each."""
        inside = self.label >= 0
        first = np.full(len(self.size), np.iinfo(np.int64).max)
        np.minimum.at(first, self.label[inside], self.part.lefts[inside])
        return first

    def worst(self, chosen: Int64, limit: int) -> Int64:
        return chosen[np.lexsort((self.first[chosen], -self.share[chosen]))][:limit]

    def best(self) -> tuple[Int64, Int64]:
        """(components, sets): of each component of the part, the set with the largest share, the first of them."""
        of = np.zeros(len(self.size), dtype=np.int64)
        inside = self.label_right >= 0
        of[self.label_right[inside]] = self.part.right_component[inside]
        order = self.worst(self.filled, len(self.filled))
        component, at = np.unique(of[order], return_index=True)
        return component, order[at]

    def gap(self, one: int) -> Gap:
        lefts, rights = self.part.lefts[self.label == one], self.part.rights[self.label_right == one]
        return Gap(lefts, rights, int(self.size[one]), self.value, int(self.count[one]))


def _obstructions(part: Part, value: int, top: Int64, bottom: Int64) -> _Sets | None:
    """The sets in which the value has more than share top / bottom of their component; None if there are none."""
    transport = part.transport(*part.weights(value, top, bottom))
    if transport.saturate() == 0:
        return None
    lefts, rights = transport.obstruction()
    tied = np.flatnonzero(rights[part.edge_right] & lefts[part.edge_left])
    label, label_right = components(part.edge_left[tied], part.edge_right[tied], len(part.lefts), len(part.rights))
    label[~lefts], label_right[~rights] = -1, -1
    total = max(label.max(), label_right.max()) + 1
    size, count = np.zeros(total, dtype=np.int64), np.zeros(total, dtype=np.int64)
    for sign, groups, classes, at in (
        (1, part.right, part.rights[rights], label_right[rights]),
        (-1, part.left, part.lefts[lefts], label[lefts]),
    ):
        np.add.at(size, at, sign * groups.sizes[classes])
        np.add.at(count, at, sign * counts_of(groups, value)[classes])
    return _Sets(part, value, label, label_right, size, count)


def _sharpened(sets: _Sets, components: int) -> list[tuple[_Sets, Int64]]:
    """The sets, but of each component instead of its best one the difference with the largest share of the value.

    Dinkelbach's iteration, for all components at once: look for sets above the best share so far until there are none.
    """
    top, bottom = np.zeros(components, dtype=np.int64), np.ones(components, dtype=np.int64)
    turn, best = np.zeros(components, dtype=np.int64), np.full(components, -1, dtype=np.int64)
    found, (at, one) = [sets], sets.best()
    first = one
    while len(at):
        top[at], bottom[at] = found[-1].count[one], found[-1].size[one]
        turn[at], best[at] = len(found) - 1, one
        open_ = np.zeros(components, dtype=np.bool_)
        open_[at] = True
        more = _obstructions(sets.part.only(open_), sets.value, top, bottom)
        if more is None:
            break
        found.append(more)
        at, one = more.best()
        better = more.count[one] * bottom[at] > top[at] * more.size[one]
        at, one = at[better], one[better]
    others = without(sets.filled, np.sort(first))
    return [(sets, others), *((its, best[(turn == i) & (best >= 0)]) for i, its in enumerate(found))]
