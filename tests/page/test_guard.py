"""Only a browser that used a link sees anything, and only pages of its own cause anything."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.routing import Route

from reissue.page.app import make_app
from reissue.page.desk import Office
from reissue.page.serving import listen
from tests.page.server import Served, serving


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("home")) as running:
        running.office.add(Path("secret-name.reissue"))
        yield running


def list_addresses() -> list[tuple[str, str]]:
    """(method, address) of everything the page answers."""
    routes = make_app(Office(Path(), [])).routes
    fill = {"{series}": "secret-name.reissue", "{name}": "page.js", "{number}": "1", "{draft}": "x"}
    found = []
    for route in routes:
        assert isinstance(route, Route)
        path = route.path
        for name, value in fill.items():
            path = path.replace(name, value)
        found += [(method, path) for method in sorted(route.methods or ())]
    return found


@pytest.mark.parametrize(("method", "path"), list_addresses())
def test_nobody_without_a_session_gets_anything(served: Served, method: str, path: str) -> None:
    answer = served.ask(method, path)
    assert answer.status == 403
    assert "secret-name" not in answer.text
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(("method", "path"), [one for one in list_addresses() if one[0] == "POST"])
@pytest.mark.parametrize("token", [None, "", "guessed"])
def test_no_change_without_the_token_of_the_session(served: Served, method: str, path: str, token: str | None) -> None:
    headers = {"Cookie": served.enter().cookie} | ({} if token is None else {"x-reissue-token": token})
    assert served.ask(method, path, headers, "{}").status == 403


def test_the_token_of_one_session_is_worth_nothing_in_another(served: Served) -> None:
    one, other = served.enter(), served.enter()
    headers = {"Cookie": one.cookie, "x-reissue-token": other.token}
    assert served.ask("POST", "/series/secret-name.reissue/verify", headers, "{}").status == 403


def test_a_link_opens_one_session_once(served: Served) -> None:
    link = served.links[-1].partition(served.host)[2]
    first, second = served.ask("GET", link), served.ask("GET", link)
    assert (first.status, second.status) == (200, 403)
    assert "set-cookie" not in second.headers
    assert served.links[-1].partition(served.host)[2] != link
    assert served.ask("GET", "/enter?token=").status == 403


def test_the_session_is_a_cookie_for_this_site_only_and_for_no_script(served: Served) -> None:
    cookie = served.ask("GET", served.links[-1].partition(served.host)[2]).headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert "domain" not in cookie


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "evil.example:80", ""])
def test_a_name_that_somebody_else_leads_here_shows_nothing(served: Served, host: str) -> None:
    client = served.enter()
    answer = served.ask("GET", "/", {"Cookie": client.cookie, "Host": host})
    assert answer.status in (400, 421)
    assert "secret-name" not in answer.text


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://{host}"])
def test_a_page_of_another_origin_neither_changes_nor_reads(served: Served, origin: str) -> None:
    client = served.enter()
    headers = {"Cookie": client.cookie, "Origin": origin.format(host=served.host), "x-reissue-token": client.token}
    for method, path in (("POST", "/series/secret-name.reissue/verify"), ("GET", "/"), ("OPTIONS", "/")):
        answer = served.ask(method, path, headers, "{}" if method == "POST" else None)
        assert answer.status == 403
        assert "access-control-allow-origin" not in answer.headers
        assert "secret-name" not in answer.text


def test_a_change_that_the_browser_says_another_site_began_is_refused(served: Served) -> None:
    client = served.enter()
    headers = {"Cookie": client.cookie, "x-reissue-token": client.token, "Sec-Fetch-Site": "same-site"}
    assert served.ask("POST", "/series/secret-name.reissue/verify", headers, "{}").status == 403


def test_every_answer_forbids_to_keep_frame_sniff_or_load_from_elsewhere(served: Served) -> None:
    client = served.enter()
    asked = [client.get(path) for path in ("/", "/static/page.js", "/nowhere", "/series/none", "/enter?token=")]
    for answer in [*asked, served.ask("GET", "/"), served.ask("GET", "/", {"Host": "evil.example"})]:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert "*" not in policy
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"


def test_the_page_listens_on_this_machine_only() -> None:
    with listen(0) as listener:
        assert listener.getsockname()[0] == "127.0.0.1"
