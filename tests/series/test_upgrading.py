"""Series that older versions of Reissue wrote, kept as files: they open, verify, audit and go on.

scripts/write-older-series made tests/series/older with the version before the format changed.
"""

from __future__ import annotations

import json
import re
import shutil
import tarfile
from dataclasses import replace
from pathlib import Path

import psycopg
import pyarrow.csv
import pytest

import reissue as ri
from reissue.cli import main, show
from reissue.errors import SeriesError
from reissue.history.past_releases import compare_caches
from reissue.ledger import count_erased
from reissue.ledger.events import LOGGED, Event
from reissue.methods.registry import STRATEGIES
from reissue.series.upkeep import mend_caches
from tests.support.private import read_private

FOLDER = Path(__file__).parent / "older"
OLDER = sorted(FOLDER.glob("*.tar.xz"))
ON_A_SERVER = sorted((FOLDER / "postgresql").glob("*.tar.xz"))
KEY = bytes(range(32))


def unpack(archive: Path, folder: Path, server: str | None = None) -> ri.Series:
    """The series of an archive; what was written to its catalogue in PostgreSQL is written to this server."""
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="fully_trusted")  # modes are part of a series
    if server is not None:
        with psycopg.connect(server, autocommit=True) as connection, connection.transaction():
            for statement, parameters in json.loads((folder / "statements.json").read_text(encoding="utf-8")):
                connection.execute(re.sub(r":([a-z_0-9]+)", r"%(\1)s", statement).encode(), parameters or None)
    key = KEY if "encrypted" in archive.name else None
    return ri.Series.open(folder / "series", key=key, catalogue=server)


def content(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def catalogued(series: ri.Series) -> dict[str, list[str]]:
    """What the catalogue says, in no order, which is a database's own affair."""
    return {table: sorted(map(str, rows)) for table, rows in series._ledger._catalogue.copy_rows().items()}


def test_there_is_an_older_series_of_every_strategy() -> None:
    assert {path.name.removesuffix(".tar.xz") for path in OLDER} >= set(STRATEGIES)


@pytest.mark.parametrize("archive", OLDER, ids=lambda path: path.name.removesuffix(".tar.xz"))
def test_an_older_series_opens_verifies_audits_and_goes_on(archive: Path, tmp_path: Path) -> None:
    with unpack(archive, tmp_path) as series:
        before = content(series.path)
        assert series.verify() == []
        assert len(series.audit(attacks=["association"]).outcomes) == 1
        assert len(series.log()) == len(series.releases) == 2
        assert content(series.path) == before, "looking changes nothing"
        assert series.upgraded == ""
        release = series.publish(pyarrow.csv.read_csv(tmp_path / "next.csv"))
        assert release.number == 3
        forgotten = int(series.strategy.supports.gone)  # by a version without marks: who comes back counts as new
        assert release.counts["new"] == 15 + forgotten
        assert count_erased(series._ledger.shelf) == forgotten
        assert series.upgraded.startswith("The ledger was brought from format 1 to 2")
        assert "\n" not in series.upgraded
        assert [event.what for event in series.log()].count("upgrade") == 1
        assert len(series.audit(attacks=["association"]).outcomes) == 1
        assert series.verify(rebuild=True) == [], "the caches are what this version makes of the facts"
    with ri.Series.open(series.path, key=KEY if "encrypted" in archive.name else None) as again:
        assert (len(again.releases), again.upgraded, again.verify()) == (3, "", [])


@pytest.mark.parametrize("archive", OLDER, ids=lambda path: path.name.removesuffix(".tar.xz"))
def test_caches_as_an_older_version_made_them_are_no_damage(archive: Path, tmp_path: Path) -> None:
    """They are made anew as this version makes them, and nobody is told that anything was wrong."""
    with unpack(archive, tmp_path) as series:
        assert series.verify(rebuild=True) == []
        mend_caches(series._ledger, series.strategy, series.coding)
        assert series.verify(rebuild=True) == []


@pytest.mark.xdist_group("postgresql")
@pytest.mark.parametrize("archive", ON_A_SERVER, ids=lambda path: path.name.removesuffix(".tar.xz"))
def test_an_older_series_with_its_catalogue_in_postgresql_goes_on_and_can_go_back(
    archive: Path, tmp_path: Path, postgresql_url: str
) -> None:
    """The statements that wrote the catalogue are those of the version before, repeated in a server of today."""
    key = KEY if "encrypted" in archive.name else None
    with unpack(archive, tmp_path, postgresql_url) as series:
        before, rows = content(series.path), catalogued(series)
        assert ["'format': 1," in row for row in rows["reissue_series"]] == [True]
        assert (series.verify(), len(series.releases)) == ([], 2)
        assert content(series.path) == before, "looking changes nothing"
        series.upgrade()
        series.upgrade(back=True)
        assert catalogued(series) == rows
        release = series.publish(pyarrow.csv.read_csv(tmp_path / "next.csv"))
        marked = "events" in archive.name  # by a version that had marks and events, but not yet their format
        assert (release.number, release.counts["new"]) == (3, 15 + (not marked))
        assert series.upgraded.startswith("The ledger was brought from format 1 to 2")
        assert series.verify(rebuild=True) == []
    with ri.Series.open(series.path, key=key, catalogue=postgresql_url) as again:
        assert (len(again.releases), again.upgraded, again.verify()) == (3, "", [])
    with psycopg.connect(postgresql_url) as connection:
        told = [str(row) for table in rows for row in connection.execute(f"SELECT * FROM {table}".encode()).fetchall()]
    own = [row for row in told if json.loads((series.path / "private/series.json").read_text())["series"] in row]
    assert len(own) > 3
    assert key is None or not any(word in row for row in own for word in ("m-invariance", "illness", "person-"))


def test_caches_that_an_older_version_made_otherwise_are_made_anew_before_publishing(tmp_path: Path) -> None:
    """The first version of bay-frame had other beliefs."""
    with unpack(FOLDER / "bay-frame-first.tar.xz", tmp_path) as series:
        kept = series._ledger.caches()
        mend_caches(series._ledger, series.strategy, series.coding)
        assert compare_caches(series._ledger.caches(), kept) != [], "the example has what it is to show"
        series._ledger.replace_caches(kept)
        assert series._ledger.has_older_caches
        series.publish(pyarrow.csv.read_csv(tmp_path / "next.csv"))
        assert not series._ledger.has_older_caches
        assert series.verify(rebuild=True) == []


def test_caches_are_an_older_versions_as_long_as_it_made_the_last_release(tmp_path: Path) -> None:
    with unpack(FOLDER / "static.tar.xz", tmp_path) as series:
        series.upgrade()
        ledger, state = series._ledger, series._ledger._state
        assert ledger.has_older_caches
        for upgraded, releases in ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2)):
            files = {
                key: replace(file, release=upgraded) if file.role == "before" else file
                for key, file in state.files.items()
            }
            ledger._state = replace(state, files=files, releases=state.releases[:releases])
            assert ledger.has_older_caches == (upgraded == releases > 0)


def test_the_upgrade_encrypts_what_older_versions_said_in_the_clear(tmp_path: Path) -> None:
    with unpack(FOLDER / "m-invariance-encrypted.tar.xz", tmp_path) as series:
        steps = series.releases[0].steps
        assert steps[0].encode() in read_private(series.path)
        series.upgrade()
        kept = read_private(series.path)
        assert not any(word.encode() in kept for word in (*steps, "m-invariance", "illness", "person-"))
        assert series.releases[0].steps == steps


@pytest.mark.parametrize("name", ["m-invariance", "m-invariance-encrypted"])
def test_an_upgrade_can_be_undone_to_the_last_word_as_long_as_nothing_else_was_done(name: str, tmp_path: Path) -> None:
    with unpack(FOLDER / f"{name}.tar.xz", tmp_path) as series:
        before, rows = content(series.path), catalogued(series)
        series.upgrade()
        assert content(series.path).keys() - before.keys()
        series.upgrade(back=True)
        assert catalogued(series) == rows
        after = content(series.path)
        assert {path for path in before | after if before.get(path) != after.get(path)} <= {
            *("private/catalogue.sqlite", "private/catalogue.sha256", "private/lock")
        }
        assert series.verify() == []
        series.upgrade()
        series.forget("person-020")
        with pytest.raises(SeriesError, match="was changed after the upgrade"):
            series.upgrade(back=True)
        assert series.verify() == []


def test_a_series_of_this_version_has_nothing_to_go_back_to(tmp_path: Path) -> None:
    with unpack(FOLDER / "static.tar.xz", tmp_path) as old:
        schema, strategy = old.schema, old.strategy
    with ri.Series.create(tmp_path / "new", schema, strategy) as series:
        with pytest.raises(SeriesError, match="nothing to go back to"):
            series.upgrade(back=True)
        assert series.verify() == []


def test_an_older_version_refuses_what_this_one_has_changed(tmp_path: Path) -> None:
    """Versions that know format 1 only look at both numbers before anything else."""
    with unpack(FOLDER / "static.tar.xz", tmp_path) as series:
        series.upgrade()
        rows = series._ledger._catalogue.copy_rows()
    assert json.loads((series.path / "private" / "series.json").read_text())["format"] == 2
    assert [row["format"] for row in rows["reissue_series"]] == [2]


def test_a_series_that_may_not_be_written_is_read_as_it_is(tmp_path: Path) -> None:
    with unpack(FOLDER / "static.tar.xz", tmp_path) as series:
        copy = shutil.copytree(series.path, tmp_path / "copy")
    (copy / "private" / "lock").unlink()
    with ri.Series.open(copy) as opened:
        assert len(opened.releases) == 2
        assert not (copy / "private" / "lock").exists()


def test_the_command_says_in_one_line_what_it_did(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = str(unpack(FOLDER / "static.tar.xz", tmp_path).path)

    def run(*arguments: str) -> tuple[str, str]:
        main.main(arguments, standalone_mode=False)
        return tuple(capfd.readouterr())

    done = "The ledger was brought from format 1 to 2, which older versions do not read; a copy of the catalogue as it "
    assert run("upgrade", path) == ("", done + "was is kept.\n")
    assert run("upgrade", path) == ("The series is up to date.\n", "")
    assert "Upgraded the ledger" in run("log", path)[0]
    assert run("upgrade", path, "--back") == ("The ledger is as the version before wrote it.\n", "")
    assert run("forget", path, "person-030")[1] == done + "was is kept.\n"


def test_the_log_has_words_for_everything_it_keeps() -> None:
    for what in LOGGED.values():
        assert show.describe_event(Event(what, "2026-01-01", "ann", {}), {}).endswith(" 2026-01-01 by ann.")
