"""Schema and codes of an open series: read once, and read anew as soon as what the ledger keeps is another."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

import reissue as ri
from reissue.history.past_releases import PastReleases
from reissue.publish.self_check import _Observing


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


def test_past_releases_are_counted_without_the_one_that_was_withdrawn(tmp_path: Path) -> None:
    schema = ri.Schema(identifier="person", quasi_identifiers={"age": ri.Numeric()}, sensitive="illness")
    with ri.Series.create(tmp_path / "s", schema, ri.MInvariance(m=2), seed=1) as series:
        series.publish(snapshot())
        series.publish(snapshot(p4="cold", p5="cough"))
        series.withdraw("wrong month", not_handed_out=True)
        series.publish(snapshot(p4="cold", p5="cough"))
        ledger, coding = series._ledger, series.coding
        assert [facts.number for facts in PastReleases(ledger, coding)] == [1, 3]
        counted = PastReleases(ledger, coding, counted=True)
        assert [facts.number for facts in counted] == [1, 2]
        assert [counted.subjects(place).tolist() for place in (0, 1)] == [[0, 1, 2, 3], [0, 1, 2, 3, 6, 7]], (
            "no number twice"
        )
        unread = PastReleases(ledger, coding)
        assert [unread.subjects(place).tolist() for place in (0, 1)] == [[0, 1, 2, 3], [0, 1, 2, 3, 6, 7]]


def test_the_release_that_is_checked_comes_after_those_before_it(tmp_path: Path) -> None:
    """As attacks list people: of each release its own, whether or not it was read."""
    schema = ri.Schema(identifier="person", quasi_identifiers={"age": ri.Numeric()}, sensitive="illness")
    with ri.Series.create(tmp_path / "s", schema, ri.MInvariance(m=2), seed=1) as series:
        series.publish(snapshot())
        series.publish(snapshot(p4="cold", p5="cough"))
        past = PastReleases(series._ledger, series.coding, counted=True)
        first, second = past
    for earlier in ([first], PastReleases(series._ledger, series.coding, counted=True)):
        seen = _Observing(earlier, second)
        assert [seen.subjects(place).tolist() for place in (0, 1)] == [[0, 1, 2, 3], [0, 1, 2, 3, 4, 5]]
        assert [one.number for one in seen] == [1, 2]


def test_who_stays_is_nobody_that_is_new(tmp_path: Path) -> None:
    """The first person of all stays, another one of nearly the same name leaves: nobody came under another name."""
    schema = ri.Schema(identifier="person", quasi_identifiers={"age": ri.Numeric()}, sensitive="illness")
    illness = {"7": "flu", "07": "angina", "x": "asthma", "y": "gout", "z": "flu", "u": "gout"}
    table = pa.table({"person": list(illness), "age": range(30, 36), "illness": list(illness.values())})
    with ri.Series.create(tmp_path / "s", schema, ri.MInvariance(m=2, on_ineligible="counterfeit"), seed=1) as series:
        series.publish(table)
        release = series.publish(table.filter(pc.not_equal(table["person"], "07")))
        assert (release.counts["new"], release.counts["gone"]) == (0, 1)
