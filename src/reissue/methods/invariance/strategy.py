"""m-invariance (Xiao & Tao 2007): every subject keeps one signature of at least m sensitive values for life."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from reissue.methods.invariance.assignment import Cells, describe_steps, make_counterfeits
from reissue.methods.invariance.buckets import count_demand, plan_buckets
from reissue.methods.invariance.signatures import STOPPED_BY_EXCHANGE, divide, recall, remember
from reissue.methods.strategy import VALUES_PERSIST, Changes, Strategy
from reissue.model.boxes import bounding_boxes, widen_to_nodes
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
