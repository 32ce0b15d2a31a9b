"""A series from its first release to its last: the public API, end to end, on real files."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import reissue as ri
from reissue.errors import InfeasiblePolicy, SettingsError, SnapshotError
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


def test_same_seed_same_release_and_secret_seed_by_default(tmp_path: Path) -> None:
    table = population(200)

    def published(name: str, seed: int | None) -> dict[str, bytes]:
        with ri.Series.create(tmp_path / name, hospital_schema(), ri.Static(k=5), seed=seed) as series:
            path = series.publish(table).path
        return {file.name: file.read_bytes() for file in path.iterdir()}

    assert published("a", 7) == published("b", 7)
    assert published("c", None)["release.csv"] != published("d", None)["release.csv"]


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
        with pytest.raises(InfeasiblePolicy, match="k = 2 cannot hold: there are only 1 rows"):
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
