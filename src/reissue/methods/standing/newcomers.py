"""Classes among those who have none yet: cut blindly, or blended with made-up tokens, or put off; tokens are dealt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from reissue.arrays.types import Int32
from reissue.errors import InfeasiblePolicy
from reissue.methods.standing.blind_cuts import cut_blindly
from reissue.methods.standing.dealing import deal_tokens
from reissue.model.feasible import refuse_infeasible
from reissue.model.release import Coded
from reissue.model.requirement import Requirement
from reissue.model.standing_classes import Tokens


@dataclass(frozen=True, eq=False)
class Newcomers:
    """What became of the newcomers.

    standing: int32[newcomers] 0, 1, ...; -1 where they wait; dealt: int32[newcomers] the token of each
    tokens:   of the new classes
    draw:     int32[] made-up tokens that were drawn but not used, for those who wait
    blended:  how many people share a class with made-up tokens
    refusal:  why they wait, if they do
    """

    standing: Int32
    dealt: Int32
    tokens: Tokens
    draw: Int32
    blended: int = 0
    refusal: InfeasiblePolicy | None = None


@dataclass(frozen=True, eq=False)
class Intake:
    """Newcomers who are to be given classes, as the settings of `standing` ask.

    table: int32[rows] the values of everybody in the snapshot; draw: what was drawn for those who waited before
    """

    newcomers: Coded
    table: Int32
    requirement: Requirement
    draw: Int32
    on_ineligible: Literal["blend", "wait"]
    seed: int

    def form_classes(self) -> Newcomers:
        """Give every newcomer a class of newcomers and one of its tokens; or let all of them wait."""
        newcomers, requirement = self.newcomers, self.requirement
        if len(newcomers) == 0:
            return _nobody(newcomers, self.draw, None)
        refusal = _refuse(requirement, newcomers.values, newcomers.value_count)
        if refusal is None:
            return _cut(newcomers, requirement, np.random.default_rng([self.seed, 11]))
        if self.on_ineligible == "wait":
            return _nobody(newcomers, self.draw, refusal)
        count = max(requirement.k, len(newcomers))
        drawn = draw_tokens(self.draw, count, self.table, np.random.default_rng([self.seed, 12]))
        return _blend(newcomers, requirement, drawn, refusal, np.random.default_rng([self.seed, 11]))

    def foresee_dealt(self) -> Int32:
        """int32[]: the tokens that `form_classes` will deal, in any order; none if all will wait. No cuts: O(rows)."""
        newcomers = self.newcomers
        if len(newcomers) == 0 or _refuse(self.requirement, newcomers.values, newcomers.value_count) is None:
            return newcomers.values
        formed = self.form_classes()
        return formed.dealt[formed.standing >= 0]


def draw_tokens(draw: Int32, count: int, table: Int32, rng: np.random.Generator) -> Int32:
    """int32[count or more]: what was drawn before, and as many tokens more as are missing, as often as in the table.

    What was drawn stays drawn, whether or not it fits: to draw until it fits would tell what it had to fit.
    """
    missing = max(0, count - len(draw))
    return np.concatenate([draw, table[rng.integers(0, len(table), missing)]]).astype(np.int32)


def _cut(newcomers: Coded, requirement: Requirement, rng: np.random.Generator) -> Newcomers:
    """Classes by blind cuts; each person is dealt one of its class's values, every one of them once."""
    standing = cut_blindly(newcomers, newcomers.values, requirement, rng, classes=True).classes
    dealt = deal_tokens(standing, newcomers.codes, newcomers.values, newcomers.value_count, rng)
    tokens = Tokens.of(standing, newcomers.values, np.zeros(len(newcomers), dtype=np.bool_))
    return Newcomers(standing, dealt, tokens, np.empty(0, dtype=np.int32))


def _blend(
    newcomers: Coded, requirement: Requirement, drawn: Int32, refusal: InfeasiblePolicy, rng: np.random.Generator
) -> Newcomers:
    """One class of all newcomers with made-up tokens among theirs; they wait if it does not meet the requirement."""
    count = max(requirement.k, len(newcomers))
    values = np.concatenate([newcomers.values, drawn[:count]])
    if _refuse(requirement, values, newcomers.value_count) is not None:
        return _nobody(newcomers, drawn, refusal)
    standing = np.zeros(len(values), dtype=np.int32)
    tokens = Tokens.of(standing, values, np.arange(len(values)) >= len(newcomers))
    dealt = rng.permutation(np.sort(values))[: len(newcomers)]
    none = np.empty(0, dtype=np.int32)
    return Newcomers(standing[: len(newcomers)], dealt, tokens, none, blended=len(newcomers))


def _nobody(newcomers: Coded, draw: Int32, refusal: InfeasiblePolicy | None) -> Newcomers:
    nowhere = np.full(len(newcomers), -1, dtype=np.int32)
    return Newcomers(nowhere, nowhere.copy(), Tokens.none(), draw, refusal=refusal)


def _refuse(requirement: Requirement, values: Int32, value_count: int) -> InfeasiblePolicy | None:
    """Why these rows cannot be one class; None if they can."""
    try:
        refuse_infeasible(requirement, np.bincount(values, minlength=value_count).astype(np.int64), "new rows")
    except InfeasiblePolicy as error:
        return error
    return None
