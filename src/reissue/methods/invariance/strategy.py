"""m-invariance (Xiao & Tao 2007): every subject keeps one signature of at least m sensitive values for life."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from reissue.arrays.types import Int32, Int64
from reissue.methods.invariance.assignment import Fakes, describe_steps, make_counterfeits, place_rows
from reissue.methods.invariance.buckets import count_demand, divide, plan_buckets
from reissue.methods.invariance.signatures import STOPPED_BY_EXCHANGE, recall, remember
from reissue.methods.invariance.splitting import split
from reissue.methods.strategy import VALUES_PERSIST, Changes, Strategy
from reissue.model.boxes import bounding_boxes, hilbert_keys, widen_to_nodes
from reissue.model.release import Candidate, Coded, Counterfeits, Facts, History, Table
from reissue.model.settings import SignatureSize


@dataclass(frozen=True, kw_only=True)
class MInvariance(Strategy):
    """Every class shows at least m sensitive values, each once, and a subject's classes always show the same ones.

    m:             how many values an attacker must leave possible for everybody
    publishing:    "generalized" (boxes) or "anatomized" (exact quasi-identifiers and values in two tables)
    on_ineligible: "refuse" a snapshot in which one value is too frequent, or repair it with "counterfeit" rows
    """

    m: SignatureSize
    publishing: Literal["generalized", "anatomized"] = "generalized"
    on_ineligible: Literal["refuse", "counterfeit"] = "refuse"

    name: ClassVar[str] = "m-invariance"
    supports: ClassVar[Changes] = VALUES_PERSIST
    stops: ClassVar[tuple[str, ...]] = ("association", *STOPPED_BY_EXCHANGE)
    proved: ClassVar[tuple[str, ...]] = STOPPED_BY_EXCHANGE

    def publish(self, snapshot: Coded, history: History) -> Candidate:
        rng = np.random.default_rng(history.seed)
        known = recall(history.caches, snapshot.codes.shape[1])
        bucket = divide(snapshot, known, self.m)  # int32[rows], -1 = new
        demand = count_demand(snapshot, known, bucket)
        decided = plan_buckets(demand, self.m, repair=self.on_ineligible == "counterfeit")  # counts only
        keys = hilbert_keys(snapshot.codes, snapshot.domains)
        placed = place_rows(decided, snapshot, bucket, keys)  # int32[rows]
        fakes = make_counterfeits(decided, known, snapshot, placed, self.publishing == "anatomized", rng)
        classes, fake_classes, boxes = _make_classes(snapshot, placed, keys, fakes)
        return Candidate(
            boxes=boxes,
            classes=classes,
            counterfeits=Counterfeits(fakes.subjects, fake_classes, fakes.value, np.asfortranarray(fakes.codes)),
            steps=describe_steps(demand, decided, fakes, len(boxes)),
            anatomized=self.publishing == "anatomized",
        )

    def remember(self, caches: Mapping[str, Table], release: Facts) -> Mapping[str, Table]:
        return remember(caches, release)

    def thresholds(self) -> Mapping[str, float]:
        return {"m": float(self.m), "invariant": 1.0}


def _make_classes(snapshot: Coded, placed: Int32, keys: Int64, fakes: Fakes) -> tuple[Int32, Int32, Int32]:
    """Phase 4: (int32[rows] classes, int32[fakes] classes, boxes). Counterfeits span boxes as people do: one around
    the people of a class alone would be smaller than others."""
    rows = len(snapshot)
    codes = np.concatenate([snapshot.codes, fakes.codes])
    all_keys = np.concatenate([keys, hilbert_keys(fakes.codes, snapshot.domains)])
    bucket = np.concatenate([placed, fakes.signature])
    values = np.concatenate([snapshot.values, fakes.value])
    classes, number = split(codes, bucket, values, all_keys, snapshot.domains)
    return classes[:rows], classes[rows:], widen_to_nodes(bounding_boxes(codes, classes, number), snapshot.domains)
