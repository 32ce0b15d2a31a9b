"""e-equivalence (He, Barman & Naughton 2011): m-invariance whose releases do not tell small groups to be equal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

import numpy as np

from reissue.arrays.sets import lookup
from reissue.arrays.types import Bool, Int32, Int64
from reissue.errors import InfeasiblePolicy
from reissue.methods.equivalence.lifespans import (
    TWICE,
    Events,
    Spans,
    find_new_cuts,
    recall_spans,
    remember_spans,
    remove_spans,
)
from reissue.methods.invariance.buckets import BucketPlan, Demand, count_demand, pad_counts, plan_buckets
from reissue.methods.invariance.signatures import STOPPED_BY_EXCHANGE, divide
from reissue.methods.invariance.strategy import (
    Cells,
    Fakes,
    SignatureStrategy,
    describe_steps,
    find_kept_fakes,
    make_counterfeits,
)
from reissue.model.boxes import bounding_boxes, widen_to_nodes
from reissue.model.release import Candidate, Coded, Counterfeits, Facts, History, Table
from reissue.model.settings import Within


@dataclass(frozen=True, kw_only=True)
class EEquivalence(SignatureStrategy):
    """One merged class per signature; no two sets of fewer than e people are told equal.

    m:             as in m-invariance
    e:             the smallest size of two sets of people that the series may show to have the same values
    publishing:    "anatomized" (exact quasi-identifiers and values in two tables) or "generalized" (boxes, as in the
                   paper's table IVa)
    on_ineligible: "refuse" a snapshot in which one value is too frequent, or repair it with "counterfeit" rows
    """

    e: Annotated[int, Within("a number of people", least=1, why="where 1 forbids nothing and 2 forbids equal pairs")]
    publishing: Literal["anatomized", "generalized"] = "anatomized"
    on_ineligible: Literal["refuse", "counterfeit"] = "refuse"

    name: ClassVar[str] = "e-equivalence"
    stops: ClassVar[tuple[str, ...]] = ("association", "equivalence", *STOPPED_BY_EXCHANGE)

    def publish(self, snapshot: Coded, history: History) -> Candidate:
        rng, anatomized = np.random.default_rng(history.seed), self.publishing == "anatomized"
        spans = recall_spans(history.caches, snapshot.codes.shape[1])
        self._check_past(spans, len(history))
        bucket = divide(snapshot, spans.known, self.m)
        cells = Cells.of(snapshot, bucket, self.m, larger=2 * self.e - 1)  # so many newcomers a bucket takes, or none
        demand = count_demand(snapshot, spans.known, bucket, cells.homes)
        decided, extra = self._plan(demand, spans, snapshot, len(history) + 1)
        fakes = make_counterfeits(decided, spans.known, snapshot, bucket, exact=anatomized, rng=rng)
        classes, fake_classes, boxes = _buckets_as_classes(snapshot, cells.deal(decided, fakes, rng).signature, fakes)
        done = describe_steps(demand, decided, fakes, len(boxes))
        return Candidate(
            boxes=boxes,
            classes=classes,
            counterfeits=Counterfeits(fakes.subjects, fake_classes, fakes.value, np.asfortranarray(fakes.codes)),
            steps=(
                *done[:-1],
                f"Cuts: {extra} buckets took whole sets so that no cut is below {2 * self.e - 1}.",
                done[-1],
            ),
            anatomized=anatomized,
            extras={"e": np.array([self.e], dtype=np.int32)},
        )

    def _check_past(self, spans: Spans, releases: int) -> None:
        """Nothing published later can take back what the past releases told."""
        if releases and spans.promised < self.e:
            raise InfeasiblePolicy(
                f"e={self.e} cannot hold: releases of this series were published with e={spans.promised}, and what "
                f"they tell cannot be taken back. The largest feasible e is {spans.promised}. Lower e, or start a new "
                f"series."
            )

    def _plan(self, demand: Demand, spans: Spans, snapshot: Coded, now: int) -> tuple[BucketPlan, int]:
        """Algorithms 2 and 3 on counts: plan, look at the new cuts, ask for whole sets where one is too small, again.

        A bucket that lost people, or had to be balanced, gets the sets it needs before new rows are assigned freely: of
        real rows as long as there are any. A bucket that only received new rows, too few of them, is filled up with
        counterfeits at the end: that disturbs no other bucket. What is asked for only grows, so the rounds end.
        """
        enough = 2 * (self.e - 1)
        people = _follow_people(spans, snapshot)
        closed = remove_spans(spans.closed, *people.undone)
        while True:
            decided = plan_buckets(demand, self.m, repair=self.on_ineligible == "counterfeit")
            events = _count_events(decided, spans, people, now)
            cuts = find_new_cuts(events, closed, enough)
            weak = (cuts >= 0) & (cuts <= enough) & ~((cuts == 0) & ~events.odd)
            sets = decided.height - decided.signatures.most(decided.alive)  # beyond balance
            sizes = decided.signatures.sizes
            first = weak & ((events.direct != sets * sizes) | _find_losing(events))
            known = np.arange(len(sizes)) < len(demand.signatures)
            needed = np.where(weak, -(-(enough + 1 - cuts) // sizes), 0)
            if not (first & known).any():
                return _fill_up(decided, needed), int(((needed > 0) | (pad_counts(demand.extra, len(sizes)) > 0)).sum())
            more = (needed + sets)[: len(demand.signatures)]
            extra = np.where(
                (first & known)[: len(demand.signatures)], np.maximum(demand.extra + 1, more), demand.extra
            )
            demand = replace(demand, extra=extra)

    def remember(self, caches: Mapping[str, Table], release: Facts) -> Mapping[str, Table]:
        return remember_spans(caches, release)

    def thresholds(self) -> Mapping[str, float]:
        return {"m": float(self.m), "e": float(self.e), "invariant": 1.0}


@dataclass(frozen=True, eq=False)
class _People:
    """What the snapshot does to the known people: who stays, who goes, who is there twice.

    stay, gone: (signature, entered), int32[n] each, of people with one lifespan
    undone: (signature, entered, left), int32[n] each, of people whose one lifespan has ended and who come back now
    back, twice: int32[n] signatures of those who come back or leave once more, and of all who were ever there twice
    """

    stay: tuple[Int32, Int32]
    gone: tuple[Int32, Int32]
    undone: tuple[Int32, Int32, Int32]
    back: Int32
    twice: Int32


def _follow_people(spans: Spans, snapshot: Coded) -> _People:
    known = spans.known
    at, there = lookup(known.subjects, snapshot.subjects)
    here = np.zeros(len(known.subjects), dtype=np.bool_)
    here[at[there]] = True
    was = spans.left == 0
    once = spans.entered != TWICE
    stay, gone, back = was & here & once, was & ~here & once, ~was & here
    moved_again = ~once & (was != here)
    return _People(
        (known.signature[stay], spans.entered[stay]),
        (known.signature[gone], spans.entered[gone]),
        (known.signature[back & once], spans.entered[back & once], spans.left[back & once]),
        known.signature[back | moved_again],
        known.signature[back | ~once],
    )


def _count_events(decided: BucketPlan, spans: Spans, people: _People, now: int) -> Events:
    """People and counterfeits together: what this plan would do to the graphs."""
    number = len(decided.signatures)
    keep = find_kept_fakes(decided, spans.known)
    retire = np.setdiff1d(np.arange(len(spans.fake_entered)), keep)
    owner = np.asarray(spans.known.fakes["signature"], dtype=np.int32)
    entering = np.bincount(decided.signatures.owner, weights=decided.quota + decided.counterfeits, minlength=number)
    direct = entering.astype(np.int64) - np.bincount(owner[keep], minlength=number)
    parts = []
    for (signature, entered), fakes in ((people.stay, keep), (people.gone, retire)):
        both = np.concatenate([signature, owner[fakes]]), np.concatenate([entered, spans.fake_entered[fakes]])
        parts.append((*both, np.ones(len(both[0]), dtype=np.int64)))
    return Events(now, parts[0], parts[1], direct, _mark(people.back, number), _mark(people.twice, number))


def _mark(signatures: Int32, number: int) -> Bool:
    marked = np.zeros(number, dtype=np.bool_)
    marked[signatures] = True
    return marked


def _find_losing(events: Events) -> Bool:
    """bool[signatures]: the bucket changes in other ways than by new rows."""
    return replace(events, direct=np.zeros_like(events.direct)).touched


def _fill_up(decided: BucketPlan, sets: Int64) -> BucketPlan:
    """The plan with so many more sets of counterfeits in each bucket."""
    fakes = decided.counterfeits + sets[decided.signatures.owner]
    return replace(decided, height=decided.height + sets, counterfeits=fakes)


def _buckets_as_classes(snapshot: Coded, placed: Int32, fakes: Fakes) -> tuple[Int32, Int32, Int32]:
    """(int32[rows] classes, int32[fakes] classes, boxes): one class per bucket that has rows."""
    used, inverse = np.unique(np.concatenate([placed, fakes.signature]), return_inverse=True)
    classes = np.asarray(inverse, dtype=np.int32)
    codes = np.concatenate([snapshot.codes, fakes.codes])
    boxes = widen_to_nodes(bounding_boxes(codes, classes, len(used)), snapshot.domains)
    return classes[: len(snapshot)], classes[len(snapshot) :], boxes
