"""Distinct combinations: the same as sorting would find, also where keys do not fit one number."""

from __future__ import annotations

import numpy as np
import pytest

from reissue.arrays.distinct import distinct, locate, number, tally


@pytest.mark.parametrize("spread", [3, 2**16])
def test_combinations_are_those_that_sorting_finds(spread: int) -> None:
    rng = np.random.default_rng(5)
    for rows in (0, 1, 7, 400, 20_000):
        codes = np.asfortranarray(rng.integers(-spread, spread, (rows, 6)).astype(np.int32))
        codes[: rows // 2] = codes[rows // 2 : 2 * (rows // 2)]
        values = rng.integers(0, 4, rows).astype(np.int32)
        first, home = distinct([values, *codes.T])
        table = np.column_stack([values, codes])
        assert np.array_equal(table[first], np.unique(table, axis=0)), "ascending, whatever the order of the rows"
        assert (table[first][home] == table).all()


def test_numbers_follow_the_order_of_appearance() -> None:
    home, first = number(np.array([7, 7, -3, 7, 9, -3], dtype=np.int64))
    assert home.tolist() == [0, 0, 1, 0, 2, 1]
    assert first.tolist() == [0, 2, 4]


def test_tally_counts_by_arrival() -> None:
    counts = tally(np.array([0, 1, 0, 0], np.int32), np.array([3, 3, 4, 4], np.int32), 3, 2, 2)
    assert counts.tolist() == [[1, 1], [2, 0]]


def test_locate_finds_positions_or_nothing() -> None:
    known, wanted = np.array([2, 5, 9], np.int64), np.array([1, 2, 6, 9, 11], np.int64)
    assert locate(known, wanted).tolist() == [-1, 0, -1, 2, -1]
    assert locate(known[:0], wanted).tolist() == [-1] * 5
