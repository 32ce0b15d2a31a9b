"""Pairs of releases that an audit of a long series passes over: nothing is missed, and few are looked at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from reissue.methods.attack import Attack, Outcome
from reissue.methods.incremental import intersection_attack, sides
from reissue.methods.incremental.difference_attack import Difference
from reissue.methods.incremental.intersection_attack import Intersection, _find_last
from reissue.methods.incremental.running_knowledge import RunningKnowledge
from reissue.methods.incremental.sides import QuietParts
from reissue.methods.incremental.tracing_attack import RecordTracing
from reissue.model.observed import Observed, ObservedRelease, require_members
from tests.methods.incremental.test_even_parts import deal_evenly
from tests.methods.incremental.tiny import series_of

CASES = 60


def long_cases(seed: int) -> Iterator[Observed]:
    """Several releases of people of a few kinds, dealt evenly within groups that keep to themselves; people leave and
    return. Often something is uneven: a row of nobody, a class of one kind more, two groups in one class, a value that
    changes."""
    rng = np.random.default_rng(seed)
    for _ in range(CASES):
        groups, kinds, each = int(rng.integers(1, 4)), int(rng.integers(2, 4)), 12
        total, now = groups * each, int(rng.integers(4, 6))
        values = {s: s // each * kinds + s % kinds for s in range(total)}
        codes = {s: tuple(rng.integers(0, 4, 2).tolist()) for s in range(total)}
        releases = []
        for _ in range(now):
            classes: list[list[int]] = []
            for first in range(0, total, each):
                start, many = first + int(rng.integers(0, 4)), int(rng.integers(5, 9))
                classes += deal_evenly(rng, start, many, kinds) or [[start]]
            if rng.random() < 0.15:
                classes[0] = sorted([*classes[0], *classes.pop()]) if len(classes) > 1 else classes[0]
            if rng.random() < 0.15:
                classes = [*classes[1:], classes[0][:1], *([classes[0][1:]] if classes[0][1:] else [])]
            releases.append(classes)
        series = series_of(codes, values, releases)
        yield replace(series, releases=[disturb(rng, release) for release in series.releases])


def disturb(rng: np.random.Generator, release: ObservedRelease) -> ObservedRelease:
    members = require_members(release)
    if rng.random() < 0.1:
        own, value = np.int32(rng.integers(release.class_count)), np.int32(rng.integers(release.values.max() + 1))
        release = replace(release, classes=np.append(release.classes, own), values=np.append(release.values, value))
    if rng.random() < 0.08:
        values = members.values.copy()
        values[rng.integers(len(values))] = rng.integers(values.max() + 1)
        release = replace(release, members=replace(members, values=values))
    return release


def told(outcome: Outcome) -> tuple[object, ...]:
    risk = {number: people.tolist() for number, people in sorted(outcome.at_risk.items())}
    ranks = [finding.rank for finding in outcome.findings]
    return outcome.findings, ranks, outcome.total, risk, outcome.measures, outcome.notes, outcome.unfinished


ATTACKS = [
    *(Difference(k=k, c=c, limit=5) for k, c in ((2, 1 / 2), (4, 1 / 2), (2, 1 / 3), (2, 1))),
    *(RecordTracing(k=k, limit=5) for k in (2, 3)),
]


@pytest.mark.parametrize("seed", range(2))
def test_what_is_passed_over_tells_nothing(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found, rng = dict.fromkeys([False, True], 0), np.random.default_rng(seed)
    for series in long_cases(seed):
        attack = ATTACKS[int(rng.integers(len(ATTACKS)))]
        quick = attack.run(series)
        with monkeypatch.context() as slow:
            slow.setattr(sides, "MANY", 1_000)
            assert told(quick) == told(attack.run(series))
        found[quick.total > 0] += 1
    assert min(found.values()) > CASES // 10


def test_of_an_even_series_few_pairs_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else an audit of 200 releases looks at 19,900 pairs three times."""
    rng = np.random.default_rng(1)
    people = {s: s % 3 for s in range(300)}
    codes = {s: (int(rng.integers(9)), 0) for s in people}
    series = series_of(codes, people, [deal_evenly(rng, 3 * start, 60, 3) for start in range(60)])
    looked: list[tuple[int, int]] = []

    def count(attack: type[Attack]) -> int:
        looked.clear()
        pair = attack._pair  # type: ignore[attr-defined]
        with monkeypatch.context() as counting:
            counting.setattr(
                attack, "_pair", lambda *given: (looked.append((given[-2].number, given[-1].number)), pair(*given))[1]
            )
            assert attack().run(series).total == 0
        return len(looked)

    assert 0 < count(Difference) < 60
    assert count(RecordTracing) == 0


def test_of_an_uneven_series_only_releases_with_whole_classes_in_common_are_laid_side_by_side(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(2)
    people = {s: int(rng.integers(4)) for s in range(160)}
    codes = {s: (int(rng.integers(9)), 0) for s in people}
    dealt = [rng.permutation(np.arange(4 * start, 4 * start + 40)).reshape(10, 4).tolist() for start in range(30)]
    series = series_of(codes, people, dealt)
    looked, pair = [], Difference._pair
    monkeypatch.setattr(Difference, "_pair", lambda *given: (looked.append(given[-2:]), pair(*given))[1])
    Difference().run(series)
    apart = [newer.number - older.number for older, newer in looked]
    assert 29 <= len(apart) < 200
    assert max(apart) < 10


def test_who_has_left_for_good_is_not_followed_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is known grows with the people there are, not with all who ever were; what is found is the same."""
    attack, found = Intersection(c=0.4, limit=5), 0
    followed: list[int] = []
    after = RunningKnowledge.after

    def count(running: RunningKnowledge, *given: object) -> RunningKnowledge:
        followed.append(len(running.subjects))
        return after(running, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(RunningKnowledge, "after", count)
    for series in islice(long_cases(3), 40):
        followed.clear()
        quick, some = attack.run(series), sum(followed)
        with monkeypatch.context() as slow:
            slow.setattr(
                intersection_attack, "_find_last", lambda given: (_find_last(given)[0], np.full(1_000, len(given)))
            )
            followed.clear()
            assert told(quick) == told(attack.run(series))
            assert some <= sum(followed)
        found += quick.total
    assert found > 20
    people = {s: s % 3 for s in range(200)}
    dealt = [[[s, s + 1, s + 2] for s in range(3 * start, 3 * start + 30, 3)] for start in range(50)]
    followed.clear()
    attack.run(series_of(dict.fromkeys(people, (0, 0)), people, dealt))
    assert max(followed) <= 30


def test_values_last_if_nobody_has_another_one_later_and_every_class_has_rows_for_its_people() -> None:
    people, codes = {0: 0, 1: 1, 2: 0, 3: 1}, dict.fromkeys(range(4), (0, 0))
    series = series_of(codes, people, [[[0, 1], [2, 3]], [[0, 1], [2, 3]]])

    def lasting(newest: ObservedRelease) -> bool:
        changed = replace(series, releases=[series.releases[0], newest])
        return QuietParts.of(sides.prepare_sides(changed, None)).lasting

    newer = series.releases[1]
    exchanged = replace(require_members(newer), values=np.array([1, 0, 0, 1], np.int32))
    assert lasting(newer)
    assert not lasting(replace(newer, members=exchanged))
    assert not lasting(replace(newer, values=np.array([0, 0, 0, 1], np.int32)))
    assert not lasting(replace(newer, values=np.array([0, 0, 1, 1], np.int32)))
