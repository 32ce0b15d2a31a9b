"""Posterior beliefs: tables 8 to 11 and example 4 of Amiri et al. (2019), and every closed form against enumeration."""

from __future__ import annotations

from math import factorial
from typing import get_args

import numpy as np
import pytest

from reissue.arrays.types import Float64
from reissue.methods.beliefs.posterior import Estimator, compute_posteriors, find_small
from reissue.methods.beliefs.revision import Claims, Moves, contract, mix_claims, normalize, revise
from tests.methods.beliefs import enumeration
from tests.methods.beliefs.diseases import (
    ALZHEIMER,
    BRONCHITIS,
    CANCER_1,
    CANCER_2,
    DEPRESSION,
    DIABETES_1,
    FLU,
    GERD,
    ULCER,
    table_7,
)

# --- the worked examples ---------------------------------------------------------------------------------------------


def solve(
    prior: Float64,
    rows: list[int],
    estimator: Estimator = "bayes",
    known: enumeration.Known | None = None,
) -> Float64:
    """One class of the rows, its people numbered as the priors."""
    known = known or {}
    claims = Claims(
        np.array([v for v, _ in known], dtype=np.int64),
        np.array([s for _, s in known], dtype=np.int32),
        np.ones(len(known), dtype=np.int32),
        np.array(list(known.values()), dtype=np.float64),
    )
    people = np.arange(len(prior), dtype=np.int64)
    zero, zeros = np.zeros(len(prior), dtype=np.int32), np.zeros(len(rows), dtype=np.int32)
    values = np.array(rows, dtype=np.int32)
    return compute_posteriors(prior, people, zero, zeros, values, estimator=estimator, claims=claims)


def table_8() -> Float64:
    """Alice, Beth, Cayla in QI-group 1; Dior, Elisa, Fiona in QI-group 2: similar QI, so equal priors at t1."""
    prior = np.full((6, 9), 1 / 9)
    classes = np.array([0, 0, 0, 1, 1, 1], dtype=np.int32)
    values = np.array([BRONCHITIS, ALZHEIMER, CANCER_1, ULCER, FLU, DIABETES_1], dtype=np.int32)
    return compute_posteriors(prior, np.arange(6), classes, classes, values, estimator="js-reduce")


def table_9() -> Float64:
    """Cayla, Dior, Elisa."""
    last = table_8()[[2, 3, 4]]
    return revise(last, last, np.zeros(3, dtype=np.bool_), Moves(table_7()))


def test_table_8_equal_priors_leave_the_shares_of_the_class() -> None:
    after = table_8()
    assert np.allclose(after[2, [BRONCHITIS, ALZHEIMER, CANCER_1]], 1 / 3)
    assert np.allclose(after[3, [ULCER, FLU, DIABETES_1]], 1 / 3)
    assert after.sum() == pytest.approx(6)


def test_example_3_revised_prior_of_cayla_and_cancer() -> None:
    # The paper prints 0.199; its own numbers give (0.002 + 0.002 + 0.6) / 3 = 0.2013 (0.33 for 1/3 gives 0.1993).
    posterior = np.where(table_8()[2] > 0, 0.33, 0.0)
    assert (posterior @ table_7())[CANCER_2] == pytest.approx(0.199, abs=5e-4)


def test_table_9_revised_priors_at_t2() -> None:
    found = table_9()[:, [CANCER_2, GERD, DEPRESSION]]
    printed = [[0.74, 0.007, 0.25], [0.003, 0.96, 0.037], [0.003, 0.96, 0.037]]
    assert np.allclose(found, printed, atol=6e-3)


def test_tables_10_and_11_posterior_at_t2() -> None:
    prior = table_9()
    rows = [CANCER_2, GERD, DEPRESSION]
    degrees = enumeration.confidence_degrees(prior.tolist(), rows)
    assert sorted(round(d, 2) for d in degrees) == pytest.approx([0.05, 0.05, 1.21, 1.21, 1.73, 1.73], abs=0.011)
    after = solve(prior, rows)
    assert after[0, CANCER_2] == pytest.approx(3 / 7)
    assert after[0, [GERD, DEPRESSION]] == pytest.approx(2 / 7)
    # Dior and Elisa have the same prior: pm0 and pm1 tie. The paper observes pm0, which gives Dior GERD and Elisa
    # depression 3/7 and the other way round 2/7; nothing tells them apart, so each gets half of the observation.
    assert after[1:][:, [GERD, DEPRESSION]] == pytest.approx((3 / 7 + 2 / 7) / 2)
    assert after[1:, CANCER_2] == pytest.approx(2 / 7)


@pytest.mark.parametrize("estimator", get_args(Estimator))
def test_equal_priors_give_equal_posteriors_and_numbering_decides_nothing(estimator: Estimator) -> None:
    for seed in range(200):
        rng = np.random.default_rng(seed)
        n, values = int(rng.integers(2, 7)), int(rng.integers(2, 5))
        kinds = rng.dirichlet(np.ones(values), 3).round(1) + 0.05  # few kinds of people: ties everywhere
        kind = rng.integers(0, 3, n)
        prior, rows = kinds[kind], rng.integers(0, values, n).tolist()
        after = solve(prior, rows, estimator)
        for a in range(n):
            for b in range(a):
                if kind[a] == kind[b]:
                    assert np.allclose(after[a], after[b], atol=1e-12), seed
        order = rng.permutation(n)
        again = solve(prior[order], [rows[i] for i in rng.permutation(n)], estimator)
        assert np.allclose(again, after[order], atol=1e-12), seed


def test_table_8_holds_for_the_attacker_of_its_own_paper() -> None:
    """With a tie broken by chance the most believed assignment would stand out: 3/7 and 2/7 instead of .33."""
    assert np.allclose(solve(np.full((3, 9), 1 / 9), [BRONCHITIS, ALZHEIMER, CANCER_1])[:, :3], 1 / 3)


EXAMPLE_4 = {(1, GERD): 0.97, (2, CANCER_2): 0.02, (2, GERD): 0.03}  # Dior, Elisa


def test_example_4_weights_and_posterior() -> None:
    prior = table_9()
    rows = [CANCER_2, GERD, DEPRESSION]
    direct = {(1, GERD): 0.97, (2, DEPRESSION): 0.95}
    weights = enumeration.dirichlet(prior.tolist(), rows, direct)
    # pm0..pm5 of table 11 in the order of permutations: (C,G,D) (C,D,G) (G,C,D) (G,D,C) (D,C,G) (D,G,C)
    assert weights == pytest.approx([2.92, 1.0, 1.95, 1.0, 1.0, 1.97])
    expected = np.array([2.92 + 1, 1.0, 1.95, 1.0, 1.0, 1.97]) / 10.84
    assert expected[[0, 2, 5, 1]] == pytest.approx([0.36, 0.17, 0.18, 0.09], abs=0.01)
    by_hand = enumeration.shares([2.92 + 0.5, 1.0 + 0.5, 1.95, 1.0, 1.0, 1.97], rows, 9)  # pm0 and pm1 tie
    for known in (direct, EXAMPLE_4):  # what the adversary knows, and what she infers from it
        assert np.allclose(solve(prior, rows, known=known), by_hand)


# --- closed forms against enumeration --------------------------------------------------------------------------------


def cases(number: int, most: int) -> list[tuple[Float64, list[int], np.random.Generator]]:
    """Random classes of up to `most` rows with repeated values and priors without ties."""
    made = []
    for seed in range(number):
        rng = np.random.default_rng(seed)
        n, values = int(rng.integers(1, most + 1)), int(rng.integers(1, 6))
        prior = rng.dirichlet(np.full(values, rng.choice([0.2, 1.0, 5.0])), n)
        made.append((prior, rng.integers(0, values, n).tolist(), rng))
    return made


def best_of(prior: Float64, rows: list[int]) -> int:
    return int(np.argmax(enumeration.confidence_degrees(prior.tolist(), rows)))


@pytest.mark.parametrize(("most", "number"), [(5, 400), (6, 60), (7, 12)])
def test_bayes_equals_enumeration_with_claims(most: int, number: int) -> None:
    for prior, rows, rng in cases(number, most):
        known: dict[tuple[int, int], float] = {}
        for person in range(len(rows)):
            if rng.random() < 0.4:
                value = int(rng.integers(0, prior.shape[1]))
                prior_of = prior[person, value]
                known[person, value] = float(prior_of + (1 - prior_of) * rng.uniform(0.01, 0.99))  # above it
        slow = enumeration.bayes(prior.tolist(), rows, known, best_of(prior, rows))
        assert np.allclose(solve(prior, rows, known=known), slow, atol=1e-12), (prior, rows, known)


@pytest.mark.parametrize(("most", "number"), [(5, 400), (6, 60), (7, 12)])
def test_js_reduce_equals_enumeration(most: int, number: int) -> None:
    for prior, rows, _ in cases(number, most):
        assert np.allclose(solve(prior, rows, "js-reduce"), enumeration.js_reduce(prior.tolist(), rows), atol=1e-12)


@pytest.mark.parametrize(("most", "number"), [(5, 400), (6, 60), (7, 12)])
def test_exact_weighs_assignments_by_the_product_of_priors(most: int, number: int) -> None:
    for prior, rows, _ in cases(number, most):
        assert np.allclose(solve(prior, rows, "exact"), enumeration.exact(prior.tolist(), rows), atol=1e-12)


def test_exact_gives_the_shares_of_a_class_that_the_priors_exclude() -> None:
    prior = np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.4, 0.3, 0.3]])
    assert np.allclose(solve(prior, [0, 1, 2], "exact"), 1 / 3)


def test_exact_is_surer_of_the_truth_than_omega() -> None:
    """People have the values that their priors say: who reasons best believes most in the truth, on average."""
    rng = np.random.default_rng(4)
    believed: dict[str, list[float]] = {"exact": [], "omega": [], "js-reduce": [], "bayes": []}
    for _ in range(600):
        n = int(rng.integers(3, 9))
        prior = rng.dirichlet(np.full(5, 0.3), n)
        rows = [int(rng.choice(5, p=own)) for own in prior]
        for estimator in get_args(Estimator):
            believed[estimator] += solve(prior, rows, estimator)[range(n), rows].tolist()
    mean = {name: float(np.mean(beliefs)) for name, beliefs in believed.items()}
    assert mean["exact"] > mean["omega"] + 0.02 > mean["js-reduce"]


def test_a_class_too_large_for_exact_posteriors_is_read_nearly() -> None:
    rng = np.random.default_rng(7)
    classes, values = np.repeat([0, 1], [12, 40]).astype(np.int32), np.tile(np.arange(13, dtype=np.int32), 4)
    assert find_small(classes, values, 2).tolist() == [True, False]
    prior = rng.dirichlet(np.ones(4), 60)
    rows = rng.integers(0, 4, 60).tolist()  # 16 ** 4 states: just small enough
    near = compute_posteriors(
        np.concatenate([prior, np.zeros((60, 9))], axis=1), np.arange(60), *[np.zeros(60, dtype=np.int32)] * 2,
        np.array(rows, dtype=np.int32), estimator="exact",
    )  # fmt: skip
    assert np.allclose(near.sum(axis=1), 1.0)


def test_certain_knowledge_takes_the_subject_and_one_row_out() -> None:
    for prior, rows, rng in cases(300, 6):
        if len(rows) < 2:
            continue
        order = rng.permutation(len(rows)).tolist()
        sure = {(order[i], rows[order[i]]): 1.0 for i in range(int(rng.integers(1, len(rows))))}
        people = [v for v in range(len(rows)) if (v, rows[v]) not in sure]
        rest = [rows[v] for v in people]
        after = solve(prior, rows, known=sure)
        slow = enumeration.bayes(prior[people].tolist(), rest, {}, best_of(prior[people], rest))
        assert np.allclose(after[people], slow, atol=1e-12)
        for person, value in sure:
            assert after[person, value] == 1.0
            assert after[person].sum() == 1.0


def test_a_certain_claim_that_the_class_contradicts_is_ignored() -> None:
    prior = np.full((3, 4), 0.25)
    assert np.allclose(solve(prior, [0, 1, 2], "js-reduce", {(0, 3): 1.0}), solve(prior, [0, 1, 2], "js-reduce"))


def test_a_claim_below_the_prior_speaks_for_the_other_values() -> None:
    prior = np.array([[0.6, 0.3, 0.1], [0.3, 0.3, 0.4], [0.2, 0.4, 0.4]])
    implied = {(0, 1): 0.45, (0, 2): 0.45}  # 1 - 0.1 in equal parts
    found, expected = solve(prior, [0, 1, 2], known={(0, 0): 0.1}), solve(prior, [0, 1, 2], known=implied)
    assert np.allclose(found, expected)
    assert not np.allclose(found, solve(prior, [0, 1, 2]))
    equal = {(0, 0): 0.6}  # as believed before: no knowledge
    assert np.allclose(solve(prior, [0, 1, 2], known=equal), solve(prior, [0, 1, 2]))


def test_omega_follows_its_definition() -> None:
    for prior, rows, _ in cases(200, 7):
        after = solve(prior, rows, "omega")
        for person in range(len(rows)):
            raw = [rows.count(s) * prior[person, s] / prior[:, s].sum() for s in range(prior.shape[1])]
            assert np.allclose(after[person], np.array(raw) / sum(raw))


@pytest.mark.parametrize("estimator", get_args(Estimator))
def test_large_classes_neither_overflow_nor_lose_probability(estimator: Estimator) -> None:
    rng = np.random.default_rng(1)
    for n in (19, 20, 21, 22, 23, 170, 171, 172, 10_000):
        prior = rng.dirichlet(np.ones(14), n)
        rows = rng.integers(0, 14, n).tolist()
        known = {(int(v), rows[v]): 0.9 for v in rng.choice(n, n // 10, replace=False)}
        after = solve(prior, rows, estimator, known if estimator == "bayes" else None)
        assert np.isfinite(after).all()
        assert (after >= 0).all()
        assert np.allclose(after.sum(axis=1), 1.0)


def test_the_form_for_large_classes_continues_the_exact_one() -> None:
    """Where the most believed assignment stops to count, it has stopped to matter."""
    rng = np.random.default_rng(2)
    for n in (20, 21, 22):
        prior = rng.dirichlet(np.ones(5), n)
        rows = rng.integers(0, 5, n).tolist()
        after = solve(prior, rows)
        shares = np.bincount(rows, minlength=5) / n
        assert np.allclose(after, shares, atol=2.0 / factorial(n - 1) + 1e-15)


@pytest.mark.parametrize("estimator", get_args(Estimator))
def test_several_classes_and_counterfeits(estimator: Estimator) -> None:
    """Each class by itself; a row that stands for nobody is a person of whom nothing is known."""
    rng = np.random.default_rng(3)
    for _ in range(50):
        n, fakes = int(rng.integers(2, 5)), int(rng.integers(0, 3))
        prior = rng.dirichlet(np.ones(4), 2 * n)
        values = rng.integers(0, 4, 2 * (n + fakes)).astype(np.int32)
        classes = np.repeat([1, 0], n).astype(np.int32)
        row_classes = np.repeat([1, 0], n + fakes).astype(np.int32)
        after = compute_posteriors(prior, np.arange(2 * n), classes, row_classes, values, estimator=estimator)
        assert np.allclose(after.sum(axis=1), 1.0)
        padded = np.concatenate([prior[:n], np.full((fakes, 4), 0.25)])
        rows = values[: n + fakes].tolist()
        if estimator == "js-reduce":
            assert np.allclose(after[:n], np.array(enumeration.js_reduce(padded.tolist(), rows))[:n])
        elif estimator == "exact":
            assert np.allclose(after[:n], np.array(enumeration.exact(padded.tolist(), rows))[:n])
        elif estimator == "bayes" and fakes == 0:
            assert np.allclose(after[:n], enumeration.bayes(padded.tolist(), rows, {}, best_of(padded, rows)))


# --- priors ----------------------------------------------------------------------------------------------------------


def test_prior_cascading_is_the_law_of_total_probability() -> None:
    claims = Claims(np.array([7, 7]), np.array([0, 2], np.int32), np.array([1, 1], np.int32), np.array([0.5, 0.2]))
    prior = np.array([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])
    found = mix_claims(prior, *claims.about(np.array([9, 7])))
    assert np.allclose(found, [[0.2, 0.3, 0.5], [0.5 + 0.3 * 0.1, 0.3 * 0.1, 0.2 + 0.3 * 0.8]])


def test_two_steps_start_from_the_observation_before_the_last() -> None:
    rng = np.random.default_rng(5)
    one, second = rng.dirichlet(np.ones(3), 3), rng.dirichlet(np.ones(3), (3, 3))
    last, before = rng.dirichlet(np.ones(3), 2), rng.dirichlet(np.ones(3), 2)
    cells = (column.ravel().astype(np.int32) for column in np.indices((3, 3, 3)))
    found = revise(last, before, np.array([True, False]), Moves(one, contract(one, *cells, second.ravel())))  # type: ignore[call-arg]
    slow = [
        sum(before[0, a] * one[a, b] * second[a, b, c] for a in range(3) for b in range(3)) for c in range(3)
    ]  # equations 3 and 4 with d = 2
    assert np.allclose(found[0], slow)
    assert np.allclose(found[1], last[1] @ one)


def test_a_class_that_says_nothing_lets_the_prior_converge_as_the_matrix_says() -> None:
    """A subject unchanged over releases, whose classes repeat the prior, goes to the stationary distribution."""
    moves = np.array([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.3, 0.6]])
    prior = np.array([[1.0, 0.0, 0.0]])
    for step in range(1, 60):
        prior = revise(prior, prior, np.zeros(1, dtype=np.bool_), Moves(moves))
        assert np.allclose(prior[0], np.linalg.matrix_power(moves, step)[0])
    values, vectors = np.linalg.eig(moves.T)
    stationary = np.real(vectors[:, np.argmax(np.real(values))])
    assert np.allclose(prior[0], stationary / stationary.sum(), atol=1e-9)
    assert np.allclose(normalize(np.zeros((1, 4))), 0.25)
