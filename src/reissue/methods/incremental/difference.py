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

from dataclasses import dataclass

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.flow.augmenting import Graph, PathSearch, push_flow, reset_search, search_path
from reissue.arrays.flow.transport import Transport
from reissue.arrays.types import Bool, Int64
from reissue.methods.incremental.difference_region import DifferencePart, Gap, find_obstructions
from reissue.methods.incremental.difference_sets import list_sets
from reissue.methods.incremental.sides import find_even
from reissue.model.overlap import GroupArrays, Groups, Overlap, sort_by_bucket


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
    found, total, smallest = _too_few(part, k, link_risk, loose_risk, limit)
    shares, partly = [worst, *(_find_share(left, right, gap) for gap in found)], np.zeros(len(right.sizes), np.bool_)
    risks = (link_risk.copy(), loose_risk.copy()) if all_may else (link_risk, loose_risk)
    part = part.only(
        ~find_even((part.left, part.left_component), (part.right, part.right_component), share, part.components)
    )
    for value, shows in part.values() if sharp or not all_may else ():  # no right class shows others
        few = 2 * np.count_nonzero(shows[part.left_component]) < len(part.lefts)
        some = part.only(shows) if few else part
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


def _too_few(part: DifferencePart, k: int, link_risk: Bool, loose_risk: Bool, limit: int) -> tuple[list[Gap], int, int]:
    """The sets that leave between 1 and k-1 people, for every left class its smallest; how many classes; the least."""
    if len(part.lefts) == 0:
        return [], 0, k
    sizes = part.left.sizes, part.right.sizes
    transport = Transport.of(*sizes, part.edge_left, part.edge_right, part.shared)
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
    graph: Graph, search: PathSearch, is_open: Bool, loose: Int64, k: int, link_level: Int64, loose_level: Int64
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
        push_flow(graph, search, e, units, -1, -1)
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
    graph: Graph, search: PathSearch, e: int, shut: int, k: int, loose: Int64, link_level: Int64, loose_level: Int64
) -> int:
    """How many units more e can push, up to k; below k the people of that difference are marked with its size."""
    lefts = len(graph.unsent)
    size = push_flow(graph, search, e, k, -1, shut)
    if size < k:
        _, reached = search_path(graph, search, e, -1, shut)
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
        reset_search(search, reached)
    _put_back(graph, e, size)
    return size


@njit(cache=True)
def _witness(graph: Graph, search: PathSearch, e: int, dropped: int, k: int) -> tuple[Int64, Int64]:
    """(lefts, rights): the set behind a class's smallest difference."""
    lefts, units = len(graph.unsent), 0
    if dropped >= 0:
        units = _take_out(graph, dropped)
    size = push_flow(graph, search, e, k, -1, dropped)
    _, reached = search_path(graph, search, e, -1, dropped)
    nodes = search.queue[:reached].copy()
    reset_search(search, reached)
    _put_back(graph, e, size)
    if dropped >= 0:
        push_flow(graph, search, dropped, units, -1, -1)
    return nodes[nodes < lefts], nodes[nodes >= lefts] - lefts


@dataclass(frozen=True, eq=False)
class Frequent:
    """The sets whose difference has one value above share c.

    gaps: the worst of them; total: how many; worst: (count, size) of the largest share tested
    open: bool[components] where a class has the value above c by itself and no set of the largest share was found:
    there some sets were tested, not all
    """

    gaps: list[Gap]
    total: int
    worst: tuple[int, int]
    open: Bool


def too_frequent(
    part: DifferencePart, value: int, share: tuple[int, int], link_risk: Bool, loose_risk: Bool, limit: int, sharp: bool
) -> Frequent:
    """The sets that have the value above c.

    Where no class has, a flow of w tells which components have such sets. There, and where a class is above c by
    itself, sets are tested. sharp: otherwise it is enough to know that there is one.
    """
    above = np.zeros(part.components, np.bool_)
    if any(_exceeds(groups, value, share) for groups in (part.left, part.right)):
        count, size = part.highest(value)
        above = count * share[1] > share[0] * size
    c = np.full(len(above), share[0]), np.full(len(above), share[1])
    sets = find_obstructions(part.only(~above), value, *c)
    if sets is not None and not sharp:
        return Frequent([], len(sets.filled), (0, 1), np.zeros_like(above))
    looked_at = above.copy()
    if sets is not None:
        looked_at[sets.best()[0]] = True
    if not looked_at.any():
        return Frequent([], 0, (0, 1), looked_at)
    tested, settled = list_sets(part.only(looked_at), value, share, part.highest(value))
    chosen = tested.find_above(share)
    tested.mark(chosen, link_risk, loose_risk)
    gaps = [tested.gap(one) for one in chosen[:limit].tolist()]
    return Frequent(gaps, len(chosen), tested.find_worst(), above & ~settled)


def _exceeds(groups: Groups, value: int, share: tuple[int, int]) -> bool:
    """Whether the value is above c in one of the classes."""
    at = np.flatnonzero(groups.value == value)
    return bool((groups.count[at] * share[1] > share[0] * groups.sizes[groups.classes[at]]).any())
