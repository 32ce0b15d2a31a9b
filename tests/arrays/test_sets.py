"""Sets of numbers against Python's own, and looking up in them."""

from __future__ import annotations

import numpy as np
import pytest

from reissue.arrays.sets import difference, intersection, lookup, lookup_present, sorted_unique, union


def test_sets_are_those_of_python() -> None:
    for seed in range(300):
        rng = np.random.default_rng(seed)
        far = 10 ** int(rng.integers(1, 15))
        a, b = (rng.integers(-far, far, int(rng.integers(0, 30))) for _ in range(2))
        a = np.concatenate([a, b[: len(b) // 2]])
        one, other = set(a.tolist()), set(b.tolist())
        assert sorted_unique(a).tolist() == sorted(one)
        assert sorted_unique(a.astype(np.int32)).dtype == np.int32
        assert union(a, b, a).tolist() == sorted(one | other)
        assert intersection(sorted_unique(a), sorted_unique(b)).tolist() == sorted(one & other)
        assert difference(sorted_unique(a), sorted_unique(b)).tolist() == sorted(one - other)


def test_nothing_is_a_set() -> None:
    assert union().tolist() == []
    assert union().dtype == np.int64


@pytest.mark.parametrize("spread", [1, 3, 1000, 10**12])
def test_a_lookup_finds_what_is_there_and_nothing_else_however_far_apart_the_numbers_lie(spread: int) -> None:
    rng = np.random.default_rng(4)
    for _ in range(300):
        ascending = np.sort(rng.integers(-10, 20, int(rng.integers(0, 12)))) * spread
        wanted = rng.integers(-15, 25, int(rng.integers(0, 12))) * spread + rng.integers(0, 2)
        at, there = lookup(ascending, wanted)
        assert at.dtype == np.int64
        assert there.dtype == np.bool_
        numbers = ascending.tolist()
        assert there.tolist() == [number in numbers for number in wanted.tolist()]
        for place, number, found in zip(at.tolist(), wanted.tolist(), there.tolist(), strict=True):
            assert not found or place == numbers.index(number)
            assert not numbers or 0 <= place < len(numbers)
        here, where = lookup_present(ascending, wanted)
        assert here.tolist() == there.tolist()
        assert where.tolist() == at[there].tolist()
