"""Beliefs as arrays: carried to the next release by what is known of how values change, revised by claims about single
people, and how far apart those of a class are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reissue.arrays.compiled import njit
from reissue.arrays.sets import find_owners, find_starts
from reissue.arrays.sorting import sort_by_bucket
from reissue.arrays.types import NO_CODES, NO_NUMBERS, Bool, Float64, Int32, Int64
from reissue.model.fragment_counts import Counts
from reissue.model.release import Table, take_codes, take_numbers

BLOCK = 1 << 12
"""People whose beliefs are worked on at a time: they stay in the processor's cache, and need no memory of their own."""


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
    if len(last) == 0:
        return np.empty((0, moves.one.shape[1]))
    prior = carry(last, moves.one)
    if moves.two is not None and twice.any():
        prior[twice] = carry(before[twice], moves.two)
    for start in range(0, len(prior), BLOCK):
        prior[start : start + BLOCK] = normalize(prior[start : start + BLOCK])
    return prior


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


@dataclass(frozen=True, eq=False)
class Claims:
    """CR(v, s, t): one entry per subject, value and release.

    subjects: int64[n]; values: int32[n]; releases: int32[n] numbers; confidences: float64[n] in 0..1
    """

    subjects: Int64
    values: Int32
    releases: Int32
    confidences: Float64

    @staticmethod
    def none() -> Claims:
        return Claims(NO_NUMBERS, NO_CODES, NO_CODES, np.empty(0))

    def __len__(self) -> int:
        return len(self.subjects)

    def take(self, which: Bool | Int64) -> Claims:
        return Claims(self.subjects[which], self.values[which], self.releases[which], self.confidences[which])

    def at(self, release: int) -> Claims:
        """Those about one release."""
        return self.take(self.releases == release)

    def about(self, subjects: Int64) -> tuple[Int64, Int32, Float64]:
        """CSR over int64[people] (any order): start int64[people+1], values and confidences of each one's claims."""
        if len(self) == 0:
            return np.zeros(len(subjects) + 1, dtype=np.int64), NO_CODES, np.empty(0)
        order = np.argsort(subjects, kind="stable")
        sorted_subjects = subjects[order]
        place = np.searchsorted(sorted_subjects, self.subjects)
        inside = place < len(subjects)
        inside[inside] = sorted_subjects[place[inside]] == self.subjects[inside]
        person = order[place[inside]]
        rank = np.argsort(person, kind="stable")
        start = find_starts(np.bincount(person, minlength=len(subjects)))
        return start, self.values[inside][rank].astype(np.int32), self.confidences[inside][rank].astype(np.float64)


def mix_claims(prior: Float64, start: Int64, values: Int32, confidences: Float64) -> Float64:
    """float64[people, values]: CR_RPD (equation 5): every claim with its confidence, the prior with the rest.

    The law of total probability over "the claim is right": c on the claimed value, (1 - c) times the prior on all.
    """
    if len(values) == 0:
        return prior
    person = find_owners(start)
    total = np.bincount(person, weights=confidences, minlength=len(prior))
    revised = prior * np.maximum(0.0, 1.0 - total)[:, None]
    np.add.at(revised, (person, values), confidences)
    return np.asarray(revised / np.maximum(1.0, total)[:, None], dtype=np.float64)


def compute_entropies(shares: Float64) -> Float64:
    """float64[n]: Shannon entropy in bits of each row of float64[n, values]."""
    found = np.empty(len(shares))
    for start in range(0, len(shares), BLOCK):
        some = shares[start : start + BLOCK]
        logs = np.log2(some, out=np.zeros_like(some), where=some > 0.0)
        found[start : start + BLOCK] = -(some * logs).sum(axis=1)
    return found


def compute_divergences(shares: Float64, classes: Int32, count: int) -> Float64:
    """float64[count]: Jensen-Shannon divergence in bits among the rows of each class, all weighing the same (eq. 6).

    A class without rows has 0. O(rows log rows + rows * values).
    """
    bounds, order = sort_by_bucket(classes, count)
    size = np.diff(bounds)
    filled = np.flatnonzero(size)
    found = np.zeros(count)
    if len(filled) == 0:
        return found
    start = bounds[filled]
    middle = np.add.reduceat(shares[order], start, axis=0) / size[filled, None]
    apart = np.add.reduceat(compute_entropies(shares)[order], start) / size[filled]
    found[filled] = np.maximum(0.0, compute_entropies(middle) - apart)
    return found


@dataclass(frozen=True, eq=False)
class MoveCounts:
    """How often values followed each other in consecutive releases.

    pairs: int64[v, v] now, next; first, between, last: int32[n] and times: int64[n]: three releases in a row, sparse
    """

    pairs: Int64
    first: Int32
    between: Int32
    last: Int32
    times: Int64

    @staticmethod
    def none(values: int) -> MoveCounts:
        return MoveCounts(np.zeros((values, values), dtype=np.int64), NO_CODES, NO_CODES, NO_CODES, NO_NUMBERS)

    @staticmethod
    def read(table: Table) -> MoveCounts:
        pairs, times = take_numbers(table, "pairs", "times")
        first, between, last = take_codes(table, "first", "between", "last")
        return MoveCounts(pairs, first, between, last, times)

    def table(self) -> Mapping[str, NDArray[np.generic]]:
        return {
            "pairs": self.pairs,
            "first": self.first,
            "between": self.between,
            "last": self.last,
            "times": self.times,
        }

    def counts(self, steps: int) -> dict[str, Counts]:
        """For the other fragments: moves of one step, and of two where they are used."""
        width = max(1, len(self.pairs))
        now, after = np.nonzero(self.pairs)
        told = {"moves": Counts.of(now.astype(np.int64), after.astype(np.int32), self.pairs[now, after])}
        if steps == 2:
            pair = self.first.astype(np.int64) * width + self.between
            told["second"] = Counts.of(pair, self.last, self.times)
        return told

    @staticmethod
    def sum(told: Mapping[str, Counts], values: int) -> MoveCounts:
        """Those of all fragments together; each must have counted with as many values."""
        pairs = told["moves"].matrix(np.arange(values, dtype=np.int64), values)
        second = told.get("second", Counts.none())
        first, between = (second.key // values).astype(np.int32), (second.key % values).astype(np.int32)
        return MoveCounts(pairs, first, between, second.value, second.count)

    def plus(self, earlier: Int32, now: Int32, after: Int32, values: int) -> MoveCounts:
        """With people who had the value `now` and then `after`, and `earlier` before (-1: not there). O(n log n)."""
        pairs = np.zeros((values, values), dtype=np.int64)
        pairs[: len(self.pairs), : len(self.pairs)] = self.pairs
        pairs += np.bincount(now.astype(np.int64) * values + after, minlength=values * values).reshape(values, values)
        seen = earlier >= 0
        key = (self.first.astype(np.int64) * values + self.between) * values + self.last
        more = (earlier[seen].astype(np.int64) * values + now[seen]) * values + after[seen]
        keys, at = np.unique(np.concatenate([key, more]), return_inverse=True)
        weights = np.concatenate([self.times, np.ones(len(more), dtype=np.int64)])
        times = np.bincount(at.reshape(-1), weights=weights, minlength=len(keys)).astype(np.int64)
        first, between, last = keys // (values * values), keys // values % values, keys % values
        return MoveCounts(pairs, first.astype(np.int32), between.astype(np.int32), last.astype(np.int32), times)

    def one_step(self, table: Float64, smoothing: float) -> Float64:
        """PD1 float64[v, v], smoothed towards "stay with the share that stays overall, else as in the table"."""
        total = self.pairs.sum(axis=1)
        stay = (np.trace(self.pairs) + smoothing) / (total.sum() + 2 * smoothing)
        away = np.tile(table, (len(table), 1))
        np.fill_diagonal(away, 0.0)
        elsewhere = away.sum(axis=1, keepdims=True)
        away = np.where(elsewhere > 0.0, away / np.where(elsewhere > 0.0, elsewhere, 1.0), 0.0)
        usual = stay * np.eye(len(table)) + (1.0 - stay) * away
        usual /= usual.sum(axis=1, keepdims=True)
        return np.asarray((self.pairs + smoothing * usual) / (total + smoothing)[:, None], dtype=np.float64)

    def two_steps(self, one: Float64, smoothing: float) -> Float64:
        """`Moves.two`; PD2 of a pair of values is smoothed towards PD1 of the later one."""
        values = len(one)
        pair = self.first.astype(np.int64) * values + self.between
        seen = np.bincount(pair, weights=self.times, minlength=values * values)
        shares = self.times / (seen[pair] + smoothing)
        backed = np.asarray(smoothing / (seen + smoothing), dtype=np.float64).reshape(values, values)
        return contract(one, self.first, self.between, self.last, shares, backed)

    def moves(self, table: Float64, steps: int, smoothing: float) -> Moves:
        one = self.one_step(table, smoothing)
        return Moves(one, self.two_steps(one, smoothing) if steps == 2 else None)
