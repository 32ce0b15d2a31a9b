"""Bins of sensitive columns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue.errors import SchemaError
from reissue.schema import Bins


def test_bins_between_edges() -> None:
    bins = Bins.of([0, 20000, 50000.5])
    assert bins.labels(np.array([-1.0, 0, 19999.99, 20000, 50000.5, 1e9])) == [
        "below 0",
        "0 to under 20000",
        "0 to under 20000",
        "20000 to under 50000.5",
        "50000.5 and over",
        "50000.5 and over",
    ]


@given(st.integers(-1000, 1000), st.sampled_from([0.1, 0.3, 1, 7, 2.5]), st.sampled_from([0, 0.1, -3]))
def test_a_value_lies_in_the_bin_its_label_says(hundredths: int, width: float, start: float) -> None:
    value = hundredths / 100
    [label] = Bins(width=width, start=start).labels(np.array([value]))
    low, high = map(float, label.split(" to under "))
    slack = 1e-9  # a value that is an edge up to rounding may be on either side
    assert low - slack <= value < high + slack
    assert high - low == pytest.approx(width)


@pytest.mark.parametrize(
    "given", [[], [1, 1], [2, 1], ["a"], {"width": 0}, {"width": 5, "edges": [1]}, {"with": 5}, 5, {}]
)
def test_wrong_bins_are_refused(given: object) -> None:
    with pytest.raises(SchemaError, match="bins"):
        Bins.of(given)
