"""A person looked up: the classes the person is in, and exactly the attacks whose risk the audit counts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import reissue as ri
from reissue.errors import InputError
from tests.page.tables import SCHEMA, table

STRATEGIES = [ri.Static(k=4, c=0.5), ri.Standing(k=4, l=2, row_k=4)]


@pytest.fixture(params=STRATEGIES, ids=lambda strategy: strategy.name)
def series(request: pytest.FixtureRequest, tmp_path: Path) -> ri.Series:
    made = ri.Series.create(tmp_path / "s", ri.Schema(**SCHEMA), request.param, seed=1)
    made.publish(table(range(40)), label="January")
    made.publish(table(range(13, 53)), label="February")
    return made


def test_everybody_is_at_risk_by_the_attacks_that_count_them(series: ri.Series) -> None:
    audit = series.audit()
    identifiers, numbers = series._ledger.identities()
    for name, number in zip(identifiers.to_pylist(), numbers.tolist(), strict=True):
        person = audit.look_up(name)
        expected = {
            one.name
            for one in audit.checked
            if one.outcome and one.outcome.breaches and any(number in ids for ids in one.outcome.at_risk.values())
        }
        assert set(person.at_risk) == expected
        assert bool(person.at_risk) == (number in audit.at_risk)


def test_the_classes_of_a_person_are_those_of_the_ledger(series: ri.Series) -> None:
    audit = series.audit(attacks=["intersection"])
    for number in (1, 2):
        members = series.membership(number).to_pylist()
        for row in members[:10]:
            place = next(one for one in audit.look_up(row["subject"]).places if one.release == number)
            alike = [one for one in members if one["class"] == row["class"]]
            assert place.value == row["value"]
            assert row["value"] in dict(place.values)
            assert place.rows >= len(alike)
            assert sum(dict(place.values).values()) == place.rows


def test_findings_name_the_person_and_the_document_says_the_same(series: ri.Series) -> None:
    audit = series.audit(attacks=["intersection", "difference"])
    for finding in audit.findings[:5]:
        for name in finding.subjects[:2]:
            assert finding.sentence in audit.look_up(name).findings
    person = audit.look_up(" p20 ")
    document = json.loads(person.to_json())
    assert document["format"] == "reissue-person/1"
    assert document["sentence"] == person.sentence
    assert person.sentence in person.describe()
    assert "2 of 2 releases" in person.sentence


def test_the_values_that_are_not_listed_are_counted(series: ri.Series) -> None:
    person = series.audit(attacks=["intersection"]).look_up("p20")
    assert all(place.values_total == len(place.values) for place in person.places)
    assert " more" not in person.describe()
    one = replace(person.places[0], values_total=len(person.places[0].values) + 3)
    assert " and 3 more" in replace(person, places=(one,)).describe()


def test_who_is_not_known_is_said_and_a_forgotten_person_stays_findable_by_mark(series: ri.Series) -> None:
    with pytest.raises(InputError, match="'nobody' is not known"):
        series.audit(attacks=["intersection"]).look_up("nobody")
    series.forget("p20")
    assert series.audit(attacks=["intersection"]).look_up("p20").places
    series.forget("p21", erase=True)
    with pytest.raises(InputError, match="'p21' is not known"):
        series.audit(attacks=["intersection"]).look_up("p21")


def test_without_names_a_person_is_found_all_the_same(series: ri.Series) -> None:
    audit = series.audit(names=False)
    with_names = series.audit(names=True)
    one, other = audit.look_up("p20"), with_names.look_up("p20")
    assert (one.places, one.at_risk) == (other.places, other.at_risk)
    assert len(one.findings) == len(other.findings)
    assert not np.any(["p20" in sentence for sentence in one.findings])
