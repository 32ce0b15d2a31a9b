"""Posterior beliefs: what the classes of one release tell an attacker who held priors about their members.

The papers enumerate the n! assignments of a class's n rows to its n people. That is never needed:

exact      Bayes' rule: an assignment is as likely as the PRODUCT of the priors it uses. A ratio of permanents, by a sum
           over the counts that are left of each value (`arrays.permanent`); classes of more than MOST_STATES states are
           read by Bethe's approximation (`arrays.permanent`), see `find_small`.
bayes      Amiri et al. 2019, section 4.3.1: Dirichlet weights 1 on every assignment (more where claims say so), one
           observation on the most believed one. With m(s) rows of value s and pi* that assignment,
           P(v,s) = ((n-1)! m(s) + [pi*(v) = s]) / (n! + 1); with claims see `_read_bayes`.
js-reduce  Riboni et al. 2012: assignments weighted by their total prior.
omega      Li et al.: P(v,s) proportional to m(s) prior(v,s) / sum of prior(v',s) over the class: exact for two rows at
           most, beyond that weaker than `exact`.

Where several assignments are the most believed, `bayes` shares the observation out: people of equal priors get equal
posteriors, and so do values of which everybody believes alike. What ties beyond that is settled by the priors in
ascending order, so that neither a seed nor the numbering of people decides.

Rows that stand for nobody are given to a person of whom nothing is known (uniform prior).
"""

from __future__ import annotations

from math import lgamma
from typing import Literal, NamedTuple

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.permanent import MOST_STATES, ROUNDS, Deals, bethe_messages, deal_messages, weigh_messages
from reissue.arrays.sorting import sort_ascending, sort_by_bucket
from reissue.arrays.types import Bool, Float64, Int32, Int64
from reissue.methods.beliefs.assignment import find_best_values
from reissue.methods.beliefs.revision import Claims

Estimator = Literal["exact", "bayes", "js-reduce", "omega"]

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
) -> Float64:
    """float64[people, values]: beliefs after the release; every row sums to 1.

    O(people * values + rows log rows); `exact` also O(values * states) for each class.

    priors: float64[people, values]; subjects, member_classes: int64, int32[people]; row_classes, row_values:
    int32[rows] of all published rows, those of counterfeits too. claims: about this release; a claim of confidence 1
    fixes its subject and takes one row of the value out of the class (it is ignored if the class has no such row
    left); the others weigh the Dirichlet parameters if `weigh` (posterior-based cascading, `bayes` only).
    """
    count = int(max(member_classes.max(initial=-1), row_classes.max(initial=-1))) + 1
    if count == 0:  # nothing is out yet: no reason to wait for the kernels to be compiled
        return np.zeros(priors.shape, dtype=np.float64)
    member_start, people = sort_by_bucket(member_classes, count)
    row_start, rows = sort_by_bucket(row_classes, count)
    found = (claims or Claims.none()).about(subjects[people])
    priors, after = np.ascontiguousarray(priors, dtype=np.float64), np.zeros_like(priors, dtype=np.float64)
    classes = ReadClasses(
        people, member_start, row_values[rows].astype(np.int32), row_start,
        *found, np.zeros(priors.shape[1], dtype=np.int64), np.empty(priors.shape[1], dtype=np.int32),
    )  # fmt: skip
    if estimator == "bayes":
        _read_classes_by_bayes(priors, classes, weigh, after)
    elif estimator == "exact":
        _read_classes_exactly(priors, classes, find_small(row_classes, row_values, count), after)
    else:
        _read_classes_by_weight(estimator == "js-reduce", priors, classes, after)
    return after


def find_small(row_classes: Int32, row_values: Int32, count: int) -> Bool:
    """bool[count]: classes that `exact` reads exactly: their values are dealt in at most MOST_STATES states."""
    width = int(row_values.max(initial=0)) + 1
    group, rows = np.unique(row_classes.astype(np.int64) * width + row_values, return_counts=True)
    start = np.searchsorted(group // width, np.arange(count + 1)).astype(np.int64)
    return Deals(start, start, rows.astype(np.int64)).small()


class ReadClasses(NamedTuple):
    """Who and what is in each class, what is claimed of whom, and room for one class at a time.

    people: int64[people], ordered by class; member_start: int64[classes + 1]; values: int32[rows], ordered by class;
    row_start: int64[classes + 1]; claim_start: int64[people + 1]; claim_values, confidences: int32, float64[claims];
    counts: int64[values], zero between classes; present: int32[values].
    """

    people: Int64
    member_start: Int64
    values: Int32
    row_start: Int64
    claim_start: Int64
    claim_values: Int32
    confidences: Float64
    counts: Int64
    present: Int32


@njit(cache=True)
def _read_classes_by_bayes(priors: Float64, classes: ReadClasses, weigh: bool, after: Float64) -> None:
    for c in range(len(classes.row_start) - 1):
        present, left, size = _open_class(classes, c, after)
        sort_ascending(present)  # the order of rows must not decide
        if len(left) > 0:
            _read_bayes(priors, classes, left, present, size, weigh, after)
        _close_class(classes, present)


@njit(cache=True)
def _read_classes_exactly(priors: Float64, classes: ReadClasses, small: Bool, after: Float64) -> None:
    room = np.empty((2, MOST_STATES if small.any() else 1))
    for c in range(len(classes.row_start) - 1):
        present, left, size = _open_class(classes, c, after)
        sort_ascending(present)  # the order of rows must not decide
        if len(left) > 0:
            _read_exactly(priors, classes.people[left], classes.counts, present, size, small[c], room, after)
        _close_class(classes, present)


@njit(cache=True)
def _read_classes_by_weight(js_reduce: bool, priors: Float64, classes: ReadClasses, after: Float64) -> None:
    for c in range(len(classes.row_start) - 1):
        present, left, size = _open_class(classes, c, after)
        if len(left) > 0:
            _read_weighted(js_reduce, priors, classes.people, left, classes.counts, present, size, after)
        _close_class(classes, present)


@njit(cache=True)
def _open_class(classes: ReadClasses, c: int, after: Float64) -> tuple[Int32, Int64, int]:
    """The values of a class, the places in `people` of those whom no claim fixes, and the rows left for these.

    Counts the values; who is fixed is believed to have the value, which is no longer counted.
    """
    counts, present, people, found = classes.counts, classes.present, classes.people, 0
    for row in range(classes.row_start[c], classes.row_start[c + 1]):
        if counts[classes.values[row]] == 0:
            present[found] = classes.values[row]
            found += 1
        counts[classes.values[row]] += 1
    size = classes.row_start[c + 1] - classes.row_start[c]
    left, members = 0, np.empty(classes.member_start[c + 1] - classes.member_start[c], dtype=np.int64)
    for at in range(classes.member_start[c], classes.member_start[c + 1]):
        fixed = -1
        for i in range(classes.claim_start[at], classes.claim_start[at + 1]):
            if classes.confidences[i] >= 1.0 and counts[classes.claim_values[i]] > 0:
                fixed = classes.claim_values[i]
        if fixed >= 0:
            after[people[at], fixed] = 1.0
            counts[fixed] -= 1
            size -= 1
        else:
            members[left] = at
            left += 1
    return present[:found], members[:left], size


@njit(cache=True)
def _close_class(classes: ReadClasses, present: Int32) -> None:
    for s in present:
        classes.counts[s] = 0


@njit(cache=True)
def _read_bayes(
    priors: Float64, classes: ReadClasses, open_: Int64, present: Int32, n: int, weigh: bool, after: Float64
) -> None:
    """The exact expectation of the multinomial's parameters, summed over assignments; all divided by (n-2)!.

    With weights CR(v',s') of matching assignments (definition 6): the numerator grows by CR N(v,s;v',s') and the
    denominator by CR (n-1)! m(s'), where N counts the assignments that give s to v and s' to v':
    (n-1)! m(s) for v' = v and s' = s, none for v' = v otherwise, else (n-2)! (m(s) m(s') - [s = s'] m(s)).
    """
    width, people, counts, claim_start = priors.shape[1], classes.people, classes.counts, classes.claim_start
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
                _weigh_claims(own, priors[people[at]], classes, at, present)
                for s in present:
                    total[s] += own[s]
                    weighed += own[s] * counts[s]
    bump = np.exp(-lgamma(n - 1.0)) if n <= LARGEST_BUMP else 0.0
    best = find_best_values(priors, people[open_], counts, present, n) if bump > 0.0 else np.empty((0, 0))
    whole = n * (n - 1.0) + bump + (n - 1.0) * weighed
    for i in range(len(open_)):
        at, v = open_[i], people[open_[i]]
        own[:] = 0.0
        mine = 0.0
        if weigh and claim_start[at + 1] > claim_start[at]:
            _weigh_claims(own, priors[v], classes, at, present)
            for s in present:
                mine += own[s] * counts[s]
        for j in range(len(present)):
            s, m = present[j], counts[present[j]]
            ways = (n - 1.0) * m * (1.0 + own[s]) + m * (weighed - mine) - m * (total[s] - own[s])
            if bump > 0.0:
                ways += bump * best[i, j]
            after[v, s] = ways / whole


@njit(cache=True)
def _read_exactly(priors, people, counts, present, n, small, room, after) -> None:  # type: ignore[no-untyped-def]
    """Bayes' rule; where the priors exclude all there is, shares of the class."""
    left = 0
    dealt, values = np.empty(len(present), dtype=np.int64), np.empty(len(present), dtype=np.int64)
    for s in present:
        if counts[s] > 0:
            values[left], dealt[left] = s, counts[s]
            left += 1
    values, dealt = values[:left], dealt[:left]
    own, into = np.empty((len(people), left)), np.ones((len(people), left))
    for i in range(len(people)):
        for j in range(left):
            own[i, j] = priors[people[i], values[j]]
    if small:
        deal_messages(own, dealt, room, into)
    else:
        bethe_messages(own, dealt, into, ROUNDS)
    weigh_messages(own, into)
    for i in range(len(people)):
        total = into[i].sum()
        for j in range(left):
            after[people[i], values[j]] = into[i, j] if total > 0.0 else dealt[j] / n


@njit(cache=True)
def _weigh_claims(own: Float64, prior: Float64, classes: ReadClasses, at: int, present: Int32) -> None:
    """Fill `own` (float64[values], zero elsewhere) with the confidences that exceed the prior, as section 4.4.2 says.

    A claim below the prior speaks for the class's other values: what the claims leave (1 - their sum) goes in equal
    parts to the values that no claim names, and the claims that are smaller than such a part are what it was
    inferred from: they do not count again (example 4).
    """
    first, last = classes.claim_start[at], classes.claim_start[at + 1]
    counts, claim_values, confidences = classes.counts, classes.claim_values, classes.confidences
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
def _read_weighted(js_reduce, priors, people, open_, counts, present, n, after) -> None:  # type: ignore[no-untyped-def]
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
            if js_reduce:
                mine += counts[s] * priors[v, s]
            elif by_value[s] > 0.0:
                mine += counts[s] * priors[v, s] / by_value[s]
        for s in present:
            if n == 1 or total <= 0.0 or (not js_reduce and mine <= 0.0):
                after[v, s] = counts[s] / n
            elif js_reduce:
                rest = total - mine - by_value[s] + priors[v, s]
                after[v, s] = counts[s] * (priors[v, s] + rest / (n - 1.0)) / total
            elif by_value[s] > 0.0:
                after[v, s] = counts[s] * priors[v, s] / by_value[s] / mine
