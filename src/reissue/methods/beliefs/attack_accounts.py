"""What an attack by beliefs amounts to, in numbers that add up: the same in whatever parts people are looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import add

import numpy as np

from reissue.arrays.sets import lookup
from reissue.arrays.types import NO_NUMBERS, Bool, Float64
from reissue.methods.beliefs.attack_cycle import Learned

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


RISEN = 3.0
"""How many times the odds must have grown since a person's first class for the series to be to blame."""


class FirstBeliefs:
    """What was believed of everybody after the first class they were in."""

    def __init__(self) -> None:
        self._subjects, self._odds = NO_NUMBERS, np.empty(0, dtype=np.float64)

    def find_risen(self, learned: Learned) -> Bool:
        """bool[people]: whose odds have risen since; those who are new are remembered. O(people log people)."""
        odds = learned.belief / np.maximum(1.0 - learned.belief, 1e-12)
        at, known = lookup(self._subjects, learned.subjects)
        risen = known.copy()
        risen[known] = odds[known] >= RISEN * self._odds[at[known]]
        both = np.concatenate([self._subjects, learned.subjects[~known]])
        order = np.argsort(both, kind="stable")
        self._subjects, self._odds = both[order], np.concatenate([self._odds, odds[~known]])[order]
        return risen
