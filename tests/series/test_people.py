"""People in a series: who is where, who is forgotten, and what may change about them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import reissue as ri
from reissue.errors import ChangeError, SeriesError
from tests.support.hospital import FIGURE_1, FIGURE_3, frame, hospital_schema


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


def test_forgetting_keeps_the_constraints(tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=2)) as series:
        series.publish(frame(FIGURE_1))
        series.forget("Bob")
        members = series.membership(1)
        assert members.num_rows == 4
        assert set(members["subject"].to_pylist()) == {"Tom", "Mike", "Eve", None}
        assert series.forget("Bob").before == 1
    for file in (tmp_path / "s" / "private").rglob("*"):
        assert not file.is_file() or b"Bob" not in file.read_bytes(), file


class TestChanges:
    """The table "what may change between snapshots", by strategies that declare each kind."""

    def series(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **supports: bool) -> ri.Series:
        from reissue.methods.strategy import Changes

        allowed = {"gone": True, "back": True, "quasi_identifiers": True, "sensitive": True} | supports
        monkeypatch.setattr(ri.Static, "supports", Changes(**allowed))
        series = ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=2))
        series.publish(frame(FIGURE_1))
        return series

    def test_gone(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with self.series(tmp_path, monkeypatch, gone=False) as series:
            with pytest.raises(ChangeError, match=r"1 subject of.*Bob.*m-invariance"):
                series.publish(frame([row for row in FIGURE_3 if row[0] != "Bob"]))
            assert len(series.releases) == 1
            series.publish(frame(FIGURE_3))

    def test_back(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with self.series(tmp_path, monkeypatch, back=False) as series:
            without = [row for row in FIGURE_3 if row[0] != "Bob"]
            assert series.publish(frame(without)).counts["gone"] == 1
            with pytest.raises(ChangeError, match=r"1 subject returns after an absence: Bob"):
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


def test_forgetting_reads_identifiers_as_snapshots_are_read(tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=2)) as series:
        series.publish(frame(FIGURE_1))
        name = series.membership(1)["subject"][0].as_py()
        series.forget(f" {name} ")
        assert name not in series.membership(1)["subject"].to_pylist()
