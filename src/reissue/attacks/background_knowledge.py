"""The background knowledge attack: beliefs sharpened release by release (Riboni et al. 2012, Amiri et al. 2019)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from reissue.attacks.base import Finding, Outcome
from reissue.beliefs.claims import Claims
from reissue.beliefs.cycle import Reasoning
from reissue.beliefs.following import Learned, follow, joined, simulated
from reissue.beliefs.informed import Informed
from reissue.beliefs.knowledge import Knowledge
from reissue.beliefs.posterior import ESTIMATORS, Estimator
from reissue.core.domain import Int64
from reissue.core.observed import Observed
from reissue.core.settings import check_kinds
from reissue.errors import SettingsError


@dataclass(frozen=True, kw_only=True)
class BackgroundKnowledge(Informed):
    """Who is believed to have their true value, beyond what their class alone tells.

    threshold:  a gain of knowledge above it, towards the truth, is a breach: 0 nothing learned, 1 certainty
    estimator:  how the attacker reads a class: "omega" (each value weighed by each one's prior), "bayes", "js-reduce"
    steps:      1 or 2: how many observations back the attacker's knowledge of transitions goes
    cascading:  compromised records enter the "prior" or the "posterior" (with "bayes" only)
    sigma, confidence: suppose this share of every release is compromised, held to be known with this confidence
    knowledge:  what else the attacker knows; estimated from the members' true values where nothing is given
    seed:       of ties and of the simulated compromised
    limit:      the most findings to describe
    """

    threshold: float = 0.5
    estimator: Estimator = "omega"
    steps: Literal[1, 2] = 1
    cascading: Literal["prior", "posterior"] = "prior"
    sigma: float = 0.0
    confidence: float = 0.9
    knowledge: Knowledge = field(default_factory=Knowledge)
    seed: int = 0
    limit: int = 100

    name: ClassVar[str] = "background-knowledge"
    assumes: ClassVar[str] = (
        "The attacker knows who is in which class, how values are spread among kinds of people, and how they change."
    )
    needs_members: ClassVar[bool] = True
    persistent: ClassVar[bool] = False
    separable: ClassVar[bool] = False  # beliefs are estimated from everybody

    def __post_init__(self) -> None:
        check_kinds(type(self), vars(self))
        for name in ("threshold", "sigma", "confidence"):
            if not 0 <= getattr(self, name) <= 1:
                raise SettingsError(f"{name} is {getattr(self, name)}; it must be from 0 to 1.")
        if self.estimator not in ESTIMATORS:
            raise SettingsError(f"estimator is {self.estimator!r}; choose one of {', '.join(ESTIMATORS)}.")
        if self.steps not in (1, 2):
            raise SettingsError(f"steps is {self.steps!r}; choose 1 or 2.")
        if self.cascading not in ("prior", "posterior"):
            raise SettingsError(f"cascading is {self.cascading!r}; choose 'prior' or 'posterior'.")
        if self.cascading == "posterior" and self.estimator != "bayes":
            raise SettingsError(f'cascading "posterior" needs the estimator "bayes", not "{self.estimator}".')
        if self.limit < 1:
            raise SettingsError(f"limit is {self.limit}; it must be at least 1.")

    def run(self, series: Observed, *, involving: int | None = None) -> Outcome:
        claims = self.claims(series)
        with_claims = self.learned(series, claims, involving)
        without = self.learned(series, Claims.none(), involving) if len(claims) else with_claims
        exposed = [np.flatnonzero(learned.exposure > self.threshold) for learned in with_claims]
        worst = _worst(with_claims, exposed)[: self.limit]
        return Outcome(
            attack=self.name,
            findings=tuple(self._finding(series, with_claims[r], i) for r, i in worst.tolist()),
            total=sum(len(rows) for rows in exposed),
            at_risk={a.number: a.subjects[rows] for a, rows in zip(with_claims, exposed, strict=True)},
            measures=_measures(with_claims, without, exposed, compromised=len(claims) > 0),
            notes=self._notes(series),
        )

    def claims(self, series: Observed) -> Claims:
        """The compromised records: those of the file, and the simulated ones about everybody else."""
        given = self.given
        if self.sigma == 0:
            return given.claims
        made = simulated(series, self.sigma, self.confidence, self.seed)
        known = given.claims.subjects.astype(np.int64) * (len(series) + 1) + given.claims.releases
        own = made.subjects.astype(np.int64) * (len(series) + 1) + made.releases
        return joined([given.claims, made.take(~np.isin(own, known))])

    def learned(self, series: Observed, claims: Claims, involving: int | None = None) -> list[Learned]:
        """What each release taught; with `involving` that release only, after all before it were read."""
        given = self.given
        how = Reasoning(self.estimator, self.steps, self.cascading)
        found: list[Learned] = []
        for learned in follow(series, self.knowledge, given, how, claims, self.seed):
            if involving is None or learned.number == involving:
                found.append(learned)
            if learned.number == involving:
                break
        return found

    def _finding(self, series: Observed, learned: Learned, i: int) -> Finding:
        words = series.words
        who, value = words.subject(int(learned.subjects[i])), words.value(int(learned.values[i]))
        belief, share, gain = float(learned.belief[i]), float(learned.share[i]), float(learned.gain[i])
        how = "It was taken to be known." if learned.claimed[i] else "Earlier releases and statistics tell the rest."
        return Finding(
            attack=self.name,
            releases=tuple(range(1, learned.number + 1)),
            subjects=(who,),
            classes=((learned.number, int(learned.classes[i])),),
            value=value,
            level=gain,
            unit="gain of knowledge",
            threshold=self.threshold,
            breach=True,
            sentence=(
                f"After {words.release(learned.number)} an attacker believes with {100 * belief:.0f}% that {who} has "
                f"{value}, where the class alone says {100 * share:.0f}%. {how}"
            ),
            details={"belief": belief, "share": share, "compromised": bool(learned.claimed[i])},
        )

    def _notes(self, series: Observed) -> tuple[str, ...]:
        """What the reader must know."""
        notes = []
        skipped = [r.number for r in (series.releases[i] for i in range(len(series))) if r.members is None]
        if skipped:
            notes.append(f"Releases {', '.join(map(str, skipped))} come without their members and were passed over.")
        if "estimate" in (self.knowledge.values, self.knowledge.transitions):
            notes.append(
                "Knowledge that was not given is estimated from the people in the releases: a worst case, the attacker "
                "knows the publisher's own statistics."
            )
        return tuple(notes)


Rows = list[np.ndarray[tuple[int], np.dtype[np.int64]]]


def _worst(learned: list[Learned], exposed: Rows) -> Int64:
    """int64[n, 2]: (position of the release, row) of the exposed, the largest gain first."""
    release = np.repeat(np.arange(len(exposed)), [len(rows) for rows in exposed])
    row = np.concatenate([np.empty(0, dtype=np.int64), *exposed])
    level = np.concatenate([np.empty(0), *(a.exposure[rows] for a, rows in zip(learned, exposed, strict=True))])
    order = np.lexsort((row, release, -level))
    return np.stack([release[order], row[order]], axis=1).astype(np.int64)


def _measures(
    learned: list[Learned],
    without: list[Learned],
    exposed: Rows,
    *,
    compromised: bool,
) -> dict[str, float]:
    """Averages over people of each release, then over releases; gain_1, gain_2, ... are those of single releases."""
    measures = {
        "gain": _mean([_mean(a.gain) for a in learned]),
        "largest_gain": max((float(a.gain.max(initial=0.0)) for a in learned), default=0.0),
        "belief": _mean([_mean(a.belief) for a in learned]),
        "exposed": float(sum(len(rows) for rows in exposed)),
    }
    measures |= {f"gain_{a.number}": _mean(a.gain) for a in learned}
    if compromised:
        measures["gain_without_compromised"] = _mean([_mean(a.gain) for a in without])
        measures["gain_of_others"] = _mean([_mean(a.gain[~a.claimed]) for a in learned])
        measures["gain_of_others_without"] = _mean(
            [_mean(b.gain[~a.claimed]) for a, b in zip(learned, without, strict=True)]
        )
    return measures


def _mean(numbers: list[float] | np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    return float(np.mean(numbers)) if len(numbers) else 0.0
