"""`reissue serve` as a command: a link on the terminal, a page on this machine, nothing secret where others look."""

from __future__ import annotations

import http.client
import re
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import reissue as ri
from reissue.errors import InputError, MissingExtra
from reissue.page import serve, serving
from tests.page.tables import SCHEMA


def test_the_command_prints_a_link_serves_the_series_of_the_folder_and_ends_by_ctrl_c(tmp_path: Path) -> None:
    ri.Series.create(tmp_path / "clinic.reissue", ri.Schema(**SCHEMA), ri.Static(k=4)).close()
    command = [sys.executable, "-u", "-m", "reissue", "serve", "--no-browser"]
    running = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stdout is not None
    link = re.search(r"http://(127\.0\.0\.1:\d+)(/enter\?token=\S+)", running.stdout.readline())
    assert link
    connection = http.client.HTTPConnection(link[1], timeout=600)
    connection.request("GET", link[2])
    entered = connection.getresponse()
    entered.read()
    connection.request("GET", "/", headers={"Cookie": str(entered.headers["set-cookie"]).partition(";")[0]})
    assert "clinic.reissue" in connection.getresponse().read().decode()
    connection.close()
    running.send_signal(signal.SIGINT)
    told, complained = running.communicate()
    assert running.returncode in (0, 130)
    assert f"For another browser: http://{link[1]}" in told
    assert "Traceback" not in complained


def test_the_browser_is_opened_by_way_of_a_private_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a program is started with can be seen by everybody on the machine."""
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    serving._open_browser("http://127.0.0.1:1/enter?token=secret", tmp_path)
    assert "secret" not in opened[0]
    file = Path(opened[0].removeprefix("file://"))
    assert "secret" in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_what_is_no_series_and_a_port_that_is_taken_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no series"):
        serve([tmp_path], tell=print, browse=False)
    with serving.listen(0) as taken:
        host, port = taken.getsockname()
        assert host == "127.0.0.1", "no other machine is heard"
        with pytest.raises(InputError, match=f"Port {port} cannot be used"):
            serve([], home=tmp_path, port=port, tell=print, browse=False)


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"reissue\[page\]"):
        serve([], tell=print)
