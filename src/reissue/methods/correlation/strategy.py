"""Cor-Split (Riboni & Bettini 2009): weak m-invariance in which compromised people give little away about others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from reissue.arrays.types import Bool, Int32
from reissue.errors import InfeasiblePolicy, SettingsError
from reissue.methods.correlation.breach_probability import (
    BreachChance,
    CompromisedShare,
    Lifetime,
    breach_probability,
    check_chances,
    choose_degree,
    find_longest_life,
)
from reissue.methods.correlation.cor_partition import (
    RepairedClasses,
    RowTrails,
    ask_for_rows,
    drop_empty_sets,
    repair_classes,
)
from reissue.methods.correlation.inference import build_world
from reissue.methods.correlation.memory import Trails, recall_trails, remember_trails
from reissue.methods.correlation.simulation import measure_chains
from reissue.methods.invariance.buckets import count_demand, plan_buckets
from reissue.methods.invariance.signatures import STOPPED_BY_EXCHANGE, PastSignatures, divide, recall
from reissue.methods.invariance.strategy import (
    Cells,
    Dealt,
    Fakes,
    SignatureStrategy,
    describe_steps,
    draw_codes,
    make_counterfeits,
)
from reissue.model.boxes import bounding_boxes, widen_to_nodes
from reissue.model.observed import ObservedRelease
from reissue.model.release import Candidate, Coded, Counterfeits, Facts, History, Table

TRIALS = 3
"""Draws of compromised people when a release is made; an audit takes more."""
MOST_ROWS = 1_000_000
"""Rows of all releases together, about, beyond which chains are left to the audit."""


@dataclass(frozen=True, kw_only=True)
class CorSplit(SignatureStrategy):
    """Every class shows at least m values equally often, a subject's classes always the same ones, and a class differs
    from every earlier class in at least n people, or in none.

    m:             how many values an attacker must leave possible for everybody
    p:             the share of people whose value an attacker may come to know
    L:             the most releases one person is published in
    h:             the probability of a breach must stay below this; n is then the smallest degree that does it
    n:             the degree itself; without p, L and h it is taken as it is
    on_limit:      "refuse" a snapshot in which somebody was published L times already, or "retire" such people
    publishing:    "generalized" (boxes) or "anatomized" (exact quasi-identifiers and values in two tables)
    on_ineligible: "refuse" a snapshot in which one value is too frequent, or repair it with "counterfeit" rows
    """

    p: CompromisedShare | None = None
    L: Lifetime | None = None
    h: BreachChance | None = None
    n: int | None = None
    on_limit: Literal["refuse", "retire"] = "refuse"
    publishing: Literal["generalized", "anatomized"] = "generalized"
    on_ineligible: Literal["refuse", "counterfeit"] = "refuse"

    name: ClassVar[str] = "cor-split"
    stops: ClassVar[tuple[str, ...]] = ("association", "historical-correlation", *STOPPED_BY_EXCHANGE)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_chances(m=self.m, n=self.n)
        self._check_degree()

    def _check_degree(self) -> None:
        missing = [name for name in ("p", "L", "h") if getattr(self, name) is None]
        if self.n is None and missing:
            raise SettingsError(
                f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing: give p, L and h, from which n "
                "is chosen, or give n itself."
            )
        if self.n is None:
            assert self.degree  # n-Choose refuses here, before anything is published
        elif self.p is not None and self.L is not None and self.h is not None:
            reached = breach_probability(self.p, self.L, self.m, self.n)
            if reached >= self.h:
                needed = choose_degree(self.p, self.L, self.m, self.h)
                raise InfeasiblePolicy(
                    f"n={self.n} does not keep h={self.h:g}: the probability of a breach is {reached:.4g} with "
                    f"p={self.p:g}, L={self.L} and m={self.m}. Raise n to {needed}, or leave n out."
                )

    @cached_property
    def degree(self) -> int:
        """The n in force: the one given, or what n-Choose takes."""
        if self.n is not None:
            return self.n
        assert self.p is not None
        assert self.L is not None
        assert self.h is not None
        return choose_degree(self.p, self.L, self.m, self.h)

    def publish(self, snapshot: Coded, history: History) -> Candidate:
        rng = np.random.default_rng(history.seed)
        trails = recall_trails(history.caches)
        stays = self._within_limit(snapshot, trails)  # bool[rows]
        rows = snapshot if stays.all() else _take_rows(snapshot, stays)
        known = self._without_old_fakes(recall(history.caches, snapshot.codes.shape[1]), trails)
        bucket = divide(rows, known, self.m)  # int32[rows], -1 = new
        past = RowTrails(*trails.of(rows.subjects), trails.groups, trails.sizes)
        cells = Cells.of(rows, bucket, self.m)
        demand = ask_for_rows(count_demand(rows, known, bucket, cells.homes), bucket, past, self.degree)
        repair = self.on_ineligible == "counterfeit"
        decided = drop_empty_sets(plan_buckets(demand, self.m, repair=repair))  # counts only
        exact = self.publishing == "anatomized"
        fakes = make_counterfeits(decided, known, rows, bucket, exact, rng)
        dealt = cells.deal(decided, fakes, rng)
        parts = self._repair(rows, dealt, fakes, past, trails)
        told = describe_steps(demand, decided, fakes, parts.count)
        fakes, fake_classes = _add_sets(parts, rows, dealt.signature, fakes, min(known.lowest, 0), exact, rng)
        real = parts.classes[: len(rows)]
        everybody, everywhere = np.concatenate([rows.codes, fakes.codes]), np.concatenate([real, fake_classes])
        classes = np.full(len(snapshot), -1, dtype=np.int32)
        classes[stays] = real
        candidate = Candidate(
            boxes=widen_to_nodes(bounding_boxes(everybody, everywhere, parts.count), rows.domains),
            classes=classes,
            counterfeits=Counterfeits(fakes.subjects, fake_classes, fakes.value, np.asfortranarray(fakes.codes)),
            steps=(*told, *self._told(parts, int((~stays).sum()))),
            anatomized=exact,
        )
        return replace(
            candidate, steps=(*candidate.steps, *self._warn(candidate.facts(len(history) + 1, snapshot), history))
        )

    def _warn(self, release: Facts, history: History) -> list[str]:
        """What h does not cover: a degree that hinders nobody, and chains of reasoning, measured with this release."""
        said = []
        if self.degree == 1 and self.n is None:
            said.append(
                f"WARNING: n-Choose takes n=1 for p={self.p:g}, L={self.L} and h={self.h:g}: classes may differ from "
                "earlier ones in a single person, who is then known with the one who left. Set n=2 or more."
            )
        if self.p is None or self.h is None:
            return said
        sizes = len(release.subjects) * (len(history) + 1)
        if sizes > MOST_ROWS:
            said.append(f"Chains from compromised people were not measured: the releases have over {MOST_ROWS:,} rows.")
            return said
        past = [history.releases[i] for i in range(len(history))]
        world = build_world([ObservedRelease.of(facts) for facts in (*past, release)])
        reached = measure_chains(world, self.p, TRIALS, seed=0)
        known, allowed = f"{100 * self.p:.3g}% of the people known", f"h={self.h:g}"
        if reached > self.h:
            said.append(
                f"WARNING: with {known}, chains of reasoning disclose {100 * reached:.3g}% of the others once this "
                f"release is out ({TRIALS} draws), above {allowed}, which bounds one step of reasoning only. The "
                "audit will count it as a breach. A smaller L, or e-equivalence, withstands chains longer."
            )
        else:
            said.append(f"Chains: with {known}, {100 * reached:.3g}% of the others are disclosed; {allowed} holds.")
        return said

    def _within_limit(self, snapshot: Coded, trails: Trails) -> Bool:
        """bool[rows]: who may be published once more; the others are refused or retired, as set."""
        if self.L is None:
            return np.ones(len(snapshot), dtype=np.bool_)
        begin, end = trails.of(snapshot.subjects)
        lived = end - begin
        within = lived < self.L
        if self.on_limit == "retire" or within.all():
            return np.asarray(within, dtype=np.bool_)
        raise InfeasiblePolicy(self._limit_reached(int((~within).sum()), int(lived.max()) + 1))

    def _limit_reached(self, people: int, needed: int) -> str:
        odds = ""
        if self.p is not None and self.L is not None:
            now, then = (breach_probability(self.p, lived, self.m, self.degree) for lived in (self.L, needed))
            odds = f", which raises the probability of a breach from {now:.4g} to {then:.4g}"
            if self.h is not None and then >= self.h:
                most = find_longest_life(self.p, self.m, self.h, self.degree)
                odds += f" (not below h={self.h:g}; with n={self.degree} at most L={most} is)"
        return (
            f"{people:,} subjects of this snapshot were published {self.L} times already, the limit L={self.L}. "
            f'Raise L to {needed}{odds}, or set on_limit="retire": they are then left out of this and later releases.'
        )

    def _without_old_fakes(self, known: PastSignatures, trails: Trails) -> PastSignatures:
        """Counterfeits that were published L times give way to new ones."""
        if self.L is None or len(trails.fakes) == 0:
            return known
        lived = np.diff(trails.start)  # releases of everybody
        fresh = lived[len(trails.subjects) :] < self.L
        fakes = {name: column[fresh] for name, column in known.fakes.items()}
        return replace(known, fakes=fakes, fake_codes=known.fake_codes[fresh])

    def _repair(self, rows: Coded, dealt: Dealt, fakes: Fakes, past: RowTrails, trails: Trails) -> RepairedClasses:
        """Phase 4: the classes as they were dealt, those of a bucket next to each other, what is unsafe repaired."""
        bucket = np.concatenate([dealt.signature, fakes.signature])
        classes = np.concatenate([dealt.classes, dealt.fakes])
        owner = np.zeros(dealt.count, dtype=np.int32)
        owner[classes] = bucket
        number = np.empty(dealt.count, dtype=np.int32)
        number[np.argsort(owner, kind="stable")] = np.arange(dealt.count, dtype=np.int32)
        begin, end = trails.of_fakes(fakes.subjects)
        everything = replace(past, begin=np.concatenate([past.begin, begin]), end=np.concatenate([past.end, end]))
        codes, values = np.concatenate([rows.codes, fakes.codes]), np.concatenate([rows.values, fakes.value])
        return repair_classes(number[classes], bucket, values, codes, rows.domains, everything, self.degree)

    def _told(self, parts: RepairedClasses, retired: int) -> tuple[str, ...]:
        sets = int(parts.lacking.sum())
        said: tuple[str, ...] = (
            f"Cor-Partition with n={self.degree}: {parts.unsafe} classes of the split were unsafe; "
            f"{parts.unsafe - parts.merged - sets} were repaired by exchanging rows, {parts.merged} by merging, "
            f"{sets} by a set of counterfeits.",
        )
        if retired:
            said += (f"Retired: {retired} subjects who were published L={self.L} times are left out.",)
        return said

    def remember(self, caches: Mapping[str, Table], release: Facts) -> Mapping[str, Table]:
        return remember_trails(caches, release)

    def measured_thresholds(self) -> Mapping[str, float]:
        """The policy's own p and h: audits draw compromised people and follow chains."""
        return {} if self.p is None or self.h is None else {"p": self.p, "h": self.h}

    def thresholds(self) -> Mapping[str, float]:
        return {"m": float(self.m), "invariant": 1.0, "n": float(self.degree)}


def _take_rows(snapshot: Coded, kept: Bool) -> Coded:
    codes = np.asfortranarray(snapshot.codes[kept])
    return replace(snapshot, subjects=snapshot.subjects[kept], codes=codes, values=snapshot.values[kept])


def _add_sets(
    parts: RepairedClasses, rows: Coded, placed: Int32, fakes: Fakes, lowest: int, exact: bool, rng: np.random.Generator
) -> tuple[Fakes, Int32]:
    """(the counterfeits with one more of every value in each class that lacks a set, int32[] their classes).

    A new one stands near a subject of its class. Numbers go on below all that were ever used.
    """
    real, fake_classes = parts.classes[: len(rows)], parts.classes[len(rows) :]
    lacking = np.flatnonzero(parts.lacking)
    if len(lacking) == 0:
        return fakes, fake_classes
    place_of = np.concatenate([real, fake_classes])
    values, signature = np.concatenate([rows.values, fakes.value]), np.concatenate([placed, fakes.signature])
    model = np.flatnonzero(parts.lacking[place_of])  # such a class was not merged: it has every value once
    codes = draw_codes(rows, place_of[model], real, fakes.codes if exact else None, rng)
    below = min(lowest, int(fakes.subjects.min(initial=0)))
    number = np.arange(below - 1, below - 1 - len(model), -1, dtype=np.int64)
    more = Fakes(
        np.concatenate([fakes.subjects, number]),
        np.concatenate([fakes.signature, signature[model]]),
        np.concatenate([fakes.value, values[model]]),
        np.concatenate([fakes.codes, codes]),
        np.concatenate([fakes.kept, np.zeros(len(model), dtype=np.bool_)]),
    )
    return more, np.concatenate([fake_classes, place_of[model]])
