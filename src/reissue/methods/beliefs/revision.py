"""Revised priors: posterior beliefs carried to the next release by what is known of how values change."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.types import Bool, Float64, Int32


@dataclass(frozen=True, eq=False)
class Moves:
    """PDcor: one: float64[values, values], P(next | now). two: float64[values, values], P(value two observations on).

    `two` is the two-step knowledge as equations 3 and 4 use it: the sum over the value between of
    PD1(between | first) PD2(last | first, between). None where one step is used.
    """

    one: Float64
    two: Float64 | None = None


def contract(
    one: Float64, first: Int32, between: Int32, last: Int32, shares: Float64, backed: Float64 | float = 0.0
) -> Float64:
    """`Moves.two` from PD1 float64[v, v] and sparse PD2: shares[i] of `last` after `first` and `between`.

    backed: float64[v, v] (or one number): the share that backs off to one step, PD2(c|a,b) += backed[a,b] PD1(c|b).
    O(entries + values^3) without ever holding values^3 numbers.
    """
    two = (one * backed) @ one
    np.add.at(two, (first, last), one[first, between] * shares)
    return np.asarray(two, dtype=np.float64)


def revise(last: Float64, before: Float64, twice: Bool, moves: Moves) -> Float64:
    """float64[people, values]: RPD (equations 3, 4), normalized. O(people * values^2).

    last: float64[people, values] posterior of the last observation; before: that of the one before, for the people
    who were seen `twice`: with two steps their revised prior starts from it, everybody else's from `last`.
    """
    prior = carry(last, moves.one)
    if moves.two is not None and twice.any():
        prior[twice] = carry(before[twice], moves.two)
    return normalize(prior)


@njit(cache=True)
def carry(beliefs: Float64, moves: Float64) -> Float64:
    """float64[people, values]: the product, each row by itself, so that it does not depend on who else is there.

    A library's product sums in an order that depends on how many rows there are. Classes have few values, so most
    beliefs are 0 and cost nothing. O(people * values^2) at most.
    """
    after = np.zeros((len(beliefs), moves.shape[1]))
    for i in range(len(beliefs)):
        for now in range(len(moves)):
            share = beliefs[i, now]
            if share != 0.0:
                for then in range(moves.shape[1]):
                    after[i, then] += share * moves[now, then]
    return after


def normalize(shares: Float64) -> Float64:
    """Rows divided by their sums; a row of zeros becomes uniform: nothing is known."""
    total = shares.sum(axis=-1, keepdims=True)
    even = 1.0 / max(1, shares.shape[-1])
    return np.where(total > 0.0, shares / np.where(total > 0.0, total, 1.0), even)


def widen(shares: Float64, values: int) -> Float64:
    """float64[n, values]: with zeros for the values that the series has learned since."""
    if shares.shape[1] >= values:
        return shares
    wide = np.zeros((len(shares), values))
    wide[:, : shares.shape[1]] = shares
    return wide
