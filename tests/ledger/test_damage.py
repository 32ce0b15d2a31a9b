"""Whatever is altered, missing or added is named, and nothing is read or published on top of it."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reissue.errors import LedgerDamaged, SeriesError
from reissue.ledger import Ledger
from tests.ledger.support import assert_is_whole, create, flip, publish, some_caches


def private_files(series: Path) -> list[Path]:
    return sorted(path for path in (series / "private").rglob("*") if path.is_file() and path.stat().st_size)


def named(series: Path) -> set[str]:
    """What a steward is told is damaged: by opening, or by verify."""
    try:
        with Ledger.open(series) as ledger:
            return {damage.file for damage in ledger.verify()}
    except LedgerDamaged as error:
        return {str(error).split(":")[0]}


def test_a_flipped_bit_in_any_private_file_is_named(series: Path) -> None:
    files = private_files(series)
    assert len(files) == 3 + 8  # pointer, catalogue, seal; facts, shape, 2 caches, identities, 2 codings, meta
    for path in files:
        content = path.read_bytes()
        for position in {0, 1, len(content) // 3, len(content) // 2, len(content) - 1}:
            flip(path, position, bit=position % 7)
            found = named(series)
            expected = "private/catalogue.sqlite" if path.name == "catalogue.sha256" else str(path.relative_to(series))
            assert expected in found, (path, position)
            path.write_bytes(content)
    assert_is_whole(Ledger.open(series), 1)


def test_a_flipped_bit_anywhere_in_the_catalogue_stops_publishing(series: Path) -> None:
    """Also in places that SQLite does not use: the seal covers every byte."""
    path = series / "private" / "catalogue.sqlite"
    content = path.read_bytes()
    for position in range(0, len(content), 1009):
        flip(path, position, bit=position % 8)
        with pytest.raises(SeriesError, match=r"private/catalogue\.sqlite"):
            publish(Ledger.open(series), 2)
        path.write_bytes(content)
        assert sorted(os.listdir(series / "releases")) == ["0001"]
    publish(Ledger.open(series), 2)
    assert_is_whole(Ledger.open(series), 2)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        *(("reissue_series.next_subject", value) for value in ("../x", -1, 2.5)),
        *(
            ("reissue_files.release", "x"),
            ("reissue_files.size", b"9"),
            ("reissue_files.name", "x"),
            ("reissue_public.sha256", b"7"),
        ),
        *(("steps", value) for value in ('{"a": 1}', '{"sealed": 1}', "[1]", "7")),
        *(("settings", "[]"), ("counts", "null"), ("counts", "{"), ("strategy", b"m")),
    ],
)
def test_a_catalogue_of_another_kind_is_damaged_though_its_seal_is_true(
    series: Path, column: str, value: object
) -> None:
    path = series / "private" / "catalogue.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        table, name = column.split(".") if "." in column else ("reissue_releases", column)
        where = "WHERE role = 'coding' AND name = '000002'" if table == "reissue_files" else ""
        connection.execute(f"UPDATE {table} SET {name} = ? {where}", (value,))
    (series / "private" / "catalogue.sha256").write_text(hashlib.sha256(path.read_bytes()).hexdigest() + "\n")
    with pytest.raises(LedgerDamaged, match=r"catalogue\.sqlite: a row is not what was written .*Restore private/"):
        Ledger.open(series)


@pytest.mark.parametrize("role", ["facts", "shape", "cache", "identities", "coding", "meta"])
@pytest.mark.parametrize("harm", ["flipped", "truncated", "missing"])
def test_a_damaged_file_is_not_read(series: Path, role: str, harm: str) -> None:
    ledger = Ledger.open(series)
    file = ledger._state.of_role(role)[-1]
    path = series / "private" / "files" / file.path
    if harm == "flipped":
        flip(path, 30)
    elif harm == "truncated":
        path.write_bytes(path.read_bytes()[:-5])
    else:
        path.unlink()
    read = {
        "facts": lambda: ledger.facts(1),
        "shape": lambda: ledger.facts(1),
        "cache": ledger.caches,
        "identities": ledger.identities,
        "coding": ledger.coding,
        "meta": lambda: ledger.meta,
    }[role]
    with pytest.raises(LedgerDamaged) as refused:
        read()
    words = {"flipped": "SHA-256 differs", "truncated": f"{file.size - 5} of {file.size} bytes", "missing": "No such"}
    message = str(refused.value)
    assert message.startswith(f"private/files/{file.path}")
    assert words[harm] in message
    assert ("(release 1)" in message) == (file.release == 1)
    assert ("verify --rebuild" if role == "cache" else "Restore it from a backup") in message
    (damage,) = ledger.verify()
    assert (damage.file, damage.release) == (f"private/files/{file.path}", file.release or None)


def test_damaged_caches_are_replaced(series: Path) -> None:
    ledger = Ledger.open(series)
    flip(series / "private" / "files" / ledger._state.of_role("cache")[0].path, 9)
    assert len(ledger.verify()) == 1
    ledger.replace_caches(some_caches(1))
    assert_is_whole(ledger, 1)


def test_changes_in_what_was_published_are_named(series: Path) -> None:
    release = series / "releases" / "0001"
    (release / "data.csv").write_text("changed")
    (release / "more" / "about.json").unlink()
    (release / "added.csv").write_text("x")
    (series / "releases" / "0007").mkdir()
    found = {damage.file: damage for damage in Ledger.open(series).verify()}
    assert {name: damage.release for name, damage in found.items()} == {
        "releases/0001/data.csv": 1,
        "releases/0001/more/about.json": 1,
        "releases/0001/added.csv": 1,
        "releases/0007": None,
    }
    assert "not what was published" in found["releases/0001/data.csv"].reason
    assert found["releases/0001/more/about.json"].reason == "it is missing."


def test_strangers_in_the_private_folder_are_named_not_removed(series: Path) -> None:
    for name in ("notes.txt", "files/backup.parquet"):
        (series / "private" / name).write_text("x")
        (series / "private" / name).chmod(0o600)
    found = {damage.file for damage in Ledger.open(series).verify()}
    assert found == {"private/notes.txt", "private/files/backup.parquet"}


def test_orphans_of_the_ledger_are_swept(series: Path) -> None:
    orphan = series / "private" / "files" / ("0" * 64 + ".parquet")
    orphan.write_text("x")
    assert_is_whole(Ledger.open(series), 1)
    assert not orphan.exists()


def test_open_permissions_and_an_edited_config_are_named(series: Path) -> None:
    (series / "private" / "catalogue.sqlite").chmod(0o644)
    (series / "reissue.toml").write_text("[policy]\nm = 99\n")
    found = {damage.file: str(damage) for damage in Ledger.open(series).verify()}
    assert "chmod 600" in found["private/catalogue.sqlite"]
    assert "changed after the series was created" in found["reissue.toml"]
    assert len(found) == 2


def test_a_missing_catalogue_is_not_replaced_by_an_empty_one(series: Path) -> None:
    (series / "private" / "catalogue.sqlite").unlink()
    with pytest.raises(LedgerDamaged, match=r"private/catalogue\.sqlite: .*Restore private/ from a backup"):
        Ledger.open(series)
    assert not (series / "private" / "catalogue.sqlite").exists()


def test_a_committed_release_whose_files_vanished_blocks_the_next(series: Path) -> None:
    shutil.rmtree(series / "releases" / "0001")
    with sqlite3.connect(series / "private" / "catalogue.sqlite") as catalogue:
        catalogue.execute("UPDATE reissue_releases SET revealed = 0")
    catalogue.close()
    (series / "private" / "catalogue.sha256").write_text("open\n")
    ledger = Ledger.open(series)
    assert {damage.file for damage in ledger.verify()} == {"releases/0001/data.csv", "releases/0001/more/about.json"}
    with pytest.raises(LedgerDamaged, match="releases/0001 is missing: the release is committed, but its public"):
        publish(ledger, 2)


@pytest.mark.parametrize("name", ["catalogue.sha256.new", "series.json.new"])
@pytest.mark.parametrize("content", [b"", b"half of wh"], ids=["empty", "torn"])
def test_half_written_files_of_a_killed_run_are_swept(series: Path, name: str, content: bytes) -> None:
    """They are nobody's: the file that was to be replaced is still there."""
    half = series / "private" / name
    half.write_bytes(content)
    with Ledger.open(series) as ledger:
        assert not half.exists(), "opening sweeps it"
        assert_is_whole(ledger, 1)
        half.write_bytes(content)
        publish(ledger, 2)
        assert not half.exists(), "publishing does, too"
    assert_is_whole(Ledger.open(series), 2)


def test_files_of_others_in_the_private_folder_stay(series: Path) -> None:
    kept = series / "private" / "notes.txt"
    kept.write_text("mine")
    Ledger.open(series).close()
    assert kept.read_text() == "mine"


@pytest.mark.parametrize(
    ("seal", "said"),
    [
        (None, "its seal, private/catalogue.sha256, is missing or cannot be read"),
        (b"x" * 64, "its seal, private/catalogue.sha256, is not what was written"),
        (b"0" * 64 + b"\n", r"it does not fit its seal, private/catalogue.sha256 \(SHA-256 differs\)"),
    ],
)
def test_what_is_wrong_with_a_seal_is_told_of_the_seal(series: Path, seal: bytes | None, said: str) -> None:
    place = series / "private" / "catalogue.sha256"
    place.unlink() if seal is None else place.write_bytes(seal)
    with Ledger.open(series) as ledger:
        found = {damage.file: str(damage) for damage in ledger.verify()}
        assert re.search(said, found["private/catalogue.sqlite"])
        with pytest.raises(LedgerDamaged, match=said):
            publish(ledger, 2)


def test_a_catalogue_damaged_while_it_is_open_is_not_sealed(series: Path) -> None:
    seal = series / "private" / "catalogue.sha256"
    with Ledger.open(series) as ledger, ledger.publisher():
        seal.write_bytes(b"open\n")  # as it is while a transaction runs
        with contextlib.closing(sqlite3.connect(series / "private" / "catalogue.sqlite")) as damaged, damaged:
            damaged.execute("CREATE TABLE beside(this)")
            damaged.execute("INSERT INTO beside VALUES (NULL)")
            damaged.execute("PRAGMA writable_schema = ON")
            damaged.execute("UPDATE sqlite_schema SET sql = 'CREATE TABLE beside(this NOT NULL)' WHERE name = 'beside'")
    assert seal.read_bytes() == b"open\n"
    with pytest.raises(LedgerDamaged, match=r"integrity check says: NULL value in beside\.this\. Restore private/"):
        publish(Ledger.open(series), 2)
    assert seal.read_bytes() == b"open\n"


def test_links_are_called_links(series: Path, tmp_path: Path) -> None:
    ledger = Ledger.open(series)
    facts, shape = (ledger._state.of_role(role)[0].path for role in ("facts", "shape"))
    moved = tmp_path / "elsewhere"
    (series / "private" / "files" / facts).rename(moved)
    (series / "private" / "files" / facts).symlink_to(moved)
    (series / "private" / "files" / shape).unlink()
    (series / "private" / "files" / shape).symlink_to("/nowhere")
    (series / "private" / "notes").symlink_to("/nowhere")
    release = series / "releases" / "0001"
    (release / "data.csv").unlink()
    (release / "data.csv").symlink_to("/nowhere")
    (release / "folder").symlink_to("/")
    found = {
        damage.file: damage.reason for damage in ledger.verify() if "not a file of the ledger" not in damage.reason
    }
    assert found.pop(f"private/files/{facts}").startswith(f"it is a link to {moved}, not a file of its own.")
    assert found.pop(f"private/files/{shape}").startswith("it is a link to /nowhere, not a file of its own.")
    assert found == {
        "private/notes": "it is a link to /nowhere.",
        "releases/0001/data.csv": "it is a link to /nowhere, not a file of its own.",
        "releases/0001/folder": "it is not part of the release.",
    }


def test_a_series_is_made_in_no_file_and_behind_no_broken_link(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("nowhere")
    with pytest.raises(SeriesError, match="file is no folder; a series is one"):
        create(tmp_path / "file")
    with pytest.raises(SeriesError, match="link is a link to nowhere, where no folder is"):
        create(tmp_path / "link")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link"]


def test_a_folder_that_may_not_be_looked_into_is_no_missing_one(series: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, walk = series / "releases" / "0001", os.walk

    def closed(top: Path, onerror: Callable[[OSError], None]) -> Iterator[tuple[str, list[str], list[str]]]:
        onerror(PermissionError(13, "Permission denied", str(folder)))
        yield from walk(top) if top != folder else ()

    with monkeypatch.context() as patch:
        patch.setattr("reissue.ledger.checking.os.walk", closed)
        with Ledger.open(series) as ledger:
            (damage,) = [one for one in ledger.verify() if one.release == 1]
    assert (damage.file, damage.reason) == ("releases/0001", "it cannot be read (Permission denied).")
    shutil.rmtree(folder)
    with Ledger.open(series) as ledger:
        reasons = {one.reason for one in ledger.verify() if one.release == 1}
    assert reasons
    assert not any("cannot be read" in reason for reason in reasons)
