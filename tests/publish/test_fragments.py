"""A series divided into fragments keeps every promise of one that is not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import reissue as ri
from reissue.errors import ChangeError, InfeasiblePolicy, SettingsError
from reissue.ledger.shelf import OF_FRAGMENTS
from reissue.methods.strategy import Strategy
from reissue.model.requirement_check import violations
from tests.support.divided import CHURN, INSERTS, SCHEMA, STRATEGIES, VALUES, People
from tests.support.oracles import class_meets
from tests.support.public import read_public

EVERY = pytest.mark.parametrize(
    "strategy", STRATEGIES, ids=lambda s: f"{s.name}-{getattr(s, 'algorithm', '')}".strip("-")
)
FRAGMENTS = 3


def months(strategy: Strategy, count: int = 4, seed: int = 1) -> list[pa.Table]:
    return People(seed).months(count, CHURN if strategy.supports.gone else INSERTS)


def created(path: Path, strategy: Strategy, fragments: int | None = FRAGMENTS, seed: int = 7) -> ri.Series:
    return ri.Series.create(path, SCHEMA, strategy, seed=seed, fragments=fragments, formats=["parquet"])


@EVERY
def test_the_guarantee_holds_over_all_fragments_and_nobody_changes_fragment(strategy: Strategy, tmp_path: Path) -> None:
    tables, home = months(strategy), dict[int, int]()
    with created(tmp_path / "s", strategy) as series:
        for number, table in enumerate(tables, start=1):
            release = series.publish(table)
            assert release.counts["published"] + release.counts["suppressed"] - release.counts["counterfeits"] == len(
                table
            )
            members = series.membership(number)
            names = [name for name in members["subject"].to_pylist() if name is not None]
            assert len(names) == len(set(names))
            assert set(names) <= set(table["name"].to_pylist())
            _as_published(series, number)
            sizes = [_count_at_home(series, number, fragment, home) for fragment in range(FRAGMENTS)]
            assert min(sizes) > 0.2 * sum(sizes)
        assert series.verify(rebuild=True) == []
        if strategy.stops:
            audit = series.audit(attacks=strategy.stops)
            assert not audit.breaches, audit.breaches[0].sentence


def _as_published(series: ri.Series, number: int) -> None:
    """The files show the classes, boxes and values that the ledger remembers, under the same numbers."""
    seen = read_public(series.releases[number - 1].path, series.coding)
    facts = series._ledger.facts(number)
    if not facts.anatomized:
        assert np.array_equal(seen.boxes, facts.boxes)
    assert sorted(zip(seen.classes.tolist(), seen.values.tolist(), strict=True)) == sorted(
        zip(facts.classes.tolist(), facts.values.tolist(), strict=True)
    )
    assert len(np.unique(facts.subjects)) == len(facts.subjects)
    assert np.array_equal(series._ledger.shelf.subjects(number), facts.subjects)


def _count_at_home(series: ri.Series, number: int, fragment: int, home: dict[int, int]) -> int:
    """The rows of a fragment, whose people were never in another one."""
    facts = series._ledger.shelf.facts(number, fragment)
    for subject in facts.subjects[facts.real].tolist():
        assert home.setdefault(subject, fragment) == fragment
    return len(facts.subjects)


def test_the_same_seed_gives_the_same_release(tmp_path: Path) -> None:
    tables = months(ri.MInvariance(m=3), 2)
    files = []
    for name in ("a", "b"):
        with created(tmp_path / name, ri.MInvariance(m=3)) as series:
            files.append([(series.publish(table).path / "release.parquet").read_bytes() for table in tables])
    assert files[0] == files[1]


def test_small_tables_are_not_divided(tmp_path: Path) -> None:
    table = months(ri.Static(k=5), 1)[0]
    made = []
    for name, fragments in (("auto", None), ("one", 1)):
        with created(tmp_path / name, ri.Static(k=5), fragments) as series:
            made.append((series.publish(table).path / "release.parquet").read_bytes())
            assert series._ledger.fragments is None
    assert made[0] == made[1]


def test_large_tables_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reissue.publish.division.ROWS", 200)
    table = months(ri.Static(k=5), 1)[0]
    with created(tmp_path / "s", ri.Static(k=5), None) as series:
        release = series.publish(table)
        assert len(series._ledger.shelf.fragments) == -(-len(table) // 200)
        assert any("fragments" in step for step in release.steps)


FULL_DOMAIN = [ri.Static(k=5, algorithm="incognito"), ri.CheckedIncognito(k=4, c=0.7)]


@pytest.mark.parametrize("strategy", FULL_DOMAIN, ids=lambda s: s.name)
def test_levels_of_the_whole_table_are_not_chosen_fragment_by_fragment(strategy: Strategy, tmp_path: Path) -> None:
    """Refused when a series is created, when a divided one changes to it, and when a first release would divide it."""
    words = r"one level of every attribute for the whole table.* fragments = 1, or use .*mondrian.* in 3 fragments"
    with pytest.raises(SettingsError, match=words):
        created(tmp_path / "s", strategy, 3)
    table = months(ri.Static(k=5), 1)[0]
    with created(tmp_path / "t", ri.Static(k=5), 3) as series:
        with pytest.raises(SettingsError, match=words):
            series.publish(table, strategy=strategy)
        series.publish(table)
        with pytest.raises(SettingsError, match=words):
            series.publish(table, strategy=strategy)
        assert len(series.releases) == 1


@pytest.mark.parametrize("strategy", FULL_DOMAIN, ids=lambda s: s.name)
def test_large_tables_with_levels_for_all_stay_whole(
    strategy: Strategy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reissue.publish.division.ROWS", 200)
    with created(tmp_path / "s", strategy, None) as series:
        for table in months(strategy, 2):
            series.publish(table)
        assert series._ledger.fragments is None


@pytest.mark.parametrize(
    "strategy",
    [
        ri.Static(k=4, t=0.3),
        ri.Static(k=4, t=0.12, ordered=True, value_order=tuple(sorted(VALUES))),
        ri.Static(k=4, beta=1.0),
        ri.Static(k=4, beta=3.0, likeness="enhanced"),
    ],
    ids=str,
)
def test_closeness_is_that_to_the_whole_table(strategy: ri.Static, tmp_path: Path) -> None:
    """Old people have other values than young ones, so a fragment by itself would be another table."""
    schema = ri.Schema(identifier="name", quasi_identifiers={"age": {"type": "numeric"}}, sensitive="diagnosis")
    with ri.Series.create(tmp_path / "s", schema, strategy, seed=7, fragments=FRAGMENTS) as series:
        for number in (1, 2):
            series.publish(aging(1_200, seed=number))
            facts = series._ledger.facts(number)
            everybody = facts.values.tolist()
            width = max(everybody) + 1
            for one in range(facts.class_count):
                own = facts.values[facts.classes == one].tolist()
                assert class_meets(strategy.requirement, own, everybody, width)
        parts = [series._ledger.shelf.facts(1, fragment) for fragment in range(FRAGMENTS)]
        alone = [violations(strategy.requirement, p.classes, p.values, width) for p in parts]
        assert any(alone) or strategy.ordered, "some class is too far from its own fragment: the whole was looked at"


def aging(rows: int, seed: int) -> pa.Table:
    """A value that becomes more frequent with age."""
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 80, rows)
    value = np.where(rng.random(rows) < (age - 20) / 150, 0, rng.integers(1, 8, rows))
    return pa.table(
        {
            "name": [f"P{seed}-{i}" for i in range(rows)],
            "age": age,
            "zip": [str(place) for place in rng.integers(100, 160, rows)],
            "diagnosis": [VALUES[v] for v in value],
        }
    )


def test_a_fragment_unlike_the_table_is_refused(tmp_path: Path) -> None:
    """Whoever comes later may make a fragment too different from the others; nothing is published then."""
    with created(tmp_path / "s", ri.Static(k=4, t=0.2)) as series:
        table = aging(900, 1)
        series.publish(table)
        old = np.array(table["age"]) >= 50
        values = np.where(old, "flu", np.array(table["diagnosis"].to_pylist()))
        unlike = table.set_column(3, "diagnosis", pa.array(values))
        with pytest.raises(InfeasiblePolicy, match=r"In fragment . of 3: t = 0.2 cannot hold: .* whole table"):
            series.publish(unlike)
        assert len(series.releases) == 1


def test_the_strategy_may_change_between_releases(tmp_path: Path) -> None:
    tables = months(ri.MInvariance(m=3))
    with created(tmp_path / "s", ri.CorSplit(m=3, n=2, on_ineligible="counterfeit")) as series:
        series.publish(tables[0])
        after = ri.MInvariance(m=2, on_ineligible="counterfeit")
        series.publish(tables[1], strategy=after)
        series.publish(tables[2])
        assert series.verify(rebuild=True) == []


def test_codes_that_shift_leave_everybody_in_place(tmp_path: Path) -> None:
    """Younger people than ever before come in: every code of age moves."""
    people = People(3)
    first, second = people.months(2, INSERTS)
    young = pa.table(
        {
            "name": [f"young{i}" for i in range(60)],
            "age": [i % 9 for i in range(60)],
            "zip": [f"1{i % 5}0" for i in range(60)],
            "diagnosis": second["diagnosis"].to_pylist()[:60],
            "note": [""] * 60,
        }
    )
    with created(tmp_path / "s", ri.CheckedMondrian(k=4, c=0.8)) as series:
        series.publish(first)
        series.publish(pa.concat_tables([second, young.cast(second.schema)]))
        before, after = series._ledger.shelf.facts, {}
        for number in (1, 2):
            for fragment in range(FRAGMENTS):
                facts = before(number, fragment)
                after.update({(int(s), number): fragment for s in facts.subjects[facts.real]})
        assert all(after[s, 2] == home for (s, number), home in after.items() if number == 1)
        assert not series.audit(attacks=["intersection", "difference", "record-tracing"]).breaches


def test_what_cannot_be_protected_is_told_once_for_all_fragments(tmp_path: Path) -> None:
    first = months(ri.CheckedMondrian(k=4))[0]
    with created(tmp_path / "s", ri.CheckedMondrian(k=4)) as series:
        series.publish(first)
        with pytest.raises(ChangeError) as error:
            series.publish(first.slice(100))
        assert str(error.value).count("- 100 subjects of the last release are not in the snapshot: P") == 1
        assert "{subject" not in str(error.value)
        assert len(series.releases) == 1


def test_an_infeasible_fragment_is_named(tmp_path: Path) -> None:
    table = months(ri.Static(k=5), 1)[0]
    with (
        created(tmp_path / "s", ri.Static(k=len(table) // 2)) as series,
        pytest.raises(InfeasiblePolicy, match="In fragment 1 of 3"),
    ):
        series.publish(table)


@pytest.mark.parametrize("wrong", [0, -2, True])
def test_wrong_numbers_of_fragments(wrong: int, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="fragments"):
        created(tmp_path / "s", ri.Static(k=5), wrong)


def test_forgetting_reaches_every_fragment(tmp_path: Path) -> None:
    table = months(ri.Static(k=5), 1)[0]
    with created(tmp_path / "s", ri.Static(k=5)) as series:
        series.publish(table)
        for name in table["name"].to_pylist()[:20]:
            series.forget(name)
        left = set(series.membership(1)["subject"].to_pylist())
        assert None in left
        assert not left & set(table["name"].to_pylist()[:20])
        assert series.publish(table).counts["new"] == 0, "each is known again, in its fragment"


def test_a_worker_is_sent_the_files_of_its_own_fragment_only(tmp_path: Path) -> None:
    strategy = ri.CheckedMondrian(k=4, c=0.7)
    with created(tmp_path / "s", strategy) as series:
        for table in months(strategy, 2):
            series.publish(table)
        whole = series._ledger.shelf
        shelves = whole.divided(FRAGMENTS)
        private = [file for role in OF_FRAGMENTS for file in whole.state.of_role(role)]
        sent = [file for shelf in shelves for role in OF_FRAGMENTS for file in shelf.state.of_role(role)]
        assert sorted(file.path for file in sent) == sorted(file.path for file in private)
        for fragment, shelf in enumerate(shelves):
            assert shelf.coding() == whole.coding()
            assert (shelf.facts(2, fragment).subjects == whole.facts(2, fragment).subjects).all()
            assert (shelf.subjects(2, fragment) == whole.facts(2, fragment).subjects).all()
            assert shelf.caches(fragment).keys() == whole.caches(fragment).keys() != set()
            assert shelf.identities(fragment)[0].equals(whole.identities(fragment)[0])
