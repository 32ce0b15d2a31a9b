"""Dealing a multiset of values to members: how likely each member is to get each value.

A dealing is as likely as the product of the members' priors of what they get. Summing over all dealings is a ratio of
permanents; a multiset is dealt in far fewer states than there are dealings: the counts that are left of each value. The
states are visited once forward and once backward, and every state belongs to one member, whose turn it is there.

Values that are left over when every member has one go to rows of nobody, which would take any value alike.

Classes that are too large for that are dealt by Bethe's approximation: members and rows pass each other messages until
they agree (Huang and Jebara 2009); equal rows pass equal messages, so that a round costs members x values, whatever the
counts. Its errors shrink as classes grow, which is where it is used.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.sets import find_starts
from reissue.arrays.types import Bool, Float64, Int64

MOST_STATES = 1 << 16
"""A class with more states than this is called too large: 12 values of one row each make 4,096."""
_TINY = 1e-250
_SWEEPS = 60
"""Rounds of scaling at most, where plain products would vanish."""
ROUNDS = 200
"""Rounds of messages inside a class, at most."""
CLOSE = 1e-6
"""Messages that change by less than this share have settled."""


@dataclass(frozen=True, eq=False)
class Deals:
    """Many classes, each with members, the values that it deals, and a table members x values of its own.

    member_start: int64[classes + 1]  the members of a class are consecutive
    value_start:  int64[classes + 1]  so are the values that it deals
    counts:       int64[values of all classes] > 0, how often each is dealt; in all at least one for each member
    """

    member_start: Int64
    value_start: Int64
    counts: Int64

    def __len__(self) -> int:
        return len(self.member_start) - 1

    @property
    def table_start(self) -> Int64:
        """int64[classes + 1]: where the table of each class begins, row by row, in an array of all tables."""
        return find_starts(np.diff(self.member_start) * np.diff(self.value_start))

    @property
    def states(self) -> Float64:
        """float64[classes]: in how many states each class is dealt; what its exact answer costs, times its values."""
        logs = np.append(0.0, np.cumsum(np.log2(self.counts + 1.0)))
        return np.asarray(np.exp2(logs[self.value_start[1:]] - logs[self.value_start[:-1]]).round(), dtype=np.float64)

    def small(self, most: int = MOST_STATES) -> Bool:
        """bool[classes]: which can be dealt exactly within so many states."""
        return np.asarray(self.states <= most, dtype=np.bool_)


def deal_exactly(priors: Float64, deals: Deals, most: int = MOST_STATES) -> tuple[Float64, Bool]:
    """(float64[tables] posteriors, bool[classes] whether they were found); zeros for classes that are too large.

    priors: float64[tables], the tables of all classes one after the other: see `Deals.table_start`. Each member's
    posteriors add up to 1, or to 0 where no dealing is possible.
    """
    small = deals.small(most)
    found = np.zeros(len(priors))
    cells = int(deals.states[small].max(initial=1.0))
    starts = deals.member_start, deals.value_start, deals.table_start
    _deal_each(priors, *starts, deals.counts, small, np.empty((2, cells)), found)
    return found, small


@njit(cache=True)
def _deal_each(priors, member_start, value_start, table_start, counts, wanted, room, found):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """Posteriors of every wanted class into `found`."""
    for one in range(len(wanted)):
        members = member_start[one + 1] - member_start[one]
        values = value_start[one + 1] - value_start[one]
        if not wanted[one] or members == 0 or values == 0:
            continue
        prior = priors[table_start[one] : table_start[one + 1]].reshape(members, values)
        into = found[table_start[one] : table_start[one + 1]].reshape(members, values)
        deal_messages(prior, counts[value_start[one] : value_start[one + 1]], room, into)
        weigh_messages(prior, into)


@njit(cache=True)
def weigh_messages(prior, into):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """Messages float64[members, values] become posteriors, in place: times the priors, and 1 in all for each member."""
    for i in range(into.shape[0]):
        total = 0.0
        for s in range(into.shape[1]):
            into[i, s] *= prior[i, s]
            total += into[i, s]
        for s in range(into.shape[1]):
            into[i, s] = into[i, s] / total if total > 0.0 else 0.0


@njit(cache=True)
def deal_messages(prior, counts, room, into):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """What the class tells each member of each value, its own prior left out: the posterior is prior times message.

    prior, into: float64[members, values]; counts: int64[values] > 0; room: float64[2, states] to work in. The largest
    message of a member is 1; all are 0 where no dealing is possible. O(values * product of (counts + 1)).
    """
    scaled = prior.copy()
    _weigh_columns(scaled, np.ones(prior.shape[1]))
    deal_scaled(scaled, counts, room, into)


@njit(cache=True)
def deal_scaled(prior, counts, room, into):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """As `deal_messages`, of priors whose rows have a highest entry of 1, or are all 0."""
    each_once = len(counts) == len(prior) and counts.sum() == len(counts)
    if each_once and _sum_orders(prior, room, into) >= _TINY:
        _scale_rows(into)
        return
    weight = np.ones(len(counts))
    if _sum_dealings(prior, counts, weight, room, into) < _TINY:
        scaled = prior.copy()
        _balance(scaled, counts, weight)
        _sum_dealings(scaled, counts, weight, room, into)
    _weigh_columns(into, weight)


@njit(cache=True)
def _weigh_columns(into, weight):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """Weigh the columns of a table, in place, and scale each of its rows to a highest entry of 1."""
    for i in range(into.shape[0]):
        for s in range(into.shape[1]):
            into[i, s] *= weight[s]
    _scale_rows(into)


@njit(cache=True)
def _scale_rows(into):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    members, values = into.shape
    for i in range(members):
        high = 0.0
        for s in range(values):
            high = max(high, into[i, s])
        for s in range(values):
            into[i, s] = into[i, s] / high if high > 0.0 else 0.0


@njit(cache=True)
def _sum_dealings(prior, counts, weight, room, into):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """The weight of all dealings together, and into[i, s]: that of dealing all but member i and one row of value s."""
    members, values = prior.shape
    step, left, states, rows = np.empty(values, np.int64), np.zeros(values, np.int64), 1, 0
    for s in range(values):
        step[s] = states
        states *= counts[s] + 1
        rows += counts[s]
    forward, backward = room[0], room[1]
    forward[0] = 1.0
    dealt = 0  # `left` has the digits of a state: how many rows of each value are dealt there, `dealt` in all
    for state in range(1, states):
        s = 0
        while left[s] == counts[s]:
            dealt -= left[s]
            left[s] = 0
            s += 1
        left[s] += 1
        dealt += 1
        total = 0.0
        if dealt <= members:
            for s in range(values):
                if left[s] > 0:
                    total += forward[state - step[s]] * prior[dealt - 1, s]
        forward[state] = total
    into[:] = 0.0
    for s in range(values):
        left[s] = counts[s]
    dealt = rows
    for state in range(states - 1, -1, -1):
        if dealt > members:
            backward[state] = 0.0
        elif dealt == members:
            backward[state] = _ways(counts, left, weight)
        else:
            total = 0.0
            for s in range(values):
                if left[s] < counts[s]:
                    after = backward[state + step[s]]
                    total += prior[dealt, s] * after
                    into[dealt, s] += forward[state] * after
            backward[state] = total
        if state > 0:
            s = 0
            while left[s] == 0:
                left[s] = counts[s]
                dealt += counts[s]
                s += 1
            left[s] -= 1
            dealt -= 1
    return backward[0]


@njit(cache=True)
def _sum_orders(prior, room, into):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """As `_sum_dealings`, to the last digit, where there are as many members as values, each once: states are bits."""
    full, forward, backward = (1 << prior.shape[1]) - 1, room[0], room[1]
    forward[0], backward[full] = 1.0, 1.0
    into[:] = 0.0
    for state in range(1, full + 1):
        member = _count_bits(state) - 1
        total, s, bit = 0.0, 0, 1
        while bit <= state:
            if state & bit:
                total += forward[state ^ bit] * prior[member, s]
            s, bit = s + 1, bit << 1
        forward[state] = total
    for state in range(full - 1, -1, -1):
        member = _count_bits(state)
        total, bit, before = 0.0, 1, forward[state]
        for s in range(prior.shape[1]):
            if not state & bit:
                after = backward[state | bit]
                total += prior[member, s] * after
                into[member, s] += before * after
            bit <<= 1
        backward[state] = total
    return backward[0]


@njit(cache=True)
def _count_bits(state):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    count = 0
    while state:
        state, count = state & (state - 1), count + 1
    return count


@njit(cache=True)
def _ways(counts, dealt, weight):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """In how many ways rows of nobody can take what is left, each in one of `weight` ways of its value."""
    rows, ways = 0, 1.0
    for s in range(len(counts)):
        for copy in range(1, counts[s] - dealt[s] + 1):
            rows += 1
            ways *= weight[s] * rows / copy
    return ways


@njit(cache=True)
def _balance(prior, counts, weight):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """Scale the columns and rows of the priors in place until each value is dealt about as often as it must be.

    That changes the weight of all dealings alike, so that no product vanishes that matters. weight: float64[values],
    what the columns were multiplied by.
    """
    members, values = prior.shape
    nobody = -members
    for s in range(values):
        nobody += counts[s]
    for _ in range(_SWEEPS):
        spread = 0.0
        for s in range(values):
            spread += weight[s]
        for s in range(values):
            column = nobody * weight[s] / spread
            for i in range(members):
                column += prior[i, s]
            if column > 0.0:
                weight[s] *= counts[s] / column
                for i in range(members):
                    prior[i, s] *= counts[s] / column
        for i in range(members):
            total = 0.0
            for s in range(values):
                total += prior[i, s]
            if total > 0.0:
                for s in range(values):
                    prior[i, s] /= total


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
    _weigh_columns(into, counts)
