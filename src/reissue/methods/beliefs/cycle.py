"""The belief cycle over a series: prior, posterior by class, revised prior for the next release, and so on.

The state is a cache of the ledger, folded over facts. What was known when a release was made (shares, transitions,
claims) is kept with the release, in the extras of its facts, so that the fold gives the same whenever it is repeated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from reissue.arrays.sets import difference, lookup, sorted_unique, union
from reissue.arrays.types import NO_CODES, NO_NUMBERS, Bool, Float64, Int32, Int64
from reissue.methods.beliefs.posterior import Estimator, compute_posteriors
from reissue.methods.beliefs.revision import Claims, MoveCounts, Moves, mix_claims, revise, widen
from reissue.model.release import Facts, Table, take_codes, take_numbers

PEOPLE, ROWS, MOVES = "beliefs/people", "beliefs/rows", "beliefs/moves"


@dataclass(frozen=True)
class Reasoning:
    """How the attacker reasons: posterior estimator, steps of transitions, where claims enter."""

    estimator: Estimator = "bayes"
    steps: int = 1
    cascading: str = "prior"


@dataclass(frozen=True, eq=False)
class Applied:
    """What one release was made with.

    moves:     how beliefs of the release before were carried over
    newcomers: int64[n] ascending, people seen for the first time; category: int32[n]; shares: float64[categories, v]
    claims:    compromised records used: about this release (they enter the priors) or the one before (they enter its
               posterior); see `select_claims`
    stand_ins: int64[n] counterfeits that stand for int64[n] `behind`, whose own row was withheld
    """

    moves: Moves
    newcomers: Int64
    category: Int32
    shares: Float64
    claims: Claims = field(default_factory=Claims.none)
    stand_ins: Int64 = field(default_factory=lambda: NO_NUMBERS)
    behind: Int64 = field(default_factory=lambda: NO_NUMBERS)

    @property
    def values(self) -> int:
        return len(self.moves.one)

    def extras(self) -> dict[str, NDArray[np.generic]]:
        """For `Candidate.extras`: no codes but those of values, which never change."""
        return {
            "one": self.moves.one,
            "two": np.empty((0, 0)) if self.moves.two is None else self.moves.two,
            "newcomers": self.newcomers,
            "category": self.category,
            "shares": self.shares,
            "claim_subject": self.claims.subjects,
            "claim_value": self.claims.values,
            "claim_release": self.claims.releases,
            "claim_confidence": self.claims.confidences,
            "stand_in": self.stand_ins,
            "behind": self.behind,
        }

    @staticmethod
    def read(extras: Table) -> Applied | None:
        """From a release's extras; None if the release was made without beliefs."""
        if not {"one", "newcomers", "shares"} <= set(extras):
            return None
        two = np.asarray(extras["two"], dtype=np.float64)
        newcomers, behind, claimed, stand_ins = take_numbers(extras, "newcomers", "behind", "claim_subject", "stand_in")
        category, values, releases = take_codes(extras, "category", "claim_value", "claim_release")
        return Applied(
            Moves(np.asarray(extras["one"], dtype=np.float64), two if two.size else None),
            newcomers,
            category,
            np.asarray(extras["shares"], dtype=np.float64),
            Claims(claimed, values, releases, np.asarray(extras["claim_confidence"], dtype=np.float64)),
            stand_ins,
            behind,
        )


@dataclass(frozen=True, eq=False)
class BelievedRows:
    """The published rows of the last release.

    subjects: int64[rows] (negative: nobody); people: int64[rows] whom an attacker takes to be behind the row (-1:
    nobody); classes, values: int32[rows]; earlier: int32[rows] the subject's value one release before (-1: not there)
    """

    subjects: Int64
    people: Int64
    classes: Int32
    values: Int32
    earlier: Int32

    @staticmethod
    def none() -> BelievedRows:
        return BelievedRows(NO_NUMBERS, NO_NUMBERS, NO_CODES, NO_CODES, NO_CODES)


@dataclass(frozen=True, eq=False)
class BeliefState:
    """What an attacker believes of everybody who was ever published.

    people: int64[n] ascending
    prior:  float64[n, v] of people in the last release the prior they had in it, of all others their revised prior
    before: float64[n, v] posterior of the observation before the last (two steps; else no columns)
    times:  int32[n] in how many releases the person was
    number: of the last release; rows: its rows; counts: how values have moved so far
    """

    people: Int64
    prior: Float64
    before: Float64
    times: Int32
    number: int
    rows: BelievedRows
    counts: MoveCounts

    @staticmethod
    def none() -> BeliefState:
        nothing = np.empty((0, 0))
        return BeliefState(NO_NUMBERS, nothing, nothing, NO_CODES, 0, BelievedRows.none(), MoveCounts.none(0))

    @staticmethod
    def read(caches: Mapping[str, Table]) -> BeliefState:
        if PEOPLE not in caches:
            return BeliefState.none()
        people, rows = caches[PEOPLE], caches[ROWS]
        subjects, known = take_numbers(rows, "subject", "person")
        classes, values, earlier = take_codes(rows, "class", "value", "earlier")
        return BeliefState(
            np.asarray(people["subject"], dtype=np.int64),
            np.asarray(people["prior"], dtype=np.float64),
            np.asarray(people["before"], dtype=np.float64),
            np.asarray(people["times"], dtype=np.int32),
            int(people["number"][0]),
            BelievedRows(subjects, known, classes, values, earlier),
            MoveCounts.read(caches[MOVES]),
        )

    def caches(self) -> dict[str, Table]:
        """What the ledger keeps."""
        rows = self.rows
        return {
            PEOPLE: {
                "subject": self.people,
                "prior": self.prior,
                "before": self.before,
                "times": self.times,
                "number": np.array([self.number], dtype=np.int64),
            },
            ROWS: {
                "subject": rows.subjects,
                "person": rows.people,
                "class": rows.classes,
                "value": rows.values,
                "earlier": rows.earlier,
            },
            MOVES: self.counts.table(),
        }

    # --- one turn of the cycle ----------------------------------------------------------------------------------------

    def count_moves(self, subjects: Int64, values: Int32, value_count: int) -> tuple[MoveCounts, Int32]:
        """(the counts with the moves from the last release to these rows, int32[rows] the value there or -1)."""
        real = np.flatnonzero(self.rows.subjects >= 0)
        at, there = lookup(self.rows.subjects[real], subjects)
        last = real[at[there]]
        had = np.full(len(subjects), -1, dtype=np.int32)
        had[there] = self.rows.values[last]
        return self.counts.plus(self.rows.earlier[last], had[there], values[there], value_count), had

    def posterior(self, how: Reasoning, claims: Claims) -> tuple[Int64, Float64]:
        """(int64[members] positions in people, float64[members, v]): beliefs after the last release.

        claims: only those about the last release are used.
        """
        inside = np.flatnonzero(self.rows.people >= 0)
        person = np.searchsorted(self.people, self.rows.people[inside])
        everybody = len(person) == len(self.people) and bool((person[1:] > person[:-1]).all())
        after = compute_posteriors(
            self.prior if everybody else self.prior[person],
            self.people[person],
            self.rows.classes[inside],
            self.rows.classes,
            self.rows.values,
            estimator=how.estimator,
            claims=claims.at(self.number),
            weigh=how.cascading == "posterior",
        )
        return person, after

    def settle(self, how: Reasoning, applied: Applied) -> BeliefState:
        """Everybody's revised prior, now that the last release is read with what is known today. O(people v^2)."""
        values = max(self.prior.shape[1], applied.values)
        wide = replace(self, prior=widen(self.prior, values))
        person, after = wide.posterior(how, applied.claims)
        before = self.before
        if how.steps == 2:
            before = widen(self.before, values).copy()
            revised = revise(after, before[person], self.times[person] >= 2, applied.moves)
            before[person] = after
        else:
            revised = revise(after, after, np.zeros(len(person), dtype=np.bool_), applied.moves)
        if len(person) == len(self.people) and (person[1:] > person[:-1]).all():
            return replace(wide, prior=revised, before=before)
        prior = wide.prior.copy()
        prior[person] = revised
        return replace(wide, prior=prior, before=before)

    def priors(self, subjects: Int64, applied: Applied, number: int) -> tuple[Float64, Bool]:
        """(float64[n, v] the prior of each subject in release `number`, bool[n] who is new). Call it when settled."""
        at, known = lookup(self.people, subjects)
        values = max(self.prior.shape[1], applied.values)
        prior, new = np.empty((len(subjects), values)), np.flatnonzero(~known)
        if len(new) < len(subjects):  # of the others any row is taken, and replaced below
            np.take(widen(self.prior, values), at, axis=0, out=prior, mode="clip")
        fresh, listed = lookup(applied.newcomers, subjects[new])
        if not listed.all():
            raise ValueError("a newcomer without a category")
        shares, category = widen(applied.shares, values), applied.category[fresh]
        if len(new) == len(subjects):
            np.take(shares, category, axis=0, out=prior, mode="clip")
        else:
            prior[new] = shares[category]
        return mix_claims(prior, *applied.claims.at(number).about(subjects)), ~known

    def enter(self, facts: Facts, how: Reasoning, applied: Applied) -> BeliefState:
        """With the next release published. Call it when settled. O(people v)."""
        real = facts.real
        values = max(self.prior.shape[1], applied.values)
        counts, had = self.count_moves(facts.subjects[real], facts.values[real], values)
        earlier = np.full(len(real), -1, dtype=np.int32)
        earlier[real] = had
        rows = replace(attach_people(facts, applied), earlier=earlier)
        return replace(self.see(rows, facts.number, how, applied), counts=counts)

    def see(self, rows: BelievedRows, number: int, how: Reasoning, applied: Applied) -> BeliefState:
        """With the rows of release `number`: everybody in it gets their prior there. Call it when settled."""
        values = max(self.prior.shape[1], applied.values)
        inside = sorted_unique(rows.people[rows.people >= 0])
        prior, _ = self.priors(inside, applied, number)
        people = union(self.people, inside)
        old, now = np.searchsorted(people, self.people), np.searchsorted(people, inside)
        all_priors, times = np.empty((len(people), values)), np.zeros(len(people), dtype=np.int32)
        all_priors[old] = widen(self.prior, values)
        all_priors[now] = prior
        times[old] = self.times
        times[now] += 1
        before = np.zeros((len(people), values if how.steps == 2 else 0))
        if how.steps == 2:
            before[old] = widen(self.before, values)
        return BeliefState(people, all_priors, before, times, number, rows, self.counts)


def attach_people(facts: Facts, applied: Applied) -> BelievedRows:
    """The rows of a release with the people an attacker takes to be behind them."""
    people = np.where(facts.real, facts.subjects, np.int64(-1))
    order = np.argsort(applied.stand_ins, kind="stable")
    at, stands = lookup(applied.stand_ins[order], facts.subjects)
    people[stands] = applied.behind[order][at[stands]]
    return BelievedRows(facts.subjects, people, facts.classes, facts.values, np.full(len(people), -1, dtype=np.int32))


def select_claims(claims: Claims, last: int, number: int, cascading: str) -> Claims:
    """Those that the making of release `number` uses, when release `last` is the one before (0: none).

    Prior cascading: what is held to be known about this release; of the release before only what is certain, because
    certain people's rows are taken out of their classes. Posterior cascading: all about the release before.
    """
    if cascading == "posterior":
        return claims.at(last)
    certain = (claims.releases == last) & (claims.confidences >= 1.0)
    return claims.take((claims.releases == number) | certain)


def read_applied(beliefs: BeliefState, facts: Facts, steps: int, smoothing: float) -> Applied:
    """What a release was made with; for one made without beliefs, statistics of its own rows."""
    kept = Applied.read(facts.extras)
    if kept is not None:
        return kept
    real = facts.real
    values = max(beliefs.prior.shape[1], int(facts.values.max(initial=0)) + 1)
    table = np.bincount(facts.values[real], minlength=values) + smoothing / values
    table = table / table.sum()
    counts, _ = beliefs.count_moves(facts.subjects[real], facts.values[real], values)
    newcomers = difference(facts.subjects[real], beliefs.people)
    category = np.zeros(len(newcomers), dtype=np.int32)
    return Applied(counts.moves(table, steps, smoothing), newcomers, category, table[None, :])


def settle_before(
    caches: Mapping[str, Table], facts: Facts, how: Reasoning, smoothing: float
) -> tuple[BeliefState, Applied]:
    """(what was believed before a release, settled; what the release was made with).

    The fold and the check of one release want the same; while its facts live, it is computed once.
    """
    key = (caches.get(PEOPLE), how, smoothing)
    kept = _SETTLED.get(facts)
    if kept is not None and kept[0][0] is key[0] and kept[0][1:] == key[1:]:
        return kept[1:]
    before = BeliefState.read(caches)
    applied = read_applied(before, facts, how.steps, smoothing)
    settled = before.settle(how, applied)
    _SETTLED[facts] = (key, settled, applied)
    return settled, applied


_SETTLED: WeakKeyDictionary[Facts, tuple[tuple[Table | None, Reasoning, float], BeliefState, Applied]]
_SETTLED = WeakKeyDictionary()


def remember_beliefs(
    caches: Mapping[str, Table], facts: Facts, how: Reasoning, smoothing: float
) -> Mapping[str, Table]:
    """The caches after a release: one turn of the cycle, from facts and caches alone."""
    settled, applied = settle_before(caches, facts, how, smoothing)
    return settled.enter(facts, how, applied).caches()
