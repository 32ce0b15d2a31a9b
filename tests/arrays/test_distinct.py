"""Distinct combinations: the same as sorting would find, also where keys do not fit one number."""

from __future__ import annotations

import numpy as np
import pytest

from reissue.arrays import sets
from reissue.arrays.sets import distinct


@pytest.mark.parametrize("few", [0, 10**9], ids=["numbered by the kernel", "sorted by NumPy"])
@pytest.mark.parametrize("spread", [3, 2**16])
def test_combinations_are_those_that_sorting_finds(spread: int, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sets, "_WORTH_COMPILING", few)
    rng = np.random.default_rng(5)
    for rows in (0, 1, 7, 400, 20_000):
        codes = np.asfortranarray(rng.integers(-spread, spread, (rows, 6)).astype(np.int32))
        codes[: rows // 2] = codes[rows // 2 : 2 * (rows // 2)]
        values = rng.integers(0, 4, rows).astype(np.int32)
        first, home = distinct([values, *codes.T])
        table = np.column_stack([values, codes])
        assert np.array_equal(table[first], np.unique(table, axis=0)), "ascending, whatever the order of the rows"
        assert (table[first][home] == table).all()
        assert np.array_equal(first, np.unique(table, axis=0, return_index=True)[1]), "the first row of each"
        assert (first.dtype, home.dtype) == (np.int64, np.int32)
