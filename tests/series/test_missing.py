"""Missing values as values of their own, through every strategy: published, read back and continued."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import reissue as ri
from reissue.coding import MISSING_CODE
from reissue.methods.registry import STRATEGIES, make_strategy
from tests.support.public import read_public

DIAGNOSES = ("asthma", "cold", "diabetes", "flu")
KINDS = {"numeric": ("age",), "hierarchical": ("job",), "both": ("age", "job")}
SETTINGS: dict[str, list[dict[str, object]]] = {
    "standing": [{"form": "flat"}, {"form": "told"}],
    "static": [{"k": 3}, {"k": 3, "algorithm": "incognito"}],
    "merge": [{"k": 3}],
    "bcf": [{"k": 3}, {"k": 3, "score": "information-gain"}],
    "m-invariance": [{"m": 3, "on_ineligible": "counterfeit"}, {"m": 2, "publishing": "anatomized"}],
    "e-equivalence": [{"m": 2, "e": 2, "on_ineligible": "counterfeit"}],
    "cor-split": [{"m": 3, "n": 2, "on_ineligible": "counterfeit"}],
    "bay-frame": [{"k": 3, "J": 1.0, "beta": 5.0}, {"k": 3, "J": 0.6, "beta": 2.0}],
    "js-reduce": [{"k": 3, "J": 1.0, "t": 0.8}],
    "checked-mondrian": [{"k": 3}],
    "checked-incognito": [{"k": 3}],
}


def people(number: int, *, youngest: int = 20, missing: tuple[str, ...] = ("age", "job")) -> pa.Table:
    """The first `number` people of a table that only grows; every 7th age and every 5th job is not known."""
    rows = range(number)
    return pa.table(
        {
            "name": [f"P{i}" for i in rows],
            "age": [None if "age" in missing and i % 7 == 0 else youngest + i * 11 % 30 for i in rows],
            "job": [None if "job" in missing and i % 5 == 0 else f"{'AB'[i % 2]}{i // 2 % 3}" for i in rows],
            "diagnosis": [DIAGNOSES[(i + i // 9) % 4] for i in rows],
        }
    )


def schema() -> ri.Schema:
    quasi_identifiers: dict[str, object] = {"age": {"type": "numeric"}, "job": {"prefix": [1]}}
    return ri.Schema(
        identifier="name",
        quasi_identifiers=quasi_identifiers,  # type: ignore[arg-type]
        sensitive="diagnosis",
        missing="value",
    )


def check_reading(series: ri.Series, release: ri.Release) -> None:
    """What a recipient reads is what the ledger keeps; nothing lies where no value can lie."""
    facts, read = series._ledger.facts(release.number), read_public(release.path, series.coding)
    if facts.style in ("flat", "told"):  # boxes have no numbers there
        np.testing.assert_array_equal(np.unique(read.boxes, axis=0), np.unique(facts.boxes, axis=0))
    else:
        np.testing.assert_array_equal(read.boxes, facts.boxes)
    ages, domain = facts.codes[:, 0], series.coding.domains[0]
    void = (ages != MISSING_CODE) & ((ages < domain.lo) | (ages > domain.hi))
    assert not void.any(), f"ages {ages[void]} are neither missing nor in the domain"
    ends = facts.boxes[:, 0].astype(np.int64)
    assert ((np.abs(ends) < 1000) | (ends == MISSING_CODE)).all(), "a range ends in the void"


CASES = [(name, settings) for name, variants in SETTINGS.items() for settings in variants]


def test_every_strategy_is_tried() -> None:
    assert set(SETTINGS) == set(STRATEGIES)


@pytest.mark.parametrize("missing", list(KINDS))
@pytest.mark.parametrize(("name", "settings"), CASES, ids=[f"{name}-{i}" for i, (name, _) in enumerate(CASES)])
def test_three_releases_with_missing_values(
    name: str, settings: dict[str, object], missing: str, tmp_path: Path
) -> None:
    strategy = make_strategy({"strategy": name, **settings})
    with ri.Series.create(tmp_path / "s", schema(), strategy, seed=3) as series:
        for number in (42, 56, 84):
            release = series.publish(people(number, missing=KINDS[missing]))
            assert release.counts["published"] >= number - release.counts["suppressed"]
            check_reading(series, release)
        assert (series._ledger.facts(3).codes[:, 0] == MISSING_CODE).any() == (missing != "hierarchical")
        assert series.verify(rebuild=True) == []


@pytest.mark.parametrize("score", ["discernibility", "information-gain"])
def test_bcf_tells_missing_from_known_and_never_makes_a_range_only_newcomers_can_be_in(
    score: str, tmp_path: Path
) -> None:
    """Later snapshots know lower ages. A range of them alone would meet no range of release 1."""
    table = people(84, missing=("age",))
    young = people(120, youngest=5, missing=("age",)).slice(84)
    with ri.Series.create(tmp_path / "s", schema(), ri.BCF(k=3, score=score)) as series:  # type: ignore[arg-type]
        first = series.publish(table)
        check_reading(series, first)
        ranges = series._ledger.facts(1).boxes[:, 0]
        if score == "discernibility":
            assert (ranges[:, 1] == MISSING_CODE).any(), "missing ages were not told apart although there are enough"
            assert (ranges[ranges[:, 1] > MISSING_CODE, 0] == 20).any()
        second = series.publish(pa.concat_tables([table, young]))
        check_reading(series, second)
        ranges = series._ledger.facts(2).boxes[:, 0]
        assert (ranges[ranges[:, 1] > MISSING_CODE, 1] >= 20).all()
        check_reading(series, series.publish(pa.concat_tables([table, young])))


def test_bcf_when_the_first_missing_value_comes_later(tmp_path: Path) -> None:
    """No class of release 2 may hold missing ages alone: release 1 had no place for them."""
    with ri.Series.create(tmp_path / "s", schema(), ri.BCF(k=3)) as series:
        table = people(60, missing=())
        series.publish(table)
        both = pa.concat_tables([table, people(140, missing=("age",)).slice(60)])
        check_reading(series, series.publish(both))
        assert (series._ledger.facts(2).boxes[:, 0, 1] != MISSING_CODE).all()
        check_reading(series, series.publish(both))


@pytest.mark.parametrize("name", ["bcf", "m-invariance", "checked-mondrian"])
def test_an_attribute_of_which_nothing_is_known_yet(name: str, tmp_path: Path) -> None:
    unknown = people(42)
    unknown = unknown.set_column(1, "age", pa.array([None] * 42, type=pa.int64()))
    known = pa.concat_tables([unknown, people(84).slice(42)])
    with ri.Series.create(tmp_path / "s", schema(), make_strategy({"strategy": name, **SETTINGS[name][0]})) as series:
        check_reading(series, series.publish(unknown))
        check_reading(series, series.publish(known))
        check_reading(series, series.publish(known))


@pytest.mark.parametrize("name", ["m-invariance", "e-equivalence", "cor-split"])
def test_counterfeits_are_missing_or_plausible(name: str, tmp_path: Path) -> None:
    """People leave, counterfeits take their places: their ages are missing or possible ones."""
    with ri.Series.create(
        tmp_path / "s", schema(), make_strategy({"strategy": name, **SETTINGS[name][0]}), seed=5
    ) as series:
        table, made = people(84), 0
        for gone in (0, 17, 31):
            release = series.publish(table.slice(gone))
            check_reading(series, release)
            made += release.counts["counterfeits"]
        assert made > 0
        assert series.verify(rebuild=True) == []
