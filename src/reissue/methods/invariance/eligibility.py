"""How many rows of each value may fill old buckets, so that the rest can still be given signatures of m values.

A multiset of rows can be cut into sets of at least m different values exactly if no value has more than 1/m of the
rows (each set takes a value once): it is then called *m-eligible*.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reissue.arrays.types import Int64
from reissue.errors import InfeasiblePolicy


@dataclass(frozen=True, eq=False)
class Supply:
    """What the new rows are used for, by value.

    taken:  int64[values] new rows that fill shortfalls of old buckets
    repair: int64[values] counterfeits that join the rest so that it becomes m-eligible (zero unless repair is allowed)
    """

    taken: Int64
    repair: Int64


def plan_supply(shortfall: Int64, new: Int64, present: Int64, m: int, *, repair: bool) -> Supply:
    """Use as many new rows as possible for the old buckets; exact, O(values log values).

    shortfall, new, present: int64[values]: what old buckets lack, the new rows, the rows of the whole snapshot.

    Let `top` be the most rows of one value that no bucket lacks. They need `top` sets of m values, and of every other
    value at most `top` rows can stand beside them, so m * top <= sum(min(new, top)) is necessary. It is sufficient:
    taking new - top of each value leaves that sum, and taking more stops when m * top rows are left. Raising `top`
    never helps: the gap sum(max(new - M, 0)) + m * M - sum(new) is convex in M and zero at M = 0.
    """
    usable = np.minimum(new, shortfall)
    top = int((new - usable).max(initial=0))
    beside = int(np.minimum(new, top).sum())
    if beside < m * top and not repair:
        raise _explain_refusal(new - usable, np.minimum(new, top), m)
    least = np.maximum(new - top, 0)
    total = int(np.clip(int(new.sum()) - m * top, int(least.sum()), int(usable.sum())))
    taken = _take_level(new, least, usable, total)
    missing = max(0, m * top - int((new - taken).sum()))
    return Supply(taken, _plan_repair(new - taken, present, top, missing, m))


def _explain_refusal(unplaced: Int64, beside: Int64, m: int) -> InfeasiblePolicy:
    """Why no release exists: the value, its share of the rows that need a signature, the largest m that would do."""
    value = int(unplaced.argmax())
    top, rows = int(unplaced[value]), int(beside.sum())
    feasible = rows // top
    remedy = (
        f"Lower m to {feasible}"
        if feasible >= 2
        else "No m of 2 or more is feasible; merge the release with a later one"
    )
    return InfeasiblePolicy(
        f"m={m} cannot hold: {{value:{value}}} is {100 * top / rows:.1f}% of the {rows} new rows that need a signature "
        f"({top} of them), at most {100 / m:.1f}% is possible. The largest feasible m is {max(feasible, 1)}. "
        f'{remedy}, group sensitive values, or set on_ineligible="counterfeit" to allow counterfeits.'
    )


def _take_level(new: Int64, least: Int64, most: Int64, total: int) -> Int64:
    """int64[values] between least and most that sum to total and leave the rest (new - taken) as level as possible."""

    def taken_at(level: int) -> Int64:
        return np.clip(new - level, least, most)

    low, high = 0, int(new.max(initial=0))
    while low < high:  # the lowest level at which no more than total is taken
        middle = (low + high) // 2
        if int(taken_at(middle).sum()) > total:
            low = middle + 1
        else:
            high = middle
    taken = taken_at(low)
    room = np.flatnonzero((taken < most) & (new - taken == low)) if low else np.empty(0, dtype=np.int64)
    taken[room[: total - int(taken.sum())]] += 1
    return taken


def _plan_repair(rest: Int64, present: Int64, top: int, missing: int, m: int) -> Int64:
    """int64[values]: `missing` counterfeits, the most frequent values first, none above `top` with the rest."""
    added = np.zeros(len(rest), dtype=np.int64)
    if missing == 0:
        return added
    if len(rest) < m:
        raise InfeasiblePolicy(
            f"m={m} cannot hold: the series knows only {len(rest)} sensitive values. "
            f"The largest feasible m is {len(rest)}."
        )
    order = np.lexsort((-rest, -present))
    room = (top - rest)[order]
    before = np.cumsum(room) - room
    added[order] = np.clip(missing - before, 0, room)
    return added
