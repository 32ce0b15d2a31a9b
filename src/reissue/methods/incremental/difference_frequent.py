"""Differences in which one value is too frequent: exact by flows, or a choice of sets where classes exceed c alone."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from reissue.arrays.flow.augmenting import reset_search, search_path
from reissue.arrays.flow.transport import sums
from reissue.arrays.types import Bool, Int64
from reissue.methods.incremental.difference_region import (
    DifferencePart,
    Gap,
    counts_of,
    find_obstructions,
    sharpen,
)
from reissue.model.overlap import Groups


@dataclass(frozen=True, eq=False)
class Frequent:
    """The sets whose difference has one value above share c.

    gaps: the worst of them; total: how many; worst: (count, size) of the largest share tested
    open: bool[components] where a class has the value above c by itself and nothing above that share was found: there
    some sets were tested, not all
    """

    gaps: list[Gap]
    total: int
    worst: tuple[int, int]
    open: Bool


def too_frequent(
    part: DifferencePart, value: int, share: tuple[int, int], link_risk: Bool, loose_risk: Bool, limit: int, sharp: bool
) -> Frequent:
    """One set per connected obstruction of the flow of w; where a class is above c by itself, sets that are tested."""
    found, above = Frequent([], 0, (0, 1), np.zeros(part.components, np.bool_)), np.zeros(part.components, np.bool_)
    if any(_exceeds(groups, value, share) for groups in (part.left, part.right)):
        count, size = part.highest(value)
        above = count * share[1] > share[0] * size
        found = _test_sets(part.only(above), value, share, (count, size), link_risk, loose_risk)
        part = part.only(~above)
    sets = find_obstructions(part, value, np.full(len(above), share[0]), np.full(len(above), share[1]))
    if sets is None:
        return replace(found, gaps=found.gaps[:limit])
    lefts, rights = sets.label >= 0, sets.label_right >= 0
    _mark(part, lefts, rights, link_risk, loose_risk)
    kinds = [(sets, sets.filled)] if not sharp else sharpen(sets, len(above))
    told = found.gaps + [some.gap(one) for some, chosen in kinds for one in some.worst(chosen, limit).tolist()]
    told.sort(key=lambda gap: (-gap.share, gap.of))
    worst = max([found.worst, *((gap.count, gap.size) for gap in told[:1])], key=lambda one: one[0] / one[1])
    return Frequent(told[:limit], found.total + len(sets.filled), worst, found.open)


def _exceeds(groups: Groups, value: int, share: tuple[int, int]) -> bool:
    """Whether the value is above c in one of the classes."""
    at = np.flatnonzero(groups.value == value)
    return bool((groups.count[at] * share[1] > share[0] * groups.sizes[groups.classes[at]]).any())


LEVELS = 8
"""Shares 1/8, 2/8, ...: at which of them sets are looked for does not depend on c, so a stricter c finds no less."""


def _test_sets(
    part: DifferencePart,
    value: int,
    share: tuple[int, int],
    highest: tuple[Int64, Int64],
    link_risk: Bool,
    loose_risk: Bool,
) -> Frequent:
    """Where classes have the value above c: single classes, whole components, and what flows at several shares find.

    Weights below 0 turn the closure into a problem for which no fast exact form is known; clamped at 0 the flow finds
    some sets, and all where no class is above its share. So what it finds above `highest` is the largest share.
    """
    gaps = [*_test_single(part, value, share, link_risk, loose_risk), *_test_whole(part, value)]
    gaps += _find_full(part.only(highest[0] == highest[1]), value)
    (count, size), settled = highest, np.bincount(part.left_component, minlength=len(highest[0])) < 2
    for level in range(share[0] * LEVELS // share[1], LEVELS + 1):
        top, bottom = (count, size) if level == LEVELS else (np.full(len(count), level), np.full(len(count), LEVELS))
        some = part.only((level == LEVELS) | (top * size < count * bottom))
        sets = find_obstructions(some, value, top, bottom) if level else None
        for found, chosen in [] if sets is None else sharpen(sets, len(count)):
            for one in chosen.tolist():
                gaps.append(found.gap(one))
                settled[found.part.right_component[found.label_right == one]] |= level == LEVELS
    worst = max(gaps, key=lambda gap: gap.share, default=Gap(part.lefts, part.rights, 1))
    above = {gap.lefts.tobytes(): gap for gap in gaps if gap.count * share[1] > share[0] * gap.size}
    for gap in above.values():
        if len(gap.lefts) > 1:
            lefts, rights = np.isin(part.lefts, gap.lefts), np.isin(part.rights, gap.rights)
            _mark(part, lefts, rights, link_risk, loose_risk)
    told = sorted(above.values(), key=lambda gap: (-gap.share, gap.of))
    return Frequent(told, len(told), (worst.count, worst.size), ~settled)


def _test_single(
    part: DifferencePart, value: int, share: tuple[int, int], link_risk: Bool, loose_risk: Bool
) -> list[Gap]:
    """The differences of single classes that have the value above c, and the one with the largest share. O(edges)."""
    size, count = (
        sums(part.edge_left, of[part.edge_right], len(part.lefts)) - own
        for own, of in (
            (part.left.sizes, part.right.sizes),
            (counts_of(part.left, value), counts_of(part.right, value)),
        )
    )
    above = count * share[1] > share[0] * size
    times = np.bincount(part.edge_right[above[part.edge_left]], minlength=len(part.rights))
    link_risk[part.link[times[part.edge_right] > above[part.edge_left]]] = True  # beside some class, not in it
    loose_risk[part.rights[(times > 0) & (part.loose > 0)]] = True
    told = np.flatnonzero(above | (np.arange(len(size)) == np.argmax(count / np.maximum(size, 1))))
    rights = [part.rights[np.sort(part.edge_right[part.edge_left == e])] for e in told.tolist()]
    every = zip(told.tolist(), rights, strict=True)
    return [Gap(part.lefts[[e]], of, int(size[e]), value, int(count[e])) for e, of in every if size[e]]


def _find_full(part: DifferencePart, value: int) -> list[Gap]:
    """Differences of nothing but the value, one with every left class that has any: they leave no other row.

    The other rows of the lefts fill all those of the rights: so these are the sets from which the flow reaches no room.
    """
    lefts, found = len(part.lefts), list[Gap]()
    transport = part.transport(*part.weights(value, *np.ones((2, part.components), np.int64)))
    transport.saturate()
    for e in range(lefts):
        end, reached = search_path(transport.graph, transport.search, e, -1, -1)
        nodes = np.sort(transport.search.queue[:reached])
        reset_search(transport.search, reached)
        inner, outer = nodes[nodes < lefts], nodes[nodes >= lefts] - lefts
        size = int(part.right.sizes[outer].sum() - part.left.sizes[inner].sum())
        if end < 0 and size:
            found.append(Gap(part.lefts[inner], part.rights[outer], size, value, size))
    return found


def _test_whole(part: DifferencePart, value: int) -> list[Gap]:
    """The differences of whole components of more than one class. O(classes)."""
    found, number = list[Gap](), part.components
    size, count = (
        sums(part.right_component, of, number) - sums(part.left_component, own, number)
        for own, of in (
            (part.left.sizes, part.right.sizes),
            (counts_of(part.left, value), counts_of(part.right, value)),
        )
    )
    for one in np.flatnonzero((size > 0) & (np.bincount(part.left_component, minlength=number) > 1)).tolist():
        lefts, rights = part.lefts[part.left_component == one], part.rights[part.right_component == one]
        found.append(Gap(lefts, rights, int(size[one]), value, int(count[one])))
    return found


def _mark(part: DifferencePart, lefts: Bool, rights: Bool, link_risk: Bool, loose_risk: Bool) -> None:
    """Whoever is in some right classes but not in some left ones is at risk."""
    link_risk[part.link[rights[part.edge_right] & ~lefts[part.edge_left]]] = True
    loose_risk[part.rights[rights & (part.loose > 0)]] = True
