"""Outliers: rows of whom fewer than k are alike, chosen by quasi-identifiers alone, so that the others keep detail.

Whoever is left out is so whatever their value: their absence follows from what everybody is, not from what anybody has.
Values only accept or refuse what was chosen without them: see `try_leaving_out`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

import numpy as np

from reissue.arrays.types import Bool, Int32, Int64
from reissue.errors import InfeasiblePolicy, SettingsError
from reissue.model.box_index import find_meeting
from reissue.model.boxes import losses
from reissue.model.domain import Domain
from reissue.model.requirement import Requirement
from reissue.partition.incognito import LatticeSearch, apply_levels, best
from reissue.partition.lattice import minimal


class MadeClasses(Protocol):
    """Classes that were made: their boxes, int32[classes, attributes, 2], and the detail lost by all rows."""

    @property
    def boxes(self) -> Int32: ...

    @property
    def lost(self) -> float: ...


Made = TypeVar("Made", bound=MadeClasses)


def find_outliers(
    codes: Int32, domains: Sequence[Domain], k: int, spare: int, stays: Bool, amounts: Int64 | None = None
) -> Bool:
    """bool[rows]: at most `spare` rows that are like fewer than k, where the others keep the finest levels that leaves.

    The levels are those of full-domain generalization with least loss at which all classes of fewer than k rows have at
    most `spare` rows together, and none of `stays` (bool[rows]). No value is looked at. codes: int32[rows, attributes];
    amounts: int64[rows], how many each row stands for; None: one. One O(n log n) pass, then a search on counts.
    """
    nobody = np.zeros(len(codes), dtype=np.bool_)
    rows = len(codes) if amounts is None else int(amounts.sum())
    if spare <= 0 or rows < k or stays.all():
        return nobody
    alike = Requirement(k=k).limits(np.ones(1, dtype=np.int64))
    try:
        search = LatticeSearch(codes, nobody.astype(np.int32), domains, alike, spare, stays=stays, amounts=amounts)
    except SettingsError as error:
        raise SettingsError(
            "suppress looks for outliers among all combinations of levels, and these quasi-identifiers have too many: "
            "leave suppress out, or use coarser or fewer quasi-identifiers."
        ) from error
    classes = apply_levels(search.ladders, codes, best(search, minimal(search.find_satisfied()))).classes
    sizes = np.bincount(classes, amounts)
    return np.asarray(sizes[classes] < k, dtype=np.bool_)


def try_leaving_out(outliers: Bool, codes: Int32, make: Callable[[Bool], Made]) -> tuple[Made, Bool]:
    """What `make` makes of the rows without the outliers, and bool[rows], who is left out in the end.

    Classes may turn out wide enough to hold some of them: then only the others are left out. Of that, of leaving out
    all outliers and of leaving out nobody, what loses least detail is taken; of equals the one with most rows.
    make: raises InfeasiblePolicy.
    """
    nobody = np.zeros_like(outliers)
    found: list[tuple[Made, Bool]] = []
    for left in (outliers, None, nobody) if outliers.any() else (nobody,):
        if left is None and found:
            left = _find_strays(outliers, codes, found[0][0].boxes)
        if left is None or any(np.array_equal(left, other) for _, other in found):
            continue
        try:
            found.append((make(left), left))
        except InfeasiblePolicy:
            if left is nobody and not found:
                raise
    return min(found, key=lambda made: (made[0].lost, int(made[1].sum())))


def _find_strays(outliers: Bool, codes: Int32, boxes: Int32) -> Bool:
    """bool[rows]: the outliers that are in none of the boxes."""
    strays, which = outliers.copy(), np.flatnonzero(outliers)
    points = np.ascontiguousarray(np.repeat(codes[which][:, :, None], 2, axis=2), dtype=np.int32)
    strays[which[find_meeting(points, boxes)[0]]] = False
    return strays


def sum_lost_detail(boxes: Int32, sizes: Int64, domains: Sequence[Domain], missing: int) -> float:
    """The detail that classes of these sizes lose, attributes by their weights; a missing row loses all of it."""
    weights = np.array([domain.weight for domain in domains])
    return float(sizes @ (losses(boxes, domains) @ weights)) + missing * float(weights.sum())


def say_left_out(left: int, k: int) -> tuple[str, ...]:
    """A step for the release's record; nothing where nobody is left out."""
    if not left:
        return ()
    who = "1 row that is" if left == 1 else f"{left:,} rows that are"
    return (f"Left out {who} like fewer than {k}, by quasi-identifiers alone; who was in no release counts as new.",)
