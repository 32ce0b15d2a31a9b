"""Checked Incognito with outliers left out: the same promise for who is published, whenever that begins."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from reissue.arrays.types import Int64
from reissue.errors import InfeasiblePolicy, SettingsError
from reissue.methods.incremental.checked_incognito import CheckedIncognito
from reissue.methods.strategy import Strategy
from reissue.model.release import Coded, Facts, History
from reissue.model.requirement import Requirement
from reissue.model.requirement_check import violations
from reissue.utility import measure
from tests.methods.incremental.insertions import NOTHING, findings, history
from tests.support.histories import Turnover, generate, run_series


def series(strategy: Strategy, snapshots: list[Coded]) -> list[Facts]:
    try:
        return run_series(strategy, snapshots)
    except InfeasiblePolicy:
        return []


def find_absent(facts: Facts, snapshot: Coded) -> Int64:
    return np.setdiff1d(snapshot.subjects, facts.subjects)


def test_nothing_is_given_away_and_whoever_was_published_stays() -> None:
    left = late = finer = coarser = 0
    for seed in range(40):
        snapshots, k, c = history(seed)
        strategy = CheckedIncognito(k=k, c=c, suppress=0.15)
        releases = series(strategy, snapshots)
        assert not releases or findings(releases, snapshots[-1], k, c) == NOTHING
        before = np.empty(0, dtype=np.int64)
        waiting = np.empty(0, dtype=np.int64)
        for facts, snapshot in zip(releases, snapshots if releases else [], strict=True):
            assert violations(Requirement(k=k, c=c), facts.classes, facts.values, snapshot.value_count) == ()
            assert np.isin(before, facts.subjects).all(), "somebody who was published is gone"
            absent = find_absent(facts, snapshot)
            new = np.setdiff1d(facts.subjects, before)
            held = len(new) == 0 and len(absent) > 0.15 * len(snapshot)
            assert held or len(absent) <= 0.15 * len(snapshot)
            counts = np.bincount(facts.values[np.isin(facts.subjects, new)])
            assert not len(new) or (len(new) >= k and counts.max() <= c * len(new)), "new rows do not stand alone"
            left, late = left + (len(absent) > 0 and not held), late + len(np.intersect1d(new, waiting))
            before, waiting = facts.subjects, absent
        for facts, other, snapshot in zip(
            releases[:1], series(replace(strategy, suppress=0.0), snapshots)[:1], snapshots, strict=False
        ):
            one, two = (measure(release, snapshot).ail for release in (facts, other))
            finer, coarser = finer + (one < two), coarser + (one > two)
    assert left > 20
    assert late > 20, "nobody who was left out was published later: nothing was tested"
    assert finer > 10
    assert coarser == 0, "outliers were left out where that does not pay"


def test_values_do_not_decide_who_is_left_out() -> None:
    (snapshot,) = generate(np.random.default_rng(1), releases=1, rows=400, values=6, turnover=Turnover())
    codes = np.asfortranarray(snapshot.codes[np.arange(400) % 40])
    codes[-4:] = [domain.hi for domain in snapshot.domains]
    snapshot = replace(snapshot, codes=codes)
    other = replace(snapshot, values=np.random.default_rng(2).permutation(snapshot.values))
    strategy = CheckedIncognito(k=5, suppress=0.15)
    made, again = (strategy.publish(one, History([], {}, 1)) for one in (snapshot, other))
    left = int((made.classes < 0).sum())
    assert left == 4
    assert np.array_equal(made.classes, again.classes)
    assert f"Left out {left} rows that are like fewer than 5" in made.steps[-1]


def test_new_rows_that_stand_alone_only_with_their_outliers_are_all_published() -> None:
    """Five newcomers, k = 5, one of them far from everybody: without it they would be four."""
    (first,) = generate(np.random.default_rng(4), releases=1, rows=300, values=6, turnover=Turnover())
    strategy = CheckedIncognito(k=5, suppress=0.1)
    facts = run_series(strategy, [first])
    codes = np.repeat(first.codes[:1], 5, axis=0)
    codes[4] = [domain.hi for domain in first.domains]
    second = Coded(
        np.concatenate([first.subjects, 1000 + np.arange(5)]),
        np.asfortranarray(np.concatenate([first.codes, codes])),
        np.concatenate([first.values, np.arange(5, dtype=np.int32)]),
        first.domains,
        first.value_count,
    )
    caches = strategy.remember({}, facts[0])
    made = strategy.publish(second, History(facts, caches, 1))
    assert (made.classes[-5:] >= 0).all()


@pytest.mark.parametrize("share", [-0.1, 0.3])
def test_bad_shares_are_refused(share: float) -> None:
    with pytest.raises(SettingsError, match="suppress"):
        CheckedIncognito(k=3, suppress=share)
