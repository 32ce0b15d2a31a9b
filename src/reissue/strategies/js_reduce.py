"""JS-reduce (Riboni et al. 2012): k-anonymity, t-closeness and alike priors along the Hilbert curve."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from math import isfinite
from typing import ClassVar, Literal

import numpy as np

from reissue.beliefs.checking import broken_promise
from reissue.beliefs.cycle import Reasoning, remembered
from reissue.beliefs.files import load
from reissue.beliefs.knowledge import Given, Knowledge, Names, require_read
from reissue.beliefs.making import Leftovers, Promise, believe, propose
from reissue.core.curve import hilbert_keys
from reissue.core.domain import Int64
from reissue.core.requirements import Requirement
from reissue.core.settings import check_kinds
from reissue.core.snapshot import Candidate, Coded, Facts, History, Table
from reissue.errors import SettingsError
from reissue.strategies.base import ANYTHING, Changes


@dataclass(frozen=True, kw_only=True)
class JSReduce:
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
    stops: ClassVar[tuple[str, ...]] = ()
    whole_table: ClassVar[bool] = True
    private_settings: ClassVar[tuple[str, ...]] = ("knowledge",)
    _given: ClassVar[Given | None] = None  # an instance that was prepared has its own

    def __post_init__(self) -> None:
        check_kinds(type(self), vars(self))
        if not (self.J >= 0 and isfinite(self.J)):
            raise SettingsError(f"J is {self.J}; it is a divergence in bits, at least 0; 0.2 to 0.8 are usual.")
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

    def prepare(self, names: Names) -> JSReduce:
        """The same strategy with the knowledge files read, their labels matched to the series' codes."""
        return self.informed(load(self.knowledge, names))

    def informed(self, given: Given) -> JSReduce:
        """The same strategy with knowledge in codes."""
        prepared = copy(self)
        object.__setattr__(prepared, "_given", given)
        return prepared

    def publish(self, snapshot: Coded, history: History) -> Candidate:
        given = require_read(self.knowledge, self._given)
        prior, applied = believe(snapshot, history, self.knowledge, given, self.reasoning)
        return propose(
            snapshot, history, self.promise, self.leftovers, _along_the_curve, prior, applied, given.unmatched
        )

    def remember(self, caches: Mapping[str, Table], release: Facts) -> Mapping[str, Table]:
        """One turn of the belief cycle."""
        return remembered(caches, release, self.reasoning, self.knowledge.smoothing)

    def check(self, release: Facts, history: History) -> str | None:
        """What the finished release breaks, in a sentence; None if it keeps its promise."""
        relax = self.leftovers == "relax"
        return broken_promise(release, history, self.promise, self.reasoning, self.knowledge.smoothing, may_relax=relax)

    def thresholds(self) -> Mapping[str, float]:
        return {"k": float(self.k), "t": float(self.t), "J": float(self.J)}


def _along_the_curve(snapshot: Coded) -> Int64:
    return np.argsort(hilbert_keys(snapshot.codes, snapshot.domains), kind="stable")
