"""Whether a step of a specialization leaves everyone enough candidates; see `specialize` for what is counted."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.types import Int32, Int64
from reissue.methods.bcf.specialization import Items, PastTargets, SpecializationState, SplitStep
from reissue.model.requirement_kernels import Limits, meets


class WeighingBuffers(NamedTuple):
    """Working memory of `weigh`, all 0 between classes where it is counted in.

    left: int64[T, value_count] candidates a class leaves; present: int32[value_count] its values
    some: int64[value_count], those: int32[value_count] the candidates of one target and their values
    """

    left: Int64
    present: Int32
    some: Int64
    those: Int32


@njit(cache=True)
def weigh(
    items: Items,
    past: PastTargets,
    state: SpecializationState,
    step: SplitStep,
    limits: Limits,
    more: Limits,
    value_count: int,
    measure: bool,
) -> tuple[bool, Int64]:
    """Whether all classes the step makes leave everyone enough candidates; and the fewest per arrival, if measured.

    O(items touched + sum over the new classes of the entries of comparable targets); stops at the first failure
    unless `measure`.
    """
    fewest = np.full(len(past.arrivals), np.iinfo(np.int64).max)
    side = np.zeros(len(past.lows), dtype=np.int32)
    if step.splits_targets.any():
        for target in range(len(side)):
            side[target] = np.searchsorted(step.bounds, past.lows[target, step.attribute])
    scratch = WeighingBuffers(
        np.zeros((len(past.arrivals), value_count), dtype=np.int64),
        np.empty(value_count, dtype=np.int32),
        np.zeros(value_count, dtype=np.int64),
        np.empty(value_count, dtype=np.int32),
    )
    holds = True
    for c in range(len(step.bounds)):
        _count_newer(items, state, step, c, True)
        for x in range(len(step.touched)):
            if step.stops[x, c] < step.stops[x, c + 1] and (holds or measure):
                holds &= _weigh_class(items, past, state, step, x, c, side, scratch, limits, more, measure, fewest)
        _count_newer(items, state, step, c, False)
        if not holds and not measure:
            break
    return holds, fewest


@njit(cache=True)
def _count_newer(items: Items, state: SpecializationState, step: SplitStep, c: int, on: bool) -> None:
    """Count the records newer than each release in part c of the cells that the step splits; or forget them again."""
    for j in range(len(items.after)):
        if step.splits_cells[j]:
            for x in range(len(step.touched)):
                for p in range(step.stops[x, c], step.stops[x, c + 1]):
                    item = step.dealt[p]
                    at = state.cell[j, item]
                    state.spare[j, at] = state.spare[j, at] + items.after[j, item] if on else 0


@njit(cache=True)
def _weigh_class(
    items: Items,
    past: PastTargets,
    state: SpecializationState,
    step: SplitStep,
    x: int,
    c: int,
    side: Int32,
    scratch: WeighingBuffers,
    limits: Limits,
    more: Limits,
    measure: bool,
    fewest: Int64,
) -> bool:
    """The same for part c of touched class x alone."""
    found = _leave(items, past.arrivals, state, step, x, c, scratch)
    holds, q = True, step.touched[x]
    for t in range(len(past.arrivals)):
        if past.arrivals[t] == len(items.after):
            total, fits = _newest(scratch, t, found, limits, more)
            fewest[t] = min(fewest[t], total)
            holds &= fits
        else:
            for p in range(state.first[t, q], state.last[t, q]):
                target = state.ranked[p]
                if step.splits_targets[t] and side[target] != c:
                    continue
                total, fits = _common(past, target, scratch, t, limits, more, measure)
                fewest[t] = min(fewest[t], total)
                holds &= fits
                if not holds and not measure:
                    break
        if not holds and not measure:
            break
    for i in range(found):
        scratch.left[:, scratch.present[i]] = 0
    return holds


@njit(cache=True)
def _leave(
    items: Items, arrivals: Int64, state: SpecializationState, step: SplitStep, x: int, c: int, scratch: WeighingBuffers
) -> int:
    """Fill left[t, s] = min(g(s), N_j(s) for j < t) for part c of touched class x; how many values it has."""
    found = 0
    p = step.stops[x, c]
    while p < step.stops[x, c + 1]:
        item = step.dealt[p]
        value, amount = items.values[item], 0
        while p < step.stops[x, c + 1] and items.values[step.dealt[p]] == value:
            amount += items.counts[step.dealt[p]]
            p += 1
        scratch.present[found] = value
        found += 1
        j = 0
        for t in range(len(arrivals)):
            while j < arrivals[t]:
                name = state.cell[j, item]
                amount = min(amount, state.spare[j, name] if step.splits_cells[j] else state.newer[j, name])
                j += 1
            scratch.left[t, value] = amount
    return found


@njit(cache=True)
def _newest(scratch: WeighingBuffers, t: int, found: int, limits: Limits, more: Limits) -> tuple[int, bool]:
    """Candidates of a newcomer in the class, and whether they keep within the limits."""
    total, kept = 0, 0
    for i in range(found):
        value = scratch.present[i]
        amount = scratch.left[t, value]
        if amount > 0:
            scratch.some[value], scratch.those[kept] = amount, value
            kept, total = kept + 1, total + amount
    return total, _judge(scratch, kept, total, limits, more)


@njit(cache=True)
def _common(
    past: PastTargets, target: int, scratch: WeighingBuffers, t: int, limits: Limits, more: Limits, measure: bool
) -> tuple[int, bool]:
    """The same for someone of an earlier release; where only k is asked, counting stops at k unless measured."""
    total, kept = 0, 0
    if not (limits.by_value or more.by_value):
        for e in range(past.start[target], past.start[target + 1]):
            total += min(past.amounts[e], scratch.left[t, past.values[e]])
            if total >= limits.k and not measure:
                break
        return total, total >= limits.k
    for e in range(past.start[target], past.start[target + 1]):
        value = past.values[e]
        amount = min(past.amounts[e], scratch.left[t, value])
        if amount > 0:
            scratch.some[value], scratch.those[kept] = amount, value
            kept, total = kept + 1, total + amount
    return total, _judge(scratch, kept, total, limits, more)


@njit(cache=True)
def _judge(scratch: WeighingBuffers, kept: int, total: int, limits: Limits, more: Limits) -> bool:
    fits = meets(scratch.some, scratch.those, kept, total, limits)
    fits = fits and meets(scratch.some, scratch.those, kept, total, more)
    for i in range(kept):
        scratch.some[scratch.those[i]] = 0
    return fits
