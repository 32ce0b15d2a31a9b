"""How likely a person is found out when a share p of the people is compromised (Riboni & Bettini 2009, section 3).

Three probabilities: that one sensitive value is ruled out for a person by compromised people in the person's classes
(lemma 1), that it is ruled out by historical correlations (lemma 2), and that all values but the true one are ruled
out, which is a breach (theorem 2). All assume that compromised people are independent of each other.
"""

from __future__ import annotations

from math import expm1, inf, log1p
from typing import Annotated

from reissue.errors import InfeasiblePolicy, SettingsError
from reissue.model.settings import SignatureSize, Within, find_problems

CompromisedShare = Annotated[float, Within("the share of people who are compromised", least=0, most=1)]
Lifetime = Annotated[int, Within("a number of releases", least=1, why="since a row is published at least once")]
BreachChance = Annotated[float, Within("a probability", above=0, most=1)]

_MOST_RELEASES = 1_000_000


def ct_probability(p: float, lived: int) -> float:
    """Lemma 1: the chance that a value is ruled out for a person published `lived` times by compromised people."""
    check_chances(p=p, lived=lived)
    return -expm1(lived * _log1m(p))


def hc_probability(p: float, lived: int, m: int, n: int) -> float:
    """Lemma 2: the chance that a value is ruled out by historical correlations between sets of n people or more."""
    check_chances(m=m, p=p, lived=lived, n=n)
    return -expm1(lived * (m // n) * _log1m((p - p / m) ** n))


def breach_probability(p: float, lived: int, m: int, n: int) -> float:
    """Theorem 2: the chance that everything but the true value is ruled out for a person published `lived` times."""
    check_chances(m=m, p=p, lived=lived, n=n)
    kept = lived * _log1m(p) + lived * (m // n) * _log1m((p - p / m) ** n)  # log of the chance that one value stays
    return float((-expm1(kept)) ** (m - 1))


def choose_degree(p: float, L: int, m: int, h: float) -> int:
    """n-Choose: the smallest degree n in 1..m whose breach probability is below h.

    Raises InfeasiblePolicy, naming which of L, m and h could change and to what, if there is none.
    """
    check_chances(m=m, p=p, lived=L, h=h)
    for n in range(1, m + 1):
        if breach_probability(p, L, m, n) < h:
            return n
    raise _explain_refusal(p, L, m, h)


def _explain_refusal(p: float, releases: int, m: int, h: float) -> InfeasiblePolicy:
    reached = min(breach_probability(p, releases, m, n) for n in range(1, m + 1))
    remedies = []
    lived = find_longest_life(p, m, h)
    if lived:
        remedies.append(f"publish nobody more than {lived} times (L={lived})")
    larger = _find_smallest_m(p, releases, m, h)
    if larger:
        remedies.append(f"raise m to {larger}")
    if reached < 0.9999:
        remedies.append(f"accept a higher probability (h above {reached:.4g})")
    what = (
        ", or ".join(remedies)
        if remedies
        else "no L, m or h helps while so many are compromised; lower p if it was set too high"
    )
    return InfeasiblePolicy(
        f"h={h:g} cannot hold: with p={p:g}, L={releases} and m={m} the probability of a breach is at least "
        f"{reached:.4g} for every n from 1 to {m}. Remedies: {what}."
    )


def find_longest_life(p: float, m: int, h: float, n: int | None = None) -> int:
    """The largest L for which degree n (or some degree in 1..m) keeps the breach probability below h; 0 if none."""
    degrees = range(1, m + 1) if n is None else (n,)

    def holds(lived: int) -> bool:
        return any(breach_probability(p, lived, m, degree) < h for degree in degrees)

    if not holds(1):
        return 0
    low, high = 1, 2
    while holds(high) and high < _MOST_RELEASES:
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _find_smallest_m(p: float, releases: int, m: int, h: float) -> int | None:
    """The smallest larger m, within reason, for which some degree will do."""
    for larger in range(m + 1, 10 * m + 1):
        if any(breach_probability(p, releases, larger, n) < h for n in range(1, larger + 1)):
            return larger
    return None


def _log1m(x: float) -> float:
    """log(1 - x), minus infinity at 1."""
    return log1p(-x) if x < 1.0 else -inf


def check_chances(
    *, m: int = 2, p: float | None = None, lived: int | None = None, h: float | None = None, n: int | None = None
) -> None:
    """Refuse numbers that mean nothing; those that are not given are not looked at."""
    declared = {"m": (m, SignatureSize), "p": (p, CompromisedShare), "L": (lived, Lifetime), "h": (h, BreachChance)}
    for name, (value, kind) in declared.items():
        for problem in find_problems(name, value, kind) if value is not None else ():
            raise SettingsError(problem)
    if n is not None and not 1 <= n <= m:
        raise SettingsError(f"n is {n}; it must be between 1 and m={m}.")
