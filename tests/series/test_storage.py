"""A series whose catalogue is in PostgreSQL, one whose ledger is encrypted, one on a broken disk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import reissue as ri
from reissue.errors import KeyMissing, LedgerDamaged, ReissueError, SeriesError
from tests.support.divided import CHURN, SCHEMA, People
from tests.support.hospital import FIGURE_1, FIGURE_3, frame, hospital_schema, population


@pytest.mark.xdist_group("postgresql")
def test_a_series_with_its_catalogue_in_postgresql(tmp_path: Path, postgresql_url: str) -> None:
    for name in ("a", "b"):  # several series share a database
        with ri.Series.create(tmp_path / name, hospital_schema(), ri.Static(k=2), catalogue=postgresql_url) as series:
            series.publish(frame(FIGURE_1))
    with ri.Series.open(tmp_path / "a", catalogue=postgresql_url) as series:
        assert series.publish(frame(FIGURE_3)).counts["new"] == 3
        series.forget("Tom")
        assert series.verify(rebuild=True) == []
    with ri.Series.open(tmp_path / "b", catalogue=postgresql_url) as series:
        assert [release.number for release in series.releases] == [1]


@pytest.mark.xdist_group("postgresql")
def test_standing_classes_with_their_catalogue_in_postgresql_are_those_of_sqlite(
    tmp_path: Path, postgresql_url: str
) -> None:
    made = []
    for name, where in (("p", {"catalogue": postgresql_url}), ("q", {})):
        with ri.Series.create(
            tmp_path / name, SCHEMA, ri.Standing(totals=0.5), seed=3, formats=["csv"], **where
        ) as series:
            for table in People(1).months(3, CHURN):
                series.publish(table)
            assert series.verify(rebuild=True) == []
            made.append([(one.path / "release.csv").read_bytes() for one in series.releases])
    assert made[0] == made[1]


def test_an_encrypted_series(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLINIC_KEY", "ab" * 32)
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=5), key="env:CLINIC_KEY") as series:
        series.publish(population(100))
    for file in (tmp_path / "s" / "private").rglob("*"):
        if file.is_file():
            assert b"IDENT-" not in file.read_bytes(), file
            assert b"Cancer" not in file.read_bytes(), file
    with pytest.raises(KeyMissing, match="key"):
        ri.Series.open(tmp_path / "s")
    with pytest.raises(KeyMissing, match="key"):
        ri.Series.open(tmp_path / "s", key=b"x" * 32)
    with ri.Series.open(tmp_path / "s", key="env:CLINIC_KEY") as series:
        assert series.publish(population(150)).counts["new"] == 50
        assert series.verify(rebuild=True) == []


def test_private_files_are_for_their_owner_only(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=2)) as series:
            series.publish(frame(FIGURE_1))
    finally:
        os.umask(before)
    for path in (tmp_path / "s" / "private", *(tmp_path / "s" / "private").rglob("*")):
        assert path.stat().st_mode & 0o077 == 0, f"{path} is open to others"


@pytest.mark.parametrize("damage", ["flip", "truncate", "remove"])
def test_a_damaged_private_file_is_named_and_nothing_is_published(tmp_path: Path, damage: str) -> None:
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=2)) as series:
        series.publish(frame(FIGURE_1))
    victim = max((tmp_path / "s" / "private" / "files").iterdir(), key=lambda file: file.stat().st_size)
    content = bytearray(victim.read_bytes())
    if damage == "remove":
        victim.unlink()
    elif damage == "truncate":
        victim.write_bytes(content[: len(content) // 2])
    else:
        content[len(content) // 2] ^= 1
        victim.write_bytes(content)
    with ri.Series.open(tmp_path / "s") as series:
        assert victim.name in " ".join(str(one) for one in series.verify())
        with pytest.raises(LedgerDamaged, match=victim.name[:12]):
            series.publish(frame(FIGURE_3))
        assert len(series.releases) == 1


def test_an_unknown_folder_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(SeriesError, match="nowhere"):
        ri.Series.open(tmp_path / "nowhere")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").write_text("dear")
    with pytest.raises(ReissueError, match="other"):
        ri.Series.create(tmp_path / "other", hospital_schema(), ri.Static(k=2))
    assert (tmp_path / "other" / "letter.txt").read_text() == "dear"
