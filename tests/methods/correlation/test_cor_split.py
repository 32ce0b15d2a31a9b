"""Cor-Split by the attacks it stops, on generated histories; and plain m-invariance, which they break."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from reissue.errors import ChangeError, InfeasiblePolicy, SettingsError
from reissue.methods.correlation import cor_partition as kernels
from reissue.methods.correlation.attack import HistoricalCorrelation
from reissue.methods.correlation.breach_probability import breach_probability
from reissue.methods.correlation.strategy import CorSplit
from reissue.methods.invariance.attack import Association
from reissue.methods.invariance.strategy import MInvariance
from reissue.methods.strategy import Strategy
from reissue.model.release import Coded, Facts, History
from tests.support.correlations import groups_of, smallest_set
from tests.support.histories import CHURN, PERSISTING, Turnover, generate, observe, run_series, toy_domains
from tests.support.legal import assert_legal
from tests.support.refusals import names


def assert_sound(releases: list[Facts], snapshots: list[Coded], m: int, n: int) -> None:
    """Weakly m-invariant and hc-safe from the files; rows in their boxes; boxes legal; counterfeits stay themselves."""
    series = observe(releases, snapshots[-1])
    outcome = Association(m=m, invariant=True).run(series)
    assert outcome.findings == ()
    assert outcome.measures["weakly_m_invariant"] == 1.0
    assert HistoricalCorrelation(n=n).run(series).findings == ()
    for number in range(1, len(releases) + 1):
        assert HistoricalCorrelation(n=n).run(series, involving=number).findings == ()
    assert_legal(releases, snapshots)
    for facts in releases:
        assert (np.bincount(facts.classes, minlength=facts.class_count) > 0).all()


def assert_by_definition(releases: list[Facts], snapshot: Coded, n: int) -> None:
    """Definition 3 on plain sets, tried on all subsets."""
    groups = groups_of(observe(releases, snapshot))
    for group in groups:
        smallest = smallest_set(group, [other for other in groups if other.release < group.release])
        assert smallest is None or smallest >= n


CASES = {"steady": Turnover(arrive=0.0), "slow": Turnover(arrive=0.05, leave=0.05), **PERSISTING}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("publishing", ["generalized", "anatomized"])
def test_generated_histories_are_safe_from_the_files(case: str, publishing: str) -> None:
    for seed in (0, 3, 5, 6, 8):  # every m, small and large n, with rare values and without
        m = 2 + seed % 4
        n = 1 + seed % m
        strategy = CorSplit(m=m, n=n, publishing=publishing, on_ineligible="counterfeit")  # type: ignore[arg-type]
        rng = np.random.default_rng(seed)
        snapshots = generate(
            rng, releases=6, rows=30 + 20 * seed, values=7, turnover=CASES[case], skew=0.1 * (seed % 5)
        )
        releases = run_series(strategy, snapshots, seed)
        assert_sound(releases, snapshots, m, n)
        for facts, taken in zip(releases, snapshots, strict=True):
            assert np.array_equal(np.sort(taken.subjects), facts.subjects[facts.real])


def test_tiny_histories_by_definition_3() -> None:
    """So small that exchanging and merging often cannot help: counterfeits must."""
    counterfeits = 0
    for seed in range(120):
        m = 2 + seed % 3
        strategy = CorSplit(m=m, n=1 + (seed // 3) % m, on_ineligible="counterfeit")
        rng = np.random.default_rng(seed)
        turnover = (CHURN, CASES["slow"], CASES["returns"])[seed % 3]
        snapshots = generate(rng, releases=5, rows=int(rng.integers(1, 14)), values=4, turnover=turnover)
        releases = run_series(strategy, snapshots, seed)
        assert_sound(releases, snapshots, m, strategy.degree)
        assert_by_definition(releases, snapshots[-1], strategy.degree)
        plain = run_series(MInvariance(m=m, on_ineligible="counterfeit"), snapshots, seed)
        counterfeits += sum(len(facts.subjects) for facts in releases) > sum(len(facts.subjects) for facts in plain)
    assert counterfeits > 20


def rows(subjects: list[int], values: list[int], ages: list[int], value_count: int = 3) -> Coded:
    codes = np.stack([np.array(ages), np.zeros(len(ages)), np.zeros(len(ages))], axis=1).astype(np.int32)
    return Coded(
        np.array(subjects, dtype=np.int64),
        np.asfortranarray(codes),
        np.array(values, dtype=np.int32),
        toy_domains(),
        value_count,
    )


def one_leaves() -> list[Coded]:
    """Three people; the third is replaced by somebody with the same value."""
    return [rows([0, 1, 2], [0, 1, 2], [30, 31, 32]), rows([0, 1, 3], [0, 1, 2], [30, 31, 32])]


def test_one_replaced_person_gives_plain_m_invariance_away_but_not_cor_split() -> None:
    plain = run_series(MInvariance(m=3), one_leaves())
    finding = HistoricalCorrelation(n=2).run(observe(plain, one_leaves()[-1])).findings[0]
    assert (finding.level, finding.subjects) == (1.0, ("#2", "#3"))
    safe = run_series(CorSplit(m=3, n=2), one_leaves())
    assert_sound(safe, one_leaves(), 3, 2)
    assert (~safe[1].real).sum() == 3  # nothing to exchange or merge with: one counterfeit of every value


def test_a_bucket_too_small_to_be_safe_takes_new_people_before_counterfeits() -> None:
    first, _ = one_leaves()
    others = rows([0, 1, 3, 7, 8, 9], [0, 1, 2, 0, 1, 2], [30, 31, 32, 60, 61, 62])
    releases = run_series(CorSplit(m=3, n=2), [first, others])
    assert_sound(releases, [first, others], 3, 2)
    assert releases[1].real.all()
    partly = rows([0, 1, 3, 7, 8], [0, 1, 2, 0, 1], [30, 31, 32, 60, 61])
    releases = run_series(CorSplit(m=3, n=2, on_ineligible="counterfeit"), [first, partly])
    assert_sound(releases, [first, partly], 3, 2)
    assert releases[1].values[~releases[1].real].tolist() == [2]


def test_plain_m_invariance_is_broken_on_generated_histories() -> None:
    for seed in range(5):
        snapshots = generate(
            np.random.default_rng(seed), releases=4, rows=300, values=5, turnover=Turnover(arrive=0.05, leave=0.05)
        )
        plain = run_series(MInvariance(m=4, on_ineligible="counterfeit"), snapshots, seed)
        assert HistoricalCorrelation(n=2).run(observe(plain, snapshots[-1])).measures["unsafe_classes"] > 5
        safe = run_series(CorSplit(m=4, n=2, on_ineligible="counterfeit"), snapshots, seed)
        assert HistoricalCorrelation(n=2).run(observe(safe, snapshots[-1])).measures["unsafe_classes"] == 0


def test_counterfeits_come_last() -> None:
    """With others of the bucket at hand, exchanging and merging do without counterfeits."""
    for seed in range(5):
        snapshots = generate(
            np.random.default_rng(seed), releases=5, rows=400, values=4, turnover=Turnover(arrive=0.1, leave=0.1)
        )
        plain = run_series(MInvariance(m=4, on_ineligible="counterfeit"), snapshots, seed)
        safe = run_series(CorSplit(m=4, n=3, on_ineligible="counterfeit"), snapshots, seed)
        assert [int((~facts.real).sum()) for facts in safe] == [int((~facts.real).sum()) for facts in plain]


def test_a_class_that_stays_whole_may_stay() -> None:
    taken = rows([0, 1, 2], [0, 1, 2], [30, 31, 32])
    releases = run_series(CorSplit(m=3, n=3), [taken, taken, taken])
    assert all(facts.real.all() for facts in releases)


def test_merged_classes_show_every_value_equally_often() -> None:
    multiplicities: Counter[int] = Counter()
    for seed in range(6):
        snapshots = generate(np.random.default_rng(seed), releases=5, rows=60, values=4, turnover=CHURN)
        releases = run_series(CorSplit(m=4, n=4, on_ineligible="counterfeit"), snapshots, seed)
        assert_sound(releases, snapshots, 4, 4)
        for facts in releases:
            _, counts = np.unique(facts.classes.astype(np.int64) * 8 + facts.values, return_counts=True)
            multiplicities.update(counts.tolist())
    assert multiplicities[2] > 0


def test_who_was_published_l_times_is_refused_with_the_price_of_raising_l() -> None:
    taken = rows([0, 1, 2], [0, 1, 2], [30, 31, 32])
    strategy = CorSplit(m=3, p=0.01, L=2, h=0.5)
    now, then = (breach_probability(0.01, lived, 3, strategy.degree) for lived in (2, 3))
    with pytest.raises(InfeasiblePolicy, match=rf"3 subjects .* Raise L to 3, .* from {now:.4g} to {then:.4g}, or"):
        run_series(strategy, [taken, taken, taken])
    tight = CorSplit(m=3, p=0.1, L=2, h=1.0001 * breach_probability(0.1, 2, 3, 3), n=3)
    with pytest.raises(InfeasiblePolicy, match=r"not below h=.*; with n=3 at most L=2 is"):
        run_series(tight, [taken, taken, taken])


def test_retired_people_are_left_out_and_counted() -> None:
    old, new = (
        rows([0, 1, 2], [0, 1, 2], [30, 31, 32]),
        rows([0, 1, 2, 5, 6, 7], [0, 1, 2] * 2, [30, 31, 32, 40, 41, 42]),
    )
    strategy = CorSplit(m=3, p=0.01, L=2, h=0.5, on_limit="retire")
    releases = run_series(strategy, [old, old, new, new])
    assert [facts.subjects[facts.real].tolist() for facts in releases[2:]] == [[5, 6, 7], [5, 6, 7]]
    caches = {}
    for facts in releases[:2]:
        caches = dict(strategy.remember(caches, facts))
    candidate = strategy.publish(new, History(releases[:2], caches, 3))
    assert candidate.classes.tolist()[:3] == [-1, -1, -1]
    assert any("Retired: 3 subjects" in step for step in candidate.steps)


def test_everybody_retired_leaves_an_empty_release() -> None:
    taken = rows([0, 1, 2], [0, 1, 2], [30, 31, 32])
    releases = run_series(CorSplit(m=3, n=2, L=1, on_limit="retire"), [taken, taken])
    assert len(releases[1].subjects) == 0


def test_nobody_is_published_more_than_l_times_and_counterfeits_neither() -> None:
    snapshots = generate(np.random.default_rng(3), releases=8, rows=40, values=5, turnover=CHURN, skew=0.5)
    strategy = CorSplit(m=3, n=2, L=3, on_limit="retire", on_ineligible="counterfeit")
    releases = run_series(strategy, snapshots)
    assert_sound(releases, snapshots, 3, 2)
    times = Counter(int(s) for facts in releases for s in facts.subjects)
    assert max(times.values()) == 3


def test_a_series_begun_with_another_strategy_is_checked_against_its_releases() -> None:
    snapshots = generate(np.random.default_rng(8), releases=5, rows=80, values=5, turnover=CASES["slow"])
    plain, strategy = MInvariance(m=3, on_ineligible="counterfeit"), CorSplit(m=3, n=2, on_ineligible="counterfeit")
    releases = run_series(plain, snapshots[:3])
    caches = {}
    for facts in releases:
        caches = dict(strategy.remember(caches, facts))
    for number in (4, 5):
        facts = strategy.publish(snapshots[number - 1], History(releases, caches, number)).facts(
            number, snapshots[number - 1]
        )
        caches = dict(strategy.remember(caches, facts))
        releases.append(facts)
        series = observe(releases, snapshots[-1])
        assert HistoricalCorrelation(n=2).run(series, involving=number).findings == ()


def test_the_trails_are_the_facts() -> None:
    from reissue.methods.correlation.memory import recall_trails

    snapshots = generate(np.random.default_rng(9), releases=6, rows=50, values=5, turnover=CASES["returns"], skew=0.4)
    strategy = CorSplit(m=3, n=2, on_ineligible="counterfeit")
    releases = run_series(strategy, snapshots)
    caches, offset, expected = {}, 0, {}
    for facts in releases:
        caches = dict(strategy.remember(caches, facts))
        for subject, cls in zip(facts.subjects.tolist(), facts.classes.tolist(), strict=True):
            expected.setdefault(subject, []).append(cls + offset)
        offset += facts.class_count
    trails = recall_trails(caches)
    for i, subject in enumerate(np.concatenate([trails.subjects, trails.fakes]).tolist()):
        assert trails.groups[trails.start[i] : trails.start[i + 1]].tolist() == expected[subject]
    assert len(trails.sizes) == offset
    assert len(trails.fakes) == int((~releases[-1].real).sum())


def test_a_changed_value_is_refused() -> None:
    first, strategy = rows([0, 1, 2], [0, 1, 2], [30, 31, 32], 4), CorSplit(m=3, n=2)
    caches = strategy.remember({}, run_series(strategy, [first])[0])
    with pytest.raises(ChangeError, match="1 subjects have a sensitive value that is not in the signature"):
        strategy.publish(rows([0, 1, 2], [0, 1, 3], [30, 31, 32], 4), History([], caches, 1))


def test_the_same_seed_gives_the_same_release() -> None:
    snapshots = generate(np.random.default_rng(4), releases=4, rows=80, values=5, turnover=CHURN)
    strategy: Strategy = CorSplit(m=3, n=3, on_ineligible="counterfeit")
    for one, two in zip(run_series(strategy, snapshots, 7), run_series(strategy, snapshots, 7), strict=True):
        assert np.array_equal(one.classes, two.classes)
        assert np.array_equal(one.boxes, two.boxes)
        assert np.array_equal(one.codes, two.codes)


def test_boxes_stay_near_those_of_m_invariance() -> None:
    snapshots = generate(np.random.default_rng(5), releases=4, rows=3000, values=4, turnover=CASES["slow"])
    plain = run_series(MInvariance(m=4, on_ineligible="counterfeit"), snapshots)[-1]
    safe = run_series(CorSplit(m=4, n=2, on_ineligible="counterfeit"), snapshots)[-1]
    widths = [float((facts.boxes[:, 0, 1] - facts.boxes[:, 0, 0]).mean()) for facts in (plain, safe)]
    assert widths[1] < 1.5 * widths[0]


def test_a_class_is_as_wide_as_its_own_rows_and_joins_the_neighbour_that_widens_it_less() -> None:
    rng = np.random.default_rng(4)
    codes, scale = rng.integers(0, 100, (30, 3)).astype(np.int32), np.array([0.5, 1.0, 0.01])
    order, start = rng.permutation(30), np.arange(0, 31, 3)
    widths = [
        [float(np.ptp(codes[order[start[low] : start[high]]], axis=0) @ scale) if high > low else 0.0
         for high in range(11)] for low in range(11)
    ]  # fmt: skip
    for low in range(10):
        for high in range(low + 1, 11):
            found = kernels._semiperimeter(order, start[low], start[high], (codes, scale))
            assert found == pytest.approx(widths[low][high])
    alone = np.zeros(11, dtype=np.bool_)
    for low in range(1, 8):
        wider = low - 1 if widths[low - 1][low + 1] <= widths[low][low + 2] else low
        taken = kernels._take_in(order, start, alone, low, low + 1, 0, 10, (codes, scale))
        assert taken == (wider, wider + 2)


def test_n_is_chosen_or_given_and_never_weaker_than_asked() -> None:
    assert CorSplit(m=6, p=0.04, L=24, h=0.1).degree == 3
    assert CorSplit(m=6, p=0.04, L=21, h=0.1).degree == 2
    assert CorSplit(m=6, p=0.04, L=21, h=0.1, n=3).degree == 3
    assert CorSplit(m=6, n=4).thresholds() == {"m": 6.0, "invariant": 1.0, "n": 4.0}
    with pytest.raises(InfeasiblePolicy, match="Raise n to 3"):
        CorSplit(m=6, p=0.04, L=24, h=0.1, n=2)
    with pytest.raises(InfeasiblePolicy, match=r"publish nobody more than 24 times \(L=24\), or raise m to 18"):
        CorSplit(m=6, p=0.04, L=50, h=0.1)


@pytest.mark.parametrize(
    "settings",
    [
        {"n": 1, "m": 1},
        {"m": 3, "n": None},
        {"p": 0.1, "L": 3, "m": 3, "h": None},
        {"m": 3, "n": 4},
        {"m": 3, "n": 0},
        {"m": 3, "n": 2, "p": 2.0},
        {"m": 3, "n": 2, "L": 0},
        {"m": 3, "n": 2, "h": 0.0},
        {"m": 3, "n": 2, "on_limit": "x"},
        {"m": 3, "n": 2, "publishing": "x"},
        {"m": 3, "n": 2, "on_ineligible": "x"},
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match=names(settings)):
        CorSplit(**settings)  # type: ignore[arg-type]
