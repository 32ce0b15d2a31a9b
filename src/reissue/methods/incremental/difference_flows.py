"""Flows in components of a difference: which sets of classes leave too few people over, or one value too often."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.flow.augmenting import Graph, PathSearch, push_flow, reset_search, search_path
from reissue.arrays.flow.transport import Transport
from reissue.arrays.types import Bool, Int64
from reissue.methods.incremental.difference_regions import Gap, find_obstructions
from reissue.methods.incremental.difference_sets import list_sets
from reissue.model.observed import Groups

if TYPE_CHECKING:
    from reissue.methods.incremental.difference import DifferencePart


def find_too_few(
    part: DifferencePart, k: int, link_risk: Bool, loose_risk: Bool, limit: int
) -> tuple[list[Gap], int, int]:
    """The sets that leave between 1 and k-1 people, for every left class its smallest; how many classes; the least."""
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
