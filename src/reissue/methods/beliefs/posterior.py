"""Posterior beliefs: what the classes of one release tell an attacker who held priors about their members.

The papers enumerate the n! assignments of a class's n rows to its n people. All three estimators have closed forms:

bayes      Amiri et al. 2019, section 4.3.1: Dirichlet weights 1 on every assignment (more where claims say so), one
           observation on the most believed one. With m(s) rows of value s and pi* that assignment,
           P(v,s) = ((n-1)! m(s) + [pi*(v) = s]) / (n! + 1); with claims see `_read_bayes`.
js-reduce  Riboni et al. 2012: assignments weighted by their total prior.
omega      Li et al.: P(v,s) proportional to m(s) prior(v,s) / sum of prior(v',s) over the class.

Rows that stand for nobody are given to a person of whom nothing is known (uniform prior).
"""

from __future__ import annotations

from math import lgamma
from typing import Literal, get_args

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.types import Float64, Int32, Int64
from reissue.methods.beliefs.assignment import find_best_assignment, shuffle_order
from reissue.methods.beliefs.revision import Claims

Estimator = Literal["bayes", "js-reduce", "omega"]
ESTIMATORS: tuple[str, ...] = get_args(Estimator)
_BAYES, _JS_REDUCE, _OMEGA = 0, 1, 2

LARGEST_BUMP = 21
"""With more rows, 1 / (n-2)! is below the precision of a float beside the weight of all assignments."""


def compute_posteriors(
    priors: Float64,
    subjects: Int64,
    member_classes: Int32,
    row_classes: Int32,
    row_values: Int32,
    *,
    estimator: Estimator = "bayes",
    claims: Claims | None = None,
    weigh: bool = True,
    seed: int = 0,
    called: Int32 | None = None,
) -> Float64:
    """float64[people, values]: beliefs after the release; every row sums to 1. O(people * values + rows log rows).

    priors: float64[people, values]; subjects, member_classes: int64, int32[people]; row_classes, row_values:
    int32[rows] of all published rows, those of counterfeits too. claims: about this release; a claim of confidence 1
    fixes its subject and takes one row of the value out of the class (it is ignored if the class has no such row
    left); the others weigh the Dirichlet parameters if `weigh` (posterior-based cascading, `bayes` only).
    called: int32[classes] their numbers in the whole release, where this is a part: they decide ties with the seed.
    """
    count = int(max(member_classes.max(initial=-1), row_classes.max(initial=-1))) + 1
    people = np.argsort(member_classes, kind="stable")
    rows = np.argsort(row_classes, kind="stable")
    member_start = np.searchsorted(member_classes[people], np.arange(count + 1)).astype(np.int64)
    row_start = np.searchsorted(row_classes[rows], np.arange(count + 1)).astype(np.int64)
    found = (claims or Claims.none()).about(subjects[people])
    after = np.zeros_like(priors, dtype=np.float64)
    numbers = np.arange(count, dtype=np.int32) if called is None else np.array(called, dtype=np.int32)
    _read_classes(
        ESTIMATORS.index(estimator),
        np.ascontiguousarray(priors, dtype=np.float64),
        people.astype(np.int64),
        member_start,
        row_values[rows].astype(np.int32),
        row_start,
        *found,
        weigh and estimator == "bayes",
        seed & 0x7FFFFFFF,
        numbers,
        after,
    )
    return after


@njit(cache=True)
def _read_classes(  # type: ignore[no-untyped-def]
    kind, priors, people, member_start, values, row_start, claim_start, claim_values, confidences, weigh, seed, numbers,
    after,
) -> None:  # fmt: skip
    width = priors.shape[1]
    counts, present = np.zeros(width, dtype=np.int64), np.empty(width, dtype=np.int32)
    for c in range(len(row_start) - 1):
        found = 0
        for row in range(row_start[c], row_start[c + 1]):
            if counts[values[row]] == 0:
                present[found] = values[row]
                found += 1
            counts[values[row]] += 1
        size = row_start[c + 1] - row_start[c]
        open_ = np.empty(member_start[c + 1] - member_start[c], dtype=np.int64)  # positions not fixed by a claim
        left = 0
        for at in range(member_start[c], member_start[c + 1]):
            fixed = -1
            for i in range(claim_start[at], claim_start[at + 1]):
                if confidences[i] >= 1.0 and counts[claim_values[i]] > 0:
                    fixed = claim_values[i]
            if fixed >= 0:
                after[people[at], fixed] = 1.0
                counts[fixed] -= 1
                size -= 1
            else:
                open_[left] = at
                left += 1
        if left > 0 and kind == _BAYES:
            _read_bayes(
                priors, people, open_[:left], counts, present[:found], size, claim_start, claim_values, confidences,
                weigh, seed + np.int64(numbers[c]), after,
            )  # fmt: skip
        elif left > 0:
            _read_weighted(kind, priors, people, open_[:left], counts, present[:found], size, after)
        for i in range(found):
            counts[present[i]] = 0


@njit(cache=True)
def _read_bayes(  # type: ignore[no-untyped-def]
    priors, people, open_, counts, present, n, claim_start, claim_values, confidences, weigh, seed, after
) -> None:
    """The exact expectation of the multinomial's parameters, summed over assignments; all divided by (n-2)!.

    With weights CR(v',s') of matching assignments (definition 6): the numerator grows by CR N(v,s;v',s') and the
    denominator by CR (n-1)! m(s'), where N counts the assignments that give s to v and s' to v':
    (n-1)! m(s) for v' = v and s' = s, none for v' = v otherwise, else (n-2)! (m(s) m(s') - [s = s'] m(s)).
    """
    width = priors.shape[1]
    if n == 1:
        for s in present:
            if counts[s] > 0:
                after[people[open_[0]], s] = 1.0
        return
    own, total = np.zeros(width), np.zeros(width)
    weighed = 0.0
    if weigh:
        for at in open_:
            if claim_start[at + 1] > claim_start[at]:
                _weigh_claims(own, priors[people[at]], claim_start[at], claim_start[at + 1], claim_values, confidences,
                         counts, present)  # fmt: skip
                for s in present:
                    total[s] += own[s]
                    weighed += own[s] * counts[s]
    bump = np.exp(-lgamma(n - 1.0)) if n <= LARGEST_BUMP else 0.0
    best = _find_best_values(priors, people, open_, counts, present, n, seed) if bump > 0.0 else open_
    whole = n * (n - 1.0) + bump + (n - 1.0) * weighed
    for i in range(len(open_)):
        at, v = open_[i], people[open_[i]]
        own[:] = 0.0
        mine = 0.0
        if weigh and claim_start[at + 1] > claim_start[at]:
            _weigh_claims(
                own, priors[v], claim_start[at], claim_start[at + 1], claim_values, confidences, counts, present
            )
            for s in present:
                mine += own[s] * counts[s]
        for s in present:
            m = counts[s]
            ways = (n - 1.0) * m * (1.0 + own[s]) + m * (weighed - mine) - m * (total[s] - own[s])
            if bump > 0.0 and best[i] == s:
                ways += bump
            after[v, s] = ways / whole


@njit(cache=True)
def _find_best_values(priors, people, open_, counts, present, n, seed):  # type: ignore[no-untyped-def]
    """int64[people]: the value that the assignment of largest total prior gives each; ties are broken by the seed."""
    slots = np.empty(n, dtype=np.int64)
    at = 0
    for s in present:
        for _ in range(counts[s]):
            slots[at] = s
            at += 1
    columns, rows = shuffle_order(n, 2 * seed), shuffle_order(n, 2 * seed + 1)
    score = np.full((n, n), 1.0 / priors.shape[1])  # a row that stands for nobody may take any value
    for i in range(n):
        if rows[i] < len(open_):
            for j in range(n):
                score[i, j] = priors[people[open_[rows[i]]], slots[columns[j]]]
    chosen = find_best_assignment(score)
    values = np.empty(len(open_), dtype=np.int64)
    for i in range(n):
        if rows[i] < len(open_):
            values[rows[i]] = slots[columns[chosen[i]]]
    return values


@njit(cache=True)
def _weigh_claims(own, prior, first, last, claim_values, confidences, counts, present):  # type: ignore[no-untyped-def]
    """Fill `own` (float64[values], zero elsewhere) with the confidences that exceed the prior, as section 4.4.2 says.

    A claim below the prior speaks for the class's other values: what the claims leave (1 - their sum) goes in equal
    parts to the values that no claim names, and the claims that are smaller than such a part are what it was
    inferred from: they do not count again (example 4).
    """
    own[:] = 0.0
    said, below = 0.0, False
    for i in range(first, last):
        said += confidences[i]
        below = below or confidences[i] < prior[claim_values[i]]
    silent = 0
    for s in present:
        named = False
        for i in range(first, last):
            named = named or claim_values[i] == s
        if counts[s] > 0 and not named:
            silent += 1
    part = max(0.0, 1.0 - said) / silent if below and silent > 0 else 0.0
    for s in present:
        if counts[s] == 0:
            continue
        confidence = -1.0
        for i in range(first, last):
            if claim_values[i] == s:
                confidence = confidences[i]
        if confidence < 0.0:
            confidence = part
        elif confidence < part:
            continue
        if confidence > prior[s]:
            own[s] = confidence


@njit(cache=True)
def _read_weighted(kind, priors, people, open_, counts, present, n, after) -> None:  # type: ignore[no-untyped-def]
    """JS-reduce's estimator and the Omega-estimate; where the priors exclude all there is, shares of the class.

    JS-reduce, with prior C[v,row], its sums R over rows and K over people, and total t:
    P(v,row) = ((n-1)! C + (n-2)! (t - R - K + C)) / ((n-1)! t).
    """
    width = priors.shape[1]
    by_value = np.full(width, (n - len(open_)) / width)
    total = 0.0
    for at in open_:
        for s in present:
            by_value[s] += priors[people[at], s]
    for s in present:
        total += counts[s] * by_value[s]
    for at in open_:
        v = people[at]
        mine = 0.0
        for s in present:
            if kind == _JS_REDUCE:
                mine += counts[s] * priors[v, s]
            elif by_value[s] > 0.0:
                mine += counts[s] * priors[v, s] / by_value[s]
        for s in present:
            if n == 1 or total <= 0.0 or (kind == _OMEGA and mine <= 0.0):
                after[v, s] = counts[s] / n
            elif kind == _JS_REDUCE:
                rest = total - mine - by_value[s] + priors[v, s]
                after[v, s] = counts[s] * (priors[v, s] + rest / (n - 1.0)) / total
            elif by_value[s] > 0.0:
                after[v, s] = counts[s] * priors[v, s] / by_value[s] / mine
