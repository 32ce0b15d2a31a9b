"""What the tests of pages press and wait for arrives: on a page that is busy, and on one that loads itself again."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.support.browsing import choose_file, fill, press, wait_until

BUSY = """<!doctype html><label>or choose a file <input type="file"></label>
<script>
const work = () => { const start = performance.now(); while (performance.now() - start < 30); setTimeout(work, 5); };
setTimeout(work, 0);
</script>"""
RESTLESS = """<!doctype html><a href="#">first</a> <label>Name <input></label> <button>Go on</button>
<script>
document.querySelector("button").addEventListener("click", () => { document.body.dataset.gone = "on"; });
const times = Number(sessionStorage.getItem("times") || 0);
sessionStorage.setItem("times", times + 1);
if (times < 6) setTimeout(() => location.reload(), 40 + 20 * times);
</script>"""


def test_a_file_is_chosen_on_a_page_that_is_busy(browser: Browser, tmp_path: Path) -> None:
    """Keys overtake the wish to be told of choosers: without care, one in five is lost."""
    (tmp_path / "table.csv").write_text("a\n1\n")
    for _ in range(5):
        page = browser.new_page()
        page.set_content(BUSY)
        choose_file(page, "or choose a file", tmp_path / "table.csv")
        wait_until(page, "document.querySelector('input').files.length === 1")
        page.close()


def test_keys_reach_a_page_that_loads_itself_again(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(RESTLESS)
    page = browser.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    press(page, "Go on", "document.body.dataset.gone === 'on' && sessionStorage.getItem('times') === '7'")
    fill(page, "Name", "mine")
    assert page.input_value("input") == "mine"
    page.close()


def test_what_never_comes_is_said(browser: Browser) -> None:
    page = browser.new_page()
    page.set_content("<button>Go on</button>")
    with pytest.raises(AssertionError, match=r"not within 0\.1 s: 1 > 2"):
        wait_until(page, "1 > 2", seconds=0.1)
    with pytest.raises(AssertionError, match="no key leads to 'Stop'"):
        press(page, "Stop", "true", seconds=0.1)
    with pytest.raises(AssertionError, match="pressed 'Go on', and never: 1 > 2"):
        press(page, "Go on", "1 > 2", seconds=0.1)
    page.close()
