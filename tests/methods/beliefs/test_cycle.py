"""The belief cycle over a series, against one dictionary per person."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from reissue.arrays.types import Float64
from reissue.methods.beliefs.attack import BackgroundKnowledge
from reissue.methods.beliefs.attack_cycle import follow
from reissue.methods.beliefs.classes import estimate_priors
from reissue.methods.beliefs.cycle import (
    Applied,
    BeliefState,
    Reasoning,
    read_applied,
    remember_beliefs,
    settle_before,
)
from reissue.methods.beliefs.knowledge import Knowledge, ReadKnowledge
from reissue.methods.beliefs.posterior import compute_posteriors
from reissue.methods.beliefs.revision import Claims, MoveCounts, Moves
from reissue.model.observed import Members, Observed, ObservedRelease
from reissue.model.release import Coded, Facts, History, Table
from tests.support.histories import EVERYTHING, generate, toy_domains
from tests.support.words import PlainWords

VALUES = 4


def releases(seed: int, number: int = 6, grows: int | None = None) -> list[Facts]:
    """Snapshots dealt to classes of three at random; every release made with knowledge of its own.

    grows: the release with which two values come that nobody knew before
    """
    rng = np.random.default_rng(seed)
    made, seen = [], np.empty(0, dtype=np.int64)
    for i, snapshot in enumerate(generate(rng, releases=number, rows=18, values=VALUES, turnover=EVERYTHING), start=1):
        order = np.argsort(snapshot.subjects)
        known = VALUES if grows is None or i < grows else VALUES + 2
        values = snapshot.values[order].copy()
        values[rng.random(len(order)) < 0.3 * (known > VALUES)] = known - 1
        subjects = snapshot.subjects[order]
        classes = (rng.permutation(len(order)) // 3).astype(np.int32)
        newcomers = np.setdiff1d(subjects, seen)
        seen = np.union1d(seen, subjects)
        claims = Claims(
            subjects[:2], values[:2], np.full(2, i, np.int32), np.array([0.7, 1.0])
        )  # about this release, used by the next one as well
        if made:
            before = Applied.read(made[-1].extras)
            assert before is not None
            earlier = before.claims.at(i - 1)
            claims = Claims(
                np.concatenate([claims.subjects, earlier.subjects]),
                np.concatenate([claims.values, earlier.values]),
                np.concatenate([claims.releases, earlier.releases]),
                np.concatenate([claims.confidences, earlier.confidences]),
            )
        one = rng.dirichlet(np.ones(known), known)
        applied = Applied(
            Moves(one, rng.dirichlet(np.ones(known), known)),
            newcomers,
            rng.integers(0, 3, len(newcomers)).astype(np.int32),
            rng.dirichlet(np.ones(known), 3),
            claims,
        )
        boxes = np.zeros((int(classes.max()) + 1, 3, 2), dtype=np.int32)
        codes = snapshot.codes[order]
        made.append(Facts(i, boxes, subjects, classes, values, codes, extras=applied.extras()))
    return made


def padded(belief: Float64, values: int) -> Float64:
    """A value that nobody knew was impossible."""
    return np.concatenate([belief, np.zeros(values - len(belief))])


def simulate(series: list[Facts], how: Reasoning) -> dict[int, Float64]:
    """Everybody's prior in (or revised prior since) their last release, person by person."""
    prior: dict[int, Float64] = {}
    history: dict[int, list[Float64]] = {}
    last: Facts | None = None
    for facts in series:
        applied = Applied.read(facts.extras)
        assert applied is not None
        assert applied.moves.two is not None
        prior = {v: padded(belief, applied.values) for v, belief in prior.items()}
        history = {v: [padded(belief, applied.values) for belief in past] for v, past in history.items()}
        if last is not None:
            who = last.subjects
            after = compute_posteriors(
                np.array([prior[int(v)] for v in who]),
                who,
                last.classes,
                last.classes,
                last.values,
                estimator=how.estimator,
                claims=applied.claims.at(last.number),
                weigh=how.cascading == "posterior",
            )
            for v, belief in zip(who.tolist(), after, strict=True):
                past = history.setdefault(v, [])
                past.append(belief)
                two = how.steps == 2 and len(past) >= 2
                carried = past[-2] @ applied.moves.two if two else belief @ applied.moves.one
                prior[v] = carried / carried.sum()
        for v in facts.subjects.tolist():
            if v not in prior:
                prior[v] = applied.shares[applied.category[applied.newcomers.tolist().index(v)]]
            for i in range(len(applied.claims)):
                if applied.claims.subjects[i] == v and applied.claims.releases[i] == facts.number:
                    c = float(applied.claims.confidences[i])
                    prior[v] = c * np.eye(applied.values)[applied.claims.values[i]] + (1 - c) * prior[v]
        last = facts
    return prior


def fold(series: list[Facts], how: Reasoning) -> Mapping[str, Table]:
    caches: Mapping[str, Table] = {}
    for facts in series:
        caches = remember_beliefs(caches, facts, how, 10.0)
    return caches


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(
    "how",
    [
        Reasoning("bayes", 1, "prior"),
        Reasoning("bayes", 2, "posterior"),
        Reasoning("js-reduce", 2, "prior"),
        Reasoning("omega", 1, "prior"),
        Reasoning("exact", 2, "prior"),
    ],
    ids=str,
)
@pytest.mark.parametrize("grows", [None, 4], ids=["values known", "new values later"])
def test_the_fold_is_the_cycle(how: Reasoning, seed: int, grows: int | None) -> None:
    series = releases(seed, grows=grows)
    found = BeliefState.read(fold(series, how))
    expected = simulate(series, how)
    assert found.people.tolist() == sorted(expected)
    assert np.allclose(found.prior, [expected[v] for v in found.people.tolist()])
    assert np.allclose(found.prior.sum(axis=1), 1.0)


def test_what_is_settled_once_is_not_taken_for_other_caches_or_another_attacker() -> None:
    """The fold and the check of one release share what they compute, and nobody else does."""
    series, how = releases(3), Reasoning()
    caches, others = fold(series[:3], how), fold(series[:2], how)
    first, _ = settle_before(caches, series[3], how, 10.0)
    assert settle_before(caches, series[3], how, 10.0)[0] is first
    for given, reasoning in ((others, how), (caches, Reasoning(steps=2)), (caches, Reasoning("omega"))):
        alone = replace(series[3])  # as if nobody had asked before
        found, expected = (settle_before(given, facts, reasoning, 10.0)[0] for facts in (series[3], alone))
        assert found is not first
        assert np.array_equal(found.people, expected.people)
        assert np.array_equal(found.prior, expected.prior)


def test_a_leaver_keeps_the_revised_prior_and_uses_it_on_return() -> None:
    how, returned = Reasoning(), 0
    for seed in range(10):
        series = releases(seed, number=4)
        seen = [set(facts.subjects.tolist()) for facts in series]
        after_second, after_third, after_fourth = (BeliefState.read(fold(series[:n], how)) for n in (2, 3, 4))
        for v in sorted((seen[0] & seen[3]) - seen[1] - seen[2]):
            returned += 1
            claimed = Applied.read(series[3].extras)
            assert claimed is not None
            i, j, last = (int(np.searchsorted(b.people, v)) for b in (after_second, after_third, after_fourth))
            assert np.allclose(after_second.prior[i], after_third.prior[j])
            if v not in claimed.claims.subjects:
                assert np.allclose(after_second.prior[i], after_fourth.prior[last])
    assert returned > 0, "nobody came back after two releases"


def test_new_values_widen_the_vectors() -> None:
    series = releases(2, number=3)
    wide = Applied.read(series[2].extras)
    assert wide is not None
    one = np.full((6, 6), 1 / 6)
    shares = np.full((3, 6), 1 / 6)
    series[2] = replace(series[2], extras=replace(wide, moves=Moves(one, one), shares=shares).extras())
    found = BeliefState.read(fold(series, Reasoning(steps=2)))
    assert found.prior.shape[1] == 6
    assert np.allclose(found.prior.sum(axis=1), 1.0)


def test_releases_made_without_beliefs_are_read_by_their_own_statistics() -> None:
    series = [replace(facts, extras={}) for facts in releases(3)]
    found = BeliefState.read(fold(series, Reasoning()))
    assert np.allclose(found.prior.sum(axis=1), 1.0)
    moved = sum(len(np.intersect1d(one.subjects, other.subjects)) for one, other in itertools.pairwise(series))
    assert found.counts.pairs.sum() == moved


SMOOTHING = 3.0


def two_releases_without_beliefs(seed: int) -> tuple[list[Coded], list[Facts], Float64, Float64]:
    """(snapshots, releases, shares of the values in the second, moves into it), the statistics by their definition.

    In the second nobody has the last value any more: its share is what smoothing gives it.
    """
    facts = [replace(one, extras={}) for one in releases(seed, number=2)]
    facts[1] = replace(facts[1], values=facts[1].values % (VALUES - 1))
    snapshots = [Coded(one.subjects, one.codes, one.values, toy_domains(), VALUES) for one in facts]
    shares = np.array([(facts[1].values == value).sum() + SMOOTHING / VALUES for value in range(VALUES)])
    shares /= len(facts[1].values) + SMOOTHING
    had = dict(zip(facts[0].subjects.tolist(), facts[0].values.tolist(), strict=True))
    both = np.array([had.get(subject, -1) for subject in facts[1].subjects.tolist()], dtype=np.int32)
    stay = both >= 0
    moved = MoveCounts.none(VALUES).plus(np.full(stay.sum(), -1, np.int32), both[stay], facts[1].values[stay], VALUES)
    return snapshots, facts, shares, moved.one_step(shares, SMOOTHING)


@pytest.mark.parametrize("seed", range(3))
def test_the_publisher_estimates_moves_and_shares_with_smoothing(seed: int) -> None:
    snapshots, facts, shares, one = two_releases_without_beliefs(seed)
    caches = remember_beliefs({}, facts[0], Reasoning(), SMOOTHING)
    knowledge = Knowledge(values="uniform", smoothing=SMOOTHING)
    _, made = estimate_priors(snapshots[1], History(facts[:1], caches, 1), knowledge, ReadKnowledge(), Reasoning())
    assert np.allclose(made.moves.one, one)
    read = read_applied(BeliefState.read(caches), facts[1], 1, SMOOTHING)
    assert np.allclose(read.moves.one, one)
    assert np.allclose(read.shares, shares)


@pytest.mark.parametrize("seed", range(3))
def test_the_attacker_estimates_the_publishers_moves(seed: int) -> None:
    snapshots, facts, _, one = two_releases_without_beliefs(seed)
    observed = [
        ObservedRelease(f.number, f.boxes, f.classes, f.values, Members(f.subjects, f.classes, f.codes, f.values))
        for f in facts
    ]
    series = Observed(observed, snapshots[0].domains, VALUES, PlainWords())
    attack = BackgroundKnowledge(knowledge=Knowledge(values="uniform", smoothing=SMOOTHING))
    estimated, given = (
        list(follow(series, attack.inform(known).attacker, Claims.none()))
        for known in (ReadKnowledge(), ReadKnowledge(one=one))
    )
    assert np.allclose(estimated[1].belief, given[1].belief)
    assert np.ptp(given[1].belief) > 0
