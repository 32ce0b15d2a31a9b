"""Checked Mondrian cuts old and new rows as far as is safe, and never loses more than merging."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from reissue.methods.baselines.merge import Merge
from reissue.methods.incremental.checked_mondrian import CheckedMondrian
from reissue.model.release import Coded, Facts, History, Table
from reissue.model.requirement import Requirement
from reissue.partition.cuts import measure, try_cut
from reissue.partition.tables import build_forest, copy_rows, cut_buffers
from reissue.utility.measure import ail
from tests.methods.incremental.insertions import NOTHING, attacks, few_values, findings, history, partition
from tests.support.histories import observe, run_series


@pytest.mark.parametrize("seed", range(6))
def test_old_and_new_rows_are_cut_together_where_that_is_safe_and_better(seed: int) -> None:
    snapshots, k, c = few_values(seed), 3, 1.0
    strategy = CheckedMondrian(k=k, c=c)
    releases = run_series(strategy, snapshots)
    caches: dict = {}
    steps: list[str] = []
    for n, facts in enumerate(releases):
        steps += strategy.publish(snapshots[n], History(releases[:n], caches, 0)).steps
        caches = dict(strategy.remember(caches, facts))
    assert any(step.startswith("In ") and "places old and new rows were cut together" in step for step in steps), steps
    assert findings(releases, snapshots[-1], k, c) == NOTHING
    merged = run_series(Merge(k=k, c=c), snapshots)
    assert ail(releases[-1], snapshots[-1].domains) < ail(merged[-1], snapshots[-1].domains)


@pytest.mark.parametrize("seed", range(12))
def test_no_release_loses_more_than_merging_on_the_same_history(seed: int) -> None:
    """Old classes as they were and new rows by themselves are always safe; what is published loses no more."""
    two = seed % 2 == 0
    snapshots, k, c = (few_values(seed, 4, 120), 3, 1.0) if two else history(seed, values=3)
    strategy, merging = CheckedMondrian(k=k, c=c), Merge(k=k, c=c, on_few="suppress")
    releases: list[Facts] = []
    caches, merged = dict[str, Table](), dict[str, Table]()
    gained = 0
    for number, snapshot in enumerate(snapshots, start=1):
        facts = strategy.publish(snapshot, History(releases, caches, number)).facts(number, snapshot)
        other = merging.publish(snapshot, History(releases, merged, number)).facts(number, snapshot)
        loss, alternative = ail(facts, snapshot.domains), ail(other, snapshot.domains)
        assert loss <= alternative + 1e-9
        gained += loss < alternative - 1e-9
        releases.append(facts)
        caches, merged = dict(strategy.remember(caches, facts)), dict(merging.remember(merged, facts))
    assert gained > 0 or not two


def further_cuts(snapshot: Coded, classes: np.ndarray, k: int, c: float) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(classes after it, rows of the class) for every legal median cut of every class."""
    limits = Requirement(k=k, c=c).limits(np.bincount(snapshot.values, minlength=snapshot.value_count))
    forest = build_forest(snapshot.domains)
    scratch = cut_buffers(forest, snapshot.value_count)
    for one in range(int(classes.max()) + 1):
        at = np.flatnonzero(classes == one)
        rows = copy_rows(snapshot.codes[at], snapshot.values[at])
        for number in range(measure(rows, 0, len(at), forest, k, scratch)):
            parts = try_cut(rows, 0, len(at), number, forest, limits, scratch)
            if parts:
                cut = classes.astype(np.int64)
                for part in range(1, parts):
                    cut[at[rows.ids[scratch.ends[part] : scratch.ends[part + 1]]]] = classes.max() + part
                yield cut, at


def shares_few(cut: np.ndarray, at: np.ndarray, snapshot: Coded, earlier: list[Facts], k: int) -> bool:
    """Whether a part of the class shares 1 to k-1 people with a class of an earlier release."""
    for facts in earlier:
        known = np.isin(snapshot.subjects[at], facts.subjects)
        there = facts.classes[np.searchsorted(facts.subjects, snapshot.subjects[at[known]])]
        _, shared = np.unique(np.stack([cut[at[known]], there]), axis=1, return_counts=True)
        if (shared < k).any():
            return True
    return False


def test_every_further_cut_is_refused_for_a_reason() -> None:
    """Of a class made anew: one of the three attacks on the whole release succeeds, or rows could be traced if only the
    classes of the place were there (a part shares fewer than k people with an earlier class)."""
    undone = broken = 0
    for seed in range(24):
        snapshots, k, c = history(seed, values=2 + seed % 3) if seed % 3 else (few_values(seed, 3, 60), 3, 1.0)
        strategy, releases = CheckedMondrian(k=k, c=c), list[Facts]()
        caches: dict[str, Table] = {}
        for number, snapshot in enumerate(snapshots[:4], start=1):
            made = strategy.publish(snapshot, History(releases, caches, number))
            before = {part[1] for part in partition(releases[-1])} if releases else set()
            for cut, at in further_cuts(snapshot, made.classes, k, c):
                if np.sort(snapshot.subjects[at]).tobytes() in before:
                    continue
                finer = strategy.candidate(snapshot, cut, ()).facts(number, snapshot)
                series = observe([*releases, finer], snapshot)
                found = any(attack.run(series, involving=number).findings for attack in attacks(k, c))
                assert found or shares_few(cut, at, snapshot, releases, k)
                undone, broken = undone + 1, broken + found
            releases.append(made.facts(number, snapshot))
            caches = dict(strategy.remember(caches, releases[-1]))
    assert broken > undone // 2 > 20


def test_a_series_of_the_same_snapshot_keeps_its_classes() -> None:
    snapshot = few_values(2, releases=1)[0]
    one, other = run_series(CheckedMondrian(k=3), [snapshot, snapshot])
    assert partition(one) == partition(other)
