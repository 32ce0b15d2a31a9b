"""Differences in which one value is too frequent: a flow tells whether there are any, tested sets whom they leave."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reissue.arrays.types import Bool
from reissue.methods.incremental.difference_region import DifferencePart, Gap, find_obstructions
from reissue.methods.incremental.difference_sets import list_sets
from reissue.model.overlap import Groups


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
