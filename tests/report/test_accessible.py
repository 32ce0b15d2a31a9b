"""Pages that everybody can use: axe-core finds nothing serious on a desk or a phone, in light, in dark, on paper."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser

from reissue.report import render_audit
from tests.report.browser import shown
from tests.report.documents import example
from tests.support.axe import find_violations, show_in_turn


def test_axe_sees_a_fault(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "faulty.html"
    faulty = "<img src='data:,x'><p style='color:#ccc'>pale</p>"
    file.write_text(f"<html data-drawn=yes><title>x</title>{faulty}</html>", encoding="utf-8")
    with shown(browser, file) as (page, _):
        found = " ".join(find_violations(page))
        assert all(rule in found for rule in ("html-has-lang", "image-alt", "color-contrast"))
        chosen = find_violations(page, rules=("image-alt", "color-contrast"))
        assert [one.split()[0] for one in chosen] == ["color-contrast", "image-alt"]


def test_the_report_has_no_serious_violation(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(render_audit(example()), encoding="utf-8")
    with shown(browser, file) as (page, _):
        for look in show_in_turn(page):
            assert find_violations(page) == [], look
