"""A multiset of values is dealt to members as enumerating all dealings says."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reissue.arrays.permanent import MOST_STATES, Deals, deal_exactly
from reissue.arrays.types import Float64, Int64


def deal_class(priors: Float64, counts: Int64, most: int = MOST_STATES) -> Float64 | None:
    """float64[members, values]: how likely each member is to get each value; None if the class is too large.

    priors: float64[members, values] >= 0, in any scale; counts: int64[values], in all at least one for each member. All
    zero where no dealing is possible. O(values * product of (counts + 1)).
    """
    dealt = np.flatnonzero(counts)
    deals = Deals(np.array([0, len(priors)]), np.array([0, len(dealt)]), counts[dealt].astype(np.int64))
    if not deals.small(most).all():
        return None
    flat, _ = deal_exactly(np.ascontiguousarray(priors[:, dealt], dtype=np.float64).reshape(-1), deals, most)
    found = np.zeros(priors.shape)
    found[:, dealt] = flat.reshape(len(priors), len(dealt))
    return found


def enumerated(priors: Float64, counts: Int64) -> Float64:
    """The posteriors by listing every way to deal the rows, members first, rows of nobody last."""
    members = len(priors)
    rows = np.repeat(np.arange(len(counts)), counts)
    found = np.zeros(priors.shape)
    for dealing in set(permutations(rows.tolist())):
        got = np.array(dealing[:members], dtype=np.int64)
        weight = np.prod(priors[np.arange(members), got])
        found[np.arange(members), got] += weight
    total = found.sum(axis=1, keepdims=True)
    return np.divide(found, total, out=np.zeros_like(found), where=total > 0)


@st.composite
def classes(draw: st.DrawFn) -> tuple[Float64, Int64]:
    counts = np.array(draw(st.lists(st.integers(0, 3), min_size=1, max_size=4)), dtype=np.int64)
    if not 1 <= counts.sum() <= 6:
        counts = np.array([1, 2, 0, 1], dtype=np.int64)
    members = draw(st.integers(1, int(counts.sum())))
    shares = st.sampled_from([0.0, 1e-9, 0.01, 0.2, 0.5, 1.0, 7.0])
    priors = draw(st.lists(shares, min_size=members * len(counts), max_size=members * len(counts)))
    return np.array(priors).reshape(members, len(counts)), counts


@settings(max_examples=150, deadline=None)
@given(classes())
def test_posteriors_are_those_of_enumeration(case: tuple[Float64, Int64]) -> None:
    priors, counts = case
    np.testing.assert_allclose(deal_class(priors, counts), enumerated(priors, counts), atol=1e-9)


@settings(max_examples=50, deadline=None)
@given(st.lists(classes(), min_size=1, max_size=6))
def test_many_classes_are_dealt_as_each_by_itself(cases: list[tuple[Float64, Int64]]) -> None:
    kept = [np.flatnonzero(counts) for _, counts in cases]
    deals = Deals(
        np.append(0, np.cumsum([len(priors) for priors, _ in cases])),
        np.append(0, np.cumsum([len(values) for values in kept])),
        np.concatenate([counts[values] for (_, counts), values in zip(cases, kept, strict=True)]),
    )
    tables = [priors[:, values].reshape(-1) for (priors, _), values in zip(cases, kept, strict=True)]
    found, exact = deal_exactly(np.concatenate(tables), deals)
    assert exact.all()
    for at, (priors, counts) in enumerate(cases):
        own = found[deals.table_start[at] : deals.table_start[at + 1]].reshape(len(priors), -1)
        alone = deal_class(priors, counts)
        assert alone is not None
        np.testing.assert_array_equal(own, alone[:, kept[at]])


def test_the_scale_of_a_members_priors_does_not_matter() -> None:
    random = np.random.default_rng(0)
    priors, counts = random.random((5, 3)), np.array([2, 1, 2])
    np.testing.assert_allclose(deal_class(priors * 1e-200, counts), deal_class(priors, counts))


def test_dealings_that_are_all_very_unlikely_are_still_told_apart() -> None:
    """Everybody seems to have the first value; only one has. The product of the others' priors is 1e-320 and less."""
    priors = np.array([[1.0, 1e-160], [1.0, 2e-160], [1.0, 1e-160]])
    found = deal_class(priors, np.array([1, 2]))
    assert found is not None
    np.testing.assert_allclose(found[:, 0], [0.4, 0.2, 0.4])


def test_a_class_with_too_many_states_is_said_to_be_too_large() -> None:
    priors = np.ones((20, 20))
    assert deal_class(priors, np.ones(20, dtype=np.int64)) is None
    assert deal_class(priors, np.ones(20, dtype=np.int64), most=1 << 20) is not None
    deals = Deals(np.array([0, 2, 22]), np.array([0, 2, 22]), np.ones(22, dtype=np.int64))
    found, exact = deal_exactly(np.ones(404), deals)
    assert exact.tolist() == [True, False]
    assert found[:4].tolist() == [0.5] * 4
    assert not found[4:].any()


@pytest.mark.parametrize("counts", [[4, 0], [1, 3]])
def test_nobody_gets_anything_where_no_dealing_is_possible(counts: list[int]) -> None:
    priors = np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
    found = deal_class(priors, np.array(counts))
    assert found is not None
    assert not found.any()


def test_rows_of_nobody_take_what_is_left() -> None:
    """Three rows, two members: the third row is of nobody, who may have any value alike."""
    priors = np.array([[0.5, 0.5], [0.5, 0.5]])
    found = deal_class(priors, np.array([2, 1]))
    assert found is not None
    np.testing.assert_allclose(found, [[2 / 3, 1 / 3], [2 / 3, 1 / 3]])
