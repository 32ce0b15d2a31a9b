"""The phases that m-invariance, e-equivalence and Cor-Split share: division, balancing, assignment, on counts.

A bucket is all rows of one signature. Counts are held per entry, a (signature, value) pair of `Signatures`. The
phases decide how many new rows and counterfeits every entry takes; `placement` then chooses the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush

import numpy as np

from reissue.arrays.sets import lookup
from reissue.arrays.types import Int32, Int64
from reissue.errors import ChangeError, InfeasiblePolicy
from reissue.methods.invariance.signatures import PastSignatures, Signatures, join_sets
from reissue.methods.invariance.values_left import ValuesLeft
from reissue.model.release import Coded


@dataclass(frozen=True, eq=False)
class BucketPlan:
    """How many rows of each value every bucket holds.

    signatures:   the known ones first, then new ones
    height:       int64[signatures] rows of each value in the bucket
    alive:        int64[entries] rows that already had this signature
    counterfeits: int64[entries]
    The rest, height - alive - counterfeits, are new rows.
    """

    signatures: Signatures
    height: Int64
    alive: Int64
    counterfeits: Int64

    @property
    def quota(self) -> Int64:
        """int64[entries]: new rows that each entry takes."""
        return self.height[self.signatures.owner] - self.alive - self.counterfeits


def divide(snapshot: Coded, known: PastSignatures, m: int) -> Int32:
    """Phase 1. int32[rows]: the signature each row has since its first release, -1 for new rows. O(n log people)."""
    _refuse_changed(snapshot, known)
    at, there = lookup(known.subjects, snapshot.subjects)
    bucket = np.full(len(snapshot), -1, dtype=np.int32)
    bucket[there] = known.signature[at[there]]
    old = np.flatnonzero(there)
    sizes = known.signatures.sizes[bucket[old]]
    if len(old) and int(sizes.min()) < m:
        short = int((sizes < m).sum())
        raise InfeasiblePolicy(
            f"m={m} cannot hold: {short} of the {len(snapshot)} subjects were first published in a class of only "
            f"{int(sizes.min())} sensitive values. The largest feasible m is {int(sizes.min())}. "
            f"Lower m, or start a new series."
        )
    strayed = int((known.signatures.entries(bucket[old], snapshot.values[old]) < 0).sum())
    if strayed:
        raise ChangeError(
            f"{strayed} subjects have a sensitive value that is not in the signature they were published with. This "
            f'strategy protects values that persist. Use on_change = "new-subject", or a strategy for changing values.'
        )
    return bucket


def _refuse_changed(snapshot: Coded, known: PastSignatures) -> None:
    """Whoever was shown with two sets has only their intersection left, which no later class can make good."""
    changed = snapshot.subjects[lookup(known.changed, snapshot.subjects)[1]]
    if len(changed) == 0:
        return
    raise InfeasiblePolicy(
        f"{len(changed):,} of the {len(snapshot):,} subjects were already shown with different sets of sensitive "
        f"values in earlier releases, for example {{subject:{int(changed.min())}}}. What is out cannot be taken back, "
        f"and this strategy promises one set for life. Leave them out of the snapshot, or look at what another "
        f"strategy would add to what is out: publish --dry-run --strategy standing."
    )


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
    """

    signatures: Signatures
    alive: Int64
    new: Int64
    present: Int64
    had: Int64
    extra: Int64


def count_demand(snapshot: Coded, known: PastSignatures, bucket: Int32) -> Demand:
    """Division in counts: what every bucket holds, and the new rows by value."""
    signatures, values = known.signatures, snapshot.value_count
    fakes = known.fakes
    had = count_entries(signatures, np.asarray(fakes["signature"], np.int32), np.asarray(fakes["value"], np.int32))
    return Demand(
        signatures,
        count_entries(signatures, bucket, snapshot.values),
        np.bincount(snapshot.values[bucket < 0], minlength=values).astype(np.int64),
        np.bincount(snapshot.values, minlength=values).astype(np.int64),
        had,
        np.zeros(len(signatures), dtype=np.int64),
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
    signatures, sets = assign_sets(known, rest, m)
    alive, had, gap = (pad_counts(counts, len(signatures.values)) for counts in (demand.alive, demand.had, shortfall))
    height = pad_counts(height, len(signatures)) + sets
    slots = height[signatures.owner] - alive
    total = np.bincount(signatures.values, weights=slots, minlength=values).astype(np.int64)
    fakes = _share_out(signatures, total - demand.new, (np.minimum(had, gap), gap, slots))
    whole = _count_whole_sets(signatures, fakes, pad_counts(demand.extra, len(signatures)))
    return BucketPlan(signatures, height - whole, alive, fakes - whole[signatures.owner])


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


def _count_whole_sets(signatures: Signatures, fakes: Int64, extra: Int64) -> Int64:
    """int64[signatures]: sets made of counterfeits only, which nobody needs, except the `extra` ones."""
    if len(signatures) == 0:
        return np.empty(0, dtype=np.int64)
    fewest = np.minimum.reduceat(fakes, signatures.start[:-1])
    return np.maximum(fewest - extra, 0)


def assign_sets(known: Signatures, rest: Int64, m: int) -> tuple[Signatures, Int64]:
    """Phase 3: cut m-eligible rows into sets; (signatures, old and new; int64[signatures] sets that each takes).

    Known signatures first, as long as what is left stays m-eligible: old buckets stay large, and large buckets give
    small boxes and few counterfeits. Then new signatures of the most frequent values.
    """
    left = ValuesLeft(rest)
    sets = _reuse(known, left, m)
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


def _reuse(known: Signatures, left: ValuesLeft, m: int) -> Int64:
    """int64[signatures]: sets that known ones take, always the one that can take most rows, the first of several.

    How much one can take only falls, so a heap of upper bounds finds it: near O(entries log entries) in all.
    """
    sets = np.zeros(len(known), dtype=np.int64)
    if len(known) == 0 or not left.rows:
        return sets
    start, values = known.start.tolist(), known.values.tolist()
    fewest = np.minimum.reduceat(np.array(left.left)[known.values], known.start[:-1])
    able = np.flatnonzero((fewest > 0) & (known.sizes >= m))
    heap = list(zip((-fewest * known.sizes)[able].tolist(), able.tolist(), strict=True))
    heapify(heap)
    while heap:
        bound, signature = heappop(heap)
        own = values[start[signature] : start[signature + 1]]
        number = left.count_sets(own, m)
        if number * len(own) == -bound:
            left.take(own, number)
            sets[signature] += number
            number = left.count_sets(own, m)
        if number > 0:
            heappush(heap, (-number * len(own), signature))
    return sets


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
