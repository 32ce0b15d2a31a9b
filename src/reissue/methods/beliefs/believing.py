"""What BayFrame and JS-reduce share: classes whose members an attacker with statistics believes alike of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, Literal, Self

import numpy as np

from reissue.arrays.types import Int64
from reissue.errors import SettingsError
from reissue.methods.beliefs.classes import Divergence, Leftovers, SimilarityPromise, estimate_priors, propose, survey
from reissue.methods.beliefs.cycle import Reasoning, remember_beliefs
from reissue.methods.beliefs.knowledge import Informed
from reissue.methods.beliefs.promise_check import find_broken_promise
from reissue.methods.strategy import ANYTHING, Changes, Strategy
from reissue.methods.value_order import OrderedValues
from reissue.model.boxes import hilbert_keys
from reissue.model.fragment_counts import FragmentCounts
from reissue.model.observed import Names
from reissue.model.release import Candidate, Coded, Facts, History, Table
from reissue.model.requirement import Distance, Requirement
from reissue.model.settings import Chance, RowCount


class Believing(Informed, OrderedValues, Strategy):
    """A strategy that groups people by an attacker's beliefs; its settings are those of the papers."""

    k: RowCount
    J: Divergence
    t: Distance | None
    steps: Literal[1, 2]
    leftovers: Leftovers
    most_suppressed: Chance

    supports: ClassVar[Changes] = ANYTHING
    repeats_until_stable: ClassVar[bool] = True
    follows: ClassVar[tuple[str, ...] | None] = ("bay-frame", "js-reduce")  # they keep what they were made with
    private_settings: ClassVar[tuple[str, ...]] = ("knowledge",)

    def __post_init__(self) -> None:
        if self.leftovers in ("relax", "counterfeit"):
            raise SettingsError(
                f'leftovers = "{self.leftovers}" is gone, since it changed what holds for everybody, or what is true, '
                "for the sake of a few rows: leave the setting out, and raise J or beta (t), or lower k, where too "
                "many rows fit no class."
            )
        super().__post_init__()
        _ = self.promise

    def prepare(self, names: Names) -> Self:
        return super().prepare(names).with_order(names)

    @property
    def asked_beta(self) -> float | None:
        """The beta in force, if there is one."""
        return None

    @property
    def promise(self) -> SimilarityPromise:
        """What every class must keep."""
        return SimilarityPromise(
            Requirement(k=self.k, beta=self.asked_beta, t=self.t, ordered=self.ordered, order=self._order), self.J
        )

    @property
    def reasoning(self) -> Reasoning:
        """How the attacker reasons."""
        return Reasoning("js-reduce", self.steps, "prior")

    def survey(self, snapshot: Coded, history: History) -> FragmentCounts:
        """The attacker knows the statistics of the whole table, and classes are compared with it."""
        return survey(snapshot, history, self.knowledge, self.reasoning)

    def publish(self, snapshot: Coded, history: History) -> Candidate:
        given = self.given
        prior, applied = estimate_priors(snapshot, history, self.knowledge, given, self.reasoning)
        how = (self.promise, self.line_up(snapshot))
        return propose(snapshot, history, *how, prior, applied, given.unmatched, self.most_suppressed)

    def line_up(self, snapshot: Coded) -> Int64:
        """int64[rows]: the order in which rows become classes: along the Hilbert curve."""
        return np.argsort(hilbert_keys(snapshot.codes, snapshot.domains), kind="stable")

    def remember(self, caches: Mapping[str, Table], release: Facts) -> Mapping[str, Table]:
        """One turn of the belief cycle."""
        return remember_beliefs(caches, release, self.reasoning, self.knowledge.smoothing)

    def check(self, release: Facts, history: History) -> str | None:
        """What the finished release breaks, in a sentence; None if it keeps its promise."""
        return find_broken_promise(release, history, self.promise, self.reasoning, self.knowledge.smoothing)

    def thresholds(self) -> Mapping[str, float]:
        asked = {"k": self.k, "J": self.J, "beta": self.asked_beta, "t": self.t}
        return {name: float(limit) for name, limit in asked.items() if limit is not None}

    def side_of_a_cut(self, room: float) -> Requirement:
        return replace(super().side_of_a_cut(room), ordered=self.ordered)
