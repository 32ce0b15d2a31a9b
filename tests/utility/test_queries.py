"""Count queries: the kernels against the plain meaning of the words, and the facts any estimate must obey."""

from __future__ import annotations

import numpy as np
import pytest

from reissue.errors import InputError, SettingsError
from reissue.model.boxes import bounding_boxes
from reissue.model.domain import Domain
from reissue.model.observed import ObservedRelease
from reissue.model.release import Facts
from reissue.utility import Queries, QueryErrors, count_exactly, estimate, query_errors, random_queries
from tests.support.histories import uniform_tree
from tests.utility.support import (
    count_slowly,
    estimate_anatomized_slowly,
    estimate_slowly,
    random_facts,
    random_snapshot,
    small_domains,
)


def one_query(low: list[int], high: list[int], values: tuple[int, int]) -> Queries:
    return Queries(
        np.array([low], dtype=np.int32),
        np.array([high], dtype=np.int32),
        np.array([values[0]], dtype=np.int32),
        np.array([values[1]], dtype=np.int32),
    )


def test_half_of_a_box_holds_half_of_its_rows() -> None:
    domains = (Domain("age", 0, 9), Domain("place", 0, 3, uniform_tree(4)))
    boxes = np.array([[[0, 9], [0, 3]]], dtype=np.int32)
    values = np.array([0, 0, 1, 2], dtype=np.int32)
    release = ObservedRelease(1, boxes, np.zeros(4, dtype=np.int32), values)
    assert estimate(one_query([0, 0], [4, 3], (0, 2)), release, domains)[0] == pytest.approx(2.0)
    assert estimate(one_query([0, 0], [4, 0], (0, 1)), release, domains)[0] == pytest.approx(3 * 0.5 * 0.25)
    assert estimate(one_query([0, 0], [9, 3], (1, 1)), release, domains)[0] == 1.0


def test_a_box_wider_than_the_domain_is_spread_over_the_domain_only() -> None:
    domains = (Domain("age", 0, 9),)
    release = ObservedRelease(1, np.array([[[-100, 1000]]], np.int32), np.zeros(2, np.int32), np.zeros(2, np.int32))
    assert estimate(one_query([0], [4], (0, 0)), release, domains)[0] == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("anatomized", [False, True])
def test_estimates_equal_brute_force(seed: int, anatomized: bool) -> None:
    rng = np.random.default_rng(seed)
    domains = small_domains()
    snapshot = random_snapshot(rng, int(rng.integers(1, 50)), 4, domains)
    facts = random_facts(rng, snapshot, int(rng.integers(1, 7)), anatomized=anatomized, suppress=0.1)
    queries = random_queries(rng, domains, 4, count=8, selectivity=0.2, attributes_per_query=int(rng.integers(0, 4)))
    slowly = estimate_anatomized_slowly if anatomized else estimate_slowly
    assert estimate(queries, facts, domains) == pytest.approx(slowly(queries, facts), abs=1e-9)
    assert count_exactly(queries, snapshot.codes, snapshot.values).tolist() == count_slowly(
        queries, snapshot.codes, snapshot.values
    )


def test_many_rows_over_several_levels_of_the_tree() -> None:
    rng = np.random.default_rng(1)
    domains = small_domains(numeric=400)
    snapshot = random_snapshot(rng, 6_000, 7, domains)
    queries = random_queries(rng, domains, 7, count=40, selectivity=0.1)
    inside = np.ones((40, 6_000), dtype=bool)
    for a in range(3):
        column = snapshot.codes[:, a]
        inside &= (queries.low[:, a, None] <= column) & (column <= queries.high[:, a, None])
    inside &= (queries.value_low[:, None] <= snapshot.values) & (snapshot.values <= queries.value_high[:, None])
    assert count_exactly(queries, snapshot.codes, snapshot.values).tolist() == inside.sum(axis=1).tolist()
    own = np.arange(6_000, dtype=np.int32)
    exact = Facts(
        1, bounding_boxes(snapshot.codes, own, 6_000), snapshot.subjects, own, snapshot.values, snapshot.codes
    )
    errors = query_errors(queries, exact, snapshot)
    assert errors.mean == errors.median == 0.0
    assert errors.empty < 40


@pytest.mark.parametrize("anatomized", [False, True])
def test_many_wide_classes_over_several_chunks(anatomized: bool) -> None:
    rng = np.random.default_rng(5)
    domains, values, count = small_domains(numeric=400), 7, 5_000
    snapshot = random_snapshot(rng, 15_000, values, domains)
    facts = random_facts(rng, snapshot, count, anatomized=anatomized)
    queries = random_queries(rng, domains, values, count=25, selectivity=0.05)
    per_class = np.zeros((count, values))
    np.add.at(per_class, (facts.classes, facts.values), 1)
    expected = []
    for q in range(len(queries)):
        low, high = queries.low[q], queries.high[q]
        asked = per_class[:, queries.value_low[q] : queries.value_high[q] + 1].sum(axis=1)
        if anatomized:
            inside = ((facts.codes >= low) & (facts.codes <= high)).all(axis=1)
            expected.append((asked / per_class.sum(axis=1))[facts.classes[inside]].sum())
        else:
            common = np.minimum(facts.boxes[:, :, 1], high) - np.maximum(facts.boxes[:, :, 0], low) + 1
            length = facts.boxes[:, :, 1] - facts.boxes[:, :, 0] + 1
            expected.append((asked * (np.maximum(common, 0) / length).prod(axis=1)).sum())
    assert estimate(queries, facts, domains) == pytest.approx(expected)


def test_an_anatomized_release_is_exact_where_values_are_not_asked_for_or_classes_have_one() -> None:
    rng = np.random.default_rng(2)
    domains = small_domains()
    snapshot = random_snapshot(rng, 300, 5, domains)
    classes = rng.integers(0, 10, 300).astype(np.int32)
    mixed = Facts(
        1,
        bounding_boxes(snapshot.codes, classes, 10),
        snapshot.subjects,
        classes,
        snapshot.values,
        snapshot.codes,
        True,
    )
    without = random_queries(rng, domains, 5, count=50, selectivity=0.1, sensitive=False)
    assert query_errors(without, mixed, snapshot).mean == pytest.approx(0.0, abs=1e-12)
    asking = random_queries(rng, domains, 5, count=50, selectivity=0.1)
    assert query_errors(asking, mixed, snapshot).mean > 0.05
    by_value = snapshot.values
    one_value = Facts(
        1, bounding_boxes(snapshot.codes, by_value, 5), snapshot.subjects, by_value, by_value, snapshot.codes, True
    )
    assert query_errors(asking, one_value, snapshot).mean == 0.0


def test_anatomized_rows_must_be_known() -> None:
    release = ObservedRelease(
        3, np.zeros((1, 1, 2), np.int32), np.zeros(2, np.int32), np.zeros(2, np.int32), None, True
    )
    with pytest.raises(InputError, match="Release 3 comes without its members"):
        estimate(one_query([0], [0], (0, 0)), release, (Domain("age", 0, 9),))


def test_estimates_of_disjoint_queries_add_up_to_all_rows() -> None:
    rng = np.random.default_rng(3)
    domains = small_domains()
    snapshot = random_snapshot(rng, 200, 4, domains)
    facts = random_facts(rng, snapshot, 12)
    lows = np.array([[age, 0, 0] for age in range(3, 13)], dtype=np.int32)
    highs = lows + np.array([0, 5, 1], dtype=np.int32)
    each = Queries(lows, highs, np.zeros(10, np.int32), np.full(10, 3, np.int32))
    assert estimate(each, facts, domains).sum() == pytest.approx(len(facts.classes))


@pytest.mark.parametrize("selectivity", [0.01, 0.05, 0.2, 0.5])
@pytest.mark.parametrize("attributes", [1, 2, 3])
def test_queries_have_the_selectivity_asked_for_on_evenly_spread_rows(selectivity: float, attributes: int) -> None:
    rng = np.random.default_rng(4)
    domains = (Domain("age", 5, 84), Domain("place", 0, 55, uniform_tree(7, 8)), Domain("sex", 0, 1, uniform_tree(2)))
    queries = random_queries(rng, domains, 50, count=4_000, selectivity=selectivity, attributes_per_query=attributes)
    size = np.array([80, 56, 2])
    width = (queries.high - queries.low + 1) / size
    share = width.prod(axis=1) * (queries.value_high - queries.value_low + 1) / 50
    assert share.mean() == pytest.approx(selectivity, rel=0.06)
    assert (queries.low >= [5, 0, 0]).all()
    assert (queries.high <= [84, 55, 1]).all()
    assert (queries.low <= queries.high).all()
    assert (queries.value_high < 50).all()
    assert ((width < 1).sum(axis=1) <= attributes).all()


def test_queries_repeat_with_their_seed() -> None:
    def make(seed: int) -> Queries:
        return random_queries(np.random.default_rng(seed), small_domains(), 4, count=20, selectivity=0.1)

    assert np.array_equal(make(1).low, make(1).low)
    assert not np.array_equal(make(1).low, make(2).low)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"count": 0}, "count is 0"),
        ({"selectivity": 0.0}, "selectivity is 0.0"),
        ({"selectivity": 1.01}, "selectivity is 1.01"),
        ({"attributes_per_query": 4}, "is 4"),
        ({"attributes_per_query": -1}, "is -1"),
    ],
)
def test_impossible_queries_are_refused(wrong: dict[str, int], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        random_queries(np.random.default_rng(0), small_domains(), 4, **wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "allowed", [{"count": 1}, {"selectivity": 1.0}, {"attributes_per_query": 0}, {"attributes_per_query": 3}]
)
def test_queries_at_the_bounds_are_drawn(allowed: dict[str, int]) -> None:
    rng, domains = np.random.default_rng(0), small_domains()
    drawn = random_queries(rng, domains, 4, **{"count": 5, **allowed})  # type: ignore[arg-type]
    assert len(drawn) == allowed.get("count", 5)
    whole = [(domain.lo, domain.hi) for domain in domains]
    asked = [
        sum((low, high) != all_of for low, high, all_of in zip(*one, whole, strict=True))
        for one in zip(drawn.low.tolist(), drawn.high.tolist(), strict=True)
    ]
    assert max(asked) <= allowed.get("attributes_per_query", 3)


def test_relative_error_is_over_the_queries_that_match_somebody() -> None:
    errors = QueryErrors(np.array([10, 0, 4, 2]), np.array([9.0, 3.0, 4.0, 5.0]))
    assert errors.relative.tolist() == pytest.approx([0.1, 0.0, 1.5])
    assert errors.median == pytest.approx(0.1)
    assert errors.mean == pytest.approx(1.6 / 3)
    assert errors.empty == 1
    assert np.isnan(QueryErrors(np.array([0]), np.array([1.0])).mean)
