"""Standing: everybody belongs to one class for life, and a class tells its values once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

import numpy as np

from reissue.arrays.types import Bool, Int32, Int64
from reissue.methods.standing.blind_cuts import cut_blindly
from reissue.methods.standing.leaving import expect_totals, learn_leaving
from reissue.methods.standing.newcomers import Intake, Newcomers
from reissue.methods.standing.notes import describe_reading
from reissue.methods.standing.places import Places, recall, remember
from reissue.methods.standing.promise_check import count_weaker, find_fault, find_shared_fault
from reissue.methods.standing.sharing import ROWS, count_rows, find_shared_box, refuse_rows
from reissue.methods.standing.totals import add_noise, is_quiet, weigh_totals
from reissue.methods.strategy import ANYTHING, Changes, Strategy
from reissue.model.feasible import refuse_infeasible
from reissue.model.fragment_counts import FragmentCounts
from reissue.model.release import Candidate, Coded, Counterfeits, Facts, History, Table
from reissue.model.requirement import Requirement
from reissue.model.settings import FINITE, RowCount, Share, Within
from reissue.model.standing_classes import StandingClasses
from reissue.partition.mondrian import Partition


@dataclass(frozen=True, kw_only=True)
class Standing(Strategy):
    """Everybody belongs to one class for life, formed of newcomers without looking at who has which value.

    k, c, l:       a class is formed of at least k people, with no value above share c and at least l values
    row_k, row_l:  rows show a box that at least row_k rows share; in the flat form with row_l different dealt values
    form:          "flat" (one table, every row with a value that was dealt to it inside its class) or "told" (rows with
                   their class, and the values of each class in a table of their own)
    totals:        the epsilon that each departure, return or blending may cost; None: totals are those to be expected
                   from classes and how many of their people are left, which costs nothing
    on_ineligible: newcomers who are too few or too alike to be a class are "blend"ed with made-up tokens, or "wait"
    known:         how many classmates' values an attacker may know while c still holds
    """

    k: RowCount = 8
    c: Share = 0.4
    l: Annotated[int, Within("a number of values", least=1)] = 4  # noqa: E741 (the literature's name)
    row_k: RowCount = 5
    row_l: Annotated[int, Within("a number of values", least=1)] = 2
    form: Literal["flat", "told"] = "flat"
    totals: Annotated[float, Within("an epsilon, for example 0.5", above=0, most=FINITE)] | None = None
    on_ineligible: Literal["blend", "wait"] = "blend"
    known: int = 0

    name: ClassVar[str] = "standing"
    supports: ClassVar[Changes] = ANYTHING
    stands: ClassVar[bool] = True
    stops: ClassVar[tuple[str, ...]] = (
        "intersection",
        "difference",
        "record-tracing",
        "correspondence",
        "association",
        "equivalence",
        "historical-correlation",
        "possible-worlds",
    )
    proved: ClassVar[tuple[str, ...]] = stops

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.class_requirement

    @property
    def promised(self) -> tuple[str, ...]:
        """Without association where a value may have more than half of a class: nothing then keeps two values even.

        Where a class may show a single value, nobody can promise that two people of it are not known to share one.
        """
        lost = {"association"} if self.c > 0.5 else set()
        lost |= {"equivalence"} if self.c == 1 and self.l == 1 else set()
        return tuple(name for name in self.stops if name not in lost)

    @property
    def class_requirement(self) -> Requirement:
        """What every class satisfies when it is formed."""
        return Requirement(k=self.k, c=self.c, l=self.l, known=self.known)

    @property
    def row_requirement(self) -> Requirement:
        """What the rows of every box satisfy, with the values that they show."""
        return Requirement(k=self.row_k, l=self.row_l if self.form == "flat" and self.row_l > 1 else None)

    def publish(self, snapshot: Coded, history: History) -> Candidate:
        """Give newcomers a class for life, then everybody present a row in a box of its own."""
        places = recall(history)
        standing, dealt = places.find(snapshot)  # int32[rows], -1 = newcomer
        new = np.flatnonzero(standing < 0)
        stayed = np.sort(snapshot.subjects[standing >= 0])
        formed = self._receive(_take(snapshot, new), snapshot, places.draw, history.seed).form_classes()
        placed = new[formed.standing >= 0]
        standing[placed] = formed.standing[formed.standing >= 0] + places.next_class
        dealt[placed] = formed.dealt[formed.standing >= 0]
        present = np.flatnonzero(standing >= 0)
        if len(present) == 0 and (history.whole is None or not len(history.whole.everywhere[ROWS].key)):
            self._refuse_everybody(snapshot, formed)
        rows, shared = self._rows(_take(snapshot, present), dealt[present], history)
        classes = np.full(len(snapshot), -1, dtype=np.int32)
        classes[present] = rows.classes
        facts = replace(self._facts(snapshot, history, places, standing, dealt, formed, stayed), shared=shared)
        none = Counterfeits.none(len(snapshot.domains))
        steps = self._steps(len(stayed), len(new), formed, rows, facts)
        return Candidate(rows.boxes, classes, none, steps, extras=facts.table())

    def survey(self, snapshot: Coded, history: History) -> FragmentCounts:
        """What its rows will show, and where they lie: a fragment too small for a box shares one with the next."""
        places = recall(history)
        standing, dealt = places.find(snapshot)
        new = standing < 0
        newcomers = replace(
            snapshot, subjects=snapshot.subjects[new], codes=snapshot.codes[:0], values=snapshot.values[new]
        )  # nothing is cut
        came = self._receive(newcomers, snapshot, places.draw, history.seed).foresee_dealt()
        codes = snapshot.codes if len(came) == len(newcomers) else snapshot.codes[~new]
        return count_rows(history.fragment, codes, np.concatenate([dealt[~new], came]))

    def _receive(self, newcomers: Coded, snapshot: Coded, draw: Int32, seed: int) -> Intake:
        return Intake(newcomers, snapshot.values, self.class_requirement, draw, self.on_ineligible, seed)

    def _refuse_everybody(self, snapshot: Coded, formed: Newcomers) -> None:
        if formed.refusal is not None:
            raise formed.refusal
        refuse_infeasible(self.class_requirement, np.bincount(snapshot.values, minlength=1).astype(np.int64))

    def _rows(self, present: Coded, dealt: Int32, history: History) -> tuple[Partition, Bool | None]:
        """(boxes of everybody present, in fragments bool[boxes] which of them others show, too).

        In the flat form dealt values, never true ones, may refuse a cut.
        """
        found, row_l = None, self.row_l if self.form == "flat" else 1
        if history.whole is None:
            refuse_rows(len(present), len(np.unique(dealt)), self.row_k, row_l)
        elif len(present):
            found = find_shared_box(history.whole, history.fragment, self.row_k, row_l, present.domains)
        rng = np.random.default_rng([history.seed, 13])
        rows = cut_blindly(present, dealt, self.row_requirement, rng, classes=False)
        if found is not None:
            return found.apply(rows)
        return rows, None if history.whole is None else np.zeros(len(rows.boxes), dtype=np.bool_)

    def _facts(
        self,
        snapshot: Coded,
        history: History,
        places: Places,
        standing: Int32,
        dealt: Int32,
        formed: Newcomers,
        stayed: Int64,
    ) -> StandingClasses:
        """What the ledger is to keep of the release."""
        present = standing >= 0
        fresh = formed.tokens.numbered_from(places.next_class)
        live = np.flatnonzero(np.bincount(standing[present])).astype(np.int32)
        noise, tokens = None, places.tokens_of(live[live < places.next_class]).followed_by(fresh)
        last = None if places.last is None else places.last.standing
        leaving = None if last is None else learn_leaving(last, standing[present])
        totals = expected = expect_totals(tokens, standing[present], leaving, snapshot.value_count)
        if self.totals is not None:
            quiet = is_quiet(history, stayed, formed.blended > 0)
            rng = np.random.default_rng([history.seed, 14])
            noise = add_noise(self.totals, places.noise, snapshot.value_count, quiet, rng)
            noisy = noise + np.bincount(snapshot.values[present], minlength=snapshot.value_count)
            totals = weigh_totals(expected, noisy, self.totals, len(history))
        return StandingClasses(
            standing=standing,
            dealt=dealt,
            tokens=tokens,
            told=self.form == "told",
            waiting=snapshot.subjects[~present],
            draw=formed.draw,
            noise=noise,
            totals=totals,
            expected=expected,
            leaving=leaving,
        )

    def _steps(
        self, stayed: int, new: int, formed: Newcomers, rows: Partition, facts: StandingClasses
    ) -> tuple[str, ...]:
        """What was done, in plain sentences."""
        keep = "1 person keeps the class it has" if stayed == 1 else f"{stayed:,} people keep the class they have"
        steps = [f"{keep} for life."] if stayed else []
        came = "1 newcomer" if new == 1 else f"{new:,} newcomers"
        who = f"{came} (people never published before, or whose value changed)"
        if formed.blended:
            made_up = int(formed.tokens.made_up.sum())
            steps.append(
                f"{who}: too few or too alike to be a class by themselves. They share one with {made_up:,} made-up "
                "tokens, which are nobody's."
            )
        elif formed.refusal is not None:
            steps.append(f"{who}: held back until they fit, too few or too alike to be a class. {formed.refusal}")
        elif new:
            count = int(formed.standing.max()) + 1
            classes = "1 class" if count == 1 else f"{count:,} classes"
            steps.append(
                f"{who} form {classes} for life, cut without looking at who has which value, "
                f"{self.class_requirement.sentence()}."
            )
        if not len(rows.classes):
            return (*steps, "Nobody of this fragment can be published.")
        sizes = np.bincount(rows.classes)
        told = "every class reveals its values once, for life"
        flat = "a row's value is one that was dealt to it inside its class"
        steps.append(
            f"{len(rows.classes):,} rows show {len(sizes):,} boxes of {sizes.min():,} to {sizes.max():,} rows, made "
            f"from quasi-identifiers alone; {told if facts.told else flat}."
        )
        if facts.shared is not None and facts.shared.any():
            steps.append("One of the boxes is shared with other fragments, of which some are too small for one.")
        if facts.noise is not None:
            steps.append(f"Totals are published with noise (epsilon = {self.totals:g} for each departure or return).")
        elif stayed:
            steps.append("Totals are those to be expected, from the classes and how many of their people are left.")
        return tuple(steps)

    def remember(self, caches: Mapping[str, Table], release: Facts) -> Mapping[str, Table]:
        return remember(caches, release)

    def check(self, release: Facts, history: History) -> str | None:
        """Whether the finished release is what was promised, by code that did not make it."""
        return find_fault(self, release, history)

    def count_weaker(self, release: Facts) -> int:
        return count_weaker(self, release)

    def check_shared(self, shared: Sequence[Int64]) -> str | None:
        return find_shared_fault(self, shared)

    def reading_notes(self) -> tuple[str, ...]:
        """How to read the files, for whoever gets them."""
        return describe_reading(self.form, self.k, self.totals)

    def thresholds(self) -> Mapping[str, float]:
        return {"k": float(self.k), "c": float(self.c), "l": float(self.l)}

    def side_of_a_cut(self, room: float) -> Requirement:
        """Every fragment's people are to fit a class by themselves, also if they become a little more alike."""
        return Requirement(k=self.k, c=room * self.c, l=self.l)


def _take(snapshot: Coded, rows: Int64) -> Coded:
    """Some of the rows, ascending; the snapshot itself if these are all."""
    return snapshot if len(rows) == len(snapshot) else snapshot.part(rows)
