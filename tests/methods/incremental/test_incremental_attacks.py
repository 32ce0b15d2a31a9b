"""Intersection, difference and record tracing equal enumeration on hundreds of tiny series."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from reissue.errors import InputError, SettingsError
from reissue.methods.attack import Attack, Outcome
from reissue.methods.incremental.difference_attack import Difference
from reissue.methods.incremental.intersection_attack import Intersection
from reissue.methods.incremental.tracing_attack import RecordTracing
from reissue.model.observed import Observed
from tests.methods.incremental.tiny import differences, intersections, random_series, series_of, traced, value_of

CASES = 40
SHARES = (Fraction(1, 2), Fraction(1, 2), Fraction(2, 3), Fraction(3, 5), Fraction(1))
STRICT = Fraction(9, 20), Fraction(1, 3), Fraction(1, 5)


def tiny_cases(seed: int) -> list[tuple[Observed, int, Fraction]]:
    rng = np.random.default_rng(seed)
    found: list[tuple[Observed, int, Fraction]] = []
    while len(found) < CASES:
        k, c = int(rng.integers(2, 4)), SHARES[int(rng.integers(len(SHARES)))]
        grow = 0 if rng.random() < 0.25 else 4  # a quarter of the series without any new row
        series = random_series(rng, releases=int(rng.integers(2, 5)), k=k, c=c, grow=grow)
        if series is not None:
            found.append((series, k, c))
    return found


@pytest.mark.parametrize("seed", range(6))
def test_intersection_equals_enumeration(seed: int) -> None:
    for series, _, c in tiny_cases(seed):
        outcome = Intersection(c=float(c)).run(series)
        for n in range(2, len(series) + 1):
            left = intersections(series.releases[:n])
            expected = sorted(s for s, counts in left.items() if max(counts.values()) > c * counts.total())
            assert outcome.at_risk[n].tolist() == expected
            assert Intersection(c=float(c)).run(series, involving=n).at_risk[n].tolist() == expected
        shares = [
            max(x.values()) / x.total()
            for n in range(2, len(series) + 1)
            for x in intersections(series.releases[:n]).values()
        ]
        assert outcome.measures["highest_share"] == pytest.approx(max(shares))
        assert bool(outcome.findings) == any(len(people) for people in outcome.at_risk.values())


def expected_differences(series: Observed, k: int, c: Fraction, newest: int | None) -> tuple[int, dict[int, Fraction]]:
    """The smallest difference (up to k), and per value the largest share above c."""
    smallest, shares = k, dict[int, Fraction]()
    for older, newer in combinations(series.releases, 2):
        if newest is not None and newer.number != newest:
            continue
        for left, right in ((older, newer), (newer, older)):
            value = value_of(right)
            for _, over in differences(left, right):
                if over:
                    smallest = min(smallest, len(over))
                    for v, times in Counter(value[s] for s in over).items():
                        share = Fraction(times, len(over))
                        if share > c:
                            shares[v] = max(shares.get(v, share), share)
    return smallest, shares


@pytest.mark.parametrize("seed", range(6))
def test_difference_equals_enumeration(seed: int) -> None:
    for series, k, c in tiny_cases(100 + seed):
        for newest in (None, len(series)):
            outcome = Difference(k=k, c=float(c), limit=10_000).run(series, involving=newest)
            smallest, shares = expected_differences(series, k, c, newest)
            assert outcome.measures["smallest_difference"] == smallest
            highest = outcome.measures["highest_share"]
            assert highest == pytest.approx(float(max(shares.values()))) if shares else highest <= c
            assert outcome.unfinished == 0
            told = {finding.value for finding in outcome.findings if finding.value is not None}
            assert told == {f"v{v}" for v in shares}
            check_differences(series, outcome, k, c)


def check_differences(series: Observed, outcome: Outcome, k: int, c: Fraction) -> None:
    """Every finding names a difference that exists, and everybody in it is counted as at risk."""
    assert bool(outcome.findings) == any(len(people) for people in outcome.at_risk.values())
    for finding in outcome.findings:
        (one, _), (other, _) = finding.classes[0], finding.classes[-1]
        left, right = series.releases[one - 1], series.releases[other - 1]
        inside = frozenset(own for number, own in finding.classes if number == one)
        assert {int(who[1:]) for who in finding.subjects} <= set(outcome.at_risk[other].tolist())
        over = dict(differences(left, right))[inside]
        assert finding.subjects == tuple(f"#{s}" for s in sorted(over))
        values = Counter(value_of(right)[s] for s in over)
        if finding.value is None:
            assert finding.level == len(over) < k
        else:
            assert finding.level == pytest.approx(values[int(finding.value[1:])] / len(over))
            assert finding.level > float(c)


@pytest.mark.parametrize("seed", range(6))
def test_a_stricter_c_never_finds_less_also_where_classes_exceed_it_by_themselves(seed: int) -> None:
    """Classes of any values: nobody at risk is lost, no difference is, and the worst share is that of enumeration."""
    rng, found = np.random.default_rng(seed), 0
    while found < 5:
        series = random_series(rng, releases=2, k=1, c=Fraction(1))
        if series is None:
            continue
        found, before, at_risk, total = found + 1, 0.0, set[tuple[int, int]](), 0
        worst = max(expected_differences(series, 1, Fraction(0), None)[1].values(), default=Fraction(0))
        for c in (Fraction(1), Fraction(3, 4), Fraction(3, 5), Fraction(11, 20), Fraction(1, 2), *STRICT):
            outcome = Difference(k=1, c=float(c), limit=10_000).run(series)
            people = {(n, s) for n, subjects in outcome.at_risk.items() for s in subjects.tolist()}
            highest = outcome.measures["highest_share"]
            check_differences(series, outcome, 1, c)
            assert people >= at_risk
            assert outcome.total >= total
            assert highest == pytest.approx(float(worst)) if worst > c else before <= highest <= worst
            assert highest == 1 or worst != 1
            assert outcome.unfinished == 0, "of so few classes all sets are tested"
            before, at_risk, total = highest if worst > c else before, people, outcome.total


@pytest.mark.parametrize("seed", range(4))
def test_a_stricter_c_never_finds_less_among_many_classes_either(seed: int) -> None:
    rng, at_risk, total = np.random.default_rng(seed), set[tuple[int, int]](), 0
    values = dict(enumerate(rng.choice(4, 240, p=(0.5, 0.3, 0.1, 0.1)).tolist()))
    codes = {s: tuple(rng.integers(0, 9, 2).tolist()) for s in values}
    releases = []
    for here in (range(200), range(240)):
        label = rng.integers(0, 40, len(here))
        classes = [[s for s, own in zip(here, label, strict=True) if own == i] for i in range(40)]
        releases.append([members for members in classes if members])
    series = series_of(codes, values, releases)
    for c in (
        Fraction(1),
        Fraction(9, 10),
        Fraction(17, 20),
        Fraction(3, 4),
        Fraction(13, 20),
        Fraction(1, 2),
        *STRICT,
    ):
        outcome = Difference(k=2, c=float(c)).run(series)
        people = {(n, s) for n, subjects in outcome.at_risk.items() for s in subjects.tolist()}
        assert people >= at_risk
        assert outcome.total >= total
        at_risk, total = people, outcome.total
    assert at_risk


def test_where_not_every_set_is_tested_the_attack_comes_to_partly() -> None:
    """One class of many has v0 above one half, no difference has: the outcome says that not all sets were tested."""
    values = {s: 1 + s % 6 for s in range(60)} | dict.fromkeys(range(3), 0)
    older = [list(range(i, i + 4)) for i in range(0, 48, 4)]
    newer = [[s for s in values if s % 2 == side] for side in range(2)]
    series = series_of({s: (s,) for s in values}, values, [older, newer])
    strict, lax = (Difference(k=2, c=c).run(series) for c in (0.5, 0.75))
    assert (strict.total, strict.unfinished, len(strict.notes)) == (0, 60, 1)
    assert (lax.total, lax.unfinished, lax.notes) == (0, 0, ())


@pytest.mark.parametrize("seed", range(6))
def test_record_tracing_equals_enumeration(seed: int) -> None:
    for series, k, _ in tiny_cases(200 + seed):
        for newest in (None, len(series)):
            outcome = RecordTracing(k=k, limit=10_000).run(series, involving=newest)
            expected = set()
            for older, newer in combinations(series.releases, 2):
                if newest in (None, newer.number):
                    expected |= {(older.number, newer.number, *one) for one in traced(older, newer, k) or ()}
            assert outcome.total == len(expected)
            told = {
                (*f.releases, int(str(f.value)[1:]), frozenset(int(who[1:]) for who in f.subjects))
                for f in outcome.findings
            }
            assert told == expected
            assert all(f.level == len(f.subjects) for f in outcome.findings)


def test_the_tiny_series_have_something_to_find_and_something_to_pass() -> None:
    cases = tiny_cases(7) + tiny_cases(8)
    for attack in (Intersection, Difference, RecordTracing):
        settings = [{"c": float(c)} if attack is Intersection else {"k": k} for _, k, c in cases]
        found = [bool(attack(**s).run(case[0]).findings) for s, case in zip(settings, cases, strict=True)]
        assert 5 < sum(found) < len(cases) - 5, attack.name


@pytest.mark.parametrize("attack", [Intersection(), Difference(), RecordTracing()])
def test_one_release_alone_gives_nothing_and_members_are_needed(attack: Attack) -> None:
    series = series_of({0: (1,), 1: (2,)}, {0: 0, 1: 1}, [[[0, 1]]])
    assert attack.run(series).findings == ()
    blind = [
        type(r)(r.number, r.boxes, r.classes, r.values)
        for r in series_of({0: (1,), 1: (2,)}, {0: 0, 1: 1}, [[[0, 1]], [[0, 1]]]).releases
    ]
    with pytest.raises(InputError, match="without its members"):
        attack.run(Observed(blind, series.domains, 2, series.words))


def test_settings_are_checked() -> None:
    with pytest.raises(SettingsError, match="c is 0"):
        Intersection(c=0)
    with pytest.raises(SettingsError, match="k is 0"):
        Difference(k=0)
    with pytest.raises(SettingsError, match="limit is 0"):
        RecordTracing(limit=0)


def test_people_who_leave_are_not_taken_for_traced() -> None:
    """Subject 1 left: the row that disappeared may be anybody's, so nobody's row must be where it seems to be."""
    codes, values = {0: (0,), 1: (9,), 2: (1,), 3: (8,)}, {0: 0, 1: 0, 2: 1, 3: 1}
    boxes = [[[(0, 9)]], [[(0, 9)]]]
    series = series_of(codes, values, [[[0, 1, 2, 3]], [[0, 2, 3]]], boxes=boxes)
    assert RecordTracing(k=2).run(series).findings == ()
    assert Difference(k=2, c=1.0).run(series).measures["smallest_difference"] == 1, "who left is one person"


def test_what_was_followed_before_is_used_only_for_the_same_releases() -> None:
    """As publish asks: after each release, again after a refusal, and of a past that is another one."""
    rng = np.random.default_rng(3)
    for series, _, c in tiny_cases(99):
        attack, other = Intersection(c=float(c)), tiny_cases(int(rng.integers(1, 9)))[0][0]
        mixed = Observed([*other.releases[:1], *series.releases[1:]], series.domains, series.value_count, series.words)
        for asked in (series, mixed, series):
            for n in rng.integers(2, len(asked) + 1, 4).tolist():
                fresh = [replace(release) for release in asked.releases]
                anew = Observed(fresh, asked.domains, asked.value_count, asked.words)
                outcome, expected = (attack.run(one, involving=n) for one in (asked, anew))
                assert outcome.at_risk[n].tolist() == expected.at_risk[n].tolist()
                assert (outcome.measures, outcome.findings) == (expected.measures, expected.findings)
