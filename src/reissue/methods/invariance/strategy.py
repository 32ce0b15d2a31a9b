"""m-invariance (Xiao & Tao 2007): every subject keeps one signature of at least m sensitive values for life.

Who is dealt into which class: cells and regions of a snapshot, and the counterfeits among its people. e-equivalence and
Cor-Split deal in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from reissue.arrays.types import NO_NUMBERS, Bool, Int32, Int64
from reissue.methods.invariance.buckets import BucketPlan, Demand, count_demand, plan_buckets
from reissue.methods.invariance.dealing import CELL, REGION, deal, part_regions
from reissue.methods.invariance.signatures import STOPPED_BY_EXCHANGE, PastSignatures, divide, recall, remember
from reissue.methods.strategy import VALUES_PERSIST, Changes, Strategy
from reissue.model.boxes import bounding_boxes, find_neighbours, hilbert_keys, widen_to_nodes
from reissue.model.counterfeit_rows import draw_columns
from reissue.model.release import Candidate, Coded, Counterfeits, Facts, History, Table
from reissue.model.settings import SignatureSize
from reissue.partition.tables import CellTree, grow_tree

NEAR = 2
"""How many places along the curve away a counterfeit of a box stands. Farther ones widen its class more than people
do; the statistics of `make counterfeits` decide."""


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
    ordered = [a for a, domain in enumerate(snapshot.domains) if domain.numeric]
    drawn = draw_columns(np.concatenate([snapshot.codes, others]), order, places, rng, ordered)
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
        return NO_NUMBERS
    order = np.argsort(bucket, kind="stable")
    low, high = (np.searchsorted(bucket[order], signature, side=side) for side in ("left", "right"))
    alone = low == high
    low[alone], high[alone] = 0, len(bucket)
    return np.asarray(order[rng.integers(low, high)], dtype=np.int64)


def _int32(column: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> Int32:
    return np.asarray(column, dtype=np.int32)


@dataclass(frozen=True, eq=False)
class Dealt:
    """The rows of a snapshot, and its counterfeits, in classes.

    signature: int32[rows], of newcomers, too; classes: int32[rows]; fakes: int32[fakes], classes; count: classes
    """

    signature: Int32
    classes: Int32
    fakes: Int32
    count: int


@dataclass(frozen=True, eq=False)
class Cells:
    """Where the people of a snapshot live: cells inside cells, and regions in which newcomers plan by themselves.

    bucket: int32[rows], the signature that each row has, -1 for newcomers; region: int64[cells], -1 for cells that
    hold several
    """

    snapshot: Coded
    bucket: Int32
    tree: CellTree
    region: Int64

    @staticmethod
    def of(snapshot: Coded, bucket: Int32, m: int, larger: int = 1) -> Cells:
        """Cells of at least CELL sets of m rows. larger: how many times more newcomers a region is to have.

        O(rows * attributes * log rows).
        """
        tree, fresh = grow_tree(snapshot.codes, snapshot.domains, CELL * m), np.flatnonzero(bucket < 0)
        region = part_regions(tree.parent, tree.leaf, fresh, larger * REGION * m * snapshot.value_count)
        return Cells(snapshot, bucket, tree, region)

    @property
    def homes(self) -> Int64:
        """int64[rows]: the region of each row."""
        return self.region[self.tree.leaf]

    def deal(self, plan: BucketPlan, fakes: Fakes, rng: np.random.Generator) -> Dealt:
        """Deal all rows and counterfeits into classes, as many of each signature as the plan says.

        O(rows log^2 rows), about.
        """
        rows = len(self.snapshot)
        bucket = np.concatenate([self.bucket, fakes.signature])
        values = np.concatenate([self.snapshot.values, fakes.value])
        leaf = np.concatenate([self.tree.leaf, self._find_leaves(fakes.codes)])
        signatures, classes = plan.signatures, np.full(len(bucket), -1, dtype=np.int32)
        entry = np.where(bucket < 0, -1, signatures.entries(bucket, values))
        planned, first = _sort_plan(plan, int(self.region.max()) + 1, self.snapshot.value_count)
        held = (signatures.start, signatures.owner, signatures.values, plan.quota.copy(), planned, first)
        turn = rng.permutation(len(bucket))
        count = deal(self.tree.parent, leaf, self.region, entry, values, turn, *held, classes)
        if (classes < 0).any():
            raise RuntimeError("The plan leaves rows without a class.")
        return Dealt(signatures.owner[entry[:rows]], classes[:rows], classes[rows:], count)

    def _find_leaves(self, codes: Int32) -> Int64:
        """int64[fakes]: the smallest cell of a person who is near each, along the Hilbert curve."""
        if len(codes) == 0 or len(self.snapshot) == 0:
            return np.zeros(len(codes), dtype=np.int64)
        keys = hilbert_keys(self.snapshot.codes, self.snapshot.domains)
        order = np.argsort(keys, kind="stable")
        at = np.searchsorted(keys[order], hilbert_keys(codes, self.snapshot.domains))
        return np.asarray(self.tree.leaf[order[np.minimum(at, len(order) - 1)]], dtype=np.int64)


def _sort_plan(plan: BucketPlan, regions: int, width: int) -> tuple[Int64, Int64]:
    """(int64[n, 2] signature and number of sets, int64[(regions + 1) * width + 1] where those of each region and first
    value begin). The last region is everywhere: what is over may be dealt as any quota allows."""
    signatures = plan.signatures
    wanted = np.flatnonzero(np.bincount(signatures.owner, plan.quota, minlength=len(signatures)) > 0)
    anywhere = np.stack([np.full(len(wanted), regions), wanted, plan.height[wanted]], axis=1)
    every = np.concatenate([plan.sets, anywhere])
    place = every[:, 0] * width + signatures.values[signatures.start[every[:, 1]]]
    order = np.argsort(place, kind="stable")
    first = np.searchsorted(place[order], np.arange((regions + 1) * width + 1))
    return every[order, 1:], first.astype(np.int64)


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


@dataclass(frozen=True, kw_only=True)
class SignatureStrategy(Strategy):
    """What all strategies have in common in which everybody keeps one signature of m values for life."""

    m: SignatureSize

    supports: ClassVar[Changes] = VALUES_PERSIST
    proved: ClassVar[tuple[str, ...]] = STOPPED_BY_EXCHANGE


@dataclass(frozen=True, kw_only=True)
class MInvariance(SignatureStrategy):
    """Every class shows at least m sensitive values, each once, and a subject's classes always show the same ones.

    m:             how many values an attacker must leave possible for everybody
    publishing:    "generalized" (boxes) or "anatomized" (exact quasi-identifiers and values in two tables)
    on_ineligible: "refuse" a snapshot in which one value is too frequent, or repair it with "counterfeit" rows
    """

    publishing: Literal["generalized", "anatomized"] = "generalized"
    on_ineligible: Literal["refuse", "counterfeit"] = "refuse"

    name: ClassVar[str] = "m-invariance"
    stops: ClassVar[tuple[str, ...]] = ("association", *STOPPED_BY_EXCHANGE)

    def publish(self, snapshot: Coded, history: History) -> Candidate:
        rng = np.random.default_rng(history.seed)
        known = recall(history.caches, snapshot.codes.shape[1])
        bucket = divide(snapshot, known, self.m)  # int32[rows], -1 = new
        cells = Cells.of(snapshot, bucket, self.m)
        demand = count_demand(snapshot, known, bucket, cells.homes)
        decided = plan_buckets(demand, self.m, repair=self.on_ineligible == "counterfeit")  # counts only
        fakes = make_counterfeits(decided, known, snapshot, bucket, self.publishing == "anatomized", rng)
        dealt = cells.deal(decided, fakes, rng)
        everybody = np.concatenate([snapshot.codes, fakes.codes])  # a box around people alone would be smaller
        boxes = bounding_boxes(everybody, np.concatenate([dealt.classes, dealt.fakes]), dealt.count)
        return Candidate(
            boxes=widen_to_nodes(boxes, snapshot.domains),
            classes=dealt.classes,
            counterfeits=Counterfeits(fakes.subjects, dealt.fakes, fakes.value, np.asfortranarray(fakes.codes)),
            steps=describe_steps(demand, decided, fakes, len(boxes)),
            anatomized=self.publishing == "anatomized",
        )

    def remember(self, caches: Mapping[str, Table], release: Facts) -> Mapping[str, Table]:
        return remember(caches, release)

    def thresholds(self) -> Mapping[str, float]:
        return {"m": float(self.m), "invariant": 1.0}
