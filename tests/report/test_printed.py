"""The report on paper: a page to sign, then what it rests on; findings and steps as an appendix, not all of them."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Browser

from reissue.report import render_audit
from reissue.report.pages import PAPER
from tests.report.browser import shown
from tests.report.documents import Document, example, long_series

ITEM = re.compile(rb"<</Title\s*(\((?:\\.|[^)\\])*\)|<[0-9A-F]+>)(.*?)endobj", re.DOTALL)
PAGE = re.compile(rb"(\d+) 0 obj\s*<</Type\s*/Page\b(?!s)")


def written(folder: Path, document: Document) -> Path:
    file = folder / "report.html"
    file.write_text(render_audit(document), encoding="utf-8")
    return file


def print_headings(browser: Browser, file: Path) -> tuple[dict[str, int], int]:
    """(page of each heading, by its first words; pages), as the printed file's outline has them."""
    with shown(browser, file) as (page, _):
        pdf = page.pdf(format="A4", prefer_css_page_size=True, tagged=True, outline=True)
    pages = {int(found[1]) for found in PAGE.finditer(pdf)}
    lists = re.findall(rb"/Type\s*/Pages.*?/Kids\s*\[(.*?)\]", pdf, re.DOTALL)
    order = [number for kids in lists for one in re.findall(rb"(\d+) 0 R", kids) if (number := int(one)) in pages]
    places = {}
    for found in ITEM.finditer(pdf):
        target = re.search(rb"\[(\d+) 0 R\s*/XYZ", found[2])
        if target:
            places[_read_title(found[1])] = order.index(int(target[1])) + 1
    return places, len(order)


def _read_title(title: bytes) -> str:
    if title.startswith(b"<"):
        return bytes.fromhex(title[1:-1].decode())[2:].decode("utf-16-be")
    return title[1:-1].decode("latin-1")


def test_findings_are_an_appendix_on_a_page_of_their_own(browser: Browser, tmp_path: Path) -> None:
    places, pages = print_headings(browser, written(tmp_path, example()))
    body = [places[name] for name in ("Attacks", "What was audited", "Risk over time", "Releases", "Assumptions")]
    assert places["What to do now"] == 1
    assert body == sorted(body)
    assert body[0] == 2, "the summary has a page of its own"
    assert places["Appendix: Findings"] > body[-1]
    assert places["Appendix: Findings"] <= places["What was done"] <= pages


def test_two_years_print_on_few_pages_and_say_where_the_rest_is(browser: Browser, tmp_path: Path) -> None:
    document = long_series(40, findings=8)
    for release in document["releases"]:
        release["steps"] = [f"1. Published release {release['number']}."]
    for attack in document["attacks"]:
        attack["findings_total"] = 50
        attack["findings"] = [{**one, "level": level} for level, one in enumerate(attack["findings"], start=1)]
    file = written(tmp_path, document)
    pages = print_headings(browser, file)[1]
    assert pages < 35
    with shown(browser, file, width=700) as (page, _):
        assert not page.locator(".paper").first.is_visible()
        assert page.locator("details.finding").count() == page.locator("details.finding:visible").count()
        page.emulate_media(media="print")
        first = page.locator("section.attack").first
        assert first.locator("details.finding:visible").count() == PAPER
        assert f"{50 - PAPER} more findings are not printed." in first.inner_text()
        assert "10 more releases are in the file that was printed." in page.inner_text("main")
        assert "On paper the last 3 releases have their steps" in page.inner_text("section.last")
        assert page.locator("section.last details:visible").count() == PAPER
        assert page.locator("[aria-label=Releases] tbody tr:visible").count() == 30


def test_a_short_report_leaves_nothing_out(browser: Browser, tmp_path: Path) -> None:
    with shown(browser, written(tmp_path, example())) as (page, _):
        page.emulate_media(media="print")
        assert "that was printed" not in page.inner_text("main")
        assert "not printed" not in page.inner_text("main")
