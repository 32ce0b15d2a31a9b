"""BCF in fragments: counted by each, planned for all at once, so that the release is the one of an undivided table."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import reissue as ri
from reissue.arrays.sets import Combinations
from reissue.audit.spark.counted import attack_paths
from reissue.audit.spark.fragment import FragmentReader
from reissue.errors import GuaranteeBroken, InfeasiblePolicy, SettingsError
from reissue.history.past_releases import PastReleases
from reissue.methods.attack import Outcome
from reissue.methods.bcf.attack import Correspondence
from reissue.methods.strategy import Planner, Strategy
from reissue.model import paths
from reissue.model.observed import Observed, ObservedRelease
from reissue.model.release import Candidate, Coded, Facts, History
from tests.support.divided import INSERTS, NOTED, SCHEMA, STRATEGIES, VALUES, People
from tests.support.words import PlainWords

K = 6
HIERARCHIES = ri.Schema(
    identifier="name",
    quasi_identifiers={"zip": {"prefix": [2, 1]}, "age": {"prefix": [1]}},
    sensitive="diagnosis",
)


def created(path: Path, fragments: int | None, schema: ri.Schema = SCHEMA, **settings: object) -> ri.Series:
    strategy = ri.BCF(k=K, **settings)  # type: ignore[arg-type]
    return ri.Series.create(path, schema, strategy, seed=4, fragments=fragments, formats=["parquet"])


def growing(seed: int) -> list[pa.Table]:
    """Three snapshots, each with more rows than the one before; some values are rare."""
    rng = np.random.default_rng(seed)
    rows = pa.table(
        {
            "name": [f"P{i}" for i in range(400)],
            "age": rng.integers(20, 80, 400),
            "zip": [str(place) for place in rng.integers(100, 130, 400)],
            "diagnosis": [VALUES[v] for v in rng.choice(8, 400, p=[0.4, 0.2, 0.15, 0.1, 0.05, 0.05, 0.03, 0.02])],
        }
    )
    return [rows.slice(0, end) for end in (200, 280, 400)]


def public_rows(release: ri.Release) -> list[tuple[object, ...]]:
    table = pq.read_table(release.path / "release.parquet")
    return sorted(zip(*(column.to_pylist() for column in table.columns), strict=True), key=str)


def told(release: ri.Release) -> list[str]:
    """The steps, but for the one that speaks of fragments, without their numbers."""
    return [step.partition(" ")[2] for step in release.steps if "fragments" not in step]


@pytest.mark.parametrize(
    ("schema", "settings"),
    [
        (NOTED, {}),
        (NOTED, {"score": "information-gain", "entropy_l": 1.5}),
        (NOTED, {"start_new_chain": True}),
        (NOTED, {"start_new_chain": 3}),
        (HIERARCHIES, {}),
    ],
    ids=["numbers", "information", "renewing", "renewed", "hierarchies"],
)
def test_the_release_is_that_of_an_undivided_table(
    schema: ri.Schema, settings: dict[str, object], tmp_path: Path
) -> None:
    tables = People(3).months(4, INSERTS, first=250)
    if schema is HIERARCHIES:
        tables = [table.set_column(1, "age", table["age"].cast(pa.string())) for table in tables]
    made: list[list[ri.Release]] = []
    for fragments in (1, 5) if settings else (1, 2, 5):
        with created(tmp_path / str(fragments), fragments, schema, **settings) as series:
            made.append([series.publish(table) for table in tables])
            assert len(series._ledger.shelf.fragments) == fragments
            assert series.verify(rebuild=True) == []
            assert not series.audit(attacks=["correspondence"], k=K).breaches
            if fragments > 1:
                assert {"fragments", "common_classes"} <= set(series._ledger.releases[0].counts)
    for one, *others in zip(*made, strict=True):
        for other in others:
            assert public_rows(other) == public_rows(one)
            assert (other.counts, told(other)) == (one.counts, told(one))
            assert other.utility == pytest.approx(one.utility, rel=1e-12)


def test_everybody_who_could_exist_keeps_k_candidates(tmp_path: Path) -> None:
    for seed in range(3):
        with created(tmp_path / f"s{seed}", 3) as series:
            for table in growing(seed):
                series.publish(table)
            assert not stranger(series).breaches
            assert stranger(series).notes == (), "it was read as one chain"


def test_fragments_made_by_themselves_would_give_people_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Why there is one plan: where boxes meet, somebody could be in a class of one fragment first, then of another."""
    monkeypatch.setattr(ri.BCF, "plans_for_all", False)
    monkeypatch.setattr(ri.BCF, "survey", Strategy.survey)
    found = 0
    for seed in range(4):
        with created(tmp_path / f"s{seed}", 2) as series:
            for table in growing(seed):
                series.publish(table)
            found += len(stranger(series).breaches)
        if found:
            break
    assert found


def stranger(series: ri.Series) -> Outcome:
    """What somebody finds who knows nothing but the releases: everybody who could exist must be safe."""
    releases = [
        replace(ObservedRelease.of(facts), members=None) for facts in PastReleases(series._ledger, series.coding)
    ]
    seen = Observed(releases, series.coding.domains, len(series.coding.values), PlainWords())
    return Correspondence(k=K).run(seen)


def test_a_release_that_gives_people_away_is_not_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check of all fragments together sees what no fragment does."""
    made = ri.BCF.plan
    monkeypatch.setattr(ri.BCF, "plan", lambda self, *given: made(replace(self, k=2), *given))
    with created(tmp_path / "s", 3) as series, pytest.raises(GuaranteeBroken, match="correspondence attack would"):
        series.publish(growing(1)[0])


def test_a_class_without_anybody_is_not_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = ri.BCF.plan

    def with_one_more(self: ri.BCF, *given: object) -> Candidate:
        plan = made(self, *given)  # type: ignore[arg-type]
        return replace(plan, boxes=np.concatenate([plan.boxes, plan.boxes[:1]]))

    monkeypatch.setattr(ri.BCF, "plan", with_one_more)
    with created(tmp_path / "s", 3) as series, pytest.raises(GuaranteeBroken, match="a class is empty"):
        series.publish(growing(1)[0])


def test_a_record_without_a_place_is_a_fault_and_not_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    published = ri.BCF.publish

    def elsewhere(self: ri.BCF, snapshot: Coded, history: History) -> Candidate:
        moved = replace(snapshot, codes=np.asfortranarray(snapshot.codes[::-1, ::-1]))
        return published(self, moved, history)

    monkeypatch.setattr(ri.BCF, "publish", elsewhere)
    with created(tmp_path / "s", 3) as series, pytest.raises((AssertionError, GuaranteeBroken)) as told:
        series.publish(growing(1)[0])
    assert "outside the box of its class" in str(told.value) or "has no place in the plan" in str(told.value)


def test_a_plan_that_lost_a_class_has_no_place_for_its_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned = ri.BCF.plan

    def lost(self: ri.BCF, *given: object) -> Candidate:
        plan = planned(self, *given)  # type: ignore[arg-type]
        return replace(plan, boxes=plan.boxes[:-1])

    monkeypatch.setattr(ri.BCF, "plan", lost)
    with created(tmp_path / "s", 3) as series:
        with pytest.raises(AssertionError, match="a record has no place in the plan"):
            series.publish(growing(1)[0])
        assert series.releases == []


def test_attacks_that_cannot_read_counts_stop_the_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Correspondence, "divisions", {})
    with created(tmp_path / "s", 3) as series, pytest.raises(GuaranteeBroken, match="cannot be tried on counts"):
        series.publish(growing(1)[0])


@pytest.mark.parametrize("seed", range(6))
def test_counts_tell_the_attack_as_much_as_rows_do(seed: int, tmp_path: Path) -> None:
    """The same measures and weak classes, of releases that each k-anonymize by themselves and give people away."""
    with ri.Series.create(tmp_path / "s", SCHEMA, ri.Static(k=3), seed=seed) as series:
        for table in growing(seed):
            series.publish(table)
        past = list(PastReleases(series._ledger, series.coding))
        coding = series.coding
    ways, people = paths.count_paths(past, PlainWords())
    order = np.argsort(people)
    ways = Combinations(tuple(column[order] for column in ways.columns), ways.counts[order])
    counted = paths.make_counted_releases([facts.boxes for facts in past], ways, people[order])
    rows = [ObservedRelease.of(facts) for facts in past]
    outcomes = [
        Correspondence(k=4, confidence=0.6, limit=10_000).run(
            Observed(releases, coding.domains, len(coding.values), PlainWords())
        )
        for releases in (counted, rows)
    ]
    assert outcomes[0].measures == outcomes[1].measures
    assert outcomes[0].total == outcomes[1].total
    assert outcomes[1].breaches
    found = [[(f.classes, f.level, f.breach, f.sentence) for f in outcome.findings] for outcome in outcomes]
    assert found[0] == found[1], "in the same order, too"


def test_ways_know_of_changed_values_and_counterfeits(tmp_path: Path) -> None:
    with created(tmp_path / "s", 1) as series:
        for table in growing(2)[:2]:
            series.publish(table)
        first, second = PastReleases(series._ledger, series.coding)
    with pytest.raises(GuaranteeBroken, match="differs from the one"):
        paths.count_paths([first, replace(second, values=(second.values + 1) % 8)], PlainWords())
    with pytest.raises(GuaranteeBroken, match="stands for nobody"):
        paths.count_paths([first, replace(second, subjects=second.subjects - 1)], PlainWords())


class _Inline:
    """What a worker of Spark would do, done here."""

    def rows_from_tasks(self, tasks: list[FragmentReader], read: Callable[[FragmentReader], object], _: object) -> None:
        for task in tasks:
            list(read(task))  # type: ignore[call-overload]


def test_an_audit_tells_by_labels_what_differs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with created(tmp_path / "s", 3) as series:
        for table in growing(2)[:2]:
            series.publish(table)
        shelf, coding = series._ledger.shelf, series.coding

    def alter(*given: object) -> list[Facts]:
        first, second = PastReleases(*given)  # type: ignore[arg-type]
        return [first, replace(second, values=(second.values + 1) % len(coding.values))]

    monkeypatch.setattr("reissue.audit.spark.counted.PastReleases", alter)
    readers = FragmentReader.every(shelf, coding, shelf.fragments, common=True)
    with pytest.raises(GuaranteeBroken, match=r"in release 2 a sensitive value differs") as told:
        attack_paths(_Inline(), readers, Correspondence(k=4, confidence=0.6))  # type: ignore[arg-type]
    now, was = re.findall(r"'([^']*)'", str(told.value))
    assert {now, was} <= set(coding.values)
    assert "{" not in str(told.value)


def test_what_cannot_hold_is_told_of_the_whole_table(tmp_path: Path) -> None:
    first, second, _ = growing(1)
    few = pa.concat_tables([first, second.slice(200, 3)])
    messages = []
    for fragments in (1, 4):
        with created(tmp_path / str(fragments), fragments) as series:
            series.publish(first)
            with pytest.raises(InfeasiblePolicy) as refused:
                series.publish(few)
            messages.append(str(refused.value))
            assert len(series.releases) == 1
    assert messages[0] == messages[1]
    assert "BA = 3" in messages[0]


def test_no_strategy_of_the_other_kind_follows(tmp_path: Path) -> None:
    first, second = People(1).months(2, INSERTS)
    with ri.Series.create(tmp_path / "s", SCHEMA, ri.Static(k=5), fragments=2) as series:
        series.publish(first)
        with pytest.raises(SettingsError, match="'static', which makes every fragment by itself; 'bcf' makes one plan"):
            series.publish(second, strategy=ri.BCF(k=5))
    with created(tmp_path / "t", 2) as series:
        series.publish(first)
        with pytest.raises(SettingsError, match="'bcf', which makes one plan for all fragments; 'm-invariance' makes"):
            series.publish(second, strategy=ri.MInvariance(m=2))
        assert len(series.releases) == 1


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: s.name)
def test_who_plans_for_all_promises_only_what_attacks_measure_on_counts(strategy: Strategy) -> None:
    """`requirement` and `check` would see single fragments, which have only some rows of each class."""
    assert isinstance(strategy, Planner) == isinstance(strategy, ri.BCF)
    assert isinstance(strategy, Planner) == strategy.plans_for_all
    if isinstance(strategy, Planner):
        assert strategy.stops
        assert strategy.requirement is None
        assert type(strategy).check is Strategy.check


def test_people_of_earlier_chains_stay_left_out_while_the_table_grows(tmp_path: Path) -> None:
    """They are in every snapshot, and what has changed about them does not matter: nothing is published of it."""
    tables = People(3).months(5, INSERTS)
    old = set(tables[0]["name"].to_pylist())
    tables[4] = tables[4].set_column(
        1,
        "age",
        pa.array(
            [
                age + (name in old)
                for name, age in zip(tables[4]["name"].to_pylist(), tables[4]["age"].to_pylist(), strict=True)
            ]
        ),
    )
    for fragments in (1, 3):
        with created(tmp_path / str(fragments), fragments, start_new_chain=3) as series:
            made = [series.publish(table) for table in tables]
            assert [release.counts["published"] for release in made] == [900, 1050, 150, 300, 450]
            assert [release.counts["suppressed"] for release in made] == [0, 0, 1050, 1050, 1050]
            assert {release.counts["back"] for release in made} == {0}
            assert made[-1].counts["changed"] == 0
            assert not series.audit(attacks=["correspondence"], k=K).breaches
