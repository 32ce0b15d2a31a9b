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
All of it is computed in a fixed order (`arrays.portable`), so that every machine learns the same to the last bit.
"""

from __future__ import annotations

import numpy as np

from reissue.arrays.portable import multiply
from reissue.arrays.types import Float64, Int32, Int64
from reissue.methods.standing.paces import find_paces, find_stay, mix_values, weigh_departures
from reissue.model.standing_classes import Leaving, StandingClasses, Tokens

NEIGHBOURS, MOST_CLASSES, MOST_VALUES = 64, 2048, 64
"""Classes compared with each other, classes looked at in one release, values of which something is learned."""
STEPS = 2


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
    logs = find_paces(before.precision, before.slope)
    precision, slope = before.precision, before.slope
    for _ in range(STEPS):
        mix = mix_values(tokens, were[chosen], where, logs)
        found, towards = weigh_departures(mix, left[chosen], where, logs)
        precision = before.precision + found
        slope = before.slope + towards + multiply(found, logs[:, None])[:, 0]
        logs = find_paces(precision, slope)
    return Leaving(before.values, precision, slope)


def expect_totals(tokens: Tokens, standing: Int32, leaving: Leaving | None, value_count: int) -> Int64:
    """int64[values]: how many people present have each value; they add up to all of them. O(people + tokens).

    standing: int32[people] their classes; tokens: of these classes
    """
    live, home = _number_classes(tokens)
    people = _count_members(live, standing)
    amounts = tokens.count.astype(np.float64)
    if leaving is not None and len(live):
        logs = find_paces(leaving.precision, leaving.slope)
        chosen, where = _choose_classes(len(live))
        table = _fill_table(tokens, home, chosen, leaving.values)
        stay = find_stay(table, people[chosen], where, logs)
        column = np.full(max(value_count, int(leaving.values.max(initial=-1)) + 1), len(leaving.values))
        column[leaving.values] = np.arange(len(leaving.values))
        place = np.arange(len(live)) * len(stay) // len(live)
        whole = people >= np.bincount(home, tokens.count)
        amounts *= np.where(whole[home], 1.0, stay[place[home], column[tokens.value]])
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
