"""BayFrame and JS-reduce: J-similarity on generated histories, checked by code of the test's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

import numpy as np
import pytest

from reissue.model.boxes import contain, widen_to_nodes
from reissue.model.release import Facts, Table
from reissue.model.requirement import Requirement
from tests.methods.beliefs.bayesian import STRATEGIES, Bayesian, histories, run
from tests.support.oracles import class_meets, jsd


def read_stated(strategy: Bayesian, facts: Facts) -> tuple[Requirement, float]:
    k, j, beta, t = np.asarray(facts.extras["kept"], dtype=np.float64).tolist()
    if strategy.leftovers != "relax":
        assert (k, j) == (strategy.k, strategy.J)
    ordered = strategy.ordered
    return Requirement(
        k=int(k), beta=None if np.isnan(beta) else beta, t=None if np.isnan(t) else t, ordered=ordered
    ), j


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: f"{s.name}-{s.leftovers}-{s.steps}")
def test_every_published_class_keeps_k_closeness_and_j(strategy: Bayesian, seed: int) -> None:
    rows_in_classes = 0
    for snapshot, candidate, facts, history, beliefs in run(strategy, histories(seed)):
        requirement, most = read_stated(strategy, facts)
        prior = {int(v): beliefs.prior[i].tolist() for i, v in enumerate(beliefs.people)}
        rows, table = beliefs.rows, facts.values.tolist()
        for c in range(facts.class_count):
            inside = np.flatnonzero(facts.classes == c)
            assert class_meets(requirement, facts.values[inside].tolist(), table, snapshot.value_count)
            assert class_meets(
                requirement, facts.values[inside].tolist(), snapshot.values.tolist(), snapshot.value_count
            )
            people = rows.people[rows.classes == c]
            assert (people >= 0).all()  # counterfeit values stand for somebody
            assert jsd([prior[int(v)] for v in people]) <= most + 1e-9
        assert strategy.check(facts, history) is None
        assert contain(facts.boxes, facts.codes, facts.classes).all()
        assert (widen_to_nodes(facts.boxes, snapshot.domains) == facts.boxes).all()
        shown = snapshot.values[candidate.classes >= 0]
        assert sorted(shown.tolist()) == sorted(facts.values[facts.real].tolist())
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


def test_the_same_seed_gives_the_same_release() -> None:
    strategy = STRATEGIES[0]
    one, other = run(strategy, histories(3)), run(strategy, histories(3))
    for (_, a, *_), (_, b, *_) in zip(one, other, strict=True):
        assert np.array_equal(a.classes, b.classes)
