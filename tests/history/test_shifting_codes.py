"""Caches hold codes, and codes shift when new leaves sort first: what is remembered must not be read in new codes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import reissue as ri
from reissue.methods.strategy import Strategy
from tests.support.divided import CHURN, INSERTS, SCHEMA, STRATEGIES, People

LATER = "120"
"""Zips below it come with the third snapshot: they sort first, so that all others move up."""


def months(strategy: Strategy) -> list[pa.Table]:
    tables = People(3).months(4, CHURN if strategy.supports.gone else INSERTS, first=250)
    return [
        table.filter(pc.greater_equal(table["zip"], LATER)) if number <= 2 else table
        for number, table in enumerate((table.select(SCHEMA.columns) for table in tables), start=1)
    ]


def zips(first: int) -> ri.Hierarchy:
    """Those from `first` on: new ones of the south come before all of the north."""
    south, north = ([str(zip) for zip in numbers] for numbers in (range(first, 125), range(125, 160)))
    return ri.Hierarchy.from_nested({"*": {"south": south, "north": north}})


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: f"{s.name}-{getattr(s, 'algorithm', '')}".strip("-"))
@pytest.mark.parametrize("how", ["learned", "extended"])
def test_leaves_that_sort_first(strategy: Strategy, how: str, tmp_path: Path) -> None:
    """Seen in a snapshot for the first time, or added by hand between two releases."""
    schema = SCHEMA
    if how == "extended":
        own = {"age": {"type": "numeric"}, "zip": {"hierarchy": zips(int(LATER))}}
        schema = ri.Schema(identifier="name", quasi_identifiers=own, sensitive="diagnosis")
    tables = months(strategy)
    with ri.Series.create(tmp_path / "s", schema, strategy, seed=3) as series:
        for number, table in enumerate(tables, start=1):
            if number == 3 and how == "extended":
                series.extend("zip", zips(100))
            series.publish(table)
            assert series.verify(rebuild=True) == [], f"after release {number}"
        then, now = (series._ledger.facts(number) for number in (2, 3))
        stayed = np.intersect1d(then.subjects, now.subjects)
        moved = [facts.codes[np.isin(facts.subjects, stayed), 1] for facts in (then, now)]
        assert (moved[0] < moved[1]).mean() > 0.8, "or else nothing has shifted, and nothing is proved"
        if strategy.stops:
            assert not series.audit(attacks=strategy.stops).breaches
