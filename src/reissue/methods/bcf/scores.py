"""What a specialization is worth: where best to split a range, information gained, anonymity lost."""

from __future__ import annotations

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.types import Float64, Int32, Int64
from reissue.methods.bcf.specialization import Items, SpecializationState


def best_split(
    items: Items, state: SpecializationState, touched: Int64, attribute: int, allowed: Int64, by_gain: bool
) -> int | None:
    """The code up to which the lower part of a range should reach: both parts with records.

    allowed: int64[3] lowest <= code < highest, or the third code itself (that of missing values).
    By discernibility the split that leaves the smallest sum of squared class sizes, by gain the one that tells most
    about the sensitive value; the lowest code among equals. None if no split separates records. O(m log m).
    """
    found, owner = _members(state.order, state.begin, state.end, touched)
    codes = items.codes[found, attribute]
    order = np.argsort(codes, kind="stable")
    owners = items.values[found] if by_gain else owner
    width = int(owners.max()) + 1 if len(owners) else 1
    at = _sweep(codes[order], owners[order], items.counts[found][order], width, allowed, by_gain)
    return None if at == np.iinfo(np.int64).min else int(at)


@njit(cache=True)
def _members(order: Int64, begin: Int64, end: Int64, touched: Int64) -> tuple[Int64, Int32]:
    """The items of the touched classes, and which of them each is in."""
    room = 0
    for x in range(len(touched)):
        room += end[touched[x]] - begin[touched[x]]
    found, owner = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int32)
    at = 0
    for x in range(len(touched)):
        for p in range(begin[touched[x]], end[touched[x]]):
            found[at], owner[at] = order[p], x
            at += 1
    return found, owner


@njit(cache=True)
def _sweep(codes: Int32, owners: Int32, counts: Int64, width: int, allowed: Int64, by_gain: bool) -> int:
    """Move records from the upper part to the lower in order of code, keeping the cost of both parts. O(m)."""
    above, below = np.zeros(width), np.zeros(width)
    for i in range(len(codes)):
        above[owners[i]] += counts[i]
    least, best, cost = np.inf, np.iinfo(np.int64).min, 0.0
    up, down = above.sum(), 0.0
    for owner in range(width):
        cost += _cost(above[owner], by_gain)
    for i in range(len(codes) - 1):
        owner, moved = owners[i], float(counts[i])
        cost += _cost(above[owner] - moved, by_gain) - _cost(above[owner], by_gain)
        cost += _cost(below[owner] + moved, by_gain) - _cost(below[owner], by_gain)
        above[owner] -= moved
        below[owner] += moved
        up, down = up - moved, down + moved
        if codes[i] < codes[i + 1] and (allowed[0] <= codes[i] < allowed[1] or codes[i] == allowed[2]):
            # entropy of the parts, weighted by their sizes: n log n of each part less the sum over its values
            whole = cost + up * np.log(up) + down * np.log(down) if by_gain else cost
            if whole < least - 1e-9:
                least, best = whole, int(codes[i])
    return best


@njit(cache=True)
def _cost(amount: float, by_gain: bool) -> float:
    if not by_gain:
        return amount * amount
    return -amount * np.log(amount) if amount > 0.0 else 0.0


@njit(cache=True)
def gain_of_parts(
    items: Items, state: SpecializationState, touched: Int64, attribute: int, bounds: Int32, value_count: int
) -> float:
    """How much the parts of a node tell about the sensitive value, in nats per record. O(items touched)."""
    counts = np.zeros((len(bounds) + 1, value_count))
    for x in range(len(touched)):
        for p in range(state.begin[touched[x]], state.end[touched[x]]):
            item = state.order[p]
            part = np.searchsorted(bounds, items.codes[item, attribute])
            counts[part, items.values[item]] += items.counts[item]
            counts[len(bounds), items.values[item]] += items.counts[item]
    total = counts[len(bounds)].sum()
    gain = _entropy(counts[len(bounds)])
    for part in range(len(bounds)):
        gain -= counts[part].sum() / total * _entropy(counts[part])
    return max(0.0, gain)


@njit(cache=True)
def _entropy(counts: Float64) -> float:
    total, entropy = counts.sum(), 0.0
    for count in counts:
        if count > 0:
            entropy -= count / total * np.log(count / total)
    return entropy


@njit(cache=True)
def smallest_part(
    items: Items, state: SpecializationState, touched: Int64, attribute: int, bounds: Int32, enough: int = 0
) -> int:
    """Records of the smallest class that specializing the node would make; fewer than `enough` of one end the search.

    O(items touched).
    """
    smallest = int(np.iinfo(np.int64).max)
    sizes = np.zeros(len(bounds), dtype=np.int64)
    for x in range(len(touched)):
        sizes[:] = 0
        for p in range(state.begin[touched[x]], state.end[touched[x]]):
            item = state.order[p]
            sizes[np.searchsorted(bounds, items.codes[item, attribute])] += items.counts[item]
        for size in sizes:
            if size > 0:
                smallest = min(smallest, int(size))
        if smallest < enough:
            break
    return smallest
