"""BayFrame and JS-reduce: J-similarity on generated histories, checked by code of the test's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

import numpy as np
import pytest
from pydantic import TypeAdapter

from reissue.beliefs import making
from reissue.beliefs.claims import Claims
from reissue.beliefs.cycle import Applied, Beliefs
from reissue.beliefs.knowledge import Given, Knowledge
from reissue.core.boxes import contain, snap
from reissue.core.domain import Domain
from reissue.core.growing import join
from reissue.core.requirements import Requirement
from reissue.core.snapshot import Candidate, Coded, Facts, History, Table
from reissue.errors import InfeasiblePolicy, SettingsError
from reissue.strategies.bay_frame import BayFrame
from reissue.strategies.js_reduce import JSReduce
from tests.core.test_growing import jsd
from tests.support.histories import EVERYTHING, generate
from tests.support.oracles import class_meets

Bayesian = BayFrame | JSReduce

STRATEGIES: list[Bayesian] = [
    BayFrame(k=3, J=0.5, beta=3.0),
    BayFrame(k=4, J=0.3, t=0.4, steps=2, order="hilbert"),
    BayFrame(k=2, J=0.2, beta=2.0, estimator="omega", leftovers="counterfeit"),
    BayFrame(k=5, J=0.25, beta=2.0, estimator="js-reduce", leftovers="relax"),
    BayFrame(k=3, J=0.6, beta=5.0, cascading="posterior"),
    JSReduce(k=3, t=0.4, J=0.4),
    JSReduce(k=5, t=0.3, J=0.5, steps=2, leftovers="counterfeit"),
]


def run(strategy: Bayesian, snapshots: list[Coded]) -> list[tuple[Coded, Candidate, Facts, History, Beliefs]]:
    made = []
    releases: list[Facts] = []
    caches: Mapping[str, Table] = {}
    for number, snapshot in enumerate(snapshots, start=1):
        history = History(list(releases), caches, 17 * number)
        candidate = strategy.publish(snapshot, history)
        facts = candidate.facts(number, snapshot)
        caches = strategy.remember(caches, facts)
        releases.append(facts)
        made.append((snapshot, candidate, facts, history, Beliefs.read(caches)))
    return made


def histories(seed: int, rows: int = 300, values: int = 5, skew: float = 0.4) -> list[Coded]:
    rng = np.random.default_rng(seed)
    return generate(rng, releases=5, rows=rows, values=values, turnover=EVERYTHING, skew=skew)


def stated(strategy: Bayesian, facts: Facts) -> tuple[Requirement, float]:
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
        requirement, most = stated(strategy, facts)
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
        assert (snap(facts.boxes, snapshot.domains) == facts.boxes).all()
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


def test_suppressed_rare_values_are_settled_in_few_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Suppression makes a rare value rarer, and classes at the limit fail: they must not fall one after the other."""
    rng, rows = np.random.default_rng(5), 40_000
    values = rng.choice(6, rows, p=[0.4, 0.3, 0.2, 0.09, 0.009, 0.001]).astype(np.int32)
    domains = (Domain("age", 0, 99), Domain("town", 0, 49))
    codes = np.asfortranarray(np.stack([rng.integers(0, 100, rows), rng.integers(0, 50, rows)], axis=1), dtype=np.int32)
    snapshot = Coded(np.arange(rows), codes, values, domains, 6)
    rounds = []
    monkeypatch.setattr(making, "join", lambda *given: rounds.append(len(given[0])) or join(*given))
    strategy = BayFrame(k=10, J=0.7, beta=2.0)
    facts = strategy.publish(snapshot, History([], {}, 1)).facts(1, snapshot)
    assert 1 < len(rounds) <= making.PATIENCE // rows + 8
    assert len(facts.subjects) > 0.97 * rows
    assert strategy.check(facts, History([], {}, 1)) is None


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


# --- leftovers -------------------------------------------------------------------------------------------------------


def odd_one_out() -> tuple[Coded, Given]:
    """Twelve people of one kind of belief, one of another: nobody can share a class with the last."""
    snapshot = histories(4, rows=13, values=3)[0]
    values = np.array([0, 1, 2] * 4 + [2], dtype=np.int32)
    order = np.argsort(snapshot.subjects)
    snapshot = Coded(snapshot.subjects[order], snapshot.codes[order], values, snapshot.domains, 3)
    claims = Claims(snapshot.subjects[-1:], np.array([2], np.int32), np.array([1], np.int32), np.array([0.99]))
    one = np.full((3, 3), 1 / 3)
    boxes = np.full((1, 3, 2), 1_000, dtype=np.int32)
    boxes[:, :, 0] = -1_000
    return snapshot, Given(boxes=boxes, shares=np.array([[0.5, 0.49, 0.01]]), one=one, claims=claims)


@pytest.mark.parametrize("leftovers", ["suppress", "relax", "counterfeit"])
def test_leftovers_are_settled_as_asked_and_reported(leftovers: str) -> None:
    snapshot, given = odd_one_out()
    strategy = BayFrame(k=3, J=0.05, beta=1.5, leftovers=leftovers).informed(given)  # type: ignore[arg-type]
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
    snapshot = histories(4, rows=13, values=3)[0]
    values = np.array([0, 1] * 6 + [2], dtype=np.int32)  # one single 2: any class with it is far from the table
    snapshot = Coded(snapshot.subjects, snapshot.codes, values, snapshot.domains, 3)
    strategy = BayFrame(k=3, J=1.0, t=0.2, leftovers="counterfeit", knowledge=Knowledge(values="uniform"))
    candidate = strategy.publish(snapshot, History([], {}, 1))
    facts = candidate.facts(1, snapshot)
    fakes = candidate.counterfeits
    if len(fakes):
        behind = candidate.extras["behind"]
        assert (candidate.classes[np.isin(snapshot.subjects, behind)] == -1).all()
        beliefs = Beliefs.read(strategy.remember({}, facts))
        assert np.isin(behind, beliefs.people).all()  # an attacker believes something of them too
    assert strategy.check(facts, History([], {}, 1)) is None


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


# --- knowledge -------------------------------------------------------------------------------------------------------


def test_compromised_people_known_before_enter_the_priors() -> None:
    snapshots = histories(7)
    subject, value = snapshots[0].subjects[:1], snapshots[0].values[:1]
    claims = Claims(subject, value, np.array([1], np.int32), np.array([0.9]))
    known = BayFrame(k=3, J=0.5, beta=3.0).informed(Given(claims=claims))
    *_, beliefs = run(known, snapshots[:1])[0]
    *_, without = run(BayFrame(k=3, J=0.5, beta=3.0), snapshots[:1])[0]
    at = int(np.searchsorted(beliefs.people, subject[0])) if subject[0] in beliefs.people else -1
    if at >= 0:
        other = without.prior[np.searchsorted(without.people, subject[0])]
        assert beliefs.prior[at, value[0]] == pytest.approx(0.9 + 0.1 * other[value[0]])


def test_compromised_people_known_after_enter_the_posterior_of_the_release_before() -> None:
    snapshots = histories(8)
    claims = Claims(
        snapshots[0].subjects,
        snapshots[0].values,
        np.ones(len(snapshots[0]), np.int32),
        np.full(len(snapshots[0]), 0.9),
    )
    one = np.eye(5)
    strategy = BayFrame(k=3, J=3.0, beta=9.0, cascading="posterior")
    with_claims = run(strategy.informed(Given(one=one, claims=claims)), snapshots[:2])
    without = run(strategy.informed(Given(one=one)), snapshots[:2])
    assert np.array_equal(with_claims[0][1].classes, without[0][1].classes)
    applied = Applied.read(with_claims[1][2].extras)
    assert applied is not None
    assert set(applied.claims.releases.tolist()) == {1}
    stayed = np.intersect1d(with_claims[1][2].subjects, with_claims[0][2].subjects)

    def truth(made: list[tuple[Coded, Candidate, Facts, History, Beliefs]]) -> float:
        beliefs, first = made[1][4], made[0][2]
        at = np.searchsorted(beliefs.people, stayed)
        values = first.values[np.searchsorted(first.subjects, stayed)]
        return float(beliefs.prior[at, values].mean())

    assert truth(with_claims) > truth(without) + 0.02


def test_files_must_be_read_before_publishing() -> None:
    strategy = BayFrame(k=3, J=0.5, beta=3.0, knowledge=Knowledge(transitions="moves.csv"))
    with pytest.raises(SettingsError, match=r"moves\.csv has not been read"):
        strategy.publish(histories(1)[0], History([], {}, 1))


# --- settings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", STRATEGIES, ids=str)
def test_settings_survive_a_policy_file(strategy: Bayesian) -> None:
    assert TypeAdapter(type(strategy)).validate_python(asdict(strategy)) == strategy
    prepared = strategy.informed(Given())
    assert asdict(prepared) == asdict(strategy)
    assert prepared == strategy


@pytest.mark.parametrize(
    "wrong",
    [
        {"k": 0},
        {"J": -0.1},
        {"J": float("inf")},
        {"beta": None},
        {"beta": -1.0},
        {"steps": 3},
        {"estimator": "guess"},
        {"cascading": "both"},
        {"leftovers": "hide"},
        {"order": "random"},
        {"cascading": "posterior", "estimator": "omega"},
    ],
    ids=str,
)
def test_settings_out_of_range_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(SettingsError):
        BayFrame(**{"k": 3, "J": 0.5, "beta": 3.0, **wrong})  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [{"t": 2.0}, {"J": -1.0}, {"steps": 0}, {"leftovers": "x"}, {"k": 0}], ids=str)
def test_settings_of_js_reduce_out_of_range_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(SettingsError):
        JSReduce(**{"k": 3, "t": 0.5, "J": 0.5, **wrong})  # type: ignore[arg-type]


def test_too_few_rows_and_impossible_j_are_refused_with_what_works() -> None:
    few = histories(9, rows=2)[0]
    with pytest.raises(InfeasiblePolicy, match="k = 3"):
        BayFrame(k=3, J=0.5, beta=3.0).publish(few, History([], {}, 1))
    snapshot = histories(9, rows=30)[0]
    claims = Claims(snapshot.subjects, snapshot.values, np.ones(len(snapshot), np.int32), np.full(len(snapshot), 0.999))
    strategy = BayFrame(k=8, J=0.0, beta=1.0).informed(Given(claims=claims))
    with pytest.raises(InfeasiblePolicy, match="divergence of beliefs is"):
        strategy.publish(snapshot, History([], {}, 1))


def test_compromised_records_about_strangers_are_told() -> None:
    strategy = BayFrame(k=3, J=0.5, beta=3.0).informed(Given(unmatched=2))
    candidate = strategy.publish(histories(1)[0], History([], {}, 1))
    assert any(
        "2 compromised records are about people whom the series does not know" in step for step in candidate.steps
    )
