"""What was committed is never called failed: what goes wrong afterwards is a warning, and the next opening mends it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from reissue.errors import SeriesError
from reissue.ledger import Ledger, stage, store
from reissue.ledger.catalogue import Connection
from reissue.ledger.system import move
from tests.ledger.support import assert_is_whole, create, publish


def lose_connections(monkeypatch: pytest.MonkeyPatch, url: str, point: str) -> None:
    """At this point of a commit the server ends every other session."""

    def cut(name: str) -> None:
        if name == point:
            with psycopg.connect(url, autocommit=True) as admin:
                admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
                              "AND datname = current_database()")  # fmt: skip

    for module in (stage, store):
        monkeypatch.setattr(module, "fault", cut)


@pytest.mark.parametrize("point", ["commit.committed", "commit.renamed", "commit.marked"])
@pytest.mark.parametrize("catalogue_url", ["postgresql"], indirect=True)
def test_a_connection_lost_after_the_commit_is_a_warning(
    tmp_path: Path, catalogue_url: str, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with create(tmp_path / "s", catalogue_url) as ledger:
        publish(ledger, 1)
        lose_connections(monkeypatch, catalogue_url, point)
        record = publish(ledger, 2)
        assert record.number == 2
        if point != "commit.marked":  # the next look at the catalogue makes a new connection
            assert record.warnings[0].startswith("Release 2 is committed: ")
            assert "do not publish this snapshot again" in record.warnings[0]
        else:
            assert record.warnings == ()
    monkeypatch.undo()
    monkeypatch.setenv("PGPASSWORD", "secret")
    with Ledger.open(tmp_path / "s") as ledger:
        assert_is_whole(ledger, 2)
        assert ledger.releases[1].warnings == ()


@pytest.mark.parametrize("catalogue_url", ["postgresql"], indirect=True)
def test_a_connection_lost_before_the_commit_publishes_nothing(
    tmp_path: Path, catalogue_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with create(tmp_path / "s", catalogue_url) as ledger:
        publish(ledger, 1)
        lose_connections(monkeypatch, catalogue_url, "commit.transaction")
        with pytest.raises(SeriesError, match="What was committed before is untouched"):
            publish(ledger, 2)
    monkeypatch.undo()
    monkeypatch.setenv("PGPASSWORD", "secret")
    with Ledger.open(tmp_path / "s") as ledger:
        assert_is_whole(ledger, 1)


def test_a_disk_that_fails_after_the_commit_is_a_warning(series: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: Path, target: Path) -> None:
        if target.name == "0002":
            raise OSError(28, os.strerror(28))
        move(source, target)

    with Ledger.open(series) as ledger:
        with monkeypatch.context() as broken:
            broken.setattr(store, "move", refuse)
            record = publish(ledger, 2)
        assert "releases/0002 is not there yet" in record.warnings[0]
        assert not (series / "releases" / "0002").exists()
    with Ledger.open(series) as ledger:
        assert_is_whole(ledger, 2)


@pytest.mark.parametrize("withdrawn", [0, 1])
def test_a_lost_answer_is_asked_for_by_the_number_of_the_release(
    series: Path, withdrawn: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers of withdrawn releases are not given again: how many releases there are says nothing."""
    with Ledger.open(series) as ledger:
        publish(ledger, 2)
        if withdrawn:
            ledger.withdraw("a mistake", {})
        writing, lost = ledger._catalogue.writing, iter([True])

        @contextmanager
        def lose_answer() -> Iterator[Connection]:
            with writing() as connection:
                yield connection
            if next(lost, False):
                raise SeriesError("The answer was lost.")

        with monkeypatch.context() as broken:
            broken.setattr(ledger._catalogue, "writing", lose_answer)
            record = publish(ledger, 3)
        assert (record.number, ledger.releases[-1].number) == (3, 3)
        assert len(ledger.releases) == 3 - withdrawn
    with Ledger.open(series) as ledger:
        assert ledger.verify() == []
        assert (series / "releases" / "0003").is_dir()
