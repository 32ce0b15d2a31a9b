"""Counts of fragments, added up."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from reissue.model.fragment_counts import Counts, FragmentCounts, TableCounts

Pairs = list[tuple[int, int]]


def counts_of(pairs: Pairs) -> Counts:
    key, value = (np.array([pair[i] for pair in pairs]) for i in (0, 1))
    return Counts.of(key.astype(np.int64), value.astype(np.int32))


def as_dict(counts: Counts) -> dict[tuple[int, int], int]:
    return dict(zip(zip(counts.key.tolist(), counts.value.tolist(), strict=True), counts.count.tolist(), strict=True))


@pytest.mark.parametrize("seed", range(40))
def test_every_fragment_gets_the_sums_under_its_own_keys(seed: int) -> None:
    rng = np.random.default_rng(seed)
    spread = int(rng.integers(1, 9))
    parts: list[Pairs] = [
        [(int(k) - 2, int(v)) for k, v in rng.integers(0, [spread, 3], (int(rng.integers(0, 12)), 2))] for _ in range(3)
    ]
    tallies = [FragmentCounts({"values": counts_of(part)}, counts_of(part), least=3) for part in parts]
    every = Counter(pair for part in parts for pair in part)
    size = Counter(key for part in parts for key, _ in part)
    for part, whole in zip(parts, TableCounts.of(tallies), strict=True):
        assert as_dict(whole.everywhere["values"]) == every
        keys = {key for key, _ in part if size[key] >= 3}
        assert as_dict(whole.nearby) == {pair: n for pair, n in every.items() if pair[0] in keys}
        asked = np.arange(-3, 9)
        assert whole.everywhere["values"].sizes(asked).tolist() == [size[int(key)] for key in asked]
        assert whole.everywhere["values"].matrix(asked, 3).tolist() == [
            [every[int(key), v] for v in range(3)] for key in asked
        ]


def test_what_was_published_last_is_announced() -> None:
    (whole,) = TableCounts.of([FragmentCounts({"values": Counts.of_values(np.array([2, 0, 5]))})])
    assert whole.values(4).tolist() == whole.announced(4).tolist() == [2, 0, 5, 0]
    later = whole.announcing(np.array([2, 0, 4, 0])).announcing(np.array([2, 0, 3, 0]))
    assert later.announced(4).tolist() == [2, 0, 3, 0]
    assert len(later.published) == 2
