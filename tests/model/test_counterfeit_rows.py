"""Exact columns of counterfeits: as many others say the same as of people, in whole rows and in pairs of columns."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from reissue.arrays.types import Int32, Int64
from reissue.model.counterfeit_rows import _BROKEN, _Together, draw_columns


def say(codes: Int32, drawn: Int64) -> Int32:
    return np.asarray(codes[drawn, np.arange(codes.shape[1])[None, :]], dtype=np.int32)


def count_others(codes: Int32, said: Int32) -> list[int]:
    many = Counter(map(tuple, codes.tolist()))
    return [many[tuple(row)] for row in said.tolist()]


@pytest.mark.parametrize("seed", range(3))
def test_where_people_come_in_pairs_so_do_counterfeits_and_never_three(seed: int) -> None:
    """Who copies one of a pair makes three of a kind, and where there were only pairs all can see who came."""
    rng = np.random.default_rng(seed)
    some = rng.permutation(40 * 30 * 2)[:400]
    some = np.concatenate([some, some[:100]])
    codes = np.stack([some // 60, some % 60 // 2, some % 2], axis=1).astype(np.int32)
    order = np.lexsort(codes.T[::-1])
    drawn = draw_columns(codes, order, rng.integers(0, 500, 60), rng, [0])
    others = Counter(count_others(codes, say(codes, drawn)))
    assert set(others) == {0, 1}
    assert 12 <= others[1] <= 36  # 200 of 500 people have one other
    assert max(Counter(map(tuple, say(codes, drawn).tolist())).values()) == 1


def test_where_everybody_has_others_alike_counterfeits_have_them_too() -> None:
    codes = np.repeat(np.arange(50, dtype=np.int32), 2)[:, None] % np.array([7, 50], np.int32)
    drawn = draw_columns(codes, np.arange(100), np.arange(0, 100, 5), np.random.default_rng(1))
    assert min(count_others(codes, say(codes, drawn))) > 0


@pytest.mark.parametrize("bound", [[(0, 1, 2)], [(0, 1, 2), (0, 2)], [(0, 2), (0, 1, 2)]])
def test_what_nobody_says_together_is_far_from_everybody(bound: list[tuple[int, ...]]) -> None:
    """The first of the bound sets as well as the last; where nothing is bound, a row that is nobody's is no fault."""
    own = np.array([[0], [0], [1], [1]] * 9, dtype=np.int32)
    lent = np.array([[0, 0], [1, 1], [0, 1], [1, 0]] * 9, dtype=np.int32)
    said = np.array([[0, 1, 1], [0, 1, 0]], dtype=np.int32)
    for some, broken in ((bound, True), ([], False)):
        together = _Together(own, lent, np.array([1, 1]), np.random.default_rng(0), some)
        apart = together.compare(said, np.arange(2), np.arange(len(together)))
        assert (apart[0] < _BROKEN / 10).all()
        assert (apart[1] > _BROKEN / 10).any() == broken
