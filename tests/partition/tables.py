"""Random small tables over attributes of every kind: numbers near and far, trees even and ragged."""

from __future__ import annotations

import numpy as np

from reissue.arrays.types import Int32
from reissue.model.domain import Domain, Tree
from tests.support.histories import uniform_tree


def ragged_tree() -> Tree:
    """Root 0-6 with a chain of single children down to 0-6, then 0-1 | 2 | 3-6; 3-6 has four leaves, 0-1 two."""
    lo = [0, 0, 0, 2, 3, 0, 1, 3, 4, 5, 6]
    hi = [6, 6, 1, 2, 6, 0, 1, 3, 4, 5, 6]
    parent = [-1, 0, 1, 1, 1, 2, 2, 4, 4, 4, 4]
    level = [3, 2, 1, 0, 1, 0, 0, 0, 0, 0, 0]
    return Tree(*(np.array(column, dtype=np.int32) for column in (lo, hi, parent, level)))


def domains(rng: np.random.Generator) -> tuple[Domain, ...]:
    """One to three attributes."""
    choices = (
        Domain("small", 0, 5),
        Domain("negative", -3, 4),
        Domain("wide", -2_000_000_000, 2_000_000_000),
        Domain("high", 5, 20),
        Domain("tree", 0, 11, uniform_tree(3, 2, 2)),
        Domain("ragged", 0, 6, ragged_tree()),
        Domain("flat", 0, 4, uniform_tree(5)),
        Domain("one", 3, 3),
    )
    picked = rng.choice(len(choices), int(rng.integers(1, 4)), replace=False)
    return tuple(choices[i] for i in picked)


def table(rng: np.random.Generator, made: tuple[Domain, ...], rows: int, kinds: int) -> tuple[Int32, Int32]:
    codes = np.stack([rng.integers(d.lo, d.hi + 1, rows) for d in made], axis=1).astype(np.int32)
    return np.asfortranarray(codes), rng.integers(0, kinds, rows).astype(np.int32)
