"""The audit's report: what it says, that it loads and runs nothing foreign, and that it stays readable."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playwright.sync_api import Browser, expect

from reissue.errors import InputError
from reissue.report import charts, render_audit
from reissue.report.pages import prepare_audit
from reissue.report.text import (
    choose_unit,
    clean,
    format_share,
    list_numbers,
    list_settings,
    open_sentence,
    to_script_json,
)
from tests.report.browser import shown
from tests.report.documents import HOSTILE, Document, example, hostile, long_series


class Elements(HTMLParser):
    """Start tags with their attributes, and the text outside style and script."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._inside: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag in ("style", "script"):
            self._inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._inside and tag == self._inside[-1]:
            self._inside.pop()

    def handle_data(self, data: str) -> None:
        if not self._inside:
            self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", "".join(self.words))


@cache
def harmless_shape() -> list[tuple[str, list[str]]]:
    return [(tag, sorted(attributes)) for tag, attributes in Elements(render_audit(hostile("harmless"))).tags]


@pytest.fixture(scope="module")
def page() -> str:
    return render_audit(example())


def test_it_says_everything_the_document_says(page: str) -> None:
    text, document = Elements(page).text, example()
    said = [
        document["verdict"]["promise"]["sentence"],
        document["verdict"]["beyond"]["sentence"],
        *(one["sentence"][1:] for one in document["verdict"]["advice"]["lines"]),
        *(attack[key] for attack in document["attacks"] for key in ("does", "who")),
        *(file["sha256"] for release in document["releases"] for file in release["files"]),
        *(attack["assumes"] for attack in document["attacks"]),
        *(attack["reason"] for attack in document["attacks"] if attack["reason"]),
        *(finding["sentence"] for attack in document["attacks"] for finding in attack["findings"]),
        *(note for attack in document["attacks"] for note in attack["notes"]),
        *(one["sentence"] for one in document["traceable"]),
        *document["notes"],
        *(release["name"] for release in document["releases"]),
    ]
    for sentence in said:
        assert sentence in text, sentence
    places = [document["verdict"]["promise"]["sentence"], "What to do now", document["attacks"][0]["assumes"]]
    assert [text.index(one) for one in places] == sorted(text.index(one) for one in places), "the verdict first"


def test_steps_are_shown(
    browser,
) -> None:
    document = example()
    document["releases"][0]["steps"] = ["1. Read 4 rows.", "2. Cut them into 2 classes."]
    assert "2. Cut them into 2 classes." in Elements(render_audit(document)).text


def test_without_people_nothing_is_made_up() -> None:
    document = example()
    document["verdict"] |= {"subjects": None, "subjects_at_risk": None}
    for release in document["releases"]:
        release |= {"members": None, "changes": None, "counterfeits": None, "ambiguous": None}
    for attack in document["attacks"]:
        attack |= {"at_risk": [], "subjects_at_risk": None}
    text = Elements(render_audit(document)).text
    assert "people in the series– not known" in text.replace("\n", "")
    assert "people at risk– not known" in text.replace("\n", "")
    assert "people at risk cannot be counted" in text
    assert "nobody knows who came and left" in text
    assert "People appear by number" not in text, "nobody appears"


@pytest.mark.parametrize(
    ("breached", "held", "skipped", "look", "words"),
    [
        (1, 1, 3, "bad", "✗ These releases reveal too much"),
        (0, 0, 2, "unsure", "? Nothing could be checked"),
        (0, 1, 8, "unsure", "? Little could be checked: 8 of 9 attacks were not run"),
        (0, 8, 1, "good", "✓ No attack succeeded, 1 was not run"),
        (0, 9, 0, "good", "✓ No attack succeeded"),
    ],
)
def test_what_was_not_checked_is_not_green(breached: int, held: int, skipped: int, look: str, words: str) -> None:
    document = example()
    lists = {"breached": breached, "held": held, "skipped": skipped}
    names = {f"attacks_{status}": [f"attack {i}" for i in range(count)] for status, count in lists.items()}
    document["verdict"] |= {"breached": breached > 0, **names}
    page = render_audit(document)
    assert f'<div class="verdict {look}"' in page
    assert f"<strong>{words}</strong>" in page


def test_files_were_not_made_by_the_policy_they_are_held_against() -> None:
    document = example()
    document["series"] |= {"strategy": "static", "settings": {"k": 4}, "kind": "releases"}
    assert "held against the promise of static" in Elements(render_audit(document)).text
    document["series"]["kind"] = "series"
    text = Elements(render_audit(document)).text
    assert "made with static" in text
    assert "strategy static (k = 4)" in text


def test_an_attack_that_found_nothing_says_what_it_did_not_look_at() -> None:
    document = example()
    document["attacks"][0] |= {"worst": None, "notes": ["release 2 starts a new chain."], "status": "held"}
    document["attacks"][0] |= {"findings": [], "findings_total": 0}
    text = Elements(render_audit(document)).text
    assert "Nothing was found." in text
    assert "Release 2 starts a new chain." in text


def test_a_finding_without_classes_or_attributes_is_no_obstacle() -> None:
    document = example()
    document["attacks"][0]["findings"][0] |= {"classes": [], "classes_total": 0, "value": None, "threshold": None}
    assert "No classes to draw" in render_audit(document)
    document["attributes"] = []
    assert "No classes to draw" in render_audit(document)


def test_another_format_is_refused() -> None:
    with pytest.raises(InputError, match="reissue-audit/2"):
        render_audit({**example(), "format": "reissue-audit/2"})
    with pytest.raises(InputError, match="lacks releases"):
        render_audit({key: value for key, value in example().items() if key != "releases"})


def test_24_full_releases_stay_under_3_megabytes() -> None:
    assert len(render_audit(long_series()).encode()) < 3_000_000


def test_charts_are_valid_vega_lite() -> None:
    import altair

    for name, spec in charts.draw_audit(example()).items():
        assert altair.Chart.from_dict(dict(spec)).to_dict(), name


def test_no_address_and_no_foreign_element(page: str) -> None:
    for tag, attributes in Elements(page).tags:
        assert tag not in ("iframe", "object", "embed", "base", "form"), tag
        for name in ("src", "href", "action", "data", "srcset"):
            target = attributes.get(name)
            assert target is None or target.startswith(("#", "data:,")), (tag, target)


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:20].encode("ascii", "replace").decode())
def test_data_cannot_become_markup(text: str) -> None:
    """Whatever stands in the data: the same elements with the same attributes' names as for harmless text."""
    made = render_audit(hostile(text))
    assert [(tag, sorted(attributes)) for tag, attributes in Elements(made).tags] == harmless_shape()
    made.encode("utf-8")
    assert len(made) < 1_300_000, "a long cell does not flood the page"


@settings(max_examples=25, deadline=None)
@given(text=st.text(min_size=1))
def test_no_text_at_all_becomes_markup(text: str) -> None:
    made = render_audit(hostile(text))
    assert [(tag, sorted(attributes)) for tag, attributes in Elements(made).tags] == harmless_shape()


def test_json_in_a_script_cannot_end_it() -> None:
    for text in HOSTILE:
        assert not re.search("[<>&\u2028\u2029]", to_script_json({"value": text, text[:50]: 1}))


def test_clean_hides_nothing_silently() -> None:
    assert clean("a\x00b\u202ec\ud800") == "a\ufffdb\ufffdc\ufffd"
    assert clean("naïve – 漢字 é\n") == "naïve – 漢字 é\n"
    assert clean("x" * 10, 4) == "xxxx…"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0%"), (1, "100%"), (0.5, "50%"), (0.333, "33.3%"), (0.0001, "<0.1%"), (0.9999, ">99.9%"), (None, "–")],
)
def test_a_share_never_rounds_to_nothing_or_all(value: float | None, text: str) -> None:
    assert format_share(value) == text


def test_words_around_numbers_and_names() -> None:
    assert list_numbers([1, 2, 4, 5, 6, 9]) == "1, 2, 4 to 6, 9"
    assert list_numbers([]) == ""
    assert (choose_unit("people", 1), choose_unit("people", 2), choose_unit("share of one value", 1)) == (
        "person",
        "people",
        "share of one value",
    )
    assert (choose_unit("people on each side", 1), choose_unit("people on each side", 2)) == (
        "person on each side",
        "people on each side",
    )
    assert list_settings({"m": 4, "invariant": 1.0}) == "m = 4, the same values for life"
    assert open_sentence("subject 4 has flu") == "Subject 4 has flu"
    assert open_sentence("anna has flu") == "anna has flu", "names are nobody's to change"
    assert list_settings({"k": 5, "knowledge": {"values": "estimate", "second": None}}) == (
        "k = 5, knowledge = (values = estimate)"
    )


def test_lines_can_be_told_apart_and_nobody_at_risk_has_none() -> None:
    document = long_series(3)
    chart = charts.draw_risk(document["attacks"])
    assert chart is not None
    encoding = chart["encoding"]
    assert isinstance(encoding, dict)
    looks = zip(encoding["color"]["scale"]["range"], map(tuple, encoding["strokeDash"]["scale"]["range"]), strict=True)
    assert len(set(looks)) == 10
    for attack in document["attacks"][1:]:
        attack["at_risk"] = [{**at, "subjects": 0} for at in attack["at_risk"]]
    chart = charts.draw_risk(document["attacks"])
    assert chart is not None
    assert chart["encoding"]["color"]["scale"]["domain"] == ["Attack 0"]  # type: ignore[index]
    document["attacks"][0]["at_risk"] = [{**at, "subjects": 0} for at in document["attacks"][0]["at_risk"]]
    assert charts.draw_risk(document["attacks"]) is None
    assert "No attack puts anybody at risk in any release." in Elements(render_audit(document)).text


def test_settings_are_repeated_only_where_they_change() -> None:
    document = long_series(4)
    for release, m in zip(document["releases"], (3, 3, 4, 4), strict=True):
        release["settings"] = {"m": m}
    text = Elements(render_audit(document)).text
    assert re.findall(r"Release \d: m-invariance(?: \(m = \d\))?", text) == [
        "Release 1: m-invariance (m = 3)",
        "Release 2: m-invariance",
        "Release 3: m-invariance (m = 4)",
        "Release 4: m-invariance",
    ]


def test_without_the_extra_it_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules[{name!r}] = None\n"
        "import json; from reissue.report import render_audit; from reissue.errors import MissingExtra\n"
        "try:\n    render_audit(json.load(open({path!r})))\n"
        "except MissingExtra as error:\n    assert 'reissue[report]' in str(error); print('said')"
    )
    from tests.report.documents import EXAMPLE

    for name in ("altair", "vl_convert", "jinja2"):
        command = [sys.executable, "-c", code.format(name=name, path=str(EXAMPLE))]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.stdout.strip() == "said", done.stderr


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


def test_rates_of_several_pairs_of_none_and_of_older_documents() -> None:
    document = example()
    document["rates"].append({**document["rates"][0], "pair": "gender", "points": [], "error": None})
    document["rates"][1]["releases"] = [{"release": n, "error": None, "correlation": None} for n in (1, 2)]
    drawn, _ = prepare_audit(document)
    assert "rates-0" in drawn
    assert "rates-1" not in drawn, "nothing to draw"
    assert "rate error, gender" in Elements(render_audit(document)).text
    del document["rates"]
    text = Elements(render_audit(document)).text
    assert "rate error" not in text.lower()


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


def test_findings_that_say_the_same_are_folded() -> None:
    document = example()
    worst = document["attacks"][0]["findings"][0]
    document["attacks"][0] |= {"findings": [worst, {**worst, "level": 0.7}, worst], "findings_total": 3}
    assert Elements(render_audit(document)).text.count("1 more like this") == 1


@pytest.mark.parametrize(
    ("state", "beyond", "look", "words"),
    [
        ("kept", [], "good", "✓ Your promise holds, and no attack succeeded, 1 was not run"),
        ("kept", ["learning"], "unsure", "✓ Your promise holds, but 1 attack beyond it succeeds"),
        ("broken", ["learning"], "bad", "✗ Your promise is broken"),
        ("unchecked", [], "unsure", "? Your promise was checked only in part"),
    ],
)
def test_a_kept_promise_is_not_as_red_as_a_broken_one(state: str, beyond: list[str], look: str, words: str) -> None:
    document = example()
    verdict = document["verdict"]
    verdict |= {"attacks_breached": beyond, "attacks_held": ["association"]}
    verdict["promise"]["state"], verdict["beyond"]["attacks"] = state, beyond
    page = render_audit(document)
    assert f'<div class="verdict {look}"' in page
    assert f"<strong>{words}</strong>" in page


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
