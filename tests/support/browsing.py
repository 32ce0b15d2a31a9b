"""Waiting for a page and pressing its keys: nothing is taken for granted, everything is tried again within a patience.

Two things go wrong by chance on a busy machine. A page that loads itself again takes the focus away between finding a
button and pressing it. And "send me the choosers of files" travels to the page by another way than the keys do: keys
are served first, so that a chooser may open before anybody is told of it, and close unseen.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Error, FileChooser, Page

PATIENCE = 120.0
"""Seconds for what a page shows within one or two on an idle machine; it is asked again and again meanwhile."""
PAUSE = 3.0
"""Seconds until a key that showed no effect is pressed again."""
COMPLAINT = "(document.querySelector('#problem:not([hidden])') || {}).innerText || ''"
CALLED = """() => { const one = document.activeElement;
    if (document.readyState !== "complete" || !one || one === document.body) return null;
    const label = one.labels && one.labels[0];
    return (one.getAttribute("aria-label") || (label ? label.innerText : one.innerText) || "").trim(); }"""


def holds(page: Page, expression: str) -> bool:
    """Whether it is true of a page that has loaded; no while the page makes room for another."""
    try:
        return bool(page.evaluate(f"document.readyState === 'complete' && !!({expression})"))
    except Error as error:
        if page.is_closed() or not any(word in str(error) for word in ("context was destroyed", "navigat")):
            raise
        return False


def _repeat(page: Page, seconds: float) -> Iterator[None]:
    """At least once, then until the time is over, with a breath between."""
    end = time.monotonic() + seconds
    yield
    while time.monotonic() < end:
        page.wait_for_timeout(30)
        yield


def wait_until(page: Page, expression: str, seconds: float = PATIENCE) -> None:
    """Until it is true; if it does not become so, the failure says what was waited for, and where."""
    for _ in _repeat(page, seconds):
        if holds(page, expression):
            return
    raise AssertionError(f"{page.url}: not within {seconds:g} s: {expression} {page.evaluate(COMPLAINT)}")


def _is_at(page: Page, name: str) -> bool:
    try:
        return str(page.evaluate(CALLED) or "").startswith(name)
    except Error:
        return False  # the page is just being loaded


def reach(page: Page, name: str, tabs: int = 200) -> bool:
    """Press Tab until what has the focus is called so; no if it is nowhere."""
    wait_until(page, "true")
    for _ in range(tabs):
        if _is_at(page, name):
            return True
        page.keyboard.press("Tab")
    return False


def press(page: Page, name: str, then: str, seconds: float = PATIENCE) -> None:
    """Go to what is called so and press it, until the page is as it must then be."""
    found = False
    for _ in _repeat(page, seconds):
        if found and holds(page, then):
            return
        if reach(page, name):
            found = True
            page.keyboard.press("Enter")
            for _ in _repeat(page, min(PAUSE, seconds)):
                if holds(page, then):
                    return
    told = f"pressed '{name}', and never: {then}" if found else f"no key leads to '{name}'"
    raise AssertionError(f"{page.url}: {told} {page.evaluate(COMPLAINT)}")


def fill(page: Page, name: str, text: str) -> None:
    """Write into the field that is called so, over what is in it."""
    for _ in _repeat(page, PATIENCE):
        if reach(page, name):
            page.keyboard.press("Control+A")
            page.keyboard.type(text)
            if holds(page, f"document.activeElement.value === {text!r}"):
                return
    raise AssertionError(f"{page.url}: '{name}' cannot be written into")


def choose_file(page: Page, name: str, file: Path) -> None:
    """Open the chooser that is called so with Space, and choose the file in it."""
    choosers: list[FileChooser] = []
    note = lambda chooser: choosers.append(chooser)  # noqa: E731
    page.on("filechooser", note)
    try:
        for _ in _repeat(page, PATIENCE):
            if not reach(page, name):  # each look at the page is answered after it has heard that choosers are wanted
                continue
            page.keyboard.press("Space")
            for _ in _repeat(page, PAUSE):
                if choosers:
                    choosers[0].set_files(file)
                    return
    finally:
        page.remove_listener("filechooser", note)
    raise AssertionError(f"{page.url}: '{name}' opens no chooser of files")
