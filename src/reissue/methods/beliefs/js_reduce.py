"""JS-reduce (Riboni et al. 2012): k-anonymity, t-closeness and alike priors along the Hilbert curve."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from reissue.methods.beliefs.believing import Believing
from reissue.methods.beliefs.classes import MOST_SUPPRESSED, Divergence, Leftovers
from reissue.methods.beliefs.knowledge import Knowledge
from reissue.model.requirement import Distance
from reissue.model.settings import Chance, RowCount


@dataclass(frozen=True, kw_only=True)
class JSReduce(Believing):
    """Every class has k rows, values at most t from the table's, and members' (revised) priors at most J bits apart.

    Its attacker weighs every assignment of a class's rows to its people by the sum of the priors.

    k, t, J:   rows at least; distance of value distributions at most (`ordered`: along the order of the values,
               their numbers or as `value_order` lists them);
               Jensen-Shannon divergence of priors at most, in bits
    steps:     1 or 2: how many observations back an attacker's knowledge of transitions goes
    leftovers: "suppress" rows that fit no class, and others drawn at random so that absence reveals nothing
    most_suppressed: the share of the rows that may be suppressed; a release that needs more is refused
    knowledge: what the attacker knows; compromised records enter the priors
    """

    k: RowCount
    t: Distance
    J: Divergence
    ordered: bool = False
    value_order: tuple[str, ...] = ()
    steps: Literal[1, 2] = 1
    leftovers: Leftovers = "suppress"
    most_suppressed: Chance = MOST_SUPPRESSED
    knowledge: Knowledge = field(default_factory=Knowledge)

    name: ClassVar[str] = "js-reduce"
