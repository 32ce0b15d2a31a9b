"""One publisher at a time; readers are welcome; a dead publisher blocks nobody."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Self

import psycopg
import pytest

from reissue.errors import SeriesBusy, SeriesError
from reissue.ledger import Ledger, postgresql, system
from tests.ledger.support import assert_is_whole, create, publish, some_facts


class Holder:
    """Another process that has staged a release and waits; it does not outlive the test."""

    def __init__(self, path: Path) -> None:
        ready, self._go = os.pipe(), os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.close(self._go[1])
                ledger = Ledger.open(path)
                with ledger.publisher():
                    ledger.stage(2).facts(some_facts(2))
                    os.write(ready[1], b"x")
                    assert os.read(self._go[0], 1) == b"x"
                    publish(ledger, 2)
                os._exit(0)
            finally:
                os._exit(1)
        os.close(ready[1])
        assert os.read(ready[0], 1) == b"x"
        self._alive = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._alive:
            self.kill()

    def kill(self) -> None:
        self._alive = False
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)

    def finish(self) -> int:
        self._alive = False
        os.write(self._go[1], b"x")
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def test_the_second_publisher_is_told_who_holds_the_series(tmp_path: Path, catalogue_url: str | None) -> None:
    path = tmp_path / "s"
    with create(path, catalogue_url) as ledger:
        publish(ledger, 1)
    with Holder(path) as holder:
        for attempt in (lambda: publish(ledger, 2), lambda: ledger.forget(["x"]), lambda: ledger.replace_caches({})):
            with pytest.raises(SeriesBusy, match=f"Process {holder.pid} on .* is at work in this series"):
                attempt()
        assert holder.finish() == 0
    assert_is_whole(Ledger.open(path), 2)


def test_a_reader_sees_the_committed_series_and_disturbs_nobody(tmp_path: Path, catalogue_url: str | None) -> None:
    path = tmp_path / "s"
    with create(path, catalogue_url) as ledger:
        publish(ledger, 1)
    with Holder(path) as holder, Ledger.open(path) as reader:
        assert len(reader.releases) == 1
        assert reader.facts(1).number == 1
        assert reader.verify() == []
        assert (path / "private" / "staging" / "0002").exists()  # not swept under a living publisher
        assert holder.finish() == 0
        assert set(reader.caches()) == {"signatures", "beliefs"}  # the files it knew of were replaced meanwhile
    assert_is_whole(Ledger.open(path), 2)


def test_a_killed_publisher_frees_the_series(tmp_path: Path, catalogue_url: str | None) -> None:
    path = tmp_path / "s"
    with create(path, catalogue_url) as ledger:
        publish(ledger, 1)
    Holder(path).kill()
    publish(ledger, 2)
    assert_is_whole(Ledger.open(path), 2)


def test_two_ledgers_in_one_process_exclude_each_other(series: Path) -> None:
    one, other = Ledger.open(series), Ledger.open(series)
    with (
        one.publisher(),
        one.publisher(),
        pytest.raises(SeriesBusy, match="is at work in this series"),
        other.publisher(),
    ):
        pass
    publish(other, 2)
    publish(one, 3)
    assert_is_whole(Ledger.open(series), 3)


def replace_by_an_empty_file(lock: Path) -> None:
    lock.rename(lock.with_name("elsewhere"))
    lock.touch(mode=0o600)


@pytest.mark.parametrize("lose", [Path.unlink, replace_by_an_empty_file])
def test_a_lost_lock_lets_no_second_publisher_in(series: Path, lose: Callable[[Path], None]) -> None:
    one, other = Ledger.open(series), Ledger.open(series)
    with one.publisher():
        lose(series / "private" / "lock")
        with pytest.raises(SeriesBusy, match="is at work in this series"):
            publish(other, 2)
        for change in (lambda: publish(one, 2), lambda: one.add_coding(3, {})):
            with pytest.raises(SeriesError, match=r"lock was deleted or replaced .* Nothing was changed"):
                change()
    (series / "private" / "elsewhere").unlink(missing_ok=True)
    publish(other, 2)
    assert_is_whole(Ledger.open(series), 2)


def test_a_lost_lock_stops_the_first_publisher_where_folders_cannot_be_locked(
    series: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on some network drives: the second gets in, since it cannot know; the first commits and sweeps nothing."""
    monkeypatch.setattr(system, "open_folder", lambda path: None)
    one, other = Ledger.open(series), Ledger.open(series)
    first = one.publisher()
    first.__enter__()
    (series / "private" / "lock").unlink()
    with other.publisher():
        stage = other.stage(2)
        with pytest.raises(SeriesError, match="lock was deleted or replaced"):
            one.add_coding(3, {})
        first.__exit__(None, None, None)
        assert stage.public.exists(), "the first has swept what the second had made"
        publish(other, 2)
    assert_is_whole(Ledger.open(series), 2)


def test_a_lock_replaced_between_opening_and_locking_is_opened_again(
    series: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, real = series / "private" / "lock", system.lock

    def replaced_first(handle: int) -> None:
        monkeypatch.setattr(system, "lock", real)
        path.unlink()
        real(handle)

    monkeypatch.setattr(system, "open_folder", lambda path: None)
    monkeypatch.setattr(system, "lock", replaced_first)
    with Ledger.open(series).publisher():
        assert json.loads(path.read_text())["pid"] == os.getpid()


def test_verify_names_a_missing_lock(series: Path, ledger: Ledger) -> None:
    (series / "private" / "lock").unlink()
    assert [(one.file, one.reason) for one in ledger.verify()] == [("private/lock", "it is missing.")]
    with ledger.publisher():
        assert ledger.verify() == []


def test_the_database_excludes_a_publisher_where_file_locks_do_not_reach(
    tmp_path: Path, postgresql_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder seen from two machines: the file lock may not hold between them, so PostgreSQL has its own."""
    monkeypatch.setenv("PGPASSWORD", "secret")
    monkeypatch.setattr(postgresql, "_PATIENCE", 0.0)
    one = create(tmp_path / "s", postgresql_url)
    shutil.copytree(tmp_path / "s", tmp_path / "elsewhere")
    other = Ledger.open(tmp_path / "elsewhere")
    busy = pytest.raises(SeriesBusy, match="holds this series in the PostgreSQL database")
    with one.publisher(), busy, other.publisher():
        pass


def test_a_lost_connection_publishes_nothing(
    tmp_path: Path, postgresql_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", "secret")
    path = tmp_path / "s"
    with create(path, postgresql_url) as ledger:
        publish(ledger, 1)
        clients = "FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        with ledger.publisher():
            with psycopg.connect(postgresql_url) as connection:
                connection.execute(f"SELECT pg_terminate_backend(pid) {clients}")
            with pytest.raises(SeriesError, match=r"failed: .*terminat"):
                publish(ledger, 2)
            with pytest.raises(SeriesError, match=r"connection to .* was lost, and the lock with it"):
                publish(ledger, 2)
        assert_is_whole(Ledger.open(path), 1)
        publish(ledger, 2)
        assert_is_whole(ledger, 2)


def test_series_share_a_database_and_no_password_is_kept(
    tmp_path: Path, postgresql_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = (create(tmp_path / name, postgresql_url) for name in ("one", "other"))
    with one, other, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PGPASSWORD", "secret")
        publish(one, 1)
        publish(other, 1)
        publish(other, 2)
    for path, releases in ((tmp_path / "one", 1), (tmp_path / "other", 2)):
        files = [file for file in path.rglob("*") if file.is_file()]
        assert not any(b"secret" in file.read_bytes() for file in files)
        assert not (path / "private" / "catalogue.sqlite").exists()
        with pytest.raises(SeriesError, match=r"password: PGPASSWORD") as refused:
            Ledger.open(path)
        assert "secret" not in str(refused.value)
        assert_is_whole(Ledger.open(path, catalogue_url=postgresql_url), releases)


def test_a_database_without_an_encoding_serves(
    tmp_path: Path, postgresql_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a server makes them that was installed without a locale."""
    monkeypatch.setenv("PGPASSWORD", "secret")
    with psycopg.connect(postgresql_url, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS bare")
        connection.execute("CREATE DATABASE bare ENCODING 'SQL_ASCII' TEMPLATE template0")
    with create(tmp_path / "s", postgresql_url.replace("/postgres", "/bare")) as ledger:
        publish(ledger, 1)
    assert_is_whole(Ledger.open(tmp_path / "s"), 1)


def test_other_databases_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SeriesError, match="cannot be kept in 'mysql'"):
        create(tmp_path / "s", "mysql://host/base")
    with pytest.raises(SeriesError, match="address cannot be read"):
        create(tmp_path / "s", "no address")
    assert not (tmp_path / "s").exists()
