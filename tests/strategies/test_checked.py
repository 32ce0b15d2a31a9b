"""What the checked strategies publish gives nothing away to the three attacks, whatever the insert-only history."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pytest

from reissue.attacks.base import Attack
from reissue.attacks.difference import Difference
from reissue.attacks.intersection import Intersection
from reissue.attacks.record_tracing import RecordTracing
from reissue.core.boxes import snap
from reissue.core.cuts import measure, try_cut
from reissue.core.domain import Domain
from reissue.core.forest import forest_of, rows_of, scratch_of
from reissue.core.incognito import Metric, Search, apply, best
from reissue.core.requirements import Requirement, violations
from reissue.core.running import Running
from reissue.core.snapshot import Coded, Facts, History, Table
from reissue.errors import InfeasiblePolicy, SettingsError
from reissue.strategies.base import Strategy
from reissue.strategies.beside import BOXES, Beside, Earlier, class_boxes
from reissue.strategies.checked_incognito import CheckedIncognito
from reissue.strategies.checked_mondrian import CheckedMondrian
from reissue.strategies.checking import Standing
from reissue.strategies.merge import Merge
from reissue.strategies.static import Static
from reissue.utility.loss import ail
from tests.support.histories import Turnover, generate, observe, run_series, uniform_tree

SHARES = (0.5, 0.6, 0.75, 1.0)


def attacks(k: int, c: float) -> tuple[Attack, ...]:
    return Intersection(c=c), Difference(k=k, c=c), RecordTracing(k=k)


def findings(releases: list[Facts], snapshot: Coded, k: int, c: float) -> dict[str, int]:
    series = observe(releases, snapshot)
    return {attack.name: attack.run(series).total for attack in attacks(k, c)}


def history(seed: int, values: int | None = None) -> tuple[list[Coded], int, float]:
    """Small and larger tables, slow and fast growth, few and many values, sometimes no new row at all."""
    rng = np.random.default_rng(seed)
    turnover = Turnover(arrive=float(rng.choice([0.0, 0.05, 0.3, 0.8])))
    kinds = int(rng.integers(3, 9)) if values is None else values
    snapshots = generate(
        rng,
        releases=int(rng.integers(2, 6)),
        rows=int(rng.integers(25, 160)),
        values=kinds,
        turnover=turnover,
        skew=float(rng.choice([0.0, 0.5])),
    )
    return snapshots, int(rng.integers(2, 6)), SHARES[seed % len(SHARES)]


@pytest.mark.parametrize("seed", range(60))
def test_checked_mondrian_gives_nothing_away(seed: int) -> None:
    snapshots, k, c = history(seed, values=None if seed % 2 else 2 + seed % 3)
    try:
        releases = run_series(CheckedMondrian(k=k, c=c), snapshots)
    except InfeasiblePolicy:
        assert violations(Requirement(k=k, c=c), np.zeros(len(snapshots[0]), np.int32), snapshots[0].values, 9)
        return
    assert findings(releases, snapshots[-1], k, c) == {"intersection": 0, "difference": 0, "record-tracing": 0}
    for facts, snapshot in zip(releases, snapshots, strict=True):
        assert violations(Requirement(k=k, c=c), facts.classes, facts.values, snapshot.value_count) == ()
        assert np.array_equal(snap(facts.boxes, snapshot.domains), facts.boxes)


@pytest.mark.parametrize("seed", range(12))
def test_checked_incognito_gives_nothing_away(seed: int) -> None:
    snapshots, k, c = history(seed + 500)
    try:
        releases = run_series(CheckedIncognito(k=k, c=c), snapshots)
    except InfeasiblePolicy:
        assert violations(Requirement(k=k, c=c), np.zeros(len(snapshots[0]), np.int32), snapshots[0].values, 9)
        return
    assert findings(releases, snapshots[-1], k, c) == {"intersection": 0, "difference": 0, "record-tracing": 0}


def test_static_gives_much_away_on_the_same_histories() -> None:
    found = np.zeros(3)
    for seed in (1, 5, 9, 13):
        snapshots, k, c = history(seed, values=6)
        found += list(findings(run_series(Static(k=k, c=c), snapshots), snapshots[-1], k, c).values())
    assert (found > 10).all()


def few_values(seed: int, releases: int = 5, first: int = 300) -> list[Coded]:
    """Two values and fast growth: here old and new rows can often be cut together."""
    rng = np.random.default_rng(seed)
    domains = (Domain("age", 0, 999), Domain("place", 0, 26, uniform_tree(3, 3, 3)))
    return generate(rng, releases=releases, rows=first, values=2, turnover=Turnover(arrive=1.0), domains=domains)


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
    assert findings(releases, snapshots[-1], k, c) == {"intersection": 0, "difference": 0, "record-tracing": 0}
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


def test_rows_that_cannot_stand_alone_wait_for_more() -> None:
    snapshots, k, c = few_values(1, releases=2), 5, 0.9
    both = snapshots[1]
    old = np.isin(both.subjects, snapshots[0].subjects)
    some = np.flatnonzero(old | (np.cumsum(~old) <= 3))
    later = Coded(both.subjects[some], np.asfortranarray(both.codes[some]), both.values[some], both.domains, 2)
    for strategy in (CheckedMondrian(k=k, c=c), CheckedIncognito(k=k, c=c)):
        first = strategy.publish(snapshots[0], History([], {}, 1)).facts(1, snapshots[0])
        history = History([first], strategy.remember({}, first), 2)
        candidate = strategy.publish(later, history)
        assert (candidate.classes == -1).sum() == 3
        assert candidate.steps[0].startswith("Held back all 3 new rows: k = 5 cannot hold")
        assert findings([first, candidate.facts(2, later)], later, k, c)["difference"] == 0
        with pytest.raises(InfeasiblePolicy, match="only 3 new rows"):
            type(strategy)(k=k, c=c, hold_back=False).publish(later, history)


def further_cuts(snapshot: Coded, classes: np.ndarray, k: int, c: float) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(classes after it, rows of the class) for every legal median cut of every class."""
    limits = Requirement(k=k, c=c).limits(np.bincount(snapshot.values, minlength=snapshot.value_count))
    forest = forest_of(snapshot.domains)
    scratch = scratch_of(forest, snapshot.value_count)
    for one in range(int(classes.max()) + 1):
        at = np.flatnonzero(classes == one)
        rows = rows_of(snapshot.codes[at], snapshot.values[at])
        for i in range(2 * measure(rows, 0, len(at), forest, scratch)):
            parts = try_cut(rows, 0, len(at), int(scratch.ranked[i // 2]), i % 2 == 1, forest, limits, scratch)
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


class Sealed(list[Facts]):
    """Earlier releases that may be counted, not read."""

    def __getitem__(self, index: object) -> Facts:  # type: ignore[override]
        raise AssertionError("an earlier release was read again")

    def __iter__(self) -> Iterator[Facts]:
        raise AssertionError("an earlier release was read again")


@pytest.mark.parametrize("strategy", [CheckedMondrian(k=3, c=0.75), CheckedIncognito(k=3, c=0.75)])
@pytest.mark.parametrize("seed", [0, 3, 8])
def test_earlier_releases_are_not_read_again(strategy: CheckedMondrian | CheckedIncognito, seed: int) -> None:
    """The history table says the same as the releases: of every one of them, and so of the next one."""
    snapshots, _, _ = history(seed, values=4)
    releases: list[Facts] = []
    caches: dict[str, Table] = {}
    for number, snapshot in enumerate(snapshots, start=1):
        candidate = strategy.publish(snapshot, History(Sealed(releases), caches, number))
        with_facts = {name: table for name, table in caches.items() if name != BOXES}
        again = strategy.publish(snapshot, History(releases, with_facts, number))
        assert np.array_equal(candidate.classes, again.classes)
        assert np.array_equal(candidate.boxes, again.boxes)
        if isinstance(strategy, CheckedIncognito) and number > 1:
            past = Standing.of(snapshot, History(releases, caches, number))
            for i, boxes in enumerate(class_boxes(caches, len(releases), len(snapshot.domains)) or ()):
                table = Earlier.of_history(past, i, boxes)
                facts = Earlier.of_facts(releases[i], snapshot.value_count)
                for name in ("number", "subjects", "classes", "values", "codes", "boxes"):
                    assert np.array_equal(getattr(table, name), getattr(facts, name)), name
                assert np.array_equal(table.groups.count, facts.groups.count)
        releases.append(candidate.facts(number, snapshot))
        caches = dict(strategy.remember(caches, releases[-1]))


def partition(facts: Facts) -> set[tuple[bytes, bytes]]:
    """Classes as (box, subjects), whatever their numbers."""
    return {(facts.boxes[i].tobytes(), facts.subjects[facts.classes == i].tobytes()) for i in range(facts.class_count)}


def test_a_series_of_the_same_snapshot_keeps_its_classes() -> None:
    snapshot = few_values(2, releases=1)[0]
    one, other = run_series(CheckedMondrian(k=3), [snapshot, snapshot])
    assert partition(one) == partition(other)


def publish_after(strategy: Strategy, earlier: list[Facts], snapshot: Coded) -> Facts:
    caches: dict = {}
    for facts in earlier:
        caches = dict(strategy.remember(caches, facts))
    return strategy.publish(snapshot, History(earlier, caches, 7)).facts(len(earlier) + 1, snapshot)


def test_a_foreign_history_that_is_safe_is_carried_on() -> None:
    snapshots, k, c = few_values(3, releases=3), 4, 1.0
    earlier = run_series(Merge(k=k, c=c), snapshots[:2])
    for strategy in (CheckedMondrian(k=k, c=c), CheckedIncognito(k=k, c=c)):
        releases = [*earlier, publish_after(strategy, earlier, snapshots[2])]
        assert findings(releases, snapshots[2], k, c) == {"intersection": 0, "difference": 0, "record-tracing": 0}


@pytest.mark.parametrize("seed", range(4))
def test_after_an_unsafe_history_nothing_is_added_or_publishing_is_refused(seed: int) -> None:
    snapshots, k, c = few_values(seed + 20, releases=3, first=60), 3, 0.8
    earlier, refused = run_series(Static(k=k, c=c), snapshots[:2]), list[str]()
    for strategy in (CheckedMondrian(k=k, c=c), CheckedIncognito(k=k, c=c)):
        try:
            last = publish_after(strategy, earlier, snapshots[2])
        except InfeasiblePolicy as error:
            refused.append(str(error))
            continue
        series = observe([*earlier, last], snapshots[2])
        for attack in attacks(k, c):
            assert attack.run(series, involving=3).findings == ()
    assert all("one class for everybody" in error for error in refused)


def test_a_stricter_promise_does_not_trust_releases_checked_for_a_weaker_one() -> None:
    snapshots = few_values(4, releases=2)
    earlier = run_series(CheckedMondrian(k=2), snapshots[:1])
    strict = CheckedMondrian(k=6)
    assert not strict.remember({}, earlier[0])["checks"]["safe"][0]
    assert CheckedMondrian(k=2).remember({}, earlier[0])["checks"]["safe"][0]


def test_the_caches_are_a_fold_over_the_facts_and_hold_is_and_iq() -> None:
    snapshots, k, c = few_values(5, releases=4), 3, 1.0
    strategy = CheckedMondrian(k=k, c=c)
    releases = run_series(strategy, snapshots)
    caches: dict = {}
    for facts in releases:
        before = {name: dict(table) for name, table in caches.items()}
        after = strategy.remember(caches, facts)
        assert all(caches[name][column] is before[name][column] for name in before for column in before[name])
        caches = dict(after)
        for table in caches.values():
            assert len({len(column) for column in table.values()}) == 1, "columns of equal length"
    running = Running.of_tables(caches, 2)
    for subject in running.subjects[::97].tolist():
        cell = running.cell[np.searchsorted(running.subjects, subject)]
        counts, box = None, None
        for facts in releases:
            at = np.flatnonzero(facts.subjects == subject)
            if len(at):
                own = facts.classes[at[0]]
                here = np.bincount(facts.values[facts.classes == own], minlength=2)
                counts = here if counts is None else np.minimum(counts, here)
                cut = facts.boxes[own]
                box = (
                    cut
                    if box is None
                    else np.stack([np.maximum(box[:, 0], cut[:, 0]), np.minimum(box[:, 1], cut[:, 1])], axis=1)
                )
        known = slice(running.values.start[cell], running.values.start[cell + 1])
        expected = {int(v): int(n) for v, n in enumerate(counts) if n}
        assert (
            dict(zip(running.values.value[known].tolist(), running.values.count[known].tolist(), strict=True))
            == expected
        )
        assert np.array_equal(running.boxes[cell], box)


def test_the_order_of_the_rows_does_not_matter() -> None:
    snapshots = few_values(6, releases=3)
    rng = np.random.default_rng(0)
    mixed = []
    for s in snapshots:
        order = rng.permutation(len(s))
        mixed.append(Coded(s.subjects[order], np.asfortranarray(s.codes[order]), s.values[order], s.domains, 2))
    first, second = run_series(CheckedMondrian(k=3), snapshots), run_series(CheckedMondrian(k=3), mixed)
    assert [partition(facts) for facts in first] == [partition(facts) for facts in second]


def test_settings() -> None:
    assert CheckedMondrian(k=4, c=0.5).thresholds() == {"k": 4.0, "c": 0.5}
    assert CheckedIncognito(k=4).stops == ("intersection", "difference", "record-tracing")
    with pytest.raises(SettingsError, match="k is 0"):
        CheckedMondrian(k=0)
    with pytest.raises(SettingsError, match="c is 2"):
        CheckedIncognito(k=2, c=2)
    with pytest.raises(InfeasiblePolicy, match="k = 500"):
        CheckedMondrian(k=500).publish(few_values(1, releases=1)[0], History([], {}, 1))


@pytest.mark.parametrize("metric", ["loss", "discernibility", "classes", "height"])
def test_checked_incognito_publishes_the_best_of_all_safe_nodes(metric: Metric) -> None:
    """Though few are checked: against checking every node of the lattice, where what is safe stays so higher up."""
    refused = 0
    for seed in range(6):
        snapshots, k, c = history(seed + 300, values=6)
        strategy = CheckedIncognito(k=k, c=c, metric=metric, hold_back=False)
        releases: list[Facts] = []
        caches: Mapping[str, Table] = {}
        for number, snapshot in enumerate(snapshots, start=1):
            past = Standing.of(snapshot, History(releases, caches, 1))
            every = np.arange(len(snapshot))
            try:
                facts = strategy.publish(snapshot, History(releases, caches, 1)).facts(number, snapshot)
            except InfeasiblePolicy:
                break  # the new rows cannot stand alone
            counts = np.bincount(snapshot.values, minlength=snapshot.value_count)
            search = Search(snapshot.codes, snapshot.values, snapshot.domains, strategy.requirement.limits(counts))
            nodes = [tuple(node) for node in np.argwhere(search.satisfied()).tolist()]
            check = Beside.of(strategy, past, History(releases, caches, 1), every)
            made = {node: apply(search.ladders, snapshot.codes, node) for node in nodes}
            safe = [node for node, own in made.items() if number == 1 or not check.breach(own.classes, own.boxes)]
            np.testing.assert_array_equal(facts.boxes, made[best(search, safe, metric)].boxes)
            refused += len(safe) < len(nodes)
            releases.append(facts)
            caches = strategy.remember(caches, facts)
    assert refused, "no node was unsafe: nothing was tested"
