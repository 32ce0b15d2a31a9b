"""Schema and codes of an open series: read once, and read anew as soon as what the ledger keeps is another."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import reissue as ri
from reissue.errors import SnapshotError
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


@pytest.mark.parametrize(("others", "refused"), [(19, True), (20, False)])
def test_the_first_person_stays_and_is_not_counted_as_new(others: int, refused: bool, tmp_path: Path) -> None:
    """Five people who come under their numbers without zeros are an accident only among 25 that are new, or more."""
    before = ["first", *(f"p{i}" for i in range(40)), *(f"00{i}" for i in range(1, 6))]
    after = [*before[:-5], *(f"{i}" for i in range(1, 6)), *(f"q{i}" for i in range(others))]

    def table(people: list[str]) -> pa.Table:
        illness = [("flu", "gout", "asthma")[i % 3] for i in range(len(people))]
        return pa.table({"person": people, "age": [30 + i % 9 for i in range(len(people))], "illness": illness})

    schema = ri.Schema(identifier="person", quasi_identifiers={"age": ri.Numeric()}, sensitive="illness")
    with ri.Series.create(tmp_path / "s", schema, ri.Static(k=3), seed=1) as series:
        series.publish(table(before))
        if refused:
            with pytest.raises(SnapshotError, match=r"'1' \('001' before\)"):
                series.publish(table(after))
        else:
            assert series.publish(table(after)).counts["new"] == 25
