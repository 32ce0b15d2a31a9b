"""The risk-utility map."""

from __future__ import annotations

import pytest

from reissue.errors import SettingsError
from reissue.utility import Point, risk_utility


def test_the_frontier_holds_what_nothing_beats() -> None:
    a = Point(label="a", risk=1.0, loss=9.0)
    b = Point(label="b", risk=2.0, loss=5.0)
    worse = Point(label="worse", risk=3.0, loss=5.0)
    also_worse = Point(label="also worse", risk=2.0, loss=6.0)
    c = Point(label="c", risk=4.0, loss=1.0)
    twin = Point(label="twin", risk=2.0, loss=5.0)
    found = risk_utility([c, worse, b, also_worse, a, twin])
    assert [point.label for point in found.points] == ["a", "b", "twin", "also worse", "worse", "c"]
    assert found.frontier == (a, b, twin, c)


def test_a_point_without_numbers_is_refused() -> None:
    with pytest.raises(SettingsError, match="'x' has risk nan"):
        risk_utility([Point(label="x", risk=float("nan"), loss=1.0)])
