"""Static: each release holds by itself; the series does not."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from reissue.errors import InfeasiblePolicy, SettingsError
from reissue.methods.baselines.static import Static
from reissue.methods.strategy import Strategy
from reissue.model.release import Coded, History
from reissue.model.requirement import Requirement
from reissue.model.requirement_check import violations
from tests.methods.invariance.patients import (
    VALUES,
    assert_holds,
    intersection_exposes,
    patients,
    publish_all,
)
from tests.support.histories import CHURN, EVERYTHING, INSERTS, Turnover, generate, run_series
from tests.support.refusals import names

FIGURE_2 = np.array([0, 0, 1, 1], dtype=np.int32)

FIGURE_4 = np.array([0, 0, 1, 2, 0, 1, 2], dtype=np.int32)

STRATEGIES = [
    Static(k=5),
    Static(k=4, c=0.5),
    Static(k=4, c=0.5, algorithm="incognito"),
    Static(k=3, l=3),
    Static(k=3, l=2.5, diversity="entropy"),
    Static(k=3, l=2, diversity="recursive", recursive_c=3.0, algorithm="incognito"),
    Static(k=5, t=0.35),
    Static(k=5, t=0.25, ordered=True),
    Static(k=2, beta=2.0),
    Static(k=2, beta=4.0, likeness="enhanced", algorithm="incognito"),
]


@pytest.mark.parametrize("turnover", [INSERTS, CHURN, EVERYTHING], ids=["inserts", "churn", "everything"])
@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: s.requirement.sentence() + " " + s.algorithm)
def test_every_release_meets_the_policy(strategy: Static, turnover: Turnover) -> None:
    snapshots = generate(np.random.default_rng(1), releases=3, rows=400, values=6, turnover=turnover, skew=0.5)
    for candidate, snapshot in zip(publish_all(strategy, snapshots), snapshots, strict=True):
        assert_holds(candidate, snapshot, strategy.requirement)
        assert (candidate.classes >= 0).all()
        assert len(candidate.boxes) > 1


def test_the_steps_say_what_was_done_and_warn_from_the_second_release_on() -> None:
    snapshots = generate(np.random.default_rng(2), releases=2, rows=300, values=6)
    first, second = publish_all(Static(k=10, c=0.5), snapshots)
    sizes = np.bincount(first.classes)
    assert first.steps == (
        f"Grouped 300 rows into {len(sizes)} classes of {sizes.min()} to {sizes.max()} rows "
        "by median cuts (Mondrian), k = 10, c = 0.5.",
    )
    assert "Earlier releases were not looked at" in second.steps[1]


def test_the_attack_it_does_not_stop_succeeds() -> None:
    """Static is the weak baseline: members' classes laid side by side expose values above c."""
    snapshots = generate(np.random.default_rng(3), releases=3, rows=400, values=8)
    releases = run_series(Static(k=4, c=0.5), snapshots)
    assert all(violations(Requirement(k=4, c=0.5), r.classes, r.values, 8) == () for r in releases)
    assert intersection_exposes(releases[:1], 0.5) == 0
    assert intersection_exposes(releases, 0.5) > 20
    assert Static.stops == ()


def test_figures_1_to_4_hold_one_by_one_and_give_bob_and_alice_away_together() -> None:
    requirement = Requirement(k=2, c=0.5)
    first, second = patients(4), patients(7)
    assert violations(requirement, FIGURE_2, first.values, len(VALUES)) == ()
    assert violations(requirement, FIGURE_4, second.values, len(VALUES)) == ()
    bob = Counter(first.values[FIGURE_2 == 1].tolist()) & Counter(second.values[FIGURE_4 == 1].tolist())
    assert bob == Counter({VALUES["Alzheimer"]: 1})
    alice = Counter(second.values[FIGURE_4 == 0].tolist()) - Counter(first.values[FIGURE_2 == 0].tolist())
    assert alice == Counter({VALUES["Cancer"]: 1})


@pytest.mark.parametrize("algorithm", ["mondrian", "incognito"])
def test_the_patients_of_figure_3(algorithm: str) -> None:
    strategy = Static(k=2, c=0.5, algorithm=algorithm)  # type: ignore[arg-type]
    for snapshot in (patients(4), patients(7)):
        (candidate,) = publish_all(strategy, [snapshot])
        assert_holds(candidate, snapshot, Requirement(k=2, c=0.5))
        assert len(candidate.boxes) >= 2


def test_figure_1_is_cut_at_the_median_age() -> None:
    (candidate,) = publish_all(Static(k=2, c=0.5), [patients(4)])
    assert candidate.classes.tolist() == FIGURE_2.tolist()
    assert candidate.boxes.tolist() == [[[21, 23], [0, 0]], [[52, 57], [0, 1]]]


def test_what_cannot_hold_is_refused_with_the_nearest_that_can() -> None:
    history = History([], {}, 0)
    with pytest.raises(InfeasiblePolicy, match=r"k = 8 cannot hold: there are only 7 rows\. Lower k to 7"):
        Static(k=8).publish(patients(7), history)
    with pytest.raises(InfeasiblePolicy, match=r"\{value:1\} is 28.6% of the 7 rows \(2 of them\).* c is 0.2858"):
        Static(k=2, c=0.25).publish(patients(7), history)
    Static(k=2, c=0.2858).publish(patients(7), history)


def test_same_snapshot_same_release_in_any_order_of_rows() -> None:
    rng = np.random.default_rng(4)
    (snapshot,) = generate(rng, releases=1, rows=500, values=5)
    order = rng.permutation(len(snapshot))
    shuffled = Coded(
        snapshot.subjects[order], snapshot.codes[order], snapshot.values[order], snapshot.domains, snapshot.value_count
    )
    for strategy in STRATEGIES:
        one = strategy.publish(snapshot, History([], {}, 1)).facts(1, snapshot)
        two = strategy.publish(shuffled, History([], {}, 2)).facts(1, shuffled)
        assert np.array_equal(one.boxes, two.boxes)
        assert np.array_equal(one.classes, two.classes)


@pytest.mark.parametrize(
    "settings",
    [{"k": 0}, {"k": 3, "c": 2}, {"k": 3, "algorithm": "datafly"}, {"k": 2, "t": 7}, {"k": 2, "suppress": 0.02}],
)
def test_bad_settings_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match=names(settings)):
        Static(**settings)  # type: ignore[arg-type]


def test_rows_like_few_others_are_left_out_whatever_their_values() -> None:
    (snapshot,) = generate(np.random.default_rng(1), releases=1, rows=400, values=6, turnover=CHURN)
    plain = Static(k=5, algorithm="incognito").publish(snapshot, History([], {}, 1))
    strategy = Static(k=5, algorithm="incognito", suppress=0.15)
    other = replace(snapshot, values=np.random.default_rng(2).permutation(snapshot.values))
    made, again = (strategy.publish(one, History([], {}, 1)) for one in (snapshot, other))
    out = int((made.classes < 0).sum())
    assert 0 < out <= 60
    assert np.array_equal(made.classes, again.classes)
    assert np.bincount(made.classes[made.classes >= 0]).min() >= 5
    assert len(made.boxes) > len(plain.boxes)
    assert f"{out} rows that are like fewer than 5 are left out" in made.steps[0]


def test_thresholds_are_what_was_asked_for() -> None:
    assert Static(k=3, c=0.5, l=2).thresholds() == {"k": 3, "c": 0.5, "l": 2}
    assert Static(k=3, beta=1.5).thresholds() == {"k": 3, "c": 1.0, "beta": 1.5}
    assert isinstance(Static(k=3), Strategy)
