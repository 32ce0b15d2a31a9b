"""BayFrame and JS-reduce: J-similarity on generated histories, checked by code of the test's own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, replace

import numpy as np
import pytest

from reissue.errors import InfeasiblePolicy
from reissue.methods.beliefs import classes as making
from reissue.methods.beliefs.bay_frame import BayFrame
from reissue.methods.beliefs.promise_check import measure_divergences
from reissue.model.boxes import contain, widen_to_nodes
from reissue.model.release import Facts, Table
from tests.methods.beliefs.bayesian import STRATEGIES, Bayesian, histories, run
from tests.support.oracles import class_meets, jsd


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: f"{s.name}-{s.k}-{s.steps}")
def test_every_published_class_keeps_k_closeness_and_j(strategy: Bayesian, seed: int) -> None:
    rows_in_classes = 0
    for snapshot, candidate, facts, history, beliefs in run(strategy, histories(seed)):
        requirement, most = strategy.promise.requirement, strategy.J
        prior = {int(v): beliefs.prior[i].tolist() for i, v in enumerate(beliefs.people)}
        rows, table = beliefs.rows, facts.values.tolist()
        for c in range(facts.class_count):
            inside = np.flatnonzero(facts.classes == c)
            shown = replace(requirement, beta=None)  # beta-likeness is to the snapshot alone (definition 7)
            assert class_meets(shown, facts.values[inside].tolist(), table, snapshot.value_count)
            assert class_meets(
                requirement, facts.values[inside].tolist(), snapshot.values.tolist(), snapshot.value_count
            )
            people = rows.people[rows.classes == c]
            assert (people >= 0).all()  # counterfeit values stand for somebody
            assert jsd([prior[int(v)] for v in people]) <= most + 1e-9
        assert strategy.check(facts, history) is None
        assert contain(facts.boxes, facts.codes, facts.classes).all()
        assert (widen_to_nodes(facts.boxes, snapshot.domains) == facts.boxes).all()
        absent = snapshot.values[candidate.classes < 0].tolist()
        if absent:
            assert class_meets(requirement, absent, snapshot.values.tolist(), snapshot.value_count), "who is left out"
        shown = snapshot.values[candidate.classes >= 0]
        assert sorted(shown.tolist()) == sorted(facts.values[facts.real].tolist())  # type: ignore[attr-defined]
        rows_in_classes += len(facts.subjects)
    assert rows_in_classes > 0.8 * sum(len(s) for s in histories(seed))


@pytest.mark.parametrize("strategy", STRATEGIES[:2] + STRATEGIES[-2:-1], ids=lambda s: s.name)
def test_the_check_is_not_blind(strategy: Bayesian) -> None:
    """Two classes merged are too far apart, one split is too small: the check says so."""
    _, _, facts, history, _ = run(strategy, histories(1))[3]
    first = np.flatnonzero(facts.classes == 0)
    small = facts.classes.copy()
    small[first[: strategy.k - 1]] = facts.class_count
    boxes = np.concatenate([facts.boxes, facts.boxes[:1]])
    split = Facts(facts.number, boxes, facts.subjects, small, facts.values, facts.codes, extras=facts.extras)
    assert strategy.check(split, history) is not None
    tight = type(strategy)(**{**asdict(strategy), "J": 0.001, "knowledge": strategy.knowledge})
    said = tight.check(facts, history)
    assert said is not None
    assert "bits apart" in said


def test_the_fold_can_be_repeated() -> None:
    for strategy in STRATEGIES:
        made = run(strategy, histories(2))
        caches: Mapping[str, Table] = {}
        for _, _, facts, history, _ in made:
            for name, table in history.caches.items():
                for column, array in table.items():
                    assert np.array_equal(array, caches[name][column])
            caches = strategy.remember(caches, facts)


@pytest.mark.parametrize("seed", [3, 4, 5])
def test_suppressed_rows_do_not_undo_other_classes(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A class is as like the snapshot as it was; comparing it with what is left of it would cascade (to 42% here)."""
    monkeypatch.setattr(making, "leave_out_more", lambda classes, *given: classes)  # others are left out on purpose
    strategy = BayFrame(k=3, J=0.02, beta=3.0, estimator="omega")
    for snapshot, _, facts, _, _ in run(strategy, histories(seed, skew=1.0)):
        assert len(facts.subjects) > 0.92 * len(snapshot)


@pytest.mark.parametrize("strategy", STRATEGIES[:2], ids=lambda s: s.name)
def test_the_check_measures_everybody_of_every_class(strategy: Bayesian) -> None:
    """By the definition, with what publishing remembers of each: the first person of all among them."""
    for _, _, facts, history, beliefs in run(strategy, histories(2, rows=120)):
        prior = {int(v): beliefs.prior[i].tolist() for i, v in enumerate(beliefs.people)}
        people, classes = beliefs.rows.people.tolist(), beliefs.rows.classes.tolist()
        members = [
            [prior[v] for v, own in zip(people, classes, strict=True) if own == c] for c in range(facts.class_count)
        ]
        apart = measure_divergences(facts, history, strategy.reasoning, strategy.knowledge.smoothing)
        assert apart == pytest.approx([jsd(one) for one in members], abs=1e-9)
        assert len(history.releases) or 0 in people


def test_the_check_refuses_a_snapshot_that_cannot_be() -> None:
    """beta is measured against counts that the release keeps: they must cover what is published."""
    strategy = BayFrame(k=3, J=0.5, beta=3.0)
    _, _, facts, history, _ = run(strategy, histories(1))[0]
    table = np.asarray(facts.extras["table"], dtype=np.int64)
    fewer = replace(facts, extras={**facts.extras, "table": table - 1})
    assert "than the snapshot is said to have" in (strategy.check(fewer, history) or "")
    rare = replace(facts, extras={**facts.extras, "table": table + np.array([10_000, 0, 0, 0, 0])})
    assert "beta" in (strategy.check(rare, history) or "")


def test_a_release_that_would_suppress_too_much_is_refused_with_the_nearest_policy_that_does_not() -> None:
    strict = BayFrame(k=8, J=0.001, beta=0.3, estimator="omega", most_suppressed=0.02)
    with pytest.raises(InfeasiblePolicy, match="nearest conditions") as refused:
        run(strict, histories(0, skew=1.0))
    said = str(refused.value)
    named = re.search(r"conditions that do are k = (\d+), beta = ([\d.]+), J = ([\d.]+), with", said)
    assert named is not None, said
    assert "at most 2% may be suppressed" in said
    k, beta, most = int(named[1]), float(named[2]), float(named[3])
    assert (k, beta > 0.3, most > 0.001) == (8, True, True)
    free = replace(strict, most_suppressed=1.0)
    snapshot, _, _, history, _ = run(free, histories(0, skew=1.0)[:2])[1]  # the release that was refused
    made = replace(free, beta=1.01 * beta, J=1.01 * most).publish(snapshot, history)
    assert (made.classes < 0).mean() <= 0.02


def test_the_same_seed_gives_the_same_release() -> None:
    strategy = STRATEGIES[0]
    one, other = run(strategy, histories(3)), run(strategy, histories(3))
    for (_, a, *_), (_, b, *_) in zip(one, other, strict=True):
        assert np.array_equal(a.classes, b.classes)
