"""Does a finished release keep k, beta or t, and J? From the facts and the caches, by code that did not make it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from reissue.arrays.types import Float64, Int64
from reissue.methods.beliefs.classes import SimilarityPromise
from reissue.methods.beliefs.cycle import Applied, Reasoning, attach_people, settle_before
from reissue.methods.beliefs.revision import compute_divergences
from reissue.model.release import Facts, History
from reissue.model.requirement import TOLERANCE, distribution
from reissue.model.requirement_check import Violation, violations


def find_broken_promise(
    facts: Facts, history: History, promise: SimilarityPromise, how: Reasoning, smoothing: float
) -> str | None:
    """A sentence about the condition that some class breaks; None if all hold.

    J is measured on the priors of everybody whom an attacker takes to be in the class. beta compares with the snapshot,
    whose counts the release keeps; t with what is published, where a table is divided by all fragments together, as
    announced: see `Strategy.repeats_until_stable`. Those left out must be as mixed as a class; a fragment alone does
    not show who they are.
    """
    applied = Applied.read(facts.extras)
    values = max(int(facts.values.max(initial=0)) + 1, 0 if applied is None else applied.values)
    table: Float64 | None = None
    if history.whole is not None:
        values = max(values, len(history.whole.announced(values)))
        table = distribution(history.whole.announced(values))
    snapshot, own = _read_snapshot(facts, history, values), np.bincount(facts.values[facts.real], minlength=values)
    more = np.flatnonzero(own > snapshot)
    if len(more) and history.whole is None:
        return f"more rows of {{value:{more[0]}}} are published than the snapshot is said to have"
    for requirement, shares in (
        (replace(promise.requirement, beta=None), table),
        (replace(promise.requirement, t=None), distribution(snapshot)),
    ):
        for violation in violations(requirement, facts.classes, facts.values, len(snapshot), shares):
            of = _name_value(violation)
            return (
                f"class {violation.worst} has {violation.condition} = {violation.measured:.4g}{of}, the limit is "
                f"{violation.limit:.4g}"
            )
    absent = snapshot - np.bincount(facts.values[facts.real], minlength=len(snapshot))
    if history.whole is None and absent.any():
        values_absent = np.repeat(np.arange(len(absent), dtype=np.int32), absent)
        alone = np.zeros(len(values_absent), dtype=np.int32)
        for violation in violations(promise.requirement, alone, values_absent, len(snapshot), distribution(snapshot)):
            of = _name_value(violation)
            return (
                f"the {len(alone):,} people left out have {violation.condition} = {violation.measured:.4g}{of}, the "
                f"limit is {violation.limit:.4g}: their absence reveals their values"
            )
    apart = measure_divergences(facts, history, how, smoothing)
    worst = int(apart.argmax()) if len(apart) else -1
    if worst >= 0 and apart[worst] > promise.J + TOLERANCE:
        return f"the beliefs about class {worst} are {apart[worst]:.4g} bits apart, J is {promise.J:.4g}"
    return None


def _name_value(violation: Violation) -> str:
    return "" if violation.value is None else f" for {{value:{violation.value}}}"


def _read_snapshot(facts: Facts, history: History, values: int) -> Int64:
    """int64[values]: how often each value occurs in the whole snapshot, as far as it is said.

    A fragment is told it; a whole release keeps it, and it must cover the rows that are published of real people. One
    that was made without beliefs suppressed nothing that it tells of.
    """
    if history.whole is not None:
        return history.whole.values(values)
    if "table" not in facts.extras:
        return np.bincount(facts.values, minlength=values).astype(np.int64)
    said = np.zeros(values, dtype=np.int64)
    table = np.asarray(facts.extras["table"], dtype=np.int64)[:values]
    said[: len(table)] = table
    return said


def measure_divergences(facts: Facts, history: History, how: Reasoning, smoothing: float) -> Float64:
    """float64[classes]: Jensen-Shannon divergence in bits of the members' priors in this release."""
    settled, applied = settle_before(history.caches, facts, how, smoothing)
    rows = attach_people(facts, applied)
    inside = rows.people >= 0
    prior, _ = settled.priors(rows.people[inside], applied, facts.number)
    return compute_divergences(prior, rows.classes[inside], facts.class_count)
