"""Merge: classes stay as published while they hold; what is new stands alone."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from reissue.errors import InfeasiblePolicy, SettingsError
from reissue.methods.baselines.merge import Merge
from reissue.methods.baselines.static import Static
from reissue.methods.strategy import Strategy
from reissue.model.release import Coded, Facts, History
from reissue.model.requirement import Requirement
from tests.methods.invariance.patients import assert_holds, intersection_exposes, multisets, patients, publish_all
from tests.support.histories import CHURN, EVERYTHING, INSERTS, Turnover, generate, run_series, toy_domains
from tests.support.refusals import names

STRATEGIES = [
    Merge(k=5),
    Merge(k=4, c=0.5),
    Merge(k=4, c=0.5, algorithm="incognito"),
    Merge(k=3, l=3, on_few="suppress"),
    Merge(k=3, l=2.0, diversity="entropy"),
]


def people(rows: list[tuple[int, int, int, int, int]]) -> Coded:
    """Rows of (subject, age, place, sex, value)."""
    table = np.array(rows, dtype=np.int32).reshape(-1, 5)
    return Coded(table[:, 0].astype(np.int64), np.asfortranarray(table[:, 1:4]), table[:, 4].copy(), toy_domains(), 6)


def class_of(release: Facts, subject: int) -> set[int]:
    """Who shares the subject's class."""
    own = release.classes[np.searchsorted(release.subjects, subject)]
    return set(release.subjects[release.classes == own].tolist())


def box_of(release: Facts, subject: int) -> list[list[int]]:
    return release.boxes[release.classes[np.searchsorted(release.subjects, subject)]].tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("turnover", [INSERTS, CHURN, EVERYTHING], ids=["inserts", "churn", "everything"])
@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: s.requirement.sentence() + " " + s.algorithm)
def test_every_release_meets_the_policy(strategy: Merge, turnover: Turnover) -> None:
    snapshots = generate(np.random.default_rng(1), releases=5, rows=300, values=6, turnover=turnover)
    for candidate, snapshot in zip(publish_all(strategy, snapshots), snapshots, strict=True):
        assert_holds(candidate, snapshot, strategy.requirement)


@pytest.mark.parametrize("strategy", STRATEGIES[:3], ids=lambda s: s.requirement.sentence() + " " + s.algorithm)
def test_while_people_only_arrive_everyone_keeps_class_and_box_for_good(strategy: Merge) -> None:
    """So intersecting and subtracting classes gives nothing: they are equal or disjoint."""
    snapshots = generate(np.random.default_rng(2), releases=5, rows=300, values=6, turnover=INSERTS)
    releases = run_series(strategy, snapshots)
    for earlier, later in pairwise(releases):
        at = np.searchsorted(later.subjects, earlier.subjects)
        assert np.array_equal(later.subjects[at], earlier.subjects)
        assert np.array_equal(later.boxes[later.classes[at]], earlier.boxes[earlier.classes])
        before, after = multisets(earlier), multisets(later)
        assert all(before[subject] == after[subject] for subject in before)
        arrived = np.setdiff1d(later.subjects, earlier.subjects)
        new = later.classes[np.searchsorted(later.subjects, arrived)]
        assert not set(new.tolist()) & set(later.classes[at].tolist())
    assert intersection_exposes(releases, strategy.c) == 0


def test_merge_costs_utility_and_static_costs_privacy_on_the_same_people() -> None:
    """The paper's comparison, figures 11 and 12: merge's boxes are wider, static's are open to intersection."""
    snapshots = generate(np.random.default_rng(3), releases=4, rows=400, values=8, turnover=INSERTS)
    merged, static = (run_series(strategy, snapshots) for strategy in (Merge(k=4, c=0.5), Static(k=4, c=0.5)))
    assert intersection_exposes(merged, 0.5) == 0 < intersection_exposes(static, 0.5)

    def width(release: Facts) -> float:
        return float((release.boxes[release.classes, 0, 1] - release.boxes[release.classes, 0, 0]).mean())

    assert width(merged[-1]) > width(static[-1])


def test_figure_3_after_figure_1() -> None:
    """The three new patients stand alone; the classes of the first release are repeated as they were."""
    snapshots = [patients(4), patients(7)]
    first, second = run_series(Merge(k=2, c=0.5), snapshots)
    assert second.class_count == 3
    assert class_of(second, 0) == {0, 1}
    assert class_of(second, 2) == {2, 3}
    assert class_of(second, 4) == {4, 5, 6}
    assert box_of(second, 0) == box_of(first, 0)
    assert box_of(second, 2) == box_of(first, 2)


def eight() -> list[tuple[int, int, int, int, int]]:
    """Two classes of four for k=3: ages 10 and 60."""
    return [(i, 10 if i < 4 else 60, 0, 0, i % 4) for i in range(8)]


def test_a_class_that_lost_members_stays_while_it_holds_and_is_dissolved_when_it_does_not() -> None:
    rows = eight()
    smaller = rows[1:]  # ages 10: three left, k=3 still holds
    fewer = [*rows[2:], (8, 12, 0, 0, 0)]  # two left, plus a new one nearby: grouped anew
    start = [people(rows)]
    _, second = run_series(Merge(k=3), [*start, people(smaller)])
    assert class_of(second, 1) == {1, 2, 3}
    assert box_of(second, 1) == [[10, 10], [0, 0], [0, 0]]
    _, third = run_series(Merge(k=3), [*start, people(fewer)])
    assert class_of(third, 2) == {2, 3, 8}
    assert box_of(third, 2) == [[10, 12], [0, 0], [0, 0]]
    assert class_of(third, 4) == {4, 5, 6, 7}


def test_a_class_left_with_one_value_too_frequent_is_dissolved() -> None:
    rows = [(0, 10, 0, 0, 0), (1, 10, 0, 0, 0), (2, 10, 0, 0, 1), (3, 10, 0, 0, 2)]
    far = [(i, 60, 0, 0, i % 3) for i in range(4, 8)]
    left = [*rows[:3], *far, (9, 11, 0, 0, 2), (10, 11, 0, 0, 3), (11, 11, 0, 0, 4)]  # 0, 0, 1: two thirds
    _, second = run_series(Merge(k=3, c=0.5), [people([*rows, *far]), people(left)])
    assert class_of(second, 0) == {0, 1, 2, 9, 10, 11}


def test_a_changed_row_counts_as_new() -> None:
    rows = eight()
    moved = [(0, 70, 0, 0, 0), (1, 10, 0, 0, 5), *rows[2:4], *rows[4:], (8, 71, 0, 0, 3), (9, 11, 0, 0, 4)]
    first, second = run_series(Merge(k=2), [people(rows), people(moved)])
    assert class_of(first, 0) == {0, 1, 2, 3}
    assert class_of(second, 2) == {2, 3}
    assert {0, 1, 8, 9} == class_of(second, 0) | class_of(second, 1)


def test_who_comes_back_unchanged_rejoins_the_class() -> None:
    rows = eight()
    away = people(rows[1:])
    releases = run_series(Merge(k=3), [people(rows), away, people(rows)])
    assert class_of(releases[1], 1) == {1, 2, 3}
    assert class_of(releases[2], 0) == {0, 1, 2, 3}
    assert box_of(releases[2], 0) == box_of(releases[0], 0)
    assert releases[2].class_count == releases[0].class_count


def test_whole_classes_may_leave_and_return() -> None:
    rows = eight()
    releases = run_series(Merge(k=3), [people(rows), people(rows[4:]), people(rows)])
    assert releases[1].class_count == 1
    assert class_of(releases[2], 0) == {0, 1, 2, 3}


def test_too_few_new_rows_are_refused_or_suppressed() -> None:
    rows = eight()
    more = [people(rows), people([*rows, (8, 30, 0, 0, 1), (9, 31, 0, 0, 2)])]
    with pytest.raises(InfeasiblePolicy, match="k = 3 cannot hold: there are only 2 rows that are new"):
        run_series(Merge(k=3), more)
    _, second = publish_all(Merge(k=3, on_few="suppress"), more)
    assert second.classes.tolist() == [*second.classes[:8].tolist(), -1, -1]
    assert any("Suppressed 2 rows" in step for step in second.steps)
    assert_holds(second, more[1], Requirement(k=3))
    third = people([*rows, (8, 30, 0, 0, 1), (9, 31, 0, 0, 2), (10, 33, 0, 0, 2)])
    releases = run_series(Merge(k=3, on_few="suppress"), [*more, third])
    assert class_of(releases[2], 8) == {8, 9, 10}


def test_new_rows_with_one_value_too_frequent_are_refused_by_name() -> None:
    rows = eight()
    new = [(i, 30 + i, 0, 0, 5) for i in range(8, 12)]
    with pytest.raises(InfeasiblePolicy, match=r"\{value:5\} is 100.0% of the 4 rows that are new"):
        run_series(Merge(k=3, c=0.5), [people(rows), people([*rows, *new])])


@pytest.mark.parametrize("on_few", ["refuse", "suppress"])
def test_a_release_without_any_class_is_always_refused(on_few: str) -> None:
    strategy = Merge(k=3, on_few=on_few)  # type: ignore[arg-type]
    with pytest.raises(InfeasiblePolicy, match="k = 3 cannot hold: there are only 2 rows"):
        strategy.publish(people(eight()[:2]), History([], {}, 0))
    with pytest.raises(InfeasiblePolicy, match="there are only 0 rows"):
        strategy.publish(people([]), History([], {}, 0))


def test_a_release_with_nothing_new_repeats_the_last() -> None:
    snapshots = generate(np.random.default_rng(4), releases=1, rows=200, values=5)
    first, second = run_series(Merge(k=4, c=0.5), [snapshots[0], snapshots[0]])
    assert np.array_equal(first.boxes[first.classes], second.boxes[second.classes])
    pairs = np.unique(np.stack([first.classes, second.classes], axis=1), axis=0)
    assert len(pairs) == first.class_count == second.class_count, "the same people share a class"


def test_taking_over_a_series_of_another_strategy() -> None:
    """Caches are folded from facts alone: classes made by Static are kept like Merge's own."""
    snapshots = generate(np.random.default_rng(5), releases=3, rows=200, values=5, turnover=INSERTS)
    releases = run_series(Static(k=4), snapshots[:2])
    merge, caches = Merge(k=4), {}
    for release in releases:
        caches = merge.remember(caches, release)
    facts = merge.publish(snapshots[2], History(releases, caches, 3)).facts(3, snapshots[2])
    before, after = multisets(releases[1]), multisets(facts)
    assert all(before[subject] == after[subject] for subject in before)


def test_caches_are_plain_columns_of_equal_length() -> None:
    """What the ledger can store: one-dimensional, named, no row of a subject twice."""
    snapshots = generate(np.random.default_rng(6), releases=4, rows=200, values=5, turnover=EVERYTHING)
    merge, caches = Merge(k=3, on_few="suppress"), {}
    for release in run_series(merge, snapshots):
        caches = merge.remember(caches, release)
    for table in caches.values():
        assert {column.ndim for column in table.values()} == {1}
        assert len({len(column) for column in table.values()}) == 1
    ever = np.unique(np.concatenate([snapshot.subjects for snapshot in snapshots]))
    assert np.array_equal(caches["merge_rows"]["subject"], ever)


@pytest.mark.parametrize("settings", [{"k": 0}, {"k": 3, "on_few": "ignore"}, {"k": 3, "algorithm": "datafly"}])
def test_bad_settings_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match=names(settings)):
        Merge(**settings)  # type: ignore[arg-type]
    assert isinstance(Merge(k=2), Strategy)
    assert Merge(k=2, c=0.5).thresholds() == {"k": 2, "c": 0.5}
