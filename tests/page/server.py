"""The page as it is served, in a thread of the test, and a client that speaks plain HTTP."""

from __future__ import annotations

import html
import http.client
import json
import re
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from reissue.page.desk import Office
from reissue.page.serving import listen, make_server


@dataclass(eq=False)
class Answer:
    status: int
    headers: Mapping[str, str]
    text: str


@dataclass(eq=False)
class Served:
    """office: what the server has in hand; links: told so far, the last one is good."""

    office: Office
    host: str
    links: list[str] = field(default_factory=list)

    def ask(
        self, method: str, path: str, headers: Mapping[str, str] | None = None, body: bytes | str | None = None
    ) -> Answer:
        connection = http.client.HTTPConnection(self.host, timeout=600)
        try:
            connection.request(method, path, body, {"Host": self.host, **(headers or {})})
            got = connection.getresponse()
            return Answer(got.status, {key.lower(): value for key, value in got.getheaders()}, got.read().decode())
        finally:
            connection.close()

    def ask_bytes(self, path: str, headers: Mapping[str, str]) -> bytes:
        connection = http.client.HTTPConnection(self.host, timeout=600)
        connection.request("GET", path, headers={"Host": self.host, **headers})
        content = connection.getresponse().read()
        connection.close()
        return content

    def enter(self) -> Client:
        """A browser that used the newest link."""
        address = self.links[-1].removeprefix(f"http://{self.host}")
        cookie = self.ask("GET", address).headers["set-cookie"].partition(";")[0]
        page = self.ask("GET", "/", {"Cookie": cookie}).text
        found = re.search(r'name="reissue-token" content="([^"]+)"', page)
        assert found
        return Client(self, cookie, found[1])


@dataclass(frozen=True, eq=False)
class Client:
    served: Served
    cookie: str
    token: str

    def get(self, path: str) -> Answer:
        return self.served.ask("GET", path, {"Cookie": self.cookie})

    def send(self, path: str, **fields: str) -> Answer:
        headers = {"Cookie": self.cookie, "x-reissue-token": self.token, "content-type": "application/json"}
        return self.served.ask("POST", path, headers, json.dumps(fields))

    def upload(self, path: str, name: str, content: bytes) -> Answer:
        headers = {"Cookie": self.cookie, "x-reissue-token": self.token, "x-reissue-file": name}
        return self.served.ask("POST", path, headers, content)


@contextmanager
def serving(home: Path, *series: Path) -> Iterator[Served]:
    with listen(0) as listener:
        host = f"127.0.0.1:{listener.getsockname()[1]}"
        served = Served(Office(home, series), host)
        server = make_server(served.office, listener, served.links.append, served.links.append)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield served
        finally:
            for desk in served.office.desks.values():
                wait_for(lambda desk=desk: not desk.bench.busy)
            server.should_exit = True
            thread.join()


def wait_for(happened: object) -> None:
    """Until it has happened, however slow the machine is."""
    while not happened():
        time.sleep(0.01)


def read(page: str) -> str:
    """The words of a page, without marks."""
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", page)))


def finish(served: Served) -> None:
    wait_for(lambda: not any(desk.bench.busy for desk in served.office.desks.values()))
