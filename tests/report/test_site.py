"""The site: it builds with strict links, has its pictures, and can be read in light and dark, on a desk and a phone."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.support.axe import find_violations, show_in_turn

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
OF_OURS = ("color-contrast", "image-alt", "input-image-alt")
"""The rules that depend on us; others judge the theme."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As `make docs` builds it; a link that leads nowhere, or a page that is not listed, fails."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "-q", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, timeout=600)
    return folder


@pytest.mark.parametrize("page", ["index", "choosing", "strategies/standing"])
def test_a_page_of_the_site_can_be_read_by_everybody(site: Path, browser: Browser, page: str) -> None:
    opened = browser.new_page()
    opened.goto((site / f"{page}.html").as_uri())
    for look in show_in_turn(opened):
        assert find_violations(opened, rules=OF_OURS) == [], look
        assert opened.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), f"{look}: wider than that"
    opened.close()


def test_the_navigation_takes_one_line_on_a_desk(site: Path, browser: Browser) -> None:
    opened = browser.new_page(viewport={"width": 1280, "height": 900})
    opened.goto((site / "index.html").as_uri())
    tops = "[...document.querySelectorAll('.navbar .nav-link')].map(one => one.getBoundingClientRect().top)"
    places = opened.evaluate(tops)
    assert len(places) > 8
    assert len(set(places)) == 1
    opened.close()


@pytest.mark.parametrize("page", ["index.md", "choosing.md", "strategies", "attacks"])
def test_every_strategy_and_attack_has_a_picture_with_words_for_those_who_do_not_see_it(page: str) -> None:
    found = sorted((DOCS / page).glob("*.md")) or [DOCS / page]
    for one in found:
        pictures = re.findall(r"!\[([^\]]*)\]\(([^)]+\.svg)\)", one.read_text(encoding="utf-8"))
        assert pictures, one
        for words, path in pictures:
            assert len(words) > 20, f"{one}: {path}"
            assert (one.parent / path).is_file()
