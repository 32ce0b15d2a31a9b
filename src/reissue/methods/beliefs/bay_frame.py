"""BayFrame (Amiri et al. 2019): people share a class only if an attacker with statistics believes alike of them."""

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
from reissue.methods.beliefs.nearest_order import order_nearest_next
from reissue.methods.beliefs.posterior import ESTIMATORS, Estimator
from reissue.methods.beliefs.promise_check import find_broken_promise
from reissue.methods.beliefs.settings import Informed
from reissue.methods.strategy import ANYTHING, Changes, Strategy
from reissue.model.fragment_counts import Tally
from reissue.model.hilbert import hilbert_keys
from reissue.model.release import Candidate, Coded, Facts, History, Table
from reissue.model.requirement import Requirement
from reissue.model.settings import check_kinds


@dataclass(frozen=True, kw_only=True)
class BayFrame(Informed, Strategy):
    """J-similarity: k rows, beta-likeness (or t-closeness), and prior beliefs at most J bits apart in every class.

    k, J:       rows of a class at least; Jensen-Shannon divergence of its members' (revised) priors at most, in bits
    beta, t:    how far the values of a class may be from the table's (see reissue.model.requirement); one is needed
    ordered:    t along the order of the values
    steps:      1 or 2: how many observations back an attacker's knowledge of transitions goes
    estimator:  how the attacker reads a class: "bayes", "js-reduce" or "omega"
    cascading:  compromised records enter the "prior" (known before the release) or the "posterior" (known after it)
    leftovers:  rows that fit no class: "suppress" them, "relax" J and beta (t) until none is left, or "counterfeit"
                their value
    order:      rows by "nearest" point next, or along the "hilbert" curve
    knowledge:  what the attacker knows
    """

    k: int
    J: float
    beta: float | None = None
    t: float | None = None
    ordered: bool = False
    steps: Literal[1, 2] = 1
    estimator: Estimator = "bayes"
    cascading: Literal["prior", "posterior"] = "prior"
    leftovers: Leftovers = "suppress"
    order: Literal["nearest", "hilbert"] = "nearest"
    knowledge: Knowledge = field(default_factory=Knowledge)

    name: ClassVar[str] = "bay-frame"
    supports: ClassVar[Changes] = ANYTHING
    repeats_until_stable: ClassVar[bool] = True
    follows: ClassVar[tuple[str, ...] | None] = ("bay-frame", "js-reduce")  # they keep what they were made with
    private_settings: ClassVar[tuple[str, ...]] = ("knowledge",)

    def __post_init__(self) -> None:
        check_kinds(type(self), vars(self))
        check_divergence(self.J)
        _ = self.promise
        if self.beta is None and self.t is None:
            raise SettingsError("Neither beta nor t is given; a class must be like the table: set beta, for example 5.")
        for name, allowed in (
            ("estimator", ESTIMATORS),
            ("cascading", ("prior", "posterior")),
            ("leftovers", ("suppress", "relax", "counterfeit")),
            ("order", ("nearest", "hilbert")),
            ("steps", (1, 2)),
        ):
            if getattr(self, name) not in allowed:
                choices = ", ".join(repr(choice) for choice in allowed)
                raise SettingsError(f"{name} is {getattr(self, name)!r}; choose one of {choices}.")
        if self.cascading == "posterior" and self.estimator != "bayes":
            raise SettingsError(f'cascading "posterior" needs the estimator "bayes", not "{self.estimator}".')

    @property
    def promise(self) -> Promise:
        """What every class must keep."""
        return Promise(Requirement(k=self.k, beta=self.beta, t=self.t, ordered=self.ordered), self.J)

    @property
    def reasoning(self) -> Reasoning:
        """How the attacker reasons."""
        return Reasoning(self.estimator, self.steps, self.cascading)

    def survey(self, snapshot: Coded, history: History) -> Tally:
        """The attacker knows the statistics of the whole table, and classes are compared with it."""
        return survey(snapshot, history, self.knowledge, self.reasoning)

    def publish(self, snapshot: Coded, history: History) -> Candidate:
        given = self.given
        prior, applied = estimate_priors(snapshot, history, self.knowledge, given, self.reasoning)
        return propose(snapshot, history, self.promise, self.leftovers, self._line, prior, applied, given.unmatched)

    def _line(self, snapshot: Coded) -> Int64:
        """int64[rows]: the order in which rows become classes."""
        if self.order == "nearest":
            return order_nearest_next(snapshot.codes, snapshot.domains)
        return np.argsort(hilbert_keys(snapshot.codes, snapshot.domains), kind="stable")

    def remember(self, caches: Mapping[str, Table], release: Facts) -> Mapping[str, Table]:
        """One turn of the belief cycle."""
        return remember_beliefs(caches, release, self.reasoning, self.knowledge.smoothing)

    def check(self, release: Facts, history: History) -> str | None:
        """What the finished release breaks, in a sentence; None if it keeps its promise."""
        return find_broken_promise(
            release,
            history,
            self.promise,
            self.reasoning,
            self.knowledge.smoothing,
            may_relax=self.leftovers == "relax",
        )

    def thresholds(self) -> Mapping[str, float]:
        asked = {"k": self.k, "J": self.J, "beta": self.beta, "t": self.t}
        return {name: float(limit) for name, limit in asked.items() if limit is not None}

    def side_of_a_cut(self, room: float) -> Requirement:
        return replace(super().side_of_a_cut(room), ordered=self.ordered)
