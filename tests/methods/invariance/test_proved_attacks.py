"""What m-invariance, e-equivalence and Cor-Split are proved to stop, tried on generated histories; and where the proof
does not apply, the same attacks succeed."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import reissue as ri
from reissue.methods.attack import Attack
from reissue.methods.invariance.attack import Association
from reissue.methods.invariance.signatures import STOPPED_BY_EXCHANGE
from reissue.methods.registry import make_attack
from reissue.methods.strategy import Strategy
from reissue.model.release import Facts
from tests.support.histories import PERSISTING, generate, observe, run_series

MS = (2, 3, 5)


def family(m: int) -> list[Strategy]:
    return [
        ri.MInvariance(m=m, on_ineligible="counterfeit"),
        ri.EEquivalence(m=m, e=2, on_ineligible="counterfeit"),
        ri.CorSplit(m=m, n=2, on_ineligible="counterfeit"),
    ]


def proved_attacks(m: int) -> list[Attack]:
    """At the least c and the greatest k for which the proof holds."""
    return [make_attack(name, {"c": 1 / m, "k": float(m), "m": float(m)}) for name in STOPPED_BY_EXCHANGE]


@pytest.mark.parametrize("case", PERSISTING)
def test_nobody_is_at_risk_at_c_of_one_in_m_and_k_of_m(case: str) -> None:
    for seed, m in enumerate(MS):
        snapshots = generate(
            np.random.default_rng(seed), releases=4, rows=70, values=7, turnover=PERSISTING[case], skew=0.3
        )
        for strategy in family(m):
            observed = observe(run_series(strategy, snapshots, seed), snapshots[-1])
            for attack in proved_attacks(m):
                outcome = attack.run(observed)
                assert not outcome.breaches, f"{strategy.name}: {outcome.breaches[0].sentence}"
                assert outcome.unfinished == 0


def exchange_two(facts: Facts, rng: np.random.Generator) -> Facts:
    """Two people of different values stand in each other's class: all is as it was but for two classes' values."""
    real = np.flatnonzero(facts.real)
    one = int(rng.choice(real))
    others = real[(facts.values[real] != facts.values[one]) & (facts.classes[real] != facts.classes[one])]
    two = int(rng.choice(others))
    classes = facts.classes.copy()
    classes[[one, two]] = classes[[two, one]]
    return replace(facts, classes=classes)


def test_two_people_in_each_others_class_are_enough_for_every_one_of_them() -> None:
    """The association attack, which publish runs, sees each such fault; the proved ones succeed on many."""
    broken: Counter[str] = Counter()
    for seed in range(8):
        rng = np.random.default_rng(seed)
        snapshots = generate(rng, releases=3, rows=60, values=7, turnover=PERSISTING["churn"])
        for strategy in family(3):
            releases = run_series(strategy, snapshots, seed)
            observed = observe([*releases[:-1], exchange_two(releases[-1], rng)], snapshots[-1])
            assert Association(m=3, invariant=True).run(observed, involving=3).breaches
            for attack in proved_attacks(3):
                broken[strategy.name, attack.name] += bool(attack.run(observed).breaches)  # type: ignore[index]
    for name in ("m-invariance", "e-equivalence", "cor-split"):
        assert any(broken[name, attack] for attack in STOPPED_BY_EXCHANGE), broken  # type: ignore[index]
    for attack in STOPPED_BY_EXCHANGE:
        assert any(broken[s.name, attack] for s in family(3)), broken  # type: ignore[index]


def test_a_smaller_c_than_one_in_m_is_not_promised() -> None:
    """The bound is sharp: a value has exactly 1/m of what a person's classes share."""
    snapshots = generate(np.random.default_rng(1), releases=3, rows=60, values=3, turnover=PERSISTING["churn"])
    observed = observe(run_series(ri.MInvariance(m=3, on_ineligible="counterfeit"), snapshots, 1), snapshots[-1])
    assert make_attack("intersection", {"c": 0.33}).run(observed).breaches
