"""Arithmetic in a fixed order against the libraries', and against itself uncompiled, to the last bit."""

from __future__ import annotations

import math

import numpy as np
import pytest

from reissue.arrays.portable import diagonalize, exponential, logarithm, multiply


def draw_symmetric(size: int, rank: int, seed: int) -> np.ndarray:
    half = np.random.default_rng(seed).integers(-9, 10, (size, rank)).astype(np.float64)
    return half @ half.T


def test_exponentials_and_logarithms_are_those_of_the_library() -> None:
    for x in np.random.default_rng(1).uniform(-700, 700, 2_000).tolist():
        assert exponential(x) == pytest.approx(math.exp(x), rel=5e-16)
        assert exponential(x / 700) == pytest.approx(math.exp(x / 700), rel=5e-16)
    for x in np.random.default_rng(2).uniform(-300, 300, 2_000).tolist():
        assert logarithm(10**x) == pytest.approx(math.log(10**x), rel=5e-16)
        assert logarithm(1.0 + x * 1e-9) == pytest.approx(math.log(1.0 + x * 1e-9), rel=1e-15, abs=2e-16)
    assert exponential(-1e6) == 0.0
    assert logarithm(1.0) == 0.0


@pytest.mark.parametrize(("size", "rank"), [(1, 1), (2, 1), (6, 6), (12, 5), (30, 29), (3, 0)])
def test_axes_of_a_matrix_are_found(size: int, rank: int) -> None:
    matrix = draw_symmetric(size, rank, size)
    values, turn = diagonalize(matrix)
    assert np.sort(values) == pytest.approx(np.linalg.eigvalsh(matrix), abs=1e-9)
    assert turn @ turn.T == pytest.approx(np.eye(size), abs=1e-12)
    assert turn.T @ np.diag(values) @ turn == pytest.approx(matrix, abs=1e-9)


def test_what_is_compiled_rounds_as_what_is_written() -> None:
    """No operation is put in another order, or joined with the next one, as a compiler might."""
    for x in np.random.default_rng(3).uniform(-50, 50, 300).tolist():
        assert exponential(x) == exponential.py_func(x)  # type: ignore[attr-defined]
        assert logarithm(abs(x)) == logarithm.py_func(abs(x))  # type: ignore[attr-defined]
    matrix = draw_symmetric(6, 5, 4) / 7.0
    one, other = np.random.default_rng(5).random((2, 6, 6))
    assert np.array_equal(multiply(one, other), multiply.py_func(one, other))  # type: ignore[attr-defined]
    for compiled, written in zip(diagonalize(matrix), diagonalize.py_func(matrix), strict=True):  # type: ignore[attr-defined]
        assert np.array_equal(compiled, written)
