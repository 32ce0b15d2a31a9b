"""The background knowledge attack: beliefs sharpened release by release (Riboni et al. 2012, Amiri et al. 2019).

What it amounts to is told in numbers that add up: the same in whatever parts people are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from operator import add
from typing import Annotated, ClassVar, Literal

import numpy as np

from reissue.arrays.sets import union
from reissue.arrays.types import Bool, Float64, Int64
from reissue.errors import SettingsError
from reissue.methods.attack import Finding, Outcome, WorkDivision
from reissue.methods.attack_parts import SharedCountAttack
from reissue.methods.beliefs.attack_cycle import (
    EVERYWHERE,
    Attacker,
    FirstBeliefs,
    FragmentSurvey,
    Learned,
    follow,
    join_claims,
    simulate_claims,
    survey,
)
from reissue.methods.beliefs.cycle import Reasoning
from reissue.methods.beliefs.knowledge import ESTIMATE, SUPPORT, Informed, Knowledge
from reissue.methods.beliefs.posterior import Estimator
from reissue.methods.beliefs.revision import Claims
from reissue.model.fragment_counts import TableCounts
from reissue.model.observed import Observed, Words
from reissue.model.settings import Chance, Within


@dataclass(frozen=True, eq=False)
class BeliefFindings:
    """What the attack tells of the people of a series or of one fragment.

    findings: the worst first, at most the attack's `limit`; at_risk: as in an outcome; accounts: of each release;
    compromised: whether anybody is held to be known
    """

    findings: Sequence[Finding]
    at_risk: Mapping[int, Int64]
    accounts: Sequence[Account]
    compromised: bool


@dataclass(frozen=True, kw_only=True)
class BackgroundKnowledge(Informed, SharedCountAttack[BeliefFindings]):
    """Who is believed to have their true value, beyond what their class alone tells.

    threshold:  a gain of knowledge above it, towards the truth, is a breach: 0 nothing learned, 1 certainty. Where
                classes stand for life the series is on trial, not what one class tells with statistics: only beliefs
                whose odds rose threefold after it are breaches
    estimator:  how the attacker reads a class: "exact" (Bayes' rule), "omega" (about that), or as the papers' own
                attackers do, "bayes" or "js-reduce"
    steps:      1 or 2: how many observations back the attacker's knowledge of transitions goes
    cascading:  compromised records enter the "prior" or the "posterior" (with "bayes" only)
    sigma, confidence: suppose this share of every release is compromised, held to be known with this confidence
    knowledge:  what else the attacker knows; estimated from the members' true values where nothing is given
    seed:       of the simulated compromised
    """

    threshold: Chance = 0.5
    estimator: Estimator = "exact"
    steps: Literal[1, 2] = 1
    cascading: Literal["prior", "posterior"] = "prior"
    sigma: Chance = 0.0
    confidence: Chance = 0.9
    knowledge: Annotated[Knowledge, Within('files by what they tell, for example {values="values.csv"}')] = field(
        default_factory=Knowledge
    )
    seed: int = 0

    name: ClassVar[str] = "background-knowledge"
    assumes: ClassVar[str] = (
        "The attacker knows who is in which class, how values are spread among kinds of people, and how they change."
    )
    persistent: ClassVar[bool] = False
    shared: ClassVar[Sequence[str]] = EVERYWHERE
    support: ClassVar[int] = SUPPORT
    divisions: ClassVar[Mapping[WorkDivision, str]] = {
        WorkDivision.SHARED_COUNTS: "beliefs are estimated from counts of everybody, then followed person by person"
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cascading == "posterior" and self.estimator != "bayes":
            raise SettingsError(f'cascading "posterior" needs the estimator "bayes", not "{self.estimator}".')

    def run(self, series: Observed, *, involving: int | None = None) -> Outcome:
        skipped = [one.number for one in (series.releases[i] for i in range(len(series))) if one.members is None]
        return self.conclude([self.attack_part(series, involving=involving)], skipped)

    # -- in parts: fragments of a series, which share neither people nor classes

    @property
    def estimates(self) -> bool:
        """Whether shares of values among categories of people are estimated, so that categories must be counted."""
        return self.knowledge.values == ESTIMATE

    def survey(self, fragment: Observed) -> Iterator[FragmentSurvey]:
        """What the other fragments need to be told of this one, release by release."""
        return survey(fragment, self.attacker)

    def attack_part(
        self, series: Observed, told: Mapping[int, TableCounts] | None = None, *, involving: int | None = None
    ) -> BeliefFindings:
        """What is learned about the people of a series, or of a fragment that is told what all fragments counted."""
        known = FirstBeliefs() if series.standing else None
        claims = self.claims(series)
        without = self._follow(series, Claims.none(), involving, told) if len(claims) else None
        accounts, worst, at_risk = [], [], {}
        earlier = () if involving is None else series.releases[: involving - 1]
        seen = union(*(one.members.subjects for one in earlier if one.members is not None))
        for learned in self._follow(series, claims, involving, told):
            alone = learned if without is None else next(without)
            exposed = np.flatnonzero(learned.exposure > self.threshold)
            exposed = exposed if known is None else exposed[known.find_risen(learned)[exposed]]
            accounts.append(Account.of(learned, alone, len(exposed)))
            at_risk[learned.number] = learned.subjects[exposed]
            first = np.argsort(-learned.exposure[exposed], kind="stable")[: self.limit]
            some = learned.take(exposed[first])
            worst.append((some, np.isin(some.subjects, seen)))
            seen = union(seen, learned.subjects)
        told_of = [one.number for one, _ in worst]  # numbers may have gaps, where a release was withdrawn
        numbers = told_of if len(told_of) == len(series) else range(1, max(told_of, default=0) + 1)
        return BeliefFindings(self._findings(series.words, worst, numbers), at_risk, accounts, len(claims) > 0)

    def conclude(self, parts: Sequence[BeliefFindings], skipped: Sequence[int] = ()) -> Outcome:
        """The outcome of the attack on the series that these are the parts of. skipped: releases without members"""
        findings = sorted((one for part in parts for one in part.findings), key=lambda one: one.rank)
        accounts = sum_accounts([part.accounts for part in parts])
        nearly = sum(one.nearly for one in accounts)
        return Outcome(
            attack=self.name,
            findings=tuple(findings[: self.limit]),
            total=sum(one.exposed for one in accounts),
            at_risk={one.number: union(*(part.at_risk[one.number] for part in parts)) for one in accounts},
            measures=tell_measures(accounts, compromised=any(part.compromised for part in parts)),
            notes=self._notes(skipped, nearly),
            measuring=nearly > 0 or self.estimator != "exact" or self.sigma > 0,
        )

    def claims(self, series: Observed) -> Claims:
        """The compromised records: those of the file, and the simulated ones about everybody else."""
        given = self.given
        if self.sigma == 0:
            return given.claims
        made = simulate_claims(series, self.sigma, self.confidence, self.seed)
        width = 1 + max(int(one.releases.max(initial=0)) for one in (given.claims, made))
        known, own = (one.subjects.astype(np.int64) * width + one.releases for one in (given.claims, made))
        return join_claims([given.claims, made.take(~np.isin(own, known))])

    def _follow(
        self, series: Observed, claims: Claims, involving: int | None, told: Mapping[int, TableCounts] | None = None
    ) -> Iterator[Learned]:
        for learned in follow(series, self.attacker, claims, told):
            if involving is None or learned.number == involving:
                yield learned
            if learned.number == involving:
                break

    @property
    def attacker(self) -> Attacker:
        return Attacker(self.knowledge, self.given, Reasoning(self.estimator, self.steps, self.cascading))

    def _findings(self, words: Words, worst: Sequence[tuple[Learned, Bool]], numbers: Sequence[int]) -> list[Finding]:
        """At most `limit`, the largest gain first; then by release and person. worst: also who was seen before"""
        ranked = [
            ((-level, learned.number, subject), learned, i, bool(before[i]))
            for learned, before in worst
            for i, (level, subject) in enumerate(zip(learned.exposure.tolist(), learned.subjects.tolist(), strict=True))
        ]
        ranked.sort(key=lambda one: one[0])
        return [
            self._finding(words, learned, i, before, rank, numbers) for rank, learned, i, before in ranked[: self.limit]
        ]

    def _finding(
        self, words: Words, learned: Learned, i: int, seen: bool, rank: tuple[float, ...], numbers: Sequence[int]
    ) -> Finding:
        who, value = words.subject(int(learned.subjects[i])), words.value(int(learned.values[i]))
        belief, share, gain = float(learned.belief[i]), float(learned.share[i]), float(learned.gain[i])
        before = "earlier releases and " if seen else ""
        how = "It was taken to be known." if learned.claimed[i] else f"The rest comes from {before}statistics."
        return Finding(
            attack=self.name,
            releases=tuple(number for number in numbers if number <= learned.number),
            subjects=(who,),
            classes=((learned.number, int(learned.classes[i])),),
            value=value,
            level=gain,
            unit="gain of knowledge",
            threshold=self.threshold,
            sentence=(
                f"After {words.release(learned.number)} an attacker is {100 * belief:.0f}% sure that {who} has "
                f"{value}; the class alone gives {100 * share:.0f}%. {how}"
            ),
            details={"belief": belief, "share": share, "compromised": bool(learned.claimed[i])},
            rank=rank,
        )

    def _notes(self, skipped: Sequence[int], nearly: int) -> tuple[str, ...]:
        """What the reader must know."""
        notes = []
        if skipped:
            notes.append(f"Releases {', '.join(map(str, skipped))} come without their members and were passed over.")
        if nearly:
            notes.append(
                f"{nearly:,} beliefs are about people of classes too large to be worked out exactly; they were "
                "computed approximately, which measures and proves nothing."
            )
        if ESTIMATE in (self.knowledge.values, self.knowledge.transitions):
            notes.append(
                "Knowledge that was not given is estimated from the people in the releases: a worst case, the attacker "
                "knows the publisher's own statistics."
            )
        return tuple(notes)


FINEST = 1074
"""Every float is a whole number of 2**-1074."""
HALF = 27
"""A float's 53 bits are added up in two halves of at most 27, so that 2**36 of them fit into 64 bits."""


@dataclass(frozen=True)
class Sum:
    """Numbers added up without rounding, so that neither their order nor how they were parted matters.

    count: how many; units: their sum in units of 2**-FINEST; largest: 0 if there are none
    """

    count: int
    units: int
    largest: float

    @staticmethod
    def of(numbers: Float64) -> Sum:
        """Of float64[n], all finite. O(n)."""
        share, exponent = np.frexp(numbers)
        whole = np.ldexp(share, 53).astype(np.int64)  # number = whole * 2**(exponent - 53)
        order = np.argsort(exponent.astype(np.int16), kind="stable")  # by digits
        exponent, whole = exponent[order], whole[order]
        start = np.flatnonzero(np.diff(exponent, prepend=exponent[:1] - 1))
        units = 0
        if len(start):
            high = np.add.reduceat(whole >> HALF, start).tolist()
            low = np.add.reduceat(whole & ((1 << HALF) - 1), start).tolist()
            for power, upper, lower in zip(exponent[start].tolist(), high, low, strict=True):
                units += _shift((upper << HALF) + lower, power - 53 + FINEST)
        return Sum(len(numbers), units, float(numbers.max(initial=0.0)))

    def __add__(self, other: Sum) -> Sum:
        return Sum(self.count + other.count, self.units + other.units, max(self.largest, other.largest))

    @property
    def mean(self) -> float:
        """The float nearest to the mean; 0 of nothing."""
        return float(Fraction(self.units, self.count << FINEST)) if self.count else 0.0


def _shift(whole: int, bits: int) -> int:
    return whole << bits if bits >= 0 else whole >> -bits  # below 0 only for the smallest floats, whose last bits are 0


@dataclass(frozen=True)
class Account:
    """One release.

    gain, belief: of everybody in it; exposed: how many gains are above the threshold
    nearly: people whose class was too large for an exact posterior
    gain_without: had nobody been compromised; others, others_without: the gains about those who are not compromised
    """

    number: int
    gain: Sum
    belief: Sum
    exposed: int
    nearly: int
    gain_without: Sum
    others: Sum
    others_without: Sum

    @staticmethod
    def of(learned: Learned, without: Learned, exposed: int) -> Account:
        """without: the same release had nobody been compromised"""
        gain, belief, nearly = Sum.of(learned.gain), Sum.of(learned.belief), int(learned.nearly.sum())
        if without is learned:
            return Account(learned.number, gain, belief, exposed, nearly, gain, gain, gain)
        others = ~learned.claimed
        return Account(
            learned.number,
            gain,
            belief,
            exposed,
            nearly,
            Sum.of(without.gain),
            Sum.of(learned.gain[others]),
            Sum.of(without.gain[others]),
        )

    def __add__(self, other: Account) -> Account:
        """Of the same release, about other people."""
        return Account(
            self.number,
            self.gain + other.gain,
            self.belief + other.belief,
            self.exposed + other.exposed,
            self.nearly + other.nearly,
            self.gain_without + other.gain_without,
            self.others + other.others,
            self.others_without + other.others_without,
        )


def sum_accounts(parts: Sequence[Sequence[Account]]) -> list[Account]:
    """The accounts of each release, from those of all parts; each part has the same releases."""
    return [reduce(add, of) for of in zip(*parts, strict=True)]


def tell_measures(accounts: Sequence[Account], *, compromised: bool) -> dict[str, float]:
    """Averages over people of each release, then over releases; gain_1, gain_2, ... are those of single releases."""
    found = {
        "gain": _mean([one.gain.mean for one in accounts]),
        "largest_gain": max((one.gain.largest for one in accounts), default=0.0),
        "belief": _mean([one.belief.mean for one in accounts]),
        "exposed": float(sum(one.exposed for one in accounts)),
        "approximated": float(sum(one.nearly for one in accounts)),
    }
    found |= {f"gain_{one.number}": one.gain.mean for one in accounts}
    if compromised:
        found["gain_without_compromised"] = _mean([one.gain_without.mean for one in accounts])
        found["gain_of_others"] = _mean([one.others.mean for one in accounts])
        found["gain_of_others_without"] = _mean([one.others_without.mean for one in accounts])
    return found


def _mean(numbers: Sequence[float]) -> float:
    return float(np.mean(numbers)) if len(numbers) else 0.0
