"""The phases that m-invariance, e-equivalence and Cor-Split share: division, balancing, assignment, on counts.

A bucket is all rows of one signature. Counts are held per entry, a (signature, value) pair of `Signatures`. The
phases decide how many new rows and counterfeits every entry takes; `dealing` then chooses the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush

import numpy as np

from reissue.arrays.types import NO_NUMBERS, Int32, Int64
from reissue.errors import InfeasiblePolicy
from reissue.methods.invariance.signatures import PastSignatures, Signatures, ValuesLeft, join_sets
from reissue.model.release import Coded


@dataclass(frozen=True, eq=False)
class BucketPlan:
    """How many rows of each value every bucket holds.

    signatures:   the known ones first, then new ones
    height:       int64[signatures] rows of each value in the bucket
    alive:        int64[entries] rows that already had this signature
    counterfeits: int64[entries]
    sets:         int64[n, 3] (region, signature, number): sets that new rows of a region are to make by themselves
    The rest, height - alive - counterfeits, are new rows.
    """

    signatures: Signatures
    height: Int64
    alive: Int64
    counterfeits: Int64
    sets: Int64

    @property
    def quota(self) -> Int64:
        """int64[entries]: new rows that each entry takes."""
        return self.height[self.signatures.owner] - self.alive - self.counterfeits


def count_entries(signatures: Signatures, bucket: Int32, values: Int32) -> Int64:
    """int64[entries]: rows of each (signature, value); rows without a bucket (-1) are left out."""
    kept = bucket >= 0
    entry = signatures.entries(bucket[kept], values[kept])
    return np.bincount(entry, minlength=len(signatures.values)).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Demand:
    """What planning needs to know, all in counts.

    alive:   int64[entries] rows with this signature; new, present: int64[values] new rows, and all rows
    had:     int64[entries] counterfeits of the last release (they are kept before others are made)
    extra:   int64[signatures] whole sets that a bucket must take beyond balance (e-equivalence)
    regions: int64[regions, values] new rows by where they live; together they are `new`
    """

    signatures: Signatures
    alive: Int64
    new: Int64
    present: Int64
    had: Int64
    extra: Int64
    regions: Int64


def count_demand(snapshot: Coded, known: PastSignatures, bucket: Int32, home: Int64) -> Demand:
    """Division in counts: what every bucket holds, and the new rows by value. home: int64[rows], their regions."""
    signatures, values = known.signatures, snapshot.value_count
    fresh = np.flatnonzero(bucket < 0)
    width = int(home[fresh].max(initial=0)) + 1
    regions = np.bincount(home[fresh] * values + snapshot.values[fresh], minlength=width * values)
    fakes = known.fakes
    had = count_entries(signatures, np.asarray(fakes["signature"], np.int32), np.asarray(fakes["value"], np.int32))
    return Demand(
        signatures,
        count_entries(signatures, bucket, snapshot.values),
        np.bincount(snapshot.values[bucket < 0], minlength=values).astype(np.int64),
        np.bincount(snapshot.values, minlength=values).astype(np.int64),
        had,
        np.zeros(len(signatures), dtype=np.int64),
        regions.reshape(width, values).astype(np.int64),
    )


def plan_buckets(demand: Demand, m: int, *, repair: bool) -> BucketPlan:
    """Phases 2 and 3: balance the buckets, assign the rest. O(entries log entries), independent of the rows.

    Raises InfeasiblePolicy when the rest is not m-eligible and repair by counterfeits is not allowed.
    """
    known = demand.signatures
    height = known.most(demand.alive) + demand.extra
    shortfall = height[known.owner] - demand.alive
    values = len(demand.new)
    lacking = np.bincount(known.values, weights=shortfall, minlength=values).astype(np.int64)
    use = plan_supply(lacking, demand.new, demand.present, m, repair=repair)
    rest = demand.new - use.taken + use.repair
    signatures, places, sets = _assign_by_region(known, rest, demand, m)
    alive, had, gap = (pad_counts(counts, len(signatures.values)) for counts in (demand.alive, demand.had, shortfall))
    height = pad_counts(height, len(signatures)) + sets
    slots = height[signatures.owner] - alive
    total = np.bincount(signatures.values, weights=slots, minlength=values).astype(np.int64)
    fakes = _share_out(signatures, total - demand.new, (np.minimum(had, gap), gap, slots))
    whole = np.maximum(signatures.fewest(fakes) - pad_counts(demand.extra, len(signatures)), 0)  # of counterfeits only
    return BucketPlan(signatures, height - whole, alive, fakes - whole[signatures.owner], places)


def pad_counts(counts: Int64, size: int) -> Int64:
    """counts with zeros for what was added since."""
    return np.concatenate([counts, np.zeros(size - len(counts), dtype=np.int64)])


def _share_out(signatures: Signatures, needed: Int64, rooms: tuple[Int64, ...]) -> Int64:
    """int64[entries]: `needed` counterfeits per value over its entries; rooms are used in order, each a limit in all.

    Old counterfeits stay before new ones are made, and shortfalls of old buckets come before new sets.
    """
    order = np.argsort(signatures.values, kind="stable")
    value = signatures.values[order]
    given = np.zeros(len(order), dtype=np.int64)
    left = needed.copy()
    for room in rooms:
        free = np.maximum(room[order] - given, 0)
        before = np.cumsum(free) - free
        first = np.searchsorted(value, np.arange(len(needed)))
        base = (
            before[np.minimum(first, max(len(before) - 1, 0))] if len(before) else np.zeros(len(needed), dtype=np.int64)
        )
        step = np.clip(left[value] - (before - base[value]), 0, free)
        given += step
        left = left - np.bincount(value, weights=step, minlength=len(needed)).astype(np.int64)
    fakes = np.empty(len(order), dtype=np.int64)
    fakes[order] = given
    return fakes


def _assign_by_region(known: Signatures, rest: Int64, demand: Demand, m: int) -> tuple[Signatures, Int64, Int64]:
    """Phase 3 where people live: (signatures, int64[n, 3] region, signature and sets, int64[signatures] all sets).

    A region has its share of the rest. Regions whose share is not m-eligible share a plan with the next ones; so does
    everybody where counterfeits join the rest.
    """
    height, number = known.most(demand.alive), np.zeros(len(known), dtype=np.int64)
    places: list[Int64] = [np.empty((0, 3), dtype=np.int64)]
    for members, counts in _group_regions(_share_by_region(rest, demand), m):
        known, sets = assign_sets(known, counts, m, pad_counts(height, len(known)))
        number = pad_counts(number, len(known)) + sets
        taken = np.flatnonzero(sets)
        places += [np.stack([np.full(len(taken), region), taken, sets[taken]], axis=1) for region in members]
    return known, np.concatenate(places), number


def _share_by_region(rest: Int64, demand: Demand) -> Int64:
    """int64[regions, values]: the rest of each value over the regions, as their new rows are, if it is of them."""
    if (rest > demand.new).any():
        return rest[None]
    upto = np.cumsum(demand.regions, axis=0) * rest // np.maximum(demand.new, 1)  # sums are kept, each is a share
    return np.diff(upto, axis=0, prepend=0)


def _group_regions(shares: Int64, m: int) -> list[tuple[list[int], Int64]]:
    """Regions that plan together, with their counts by value: every group m-eligible, if all together are."""
    groups: list[tuple[list[int], Int64]] = []
    for region, counts in enumerate(shares):
        if groups and m * groups[-1][1].max(initial=0) > groups[-1][1].sum():
            groups[-1] = ([*groups[-1][0], region], groups[-1][1] + counts)
        else:
            groups.append(([region], counts))
    while len(groups) > 1 and m * groups[-1][1].max(initial=0) > groups[-1][1].sum():
        last = groups.pop()
        groups[-1] = (groups[-1][0] + last[0], groups[-1][1] + last[1])
    return groups


def assign_sets(known: Signatures, rest: Int64, m: int, height: Int64) -> tuple[Signatures, Int64]:
    """Phase 3: cut m-eligible rows into sets; (signatures, old and new; int64[signatures] sets that each takes).

    height: int64[signatures], the sets that the bucket of each known signature has. Known signatures first, as long as
    what is left stays m-eligible: old buckets stay large, and large buckets give small boxes and few counterfeits.
    Each takes as many as others in proportion to its height, so that its rows find newcomers near them; then as many
    as it can. Then new signatures of the most frequent values.
    """
    left, sets = ValuesLeft(rest), np.zeros(len(known), dtype=np.int64)
    whole = int(known.sizes @ height)
    if whole:
        _reuse(known, left, sets, -(-height * left.rows // whole), m)
    _reuse(known, left, sets, np.full(len(known), left.rows), m)
    start, values, taken = [0], [], []
    while left.rows:
        chosen, number = left.take_most_frequent(m)
        values += sorted(chosen)
        start.append(start[-1] + len(chosen))
        taken.append(number)
    if not taken:
        return known, sets
    more = Signatures(np.array(start, dtype=np.int64), np.array(values, dtype=np.int32))
    union, number_of = join_sets(known, more)
    sets = pad_counts(sets, len(union))
    np.add.at(sets, number_of, np.array(taken, dtype=np.int64))
    return union, sets


def _reuse(known: Signatures, left: ValuesLeft, sets: Int64, limit: Int64, m: int) -> None:
    """Give rows to known signatures, always to the one that can take most sets, the first of several.

    limit: int64[signatures], the most sets that each may take. Changes left, sets and limit. How much one can take only
    falls, so a heap of upper bounds finds it: near O(entries log entries) in all.
    """
    if len(known) == 0 or not left.rows:
        return
    start, values = known.start.tolist(), known.values.tolist()
    most = np.minimum(known.fewest(np.array(left.left)[known.values]), limit)
    able = np.flatnonzero((most > 0) & (known.sizes >= m))
    heap = list(zip((-most[able]).tolist(), able.tolist(), strict=True))
    heapify(heap)
    while heap:
        bound, signature = heappop(heap)
        own = values[start[signature] : start[signature + 1]]
        number = min(left.count_sets(own, m), int(limit[signature]))
        if number == -bound:
            left.take(own, number)
            sets[signature] += number
            limit[signature] -= number
            number = min(left.count_sets(own, m), int(limit[signature]))
        if number > 0:
            heappush(heap, (-number, signature))


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
    room = np.flatnonzero((taken < most) & (new - taken == low)) if low else NO_NUMBERS
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
