"""The order of ordered values: numbers, bins or a declared list; the alphabet never decides."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import reissue as ri
from reissue.errors import SettingsError
from reissue.methods.value_order import order_values

SCHEMA = ri.Schema(identifier="who", quasi_identifiers={"age": ri.Numeric()}, sensitive="pain")
PAIN = ["none", "mild", "moderate", "severe"]


def patients() -> pa.Table:
    """Ages and pain rise together."""
    return pa.table(
        {"who": [f"p{i}" for i in range(24)], "age": list(range(24)), "pain": [PAIN[i // 6] for i in range(24)]}
    )


def test_numbers_and_bins_are_in_their_own_order() -> None:
    labels = ["10", "9", "-3.5", "100"]
    assert [labels[code] for code in order_values(labels)] == ["-3.5", "9", "10", "100"]
    labels = ["5000 to under 20000", "100000 and over", "below 5000", "20000 to under 100000"]
    lowest_first = [labels[code] for code in order_values(labels)]
    assert lowest_first == ["below 5000", "5000 to under 20000", "20000 to under 100000", "100000 and over"]


def test_a_declared_order_is_taken_and_must_name_every_value() -> None:
    labels = ["mild", "moderate", "none", "severe"]
    assert [labels[code] for code in order_values(labels, PAIN)] == PAIN
    with pytest.raises(SettingsError, match="does not name the value 'worst'"):
        order_values([*labels, "worst"], PAIN)


@pytest.mark.parametrize(
    "strategy",
    [
        ri.Static(k=4, t=0.3, ordered=True),
        ri.BayFrame(k=4, J=1.0, t=0.3, ordered=True),
        ri.JSReduce(k=4, J=1.0, t=0.3, ordered=True),
    ],
    ids=lambda strategy: strategy.name,
)
def test_words_without_a_declared_order_are_refused(strategy: ri.Strategy, tmp_path: Path) -> None:
    with (
        ri.Series.create(tmp_path / "s", SCHEMA, strategy) as series,
        pytest.raises(SettingsError, match="value_order"),
    ):
        series.publish(patients())


def test_the_order_decides_which_classes_are_like_the_table(tmp_path: Path) -> None:
    """None and severe are as far apart as can be in the declared order, and neighbours in another."""
    rows = {}
    for name, order in (("rising", tuple(PAIN)), ("folded", ("none", "severe", "mild", "moderate"))):
        strategy = ri.Static(k=4, t=0.2, ordered=True, value_order=order)
        with ri.Series.create(tmp_path / name, SCHEMA, strategy, seed=1) as series:
            rows[name] = series.publish(patients()).counts["classes"]
    assert rows["rising"] != rows["folded"]
