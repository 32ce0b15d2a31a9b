"""A full disk, a size limit, a read-only folder: the reason is told, and nothing is lost."""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from reissue.errors import ReissueError, SeriesError
from reissue.ledger import Ledger
from reissue.ledger.disk import explain_os_error, write_durably
from reissue.ledger.sqlite import SQLiteCatalogue
from tests.ledger.support import assert_is_whole, create, in_child, publish

NOBODY = 65534


@pytest.mark.parametrize("limit", [0, 10, 300, 3_000, 7_000, 15_000, 30_000, 50_000])
def test_files_that_may_not_grow_stop_a_release_not_the_series(series: Path, limit: int) -> None:
    """The limit strikes at another step each time: seal, facts, caches, catalogue."""

    def work() -> None:
        ledger = Ledger.open(series)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        try:
            with ledger.publisher():  # as the engine would: the public files are there already
                publish(ledger, 2, rows=20_000)
        except SeriesError as error:
            assert "failed" in str(error), error  # noqa: PT017
            os._exit(77)
        except OSError:
            os._exit(78)  # from the test's own writing of public files

    assert in_child(work) in ((78,) if limit < 20 else (77,))
    assert_is_whole(Ledger.open(series), 1)
    publish(Ledger.open(series), 2)
    assert_is_whole(Ledger.open(series), 2)


@pytest.mark.parametrize("limit", [0, 10, 70, 1_000, 10_000])
def test_a_creation_or_a_change_that_may_not_write_leaves_nothing_behind(tmp_path: Path, limit: int) -> None:
    with create(tmp_path / "old") as old:
        publish(old, 1)

    def work() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        failures = 0
        for attempt in (lambda: create(tmp_path / "new"), lambda: old.forget(["patient-001-02-é"])):
            try:
                attempt()
            except ReissueError:
                failures += 1
        os._exit(70 + failures)

    assert in_child(work) == 72
    assert not (tmp_path / "new").exists()
    assert_is_whole(Ledger.open(tmp_path / "old"), 1)
    assert_is_whole(create(tmp_path / "new"), 0)


@pytest.fixture
def small_disk() -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    folder = Path(tempfile.mkdtemp())
    mount = ["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True).returncode:
        folder.rmdir()
        pytest.skip("a small disk cannot be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)
        folder.rmdir()


def test_a_full_disk_is_told_and_loses_nothing(small_disk: Path) -> None:
    path = small_disk / "s"
    with create(path) as ledger:
        publish(ledger, 1)
        filler = small_disk / "filler"
        free = shutil.disk_usage(small_disk).free
        for spare in (0, 8_192, 20_480, 40_960, 65_536):
            filler.write_bytes(b"x" * (free - spare))
            with pytest.raises((SeriesError, OSError)) as refused:
                publish(ledger, 2, rows=100_000)
            if isinstance(refused.value, SeriesError):
                assert "disk is full" in str(refused.value)
            else:
                assert spare < 16_384  # no room even for the test's own public file
            filler.unlink()
            assert_is_whole(Ledger.open(path), 1)
        publish(ledger, 2)
        assert_is_whole(Ledger.open(path), 2)


@pytest.fixture
def shelf() -> Iterator[Path]:
    """A folder that another user can reach, since root may write anywhere."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    subprocess.run(["chmod", "-R", "u+rwX", str(folder)], check=True)
    shutil.rmtree(folder)


def hand_over(path: Path) -> None:
    """Make everything read-only, and owned by a user who is not root."""
    for one in [path, *path.rglob("*")]:
        if os.geteuid() == 0:
            os.chown(one, NOBODY, NOBODY)
        one.chmod(0o500 if one.is_dir() else 0o400)


def as_nobody() -> None:
    if os.geteuid() == 0:
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def test_a_read_only_series_can_be_read(shelf: Path) -> None:
    with create(shelf / "s") as ledger:
        publish(ledger, 1)
    hand_over(shelf / "s")

    def work() -> None:
        as_nobody()
        with Ledger.open(shelf / "s") as ledger:
            assert len(ledger.releases) == 1
            assert ledger.facts(1).class_count == 6
            assert len(ledger.caches()) == 2
            assert ledger.verify() == []
            for attempt in (lambda: publish(ledger, 2), lambda: ledger.replace_caches({})):
                try:
                    attempt()
                except SeriesError as error:
                    assert "You may not write there" in str(error)  # noqa: PT017
                else:
                    raise AssertionError("it was written")

    assert in_child(work) == 0


def test_a_folder_that_may_not_be_read_does_not_end_the_check(shelf: Path) -> None:
    with create(shelf / "s") as ledger:
        for number in (1, 2, 3):
            publish(ledger, number)
    hand_over(shelf / "s")
    releases = shelf / "s" / "releases"
    (releases / "0001").chmod(0)
    (releases / "0002" / "more").chmod(0)
    (releases / "0003" / "data.csv").chmod(0)

    def look(hidden: Path | None = None) -> None:
        as_nobody()
        with Ledger.open(shelf / "s") as ledger:
            found = {damage.file: damage for damage in ledger.verify()}
        assert {damage.reason for damage in found.values()} == {"it cannot be read (Permission denied)."}
        assert {damage.remedy[:26] for damage in found.values()} == {"Run as the owner of the se"}
        folders = {"releases/0001", "releases/0002/more", "releases/0003/data.csv"}
        assert set(found) == folders

    assert in_child(look) == 0


def test_a_read_only_series_that_must_be_settled_says_so(shelf: Path) -> None:
    path = shelf / "s"
    with create(path) as ledger:
        publish(ledger, 1)
    in_child(lambda: publish(Ledger.open(path), 2), "commit.committed")
    hand_over(path)

    def work() -> None:
        as_nobody()
        try:
            Ledger.open(path)
        except SeriesError as error:
            assert "release 2" in str(error)  # noqa: PT017
            assert "Open the series once with permission to write" in str(error)  # noqa: PT017
            os._exit(77)

    assert in_child(work) == 77
    subprocess.run(["chmod", "-R", "u+rwX,go-rwx", str(path / "private")], check=True)
    (path / "releases").chmod(0o755)
    assert_is_whole(Ledger.open(path), 2)


def test_somebody_elses_series_cannot_be_opened(shelf: Path) -> None:
    create(shelf / "s").close()
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")

    def work() -> None:
        as_nobody()
        try:
            Ledger.open(shelf / "s")
        except SeriesError as error:
            assert "Only the owner of a series can open it" in str(error)  # noqa: PT017
            os._exit(77)

    assert in_child(work) == 77


def test_macos_empties_the_memory_of_the_drive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", lambda handle, command: calls.append(f"fcntl {command}"))
    monkeypatch.setattr(os, "fsync", lambda handle: calls.append("fsync"))
    write_durably(tmp_path / "file", b"content")
    assert calls == ["fcntl 51", "fcntl 51"]  # the file, then its folder

    def refuse(handle: int, command: int) -> None:
        raise OSError(errno.ENOTSUP, "no such thing on this drive")

    monkeypatch.setattr(fcntl, "fcntl", refuse)
    write_durably(tmp_path / "file", b"content")
    assert calls[2:] == ["fsync", "fsync"]


def test_an_error_told_in_words_only_gets_its_remedy() -> None:
    assert "The disk is full." in explain_os_error(
        "Writing the release", OSError("No space left on device (os error 28)")
    )


def publish_all(ledger: Ledger) -> None:
    for number in range(2, 30):
        publish(ledger, number, new_coding=False)


def test_a_catalogue_without_room_says_that_the_disk_is_full(series: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite's own word for it, brought about by its own limit."""
    connect = SQLiteCatalogue._connect

    def connect_small(self: SQLiteCatalogue) -> sqlite3.Connection:
        connection = connect(self)
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count={pages}")
        return connection

    with Ledger.open(series) as ledger:
        with monkeypatch.context() as small:
            small.setattr(SQLiteCatalogue, "_connect", connect_small)
            with pytest.raises(SeriesError, match=r"failed: the disk is full\. Free some space and try again\. What"):
                publish_all(ledger)
        published = len(ledger.releases)
    with Ledger.open(series) as ledger:
        assert (len(ledger.releases), ledger.verify()) == (published, [])
        publish(ledger, published + 1)
