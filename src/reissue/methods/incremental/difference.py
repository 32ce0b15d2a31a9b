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

from reissue.arrays.compiled import njit
from reissue.arrays.flow.augmenting import Graph, PathSearch
from reissue.arrays.flow.transport import Transport, edges_by_node
from reissue.arrays.sets import bipartite_components
from reissue.arrays.sorting import sort_by_bucket
from reissue.arrays.types import Bool, Int64
from reissue.methods.incremental.difference_flows import find_too_few, too_frequent
from reissue.methods.incremental.difference_regions import Gap, counts_of
from reissue.methods.incremental.sides import count_even
from reissue.model.observed import GroupArrays, Groups
from reissue.model.overlap import Overlap


@dataclass(frozen=True, eq=False)
class DifferencePart:
    """Connected components of left classes that count and the right classes they share subjects with.

    lefts, rights: int64[] class numbers; left, right: the values of just these classes, in this order
    edges between positions in them; link: int64[edges] of the overlap
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
    def of(left: Groups, right: Groups, overlap: Overlap, inside: Bool, kept: Int64) -> DifferencePart:
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
        labels = bipartite_components(edge_left, edge_right, len(lefts), len(rights))
        loose = right.sizes[rights] - filled
        own = left.pick(lefts), right.pick(rights)
        return DifferencePart(*own, lefts, rights, edge_left, edge_right, shared, kept, loose, *labels)

    def only(self, component: Bool) -> DifferencePart:
        """The part within some components."""
        if component.all():
            return self
        left_kept, right_kept = component[self.left_component], component[self.right_component]
        edges = np.flatnonzero(left_kept[self.edge_left])
        left_place, right_place = np.cumsum(left_kept) - 1, np.cumsum(right_kept) - 1
        return replace(
            self,
            left=self.left.pick(np.flatnonzero(left_kept)),
            right=self.right.pick(np.flatnonzero(right_kept)),
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
        start, groups = sort_by_bucket(self.right.value, int(self.right.value.max(initial=-1)) + 1)
        component = self.right_component[self.right.classes[groups]]
        for value in range(len(start) - 1):
            if start[value] < start[value + 1]:
                shows = np.zeros(self.components, np.bool_)
                shows[component[start[value] : start[value + 1]]] = True
                yield value, shows

    @cached_property
    def components(self) -> int:
        return int(max(self.left_component.max(initial=-1), self.right_component.max(initial=-1))) + 1

    @cached_property
    def incident(self) -> tuple[Int64, Int64, Int64, Int64]:
        """The edges of each left and right class: the same for every value, and a third of the cost of a flow."""
        return *edges_by_node(self.edge_left, len(self.lefts)), *edges_by_node(self.edge_right, len(self.rights))

    def transport(self, supply: Int64, demand: Int64) -> Transport:
        """A transport along the edges, with nothing sent yet."""
        flow = np.zeros(len(self.edge_left), dtype=np.int64)
        graph = Graph(self.edge_left, self.edge_right, *self.incident, flow, supply, demand)
        nodes = len(self.lefts) + len(self.rights)
        return Transport(graph, PathSearch(np.full(nodes, -1, dtype=np.int64), np.empty(nodes, dtype=np.int64)))

    def highest(self, value: int) -> tuple[Int64, Int64]:
        """(count, size) int64[components]: of the class of each component in which the value has the largest share."""
        count, size = np.zeros(self.components, dtype=np.int64), np.ones(self.components, dtype=np.int64)
        for groups, at in ((self.left, self.left_component), (self.right, self.right_component)):
            own = counts_of(groups, value)
            order = np.argsort(own / np.maximum(groups.sizes, 1), kind="stable")  # of each component the last one stays
            best, here = np.full(self.components, -1), order[np.argsort(at[order], kind="stable")]
            best[at[here]] = here
            there = np.flatnonzero(best >= 0)
            more = there[own[best[there]] * size[there] > count[there] * groups.sizes[best[there]]]
            count[more], size[more] = own[best[more]], groups.sizes[best[more]]
        return count, size

    def weights(self, value: int, top: Int64, bottom: Int64) -> tuple[Int64, Int64]:
        """w of each left and right class for one value, at least 0; where it is, the flow is exact.

        top, bottom: int64[components], c = top / bottom in each.
        """
        both = []
        for groups, at in ((self.left, self.left_component), (self.right, self.right_component)):
            both.append(np.maximum(0, top[at] * groups.sizes - bottom[at] * counts_of(groups, value)))
        return both[0], both[1]


@dataclass(frozen=True, eq=False)
class Gaps:
    """All differences of one release inside another that break (k,c).

    gaps: for every class of the left its smallest difference below k, for every value the sets that break c
    smallest: the least number of people left over, k if all are at least k
    link_risk: bool[links of the overlap], loose_risk: bool[rights]: whether the people are at risk that the right class
    shares with that left class, and those of it that are in no left class that counts
    inside: bool[lefts]: the left classes that count, whose every row is a subject of the right release
    total: how many differences there are, of which `gaps` are the worst
    share: the largest share of one value in a difference that was looked at
    partly: bool[rights]: where a class exceeds c by itself and not all sets were tested
    """

    gaps: tuple[Gap, ...]
    smallest: int
    link_risk: Bool
    loose_risk: Bool
    inside: Bool
    total: int
    share: float
    partly: Bool


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
    kept = np.flatnonzero(inside[overlap.left] & ~_find_unchanged(left, right, overlap))
    if len(kept) == 0:  # nothing can be taken out: so it is with most releases of a long series that are far apart
        nothing = np.zeros(len(overlap.left), np.bool_), np.zeros(len(right.sizes), np.bool_)
        return Gaps((), k, *nothing, inside, 0, 0.0, np.zeros(len(right.sizes), np.bool_))
    part = DifferencePart.of(left, right, overlap, inside, kept)
    link_risk, loose_risk = np.zeros(len(overlap.left), np.bool_), np.zeros(len(right.sizes), np.bool_)
    all_may = share[0] >= share[1]  # nothing exceeds c = 1: what comes to 1 is measured, and is no finding
    if all_may and sharp:
        share = int(right.sizes.sum()), int(right.sizes.sum()) + 1
    suspect, worst = _suspect(part, k, share)
    part = part.only(suspect)
    even = count_even((part.left, part.left_component), (part.right, part.right_component), part.components)
    few, found, total, smallest = part.only(even < k), list[Gap](), 0, k
    if len(few.lefts):
        found, total, smallest = find_too_few(few, k, link_risk, loose_risk, limit)
    shares, partly = [worst, *(_find_share(left, right, gap) for gap in found)], np.zeros(len(right.sizes), np.bool_)
    risks = (link_risk.copy(), loose_risk.copy()) if all_may else (link_risk, loose_risk)
    part = part.only((even == 0) | (share[0] * even < share[1]))
    for value, shows in part.values() if sharp or not all_may else ():  # no right class shows others
        some = part.only(shows) if 2 * np.count_nonzero(shows[part.left_component]) < len(part.lefts) else part
        more = too_frequent(some, value, share, *risks, limit, sharp)
        shares.append(more.worst[0] / more.worst[1])
        if not all_may:
            found, total = found + more.gaps, total + more.total
            partly[some.rights[more.open[some.right_component]]] = True
    link_risk[~inside[overlap.left]] = False
    loose = loose_risk & (right.sizes > 0)
    return Gaps(tuple(found), smallest, link_risk, loose, inside, total, max(shares), partly)


def _find_share(left: Groups, right: Groups, gap: Gap) -> float:
    """The share of the most frequent value among the people whom a set leaves over (as if no value had changed)."""
    outer, inner = right.pick(gap.rights), left.pick(gap.lefts)
    values = int(max(outer.value.max(), inner.value.max())) + 1
    left_over = ((outer, 1), (inner, -1))
    most = sum(sign * np.bincount(of.value, weights=of.count, minlength=values) for of, sign in left_over)
    return min(1.0, float(np.max(most)) / gap.size)


def _find_unchanged(left: Groups, right: Groups, overlap: Overlap) -> Bool:
    """bool[links]: a class that is the same in both releases leaves nobody, and nothing else touches it."""
    whole = (left.sizes[overlap.left] == overlap.shared) & (right.sizes[overlap.right] == overlap.shared)
    return np.asarray(whole, dtype=np.bool_)


def _suspect(part: DifferencePart, k: int, share: tuple[int, int]) -> tuple[Bool, float]:
    """(bool[components], share): those that need flows. A star has one set that matters, all of it, decided at once.

    share: the largest of one value in the difference of a star that needs none
    """
    total = part.components
    left_start, left_order = sort_by_bucket(part.left_component, total)
    right_start, right_order = sort_by_bucket(part.right_component, total)
    values = int(max(part.left.value.max(initial=0), part.right.value.max(initial=0))) + 1
    lefts, rights = (left_start, left_order), (right_start, right_order)
    return _unsafe_stars(*lefts, *rights, part.left.arrays, part.right.arrays, k, *share, values)


@njit(cache=True)
def _unsafe_stars(
    left_start: Int64,
    left_order: Int64,
    right_start: Int64,
    right_order: Int64,
    a: GroupArrays,
    b: GroupArrays,
    k: int,
    top: int,
    bottom: int,
    values: int,
) -> tuple[Bool, float]:
    """O(groups). True for whatever is not a star, or is one that breaks (k,c), or has a left class that does."""
    total, worst = len(left_start) - 1, 0.0
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
            one = right_order[p]
            for g in range(b.start[one], b.start[one + 1]):
                times[b.value[g]] += b.times[g]
                over += b.times[g]
        for p in range(left_start[c], left_start[c + 1]):
            one, size = left_order[p], 0
            for g in range(a.start[one], a.start[one + 1]):
                times[a.value[g]] -= a.times[g]
                size += a.times[g]
            over -= size
            for g in range(a.start[one], a.start[one + 1]):
                suspect[c] |= bottom * a.times[g] > top * size
            suspect[c] |= size < k
        suspect[c] |= 0 < over < k
        for p in range(right_start[c], right_start[c + 1]):
            one = right_order[p]
            for g in range(b.start[one], b.start[one + 1]):
                suspect[c] |= bottom * times[b.value[g]] > top * over
                worst = max(worst, times[b.value[g]] / max(1, over))
                times[b.value[g]] = 0
        for p in range(left_start[c], left_start[c + 1]):
            one = left_order[p]
            for g in range(a.start[one], a.start[one + 1]):
                times[a.value[g]] = 0
    return suspect, worst
