"""Sorting inside kernels: the same as NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from reissue.arrays.sorting import FEW, find_order, sort_ascending

SIZES = (0, 1, 2, 3, FEW, FEW + 1, FEW + 2, 255, 1000)


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_numbers_are_sorted_in_place(kind: type[np.int32]) -> None:
    rng = np.random.default_rng(1)
    for size in SIZES:
        for spread in (1, 4, 1_000_000):
            numbers = rng.integers(-spread, spread, size).astype(kind)
            for given in (numbers, np.sort(numbers), np.sort(numbers)[::-1].copy()):
                expected = np.sort(given)
                sort_ascending(given)
                assert given.tolist() == expected.tolist()


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.float64])
def test_equal_keys_keep_their_order(kind: type[np.int32]) -> None:
    rng = np.random.default_rng(2)
    for size in SIZES:
        for spread in (1, 4, 1_000_000):
            keys = rng.integers(-spread, spread, size).astype(kind)
            assert find_order(keys).tolist() == np.argsort(keys, kind="stable").tolist()
