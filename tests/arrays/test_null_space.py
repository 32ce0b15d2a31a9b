"""Random vectors of the null space against its basis: the same sums are 0, the same numbers are equal, no others."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import null_space

from reissue.arrays.null_space import VECTORS, draw_null_vectors, merge_equal_columns
from reissue.arrays.types import Float64, Int64

CLOSE = 1e-8


def draw_matrix(seed: int) -> Float64:
    """Few columns and rows of few ones, many of them alike but for one: as classes of people who come and go."""
    rng = np.random.default_rng(seed)
    rows, columns, size = (int(rng.integers(low, high)) for low, high in ((1, 14), (2, 13), (1, 5)))
    matrix = np.zeros((rows, columns))
    here = rng.choice(columns, min(size, columns), replace=False)
    for row in matrix:
        if rng.random() < 0.7:
            here[rng.integers(len(here))] = rng.integers(columns)
        else:
            here = rng.choice(columns, len(here), replace=False)
        row[here] = 1.0
    return matrix


def list_ones(matrix: Float64) -> tuple[Int64, Int64]:
    row, column = np.nonzero(matrix)
    return row.astype(np.int64), column.astype(np.int64)


def find_equal(numbers: Float64) -> set[tuple[int, int]]:
    """Pairs of columns with equal numbers; (i, -1): the numbers of column i are 0."""
    padded = np.append(numbers, np.zeros((1, numbers.shape[1])), axis=0)
    apart = np.abs(padded[:, None] - padded[None]).max(axis=2, initial=0.0)
    one, other = np.nonzero(apart < CLOSE)
    return {(int(i), int(j) if j < len(numbers) else -1) for i, j in zip(one, other, strict=True) if i < j}


@pytest.mark.parametrize("first", range(0, 600, 100))
def test_numbers_are_equal_where_they_are_in_every_vector_of_the_null_space_and_nowhere_else(first: int) -> None:
    merged = 0
    for seed in range(first, first + 100):
        matrix = draw_matrix(seed)
        row, column = list_ones(matrix)
        shuffled = np.random.default_rng(seed).permutation(len(row))
        numbers, settled = draw_null_vectors(row[shuffled], column[shuffled], matrix.shape[1])
        basis = null_space(matrix)
        assert settled
        assert numbers.shape == (matrix.shape[1], VECTORS)
        assert np.abs(matrix @ numbers).max() < CLOSE
        assert find_equal(numbers) == find_equal(basis)
        assert np.linalg.matrix_rank(numbers, 1e-6) == min(VECTORS, basis.shape[1])

        kind = merge_equal_columns(row, column, matrix.shape[1])
        together = {(i, j) for i in range(len(kind)) for j in range(i + 1, len(kind)) if kind[i] == kind[j]}
        zeros = {(i, -1) for i in range(len(kind)) if kind[i] < 0}
        assert together | zeros <= find_equal(basis)
        assert sorted(set(kind.tolist()) - {-1}) == list(range(int(kind.max()) + 1))
        merged += len(together)
    assert merged > 100


def test_rows_alike_but_for_one_column_make_columns_equal_and_equal_columns_more_rows_alike() -> None:
    matrix = np.array([[1, 1, 0, 0, 1], [1, 0, 1, 0, 1], [0, 1, 0, 1, 0], [0, 0, 1, 0, 0]], dtype=np.float64)
    kind = merge_equal_columns(*list_ones(matrix), 5)
    assert kind.tolist() == [0, -1, -1, -1, 1]  # the third number is 0, so is its equal, and then the fourth
    numbers, settled = draw_null_vectors(*list_ones(matrix), 5)
    assert settled
    assert (numbers[1:4] == 0.0).all()
    assert np.abs(numbers[0] + numbers[4]).max() < CLOSE


def test_without_rows_every_number_is_free() -> None:
    nothing = np.empty(0, dtype=np.int64)
    numbers, settled = draw_null_vectors(nothing, nothing, 4)
    assert settled
    assert find_equal(numbers) == set()
    assert draw_null_vectors(nothing, nothing, 0)[0].shape == (0, VECTORS)
