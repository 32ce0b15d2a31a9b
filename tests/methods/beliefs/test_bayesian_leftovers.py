"""Rows that fit no class of BayFrame are left out among others, so that absence reveals nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from reissue.errors import InfeasiblePolicy
from reissue.methods.beliefs import classes as making
from reissue.methods.beliefs.bay_frame import BayFrame
from reissue.methods.beliefs.joining import join
from reissue.methods.beliefs.knowledge import Knowledge, ReadKnowledge
from reissue.methods.beliefs.revision import Claims
from reissue.model.domain import Domain
from reissue.model.release import Coded, History
from reissue.model.requirement import Requirement, classes_meet
from tests.methods.beliefs.bayesian import histories


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
    unfit = count_unfit(monkeypatch)
    strategy = BayFrame(k=10, **closeness, most_suppressed=1.0)
    facts = strategy.publish(snapshot, History([], {}, 1)).facts(1, snapshot)
    assert least <= len(rounds) <= most
    assert unfit[0] < 0.03 * rows
    assert strategy.check(facts, History([], {}, 1)) is None


def count_unfit(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list that gets how many rows fitted no class, before others are left out beside them."""
    found: list[int] = []
    mix = making.leave_out_more
    monkeypatch.setattr(
        making, "leave_out_more", lambda classes, *given: found.append(int((classes < 0).sum())) or mix(classes, *given)
    )
    return found


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


def test_whoever_fits_no_class_is_left_out_among_others() -> None:
    snapshot, given = odd_one_out()
    history = History([], {}, 1)
    strategy = BayFrame(k=3, J=0.05, beta=1.5, most_suppressed=0.6).inform(given)
    candidate = strategy.publish(snapshot, history)
    assert candidate.classes[-1] == -1
    absent = candidate.classes < 0
    assert absent.sum() >= 3, "as many as a class needs"
    assert len(np.unique(snapshot.values[absent])) > 1, "or absence would reveal the value"
    assert f"{absent.sum()} rows are suppressed" in " ".join(candidate.steps)
    assert strategy.check(candidate.facts(1, snapshot), history) is None
    with pytest.raises(InfeasiblePolicy, match="among whom their absence reveals nothing"):
        BayFrame(k=3, J=0.05, beta=1.5, most_suppressed=0.1).inform(given).publish(snapshot, history)


def test_a_diagnosis_that_fits_nowhere_is_not_told_by_absence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixty people of one diagnosis were suppressed, and nobody else: whoever was missing had it."""
    rng, rows = np.random.default_rng(3), 3_000
    values = rng.choice(4, rows, p=[0.4, 0.3, 0.28, 0.02]).astype(np.int32)
    codes = rng.integers(0, 100, (rows, 1)).astype(np.int32)
    codes[values == 3] = 50  # of one age: no class near them has room for so many
    snapshot = Coded(np.arange(rows), np.asfortranarray(codes), values, (Domain("age", 0, 99),), 4)
    strategy = BayFrame(k=10, J=5.0, beta=1.0, most_suppressed=1.0, knowledge=Knowledge(values="uniform"))
    history = History([], {}, 1)
    unfit = count_unfit(monkeypatch)
    candidate = strategy.publish(snapshot, history)
    absent = values[candidate.classes < 0]
    assert 0 < unfit[0] < len(absent) < rows
    table = np.bincount(values, minlength=4) / rows
    share = np.bincount(absent, minlength=4) / len(absent)
    assert (share <= (1 + 1.0) * table + 1e-9).all(), "beta holds for those left out as for a class"


def test_the_check_sees_an_absence_that_tells() -> None:
    snapshot, given = odd_one_out()
    strategy, history = BayFrame(k=3, J=0.05, beta=1.5, most_suppressed=0.6).inform(given), History([], {}, 1)
    candidate = strategy.publish(snapshot, history)
    fitting = [*range(12)]
    alone = replace(
        candidate,
        classes=np.array([0 if row in fitting else -1 for row in range(13)], dtype=np.int32),
        boxes=np.stack([snapshot.codes[:12].min(axis=0), snapshot.codes[:12].max(axis=0)], axis=1)[None].astype(
            np.int32
        ),
    )
    reason = strategy.check(alone.facts(1, snapshot), history)
    assert reason is not None
    assert "the 1 people left out" in reason


@pytest.mark.parametrize("seed", range(20))
def test_more_are_left_out_by_the_seed_alone_and_no_more_than_needed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = np.concatenate([np.full(6, 3), rng.integers(0, 3, 60)]).astype(np.int32)
    classes = np.concatenate([np.full(6, -1), rng.permutation(np.repeat(np.arange(12), 5))]).astype(np.int32)
    limits = Requirement(k=3, t=0.3).limits(np.bincount(values, minlength=4).astype(np.int64))
    mixed = making.leave_out_more(classes, values, limits, seed)
    more = np.unique(classes[(mixed < 0) & (classes >= 0)])
    order = np.random.default_rng([seed, 15]).permutation(12)
    assert set(more) == set(np.flatnonzero(order < len(more))), "whole classes, in the order of the seed"
    met = classes_meet(limits, np.where(mixed < 0, 0, -1).astype(np.int32), values, 1)[0]
    assert met or len(more) == 12
    assert len(more) > 0


def skewed_town(seed: int) -> tuple[Coded, BayFrame]:
    """People of two attributes, values of any shares, and a policy so close that many fit no class."""
    rng = np.random.default_rng(seed)
    rows, kinds = int(rng.integers(100, 800)), int(rng.integers(3, 7))
    values = rng.choice(kinds, rows, p=rng.dirichlet(np.ones(kinds))).astype(np.int32)
    codes = np.asfortranarray(np.stack([rng.integers(0, 100, rows), rng.integers(0, 50, rows)], axis=1), dtype=np.int32)
    snapshot = Coded(np.arange(rows), codes, values, (Domain("age", 0, 99), Domain("town", 0, 49)), kinds)
    k, J = int(rng.integers(2, 10)), float(rng.choice([0.005, 0.01, 0.02, 0.05]))
    return snapshot, BayFrame(k=k, J=J, t=float(rng.choice([0.02, 0.03, 0.05, 0.1, 0.2])), most_suppressed=1.0)


@pytest.mark.parametrize("seed", [66, 499])
def test_whose_class_is_undone_after_others_were_left_out_may_still_join_one(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot, strategy = skewed_town(seed)
    tried, drawn = np.zeros(len(snapshot), dtype=np.bool_), np.zeros(len(snapshot), dtype=np.bool_)
    mix, mixed = making.leave_out_more, []

    def note_join(left: np.ndarray, *given: object) -> None:
        tried[left] = True
        join(left, *given)

    def note_mix(classes: np.ndarray, *given: object) -> np.ndarray:
        assert (tried | drawn)[classes < 0].all(), "suppressed without having tried all classes"
        kept = mix(classes, *given)
        drawn[(classes >= 0) & (kept < 0)] = True
        tried[kept >= 0] = False
        mixed.append((kept < 0).sum())
        return kept

    monkeypatch.setattr(making, "join", note_join)
    monkeypatch.setattr(making, "leave_out_more", note_mix)
    strategy.publish(snapshot, History([], {}, seed))
    assert len(mixed) > 1


def test_where_nobody_would_be_left_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "leave_out_more", lambda classes, *_: np.full_like(classes, -1))
    snapshot, given = odd_one_out()
    strategy = BayFrame(k=3, J=0.05, beta=1.5, most_suppressed=1.0).inform(given)
    with pytest.raises(InfeasiblePolicy, match=r"13 of 13 rows \(100%\) would be left out") as told:
        strategy.publish(snapshot, History([], {}, 1))
    assert str(told.value).endswith("and somebody must be left. No looser J, beta or t helps: lower k.")
