"""Does a finished release keep k, beta or t, and J? From the facts and the caches, by code that did not make it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from reissue.arrays.types import Float64, Int64
from reissue.methods.beliefs.classes import SimilarityPromise
from reissue.methods.beliefs.cycle import Applied, BeliefState, Reasoning, attach_people, read_applied
from reissue.methods.beliefs.revision import compute_divergences
from reissue.model.release import Facts, History
from reissue.model.requirement import TOLERANCE, Requirement, distribution
from reissue.model.requirement_check import violations


def find_broken_promise(
    facts: Facts, history: History, promise: SimilarityPromise, how: Reasoning, smoothing: float, *, may_relax: bool
) -> str | None:
    """A sentence about the condition that some class breaks; None if all hold.

    J is measured on the priors of everybody whom an attacker takes to be in the class. With `may_relax` the looser
    conditions that the release itself states are checked. beta compares with the snapshot, whose counts the release
    keeps; t with what is published, where a table is divided by all fragments together, as announced: see
    `Strategy.repeats_until_stable`.
    """
    kept = read_stated(facts, promise) if may_relax else promise
    applied = Applied.read(facts.extras)
    values = max(int(facts.values.max(initial=0)) + 1, 0 if applied is None else applied.values)
    table: Float64 | None = None
    if history.whole is not None:
        values = max(values, len(history.whole.announced(values)))
        table = distribution(history.whole.announced(values))
    snapshot = _read_snapshot(facts, history, values)
    if snapshot is None:
        return "more rows of a value are published than the snapshot is said to have"
    for requirement, shares in (
        (replace(kept.requirement, beta=None), table),
        (replace(kept.requirement, t=None), distribution(snapshot)),
    ):
        for violation in violations(requirement, facts.classes, facts.values, len(snapshot), shares):
            return (
                f"class {violation.worst} has {violation.condition} = {violation.measured:.4g}, the limit is "
                f"{violation.limit:.4g}"
            )
    apart = measure_divergences(facts, history, how, smoothing)
    worst = int(apart.argmax()) if len(apart) else -1
    if worst >= 0 and apart[worst] > kept.J + TOLERANCE:
        return f"the beliefs about class {worst} are {apart[worst]:.4g} bits apart, J is {kept.J:.4g}"
    return None


def _read_snapshot(facts: Facts, history: History, values: int) -> Int64 | None:
    """int64[values]: how often each value occurs in the whole snapshot; None if that cannot be.

    A fragment is told it; a whole release keeps it, and it must cover the rows that are published of real people. One
    that was made without beliefs suppressed nothing that it tells of.
    """
    own = np.bincount(facts.values[facts.real], minlength=values).astype(np.int64)
    if history.whole is not None:
        return history.whole.values(values)
    if "table" not in facts.extras:
        return np.bincount(facts.values, minlength=values).astype(np.int64)
    said = np.zeros(len(own), dtype=np.int64)
    table = np.asarray(facts.extras["table"], dtype=np.int64)[: len(own)]
    said[: len(table)] = table
    return said if (own <= said).all() else None


def measure_divergences(facts: Facts, history: History, how: Reasoning, smoothing: float) -> Float64:
    """float64[classes]: Jensen-Shannon divergence in bits of the members' priors in this release."""
    before = BeliefState.read(history.caches)
    applied = read_applied(before, facts, how.steps, smoothing)
    rows = attach_people(facts, applied)
    inside = rows.people >= 0
    prior, _ = before.settle(how, applied).priors(rows.people[inside], applied, facts.number)
    return compute_divergences(prior, rows.classes[inside], facts.class_count)


def read_stated(facts: Facts, promise: SimilarityPromise) -> SimilarityPromise:
    """The conditions that a release was made with, where it says so; never tighter than the policy's."""
    if "kept" not in facts.extras:
        return promise
    k, j, beta, t = np.asarray(facts.extras["kept"], dtype=np.float64).tolist()
    asked = promise.requirement
    loose = Requirement(
        k=min(asked.k, int(k)),
        beta=None if asked.beta is None else max(asked.beta, beta),
        t=None if asked.t is None else max(asked.t, t),
        ordered=asked.ordered,
        order=asked.order,
    )
    return SimilarityPromise(loose, max(promise.J, j))
