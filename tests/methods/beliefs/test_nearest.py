"""Nearest point next against its definition."""

from __future__ import annotations

import numpy as np
import pytest

from reissue.methods.beliefs.bay_frame import order_nearest_next
from reissue.model.domain import Domain
from tests.support.histories import toy_domains


@pytest.mark.parametrize("seed", range(200))
def test_every_row_is_followed_by_the_nearest_that_is_left(seed: int) -> None:
    rng = np.random.default_rng(seed)
    domains = toy_domains() if seed % 2 else (Domain("a", 0, 5), Domain("b", -3, 3))  # many equal rows in the second
    rows = int(rng.integers(1, 120))
    codes = np.stack([rng.integers(d.lo, d.hi + 1, rows) for d in domains], axis=1).astype(np.int32)
    order = order_nearest_next(codes, domains)
    assert sorted(order.tolist()) == list(range(rows))
    points = codes / np.array([d.span for d in domains])
    away = ((points - points.mean(axis=0)) ** 2).sum(axis=1)
    assert away[order[0]] == pytest.approx(away.max())
    rest = set(range(rows))
    for here, there in zip(order[:-1].tolist(), order[1:].tolist(), strict=True):
        rest.discard(here)
        distance = ((points - points[here]) ** 2).sum(axis=1)
        assert distance[there] == pytest.approx(min(distance[i] for i in rest))


def test_no_rows_and_no_attributes() -> None:
    assert len(order_nearest_next(np.empty((0, 2), dtype=np.int32), (Domain("a", 0, 1), Domain("b", 0, 1)))) == 0
    assert sorted(order_nearest_next(np.empty((3, 0), dtype=np.int32), ()).tolist()) == [0, 1, 2]
