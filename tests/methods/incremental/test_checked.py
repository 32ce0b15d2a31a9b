"""What the checked strategies publish gives nothing away to the three attacks, whatever the insert-only history."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import reissue as ri
from reissue.errors import InfeasiblePolicy, SettingsError
from reissue.methods.baselines.merge import Merge
from reissue.methods.baselines.static import Static
from reissue.methods.incremental.checked_incognito import CheckedIncognito
from reissue.methods.incremental.checked_mondrian import CheckedMondrian
from reissue.methods.strategy import Strategy
from reissue.model.boxes import widen_to_nodes
from reissue.model.release import Coded, Facts, History
from reissue.model.requirement import Requirement
from reissue.model.requirement_check import violations
from tests.methods.incremental.insertions import NOTHING, SHARES, attacks, few_values, findings, history, partition
from tests.methods.incremental.tiny import break_the_papers_definition
from tests.support.histories import Turnover, generate, observe, run_series


def published(strategy: CheckedMondrian | CheckedIncognito, snapshots: list[Coded]) -> list[Facts]:
    """The series; nothing if not even one class of all the first rows would hold."""
    try:
        return run_series(strategy, snapshots)
    except InfeasiblePolicy:
        first, one = snapshots[0], np.zeros(len(snapshots[0]), np.int32)
        assert violations(strategy.requirement, one, first.values, first.value_count)
        return []


@pytest.mark.parametrize("seed", range(60))
def test_checked_mondrian_gives_nothing_away(seed: int) -> None:
    snapshots, k, c = history(seed, values=None if seed % 2 else 2 + seed % 3)
    releases = published(CheckedMondrian(k=k, c=c), snapshots)
    assert not releases or findings(releases, snapshots[-1], k, c) == NOTHING
    for facts, snapshot in zip(releases, snapshots if releases else [], strict=True):
        assert violations(Requirement(k=k, c=c), facts.classes, facts.values, snapshot.value_count) == ()
        assert np.array_equal(widen_to_nodes(facts.boxes, snapshot.domains), facts.boxes)


@pytest.mark.parametrize("seed", [33, 82, 110, 138, 172, 173, 179, 199])
def test_checked_mondrian_meets_the_papers_definition_of_tracing(seed: int) -> None:
    """Small series in which rows were once judged by the hull of their possible boxes: the union holds too few."""
    rng = np.random.default_rng(seed)
    many, rows, kinds = int(rng.integers(2, 5)), int(rng.integers(12, 60)), int(rng.integers(2, 6))
    arrive = float(rng.choice([0.3, 0.8, 1.0]))
    snapshots = generate(rng, releases=many, rows=rows, values=kinds, turnover=Turnover(arrive=arrive))
    k, c = int(rng.integers(2, 6)), SHARES[seed % 4]
    series = observe(run_series(CheckedMondrian(k=k, c=c), snapshots), snapshots[-1])
    assert len(series) == many
    for older, newer in combinations(series.releases, 2):
        assert not break_the_papers_definition(older, newer, k)


@pytest.mark.parametrize("seed", range(12))
def test_checked_incognito_gives_nothing_away(seed: int) -> None:
    snapshots, k, c = history(seed + 500)
    releases = published(CheckedIncognito(k=k, c=c), snapshots)
    assert not releases or findings(releases, snapshots[-1], k, c) == NOTHING


def test_static_gives_much_away_on_the_same_histories() -> None:
    found = np.zeros(3)
    for seed in (1, 5, 9, 13):
        snapshots, k, c = history(seed, values=6)
        found += list(findings(run_series(Static(k=k, c=c), snapshots), snapshots[-1], k, c).values())
    assert (found > 10).all()


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
        assert findings(releases, snapshots[2], k, c) == NOTHING


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


def test_an_audit_says_what_three_checks_leave_open(tmp_path: Path) -> None:
    """It points to the attack that reasons about everybody at once, and to the strategy that stops it."""
    schema = ri.Schema(identifier="person", quasi_identifiers={"age": {"type": "int"}}, sensitive="value")
    people = {"person": [f"p{i}" for i in range(8)], "age": [*range(8)], "value": ["a", "b"] * 4}
    with ri.Series.create(tmp_path / "series", schema, ri.CheckedMondrian(k=2, c=0.5)) as series:
        series.publish(pa.table(people), allow=["few-rows"])
        notes = " ".join(series.audit().to_dict()["notes"])
    assert "checked-mondrian stops intersection, difference and record tracing one by one." in notes
    assert "possible-worlds, which standing stops, too." in notes
