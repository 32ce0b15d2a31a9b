"""Columns that follow only from several others together are found, and nothing else is."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from reissue.model.dependences import MOST_SETS, Dependence, find_dependences

OWN = 2


def table(seed: int, rows: int = 500, columns: int = 7) -> np.ndarray:
    """int32[rows, columns] that have nothing to do with each other: 3 to 12 values each, some more frequent."""
    rng = np.random.default_rng(seed)
    kinds = [int(rng.integers(3, 13)) for _ in range(columns)]
    return np.stack([rng.integers(kind, size=rows) * rng.integers(kind, size=rows) % kind for kind in kinds], axis=1)


def find(codes: np.ndarray, first: int = OWN) -> set[tuple[int, ...]]:
    found = find_dependences(codes.astype(np.int32), first, np.random.default_rng(5))
    return {one.columns for one in found}


@pytest.mark.parametrize("seed", range(30))
def test_nothing_is_found_where_columns_do_not_hang_together(seed: int) -> None:
    assert find(table(seed)) == set()
    assert find(table(seed, rows=60, columns=12)) == set()
    assert find(table(seed, rows=20_000, columns=5)) == set()


@pytest.mark.parametrize("seed", range(10))
def test_a_column_that_follows_from_two_or_three_is_found_also_with_a_few_exceptions(seed: int) -> None:
    codes, rng = table(seed, rows=2_000), np.random.default_rng(seed)
    price = rng.permutation(13 * 13)[codes[:, 2] * 13 + codes[:, 3]] % 9
    tariff = rng.permutation(13**3)[(codes[:, 0] * 13 + codes[:, 1]) * 13 + codes[:, 4]] % 5
    wrong = rng.random(len(codes)) < 0.004
    price[wrong] = rng.integers(9, size=int(wrong.sum()))
    found = find(np.column_stack([codes, price, tariff]))
    assert {(2, 3, 7), (0, 1, 4, 8)} <= found
    assert all(7 in columns or 8 in columns for columns in found)


def test_what_follows_from_a_single_column_is_none_of_them() -> None:
    """Pairs of columns are looked after without being found."""
    codes = table(1, rows=3_000)
    assert find(np.column_stack([codes, codes[:, 3] % 2, codes[:, 4] // 2])) == set()


def test_what_follows_only_most_of_the_time_is_none() -> None:
    codes, rng = table(2, rows=3_000), np.random.default_rng(2)
    price = (codes[:, 2] * 5 + codes[:, 3]) % 9
    wrong = rng.random(len(codes)) < 0.1
    price[wrong] = rng.integers(9, size=int(wrong.sum()))
    assert find(np.column_stack([codes, price])) == set()


def test_columns_of_the_rows_themselves_are_not_asked_about_each_other() -> None:
    """What counterfeits show of their own is drawn elsewhere; here a lent column takes part."""
    codes = table(3, rows=3_000, columns=4)
    whole = np.column_stack([codes[:, :2], (codes[:, 0] + codes[:, 1]) % 7, codes[:, 2:]])
    assert find(whole, first=3) == set()
    assert find(whole, first=2) == {(0, 1, 2)}


def test_work_is_bounded_and_small_sets_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []
    from reissue.model import dependences

    count = dependences._count_differing
    monkeypatch.setattr(dependences, "_count_differing", lambda codes, one: tried.append(one) or count(codes, one))
    find(table(4, rows=300, columns=20))
    assert len(tried) <= 20 + MOST_SETS
    assert {one for one in tried if len(one) == 2} == set(combinations(range(20), 2))
    tried.clear()
    find(table(4, rows=300, columns=40))
    assert len(tried) <= 40 + MOST_SETS


def test_the_same_table_and_seed_find_the_same() -> None:
    codes = table(5, rows=30_000)
    codes = np.column_stack([codes, (codes[:, 2] * 3 + codes[:, 3]) % 8])
    assert find(codes) == find(codes) != set()


def test_a_contradiction_says_what_nobody_says_of_whom_somebody_says_the_causes() -> None:
    people = np.array([[0, 0, 5], [0, 1, 6], [1, 0, 7]], dtype=np.int32)
    said = np.array([[0, 0, 5], [0, 0, 6], [1, 1, 9], [1, 0, 7]], dtype=np.int32)
    assert Dependence((0, 1), 2).find_contradictions(people, said).tolist() == [False, True, False, False]
