"""JS-reduce (Riboni et al. 2012): k-anonymity, t-closeness and alike priors along the Hilbert curve."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np

from reissue.arrays.types import Int64
from reissue.errors import SettingsError
from reissue.methods.beliefs.classes import Leftovers, Promise, check_divergence, estimate_priors, propose, survey
from reissue.methods.beliefs.cycle import Reasoning, remember_beliefs
from reissue.methods.beliefs.knowledge import Knowledge
from reissue.methods.beliefs.promise_check import find_broken_promise
from reissue.methods.beliefs.settings import Informed
from reissue.methods.strategy import ANYTHING, Changes, Strategy
from reissue.model.fragment_counts import Tally
from reissue.model.hilbert import hilbert_keys
from reissue.model.release import Candidate, Coded, Facts, History, Table
from reissue.model.requirement import Requirement
from reissue.model.settings import check_kinds


@dataclass(frozen=True, kw_only=True)
class JSReduce(Informed, Strategy):
    """Every class has k rows, values at most t from the table's, and members' (revised) priors at most J bits apart.

    Its attacker weighs every assignment of a class's rows to its people by the sum of the priors.

    k, t, J:   rows at least; distance of value distributions at most (`ordered`: along the order of the values);
               Jensen-Shannon divergence of priors at most, in bits
    steps:     1 or 2: how many observations back an attacker's knowledge of transitions goes
    leftovers: rows that fit no class: "suppress" them, "relax" J and t until none is left, or "counterfeit" their value
    knowledge: what the attacker knows; compromised records enter the priors
    """

    k: int
    t: float
    J: float
    ordered: bool = False
    steps: Literal[1, 2] = 1
    leftovers: Leftovers = "suppress"
    knowledge: Knowledge = field(default_factory=Knowledge)

    name: ClassVar[str] = "js-reduce"
    supports: ClassVar[Changes] = ANYTHING
    repeats_until_stable: ClassVar[bool] = True
    follows: ClassVar[tuple[str, ...] | None] = ("bay-frame", "js-reduce")  # they keep what they were made with
    private_settings: ClassVar[tuple[str, ...]] = ("knowledge",)

    def __post_init__(self) -> None:
        check_kinds(type(self), vars(self))
        check_divergence(self.J)
        _ = self.promise
        if self.steps not in (1, 2):
            raise SettingsError(f"steps is {self.steps!r}; choose 1 or 2.")
        if self.leftovers not in ("suppress", "relax", "counterfeit"):
            raise SettingsError(f"leftovers is {self.leftovers!r}; choose 'suppress', 'relax' or 'counterfeit'.")

    @property
    def promise(self) -> Promise:
        """What every class must keep."""
        return Promise(Requirement(k=self.k, t=self.t, ordered=self.ordered), self.J)

    @property
    def reasoning(self) -> Reasoning:
        """How the attacker reasons."""
        return Reasoning("js-reduce", self.steps, "prior")

    def survey(self, snapshot: Coded, history: History) -> Tally:
        """The attacker knows the statistics of the whole table, and classes are compared with it."""
        return survey(snapshot, history, self.knowledge, self.reasoning)

    def publish(self, snapshot: Coded, history: History) -> Candidate:
        given = self.given
        prior, applied = estimate_priors(snapshot, history, self.knowledge, given, self.reasoning)
        return propose(
            snapshot, history, self.promise, self.leftovers, _along_the_curve, prior, applied, given.unmatched
        )

    def remember(self, caches: Mapping[str, Table], release: Facts) -> Mapping[str, Table]:
        """One turn of the belief cycle."""
        return remember_beliefs(caches, release, self.reasoning, self.knowledge.smoothing)

    def check(self, release: Facts, history: History) -> str | None:
        """What the finished release breaks, in a sentence; None if it keeps its promise."""
        relax = self.leftovers == "relax"
        return find_broken_promise(
            release, history, self.promise, self.reasoning, self.knowledge.smoothing, may_relax=relax
        )

    def thresholds(self) -> Mapping[str, float]:
        return {"k": float(self.k), "t": float(self.t), "J": float(self.J)}

    def side_of_a_cut(self, room: float) -> Requirement:
        return replace(super().side_of_a_cut(room), ordered=self.ordered)


def _along_the_curve(snapshot: Coded) -> Int64:
    return np.argsort(hilbert_keys(snapshot.codes, snapshot.domains), kind="stable")
