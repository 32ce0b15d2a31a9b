"""What the page shows of a series is what the library says of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import reissue as ri
from tests.page.server import Client, Served, finish, read, serving
from tests.page.tables import SCHEMA, table


@pytest.fixture(scope="module")
def careless(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two releases of a strategy that promises nothing across releases."""
    path = tmp_path_factory.mktemp("home") / "careless.reissue"
    with ri.Series.create(path, ri.Schema(**SCHEMA), ri.Static(k=4, c=0.5), seed=1, formats=["csv"]) as series:
        series.publish(table(range(40)), label="January")
        series.publish(table(range(13, 53)), label="February")
    return path


@pytest.fixture(scope="module")
def served(careless: Path) -> Iterator[Served]:
    with serving(careless.parent, careless) as running:
        yield running


@pytest.fixture(scope="module")
def client(served: Served) -> Client:
    return served.enter()


@pytest.fixture(scope="module")
def audited(served: Served, client: Client) -> ri.Audit:
    """The audit as the page has it, once it has been asked for."""
    finish(served)
    assert json.loads(client.send("/series/careless.reissue/audit", names="on").text) == {
        "to": "/series/careless.reissue/audit"
    }
    finish(served)
    audit = served.office.find("careless.reissue").audit
    assert audit is not None
    return audit


def test_the_list_names_each_series_with_its_last_release(client: Client) -> None:
    words = read(client.get("/").text)
    assert "careless.reissue" in words
    assert "2 releases" in words
    assert "February" in words


def test_the_series_page_shows_every_release_with_its_figures(careless: Path, client: Client) -> None:
    words = read(client.get("/series/careless.reissue").text)
    with ri.Series.open(careless) as series:
        for release in series.releases:
            for figure in (release.label, release.counts["published"], release.counts["classes"]):
                assert str(figure) in words
            assert all(step in words for step in release.steps)


def test_damage_is_shown_as_verify_names_it(careless: Path, served: Served, client: Client) -> None:
    file = careless / "releases" / "0001" / "release.csv"
    content = file.read_bytes()
    client.get("/series/careless.reissue")  # which looks at the files of a series that nobody has looked at yet
    finish(served)
    try:
        file.write_bytes(content + b"x")
        client.send("/series/careless.reissue/verify")
        finish(served)
        words = read(client.get("/series/careless.reissue").text)
        with ri.Series.open(careless) as series:
            assert [damage for damage in series.verify() if damage.reason in words and damage.file in words]
    finally:
        file.write_bytes(content)


def test_the_audit_page_says_what_the_audit_says(audited: ri.Audit, client: Client) -> None:
    words = read(client.get("/series/careless.reissue/audit").text)
    assert audited.verdict in words
    assert all(finding.sentence in words for finding in audited.breaches[:3])
    assert audited.verdict in read(client.get("/series/careless.reissue").text)


def test_findings_are_narrowed_down_by_attack_and_release(audited: ri.Audit, client: Client) -> None:
    name = next(finding.attack for finding in audited.findings if 2 in finding.releases)
    shown = client.get(f"/series/careless.reissue/audit?attack={name}&release=2").text
    sections = re.findall(r'<section class="attack".*?</section>', shown, flags=re.DOTALL)
    assert len(sections) == 1
    found = [one.sentence for one in audited.findings if one.attack == name and 2 in one.releases]
    others = [one.sentence for one in audited.findings if one.attack != name or 2 not in one.releases]
    assert others
    assert all(sentence in read(sections[0]) for sentence in found[:20])
    assert not any(sentence in read(sections[0]) for sentence in others if sentence not in found)


def test_a_person_is_looked_up_by_identifier(audited: ri.Audit, client: Client) -> None:
    assert client.send("/series/careless.reissue/person", person="p20").status == 200
    assert audited.look_up("p20").sentence in read(client.get("/series/careless.reissue/audit").text)
    assert "'nobody' is not known" in client.send("/series/careless.reissue/person", person="nobody").text
    assert audited.look_up("p20").sentence not in read(client.get("/series/careless.reissue/audit").text)


def test_the_audit_is_saved_as_the_library_writes_it(audited: ri.Audit, client: Client) -> None:
    as_json, as_html = (client.get(f"/series/careless.reissue/audit.{kind}") for kind in ("json", "html"))
    assert as_json.text == audited.to_json()
    assert as_html.text == audited.to_html()
    for answer in (as_json, as_html):
        assert answer.headers["content-disposition"].startswith("attachment")


def test_what_is_not_there_is_said_in_a_page_of_ours(client: Client) -> None:
    answer = client.get("/series/other.reissue")
    assert answer.status == 404
    assert "no such series" in read(answer.text)
    answer = client.get("/series/careless.reissue/nothing")
    assert answer.status == 404
    assert "There is no page at this address" in read(answer.text)


def test_every_file_that_a_page_names_is_served_as_what_it_is(audited: ri.Audit, client: Client) -> None:
    at = "/series/careless.reissue"
    pages = [client.get(path).text for path in ("/", at, f"{at}/next", f"{at}/audit")]
    named = {path for page in pages for path in re.findall(r'"(/static/[^"]+)"', page)}
    assert {path.rpartition("/")[2] for path in named} == {"charts.js", "page.css", "page.js", "style.css", "vega.js"}
    parts = {
        "charts.js": "reissueEmbed",
        "page.css": "{",
        "page.js": "addEventListener",
        "style.css": "{",
        "vega.js": "vega",
    }
    for path in named:
        answer, name = client.get(path), path.rpartition("/")[2]
        assert answer.status == 200
        assert answer.headers["content-type"].startswith("text/css" if name.endswith("css") else "text/javascript")
        assert parts[name] in answer.text
    assert client.get("/static/report.js").status == 404
    assert len({client.get(path).text for path in named}) == len(named)
