"""Accessibility of a page, judged by axe-core in the browser that shows it."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from itertools import product

from playwright.sync_api import Page

GRAVE = ("serious", "critical")
WIDTHS = (1280, 390)
SCHEMES = ("light", "dark")
RUN = "options => axe.run(document, {resultTypes: ['violations'], ...options}).then(result => result.violations)"


def find_violations(page: Page, impacts: tuple[str, ...] = GRAVE, rules: tuple[str, ...] = ()) -> list[str]:
    """What axe-core finds wrong with the page as it is now (by these rules alone): "color-contrast (serious): text".

    The script goes in by evaluation, not as an element: a page's policy against foreign scripts does not stop it.
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8"))
    return [
        f"{one['id']} ({one['impact']}): {', '.join(' '.join(map(str, node['target'])) for node in one['nodes'][:5])}"
        for one in page.evaluate(RUN, {"runOnly": list(rules)} if rules else {})
        if one["impact"] in impacts
    ]


def show_in_turn(page: Page) -> Iterator[str]:
    """The page on a desk and on a phone, in light and in dark, and on paper: what it is shown as, one after another."""
    for width, scheme in product(WIDTHS, SCHEMES):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(media="screen", color_scheme=scheme)  # type: ignore[arg-type]
        yield f"{scheme}, {width} px"
    page.emulate_media(media="print", color_scheme="light")
    yield "on paper"
