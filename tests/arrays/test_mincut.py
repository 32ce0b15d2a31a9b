"""Minimum cuts against enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from reissue.arrays.flow import mincut
from reissue.arrays.flow.mincut import cut_between, min_cut


def random_graph(rng: np.random.Generator) -> np.ndarray:
    n = int(rng.integers(2, 7))
    upper = np.triu(rng.integers(0, 6, (n, n)) * (rng.random((n, n)) < 0.6), 1)
    return (upper + upper.T).astype(np.int64)


def cut_value(weights: np.ndarray, side: np.ndarray) -> int:
    return int(weights[np.ix_(side, ~side)].sum())


def sides(n: int) -> list[np.ndarray]:
    return [np.array([(mask >> i) & 1 == 1 for i in range(n)]) for mask in range(1, (1 << n) - 1)]


def test_global_minimum_cut_of_the_components() -> None:
    for seed in range(300):
        weights = random_graph(np.random.default_rng(seed))
        count, part = connected_components(csr_array(weights), directed=False)
        expected = []
        for c in range(count):
            own = weights[np.ix_(part == c, part == c)]
            if len(own) > 1:
                expected.append(min(cut_value(own, side) for side in sides(len(own))))
        assert min_cut(weights) == min(expected, default=0)


def test_cut_between_two_nodes() -> None:
    for seed in range(300):
        weights = random_graph(np.random.default_rng(seed))
        n = len(weights)
        value, side = cut_between(weights, n - 1, 0)
        assert value == min(cut_value(weights, s) for s in sides(n) if s[n - 1] and not s[0])
        assert cut_value(weights, side) == value
        assert side[n - 1]
        assert not side[0]


def test_no_wrong_answer_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the flow gets wrong: its value, its side, or what it sends."""
    weights = np.array([[0, 3, 2], [3, 0, 1], [2, 1, 0]])
    value, side, left = mincut._flow(weights, 0, 2)
    assert cut_between(weights, 0, 2) == (3, pytest.approx(side))
    more = left.copy()
    more[0, 2] += 1
    for wrong in ((value + 1, side, left), (value - 1, side, left), (value, ~side, left), (value, side, more)):
        monkeypatch.setattr(mincut, "_flow", lambda *_, wrong=wrong: wrong)
        with pytest.raises(AssertionError, match="is not the smallest"):
            cut_between(weights, 0, 2)
