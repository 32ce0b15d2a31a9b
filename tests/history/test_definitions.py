"""Schema and codes of an open series: read once, and read anew as soon as what the ledger keeps is another."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

import reissue as ri


def snapshot(**more: str) -> pa.Table:
    illness = {"p0": "flu", "p1": "angina", "p2": "asthma", "p3": "gout", **more}
    return pa.table({"person": list(illness), "age": range(30, 30 + len(illness)), "illness": list(illness.values())})


def test_codes_are_read_once_and_anew_after_a_release_that_adds_to_them(tmp_path: Path) -> None:
    schema = ri.Schema(identifier="person", quasi_identifiers={"age": ri.Numeric()}, sensitive="illness")
    with ri.Series.create(tmp_path / "s", schema, ri.MInvariance(m=2), seed=1) as series:
        assert series.coding.values == ()
        series.publish(snapshot())
        first = series.coding
        assert series.coding is first
        assert series.schema is series.schema
        series.publish(snapshot(p4="cold", p5="cough"))
        assert set(series.coding.values) == {*first.values, "cold", "cough"}
        series.withdraw("wrong month", not_handed_out=True)
        assert series.coding.values == first.values


def test_an_amended_schema_is_the_one_that_is_read(tmp_path: Path) -> None:
    schema = ri.Schema(identifier="person", quasi_identifiers={"age": ri.Numeric()}, sensitive="illness")
    with ri.Series.create(tmp_path / "s", schema, ri.MInvariance(m=2), seed=1) as series:
        series.publish(snapshot())
        assert series.schema.missing == "refuse"
        ages = {"age": ri.Numeric()}
        amended = ri.Schema(identifier="person", quasi_identifiers=ages, sensitive="illness", missing="value")
        series.amend(amended)
        assert series.schema.missing == "value"
