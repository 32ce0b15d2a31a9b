"""Choosing rows for quotas: among interchangeable rows of one value, those nearest to the bucket in QI space."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reissue.arrays.types import Bool, Int32, Int64
from reissue.methods.invariance.buckets import BucketPlan, Demand
from reissue.methods.invariance.signatures import PastSignatures
from reissue.model.boxes import hilbert_keys
from reissue.model.counterfeit_rows import NEAR, draw_columns, find_neighbours
from reissue.model.release import Coded


def place_rows(plan: BucketPlan, snapshot: Coded, bucket: Int32, keys: Int64) -> Int32:
    """int32[rows]: `bucket` with every new row (-1) given a signature, as the plan's quotas say. O(n log n).

    Every slot of a quota gets a place to stand at: the slots of a bucket are spread over its present rows along the
    Hilbert curve (keys: int64[rows]), those of a new bucket over all new rows. Per value, slots and new rows are then
    matched in the order of the curve, which is the nearest matching on a line.
    """
    placed = bucket.copy()
    fresh = np.flatnonzero(bucket < 0)
    entry = np.repeat(np.arange(len(plan.quota)), plan.quota)
    target = _find_targets(plan, bucket, keys, np.sort(keys[fresh]))
    slots = np.lexsort((target, plan.signatures.values[entry]))
    rows = fresh[np.lexsort((keys[fresh], snapshot.values[fresh]))]
    placed[rows] = plan.signatures.owner[entry[slots]]
    return placed


def _find_targets(plan: BucketPlan, bucket: Int32, keys: Int64, fresh_keys: Int64) -> Int64:
    """int64[slots]: where on the curve each new row of a quota should be; slots in entry order."""
    quota = plan.quota
    rank = np.arange(int(quota.sum())) - np.repeat(np.cumsum(quota) - quota, quota)
    share = (rank + 0.5) / np.repeat(np.maximum(quota, 1), quota)
    signature = np.repeat(plan.signatures.owner, quota)
    old = np.flatnonzero(bucket >= 0)
    old = old[np.lexsort((keys[old], bucket[old]))]
    size = np.bincount(bucket[old], minlength=len(plan.signatures))
    first = np.cumsum(size) - size
    pool = np.concatenate([keys[old], fresh_keys])
    own = size[signature] > 0
    base = np.where(own, first[signature], len(old))
    length = np.where(own, size[signature], len(fresh_keys))
    return np.asarray(pool[base + (share * length).astype(np.int64)], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Fakes:
    """The counterfeits of the release being made.

    subjects: int64[n] negative; signature, value: int32[n]; codes: int32[n, attributes]; kept: bool[n] whether it was
    in the last release too
    """

    subjects: Int64
    signature: Int32
    value: Int32
    codes: Int32
    kept: Bool


def make_counterfeits(
    plan: BucketPlan, known: PastSignatures, snapshot: Coded, bucket: Int32, exact: bool, rng: np.random.Generator
) -> Fakes:
    """As many counterfeits per entry as the plan says: those of the last release first, then new ones.

    A new one stands near a subject of its bucket, in a bucket without subjects near any subject. exact: whether its
    codes are published as they are. O(rows log rows) only where counterfeits are new.
    """
    stay = find_kept_fakes(plan, known)
    had = plan.signatures.entries(_int32(known.fakes["signature"])[stay], _int32(known.fakes["value"])[stay])
    wanted = plan.counterfeits - np.bincount(had, minlength=len(plan.counterfeits))
    entry = np.repeat(np.arange(len(wanted)), wanted)
    lowest = min(known.lowest, 0)
    number = np.arange(lowest - 1, lowest - 1 - len(entry), -1, dtype=np.int64)
    codes = draw_codes(snapshot, plan.signatures.owner[entry], bucket, known.fake_codes[stay] if exact else None, rng)
    return Fakes(
        np.concatenate([np.asarray(known.fakes["subject"], dtype=np.int64)[stay], number]),
        np.concatenate([_int32(known.fakes["signature"])[stay], plan.signatures.owner[entry]]),
        np.concatenate([_int32(known.fakes["value"])[stay], plan.signatures.values[entry]]),
        np.concatenate([known.fake_codes[stay], codes]),
        np.arange(len(stay) + len(entry)) < len(stay),
    )


def draw_codes(snapshot: Coded, homes: Int32, home_of: Int32, others: Int32 | None, rng: np.random.Generator) -> Int32:
    """int32[n, attributes]: codes of new counterfeits, near somebody of their home (a bucket or a class).

    homes: int32[n]; home_of: int32[rows]. In a box nobody sees whether two rows are equal: there a neighbour's codes
    serve. Exact rows (others: int32[any, attributes] the counterfeits there are already) are mixed from several
    neighbours, so that they repeat others only as often as people do.
    """
    if len(homes) == 0 or len(snapshot) == 0:
        return _draw_freely(snapshot, len(homes), rng)
    order = np.argsort(hilbert_keys(snapshot.codes, snapshot.domains), kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    places = place[_choose_models(homes, home_of, rng)]
    if others is None:
        return snapshot.codes[order[find_neighbours(places, len(order), NEAR, rng)]]
    drawn = draw_columns(np.concatenate([snapshot.codes, others]), order, places, rng)
    return np.asarray(snapshot.codes[drawn, np.arange(drawn.shape[1])[None, :]], dtype=np.int32)


def find_kept_fakes(plan: BucketPlan, known: PastSignatures) -> Int64:
    """int64[]: which counterfeits of the last release (positions) the plan still needs."""
    had = plan.signatures.entries(_int32(known.fakes["signature"]), _int32(known.fakes["value"]))
    order = np.argsort(had, kind="stable")
    rank = np.arange(len(had)) - np.searchsorted(had[order], had[order])
    return np.asarray(order[rank < plan.counterfeits[had[order]]], dtype=np.int64)


def _draw_freely(snapshot: Coded, number: int, rng: np.random.Generator) -> Int32:
    """int32[number, attributes]: random codes, for a snapshot without rows to copy."""
    columns = [rng.integers(domain.lo, domain.hi + 1, number) for domain in snapshot.domains]
    return np.stack(columns, axis=1).astype(np.int32) if columns else np.empty((number, 0), dtype=np.int32)


def _choose_models(signature: Int32, bucket: Int32, rng: np.random.Generator) -> Int64:
    """int64[n]: a random row of each wanted bucket, or any row where the bucket has none."""
    if len(signature) == 0:
        return np.empty(0, dtype=np.int64)
    order = np.argsort(bucket, kind="stable")
    low, high = (np.searchsorted(bucket[order], signature, side=side) for side in ("left", "right"))
    alone = low == high
    low[alone], high[alone] = 0, len(bucket)
    return np.asarray(order[rng.integers(low, high)], dtype=np.int64)


def _int32(column: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> Int32:
    return np.asarray(column, dtype=np.int32)


def describe_steps(demand: Demand, decided: BucketPlan, fakes: Fakes, classes: int) -> tuple[str, ...]:
    """What was done, for `release.describe_steps`."""
    old, new = int(demand.alive.sum()), int(demand.new.sum())
    buckets = int((decided.height > 0).sum())
    created = int((decided.height[len(demand.signatures) :] > 0).sum())
    kept = int(fakes.kept.sum())
    retired = int(demand.had.sum()) - kept
    return (
        f"Division: {old:,} rows keep the signature they had, {new:,} rows are new.",
        f"Balancing and assignment: {buckets:,} buckets, {created:,} of them with a new signature.",
        f"Counterfeits: {len(fakes.subjects):,} ({kept:,} from the last release, {retired:,} retired).",
        f"Split: {classes:,} classes.",
    )
