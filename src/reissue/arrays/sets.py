"""Sets of numbers, as ascending arrays.

By sorting: NumPy's own `unique` of plain numbers, and `union1d`, `intersect1d` and `setdiff1d` built on it, hash them,
which takes fifty times as long for a million numbers.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from reissue.arrays.lookup import seek
from reissue.arrays.types import Int64

IntT = TypeVar("IntT", np.int32, np.int64)


def once(numbers: NDArray[IntT]) -> NDArray[IntT]:
    """The different numbers, ascending. O(n log n), O(n) if they are ascending already."""
    if (numbers[1:] > numbers[:-1]).all():
        return numbers
    ordered = np.sort(numbers)
    first = np.ones(len(ordered), dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def union(*sets: Int64) -> Int64:
    """The numbers that are in any of the arrays, ascending."""
    return once(np.concatenate([np.empty(0, dtype=np.int64), *sets]))


def common(one: Int64, other: Int64) -> Int64:
    """The numbers that are in both; both ascending, each number once."""
    return one[seek(other, one)[1]]


def without(one: Int64, other: Int64) -> Int64:
    """The numbers that are in the first but not in the second; both ascending, each number once."""
    return one[~seek(other, one)[1]]
