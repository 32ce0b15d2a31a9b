"""Sets of numbers against Python's own."""

from __future__ import annotations

import numpy as np

from reissue.arrays.sets import common, once, union, without


def test_sets_are_those_of_python() -> None:
    for seed in range(300):
        rng = np.random.default_rng(seed)
        far = 10 ** int(rng.integers(1, 15))
        a, b = (rng.integers(-far, far, int(rng.integers(0, 30))) for _ in range(2))
        a = np.concatenate([a, b[: len(b) // 2]])
        one, other = set(a.tolist()), set(b.tolist())
        assert once(a).tolist() == sorted(one)
        assert once(a.astype(np.int32)).dtype == np.int32
        assert union(a, b, a).tolist() == sorted(one | other)
        assert common(once(a), once(b)).tolist() == sorted(one & other)
        assert without(once(a), once(b)).tolist() == sorted(one - other)


def test_nothing_is_a_set() -> None:
    assert union().tolist() == []
    assert union().dtype == np.int64
