"""A steward with a browser and no terminal: from a table to releases and an audit, by keyboard alone."""

from __future__ import annotations

import csv
import gzip
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pyarrow.csv
import pytest
from playwright.sync_api import Browser, Page

import reissue as ri
from reissue import clinic
from tests.page.server import Served, finish, serving
from tests.page.tables import SCHEMA, table
from tests.page.tables import csv as csv_of
from tests.support.axe import find_violations, show_in_turn
from tests.support.browsing import PATIENCE, choose_file, fill, press, wait_until

Tables = Callable[[Path], tuple[Path, Path]]
"""Writes the first table, and one that is cut off."""


def write_clinic(folder: Path) -> tuple[Path, Path]:
    first, second = clinic.clinic_months(months=2, patients=300)
    pyarrow.csv.write_csv(first, folder / "2024-01.csv")
    pyarrow.csv.write_csv(second.slice(0, 90), folder / "2024-02.csv")
    return folder / "2024-01.csv", folder / "2024-02.csv"


def write_adult(folder: Path) -> tuple[Path, Path]:
    source = Path(__file__).resolve().parents[3] / "shared" / "data" / "adult" / "adult.data.gz"
    if not source.is_file():
        pytest.skip("the real data (../shared/data) is not here; the clinic goes the same way")
    head = ["person", "age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation"]
    head += [
        "relationship",
        "race",
        "sex",
        "capital_gain",
        "capital_loss",
        "hours_per_week",
        "native_country",
        "income",
    ]
    with gzip.open(source, "rt") as file:
        rows = [[place, *row] for place, row in enumerate(csv.reader(file, skipinitialspace=True)) if len(row) == 15]
    for name, part in (("adult-1", rows[:1500]), ("adult-2", rows[:300])):
        with (folder / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([head, *part])
    return folder / "adult-1.csv", folder / "adult-2.csv"


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """Every error on the console fails the test: also what the page's own policy refuses. A refusal (400) is none."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(PATIENCE * 1000)
    opened, problems = context.new_page(), []
    wrong = lambda message: message.type == "error" and "status of 400" not in message.text  # noqa: E731
    opened.on("console", lambda message: problems.append(message.text) if wrong(message) else None)
    opened.on("pageerror", lambda error: problems.append(str(error)))
    yield opened
    context.close()
    assert problems == []


def enter(page: Page, served: Served) -> None:
    page.goto(served.links[-1])
    page.wait_for_url(f"http://{served.host}/")


CHOOSE = "or choose a file"


def expect_one(selector: str) -> str:
    """That the page has it, and that no work goes on."""
    return f"document.querySelector({selector!r}) && !document.querySelector('[data-job]')"


def check(page: Page) -> None:
    """No serious finding of axe-core, on a desk and on a phone, and nothing wider than the screen."""
    wait_until(page, "true")
    for width, scheme in ((390, "dark"), (1280, "light")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        assert find_violations(page) == [], f"{page.url} at {width} px"
        assert page.evaluate("document.documentElement.scrollWidth") <= width, f"{page.url} at {width} px"


@pytest.mark.gates
@pytest.mark.parametrize("tables", [write_clinic, write_adult])
def test_a_steward_publishes_is_stopped_and_audits_by_keyboard_alone(
    browser: Browser, page: Page, tmp_path: Path, tables: Tables
) -> None:
    first, cut = tables(tmp_path)
    home = tmp_path / "home"
    home.mkdir()
    look = check if tables is write_clinic else lambda page: None
    with serving(home) as served:
        enter(page, served)
        look(page)
        press(page, "New series", "location.pathname === '/new'")
        choose_file(page, CHOOSE, first)
        wait_until(page, expect_one("#columns"))
        look(page)
        fill(page, "Name", "mine")
        press(page, "Create the series", expect_one("#approve"))
        look(page)
        press(page, "Publish this release", expect_one("#done"))
        look(page)
        choose_file(page, CHOOSE, cut)
        wait_until(page, expect_one("#approve"))
        assert "few-rows" in page.inner_text("fieldset.gate legend")
        asked = "document.activeElement.name === 'allow.few-rows'"  # by the browser: the question is not answered
        press(page, "Publish this release", asked)
        look(page)
        press(page, "Discard it", expect_one("form[data-upload]"))
        press(page, "Audit", "location.pathname.endsWith('/audit')")
        press(page, "Audit the series", expect_one("#verdict"))
        wait_until(page, "document.documentElement.dataset.drawn === 'yes'")
        look(page)
        press(page, "Releases", expect_one("ol.timeline"))
        look(page)
        finish(served)
        page.goto("about:blank")  # it asks for nothing any more when the server ends
    with ri.Series.open(home / "mine.reissue") as series:
        assert [release.number for release in series.releases] == [1]
        assert series.verify() == []


def test_the_audit_page_with_a_person_can_be_used_by_everybody(page: Page, tmp_path: Path) -> None:
    """Narrowed down to one attack and release, with somebody looked up: in light and dark, on a desk and a phone."""
    path = tmp_path / "careless.reissue"
    with ri.Series.create(path, ri.Schema(**SCHEMA), ri.Static(k=4, c=0.5), seed=1, formats=["csv"]) as series:
        series.publish(table(range(40)), label="January")
        series.publish(table(range(13, 53)), label="February")
    with serving(tmp_path, path) as served:
        client, at = served.enter(), "/series/careless.reissue"
        client.send(f"{at}/audit", names="on")
        finish(served)
        client.send(f"{at}/person", person="p20")
        enter(page, served)
        for address in (f"{at}/audit", f"{at}/audit?attack=association&release=2"):
            page.goto(f"http://{served.host}{address}")
            wait_until(page, "document.documentElement.dataset.drawn === 'yes'")
            assert "What does the series reveal about one person?" in page.inner_text("body")
            if address == f"{at}/audit":
                check(page)
        for look in show_in_turn(page):
            assert find_violations(page) == [], look
        page.goto("about:blank")


DROP = """([name, text]) => {
  const carried = new DataTransfer();
  carried.items.add(new File([text], name, {type: "text/csv"}));
  for (const kind of ["dragover", "drop"]) {
    const event = new DragEvent(kind, {bubbles: true, cancelable: true, dataTransfer: carried});
    document.querySelector("form[data-upload] strong").dispatchEvent(event);
  }
}"""


def test_a_file_is_dropped_and_what_is_wrong_with_it_is_said(page: Page, tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        enter(page, served)
        page.goto(f"http://{served.host}/new")
        page.evaluate(DROP, ["people.csv", csv_of(range(60)).decode()])
        page.wait_for_selector("#columns")
        assert page.inner_text("h1") == "New series from people.csv"
        page.select_option("select >> nth=0", "left out")
        page.get_by_role("button", name="Apply these roles").click()
        page.wait_for_selector("#problem:not([hidden])")
        assert page.inner_text("#problem") == "Choose one column that says who a row is about."
        assert page.evaluate("document.activeElement.id") == "problem"
        refusal = {"error": "Publish it with `reissue publish`, or <b>not</b>."}
        page.route("**/*", lambda route: route.fulfill(status=400, json=refusal))
        page.get_by_role("button", name="Apply these roles").click()
        page.wait_for_selector("#problem code")
        assert page.inner_text("#problem") == "Publish it with reissue publish, or <b>not</b>."
        assert page.inner_text("#problem code") == "reissue publish"
        page.unroute_all()
        page.goto("about:blank")


class _Foreign(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>Another page</title>")

    def log_message(self, *arguments: object) -> None:
        pass


TRY = """async (base) => {
  const read = [];
  const ways = [
    () => fetch(base, {credentials: "include"}),
    () => fetch(base + "/audit.json", {credentials: "include"}),
    () => fetch(base + "/publish", {method: "POST", credentials: "include", body: "{}"}),
    () => fetch(base + "/publish", {method: "POST", credentials: "include", headers: {"x-reissue-token": "x"}}),
  ];
  for (const way of ways) { try { read.push(await (await way()).text()); } catch { read.push(null); } }
  await fetch(base + "/publish", {method: "POST", mode: "no-cors", credentials: "include", body: "{}"}).catch(() => 0);
  return read;
}"""
SUBMIT = """(base) => {
  const form = document.body.appendChild(document.createElement("form"));
  Object.assign(form, {method: "post", action: base + "/publish"});
  form.submit();
}"""


def test_a_page_of_another_origin_neither_publishes_nor_reads(browser: Browser, tmp_path: Path) -> None:
    """Even one of the same machine, to which the browser sends the cookie along."""
    path = tmp_path / "clinic.reissue"
    ri.Series.create(path, ri.Schema(**SCHEMA), ri.Static(k=4), seed=1).close()
    foreign = ThreadingHTTPServer(("127.0.0.1", 0), _Foreign)
    threading.Thread(target=foreign.serve_forever, daemon=True).start()
    context = browser.new_context()
    context.set_default_timeout(PATIENCE * 1000)
    with serving(tmp_path, path) as served:
        page = context.new_page()
        enter(page, served)
        desk = served.office.find("clinic.reissue")
        waiting = tmp_path / "January.csv"
        pyarrow.csv.write_csv(table(range(40)), waiting)
        desk.take(waiting)
        page.goto(f"http://127.0.0.1:{foreign.server_address[1]}/")
        assert page.evaluate(TRY, f"http://{served.host}{desk.address}") == [None] * 4
        page.evaluate(SUBMIT, f"http://{served.host}{desk.address}")
        page.wait_for_url(f"http://{served.host}{desk.address}/publish")
        assert page.inner_text("body") == "Another page asked for this."
        finish(served)
        assert desk.bench.job is None
        with desk.open() as series:
            assert series.releases == []
    context.close()
    foreign.shutdown()
    foreign.server_close()
