"""How many people present have each value, as far as the classes tell it: what is expected, and so needs no noise.

A class says which values it was formed of, and everybody sees how many of its people are left. If classes with much flu
shrink sooner than their neighbours, then people with flu leave sooner. From all classes it is learned how much sooner
than others the people with each value leave, and what that makes of the values of those present. It is a function of
classes, of their tokens and of who is present, never of who has which value; so it tells nobody more than he knows who
knows the classes.

The model: of the people of a class those with value v are still there with probability exp(-d b[v]), where d is common
to classes beside each other (formed at the same time, of people who live alike), and the pace b[v] is above 1 for a
value whose people leave sooner than others. What two releases in a row say about log b is added up over all releases,
weighed by its precision, and drawn towards 0 by as much as it is uncertain (normal approximation, empirical Bayes).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reissue.arrays.types import Float64, Int32, Int64
from reissue.model.standing_classes import Leaving, StandingClasses, Tokens

NEIGHBOURS, MOST_CLASSES, MOST_VALUES = 64, 2048, 64
"""Classes compared with each other, classes looked at in one release, values of which something is learned."""
STEPS, HALVINGS, LONGEST = 2, 18, 10.0
FARTHEST = 2.0
"""How much sooner or later than others people with a value may be taken to leave, as a logarithm."""


@dataclass(frozen=True, eq=False)
class _Counted:
    """Some classes, their neighbourhoods, and how many of their people are left.

    shares: float64[classes, values + 1] how many people have each value (the last: all other values), before some left
    left:   float64[classes]; where: int64[classes] neighbourhood; gone: whether classes without people are left out
    """

    shares: Float64
    left: Float64
    where: Int64
    gone: bool

    def by_place(self, amounts: Float64) -> Float64:
        """float64[neighbourhoods]: the sums over their classes."""
        return np.bincount(self.where, amounts).astype(np.float64)

    def find_departures(self, pace: Float64) -> Float64:
        """float64[neighbourhoods]: the d by which as many people are expected to be left as there are."""
        wanted = self.by_place(self.left)
        low, high = np.full(len(wanted), 1e-9), np.full(len(wanted), LONGEST)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            stay = np.exp(-middle[self.where, None] * pace)
            expected = (self.shares * stay).sum(axis=1)
            if self.gone:
                expected = expected / (1.0 - self._find_empty(stay))
            many = self.by_place(expected) > wanted
            low, high = np.where(many, middle, low), np.where(many, high, middle)
        return np.asarray((low + high) / 2)

    def _find_empty(self, stay: Float64) -> Float64:
        """float64[classes]: the probability that nobody of a class is left, at most nearly 1."""
        empty: Float64 = np.exp((self.shares * np.log1p(-np.minimum(stay, 1 - 1e-12))).sum(axis=1))
        return np.minimum(empty, 1 - 1e-9)

    def weigh(self, pace: Float64) -> tuple[Float64, Float64]:
        """(float64[values + 1, values + 1] precision, float64[values + 1] slope) of the likelihood of log pace, here.

        What departures of the neighbourhood explain is taken out; where classes differ by more than chance and paces
        explain, as where people leave together, they count less.
        """
        departed = self.find_departures(pace)[self.where, None]
        stay = np.exp(-departed * pace)
        each, whole = -departed * pace * stay * self.shares, -(self.shares * pace * stay).sum(axis=1)
        spread = np.maximum((self.shares * stay * (1.0 - stay)).sum(axis=1), 0.05)
        off = self.left - (self.shares * stay).sum(axis=1)
        common = np.maximum(self.by_place(whole**2 / spread), 1e-12)
        for value in range(each.shape[1]):
            each[:, value] -= (self.by_place(whole * each[:, value] / spread) / common)[self.where] * whole
        plain = each.T / spread
        paces = np.linalg.pinv(plain @ each, rcond=1e-6, hermitian=True) @ (plain @ off)
        free = np.maximum(np.bincount(self.where) * (1.0 - each.shape[1] / len(off)) - 1.0, 1.0)
        excess = np.maximum(self.by_place((off - each @ paces) ** 2 / spread) / free, 1.0)
        weighed = each / (spread * excess[self.where])[:, None]
        return weighed.T @ each, weighed.T @ off


def learn_leaving(last: StandingClasses, now: Int32) -> Leaving:
    """What is known after a release in which so many people are left. now: int32[people] standing classes of everybody
    present. O(tokens + MOST_CLASSES * values)."""
    before = last.leaving or _know_nothing(last.tokens)
    live, home = _number_classes(last.tokens)
    were = _count_members(live, last.standing)
    left = np.minimum(_count_members(live, now), were)
    if np.array_equal(left, were):
        return before
    chosen, where = _choose_classes(len(live))
    tokens = _fill_table(last.tokens, home, chosen, before.values)
    pace = _pace(before)
    precision, slope = before.precision, before.slope
    for _ in range(STEPS):
        mix = _mix(_Counted(tokens, were[chosen], where, True), pace)
        found, towards = _Counted(mix, left[chosen], where, False).weigh(pace)
        precision, slope = before.precision + found, before.slope + towards + found @ np.log(pace)
        pace = _pace(Leaving(before.values, precision, slope))
    return Leaving(before.values, precision, slope)


def expect_totals(tokens: Tokens, standing: Int32, leaving: Leaving | None, value_count: int) -> Int64:
    """int64[values]: how many people present have each value; they add up to all of them. O(people + tokens).

    standing: int32[people] their classes; tokens: of these classes
    """
    live, home = _number_classes(tokens)
    people = _count_members(live, standing)
    amounts = tokens.count.astype(np.float64)
    if leaving is not None and len(live):
        pace = _pace(leaving)
        chosen, where = _choose_classes(len(live))
        table = _fill_table(tokens, home, chosen, leaving.values)
        departed = _Counted(table, people[chosen], where, True).find_departures(pace)
        own = np.full(max(value_count, int(leaving.values.max(initial=-1)) + 1), pace[-1])
        own[leaving.values] = pace[:-1]
        place = np.arange(len(live)) * len(departed) // len(live)
        whole = people >= np.bincount(home, tokens.count)
        amounts *= np.where(whole[home], 1.0, np.exp(-departed[place[home]] * own[tokens.value]))
    shared = _share_out(people, amounts, tokens.count, home)
    return _round(np.bincount(tokens.value, shared, value_count).astype(np.float64))


def _share_out(people: Float64, amounts: Float64, most: Int32, home: Int64) -> Float64:
    """float64[tokens]: the people of each class, by amounts, and nowhere more than there are tokens. home: classes."""
    sums = np.bincount(home, amounts, len(people))
    found = np.asarray(amounts * (people / np.maximum(sums, 1e-300))[home])
    full = found > most * (1 + 1e-9)
    while full.any():
        again = np.zeros(len(people), dtype=np.bool_)
        again[home[full]] = True
        some = np.flatnonzero(again[home])
        place, given = home[some], np.where(full[some], most[some], 0)
        left = people - np.bincount(place, given, len(people))
        by = left / np.maximum(np.bincount(place, np.where(full[some], 0, amounts[some]), len(people)), 1e-300)
        found[some] = np.where(full[some], most[some], amounts[some] * by[place])
        more = np.zeros(len(full), dtype=np.bool_)
        more[some] = ~full[some] & (found[some] > most[some] * (1 + 1e-9))
        if not more.any():
            break
        full |= more
    return found


def _know_nothing(tokens: Tokens) -> Leaving:
    """Of the commonest values."""
    often = np.bincount(tokens.value, tokens.count)
    values = np.sort(np.argsort(-often, kind="stable")[:MOST_VALUES]).astype(np.int32)
    return Leaving(values, np.zeros((len(values) + 1,) * 2), np.zeros(len(values) + 1))


def _pace(leaving: Leaving) -> Float64:
    """float64[values + 1]: how much sooner than others people with each value leave, 1 where nothing is known.

    Logarithms are taken to be normal around 0; how far they lie apart is what makes the observed ones likeliest.
    """
    precision, turn = np.linalg.eigh(leaving.precision)
    precision, slope = np.maximum(precision, 0.0), turn.T @ leaving.slope
    apart = 0.1
    for _ in range(100):
        variance = 1.0 / (precision + 1.0 / apart)
        apart = max(1e-6, float(((slope * variance) ** 2 + variance).mean()))
    found = turn @ (slope / (precision + 1.0 / apart))
    pace: Float64 = np.exp(np.clip(found, -FARTHEST, FARTHEST))
    return pace


def _mix(classes: _Counted, pace: Float64) -> Float64:
    """float64[classes, values + 1]: how many people of each class had each value, as its tokens suggest."""
    stay = np.exp(-classes.find_departures(pace)[classes.where, None] * pace)
    mix = classes.shares * stay
    return np.asarray(mix * (classes.left / np.maximum(mix.sum(axis=1), 1e-300))[:, None])


def _number_classes(tokens: Tokens) -> tuple[Int32, Int64]:
    """(int32[classes] ascending, int64[tokens] the place of each token's class among them)."""
    new = np.diff(tokens.standing, prepend=-1) > 0
    return tokens.standing[new], np.cumsum(new) - 1


def _count_members(live: Int32, standing: Int32) -> Float64:
    """float64[classes]: people of each of these classes."""
    return np.bincount(standing, minlength=int(live.max(initial=-1)) + 1)[live].astype(np.float64)


def _choose_classes(count: int) -> tuple[Int64, Int64]:
    """(int64[] places of the classes that are looked at, ascending; int64[] the neighbourhood of each)."""
    chosen = np.unique(np.arange(min(count, MOST_CLASSES)) * count // max(min(count, MOST_CLASSES), 1))
    places = max(1, min(count, MOST_CLASSES) // NEIGHBOURS)
    return chosen, chosen * places // max(count, 1)


def _fill_table(tokens: Tokens, home: Int64, chosen: Int64, values: Int32) -> Float64:
    """float64[chosen, values + 1]: tokens of each chosen class, those of all other values last. home: see above."""
    row = np.full(int(home.max(initial=-1)) + 1, -1)
    row[chosen] = np.arange(len(chosen))
    some = np.flatnonzero(row[home] >= 0)
    value, width = tokens.value[some], len(values) + 1
    column = np.full(int(max(value.max(initial=0), values.max(initial=0))) + 1, len(values))
    column[values] = np.arange(len(values))
    cell = row[home[some]] * width + column[value]
    return np.bincount(cell, tokens.count[some], len(chosen) * width).astype(np.float64).reshape(len(chosen), width)


def _round(amounts: Float64) -> Int64:
    """int64[values]: whole numbers with the same sum; the largest remainders are rounded up."""
    whole = np.floor(amounts + 1e-9).astype(np.int64)
    missing = round(float(amounts.sum())) - int(whole.sum())
    whole[np.argsort(whole - amounts, kind="stable")[:missing]] += 1
    return whole
