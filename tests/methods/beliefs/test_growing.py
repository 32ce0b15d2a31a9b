"""Growing classes along an order, and letting leftovers join, against slow forms."""

from __future__ import annotations

import numpy as np
import pytest

from reissue.arrays.types import Float64, Int32
from reissue.methods.beliefs import growing, joining
from reissue.methods.beliefs.growing import BeliefRows, grow
from reissue.methods.beliefs.joining import join
from reissue.model.requirement import Requirement
from reissue.model.requirement_kernels import meets
from tests.support.oracles import class_meets, jsd


def attach_people(values: Int32, prior: Float64) -> BeliefRows:
    entropy = -(prior * np.log2(np.where(prior > 0, prior, 1.0))).sum(axis=1)
    return BeliefRows(values, prior, entropy)


def case(seed: int) -> tuple[Int32, Float64, Requirement, float, np.random.Generator]:
    rng = np.random.default_rng(seed)
    rows, width = int(rng.integers(10, 120)), int(rng.integers(2, 6))
    prior = rng.dirichlet(np.full(width, rng.choice([0.3, 1.0, 10.0])), rows)
    values = rng.integers(0, width, rows).astype(np.int32)
    k = int(rng.integers(1, 6))
    requirement = [Requirement(k=k, beta=float(rng.uniform(0.5, 4))), Requirement(k=k, t=float(rng.uniform(0.2, 0.8)))]
    return values, prior, requirement[seed % 2], float(rng.uniform(0.05, 0.9)), rng


def good(rows: list[int], values: Int32, prior: Float64, requirement: Requirement, most: float) -> bool:
    inside = [int(values[i]) for i in rows]
    alike = jsd([prior[i].tolist() for i in rows]) <= most + 1e-9
    return alike and class_meets(requirement, inside, values.tolist(), prior.shape[1])


@pytest.mark.parametrize("seed", range(300))
def test_every_class_is_good_and_is_good_with_its_last_row_only(seed: int) -> None:
    values, prior, requirement, most, rng = case(seed)
    limits = requirement.limits(np.bincount(values, minlength=prior.shape[1]).astype(np.int64))
    order = rng.permutation(len(values)).astype(np.int64)
    classes = grow(order, attach_people(values, prior), limits, most, 16, 64)
    made = int(classes.max()) + 1
    for c in range(made):
        rows = [int(i) for i in order if classes[i] == c]
        assert good(rows, values, prior, requirement, most)
        assert not good(rows[:-1], values, prior, requirement, most) if len(rows) > 1 else True


@pytest.mark.parametrize("seed", range(100))
def test_without_limits_of_its_own_it_is_the_published_algorithm(seed: int) -> None:
    """With room to grow as far as needed, classes are consecutive in the order until the published rule gets stuck."""
    values, prior, requirement, most, rng = case(seed)
    limits = requirement.limits(np.bincount(values, minlength=prior.shape[1]).astype(np.int64))
    order = rng.permutation(len(values)).astype(np.int64)
    classes = grow(order, attach_people(values, prior), limits, most, len(values), len(values))
    expected, group = [], []
    for row in order.tolist():
        group.append(row)
        if good(group, values, prior, requirement, most):
            expected.append(group)
            group = []
    for number, rows in enumerate(expected):
        assert sorted(np.flatnonzero(classes == number).tolist()) == sorted(rows)


@pytest.mark.parametrize("seed", range(20))
def test_stretches_of_a_long_line_are_grown_by_themselves(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    values, prior, requirement, most, rng = case(seed)
    limits = requirement.limits(np.bincount(values, minlength=prior.shape[1]).astype(np.int64))
    rows, order = attach_people(values, prior), rng.permutation(len(values)).astype(np.int64)
    parts = [grow(order[i : i + 25], rows, limits, most, 16, 64) for i in range(0, len(order), 25)]
    monkeypatch.setattr(growing, "STRETCH", 25)
    classes, before = grow(order, rows, limits, most, 16, 64), 0
    for i, part in enumerate(parts):
        inside = order[25 * i : 25 * i + 25]
        assert (classes[inside] == np.where(part[inside] >= 0, part[inside] + before, -1)).all()
        before += int(part.max()) + 1


@pytest.mark.parametrize("seed", range(150))
def test_leftovers_join_only_classes_that_stay_good(seed: int) -> None:
    values, prior, requirement, most, rng = case(seed)
    width = prior.shape[1]
    limits = requirement.limits(np.bincount(values, minlength=width).astype(np.int64))
    rows = attach_people(values, prior)
    order = rng.permutation(len(values)).astype(np.int64)
    before = grow(order, rows, limits, most, 8, 8)
    classes, number = before.copy(), int(before.max()) + 1
    points = rng.random((len(values), 2))
    left = np.flatnonzero(before < 0)
    join(left, np.arange(len(left), dtype=np.int32), classes, number, rows, points, limits, most)
    assert (classes[before >= 0] == before[before >= 0]).all()
    for c in range(number):
        inside = np.flatnonzero(classes == c).tolist()
        shown = [int(values[i]) for i in inside]
        assert class_meets(requirement, shown, values.tolist(), width)
        assert jsd([prior[i].tolist() for i in inside]) <= most + 1e-9
    middles = [points[before == c].mean(axis=0) for c in range(number)]
    expected = before.copy()
    for row in left.tolist():  # one after the other, each into the nearest that takes it
        for c in sorted(range(number), key=lambda c: float(((points[row] - middles[c]) ** 2).sum())):
            if good([*np.flatnonzero(expected == c).tolist(), row], values, prior, requirement, most):
                expected[row] = c
                break
    assert classes.tolist() == expected.tolist()


@pytest.mark.parametrize("seed", range(200))
def test_bounds_of_the_divergence_never_rule_out_what_is_near_enough(seed: int) -> None:
    _, prior, _, _, rng = case(seed)
    size = int(rng.integers(1, len(prior) - 1))
    before, after = (jsd(prior[:n].tolist()) for n in (size, size + 1))
    for most in (after, after * 0.999 + 1e-7, after * 1.001):
        far = joining._is_too_far(size * before, prior[:size].sum(axis=0), prior, size, size, most)
        assert not far or after > most
    for most in rng.uniform(0.01, 1.0, 5):
        if before > most:
            wait = growing._wait_for_more(before, size, most, len(prior))
            sooner = range(size + 1, min(size + wait, len(prior) + 1))
            assert all(jsd(prior[:n].tolist()) > most for n in sooner), "rows that come can only be as near as that"


@pytest.mark.parametrize("seed", range(12))
def test_rows_at_one_point_join_as_if_each_walked_by_itself(seed: int) -> None:
    """Many small classes and few points, so that walks are shared and go on where the first classes refuse."""
    rng = np.random.default_rng(seed)
    size, width = 900, 4
    prior = rng.dirichlet(np.full(width, 0.4), 30)[rng.integers(0, 30, size)]
    values = rng.integers(0, width, size).astype(np.int32)
    limits = Requirement(k=2, t=0.6).limits(np.bincount(values, minlength=width).astype(np.int64))
    rows, points = attach_people(values, prior), rng.integers(0, 5, (size, 2)).astype(np.float64)
    before = np.where(np.arange(size) < 600, np.arange(size) // 3, -1).astype(np.int32)
    left = np.flatnonzero(before < 0)
    places = (points[left, 0] * 5 + points[left, 1]).astype(np.int32)
    shared, alone = before.copy(), before.copy()
    join(left, places, shared, 200, rows, points, limits, 0.3)
    join(left, np.arange(len(left), dtype=np.int32), alone, 200, rows, points, limits, 0.3)
    assert shared.tolist() == alone.tolist()
    far = [int(np.flatnonzero(np.argsort(away, kind="stable") == c)[0]) for c, away in _walks(shared, before, points)]
    assert max(far) > joining.FEW, "some rows must try more classes than are found at first, or it proves nothing"


def _walks(classes: Int32, before: Int32, points: Float64) -> list[tuple[int, Float64]]:
    """The class that each row joined, and how far the middles of all were from it."""
    middles = np.array([points[before == c].mean(axis=0) for c in range(int(before.max()) + 1)])
    joined = np.flatnonzero((before < 0) & (classes >= 0))
    return [(int(classes[row]), ((points[row] - middles) ** 2).sum(axis=1)) for row in joined]


@pytest.mark.parametrize("seed", range(60))
def test_a_class_waits_only_for_rows_that_it_cannot_do_without(seed: int) -> None:
    """All ways to choose rows from those that are left: none meets t with fewer rows of rarer values than asked for."""
    rng = np.random.default_rng(seed)
    limits = Requirement(k=2, t=float(rng.uniform(0.1, 0.6))).limits(rng.integers(1, 20, 3).astype(np.int64))
    counts, ahead = rng.integers(0, 7, 3) + np.eye(3, dtype=np.int64)[seed % 3], rng.integers(0, 6, 3)
    present, frequent = np.flatnonzero(counts).astype(np.int32), np.zeros(3, dtype=np.bool_)
    size, left = int(counts.sum()), int(ahead.sum())
    needed = growing._wait_for_others(counts, present, len(present), size, limits, ahead, frequent, left)
    for more in np.ndindex(*(ahead + 1)):
        later = counts + np.array(more)
        there = np.flatnonzero(later).astype(np.int32)
        if meets(later, there, len(there), int(later.sum()), limits):
            assert np.array(more)[~frequent].sum() >= needed


def test_a_class_waits_for_rows_of_rarer_values_at_all() -> None:
    """Nine tenths of a class have a value that half of the table has: by 0.4 too far, of which t allows 0.2."""
    limits = Requirement(k=2, t=0.2).limits(np.array([50, 50], dtype=np.int64))
    counts, present, frequent = np.array([18, 2]), np.array([0, 1], dtype=np.int32), np.zeros(2, dtype=np.bool_)
    for rarer, expected in ((9, 5), (4, 14)):
        ahead = np.array([13 - rarer, rarer])
        assert growing._wait_for_others(counts, present, 2, 20, limits, ahead, frequent, 13) == expected
    assert frequent.tolist() == [True, False]
