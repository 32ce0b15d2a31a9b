"""Cuts are what e-equivalence plans with and what its attack measures with: none is believed without its proof."""

from __future__ import annotations

from pathlib import Path

import pytest

import reissue as ri
from reissue.arrays.flow import mincut
from tests.support.planted import SCHEMA, Case, Insertions

flow = mincut._flow


def test_a_cut_that_is_too_large_is_not_believed_and_nothing_is_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case(ri.EEquivalence(m=2, e=4), Insertions(1, 60, 9, 4, 10, 3))
    assert case.publish(tmp_path / "right") == 3

    def overrate(*asked: object) -> tuple[object, ...]:
        value, *rest = flow(*asked)
        return value + 100, *rest

    monkeypatch.setattr(mincut, "_flow", overrate)
    with pytest.raises(AssertionError, match="is not the smallest"):
        case.publish(tmp_path / "wrong")
    with ri.Series.open(tmp_path / "wrong") as series:
        assert series.schema == SCHEMA
        assert len(list((tmp_path / "wrong" / "releases").iterdir())) == len(series.releases) < 3
        assert series.verify() == []
