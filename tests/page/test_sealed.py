"""A snapshot of an encrypted series is encrypted while it waits, and nothing of it is left by a server that dies."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import reissue as ri
from reissue.errors import LedgerDamaged
from reissue.ledger import sealing, system
from reissue.page.desk import Office
from reissue.page.uploads import OPEN, PART, find_waiting, open_waiting, sweep
from tests.page.server import Served, finish, read, serving
from tests.page.tables import SCHEMA, csv

NAME = "clinic.reissue"
AT = f"/series/{NAME}"
KEY = bytes(range(32))
ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def encrypted(home: Path) -> Iterator[Served]:
    (home / "key").write_bytes(KEY)
    key = f"file:{home / 'key'}"
    if not (home / NAME).exists():
        ri.Series.create(home / NAME, ri.Schema(**SCHEMA), ri.Static(k=4, c=0.5), seed=1, key=key).close()
    with serving(home) as served:
        served.office.key = key
        served.office.add(home / NAME)
        yield served


def find_plain(folder: Path, content: bytes) -> list[Path]:
    """Files below a folder that hold a line of the content."""
    line = content.splitlines()[7]
    return [path for path in folder.rglob("*") if path.is_file() and line in path.read_bytes()]


def test_an_encrypted_snapshot_that_is_refused_is_called_by_its_name(tmp_path: Path) -> None:
    with encrypted(tmp_path) as served:
        client = served.enter()
        assert client.upload(f"{AT}/snapshot", "January.csv", b"a,b\n1,2\n").status == 200
        finish(served)
        words = read(client.get(f"{AT}/next").text)
        assert " January.csv does not fit the schema." in words
        assert OPEN not in words


def test_a_snapshot_waits_encrypted_and_is_previewed_and_published(tmp_path: Path) -> None:
    content = csv(range(40))
    with encrypted(tmp_path) as served:
        client = served.enter()
        assert client.upload(f"{AT}/snapshot", "January.csv", content).status == 200
        finish(served)
        waiting = find_waiting(tmp_path / NAME / "private" / "uploads")
        assert waiting is not None
        assert waiting.name.startswith("January.csv.")
        assert stat.S_IMODE(waiting.stat().st_mode) == 0o600
        assert find_plain(tmp_path / NAME / "private", content) == []
        words = read(client.get(f"{AT}/next").text)
        assert "January.csv waits for your approval" in words
        assert "What would be done" in words
        client.send(f"{AT}/publish")
        finish(served)
        assert os.listdir(waiting.parent) == []
        with served.office.find(NAME).open() as series:
            assert [(one.name, one.counts["published"]) for one in series.releases] == [("January", 40)]


def test_the_first_table_of_an_encrypted_series_waits_encrypted_too(tmp_path: Path) -> None:
    content = csv(range(60))
    with encrypted(tmp_path) as served:
        client = served.enter()
        address = client.upload("/new/table", "people.csv", content).text.partition('"to":"')[2].partition('"')[0]
        assert find_plain(tmp_path / ".reissue-drafts", content) == []
        assert "New series from people.csv" in read(client.get(address).text)
        assert client.send(f"{address}/create", name="mine", strategy="standing").status == 200
        finish(served)
        assert find_plain(tmp_path / "mine.reissue" / "private", content) == []
        assert "people.csv waits" in read(client.get("/series/mine.reissue/next").text)


@pytest.mark.parametrize("in_memory", [True, False])
def test_a_sealed_file_returns_byte_for_byte_however_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_memory: bool
) -> None:
    if not in_memory:
        monkeypatch.setattr(sealing, "open_in_memory", lambda path: None)
    pieces = [os.urandom(700_001) for _ in range(8)]
    with sealing.SealedWriter(tmp_path / "part", KEY) as sealed:
        for piece in pieces:
            sealed.write(piece)
    waiting = tmp_path / sealing.name_sealed("a.b.csv", sealed.salt)
    (tmp_path / "part").rename(waiting)
    with open_waiting(waiting, KEY) as file:
        assert file.name == "a.b.csv"
        assert file.is_symlink() == (in_memory and hasattr(os, "memfd_create"))
        assert file.read_bytes() == b"".join(pieces)
    assert os.listdir(tmp_path) == [waiting.name]
    assert pieces[0][:64] not in waiting.read_bytes()


def test_an_altered_file_and_another_key_are_refused(tmp_path: Path) -> None:
    with sealing.SealedWriter(tmp_path / "part", KEY) as sealed:
        sealed.write(csv(range(40)))
    waiting = tmp_path / sealing.name_sealed("a.csv", sealed.salt)
    (tmp_path / "part").rename(waiting)
    with pytest.raises(LedgerDamaged, match="cannot be decrypted"), open_waiting(waiting, bytes(32)):
        pass
    content = bytearray(waiting.read_bytes())
    content[len(content) // 2] ^= 1
    waiting.write_bytes(content)
    with pytest.raises(LedgerDamaged, match="cannot be decrypted"), open_waiting(waiting, KEY):
        pass
    assert os.listdir(tmp_path) == [waiting.name]


def test_what_a_killed_server_left_open_or_half_sent_is_swept_when_the_page_is_opened_again(tmp_path: Path) -> None:
    """Also where files cannot be in memory; what another server that runs has open stays."""
    code = (
        "import os, signal, sys; from pathlib import Path; from reissue.ledger import sealing\n"
        "from reissue.page.uploads import OPEN, PART, _name_own, open_waiting\n"
        "sealing.open_in_memory = lambda path: None\n"
        "folder = Path(sys.argv[1]); (folder / _name_own(PART)).write_bytes(b'half')\n"
        "with sealing.SealedWriter(folder / 'x', bytes(range(32))) as sealed: sealed.write(b'secret')\n"
        "waiting = folder / sealing.name_sealed('a.csv', sealed.salt); (folder / 'x').rename(waiting)\n"
        "with open_waiting(waiting, bytes(range(32))) as file:\n"
        "    assert file.read_bytes() == b'secret'; os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    (tmp_path / "private" / "uploads").mkdir(parents=True)
    folder = tmp_path / "private" / "uploads"
    done = subprocess.run([sys.executable, "-c", code, str(folder)], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert sorted(name.partition("-")[0] for name in os.listdir(folder) if name[0] == ".") == [".open", ".part"]
    own = folder / f"{OPEN}{os.getpid()}-own"
    own.mkdir()
    Office(tmp_path, [tmp_path])
    left = os.listdir(folder)
    assert [name for name in left if name.startswith((OPEN, PART))] == [own.name]
    assert len(left) == 2, "what waits still waits"


def test_a_process_is_known_by_its_number(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert system.is_running(os.getpid())
    assert system.is_running(os.getppid())
    assert not system.is_running(ended.pid)
    monkeypatch.setattr(system, "HAS_MODES", False)
    assert not system.is_running(os.getppid()), "on Windows asking would end it"
    sweep(tmp_path / "absent")
