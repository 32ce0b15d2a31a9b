"""The audit's page in a browser: drawn, read by eye and keyboard, on screens and paper; nothing hostile runs."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from reissue.report import charts, render_audit
from tests.report.browser import shown
from tests.report.documents import HOSTILE, Document, example, hostile, long_series


def written(folder: Path, document: Document) -> Path:
    file = folder / "report.html"
    file.write_text(render_audit(document), encoding="utf-8")
    return file


def test_the_page_makes_no_request_and_draws_its_charts(browser: Browser, tmp_path: Path) -> None:
    file = written(tmp_path, example())
    with shown(browser, file) as (page, seen):
        assert page.locator(".chart svg").count() == len(charts.draw_audit(example())) + len(example()["rates"])
        assert page.locator(".chart svg path").count() > 5
        assert page.locator(".vega-actions, .chart a").count() == 0, "nothing offers to upload a chart"
        for summary in page.locator("summary").all():
            summary.focus()
        page.wait_for_load_state("networkidle")
        assert seen.requests == [file.as_uri()]
        assert seen.problems == []


def test_rates_are_a_picture_and_stand_in_the_table(browser: Browser, tmp_path: Path) -> None:
    document = example()
    with shown(browser, written(tmp_path, document)) as (page, seen):
        dots = page.locator("#chart-rates-0 svg .mark-symbol path")
        assert dots.count() == len(document["rates"][0]["points"])
        table = page.locator("[aria-label='Utility'] table")
        assert "rate error, age x gender" in table.inner_text()
        assert [row.inner_text().split("\t")[-2:] for row in table.locator("tbody tr").all()] == [
            ["25%", "0.81"],
            ["22.5%", "0.84"],
        ]
        assert not page.locator("#chart-rates-0 + .legend button").count(), "one series needs no legend"
        assert seen.problems == []


def test_hostile_values_run_nothing_and_load_nothing(browser: Browser, tmp_path: Path) -> None:
    """All hostile texts on one page, charts and tooltips included, in a real browser."""
    document = hostile(" ".join(text for text in HOSTILE if len(text) < 1000))
    file = written(tmp_path, document)
    with shown(browser, file) as (page, seen):
        for mark in page.locator(".chart svg path[aria-roledescription]").all()[:12]:
            mark.hover(force=True)
        page.wait_for_load_state("networkidle")
        assert page.evaluate("window.pwned") is None
        assert seen.requests == [file.as_uri()]
        assert seen.problems == []


def test_the_policy_stops_what_escaping_would_miss(browser: Browser, tmp_path: Path) -> None:
    """Were a script or an image to get into the page after all, the browser would refuse it."""
    file = tmp_path / "report.html"
    foreign = "<script>window.pwned=1</script><img src='http://example.invalid/x.png' onerror='window.pwned=2'>"
    file.write_text(render_audit(example()).replace("</main>", foreign + "</main>"), encoding="utf-8")
    with shown(browser, file) as (page, seen):
        page.wait_for_timeout(300)
        assert page.evaluate("window.pwned") is None
        assert any("Content Security Policy" in problem for problem in seen.problems)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast(browser: Browser, tmp_path: Path, scheme: str) -> None:
    """WCAG AA: 4.5 to 1 for every piece of text against what is behind it."""
    with shown(browser, written(tmp_path, example()), scheme=scheme) as (page, _):  # type: ignore[arg-type]
        for look in ("bad", "unsure", "good"):
            page.evaluate(f"document.getElementById('verdict').className = 'verdict {look}'")
            assert page.evaluate(CONTRAST) == [], look
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (background == "rgb(255, 255, 255)") == (scheme == "light")


def test_narrow_screens_need_no_sideways_scrolling(browser: Browser, tmp_path: Path) -> None:
    document = hostile("W" * 5000)
    with shown(browser, written(tmp_path, document), width=360) as (page, _):
        assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_two_years_of_releases_fit(browser: Browser, tmp_path: Path) -> None:
    """On a desk every table is seen whole; on a phone the attacks are read without scrolling sideways."""
    wider = "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth).map(e => e.ariaLabel)"
    file = written(tmp_path, long_series(24, findings=1))
    with shown(browser, file, width=1280) as (page, _):
        assert [name for name in page.evaluate(wider) if name != "The classes involved"] == []
    with shown(browser, file, width=390) as (page, _):
        assert "Attacks" not in page.evaluate(wider)
        assert page.locator("table.cards tbody tr").first.bounding_box()["height"] < 200  # type: ignore[index]
        bars = page.locator("#chart-timeline path[aria-roledescription=bar]").all()
        lefts = sorted({round(bar.bounding_box()["x"]) for bar in bars})  # type: ignore[index]
        widest = max(bar.bounding_box()["width"] for bar in bars)  # type: ignore[index]
        assert all(b - a > widest for a, b in pairwise(lefts)), "bars can be told apart"
        assert page.locator("td.named").first.bounding_box()["width"] >= 110, "names are not broken"  # type: ignore[index]


def test_the_keyboard_reaches_and_opens_findings(browser: Browser, tmp_path: Path) -> None:
    document = example()
    worst = document["attacks"][0]["findings"][0]
    document["attacks"][0]["findings"] = [{**worst, "level": level} for level in (1.0, 0.9, 0.8)]
    with shown(browser, written(tmp_path, document)) as (page, _):
        closed = page.locator("details.finding:not([open])")
        before = closed.count()
        assert before > 0
        for _press in range(200):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.matches('details.finding:not([open]) > summary')"):
                page.keyboard.press("Enter")
                break
        expect(closed).to_have_count(before - 1)
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_the_keyboard_brings_out_a_line_of_the_legend(browser: Browser, tmp_path: Path) -> None:
    with shown(browser, written(tmp_path, example())) as (page, _):
        first, second = page.locator("#chart-risk + .legend button").all()
        assert (first.inner_text(), first.get_attribute("aria-pressed")) == ("Difference", "false")
        faint = page.locator("#chart-risk path[opacity='0.15'], #chart-risk path[stroke-opacity='0.15']")
        assert faint.count() == 0
        first.focus()
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(second).to_have_attribute("aria-pressed", "true")
        expect(page.locator(".legend [aria-pressed=true]")).to_have_count(1)
        expect(faint).not_to_have_count(0)
        page.keyboard.press("Space")
        expect(page.locator(".legend [aria-pressed=true]")).to_have_count(0)


def test_without_javascript_the_numbers_are_there(browser: Browser, tmp_path: Path) -> None:
    with shown(browser, written(tmp_path, example()), script=False) as (page, _):
        assert page.get_by_text("Charts need JavaScript").first.is_visible()
        assert page.locator("table.heat td").count() == 6


A4 = (794 - 2 * 53, 1123 - 2 * 60)
"""Of the page without its margins, in CSS pixels."""


def test_the_summary_prints_on_a_page_of_its_own(browser: Browser, tmp_path: Path) -> None:
    document = long_series(24, findings=1)
    document["verdict"] = example()["verdict"]
    document["verdict"]["at_risk"] = [{"release": n, "subjects": n, "of": 100} for n in range(1, 25)]
    with shown(browser, written(tmp_path, document), width=A4[0]) as (page, _):
        assert not page.locator(".signed").is_visible()
        page.emulate_media(media="print")
        summary = page.locator(".summary")
        assert page.locator(".signed").is_visible(), "a place to sign"
        assert summary.bounding_box()["height"] < A4[1]  # type: ignore[index]
        assert summary.evaluate("e => getComputedStyle(e).breakAfter") == "page"
        headings = page.locator("main h2").all_inner_texts()
        assert headings[-1] == "What was done", "step logs last"


def test_it_prints(browser: Browser, tmp_path: Path) -> None:
    document = example()
    for release in document["releases"]:
        release["steps"] = [f"1. Published release {release['number']}."]
    with shown(browser, written(tmp_path, document), scheme="dark") as (page, _):
        pdf = page.pdf(format="A4", prefer_css_page_size=True)
        assert pdf.startswith(b"%PDF")
        page.emulate_media(media="print", color_scheme="dark")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert not page.locator("nav.contents").is_visible()


CONTRAST = """() => {
  const parse = (c) => { const m = c.match(/[\\d.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m; };
  const linear = (v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c[3] === 1) return c;
    }
    return [255, 255, 255, 1];
  };
  const poor = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement, text = walker.currentNode.textContent.trim();
    if (!text || e.closest('script,style,.skip-link') || !e.getClientRects().length) continue;
    const style = getComputedStyle(e), ink = e.closest('svg') ? style.fill : style.color;
    if (!ink.startsWith('rgb')) continue;
    const [a, b] = [light(parse(ink)), light(behind(e))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) poor.push(text.slice(0, 40) + ' ' + ink);
  }
  return poor;
}"""
