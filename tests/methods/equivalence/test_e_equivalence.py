"""e-equivalence by the attacks it stops: table VII, and generated histories checked exactly."""

from __future__ import annotations

import numpy as np
import pytest

from reissue.errors import InfeasiblePolicy, SettingsError
from reissue.methods.equivalence.attack import Equivalence
from reissue.methods.equivalence.lifespans import recall_spans
from reissue.methods.equivalence.person_matrix import number_classes, trace_patterns
from reissue.methods.equivalence.smallest_attack import find_smallest_new_cut, make_blocks, solve_smallest_attack
from reissue.methods.equivalence.strategy import EEquivalence
from reissue.methods.invariance.attack import Association
from reissue.methods.invariance.strategy import MInvariance
from reissue.model.boxes import contain
from reissue.model.release import Coded, Facts, History
from tests.methods.equivalence.blocks import AMPLE
from tests.support.clinic import AT_T1, AT_T2, AT_T3, CANCER, FLU, MEASLES, snapshot
from tests.support.histories import CHURN, PERSISTING, Turnover, generate, observe, run_series
from tests.support.refusals import names


def assert_sound(
    releases: list[Facts], snapshots: list[Coded], m: int, e: int, *, exact: bool = False, anatomized: bool = True
) -> None:
    series = observe(releases, snapshots[-1])
    association = Association(m=m, invariant=True).run(series)
    assert association.findings == ()
    assert association.measures["weakly_m_invariant"] == 1.0
    for facts, taken in zip(releases, snapshots, strict=True):
        assert facts.anatomized == anatomized
        assert np.array_equal(np.sort(taken.subjects), facts.subjects[facts.real])
        assert contain(facts.boxes, facts.codes, facts.classes).all()
    for number in range(1, len(releases) + 1):
        assert Equivalence(e=e).run(series, involving=number).breaches == ()
    breaches = Equivalence(e=e).run(series).breaches
    assert [finding for finding in breaches if finding.details.get("by") != "worlds"] == []  # the promise is linear
    rows = number_classes(series.releases)
    for block in make_blocks(series.releases, rows, trace_patterns(series.releases, rows), apart=True):
        cut = find_smallest_new_cut(block)
        assert cut is None or cut > 2 * (e - 1)
        if exact and e > 1:
            proof = solve_smallest_attack(block, e - 1, AMPLE)
            assert proof.proven
            assert proof.way is None, "an attack of fewer than e people exists"


def fakes(facts: Facts) -> dict[int, int]:
    return dict(zip(facts.subjects[~facts.real].tolist(), facts.values[~facts.real].tolist(), strict=True))


def test_example_10_ends_with_table_7() -> None:
    """The seed deals newcomers to the buckets; with most seeds as the paper does it."""
    snapshots = [snapshot(AT_T1), snapshot(AT_T2), snapshot(AT_T3)]
    releases = run_series(EEquivalence(m=2, e=2), snapshots, seed=1)
    assert_sound(releases, snapshots, 2, 2, exact=True)
    first, second, third = (fakes(facts) for facts in releases)
    assert sorted(first.values()) == [CANCER, MEASLES]  # c2, c3
    assert list(second.values()) == [FLU]  # c1; c2 and c3 are retired
    assert set(second) & set(first) == set()
    assert set(second) < set(third)  # c1 stays, c4 and c5 come
    assert sorted(value for number, value in third.items() if number not in second) == [CANCER, MEASLES]
    assert [facts.class_count for facts in releases] == [2, 2, 2]
    sizes = [sorted(np.bincount(facts.classes).tolist()) for facts in releases]
    assert sizes == [[4, 4], [4, 4], [4, 4]]


def test_table_4a_merged_buckets_with_generalized_quasi_identifiers() -> None:
    """The seed decides who of the people with cancer joins Ellen; here it is Frank, as in the paper."""
    strategy = EEquivalence(m=2, e=1, publishing="generalized")
    (facts,) = run_series(strategy, [snapshot(AT_T1)], seed=1)
    assert not facts.anatomized
    boxes = {tuple(map(tuple, box)) for box in facts.boxes.tolist()}
    assert boxes == {((35, 49), (53, 65)), ((41, 43), (62, 67))}
    values = {tuple(sorted(facts.values[facts.classes == number].tolist())) for number in range(2)}
    assert values == {(CANCER, CANCER, FLU, FLU), (CANCER, MEASLES)}


@pytest.mark.parametrize("case", ["churn", "returns"])
def test_generalized_series_keep_the_promise_too(case: str) -> None:
    for seed in range(2):
        snapshots = generate(np.random.default_rng(seed), releases=4, rows=40, values=5, turnover=CASES[case])
        strategy = EEquivalence(m=3, e=2, publishing="generalized", on_ineligible="counterfeit")
        assert_sound(run_series(strategy, snapshots, seed), snapshots, 3, 2, exact=True, anatomized=False)


CASES = {**PERSISTING, "slow": Turnover(arrive=0.03, leave=0.03, back=0.5)}


@pytest.mark.parametrize("case", CASES)
def test_no_attack_below_e_on_generated_histories(case: str) -> None:
    for seed in range(6):
        m, e = 2 + seed % 3, 1 + seed % 4
        snapshots = generate(
            np.random.default_rng(seed),
            releases=5,
            rows=30 + 15 * seed,
            values=5,
            turnover=CASES[case],
            skew=0.1 * seed,
        )
        releases = run_series(EEquivalence(m=m, e=e, on_ineligible="counterfeit"), snapshots, seed)
        assert_sound(releases, snapshots, m, e, exact=seed < 4)


def test_whole_people_may_show_more_than_the_promise_covers() -> None:
    """No weights of classes show two people equal, yet all worlds do: definition 6, not 10."""
    snapshots = generate(np.random.default_rng(13), releases=5, rows=30, values=5, turnover=CASES["returns"], skew=0.1)
    releases = run_series(EEquivalence(m=3, e=2, on_ineligible="counterfeit"), snapshots, 13)
    assert_sound(releases, snapshots, 3, 2, exact=True)
    outcome = Equivalence(e=2).run(observe(releases, snapshots[-1]))
    assert {finding.subjects for finding in outcome.breaches} == {("#24", "#31"), ("#11",)}
    assert {finding.details["by"] for finding in outcome.breaches} == {"worlds"}
    truth = {int(s): int(v) for taken in snapshots for s, v in zip(taken.subjects, taken.values, strict=True)}
    assert truth[24] == truth[31]
    assert any("do not follow by adding" in note for note in outcome.notes)


def test_empty_months_and_the_same_people_again() -> None:
    people = generate(np.random.default_rng(3), releases=1, rows=24, values=4)[0]
    nobody = Coded(people.subjects[:0], people.codes[:0], people.values[:0], people.domains, 4)
    snapshots = [people, nobody, people, people, nobody]
    releases = run_series(EEquivalence(m=2, e=3, on_ineligible="counterfeit"), snapshots)
    assert_sound(releases, snapshots, 2, 3, exact=True)


def test_m_invariance_alone_is_open_to_attacks_below_e() -> None:
    snapshots = generate(np.random.default_rng(1), releases=4, rows=60, values=4, turnover=Turnover(0.05, 0.05))
    releases = run_series(MInvariance(m=2, on_ineligible="counterfeit"), snapshots)
    outcome = Equivalence(e=2).run(observe(releases, snapshots[-1]))
    assert outcome.breaches
    truth = {int(s): int(v) for taken in snapshots for s, v in zip(taken.subjects, taken.values, strict=True)}
    for finding in outcome.breaches:  # and what they tell is true
        if len(finding.subjects) == 2:
            one, two = (int(name[1:]) for name in finding.subjects)
            assert truth[one] == truth[two]


def test_few_counterfeits_where_buckets_are_large() -> None:
    snapshots = generate(np.random.default_rng(2), releases=6, rows=3000, values=8, turnover=Turnover(0.1, 0.1))
    releases = run_series(EEquivalence(m=4, e=5), snapshots)
    assert_sound(releases, snapshots, 4, 5)
    assert sum(int((~facts.real).sum()) for facts in releases) < 0.01 * sum(len(facts.subjects) for facts in releases)


def test_caches_count_lifespans_and_are_rebuilt_from_facts() -> None:
    strategy = EEquivalence(m=2, e=2, on_ineligible="counterfeit")
    snapshots = generate(np.random.default_rng(5), releases=6, rows=40, values=4, turnover=CHURN)
    releases = run_series(strategy, snapshots)
    caches: dict[str, dict[str, np.ndarray]] = {}
    for facts in releases:
        caches = strategy.remember(caches, facts)  # type: ignore[arg-type, assignment]
    expected: dict[tuple[int, int], int] = {}
    everybody = np.unique(np.concatenate([facts.subjects for facts in releases]))
    for subject in everybody:
        there = [facts.number for facts in releases if subject in facts.subjects]
        if there[-1] < len(releases) and there[-1] - there[0] + 1 == len(there):
            key = (there[0], there[-1] + 1)
            expected[key] = expected.get(key, 0) + 1
    closed = recall_spans(caches, 3).closed
    counted: dict[tuple[int, int], int] = {}
    for entered, left, count in zip(
        closed["entered"].tolist(), closed["left"].tolist(), closed["count"].tolist(), strict=True
    ):
        counted[entered, left] = counted.get((entered, left), 0) + count
    assert counted == expected


def test_e_cannot_be_raised_and_other_releases_cannot_be_taken_back() -> None:
    taken = snapshot(AT_T1)
    for made_by in (EEquivalence(m=2, e=2), MInvariance(m=2)):
        facts = run_series(made_by, [taken])
        later = EEquivalence(m=2, e=3)
        with pytest.raises(InfeasiblePolicy, match="largest feasible e is"):
            later.publish(taken, History(facts, later.remember({}, facts[0]), 1))


@pytest.mark.parametrize("settings", [{"e": 2, "m": 1}, {"m": 2, "e": 0}, {"m": 2, "e": 2, "on_ineligible": "x"}])
def test_settings_out_of_range_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match=names(settings)):
        EEquivalence(**settings)  # type: ignore[arg-type]
