"""A release whose classes hold people of whom an attacker believes alike: what BayFrame and JS-reduce share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np

from reissue.arrays.sets import distinct, sorted_unique
from reissue.arrays.sorting import sort_by_bucket
from reissue.arrays.types import Bool, Float64, Int32, Int64
from reissue.errors import InfeasiblePolicy
from reissue.methods.beliefs.cycle import Applied, BeliefState, Reasoning, select_claims
from reissue.methods.beliefs.growing import BeliefRows, grow
from reissue.methods.beliefs.joining import join
from reissue.methods.beliefs.knowledge import Knowledge, ReadKnowledge, count_fragment, find_moves, find_shares
from reissue.methods.beliefs.revision import MoveCounts, compute_divergences, compute_entropies
from reissue.model.boxes import bounding_boxes, widen_to_nodes
from reissue.model.feasible import refuse_infeasible
from reissue.model.fragment_counts import FragmentCounts
from reissue.model.release import Candidate, Coded, Counterfeits, History
from reissue.model.requirement import Limits, Requirement, classes_meet, distribution, tighten_limits
from reissue.model.settings import FINITE, Within

Leftovers = Literal["suppress"]
Divergence = Annotated[float, Within("a divergence in bits; 0.2 to 0.8 are usual", least=0, most=FINITE)]

WINDOW = 256
"""How many rows in line a class may choose from when it passes over people of other beliefs."""
ROUNDING = 1e-12
"""Slack of J, so that equal beliefs count as equal; far below that of the check."""
RELAX, RELAX_AT_MOST = 1.1, 40
"""Looser conditions that a refusal names: J and beta (or t) multiplied by this, so many times at most."""
MOST_SUPPRESSED = 0.25
"""Of the rows of a release, unless the policy says otherwise: a table without a quarter of its people misleads."""

PATIENCE = 200_000
"""Rows times rounds in which rows of undone classes join whatever holds just now: fewer are left over in the end."""

AFRESH = (0, 2, 4, 7, 11, 16)
"""After these attempts of all fragments (from 0), classes are made anew with as much room as the last one lacked."""


@dataclass(frozen=True)
class SimilarityPromise:
    """What every class must keep: the requirement on its values and J, in bits, on its members' priors."""

    requirement: Requirement
    J: float

    def relax(self, times: int) -> SimilarityPromise:
        """J and beta or t made looser; k stays."""
        factor = RELAX**times
        beta, t = self.requirement.beta, self.requirement.t
        loose = replace(
            self.requirement,
            beta=None if beta is None else beta * factor,
            t=None if t is None else min(1.0, t * factor),
        )
        return SimilarityPromise(loose, self.J * factor)

    def sentence(self) -> str:
        return f"{self.requirement.sentence()}, J = {self.J:.4g}"


def survey(snapshot: Coded, history: History, knowledge: Knowledge, how: Reasoning) -> FragmentCounts:
    """What a fragment counts for the others: values, how they moved, and where they are frequent."""
    beliefs = BeliefState.read(history.caches)
    moves, _ = beliefs.count_moves(snapshot.subjects, snapshot.values, snapshot.value_count)
    return count_fragment(knowledge, snapshot, moves, how.steps)


def estimate_priors(
    snapshot: Coded, history: History, knowledge: Knowledge, given: ReadKnowledge, how: Reasoning
) -> tuple[Float64, Applied]:
    """(float64[rows, v] the prior of everybody in the snapshot, what it was made with).

    What is estimated is estimated from the whole table, also where the snapshot is a fragment of it.
    """
    number, whole = len(history) + 1, history.whole
    beliefs = BeliefState.read(history.caches)
    values = snapshot.value_count
    category, shares = find_shares(knowledge, given, snapshot.codes, snapshot.values, snapshot.domains, values, whole)
    if whole is None:
        counts, _ = beliefs.count_moves(snapshot.subjects, snapshot.values, values)
    else:
        counts = MoveCounts.sum(whole.everywhere, values)
    table = _count_everybody(snapshot, history) + knowledge.smoothing / max(1, values)
    moves = find_moves(knowledge, given, counts, table / table.sum(), how.steps, values)
    new = np.flatnonzero(~np.isin(snapshot.subjects, beliefs.people))
    new = new[np.argsort(snapshot.subjects[new])]
    applied = Applied(
        moves,
        snapshot.subjects[new],
        category[new],
        shares,
        select_claims(given.claims, beliefs.number, number, how.cascading),
    )
    prior, _ = beliefs.settle(how, applied).priors(snapshot.subjects, applied, number)
    return prior, applied


def propose(
    snapshot: Coded,
    history: History,
    promise: SimilarityPromise,
    line: Int64,
    prior: Float64,
    applied: Applied,
    unmatched: int = 0,
    most_suppressed: float = MOST_SUPPRESSED,
) -> Candidate:
    """Group the rows, leave out those that fit no class among others, and say what was done.

    line: int64[rows], the order in which rows become classes; unmatched: compromised records about people whom the
    series does not know; most_suppressed: share of the rows, above which it is refused.
    """
    refuse_infeasible(
        promise.requirement, np.bincount(snapshot.values, minlength=snapshot.value_count).astype(np.int64)
    )
    rows = BeliefRows(snapshot.values, prior, compute_entropies(prior))
    grown, classes = _group_rows(snapshot, history, rows, line, promise)
    if grown == 0:
        _refuse(promise, prior, history)
    left = int((classes < 0).sum())
    if _is_too_many(left, most_suppressed, len(snapshot)):
        _refuse_runaway(snapshot, history, rows, line, promise, left, most_suppressed)
    candidate = _make_candidate(snapshot, history, promise, classes, applied)
    if unmatched and history.whole is None:  # a fragment knows its own people only
        said = (
            f"{unmatched:,} compromised records are about people whom the series does not know; they were passed over."
        )
        candidate = replace(candidate, steps=(*candidate.steps, said))
    return candidate


def _group_rows(
    snapshot: Coded, history: History, rows: BeliefRows, line: Int64, promise: SimilarityPromise
) -> tuple[int, Int32]:
    """(how many classes could be made, int32[rows] the class of each row, -1 where it is left out).

    Grow classes, let leftovers join, and undo classes that fail against the table as it will be published. beta
    compares with the snapshot (definition 7), so nothing is undone for its sake. t compares with the table that readers
    see, too, whose shares differ when rows are left out. Every round undoes a class or leaves one out, so it ends; and
    since rows of undone classes join with room to spare (`tighten_limits`) once patience ends, few rounds do. A
    fragment does not know what the others will publish: after the first attempt all its classes are made with room to
    spare, and hold against the tables of later attempts (`_list_tables`).
    """
    values, requirement = snapshot.value_count, promise.requirement
    limits = requirement.limits(_count_everybody(snapshot, history))
    most = promise.J + ROUNDING
    told, asked = _list_tables(history, values) if requirement.t is not None else [], limits
    if len(told) > 1:
        asked = tighten_limits(limits, distribution(told[1]))
    classes = _grow_classes(line, rows, asked, most)
    number = int(classes.max(initial=-1)) + 1
    if number == 0:
        return 0, classes
    span = np.array([domain.cost_span for domain in snapshot.domains], dtype=np.float64)
    points = np.ascontiguousarray(snapshot.codes / span[None, :])
    out: Bool = np.zeros(len(classes), dtype=np.bool_)  # rows that have tried all classes, or are left out with one
    patience = PATIENCE
    while (classes >= 0).any():
        left = np.flatnonzero((classes < 0) & ~out)
        if len(left):
            join(left, distinct([*snapshot.codes[left].T])[1], classes, number, rows, points, asked, most)
        out[left] = classes[left] < 0
        if requirement.t is not None:
            seen = told[0] if told else _count_values(snapshot.values[classes >= 0], values)
            table = replace(requirement, beta=None).limits(seen)
            good = classes_meet(limits, classes, snapshot.values, number)
            good &= classes_meet(table, classes, snapshot.values, number)
            undone = (classes >= 0) & ~good[classes]
            if undone.any():
                classes[undone] = -1
                patience -= len(classes)
                asked = tighten_limits(limits, table.table) if patience < 0 else asked
                continue
            if len(told) > 1:
                told = told[1:]
                continue
        are_mixed = leave_out_more(classes, snapshot.values, limits, history.seed)
        if requirement.t is None or told or np.array_equal(are_mixed, classes):
            return number, _renumber(are_mixed)
        classes, out = are_mixed, out | (are_mixed < 0)
    return number, classes


def leave_out_more(classes: Int32, values: Int32, limits: Limits, seed: int) -> Int32:
    """The classes without some, drawn by the secret seed, until those left out are as mixed as a class must be.

    Rows that fit no class tend to have a value in common: by themselves, their absence would reveal it. Whole classes
    are left out beside them, whatever their values are. All, if nothing less will do. O(rows log classes).
    """
    number = int(classes.max(initial=-1)) + 1
    rank = np.append(np.random.default_rng([seed, 15]).permutation(number), -1)[classes]
    end, order = sort_by_bucket((rank + 1).astype(np.int32), number + 1)
    in_turn = values[order]

    def are_mixed(count: int) -> bool:
        absent = in_turn[: end[count + 1]]
        return bool(classes_meet(limits, np.zeros(len(absent), dtype=np.int32), absent, 1)[0])

    if (classes >= 0).all() or are_mixed(0):
        return classes
    low, high = 0, 1
    while high < number and not are_mixed(high):
        low, high = high, min(2 * high, number)
    while high - low > 1 and high < number:
        middle = (low + high) // 2
        low, high = (low, middle) if are_mixed(middle) else (middle, high)
    return np.where(rank < high, np.int32(-1), classes).astype(np.int32)


def _list_tables(history: History, values: int) -> list[Int64]:
    """The tables that a fragment's classes must hold against: the snapshot's, and those of attempts to publish it.

    The first attempt shows how much room is needed; where what follows does not settle, a later one shows it again.
    """
    if history.whole is None:
        return []
    published = history.whole.published
    start = max((number for number in AFRESH if number < len(published)), default=0)
    return [history.whole.values(values), *published[start:]]


def _count_everybody(snapshot: Coded, history: History) -> Int64:
    """int64[values]: how often each value occurs in the whole table."""
    if history.whole is None:
        return _count_values(snapshot.values, snapshot.value_count)
    return history.whole.values(snapshot.value_count)


def _grow_classes(line: Int64, rows: BeliefRows, limits: Limits, most: float) -> Int32:
    """int32[rows]: classes along the line; then, of those left over, classes along an order of their beliefs.

    The second pass brings together people who are far apart but of whom the same is believed, such as members of an
    earlier class: a wide class tells more than suppressed rows.
    """
    reach = max(16, 4 * limits.k)
    classes: Int32 = grow(line, rows, limits, most, reach, max(WINDOW, reach))
    left = np.flatnonzero(classes < 0)
    if len(left) >= limits.k:
        alike = left[np.lexsort(np.round(rows.prior[left], 2).T)]
        more = grow(alike, rows, limits, most, reach, max(WINDOW, reach))
        classes[more >= 0] = more[more >= 0] + np.int32(classes.max(initial=-1) + 1)
    return classes


def _count_values(values: Int32, value_count: int) -> Int64:
    return np.bincount(values, minlength=value_count).astype(np.int64)


def _renumber(classes: Int32) -> Int32:
    """Classes that have rows numbered 0, 1, ...; -1 stays."""
    used = sorted_unique(classes[classes >= 0])
    numbered = np.searchsorted(used, classes).astype(np.int32)
    return np.where(classes >= 0, numbered, np.int32(-1))


def _refuse(promise: SimilarityPromise, prior: Float64, history: History) -> None:
    apart = float(compute_divergences(prior, np.zeros(len(prior), dtype=np.int32), 1)[0])
    works = f"; J = {np.ceil(apart * 1000) / 1000:g} always works" if history.whole is None else ""
    raise InfeasiblePolicy(
        f"No class can be made with {promise.sentence()}: not one group of people near each other keeps it. With all "
        f"rows in one class the divergence of beliefs is {apart:.3g} bits{works}. Raise J or beta (t), or lower k."
    )


def _is_too_many(left: int, most: float, size: int) -> bool:
    """Whether more rows are left out than may be, or everybody is: a release of nobody is none."""
    return left == size or left > most * size


def _refuse_runaway(
    snapshot: Coded, history: History, rows: BeliefRows, line: Int64, promise: SimilarityPromise, left: int, most: float
) -> None:
    """Too many rows fit no class: name the least relaxation that would do, by bisection."""

    def count_left(times: int) -> int:
        return int((_group_rows(snapshot, history, rows, line, promise.relax(times))[1] < 0).sum())

    low, high, size = 0, RELAX_AT_MOST, len(snapshot)
    found = count_left(high)
    nearest = "No looser J, beta or t helps: lower k"
    if not _is_too_many(found, most, size):
        while high - low > 1:
            middle = (low + high) // 2
            fewer = count_left(middle)
            low, high, found = (middle, high, found) if _is_too_many(fewer, most, size) else (low, middle, fewer)
        near = promise.relax(high).sentence()
        nearest = f"The nearest conditions that do are {near}, with {100 * found / size:.3g}% suppressed: use them"
    more = ", or raise most_suppressed" if left < size else ""
    raise InfeasiblePolicy(
        f"With {promise.sentence()}, {left:,} of {size:,} rows ({100 * left / size:.3g}%) would be left out: those "
        f"that fit no class, and others among whom their absence reveals nothing; at most {100 * most:.4g}% may be "
        f"suppressed (most_suppressed = {most:g}), and somebody must be left. {nearest}{more}."
    )


def _make_candidate(
    snapshot: Coded, history: History, promise: SimilarityPromise, classes: Int32, applied: Applied
) -> Candidate:
    number = int(classes.max()) + 1
    return Candidate(
        boxes=widen_to_nodes(bounding_boxes(snapshot.codes, classes, number), snapshot.domains),
        classes=classes,
        counterfeits=Counterfeits.none(len(snapshot.domains)),
        steps=_describe_steps(snapshot, promise, classes, applied),
        extras={**applied.extras(), "table": _count_everybody(snapshot, history)},
    )


def _describe_steps(snapshot: Coded, promise: SimilarityPromise, classes: Int32, applied: Applied) -> tuple[str, ...]:
    sizes = np.bincount(classes[classes >= 0])
    new, claims, suppressed = len(applied.newcomers), len(applied.claims), int((classes < 0).sum())
    said = [
        f"Beliefs: revised for {len(snapshot) - new:,} people from earlier releases, by category for {new:,} new ones"
        + (f"; {claims:,} compromised records were taken into account." if claims else "."),
        f"Grouped into {len(sizes):,} classes of {sizes.min():,} to {sizes.max():,} rows, {promise.sentence()}.",
    ]
    if suppressed:
        said.append(
            f"{suppressed:,} rows are suppressed: those that fitted no class, and whole classes drawn at random, until "
            "the values of those left out are as mixed as a class must be."
        )
    return tuple(said)
