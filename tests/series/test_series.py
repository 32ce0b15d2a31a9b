"""A series from its first release to its last: the public API, end to end, on real files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import reissue as ri
from reissue.errors import ChangeError, InfeasiblePolicy, SchemaError, SeriesError, SettingsError, SnapshotError
from reissue.series.publication import read_public
from tests.support.hospital import FIGURE_1, FIGURE_3, frame, hospital_schema, population


def labels(series: ri.Series, number: int) -> list[tuple[str, ...]]:
    """The published rows as sorted tuples of text, without the class number."""
    table = pa.parquet.read_table(series.path / "releases" / f"{number:04d}" / "release.parquet").drop_columns("class")
    return sorted(tuple(row.values()) for row in table.to_pylist())


def test_figures_1_to_4_publish_through_the_public_api(tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=2, c=0.5)) as series:
        first = series.publish(frame(FIGURE_1))
        second = series.publish(frame(FIGURE_3))
        # As in figure 2, the young men share a class and the older two another; ours are tight around the rows.
        assert labels(series, 1) == [
            ("21-23", "Male", "Asthma"),
            ("21-23", "Male", "Flu"),
            ("52-57", "Person", "Alzheimer"),
            ("52-57", "Person", "Diabetes"),
        ]
        assert first.counts["new"] == 4
        assert second.counts["new"] == 3
        assert second.counts["published"] == 7
        assert [release.number for release in series.releases] == [1, 2]


def test_membership_names_people_and_matches_the_published_file(tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=2)) as series:
        series.publish(frame(FIGURE_1))
        members = series.membership(1).to_pylist()
        published = pa.parquet.read_table(series.releases[0].path / "release.parquet").to_pylist()
        assert {row["subject"] for row in members} == {"Tom", "Mike", "Bob", "Eve"}
        assert {row["subject"]: row["value"] for row in members}["Bob"] == "Alzheimer"
        pairs = sorted((row["class"], row["value"]) for row in members)
        assert pairs == sorted((row["class"], row["diagnosis"]) for row in published)
        assert not any(row["counterfeit"] for row in members)
        with pytest.raises(SeriesError, match="no release 2"):
            series.membership(2)


def test_reading_a_release_back_gives_the_same_boxes(tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=5)) as series:
        release = series.publish(population(300))
        read = read_public(release.path, series.coding)
        facts = series._ledger.facts(1)
        np.testing.assert_array_equal(read.boxes, facts.boxes)
        np.testing.assert_array_equal(
            np.sort(read.classes.astype(np.int64) * 100 + read.values),
            np.sort(facts.classes.astype(np.int64) * 100 + facts.values),
        )


def test_same_seed_same_release_and_secret_seed_by_default(tmp_path: Path) -> None:
    table = population(200)

    def published(name: str, seed: int | None) -> dict[str, bytes]:
        with ri.Series.create(tmp_path / name, hospital_schema(), ri.Static(k=5), seed=seed) as series:
            path = series.publish(table).path
        return {file.name: file.read_bytes() for file in path.iterdir()}

    assert published("a", 7) == published("b", 7)
    assert published("c", None)["release.csv"] != published("d", None)["release.csv"]


def test_a_published_directory_contains_nothing_private(tmp_path: Path) -> None:
    schema = ri.Schema(
        identifier="name",
        quasi_identifiers=hospital_schema().quasi_identifiers,
        sensitive="diagnosis",
        insensitive=("ward",),
    )
    table = population(400).append_column("ward", pa.array([f"W{i % 3}" for i in range(400)]))
    table = table.append_column("note", pa.array([f"UNLISTED-{i}" for i in range(400)]))
    with ri.Series.create(tmp_path / "s", schema, ri.Static(k=5)) as series:
        release = series.publish(table)
        seed = series._ledger.seed
    for file in release.path.rglob("*"):
        content = file.read_bytes()
        assert b"IDENT-" not in content, f"{file.name} has identifiers"
        assert b"UNLISTED" not in content, f"{file.name} has a column that is in no role"
        assert str(seed).encode() not in content
        assert b"counterfeit" not in content.lower()
    rows = pa.parquet.read_table(release.path / "release.parquet")
    assert set(rows.column_names) == {"age", "gender", "diagnosis", "ward", "class"}
    same_place = sum(a == b for a, b in zip(rows["diagnosis"].to_pylist(), table["diagnosis"].to_pylist(), strict=True))
    assert same_place < 200, "published rows stand in the order of the snapshot"
    # Rows and wards travel together: the multiset of (diagnosis, ward) is that of the snapshot.
    pair = ["diagnosis", "ward"]
    assert sorted(map(str, rows.select(pair).to_pylist())) == sorted(map(str, table.select(pair).to_pylist()))


def test_class_numbers_do_not_compare_between_releases(tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=5)) as series:
        for _ in range(2):
            series.publish(population(600))
        first, second = (series.membership(n).sort_by("number") for n in (1, 2))
    assert len(set(first["class"].to_pylist())) > 20
    assert first["class"].to_pylist() != second["class"].to_pylist()


def test_release_json_says_how_to_read_the_labels(tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=5, c=0.6)) as series:
        release = series.publish(population(100))
    about = json.loads((release.path / "release.json").read_text())
    assert about["strategy"] == "static"
    assert about["parameters"]["k"] == 5
    assert about["counts"]["rows"] == 100
    assert about["counts"]["smallest_class"] >= 5
    assert {column["name"]: column["role"] for column in about["columns"]} == {
        "age": "quasi-identifier",
        "gender": "quasi-identifier",
        "diagnosis": "sensitive",
        "class": "class",
    }
    assert all(column["reading"] for column in about["columns"] if column["role"] == "quasi-identifier")
    assert about["files"] == ["release.csv", "release.parquet"]


def test_steps_are_numbered_sentences(tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=5)) as series:
        steps = series.publish(population(100)).steps
    assert [step.split(" ")[0] for step in steps] == [f"{i}." for i in range(1, len(steps) + 1)]
    assert "100 new subjects" in steps[0]


def test_an_infeasible_policy_names_the_value(tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=2, c=0.5)) as series:
        rows = [(f"p{i}", 30 + i, "Male", "Flu" if i < 9 else "Asthma") for i in range(10)]
        with pytest.raises(InfeasiblePolicy, match="Flu") as caught:
            series.publish(frame(rows))
        assert caught.value.exit_code == 3
        assert series.releases == []
        with pytest.raises(InfeasiblePolicy):
            series.publish(frame(FIGURE_1[:1]))


def test_the_strategy_can_change_between_releases(tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=5)) as series:
        series.publish(population(100))
        series.publish(population(200), strategy=ri.Merge(k=5))
        assert series.strategy == ri.Merge(k=5)
        series.publish(population(300))
        assert [release.strategy for release in series.releases] == ["static", "merge", "merge"]
        assert series.verify(rebuild=True) == []


def test_a_series_is_the_same_when_reopened(tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=5)) as series:
        published = series.publish(population(100))
    with ri.Series.open(tmp_path / "s") as series:
        assert series.releases == [published]
        assert series.schema == hospital_schema()
        assert series.publish(population(120)).counts["new"] == 20


def test_forgetting_keeps_the_constraints(tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=2)) as series:
        series.publish(frame(FIGURE_1))
        series.forget("Bob")
        members = series.membership(1)
        assert members.num_rows == 4
        assert set(members["subject"].to_pylist()) == {"Tom", "Mike", "Eve", None}
        with pytest.raises(SeriesError, match="Bob"):
            series.forget("Bob")
    for file in (tmp_path / "s" / "private").rglob("*"):
        assert not file.is_file() or b"Bob" not in file.read_bytes(), file


class TestChanges:
    """The table "what may change between snapshots", by strategies that declare each kind."""

    def series(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **supports: bool) -> ri.Series:
        from reissue.strategies.base import Changes

        allowed = {"gone": True, "back": True, "quasi_identifiers": True, "sensitive": True} | supports
        monkeypatch.setattr(ri.Static, "supports", Changes(**allowed))
        series = ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=2))
        series.publish(frame(FIGURE_1))
        return series

    def test_gone(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with self.series(tmp_path, monkeypatch, gone=False) as series:
            with pytest.raises(ChangeError, match=r"1 subjects.*Bob.*m-invariance"):
                series.publish(frame([row for row in FIGURE_3 if row[0] != "Bob"]))
            assert len(series.releases) == 1
            series.publish(frame(FIGURE_3))

    def test_back(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with self.series(tmp_path, monkeypatch, back=False) as series:
            without = [row for row in FIGURE_3 if row[0] != "Bob"]
            assert series.publish(frame(without)).counts["gone"] == 1
            with pytest.raises(ChangeError, match=r"return after an absence: Bob"):
                series.publish(frame(FIGURE_3))
        monkeypatch.undo()
        with ri.Series.open(tmp_path / "s") as series:
            assert series.publish(frame(FIGURE_3)).counts["back"] == 1

    def test_changed_quasi_identifier(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        moved = [("Tom", 22, "Male", "Asthma"), *FIGURE_3[1:]]
        refusal = pytest.raises(ChangeError, match=r"age.*Tom \(age 21 -> 22\).*birth year")
        with self.series(tmp_path, monkeypatch, quasi_identifiers=False) as series, refusal:
            series.publish(frame(moved))

    def test_changed_value_and_new_subject(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        updated = [("Tom", 21, "Male", "Flu"), *FIGURE_3[1:]]
        with self.series(tmp_path, monkeypatch, sensitive=False) as series:
            with pytest.raises(ChangeError, match=r"diagnosis.*Tom \(Asthma -> Flu\).*new-subject"):
                series.publish(frame(updated))
            release = series.publish(frame(updated), on_change="new-subject")
            assert release.counts["new"] == 4
            assert release.counts["gone"] == 1
            assert any("counts as a new subject" in step for step in release.steps)
            numbers = {row["subject"]: row["number"] for row in series.membership(2).to_pylist()}
            assert numbers["Tom"] >= 4
            # From now on Tom is his new number: nothing has changed any more.
            assert series.publish(frame(updated)).counts["changed"] == 0

    def test_new_subject_needs_a_strategy_that_people_may_leave(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        updated = [("Tom", 21, "Male", "Flu"), *FIGURE_3[1:]]
        refusal = pytest.raises(ChangeError, match="diagnosis")
        with self.series(tmp_path, monkeypatch, sensitive=False, gone=False) as series, refusal:
            series.publish(frame(updated), on_change="new-subject")


def test_wrong_settings_are_named(tmp_path: Path) -> None:
    config = tmp_path / "c.toml"
    roles = '[schema]\nidentifier="name"\nsensitive="diagnosis"\n[schema.quasi_identifiers]\nage={type="numeric"}\n'
    text = roles + "[policy]\n"
    for policy, message in [
        ('strategy = "statik"\nk = 2', "Did you mean 'static'"),
        ('strategy = "static"\nkk = 2', "no setting 'kk'"),
        ('strategy = "static"\nk = "many"', "k.*many"),
        ("k = 2", "must name its strategy"),
    ]:
        config.write_text(text + policy)
        with pytest.raises(SettingsError, match=message):
            ri.Series.from_config(tmp_path / "s", config)
    assert not (tmp_path / "s").exists()


def test_a_bad_snapshot_loses_nothing(tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=2)) as series:
        series.publish(frame(FIGURE_1))
        with pytest.raises(SnapshotError, match="Robot"):
            series.publish(frame([*FIGURE_1, ("Zed", 33, "Robot", "Flu")]))
        assert series.verify() == []
        assert series.publish(frame(FIGURE_3)).number == 2


def test_extending_a_hierarchy_keeps_earlier_releases_valid(tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=2)) as series:
        series.publish(frame(FIGURE_1))
        before = read_public(series.releases[0].path, series.coding)
        series.extend("gender", ri.Hierarchy.from_nested({"Person": ["Male", "Female", "Other"]}))
        series.publish(frame([*FIGURE_3, ("Zed", 33, "Other", "Flu"), ("Zoe", 34, "Other", "Asthma")]))
        after = read_public(series.releases[0].path, series.coding)
        np.testing.assert_array_equal(before.boxes[:, 0], after.boxes[:, 0])
        assert after.boxes[:, 1, 1].max() == 2, "the root of gender now covers the new value too"
        assert series.verify(rebuild=True) == []
        assert labels(series, 2)


def test_extending_by_what_is_known_changes_nothing(tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=2)) as series:
        (tmp_path / "more.json").write_text('{"Person": ["Male", "Female", "Other"]}')
        for _ in range(2):  # before and after the first release
            assert "Extended gender" in series.extend_from_files([f"gender={tmp_path / 'more.json'}"])[0]
            assert "nothing new" in series.extend_from_files([f"gender={tmp_path / 'more.json'}"])[0]
            series.publish(frame(FIGURE_1))
            (tmp_path / "more.json").write_text('{"Person": ["Unknown"]}')
        assert series.verify(rebuild=True) == []


def test_extensions_are_all_made_or_none(tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=2)) as series:
        series.publish(frame(FIGURE_1))
        (tmp_path / "more.json").write_text('{"Person": ["Other"]}')
        before = series.coding
        with pytest.raises(SchemaError, match="no hierarchy to extend"):
            series.extend_from_files([f"gender={tmp_path / 'more.json'}", f"age={tmp_path / 'more.json'}"])
        assert series.coding == before


def test_forgetting_reads_identifiers_as_snapshots_are_read(tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=2)) as series:
        series.publish(frame(FIGURE_1))
        name = series.membership(1)["subject"][0].as_py()
        series.forget(f" {name} ")
        assert name not in series.membership(1)["subject"].to_pylist()


def test_one_format_may_be_given_by_itself(tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=2), formats="csv") as series:
        release = series.publish(frame(FIGURE_1))
        assert sorted(path.name for path in release.path.iterdir()) == ["release.csv", "release.json"]
        again = series.publish(frame(FIGURE_1), formats="parquet")
        assert sorted(path.name for path in again.path.iterdir()) == ["release.json", "release.parquet"]


def test_the_config_kept_for_people_says_everything_of_the_schema(tmp_path: Path) -> None:
    quasi_identifiers = {"age": {"type": "float", "decimals": 1, "missing": "value"}, "zip": {"prefix": [3]}}
    for number, bins in enumerate([[0, 20000.5], {"width": 10000}]):
        schema = ri.Schema(
            identifier="id",
            quasi_identifiers=quasi_identifiers,
            sensitive=["income", "job"],
            missing="value",
            bins={"income": bins},
        )
        ri.Series.create(tmp_path / str(number), schema, ri.Static(k=2)).close()
        assert ri.Schema.from_toml(tmp_path / str(number) / "reissue.toml") == schema
