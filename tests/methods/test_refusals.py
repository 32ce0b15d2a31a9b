"""What no release can meet is refused with the number that could be met, or with the way out."""

from __future__ import annotations

from pathlib import Path

import pytest

import reissue as ri
from reissue.errors import InfeasiblePolicy
from reissue.methods.strategy import Strategy
from tests.audit.figures import FIRST, SECOND, SNAPSHOTS
from tests.support.hospital import FIGURE_1, FIGURE_3, frame, hospital_schema

TWO_VALUES = [(name, age, sex, "Flu" if i % 2 else "Cold") for i, (name, age, sex, _) in enumerate(FIGURE_3)]
LAX = {"k": 2, "l": 1, "c": 1.0}


@pytest.mark.parametrize(
    ("strategy", "rows", "sentence"),
    [
        (
            ri.MInvariance(m=6, on_ineligible="counterfeit"),
            FIGURE_1,
            "m=6 cannot hold: the series knows only 4 sensitive values. The largest feasible m is 4.",
        ),
        (
            ri.Standing(**LAX, row_k=2, row_l=3),  # type: ignore[arg-type]
            TWO_VALUES,
            "row_l = 3 cannot hold: the 7 rows to publish show only 2 different dealt values. Lower row_l to 2, or use "
            'form = "told".',
        ),
        (
            ri.Standing(**LAX, row_k=9, row_l=1),  # type: ignore[arg-type]
            FIGURE_3,
            "row_k = 9 cannot hold: there are only 7 rows to publish. Lower row_k to 7 or wait for more rows.",
        ),
    ],
)
def test_what_could_be_met_is_told_and_can_be(
    strategy: Strategy, rows: list[tuple[str, int, str, str]], sentence: str, tmp_path: Path
) -> None:
    with ri.Series.create(tmp_path / "s", hospital_schema(), strategy, seed=1) as series:
        with pytest.raises(InfeasiblePolicy) as refused:
            series.publish(frame(rows))
        assert str(refused.value) == sentence
        assert not series.releases


@pytest.mark.parametrize(("row_k", "row_l"), [(7, 1), (2, 2)])
def test_as_many_rows_or_values_as_there_are_can_be_asked_for(row_k: int, row_l: int, tmp_path: Path) -> None:
    strategy = ri.Standing(**LAX, row_k=row_k, row_l=row_l)  # type: ignore[arg-type]
    with ri.Series.create(tmp_path / "s", hospital_schema(), strategy, seed=1) as series:
        assert series.publish(frame(TWO_VALUES)).counts["published"] == 7


@pytest.mark.parametrize("strategy", [ri.CheckedMondrian(k=3, c=0.6), ri.CheckedIncognito(k=3, c=0.6)])
def test_nothing_is_safe_beside_what_others_published(strategy: Strategy, tmp_path: Path) -> None:
    """The figures of the paper: their second release tells who is who in the first."""
    adopted = ri.adopt(tmp_path / "s", [FIRST, SECOND], SNAPSHOTS, schema=hospital_schema(), strategy=strategy)
    with adopted.series as series:
        with pytest.raises(InfeasiblePolicy) as refused:
            series.publish(frame([*FIGURE_3, ("Zed", 40, "Male", "Flu")]))
        assert str(refused.value) == (
            "No release is safe beside the earlier ones: even with one class for everybody, the classes of some people "
            "would have too few values in common (intersection). The earlier releases do not keep these k and c among "
            f"themselves; run an audit to see where, then lower k, raise c, or start a new series with {strategy.name}."
        )
        assert len(series.releases) == 2
