"""Dealing values to the members of classes that are too large for an exact sum: Bethe's approximation.

Members and rows pass each other messages until they agree (Huang and Jebara 2009); equal rows pass equal messages, so
that a round costs members x values, whatever the counts. Its errors shrink as classes grow, which is where it is used.
"""

from __future__ import annotations

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.permanent import MOST_STATES, Deals, deal_exactly, weigh_messages
from reissue.arrays.types import Bool, Float64

ROUNDS = 200
"""Rounds of messages inside a class, at most."""
CLOSE = 1e-6
"""Messages that change by less than this share have settled."""


def deal(priors: Float64, deals: Deals, most: int = MOST_STATES) -> tuple[Float64, Bool]:
    """(float64[tables] posteriors, bool[classes] whether they are exact); larger classes than `most` by Bethe.

    As `permanent.deal_exactly` otherwise. O(values * states) of an exact class, O(members * values * rounds) of others.
    """
    found, small = deal_exactly(priors, deals, most)
    _deal_large(priors, deals.member_start, deals.value_start, deals.table_start, deals.counts, ~small, found)
    return found, small


@njit(cache=True)
def _deal_large(priors, member_start, value_start, table_start, counts, wanted, found):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """Posteriors of every wanted class into `found`."""
    for one in np.flatnonzero(wanted):
        members = member_start[one + 1] - member_start[one]
        values = value_start[one + 1] - value_start[one]
        prior = priors[table_start[one] : table_start[one + 1]].reshape(members, values)
        into = found[table_start[one] : table_start[one + 1]].reshape(members, values)
        into[:] = 1.0
        bethe_messages(prior, counts[value_start[one] : value_start[one + 1]], into, ROUNDS)
        weigh_messages(prior, into)


@njit(cache=True)
def bethe_messages(prior, counts, into, rounds):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """What the class tells each member of each value, about: the posterior is prior times message.

    prior, into: float64[members, values]; counts: int64[values] > 0. `into` holds the messages to start from (ones, or
    those of an earlier call) and is overwritten; the largest message of a member is 1. Rows of nobody are members who
    would take any value alike. O(members * values * rounds).
    """
    members, values = prior.shape
    nobody = -members
    for s in range(values):
        nobody += counts[s]
        for i in range(members):
            into[i, s] /= counts[s]  # of one row of the value
    wanted = np.empty((members, values))  # how strongly a member claims one row of a value
    spare, anyone = np.ones(values), np.zeros(values)  # the same of a row of nobody: messages to it, and from it
    for _ in range(rounds):
        for i in range(members):
            total = 0.0
            for s in range(values):
                total += counts[s] * prior[i, s] * into[i, s]
            for s in range(values):
                others = total - prior[i, s] * into[i, s]
                wanted[i, s] = prior[i, s] / max(others, 1e-12 * total + 1e-300)
        total = 0.0
        for s in range(values):
            total += counts[s] * spare[s]
        for s in range(values):
            anyone[s] = 1.0 / max(total - spare[s], 1e-300)
        change = 0.0
        for s in range(values):
            claims = nobody * anyone[s]
            for i in range(members):
                claims += wanted[i, s]
            spare[s] = 1.0 / max(claims - anyone[s], 1e-12 * claims + 1e-300)
            for i in range(members):
                message = 1.0 / max(claims - wanted[i, s], 1e-12 * claims + 1e-300)
                change = max(change, abs(message - into[i, s]) / (message + into[i, s]))
                into[i, s] = message
        if change < CLOSE:
            break
    for i in range(members):
        high = 0.0
        for s in range(values):
            into[i, s] *= counts[s]
            high = max(high, into[i, s])
        for s in range(values):
            into[i, s] /= high
