"""Rows that fit no class of BayFrame: suppressed, relaxed or counterfeited as asked, and reported."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from reissue.methods.beliefs import classes as making
from reissue.methods.beliefs.bay_frame import BayFrame
from reissue.methods.beliefs.cycle import BeliefState
from reissue.methods.beliefs.growing import join
from reissue.methods.beliefs.knowledge import Knowledge, ReadKnowledge
from reissue.methods.beliefs.revision import Claims
from reissue.model.domain import Domain
from reissue.model.release import Coded, History
from tests.methods.beliefs.bayesian import histories, run


@pytest.mark.parametrize(
    ("closeness", "least", "most"),
    [({"beta": 2.0, "J": 0.7}, 1, 1), ({"t": 0.02, "J": 0.02}, 2, making.PATIENCE // 40_000 + 8)],
)
def test_suppressed_rare_values_are_settled_in_few_rounds(
    closeness: dict[str, float], least: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Suppression makes a rare value rarer, and classes at the limit of t fail: they must not fall one by one."""
    rng, rows = np.random.default_rng(5), 40_000
    values = rng.choice(6, rows, p=[0.4, 0.3, 0.2, 0.09, 0.009, 0.001]).astype(np.int32)
    domains = (Domain("age", 0, 99), Domain("town", 0, 49))
    codes = np.asfortranarray(np.stack([rng.integers(0, 100, rows), rng.integers(0, 50, rows)], axis=1), dtype=np.int32)
    snapshot = Coded(np.arange(rows), codes, values, domains, 6)
    rounds = []
    monkeypatch.setattr(making, "join", lambda *given: rounds.append(len(given[0])) or join(*given))
    strategy = BayFrame(k=10, **closeness)
    facts = strategy.publish(snapshot, History([], {}, 1)).facts(1, snapshot)
    assert least <= len(rounds) <= most
    assert len(facts.subjects) > 0.97 * rows
    assert strategy.check(facts, History([], {}, 1)) is None


def odd_one_out() -> tuple[Coded, ReadKnowledge]:
    """Twelve people of one kind of belief, one of another: nobody can share a class with the last."""
    snapshot = histories(4, rows=13, values=3)[0]
    values = np.array([0, 1, 2] * 4 + [2], dtype=np.int32)
    order = np.argsort(snapshot.subjects)
    snapshot = Coded(snapshot.subjects[order], snapshot.codes[order], values, snapshot.domains, 3)
    claims = Claims(snapshot.subjects[-1:], np.array([2], np.int32), np.array([1], np.int32), np.array([0.99]))
    one = np.full((3, 3), 1 / 3)
    boxes = np.full((1, 3, 2), 1_000, dtype=np.int32)
    boxes[:, :, 0] = -1_000
    return snapshot, ReadKnowledge(boxes=boxes, shares=np.array([[0.5, 0.49, 0.01]]), one=one, claims=claims)


@pytest.mark.parametrize("leftovers", ["suppress", "relax", "counterfeit"])
def test_leftovers_are_settled_as_asked_and_reported(leftovers: str) -> None:
    snapshot, given = odd_one_out()
    strategy = BayFrame(k=3, J=0.05, beta=1.5, leftovers=leftovers).inform(given)  # type: ignore[arg-type]
    history = History([], {}, 1)
    candidate = strategy.publish(snapshot, history)
    facts = candidate.facts(1, snapshot)
    assert strategy.check(facts, history) is None
    text = " ".join(candidate.steps)
    if leftovers == "relax":
        assert (candidate.classes >= 0).all()
        assert "RELAXED" in text
        assert float(np.asarray(facts.extras["kept"], dtype=np.float64)[1]) > 0.05
    else:  # counterfeiting a value does not help against a belief that differs
        assert candidate.classes[-1] == -1
        assert (candidate.classes[:-1] >= 0).all()
        assert "1 rows fitted no class and are suppressed" in text


def test_a_value_is_counterfeited_where_only_the_value_is_in_the_way() -> None:
    snapshot = histories(4, rows=25, values=3)[0]
    values = np.array([0, 1] * 12 + [2], dtype=np.int32)  # one single 2: small classes with it are far from the table
    snapshot = Coded(snapshot.subjects, snapshot.codes, values, snapshot.domains, 3)
    fakes = 0
    for k, closeness in product((2, 3), (0.1, 0.15, 0.2, 0.3)):
        uniform = Knowledge(values="uniform")
        strategy = BayFrame(k=k, J=1.0, t=closeness, leftovers="counterfeit", knowledge=uniform)
        candidate = strategy.publish(snapshot, History([], {}, 1))
        facts = candidate.facts(1, snapshot)
        fakes += len(candidate.counterfeits)
        behind = candidate.extras["behind"]
        assert len(behind) == len(candidate.counterfeits)
        assert (candidate.classes[np.isin(snapshot.subjects, behind)] == -1).all()
        beliefs = BeliefState.read(strategy.remember({}, facts))
        assert np.isin(behind, beliefs.people).all()  # an attacker believes something of them too
        assert strategy.check(facts, History([], {}, 1)) is None
    assert fakes > 0


def test_counterfeits_happen_and_stand_for_people() -> None:
    strategy = BayFrame(k=8, J=0.12, beta=1.2, leftovers="counterfeit")
    fakes = 0
    for snapshot, candidate, _, _, beliefs in run(strategy, histories(6, rows=400, values=8)):
        fakes += len(candidate.counterfeits)
        behind = np.asarray(candidate.extras["behind"], dtype=np.int64)
        assert np.isin(behind, snapshot.subjects).all()
        assert np.isin(behind, beliefs.people).all()
        assert (candidate.counterfeits.subjects < 0).all()
    assert fakes > 0
