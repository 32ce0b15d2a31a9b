"""From a dropped snapshot to a release: previewed, stopped by gates, approved, handed out, withdrawn."""

from __future__ import annotations

import io
import json
import os
import signal
import stat
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import reissue as ri
from reissue.page.uploads import find_waiting
from tests.page.server import Client, Served, finish, read, serving, wait_for
from tests.page.tables import SCHEMA, csv, table

NAME = "clinic.reissue"
AT = f"/series/{NAME}"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """A series with one release of 40 people."""
    with ri.Series.create(tmp_path / NAME, ri.Schema(**SCHEMA), ri.Static(k=4, c=0.5), seed=1) as series:
        series.publish(table(range(40)), label="January")
    with serving(tmp_path, tmp_path / NAME) as running:
        yield running


@pytest.fixture
def client(served: Served) -> Client:
    return served.enter()


def list_releases(served: Served) -> list[ri.Release]:
    with served.office.find(NAME).open() as series:
        return series.releases


def preview(served: Served, client: Client, content: bytes, name: str = "February.csv") -> str:
    assert client.upload(f"{AT}/snapshot", name, content).status == 200
    finish(served)
    return read(client.get(f"{AT}/next").text)


def test_a_snapshot_that_is_refused_is_called_by_its_name(served: Served, client: Client) -> None:
    words = preview(served, client, csv(range(5, 45)).replace(b"age", b"years", 1))
    assert " February.csv does not fit the schema." in words


def test_a_preview_says_what_the_library_says_and_publishes_nothing(
    served: Served, client: Client, tmp_path: Path
) -> None:
    words = preview(served, client, csv(range(5, 45)))
    (tmp_path / "February.csv").write_bytes(csv(range(5, 45)))
    with served.office.find(NAME).open() as series:
        expected = series.preview(tmp_path / "February.csv")
    assert expected.audit is not None
    assert expected.audit.verdict in words
    assert all(step in words for step in expected.release.steps)
    assert f"newly exposed {expected.newly_exposed}" in words
    assert len(list_releases(served)) == 1


def test_what_is_approved_is_published_under_its_label_and_nothing_waits(served: Served, client: Client) -> None:
    preview(served, client, csv(range(5, 45)))
    assert client.send(f"{AT}/publish", label="Spring").status == 200
    finish(served)
    assert [release.name for release in list_releases(served)] == ["January", "Spring"]
    assert find_waiting(served.office.find(NAME).uploads) is None
    assert "Spring is published" in read(client.get(f"{AT}/next").text)


@pytest.mark.gates
def test_a_gate_stops_until_it_is_allowed_by_name(served: Served, client: Client) -> None:
    words = preview(served, client, csv(range(12)))
    assert "few-rows" in words
    assert "Is the export complete?" in words
    client.send(f"{AT}/publish")
    finish(served)
    assert len(list_releases(served)) == 1
    assert "few-rows" in read(client.get(f"{AT}/next").text)
    client.send(f"{AT}/publish", **{"allow.few-rows": "on"})
    finish(served)
    assert list_releases(served)[-1].allowed == ("few-rows",)


def test_a_snapshot_that_does_not_fit_is_refused_in_words(served: Served, client: Client) -> None:
    assert "age" in preview(served, client, csv(range(40)).replace(b"age", b"years"))
    words = read(client.get(f"{AT}/next").text)
    assert "is still here. Mend the file, discard this one and drop it again." in words
    assert "waits for your approval" not in words, "nobody can approve it"
    assert client.send(f"{AT}/discard").status == 200
    assert find_waiting(served.office.find(NAME).uploads) is None
    assert "Drop the next snapshot" in read(client.get(f"{AT}/next").text)


def test_an_upload_is_private_and_whole_and_its_name_leads_nowhere(served: Served, client: Client) -> None:
    uploads = served.office.find(NAME).uploads
    client.upload(f"{AT}/snapshot", "..%2F..%2Freleases%2F0009%2Fx.csv", csv(range(40)))
    finish(served)
    assert [path.name for path in uploads.iterdir()] == ["x.csv"]
    assert stat.S_IMODE((uploads / "x.csv").stat().st_mode) == 0o600
    assert stat.S_IMODE(uploads.stat().st_mode) == 0o700
    with served.office.find(NAME).open() as series:
        assert series.verify() == []


@pytest.mark.parametrize("chunked", [False, True])
def test_an_upload_beyond_the_limit_leaves_nothing(served: Served, client: Client, chunked: bool) -> None:
    served.office.limit = 1000
    headers = {"Cookie": client.cookie, "x-reissue-token": client.token, "x-reissue-file": "large.csv"}
    body = iter([csv(range(40))] * 4) if chunked else csv(range(40)) * 4
    answer = served.ask("POST", f"{AT}/snapshot", headers, body)
    assert answer.status == 400
    assert "larger than the page takes" in json.loads(answer.text)["error"]
    assert list(served.office.find(NAME).uploads.glob("*")) == []


def test_the_zip_holds_exactly_the_public_files(served: Served, client: Client) -> None:
    release = list_releases(served)[0]
    answer = served.ask_bytes(f"{AT}/releases/1.zip", {"Cookie": client.cookie})
    with zipfile.ZipFile(io.BytesIO(answer)) as packed:
        held = {name: packed.read(name) for name in packed.namelist()}
    assert held == {path.name: path.read_bytes() for path in release.path.iterdir()}
    assert client.get(f"{AT}/releases/7.zip").status == 400
    (release.path / "release.csv").write_text("changed")
    assert "must not be handed out" in client.get(f"{AT}/releases/1.zip").text


def test_a_release_is_withdrawn_only_if_nobody_has_it(served: Served, client: Client) -> None:
    assert client.send(f"{AT}/withdraw", reason="wrong month").status == 400
    assert client.send(f"{AT}/withdraw", not_handed_out="on").status == 400
    assert len(list_releases(served)) == 1
    assert client.send(f"{AT}/withdraw", reason="wrong month", not_handed_out="on").status == 200
    assert list_releases(served) == []
    assert "wrong month" in read(client.get(AT).text)


def test_of_two_browsers_one_publishes_and_the_other_is_told(served: Served, client: Client) -> None:
    preview(served, client, csv(range(5, 45)))
    other, desk = served.enter(), served.office.find(NAME)
    hold, begun = threading.Event(), threading.Event()

    def work(say: object) -> None:
        begun.set()
        hold.wait()

    desk.bench.start("Publishing", work)
    begun.wait()
    for answer in (
        other.send(f"{AT}/publish"),
        other.upload(f"{AT}/snapshot", "a.csv", b"x"),
        other.send(f"{AT}/audit"),
        other.send(f"{AT}/discard"),
    ):
        assert answer.status == 409
        assert "Publishing is at work" in json.loads(answer.text)["error"]
    assert "Publishing" in read(other.get(f"{AT}/next").text)
    assert find_waiting(desk.uploads) is not None
    hold.set()


def test_another_program_that_publishes_is_told_of(served: Served, client: Client) -> None:
    preview(served, client, csv(range(5, 45)))
    with served.office.find(NAME).open() as series, series._ledger.publisher():
        client.send(f"{AT}/publish")
        finish(served)
    assert "is at work in this series" in read(client.get(f"{AT}/next").text)
    assert len(list_releases(served)) == 1


@pytest.mark.parametrize("point", ["stage.facts", "commit.committed"])
def test_a_server_killed_while_it_publishes_loses_nothing(tmp_path: Path, point: str) -> None:
    """Before the commit the snapshot still waits; after it the release is there when the series is opened again."""
    path = tmp_path / NAME
    ri.Series.create(path, ri.Schema(**SCHEMA), ri.Static(k=4, c=0.5), seed=1).close()
    code = (
        "import sys, threading; from pathlib import Path; from tests.page.server import serving;"
        "from tests.page.tables import csv; from tests.page.server import finish\n"
        "with serving(Path(sys.argv[1]).parent, Path(sys.argv[1])) as served:\n"
        "    client = served.enter(); at = '/series/clinic.reissue'\n"
        "    client.upload(f'{at}/snapshot', 'January.csv', csv(range(40))); finish(served)\n"
        "    client.send(f'{at}/publish'); finish(served)\n"
    )
    root = Path(__file__).resolve().parents[2]
    environment = {**os.environ, "REISSUE_FAULT": point}
    done = subprocess.run([sys.executable, "-c", code, str(path)], env=environment, cwd=root, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    with ri.Series.open(path) as series:
        assert len(series.releases) == (1 if point == "commit.committed" else 0)
        assert series.verify() == []
    waiting = find_waiting(path / "private" / "uploads")
    assert waiting is not None
    assert waiting.read_bytes() == csv(range(40))


def test_the_attacks_of_a_preview_can_be_stopped(served: Served, client: Client) -> None:
    desk = served.office.find(NAME)
    begun = threading.Event()

    def work(say: object) -> None:
        begun.set()
        while True:
            say("1 of 2")

    desk.bench.start("The preview", work, stoppable=True)
    begun.wait()
    client.send(f"{AT}/stop")
    wait_for(lambda: not desk.bench.busy)
    assert desk.bench.job is not None
    assert desk.bench.job.error is None
