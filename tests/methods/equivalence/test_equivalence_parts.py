"""The equivalence attack on parts that have all classes of some sets of values tells what it tells of the whole."""

from __future__ import annotations

import pickle
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from reissue.methods.attack import Outcome
from reissue.methods.baselines.static import Static
from reissue.methods.equivalence.attack import Equivalence, locate_people
from reissue.methods.equivalence.attack_search import SearchTotals
from reissue.methods.equivalence.person_matrix import MERGED, PAIRS, PIECES, SeriesShape
from reissue.methods.equivalence.strategy import EEquivalence
from reissue.methods.invariance.signatures import hash_sets
from reissue.methods.invariance.strategy import MInvariance
from reissue.methods.strategy import Strategy
from reissue.model.observed import Members, Observed, ObservedRelease
from tests.methods.equivalence.blocks import AMPLE, series_of
from tests.support.histories import CHURN, generate, observe, run_series
from tests.support.in_parts import split_series

PARTS = 3


def beside(one: Observed, other: Observed) -> Observed:
    """Two series of the same length that share nobody, as one."""
    releases = []
    for left, right in zip(one.releases, other.releases, strict=True):
        members = [_moved(right.members, left.class_count), _moved(right.counterfeits, left.class_count)]
        releases.append(
            ObservedRelease(
                left.number,
                np.concatenate([left.boxes, right.boxes]),
                np.concatenate([left.classes, right.classes + left.class_count]),
                np.concatenate([left.values, right.values]),
                _both(left.members, members[0]),
                left.anatomized,
                _both(left.counterfeits, members[1]),
            )
        )
    return replace(one, releases=releases)


def _moved(some: Members | None, classes: int) -> Members | None:
    """As other people, in other classes."""
    if some is None:
        return None
    away = np.where(some.subjects < 0, some.subjects - 10_000, some.subjects + 10_000)
    return replace(some, subjects=away, classes=(some.classes + classes).astype(np.int32))


def _both(one: Members | None, other: Members | None) -> Members | None:
    if one is None or other is None:
        return one
    columns = zip(*(vars(some).values() for some in (one, other)), strict=True)
    subjects, classes, codes, values = (np.concatenate(column) for column in columns)
    order = np.argsort(subjects, kind="stable")
    return Members(subjects[order], classes[order], codes[order], values[order])


def published(strategy: Strategy, seed: int, people: int = 60) -> Observed:
    rng = np.random.default_rng(seed)
    snapshots = generate(rng, releases=4, rows=people, values=5, turnover=CHURN)
    return observe(run_series(strategy, snapshots, seed), snapshots[-1])


def series_like(kind: str, seed: int) -> Observed:
    if kind == MERGED:
        return published(EEquivalence(m=2, e=1 + seed % 2, on_ineligible="counterfeit"), seed)
    if kind == PIECES:
        two = (published(EEquivalence(m=2, e=1, on_ineligible="counterfeit"), seed + at, 30) for at in (0, 1))
        return beside(*two)
    if kind == "invariant":
        return published(MInvariance(m=2, on_ineligible="counterfeit"), seed)
    return published(Static(k=3), seed)


def parts_of(series: Observed, parts: int) -> list[Observed]:
    bins = []
    for release in series.releases:
        classes, values, _ = release.groups
        start = np.searchsorted(classes, np.arange(release.class_count + 1)).astype(np.int64)
        bins.append((hash_sets(start, values) % np.uint64(parts)).astype(np.int32))
    return split_series(series, bins)


def by_parts(attack: Equivalence, series: Observed, look: SeriesShape | None = None) -> Outcome:
    """As workers do it; look: instead of what the parts together look like."""
    parts = parts_of(series, PARTS)
    whole = look or SeriesShape.sum_up([attack.describe_shape(part) for part in parts])
    tally = SearchTotals.sum_up([pickle.loads(pickle.dumps(attack.search_part(part, whole))) for part in parts])
    return attack.conclude([tally], whole, partial(locate_people, series.releases))


def told(outcome: Outcome) -> dict[str, object]:
    risks = {number: people.tolist() for number, people in outcome.at_risk.items()}
    return {**vars(outcome), "at_risk": risks}


WAYS = {MERGED: MERGED, PIECES: PIECES, "invariant": PAIRS, "any": PAIRS}


@pytest.mark.parametrize("kind", WAYS)
def test_parts_tell_what_the_whole_tells(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "reissue.methods.equivalence.person_matrix.MOST_MIXED", 0
    )  # as if every mixed series were large
    findings, several = 0, 0
    for seed in range(4):
        series = series_like(kind, seed)
        for attack in (Equivalence(e=2), Equivalence(e=4, limit=3), Equivalence(e=3, exact=True, nodes=AMPLE)):
            whole = attack.describe_shape(series)
            assert whole.way == WAYS[kind], seed
            together = SeriesShape.sum_up([attack.describe_shape(part) for part in parts_of(series, PARTS)])
            if not whole.apart:
                together = together.as_mixed()
            assert together == whole
            if not whole.needs_whole:
                outcome = attack.run(series)
                assert told(by_parts(attack, series, together)) == told(outcome), (seed, attack)
                findings += len(outcome.findings)
        several += len([part for part in parts_of(series, PARTS) if attack.describe_shape(part).classes]) > 1
    assert findings > 10
    assert several > 2


@pytest.mark.parametrize("kind", WAYS)
def test_sentences_that_are_passed_over_would_not_be_kept(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(6):
        series, attack = series_like(kind, seed), Equivalence(e=4, limit=3)
        outcome = attack.run(series)
        with monkeypatch.context() as all_written:
            all_written.setattr(SearchTotals, "takes", lambda *args: True)
            assert told(attack.run(series)) == told(outcome)


@pytest.mark.parametrize("kind", WAYS)
def test_all_attacks_are_counted_however_few_are_told(kind: str) -> None:
    more = 0
    for seed in range(4):
        series = series_like(kind, seed)
        few, all_ = (Equivalence(e=4, limit=limit).run(series) for limit in (1, 10_000))
        assert few.total == all_.total >= len(all_.findings)
        more += few.total - len(few.findings)
    assert more > 0, "or nothing is proved"


def test_a_full_list_takes_only_what_is_smaller() -> None:
    series = series_like("invariant", 0)
    some = Equivalence(e=4, limit=10_000).run(series).findings
    assert len(some) > 3
    tally = SearchTotals(3)
    tally.describe(some[1:3])
    assert tally.takes(99, ()), "there is room"
    tally.describe(some[3:4])
    last = tally.found[-1]
    assert tally.takes(int(last.level), last.classes)
    assert tally.takes(int(last.level) - 1, ((99, 99),))
    assert not tally.takes(int(last.level), (*last.classes, (99, 99)))
    assert not tally.takes(int(last.level) + 1, ())


def test_no_part_sees_that_somebody_has_classes_elsewhere() -> None:
    """Four people with four values, in pairs, then in other pairs: no set is shown twice, each part is one class."""
    pairs = [np.array([0, 0, 1, 1], dtype=np.int32), np.array([0, 1, 0, 1], dtype=np.int32)]
    people, values = np.arange(4, dtype=np.int64), np.arange(4, dtype=np.int32)
    series = series_of([(people, classes, values) for classes in pairs], 4)
    attack = Equivalence()
    apart = split_series(series, [np.array([0, 1], dtype=np.int32), np.array([2, 3], dtype=np.int32)])
    looks = SeriesShape.sum_up([attack.describe_shape(part) for part in apart])
    assert looks.way == MERGED
    assert not attack.describe_shape(series).apart
    assert attack.describe_shape(series) == looks.as_mixed()


def test_a_series_whose_people_change_sets_is_searched_all_at_once_unless_it_is_large() -> None:
    """Its parts would have classes of the same people; everybody of an invariant series is in one part."""
    mixed, invariant = published(Static(k=3), 3, people=20), series_like("invariant", 3)
    shape = Equivalence().describe_shape(mixed)
    assert shape.needs_whole
    assert shape.can_connect
    assert not replace(shape, classes=20_001).can_connect
    assert not Equivalence().describe_shape(invariant).needs_whole
    assert Equivalence().describe_shape(invariant).can_connect


def test_people_of_a_series_too_large_are_counted_as_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reissue.methods.equivalence.attack.MOST_CELLS", 10)
    outcome = Equivalence().run(series_like("invariant", 3))
    assert "lower_bound" not in outcome.measures
    assert any("too large to look at all classes together" in note for note in outcome.notes)
    assert outcome.breaches
    assert outcome.unfinished == 0, "a breach needs no proof that there is no other"
    several = published(Static(k=3), 1, people=30)
    quiet = replace(several, releases=[several.releases[0]])
    monkeypatch.setattr("reissue.methods.equivalence.attack.MOST_CELLS", 0)
    found = Equivalence().run(quiet)
    assert not found.breaches
    assert found.unfinished == quiet.releases[0].class_count
    assert any("only proven that none has fewer than 1" in note for note in found.notes)


def test_a_series_without_releases() -> None:
    outcome = Equivalence().run(series_of([], 2))
    assert (outcome.findings, outcome.total, outcome.measures, outcome.notes) == ((), 0, {}, ())
