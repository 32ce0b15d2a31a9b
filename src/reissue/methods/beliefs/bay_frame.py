"""BayFrame (Amiri et al. 2019): people share a class only if an attacker with statistics believes alike of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from reissue.arrays.types import Int64
from reissue.errors import SettingsError
from reissue.methods.beliefs.believing import Believing
from reissue.methods.beliefs.classes import MOST_SUPPRESSED, Divergence, Leftovers
from reissue.methods.beliefs.cycle import Reasoning
from reissue.methods.beliefs.knowledge import Knowledge
from reissue.methods.beliefs.nearest_order import order_nearest_next
from reissue.methods.beliefs.posterior import Estimator
from reissue.model.release import Coded
from reissue.model.requirement import Distance, Gain
from reissue.model.settings import Chance, RowCount


@dataclass(frozen=True, kw_only=True)
class BayFrame(Believing):
    """J-similarity: k rows, beta-likeness (or t-closeness), and prior beliefs at most J bits apart in every class.

    k, J:       rows of a class at least; Jensen-Shannon divergence of its members' (revised) priors at most, in bits
    beta, t:    how far the values of a class may be from the snapshot's (see reissue.model.requirement); one is needed
    ordered:    t along the order of the values: their numbers, or as `value_order` lists them, the lowest first
    steps:      1 or 2: how many observations back an attacker's knowledge of transitions goes
    estimator:  how the attacker reads a class: "bayes", "js-reduce" or "omega"
    cascading:  compromised records enter the "prior" (known before the release) or the "posterior" (known after it)
    leftovers:  "suppress" rows that fit no class, and others drawn at random so that absence reveals nothing
    most_suppressed: the share of the rows that may be suppressed; a release that needs more is refused
    order:      rows along the "hilbert" curve, or by "nearest" point next, as in the paper
    knowledge:  what the attacker knows
    """

    k: RowCount
    J: Divergence
    beta: Gain | None = None
    t: Distance | None = None
    ordered: bool = False
    value_order: tuple[str, ...] = ()
    steps: Literal[1, 2] = 1
    estimator: Estimator = "bayes"
    cascading: Literal["prior", "posterior"] = "prior"
    leftovers: Leftovers = "suppress"
    most_suppressed: Chance = MOST_SUPPRESSED
    order: Literal["hilbert", "nearest"] = "hilbert"
    knowledge: Knowledge = field(default_factory=Knowledge)

    name: ClassVar[str] = "bay-frame"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.beta is None and self.t is None:
            raise SettingsError("Neither beta nor t is given; a class must be like the table: set beta, for example 5.")
        if self.cascading == "posterior" and self.estimator != "bayes":
            raise SettingsError(f'cascading "posterior" needs the estimator "bayes", not "{self.estimator}".')

    @property
    def asked_beta(self) -> float | None:
        return self.beta

    @property
    def reasoning(self) -> Reasoning:
        return Reasoning(self.estimator, self.steps, self.cascading)

    def line_up(self, snapshot: Coded) -> Int64:
        if self.order == "nearest":
            return order_nearest_next(snapshot.codes, snapshot.domains)
        return super().line_up(snapshot)
