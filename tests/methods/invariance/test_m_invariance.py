"""m-invariance by the attack it stops, on the paper's tables and on generated histories."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from reissue.errors import ChangeError, InfeasiblePolicy, SettingsError
from reissue.methods.invariance.attack import Association
from reissue.methods.invariance.strategy import MInvariance
from reissue.methods.strategy import Strategy
from reissue.model.release import Coded, Facts, History
from tests.support.clinic import AT_T1, AT_T2, DOMAINS, FLU, snapshot
from tests.support.histories import CHURN, PERSISTING, generate, observe, run_series, toy_domains
from tests.support.legal import assert_legal
from tests.support.refusals import names


def assert_sound(releases: list[Facts], snapshots: list[Coded], m: int) -> None:
    """m-invariant from the files; rows in their boxes; boxes legal; nobody lost; counterfeits stay themselves."""
    outcome = Association(m=m, invariant=True).run(observe(releases, snapshots[-1]))
    assert outcome.findings == ()
    assert outcome.measures["m_invariant"] == 1.0
    assert_legal(releases, snapshots)
    for facts, taken in zip(releases, snapshots, strict=True):
        assert np.array_equal(np.sort(taken.subjects), facts.subjects[facts.real])


def test_tables_1_to_3_need_one_counterfeit_with_flu() -> None:
    snapshots = [snapshot(AT_T1), snapshot(AT_T2)]
    releases = run_series(MInvariance(m=2), snapshots)
    assert_sound(releases, snapshots, 2)
    assert releases[0].real.all()
    assert releases[1].values[~releases[1].real].tolist() == [FLU]
    assert [facts.class_count for facts in releases] == [3, 4]


@pytest.mark.parametrize("case", PERSISTING)
@pytest.mark.parametrize("publishing", ["generalized", "anatomized"])
def test_generated_histories_are_m_invariant_from_the_files(case: str, publishing: str) -> None:
    for seed in (0, 4, 8, 9):  # every m, with rare values and without
        m = 2 + seed % 3
        strategy = MInvariance(m=m, publishing=publishing, on_ineligible="counterfeit")  # type: ignore[arg-type]
        rng = np.random.default_rng(seed)
        snapshots = generate(
            rng, releases=6, rows=40 + 20 * seed, values=7, turnover=PERSISTING[case], skew=0.1 * (seed % 5)
        )
        assert_sound(run_series(strategy, snapshots, seed), snapshots, m)


def rows(subjects: range, values: list[int], seed: int = 0) -> Coded:
    rng, domains = np.random.default_rng(seed), toy_domains()
    codes = np.stack([rng.integers(d.lo, d.hi + 1, len(values)) for d in domains], axis=1).astype(np.int32)
    return Coded(
        np.array(subjects, dtype=np.int64), np.asfortranarray(codes), np.array(values, dtype=np.int32), domains, 4
    )


def test_bursts_and_empty_months() -> None:
    even = [0, 1, 2, 3] * 5
    burst = rows(range(40, 70), [0] * 24 + [1, 2, 3] * 2)
    snapshots = [rows(range(20), even), burst, rows(range(0), []), rows(range(20), even), burst]
    releases = run_series(MInvariance(m=2, on_ineligible="counterfeit"), snapshots)
    assert_sound(releases, snapshots, 2)
    assert len(releases[2].subjects) == 0
    assert (~releases[1].real).sum() == 18  # 24 rows of one value need 24 partners, 6 are there


def test_a_signature_is_kept_through_absence() -> None:
    here, others = rows(range(8), [0, 1, 2, 3] * 2), rows(range(8, 16), [3, 2, 1, 0] * 2)
    snapshots = [here, others, here]
    releases = run_series(MInvariance(m=3), snapshots)
    assert_sound(releases, snapshots, 3)


def test_counterfeits_stay_themselves_and_retire_when_a_real_row_fits() -> None:
    t1, t2 = snapshot(AT_T1), snapshot(AT_T2)
    greg_2 = Coded(np.array([20]), np.array([[44, 61]], dtype=np.int32), np.array([FLU], dtype=np.int32), DOMAINS, 3)
    t4 = replace(
        t2,
        subjects=np.concatenate([t2.subjects, greg_2.subjects]),
        codes=np.asfortranarray(np.concatenate([t2.codes, greg_2.codes])),
        values=np.concatenate([t2.values, greg_2.values]),
    )
    releases = run_series(MInvariance(m=2), [t1, t2, t2, t4])
    assert_sound(releases, [t1, t2, t2, t4], 2)
    fakes = [facts.subjects[~facts.real].tolist() for facts in releases]
    assert fakes == [[], [-1], [-1], []]


def test_an_ineligible_snapshot_is_refused_with_the_nearest_m() -> None:
    burst = rows(range(10), [0] * 4 + [1] * 3 + [2] * 3)
    with pytest.raises(InfeasiblePolicy, match=r"\{value:0\} is 40.0% of the 10 new rows.*largest feasible m is 2\."):
        run_series(MInvariance(m=3), [burst])
    assert len(run_series(MInvariance(m=2), [burst])) == 1


def test_balancing_may_absorb_what_alone_would_be_ineligible() -> None:
    first = rows(range(8), [0, 0, 0, 0, 1, 1, 1, 1])
    second = rows(range(4, 12), [1, 1, 1, 1, 0, 0, 0, 0])  # the new rows all have value 0
    releases = run_series(MInvariance(m=2), [first, second])
    assert releases[1].real.all()


def test_a_changed_value_and_a_raised_m_are_refused() -> None:
    first, strategy = rows(range(4), [0, 0, 1, 1]), MInvariance(m=2)
    caches = strategy.remember({}, run_series(strategy, [first])[0])
    with pytest.raises(ChangeError, match="1 subjects have a sensitive value that is not in the signature"):
        strategy.publish(rows(range(4), [0, 3, 1, 1]), History([], caches, 1))
    with pytest.raises(InfeasiblePolicy, match="largest feasible m is 2"):
        MInvariance(m=3).publish(first, History([], caches, 1))


def test_the_same_seed_gives_the_same_release() -> None:
    snapshots = generate(np.random.default_rng(4), releases=4, rows=80, values=5, turnover=CHURN)
    strategy: Strategy = MInvariance(m=2, on_ineligible="counterfeit")
    for one, two in zip(run_series(strategy, snapshots, 7), run_series(strategy, snapshots, 7), strict=True):
        assert np.array_equal(one.classes, two.classes)
        assert np.array_equal(one.boxes, two.boxes)
        assert np.array_equal(one.codes, two.codes)


def test_rows_of_a_class_are_near_each_other() -> None:
    """Boxes are far smaller than those of a random grouping with the same signatures."""
    snapshots = generate(np.random.default_rng(5), releases=3, rows=2000, values=4, turnover=CHURN)
    facts = run_series(MInvariance(m=4, on_ineligible="counterfeit"), snapshots)[-1]
    widths = facts.boxes[:, 0, 1] - facts.boxes[:, 0, 0]
    assert widths.mean() < 20  # four random ages of 0..79 span 48 on average


@pytest.mark.parametrize("settings", [{"m": 1}, {"m": 2, "publishing": "x"}, {"m": 2, "on_ineligible": "x"}])
def test_settings_out_of_range_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match=names(settings)):
        MInvariance(**settings)  # type: ignore[arg-type]
