"""Arithmetic that is the same to the last bit on every machine: one operation after the other, in the order written.

Libraries of linear algebra add up in an order that depends on the processor, and so do those that compute exponentials
of whole arrays; the last digits of what they find differ. Here everything is made of additions, multiplications,
divisions and square roots of single numbers, which every processor rounds alike, and kernels are compiled as written.
"""

from __future__ import annotations

import math

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.types import Float64

_LOG2_HIGH, _LOG2_LOW = 0.6931471803691238, 1.9082149292705877e-10
"""The logarithm of 2 in two parts: a small whole number times the first one is exact."""
_SMALLEST = -708.0
_SWEEPS, _TERMS = 60, 12


@njit(cache=True)
def exponential(x: float) -> float:  # pragma: no cover - compiled
    """e^x, off by 2 units in the last place at most; 0 where it is below 1e-307. x: up to 700."""
    if x < _SMALLEST:
        return 0.0
    power = math.floor(x * 1.4426950408889634 + 0.5)
    rest = (x - power * _LOG2_HIGH) - power * _LOG2_LOW
    found = 1.0
    for term in range(14, 0, -1):
        found = 1.0 + rest / term * found
    while power >= 32 or power <= -32:
        found *= 4294967296.0 if power > 0 else 1.0 / 4294967296.0
        power += -32 if power > 0 else 32
    for _ in range(int(abs(power))):
        found *= 2.0 if power > 0 else 0.5
    return found


@njit(cache=True)
def logarithm(x: float) -> float:  # pragma: no cover - compiled
    """The natural logarithm of a positive number, off by 4e-16 of itself or of 1e-16, whichever is more."""
    power = 0
    while x > 1.4142135623730951:
        x *= 0.5
        power += 1
    while x < 0.7071067811865476:
        x *= 2.0
        power -= 1
    ratio = (x - 1.0) / (x + 1.0)
    square, found = ratio * ratio, 0.0
    for term in range(_TERMS, -1, -1):
        found = found * square + 1.0 / (2 * term + 1)
    return power * _LOG2_HIGH + (2.0 * ratio * found + power * _LOG2_LOW)


@njit(cache=True)
def multiply(one: Float64, other: Float64) -> Float64:  # pragma: no cover - compiled
    """float64[n, p]: the product of float64[n, m] and float64[m, p]."""
    found = np.zeros((one.shape[0], other.shape[1]))
    for i in range(one.shape[0]):
        for j in range(one.shape[1]):
            for k in range(other.shape[1]):
                found[i, k] += one[i, j] * other[j, k]
    return found


@njit(cache=True)
def diagonalize(matrix: Float64) -> tuple[Float64, Float64]:  # pragma: no cover - compiled
    """(float64[n] eigenvalues, float64[n, n] eigenvectors as rows, in the same order) of a symmetric matrix.

    By Jacobi's rotations, row after row, until nothing is left beside the diagonal but rounding errors. O(n^3) a sweep.
    """
    n, left = len(matrix), matrix.copy()
    turn = np.zeros((n, n))
    for i in range(n):
        turn[i, i] = 1.0
    for _ in range(_SWEEPS):
        beside, whole = 0.0, 0.0
        for i in range(n):
            for j in range(n):
                whole += left[i, j] * left[i, j]
                beside += left[i, j] * left[i, j] if i != j else 0.0
        if beside <= 1e-30 * whole:
            break
        for i in range(n - 1):
            for j in range(i + 1, n):
                if left[i, j] != 0.0:
                    _rotate(left, turn, i, j)
    found = np.empty(n)
    for i in range(n):
        found[i] = left[i, i]
    return found, turn


@njit(cache=True)
def _rotate(left: Float64, turn: Float64, i: int, j: int) -> None:  # pragma: no cover - compiled
    """Turn two axes so that nothing is left of what both have in common."""
    theta = (left[j, j] - left[i, i]) / (2.0 * left[i, j])
    tangent = 1.0 / (abs(theta) + math.sqrt(theta * theta + 1.0))
    tangent = -tangent if theta < 0 else tangent
    cosine = 1.0 / math.sqrt(tangent * tangent + 1.0)
    sine = tangent * cosine
    for k in range(len(left)):
        one, other = left[i, k], left[j, k]
        left[i, k], left[j, k] = cosine * one - sine * other, sine * one + cosine * other
    for k in range(len(left)):
        one, other = left[k, i], left[k, j]
        left[k, i], left[k, j] = cosine * one - sine * other, sine * one + cosine * other
    left[i, j] = left[j, i] = 0.0
    for k in range(len(left)):
        one, other = turn[i, k], turn[j, k]
        turn[i, k], turn[j, k] = cosine * one - sine * other, sine * one + cosine * other
