"""A new series takes an empty place and nothing else; what cannot be opened says why."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reissue.errors import LedgerDamaged, SeriesBusy, SeriesError
from reissue.ledger import Ledger
from reissue.ledger.disk import SeriesLock
from tests.ledger.support import assert_is_whole, create


def test_an_empty_folder_and_missing_parents_are_fine(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert_is_whole(create(tmp_path / "empty"), 0)
    assert_is_whole(create(tmp_path / "a" / "b" / "s"), 0)


@pytest.mark.parametrize("name", ["notes.txt", "reissue.toml", "releases/0001/data.csv"])
def test_a_folder_in_use_is_refused_and_left_alone(tmp_path: Path, name: str) -> None:
    file = tmp_path / "s" / name
    file.parent.mkdir(parents=True)
    file.write_text("mine")
    with pytest.raises(SeriesError, match=r"is not empty .* Nothing was changed"):
        create(tmp_path / "s")
    assert file.read_text() == "mine"
    assert [one for one in (tmp_path / "s").rglob("*") if one.is_file()] == [file]


def test_a_series_is_not_created_twice(series: Path) -> None:
    with pytest.raises(SeriesError, match="is a series already"):
        create(series)
    assert_is_whole(Ledger.open(series), 1)


def test_two_creations_at_once_make_one_series(tmp_path: Path) -> None:
    draft = tmp_path / "s" / ".creating"
    draft.mkdir(parents=True)
    lock = SeriesLock(draft / "lock")
    lock.acquire(0.0)
    with pytest.raises(SeriesBusy, match="is at work in this series"):
        create(tmp_path / "s")
    lock.release()
    assert_is_whole(create(tmp_path / "s"), 0)


def test_a_failed_creation_leaves_the_place_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    nobody = "postgresql://nobody@127.0.0.1:1/nothing"
    for name in ("empty", "absent"):
        with pytest.raises(SeriesError, match="Check that the server runs"):
            create(tmp_path / name, nobody)
    assert list(tmp_path.iterdir()) == [tmp_path / "empty"]
    assert list((tmp_path / "empty").iterdir()) == []


def test_what_is_no_series_says_so(tmp_path: Path) -> None:
    with pytest.raises(SeriesError, match=r"There is no series .*nowhere"):
        Ledger.open(tmp_path / "nowhere")
    with pytest.raises(SeriesError, match=r"is not a series: it has no private/series\.json"):
        Ledger.open(tmp_path)
    (tmp_path / "reissue.toml").touch()
    with pytest.raises(SeriesError, match=r"has lost its ledger: private/series\.json is missing. Restore private/"):
        Ledger.open(tmp_path)


def test_an_unknown_format_is_refused(series: Path) -> None:
    pointer = series / "private" / "series.json"
    content = json.loads(pointer.read_text())
    pointer.write_text(json.dumps(content | {"format": 99}))
    with pytest.raises(SeriesError, match="has format 99; this version of Reissue reads format 2"):
        Ledger.open(series)
    pointer.write_text("{")
    with pytest.raises(LedgerDamaged, match=r"private/series.json: it is not what was written"):
        Ledger.open(series)


def test_an_address_for_a_series_in_sqlite_is_refused(series: Path) -> None:
    with pytest.raises(SeriesError, match="keeps its catalogue in SQLite"):
        Ledger.open(series, catalogue_url="postgresql://host/base")


@pytest.mark.parametrize("address", ["s3a://bucket/series", "hdfs://host/series", "dbfs:/series", "gs://b/s"])
def test_an_address_of_another_store_is_no_folder(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for given in (address, Path(address)):
        for make in (lambda: Ledger.create(given, config="", meta={}, seed=1), lambda: Ledger.open(given)):  # noqa: B023
            with pytest.raises(SeriesError, match=r"but a series is a folder.*mounted.*Nothing was changed"):
                make()
    assert not list(tmp_path.iterdir())


def test_workers_in_other_folders_find_a_series_that_was_opened_by_a_relative_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Ledger.create("s", config="", meta={}, seed=1).close()
    with Ledger.open("s") as ledger:
        assert ledger.path == tmp_path / "s"
