"""Cor-Partition: classes of a bucket that differ from every earlier class in n people or more, or in none.

The bucket is first dealt as m-invariance deals it (`dealing`), which puts near classes next to each other. Every class
that is unsafe is then repaired by the mildest means that helps:
  1. exchange rows of equal value with a near class, so that both are safe; where several exchanges do, the one with the
     smallest semiperimeter of both classes;
  2. merge it with classes next to it, so that each value occurs equally often but more than once;
  3. give it one counterfeit of every value. They were in no earlier class, so s >= n rows of it are new: it is safe.
Buckets so small that even all their rows together would be unsafe ask for more new rows before rows are assigned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from reissue.arrays.types import NO_NUMBERS, Bool, Int32, Int64
from reissue.methods.correlation.cor_partition_kernels import exchange_unsafe, merge_unsafe, unsafe_together
from reissue.methods.invariance.buckets import BucketPlan, Demand
from reissue.model.domain import Domain

WINDOW = 12
"""How many classes to either side are tried for an exchange."""


@dataclass(frozen=True, eq=False)
class RowTrails:
    """The trails of the rows that are being published.

    begin, end: int64[rows] the trail of each row in groups; groups: int32[]; sizes: int32[classes ever published]
    """

    begin: Int64
    end: Int64
    groups: Int32
    sizes: Int32


@dataclass(frozen=True, eq=False)
class RepairedClasses:
    """classes: int32[rows]; count: number of classes; lacking: bool[count] classes that need a set of counterfeits.

    unsafe, merged: how many classes were unsafe as they were dealt, and how many of them were repaired by merging
    """

    classes: Int32
    count: int
    lacking: Bool
    unsafe: int
    merged: int


def ask_for_rows(demand: Demand, bucket: Int32, history: RowTrails, n: int) -> Demand:
    """The demand with one more set of new rows for every bucket that would be unsafe even as one class.

    bucket: int32[rows], -1 = new. Only buckets hardly larger than the largest earlier class can be: few are looked at.
    """
    known = demand.signatures
    size = known.sizes * known.most(demand.alive)
    small = (size > 0) & (size < int(history.sizes.max(initial=0)) + n)
    chosen = np.flatnonzero(small)
    rows = np.flatnonzero(small[bucket] & (bucket >= 0)) if len(small) else NO_NUMBERS
    rows = rows[np.argsort(bucket[rows], kind="stable")]
    start = np.searchsorted(bucket[rows], np.append(chosen, len(known))).astype(np.int64)
    trails = (history.begin, history.end, history.groups, history.sizes)
    unsafe = unsafe_together(rows, start, size[chosen], trails, n)
    extra = demand.extra.copy()
    extra[chosen[unsafe]] += 1
    return replace(demand, extra=extra)


def drop_empty_sets(plan: BucketPlan) -> BucketPlan:
    """The plan without sets of counterfeits only: what a bucket asked for and no new row can give."""
    fewest = plan.signatures.fewest(plan.counterfeits)
    fakes = plan.counterfeits - fewest[plan.signatures.owner]
    return replace(plan, height=plan.height - fewest, counterfeits=fakes)


def repair_classes(
    classes: Int32, bucket: Int32, values: Int32, codes: Int32, domains: Sequence[Domain], history: RowTrails, n: int
) -> RepairedClasses:
    """Repair the classes that were dealt; all arrays are over rows.

    O(rows log rows + rows x releases they lived in), plus per unsafe class a bounded number of such checks.
    """
    count = int(classes.max()) + 1 if len(classes) else 0
    width = int(values.max()) + 1 if len(values) else 1
    order = np.argsort(classes.astype(np.int64) * width + values, kind="stable")  # equal values at equal places
    start = np.searchsorted(classes[order], np.arange(count + 1)).astype(np.int64)
    owner = bucket[order[start[:-1]]]
    first = np.flatnonzero(np.diff(owner, prepend=-1))
    bounds = np.append(first, count).astype(np.int64)
    scale = np.array([1.0 / domain.cost_span for domain in domains], dtype=np.float64)
    rows = (np.ascontiguousarray(codes), scale)
    trails = (history.begin, history.end, history.groups, history.sizes)
    unsafe, left = exchange_unsafe(order, start, bounds, rows, trails, n, WINDOW)
    joins, lacking = merge_unsafe(order, start, bounds, left, rows, trails, n)
    number = np.cumsum(~joins) - 1
    repaired = np.empty(len(order), dtype=np.int32)
    repaired[order] = np.repeat(number, np.diff(start))
    needy = np.zeros(count - int(joins.sum()), dtype=np.bool_)
    needy[number[lacking]] = True
    return RepairedClasses(repaired, len(needy), needy, int(unsafe), int(left.sum() - lacking.sum()))
