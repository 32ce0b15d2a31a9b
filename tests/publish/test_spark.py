"""Publishing on Spark: the same releases, the same guarantees, and no rows on the driver."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import reissue as ri
from reissue.engine.identifiers import hash_identifiers
from reissue.engine.spark import verbs
from reissue.errors import ChangeError, InfeasiblePolicy, SettingsError, SnapshotError
from reissue.methods.strategy import Strategy
from reissue.publish.spark import executor
from tests.support import spark
from tests.support.divided import CHURN, INSERTS, NOTED, SCHEMA, STRATEGIES, People
from tests.support.public import read_public

pytestmark = [spark.together, spark.quiet]

FRAGMENTS = 3
RANGED = ri.Schema(
    identifier="name",
    quasi_identifiers={"age": {"type": "numeric"}, "zip": {"prefix": [2, 1], "labels": "ranges"}},
    sensitive="diagnosis",
    insensitive=["note"],
)
"""The schema `NOTED`, with ranges of codes where that shows groups."""


@pytest.fixture(autouse=True)
def running() -> None:
    """Series find the session of this process; without Spark these tests are skipped."""
    spark.engine()


def months(strategy: Strategy, count: int, seed: int = 2) -> list[pa.Table]:
    return People(seed).months(count, CHURN if strategy.supports.gone else INSERTS)


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> list[verbs.Spark]:
    """Every engine that a test will have used, the last one last, with its count of what came to the driver."""
    engines: list[verbs.Spark] = []
    monkeypatch.setattr(verbs, "connect", lambda settings: engines.append(spark.engine()) or engines[-1])
    return engines


def assert_no_rows_came(engine: verbs.Spark, table: pa.Table) -> None:
    """All transfers go through one counted method; a publish of 900 rows or more brings distinct values, and little."""
    distinct = len(set(table["zip"].to_pylist())) + len(set(table["diagnosis"].to_pylist()))
    assert engine.transfers["distinct values"] > distinct, "nothing was counted"
    assert engine.transfers.total() < distinct + table.num_rows / 50, engine.transfers


def rows_of(path: Path) -> list[tuple[object, ...]]:
    table = pq.read_table(path)
    return sorted(zip(*(column.to_pylist() for column in table.columns), strict=True), key=str)


def assert_same(one: ri.Series, other: ri.Series, number: int) -> None:
    """The same classes under the same numbers with the same people, in the ledger and in the files."""
    here, there = one._ledger.facts(number), other._ledger.facts(number)
    for name in ("boxes", "subjects", "classes", "values", "codes"):
        assert np.array_equal(getattr(here, name), getattr(there, name)), name
    first, second = one.releases[number - 1], other.releases[number - 1]
    assert (first.steps, first.counts, first.utility) == (second.steps, second.counts, second.utility)
    assert (first.path / "release.json").read_bytes() == (second.path / "release.json").read_bytes()
    for file in sorted(first.path.glob("*.parquet")):
        assert rows_of(file) == rows_of(second.path / file.name)
        assert pq.read_schema(file).equals(pq.read_schema(second.path / file.name))


SUCCESSIONS = {
    "coming and going": (CHURN, ["m-invariance", "static", "merge"]),
    "values in order": (CHURN, ["e-equivalence", "cor-split"]),
    "beliefs": (CHURN, ["bay-frame", "js-reduce", "static-t"]),
    "insertions": (INSERTS, ["checked-mondrian", "checked-mondrian"]),
    "in one piece": (INSERTS, ["static-incognito", "checked-incognito"]),
}
"""Every strategy once, but for `bcf`, which only follows itself.

What one remembers is folded anew from the facts when the next one follows it.
"""
WITH_RANGES = "coming and going"
"""Boxes are intervals of codes, whatever the hierarchy says: both engines print the same ranges."""

NAMED = {
    "static": ri.Static(k=5, c=0.6),
    "static-incognito": ri.Static(k=5, c=0.6, algorithm="incognito"),
    "static-t": ri.Static(k=5, t=0.3),
    "checked-incognito": ri.CheckedIncognito(k=4, c=0.7),
    **{strategy.name: strategy for strategy in STRATEGIES if strategy.name not in ("static", "bcf")},
}


@pytest.mark.parametrize("name", SUCCESSIONS)
def test_every_strategy_gives_the_same_release(name: str, tmp_path: Path, engines: list[verbs.Spark]) -> None:
    """One series on Spark, another embedded, strategy after strategy; rows never come to the driver."""
    turnover, names = SUCCESSIONS[name]
    fragments, schema = 1 if NAMED[names[0]].undivided else FRAGMENTS, RANGED if name == WITH_RANGES else NOTED
    made = [
        ri.Series.create(tmp_path / engine, schema, NAMED[names[0]], seed=11, fragments=fragments, formats=["parquet"])
        for engine in ("embedded", "spark")
    ]
    assert {one for _, names in SUCCESSIONS.values() for one in names} == set(NAMED)
    file = tmp_path / "snapshot.parquet"
    for number, table in enumerate(People(2).months(len(names), turnover), start=1):
        pq.write_table(table, file, row_group_size=200)
        for series in made:
            series.publish(file, strategy=NAMED[names[number - 1]], engine=series.path.name)
        assert len(engines) == number
        assert_no_rows_came(engines[-1], table)
        assert_same(*made, number)  # type: ignore[call-arg]
    assert made[1].verify(rebuild=True) == []
    files = [file for release in made[1].releases for file in release.path.glob("*.parquet")]
    assert any(".." in str(row) for file in files for row in rows_of(file)) == (schema is RANGED)
    for series in made:
        series.close()


def test_standing_classes_are_the_same_on_both_engines(tmp_path: Path) -> None:
    """Flat, then told, then people of one fragment only, but for two: facts of classes, tokens and boxes agree, too."""
    strategies = [ri.Standing(totals=0.5), ri.Standing(form="told", totals=0.5), ri.Standing(totals=0.5)]
    made = [
        ri.Series.create(tmp_path / engine, NOTED, strategies[0], seed=11, fragments=FRAGMENTS, formats=["parquet"])
        for engine in ("embedded", "spark")
    ]
    file = tmp_path / "snapshot.parquet"
    tables = People(2).months(2, CHURN)
    for number, table in enumerate([*tables, tables[0]], start=1):
        pq.write_table(table if number < 3 else keep_one_fragment(made[0], table), file, row_group_size=200)
        for series in made:
            series.publish(file, strategy=strategies[number - 1], engine=series.path.name)
        assert_same(*made, number)  # type: ignore[call-arg]
        here, there = (series._ledger.facts(number).extras for series in made)
        assert set(here) == set(there)
        for name in here:
            assert np.array_equal(here[name], there[name]), name
        assert (made[1].releases[number - 1].path / "totals.parquet").exists()
    assert any("shared with other fragments" in step for step in made[1].releases[2].steps)
    assert made[1].verify(rebuild=True) == []
    assert not made[1].audit(attacks=ri.Standing.stops, engine="spark").breaches
    for series in made:
        series.close()


def keep_one_fragment(series: ri.Series, table: pa.Table) -> pa.Table:
    """The rows of the first fragment's people, and two of the second's."""
    starts = series._ledger.releases[0].counts["fragments"]
    assert isinstance(starts, list)
    members = series.membership(1)
    numbers = dict(zip(members["subject"].to_pylist(), members["number"].to_pylist(), strict=True))
    order = np.argsort([numbers[name] for name in table["name"].to_pylist()])
    return table.take(pa.array(order[: starts[1] + 2]))


@pytest.mark.parametrize("strategy", [ri.MInvariance(m=3), ri.BCF(k=5)], ids=lambda s: s.name)
def test_engines_take_turns_and_the_guarantee_holds(
    strategy: Strategy, tmp_path: Path, engines: list[verbs.Spark]
) -> None:
    """Spark first, then embedded, then Spark again; another series stays embedded throughout."""
    made = [
        ri.Series.create(tmp_path / name, NOTED, strategy, seed=11, fragments=FRAGMENTS, formats=["parquet"])
        for name in ("embedded", "mixed")
    ]
    file = tmp_path / "snapshot.parquet"
    for number, table in enumerate(months(strategy, 3), start=1):
        pq.write_table(table, file, row_group_size=200)
        made[0].publish(file)
        made[1].publish(file, engine="spark" if number != 2 else "embedded")
        if number != 2:
            assert_no_rows_came(engines[-1], table)
        assert_same(*made, number)  # type: ignore[call-arg]
    assert made[1].verify(rebuild=True) == []
    assert not made[1].audit(attacks=strategy.stops).breaches
    for series in made:
        series.close()


def test_a_large_release_is_a_folder_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor, "PART_ROWS", 250)
    table = months(ri.Static(k=5), 1)[0]
    folder = tmp_path / "snapshot"
    folder.mkdir()
    for part in range(3):
        pq.write_table(table.slice(part * 300, 300), folder / f"part-{part}.parquet")
    with ri.Series.create(tmp_path / "s", NOTED, ri.Static(k=5), seed=3, fragments=2) as series:
        release = series.publish(folder, engine="spark")
        for kind in ("parquet", "csv"):
            parts = sorted((release.path / f"release.{kind}").iterdir())
            assert len(parts) > 1
            assert all(part.name == f"part-{i:05d}.{kind}" for i, part in enumerate(parts))
        seen, facts = read_public(release.path, series.coding), series._ledger.facts(1)
        assert np.array_equal(seen.boxes, facts.boxes)
        assert sorted(seen.classes.tolist()) == sorted(facts.classes.tolist())
        assert series.verify() == []
        assert ri.audit(releases=[release.path], schema=NOTED).observed.releases[0].class_count == facts.class_count
        whole = pa.concat_tables([pq.read_table(part) for part in sorted((release.path / "release.parquet").iterdir())])
        assert len(whole) == len(table)
        first = set(pq.read_table(sorted((release.path / "release.parquet").iterdir())[0])["class"].to_pylist())
        halves = [series._ledger.shelf.facts(1, fragment).class_count for fragment in range(2)]
        assert len(first) > max(halves) * 0.6, "rows of all fragments are mixed over the files"


def test_tables_and_frames_of_spark_are_snapshots(tmp_path: Path) -> None:
    engine = spark.engine()
    table = months(ri.MInvariance(m=3), 1)[0]
    engine.write_table(engine.table(table), "table:reissue_people")
    made = []
    try:
        for name, source in (("table", "table:reissue_people"), ("frame", engine.table(table))):
            with ri.Series.create(tmp_path / name, NOTED, ri.MInvariance(m=3), seed=5, engine="spark") as series:
                release = series.publish(source)  # type: ignore[arg-type]
                made.append(rows_of(release.path / "release.parquet"))
    finally:
        engine.session.sql("DROP TABLE reissue_people")
    places = hash_identifiers(table["name"].combine_chunks()).view(np.int64)  # what has no order is taken by these
    ordered = table.take(pa.array(np.argsort(places)))
    with ri.Series.create(tmp_path / "here", NOTED, ri.MInvariance(m=3), seed=5) as series:
        made.append(rows_of(series.publish(ordered).path / "release.parquet"))
    assert made[0] == made[1] == made[2]


def test_a_release_becomes_a_spark_table(tmp_path: Path) -> None:
    engine = spark.engine()
    table = months(ri.Static(k=5), 1)[0]
    pq.write_table(table, tmp_path / "s.parquet")
    with ri.Series.create(tmp_path / "s", NOTED, ri.Static(k=5), engine="spark") as series:
        release = series.publish(tmp_path / "s.parquet", table="reissue_release")
        try:
            assert engine.session.table("reissue_release").count() == release.counts["published"]
            with pytest.raises(SettingsError, match="reissue_release"):
                series.publish(tmp_path / "s.parquet", table="reissue_release")
            assert len(series.releases) == 1, "nothing was published, since the table was there"
        finally:
            engine.session.sql("DROP TABLE reissue_release")
        with pytest.raises(SettingsError, match="Spark"):
            series.publish(tmp_path / "s.parquet", table="other", engine="embedded")


def test_an_encrypted_ledger_stays_encrypted(tmp_path: Path) -> None:
    table = months(ri.MInvariance(m=3), 1)[0]
    pq.write_table(table, tmp_path / "s.parquet")
    with ri.Series.create(tmp_path / "s", SCHEMA, ri.MInvariance(m=3), key=b"k" * 32, fragments=2) as series:
        series.publish(tmp_path / "s.parquet", engine="spark")
        series.publish(tmp_path / "s.parquet")
        assert len(series.membership(2)) == len(table)
    for file in (tmp_path / "s" / "private").rglob("*"):
        if file.is_file():
            assert b"P00001" not in file.read_bytes()


def test_mistakes_are_told_as_on_one_machine(tmp_path: Path) -> None:
    table = months(ri.CheckedMondrian(k=4), 1)[0]
    good, bad = tmp_path / "good.parquet", tmp_path / "bad.parquet"
    pq.write_table(table, good)
    told: list[list[str]] = []
    for engine in ("embedded", "spark"):
        problems = []
        with ri.Series.create(
            tmp_path / engine, NOTED, ri.CheckedMondrian(k=4), seed=1, fragments=2, engine=engine
        ) as series:
            series.publish(good)
            older = [age + (place == 700) / 2 for place, age in enumerate(table["age"].to_pylist())]
            halves = table.set_column(1, "age", pa.array(older))
            twice = pa.concat_tables([table, table.slice(0, 3)])
            written = pa.array([name.lower() for name in table["name"].to_pylist()])
            for wrong in (
                table.slice(40),
                twice,
                table.drop_columns(["age"]),
                halves,
                table.set_column(0, "name", written),
            ):
                pq.write_table(wrong, bad)
                with pytest.raises((ChangeError, SnapshotError)) as error:
                    series.publish(bad)
                problems.append(f"{type(error.value).__name__}: {error.value}")
            with pytest.raises(InfeasiblePolicy, match="In fragment 1 of 2") as infeasible:
                series.publish(good, strategy=ri.Static(k=2_000))
            problems.append(str(infeasible.value))
            assert len(series.releases) == 1
            assert not list((tmp_path / engine / "private" / "staging").iterdir())
        told.append(problems)
    for problems in told:  # of a repeated identifier Spark names the first row, and counts the others
        problems[1] = re.sub(r"in rows? (\d+)(, \d+| and 1 more)\.", r"in row \1 and another.", problems[1])
    assert told[0] == told[1]
    assert "in row 1 and another." in told[0][1]
    assert "{subject" not in "".join(told[0])
    assert "in row 701" in told[0][3]
    assert "new ones are those of people of earlier snapshots" in told[0][4]


def test_odd_names_and_types_of_columns(tmp_path: Path) -> None:
    table = months(ri.Static(k=5), 1)[0]
    odd = table.drop_columns(["note"])
    odd = odd.append_column("a.b `c`", pa.array(range(len(table)), pa.uint16()))
    odd = odd.append_column("when", pa.array([1_700_000_000_000 + i for i in range(len(table))], pa.timestamp("ms")))
    schema = ri.Schema(
        identifier="name",
        quasi_identifiers={"age": {"type": "numeric"}},
        sensitive="diagnosis",
        insensitive=["a.b `c`", "when"],
    )
    pq.write_table(odd, tmp_path / "s.parquet")
    made = []
    for engine in ("embedded", "spark"):
        with ri.Series.create(tmp_path / engine, schema, ri.Static(k=5), seed=1, engine=engine) as series:
            file = series.publish(tmp_path / "s.parquet").path / "release.parquet"
            made.append((rows_of(file), pq.read_schema(file)))
    assert made[0] == made[1]


def test_a_fragment_that_everybody_left(tmp_path: Path) -> None:
    """Who is gone is noticed even where no row of the snapshot leads; and who was forgotten is known by mark."""
    table = months(ri.MInvariance(m=2), 1)[0].sort_by("age")
    pq.write_table(table, tmp_path / "all.parquet")
    pq.write_table(table.slice(0, 250), tmp_path / "young.parquet")
    schema = ri.Schema(identifier="name", quasi_identifiers={"age": {"type": "numeric"}}, sensitive="diagnosis")
    made = []
    for engine in ("embedded", "spark"):
        strategy = ri.MInvariance(m=2, on_ineligible="counterfeit")
        series = ri.Series.create(tmp_path / engine, schema, strategy, seed=1, fragments=3, engine=engine)
        series.publish(tmp_path / "all.parquet")
        series.forget(*table["name"].to_pylist()[:40])
        made.append(series)
        counts = series.publish(tmp_path / "young.parquet").counts
        assert (counts["gone"], counts["new"]) == (len(table) - 250, 0)
    assert_same(*made, 2)  # type: ignore[call-arg]
    for series in made:
        series.close()
