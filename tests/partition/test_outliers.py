"""Outliers: rows like fewer than k, found without values; who was published is never one of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest

from reissue.arrays.types import Bool, Int32
from reissue.errors import InfeasiblePolicy, SettingsError
from reissue.model.domain import Domain
from reissue.model.requirement import Requirement
from reissue.partition.incognito import LatticeSearch, apply_levels, best
from reissue.partition.lattice import shape_of
from reissue.partition.outliers import find_outliers, say_left_out, try_leaving_out
from tests.partition.tables import domains, table


def test_they_are_the_small_classes_of_the_cheapest_node_that_leaves_out_no_more_and_nobody_who_stays() -> None:
    """Against every node of the lattice."""
    rng, found, refused = np.random.default_rng(3), 0, 0
    for _ in range(150):
        made, k = domains(rng), int(rng.integers(2, 5))
        codes, values = table(rng, made, int(rng.integers(12, 40)), 3)
        stays, spare = rng.random(len(codes)) < 0.4, int(rng.integers(1, 8))
        outliers = find_outliers(codes, made, k, spare, stays)
        search = LatticeSearch(codes, values, made, Requirement(k=k).limits(np.bincount(values)))
        fine = {}
        for node in product(*(range(size) for size in shape_of(search.ladders))):
            classes = apply_levels(search.ladders, codes, node).classes
            small = (np.bincount(classes) < k)[classes]
            if small.sum() <= spare:
                refused += bool((small & stays).any())
                if not (small & stays).any():
                    fine[node] = small
        assert np.array_equal(outliers, fine[best(search, list(fine))])
        found += bool(outliers.any())
    assert found > 30
    assert refused > 30, "nobody who stays was ever alone: nothing was tested"


def test_counts_stand_for_rows() -> None:
    rng, found = np.random.default_rng(5), 0
    for _ in range(60):
        made = domains(rng)
        codes, _ = table(rng, made, int(rng.integers(10, 25)), 2)
        amounts, stays = rng.integers(1, 4, len(codes)), rng.random(len(codes)) < 0.3
        by_counts = find_outliers(codes, made, 4, 6, stays, amounts)
        rows = np.repeat(np.arange(len(codes)), amounts)
        by_rows = find_outliers(codes[rows], made, 4, 6, stays[rows])
        assert np.array_equal(by_counts[rows], by_rows)
        assert amounts[by_counts].sum() <= 6
        found += bool(by_counts.any())
    assert found > 15


def test_nobody_where_nobody_may_be_left_out() -> None:
    made = (Domain("age", 0, 99),)
    codes, everybody = np.arange(20, dtype=np.int32)[:, None] * 4, np.ones(20, dtype=np.bool_)
    assert not find_outliers(codes, made, 3, 0, ~everybody).any()
    assert not find_outliers(codes, made, 3, 5, everybody).any()
    assert not find_outliers(codes, made, 21, 5, ~everybody).any(), "one class of all is too small, too"


def test_a_lattice_too_large_is_refused_with_the_way_out() -> None:
    rng = np.random.default_rng(20)
    made = tuple(Domain(f"n{i}", 0, 1_000_000) for i in range(8))
    codes, _ = table(rng, made, 50, 2)
    with pytest.raises(SettingsError, match="leave suppress out"):
        find_outliers(codes, made, 2, 5, np.zeros(50, dtype=np.bool_))


@dataclass
class Made:
    boxes: Int32
    lost: float


CODES = np.array([[1], [2], [3], [50], [90]], dtype=np.int32)
TWO = np.array([False, False, False, True, True])
ONE = np.array([False, False, False, False, True])


def boxes(high: int) -> Int32:
    return np.array([[[0, high]]], dtype=np.int32)


NOBODY = np.zeros(5, dtype=np.bool_)


@pytest.mark.parametrize(
    ("results", "left", "asked"),
    [
        ({2: Made(boxes(10), 1.0), 0: Made(boxes(99), 9.0)}, TWO, [2, 0]),
        ({2: Made(boxes(60), 5.0), 1: Made(boxes(60), 4.0), 0: Made(boxes(99), 9.0)}, ONE, [2, 1, 0]),
        ({2: Made(boxes(60), 5.0), 1: Made(boxes(99), 6.0), 0: Made(boxes(99), 9.0)}, TWO, [2, 1, 0]),
        ({2: Made(boxes(60), 5.0), 0: Made(boxes(99), 9.0)}, TWO, [2, 1, 0]),
        ({2: Made(boxes(60), 5.0)}, TWO, [2, 1, 0]),
        ({2: Made(boxes(60), 5.0), 1: Made(boxes(60), 4.0), 0: Made(boxes(99), 4.0)}, NOBODY, [2, 1, 0]),
        ({2: Made(boxes(99), 5.0), 0: Made(boxes(99), 3.0)}, NOBODY, [2, 0]),
        ({0: Made(boxes(99), 9.0)}, NOBODY, [2, 0]),
    ],
    ids=[
        "no class holds them",
        "one is held",
        "taking it back costs more",
        "it cannot come back",
        "nothing else is feasible",
        "it does not pay",
        "all are held",
        "nobody can be spared",
    ],
)
def test_only_who_fits_no_class_is_left_out_in_the_end(results: dict[int, Made], left: Bool, asked: list[int]) -> None:
    calls = []

    def make(out: Bool) -> Made:
        calls.append(int(out.sum()))
        if int(out.sum()) not in results:
            raise InfeasiblePolicy("no")
        return results[int(out.sum())]

    made, absent = try_leaving_out(TWO, CODES, make)
    assert np.array_equal(absent, left)
    assert made is results[int(left.sum())]
    assert calls == asked


def test_what_is_infeasible_in_any_case_is_refused() -> None:
    def make(out: Bool) -> Made:
        raise InfeasiblePolicy(f"{int(out.sum())} left out")

    with pytest.raises(InfeasiblePolicy, match="0 left out"):
        try_leaving_out(TWO, CODES, make)


def test_a_release_tells_how_many() -> None:
    assert say_left_out(0, 5) == ()
    assert "1 row that is like fewer than 5" in say_left_out(1, 5)[0]
    assert "1,200 rows that are like fewer than 5" in say_left_out(1200, 5)[0]
