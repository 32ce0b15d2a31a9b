"""Looking up in sorted numbers: the same whether they lie close together or far apart."""

from __future__ import annotations

import numpy as np
import pytest

from reissue.arrays.lookup import find, seek


@pytest.mark.parametrize("spread", [1, 3, 1000, 10**12])
def test_seek_finds_what_is_there_and_nothing_else(spread: int) -> None:
    rng = np.random.default_rng(4)
    for _ in range(300):
        ascending = np.sort(rng.integers(-10, 20, int(rng.integers(0, 12)))) * spread
        wanted = rng.integers(-15, 25, int(rng.integers(0, 12))) * spread + rng.integers(0, 2)
        at, there = seek(ascending, wanted)
        assert at.dtype == np.int64
        assert there.dtype == np.bool_
        numbers = ascending.tolist()
        assert there.tolist() == [number in numbers for number in wanted.tolist()]
        for place, number, found in zip(at.tolist(), wanted.tolist(), there.tolist(), strict=True):
            assert not found or place == numbers.index(number)
            assert not numbers or 0 <= place < len(numbers)
        here, where = find(ascending, wanted)
        assert here.tolist() == there.tolist()
        assert where.tolist() == at[there].tolist()
