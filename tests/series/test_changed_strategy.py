"""A series whose strategy changes to one that gives people a signature for life: what it takes on, what it refuses."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import reissue as ri
from reissue.errors import InfeasiblePolicy
from reissue.methods.registry import make_attack
from reissue.methods.strategy import Strategy
from tests.support.divided import SCHEMA, People, Turnover

DIAGNOSES = ("asthma", "cold", "diabetes", "flu")
SIGNATURES: list[Strategy] = [
    ri.MInvariance(m=2, on_ineligible="counterfeit"),
    ri.EEquivalence(m=2, e=1, on_ineligible="counterfeit"),
    ri.CorSplit(m=2, n=1, on_ineligible="counterfeit"),
]
FAMILY: list[Strategy] = [ri.CorSplit(m=2, n=1), ri.MInvariance(m=2)]
OTHERS: list[Strategy] = [ri.Static(k=4, l=2), ri.BCF(k=4, confidence=0.5), ri.Merge(k=4, l=2)]
LOST = r"is lost for good: the (intersection|difference|possible-worlds) attack succeeds"


def people(first: int, last: int) -> pa.Table:
    rows = range(first, last)
    return pa.table(
        {
            "name": [f"P{i}" for i in rows],
            "age": [20 + i * 11 % 60 for i in rows],
            "diagnosis": [DIAGNOSES[(i + i // 9) % 4] for i in rows],
        }
    )


def schema() -> ri.Schema:
    return ri.Schema(identifier="name", quasi_identifiers={"age": {"type": "numeric"}}, sensitive="diagnosis")


def named(strategy: Strategy) -> str:
    return strategy.name


@pytest.mark.parametrize("after", SIGNATURES, ids=named)
@pytest.mark.parametrize("before", FAMILY, ids=named)
def test_a_signature_may_begin_with_another_strategy(before: Strategy, after: Strategy, tmp_path: Path) -> None:
    """An e of 1 is kept by any release: every attack shows at least one person."""
    with ri.Series.create(tmp_path / "s", schema(), before, seed=1) as series:
        series.publish(people(0, 60))
        series.publish(people(10, 80), strategy=after)
        series.publish(people(20, 80))
        assert series.publish(people(0, 90)).number == 4, "some come back"
        assert series.verify(rebuild=True) == []


def test_beside_releases_of_others_attacks_are_tried_that_a_series_of_its_own_is_proof_against(tmp_path: Path) -> None:
    """Either nobody is lost by them, or nothing is published and the refusal says who is lost to which attack."""
    refused = 0
    for i, (before, after) in enumerate(product(OTHERS, SIGNATURES)):
        with ri.Series.create(tmp_path / f"{i}", schema(), before, seed=1) as series:
            series.publish(people(0, 60))
            try:
                series.publish(people(10, 80), strategy=after)
            except InfeasiblePolicy as error:
                why = str(error)
                refused += 1
            if len(series.releases) == 1:
                assert re.search(LOST, why)
                continue
            for attack in after.stops:
                done = make_attack(attack, {**after.thresholds(), "c": 1 / 2, "k": 2.0})
                assert not done.run(series.audit(attacks=["association"]).observed, involving=2).breaches
    assert 0 < refused < i, "or one of the two was not tried"


def test_a_refusal_calls_the_release_that_would_be_made_by_its_number(tmp_path: Path) -> None:
    """After a withdrawal it is not its place; the others are called by their labels."""
    with ri.Series.create(tmp_path / "s", schema(), ri.Static(k=4, l=2), seed=1) as series:
        series.publish(people(0, 60), label="May")
        series.publish(people(0, 70), label="wrong")
        series.withdraw("of another ward", not_handed_out=True)
        with pytest.raises(InfeasiblePolicy, match=LOST) as refused:
            series.publish(people(10, 80), strategy=SIGNATURES[1])
        assert "in both release May and release 3 (limit: 50%)" in str(refused.value)
        assert not re.search(r"release [124]\b", str(refused.value))


@pytest.mark.parametrize("before", [ri.Static(k=4, l=2), ri.MInvariance(m=2)], ids=named)
def test_e_above_one_is_refused_and_the_feasible_e_is_named(before: Strategy, tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", schema(), before, seed=1) as series:
        series.publish(people(0, 60))
        with pytest.raises(InfeasiblePolicy, match="largest feasible e is 1"):
            series.publish(people(0, 80), strategy=ri.EEquivalence(m=2, e=2, on_ineligible="counterfeit"))


@pytest.mark.parametrize("after", SIGNATURES, ids=named)
def test_people_shown_with_different_values_are_refused(after: Strategy, tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", schema(), ri.Static(k=4, l=2), seed=1) as series:
        series.publish(people(0, 60))
        series.publish(people(0, 95))
        changed = _shown_differently(series)
        assert changed, "the example shows nobody with different values"
        with pytest.raises(InfeasiblePolicy, match="cannot be taken back") as refused:
            series.publish(people(0, 95), strategy=after)
        assert refused.value.exit_code == 3
        assert f"{len(changed)} of the 95 subjects" in str(refused.value)
        example = re.search(r"for example (?:\{subject:\d+\}|\W?(P\d+))", str(refused.value))
        assert example is not None
        assert example[1] is None or example[1] in changed
        assert len(series.releases) == 2
        gone = pa.Table.from_pylist([row for row in people(0, 95).to_pylist() if row["name"] not in changed])
        with pytest.raises(InfeasiblePolicy, match=LOST):  # those who are not in the snapshot do not matter; others do
            series.publish(gone, strategy=after)


@pytest.mark.parametrize("after", SIGNATURES, ids=named)
def test_the_first_set_shown_again_does_not_undo_another_in_between(after: Strategy, tmp_path: Path) -> None:
    """The classes of releases 1 and 3 show the same sets; what release 2 showed stays known."""
    with ri.Series.create(tmp_path / "s", schema(), ri.Static(k=4, l=2), seed=1) as series:
        for last in (60, 95, 60):
            series.publish(people(0, last))
        first, _, third = (_sets(series, number) for number in (1, 2, 3))
        assert first == third
        with pytest.raises(InfeasiblePolicy, match="different"):
            series.publish(people(0, 60), strategy=after)


def _sets(series: ri.Series, number: int) -> dict[str, frozenset[str]]:
    """The values of everybody's class in one release."""
    rows = series.membership(number).to_pylist()
    shown: dict[int, set[str]] = {}
    for row in rows:
        shown.setdefault(row["class"], set()).add(row["value"])
    return {row["subject"]: frozenset(shown[row["class"]]) for row in rows}


def _shown_differently(series: ri.Series) -> set[str]:
    seen = [_sets(series, release.number) for release in series.releases]
    return {name for name in set().union(*seen) if len({sets[name] for sets in seen if name in sets}) > 1}


def test_one_unchecked_release_among_checked_ones_counts_as_none_was_checked(tmp_path: Path) -> None:
    """What a checked strategy may build on is that all releases before were checked, not that some were."""
    differs = 0
    for seed in (1, 3, 5):
        made = {told: third_release(tmp_path / f"{seed} {told}", seed, told) for told in ("as it was", "none", "all")}
        assert made["as it was"] == made["none"]
        differs += made["as it was"] != made["all"]
    assert differs, "or it makes no difference here, and nothing is proved"


def third_release(path: Path, seed: int, checked: str) -> dict[str, object]:
    """After one of `static` and one of `checked-mondrian`; checked: which of them the ledger says were checked."""
    tables = [table.select(SCHEMA.columns) for table in People(seed).months(3, Turnover(60), first=80)]
    with ri.Series.create(path, SCHEMA, ri.Static(k=3), seed=3) as series:
        for table, strategy in zip(tables, (None, ri.CheckedMondrian(k=2, c=0.9), None), strict=True):
            if len(series.releases) == 2 and checked != "as it was":
                caches = series._ledger.caches()
                assert caches["checks"]["safe"].tolist() == [False, True]
                with series._ledger.publisher():
                    series._ledger.replace_caches({**caches, "checks": {"safe": np.full(2, checked == "all")}})
            places = pa.array([f"{zip[:2]}5" for zip in table["zip"].to_pylist()])  # so few that no codes shift later
            series.publish(table.set_column(2, "zip", places), strategy=strategy)
        return dict(series.membership(3).to_pydict())
