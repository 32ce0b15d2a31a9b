"""Our own release folders, as an outsider has them: generalized and anatomized, with counterfeits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from click.testing import CliRunner

import reissue as ri
from reissue.audit import audit
from reissue.cli import main
from reissue.engine.output import added_name
from reissue.errors import ReleaseError
from reissue.methods import registry as checks
from reissue.series import adopt
from tests.support.hospital import hospital_schema, population

TABLES = [population(160).slice(0, 120), population(160).slice(20, 140)]
ATTACKS = ["association", "intersection", "difference", "possible-worlds"]


@pytest.mark.parametrize("publishing", ["generalized", "anatomized"])
def test_folders_tell_what_the_series_tells(tmp_path: Path, publishing: str) -> None:
    strategy = ri.MInvariance(m=2, publishing=publishing, on_ineligible="counterfeit")  # type: ignore[arg-type]
    with ri.Series.create(tmp_path / "s", hospital_schema(), strategy, seed=2) as series:
        for table in TABLES:
            series.publish(table)
        own = series.audit(attacks=["association"])
        folders = [release.path for release in series.releases]
        fakes = [release.counts["counterfeits"] for release in series.releases]
    outside = audit(folders, hospital_schema(), TABLES, attacks=["association"], strategy=strategy)
    entries = outside.to_dict()["releases"]
    assert [entry["style"] for entry in entries] == [publishing] * 2  # type: ignore[attr-defined]
    assert [entry["counterfeits"] for entry in entries] == fakes  # type: ignore[attr-defined]
    assert [entry["members"] for entry in entries] == [len(table) for table in TABLES]  # type: ignore[attr-defined]
    assert not own.breaches
    counted = [one["subjects_at_risk"] for done in (own, outside) for one in done.to_dict()["attacks"]]  # type: ignore[attr-defined]
    assert counted[0] == 0, "nobody is at risk, which is known"
    assert all(one is not None for one in counted)
    alone = audit(folders, hospital_schema(), attacks=["correspondence"], strategy=strategy).to_dict()["attacks"]
    assert [one["subjects_at_risk"] for one in alone] == [None], "who is in which class is not known"  # type: ignore[attr-defined]
    ambiguous = sum(entry["ambiguous"] for entry in entries)  # type: ignore[attr-defined]
    assert not outside.breaches or ambiguous, "a wrong choice of classes may look like a breach, but it is announced"


def test_it_tells_what_was_never_promised_and_what_is_no_limit(tmp_path: Path) -> None:
    """A breach of another strategy's promise is no fault of this one; held against c = 1 is not "nobody is certain"."""
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.MInvariance(m=2), seed=2) as series:
        for table in TABLES:
            series.publish(table)
        done = series.audit(attacks=["association", "equivalence", "intersection"], c=1)
    assert "equivalence" in {finding.attack for finding in done.breaches}
    assert any("c is 1, so that attackers may be certain" in note for note in done.notes)
    change = done.to_dict()["verdict"]["advice"]["lines"][1]["sentence"]  # type: ignore[index]
    assert "to standing, which promises to stop equivalence" in change


def test_one_reason_for_all_attacks_is_told_once(tmp_path: Path) -> None:
    config = tmp_path / "hospital.toml"
    config.write_text("""
[schema]
identifier = "name"
sensitive = "diagnosis"
quasi_identifiers = { age = { type = "numeric" }, gender = { type = "categorical" } }
[policy]
strategy = "standing"
""")
    with ri.Series.create(tmp_path / "s", ri.Schema.from_toml(config), ri.Standing(k=4, l=2, c=0.9), seed=2) as series:
        series.publish(TABLES[0])
        folder = series.releases[0].path
    done = CliRunner().invoke(main, ["audit", "--config", str(config), "--release", str(folder)])
    assert done.exit_code == 2
    assert done.stdout.startswith(
        "Your promise was not checked: none of the attacks that standing promises to stop could be run.\n"
    )
    assert done.stderr.count("dealt at random") == 1


def test_anatomized_releases_are_adopted(tmp_path: Path) -> None:
    strategy = ri.MInvariance(m=2, publishing="anatomized", on_ineligible="counterfeit")
    with ri.Series.create(tmp_path / "s", hospital_schema(), strategy, seed=2) as series:
        series.publish(TABLES[0])
        folder = series.releases[0].path
    adopted = adopt(tmp_path / "t", [folder], TABLES[:1], schema=hospital_schema(), strategy=ri.Static(k=2))
    with adopted.series as series:
        assert series._ledger.facts(1).anatomized
        assert sorted(p.name for p in series.releases[0].path.iterdir()) == sorted(p.name for p in folder.iterdir())
        again = audit([series.releases[0].path], hospital_schema(), TABLES[:1])
        assert again.to_dict()["releases"][0]["rows"] == adopted.audit.to_dict()["releases"][0]["rows"]  # type: ignore[index]


@pytest.mark.parametrize(
    ("publishing", "diagnosis", "name"),
    [
        ("anatomized", "count", "name"),
        ("anatomized", "class", "count"),
        ("generalized", "diagnosis", "class"),
        ("generalized", "class", "count"),
    ],
)
def test_no_column_of_the_table_is_taken_for_one_that_is_added(
    tmp_path: Path, publishing: str, diagnosis: str, name: str
) -> None:
    table = TABLES[0].rename_columns({"name": name, "diagnosis": diagnosis})
    schema = ri.Schema(identifier=name, quasi_identifiers={"age": ri.Numeric()}, sensitive=diagnosis)
    strategy = ri.MInvariance(m=2, publishing=publishing, on_ineligible="counterfeit")  # type: ignore[arg-type]
    with ri.Series.create(tmp_path / "s", schema, strategy, seed=2, formats=["csv"]) as series:
        series.publish(table)
        folder, facts, values = series.releases[0].path, series._ledger.facts(1), series.coding.value_labels
    read = pa.csv.read_csv(folder / ("release.csv" if publishing == "generalized" else "values.csv"))
    assert set(read[diagnosis].to_pylist()) <= {value for (value,) in values}, "the values were published"
    seen = audit([folder], schema, [table], attacks=["association"]).observed.releases[0]
    assert np.array_equal(np.bincount(seen.values), np.bincount(facts.values)), "and are read as they were"
    assert seen.class_count == facts.class_count


def test_added_columns_have_names_of_their_own() -> None:
    taken: list[str] = []
    for _ in range(6):
        taken.append(added_name("class", taken))
    assert len(set(taken)) == 6
    assert taken[0] == "class"


def test_altered_counts_are_refused(tmp_path: Path) -> None:
    strategy = ri.MInvariance(m=2, publishing="anatomized", on_ineligible="counterfeit")
    with ri.Series.create(tmp_path / "s", hospital_schema(), strategy, seed=2, formats=["csv"]) as series:
        series.publish(TABLES[0])
        folder = series.releases[0].path
    values = pa.csv.read_csv(folder / "values.csv").to_pydict()
    for wrong, told in ((9, "the other table has"), (0, "whole numbers from 1 on"), ("x", "whole numbers from 1 on")):
        pa.csv.write_csv(
            pa.table({**values, "count": [str(wrong), *map(str, values["count"][1:])]}), folder / "values.csv"
        )
        with pytest.raises(ReleaseError, match=told):
            audit([folder], hospital_schema())


def test_a_column_named_class_of_another_meaning_is_left_alone() -> None:
    release = pa.table(
        {"age": ["20-29"] * 2 + ["30-39"] * 2, "gender": ["*"] * 4, "diagnosis": list("abcd"), "class": [1, 2, 1, 2]}
    )
    done = audit([release], hospital_schema())
    assert done.to_dict()["releases"][0]["classes"] == 2  # type: ignore[index]
    assert any("no class number" in note for note in done.notes)
    first_second = release.set_column(3, "class", pa.array(["first", "second", "first", "second"]))
    assert audit([first_second], hospital_schema()).to_dict()["releases"][0]["classes"] == 2  # type: ignore[index]
    split = release.set_column(3, "class", pa.array([1, 2, 3, 4]))
    assert audit([split], hospital_schema()).to_dict()["releases"][0]["classes"] == 4  # type: ignore[index]


def test_attacks_that_read_knowledge_are_prepared(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(checks.ATTACKS, "background-knowledge", "reissue.methods.beliefs.attack:BackgroundKnowledge")
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=3), seed=2) as series:
        for table in TABLES:
            series.publish(table)
        done = series.audit(attacks=["background-knowledge"])
    assert "background-knowledge" in done.outcomes
    assert done.to_json()
