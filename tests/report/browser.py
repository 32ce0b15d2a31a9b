"""A real browser for the report: Debian's Chromium, driven headless."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page, expect

from tests.support.browsing import wait_until

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
PATIENCE = 120_000.0
"""Milliseconds for whatever the browser does: a slow machine is no failure, and what never comes is one soon."""
expect.set_options(timeout=PATIENCE)


class Seen:
    """What happened while a page was open."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.problems: list[str] = []


@contextmanager
def shown(
    browser: Browser,
    file: Path,
    *,
    scheme: Literal["light", "dark"] = "light",
    width: int = 1200,
    script: bool = True,
) -> Iterator[tuple[Page, Seen]]:
    """The file opened in Chromium, its charts drawn; every request and every error on the console is recorded."""
    context = browser.new_context(
        color_scheme=scheme, viewport={"width": width, "height": 900}, java_script_enabled=script
    )
    context.set_default_timeout(PATIENCE)
    page, seen = context.new_page(), Seen()
    page.on("request", lambda request: seen.requests.append(request.url))
    page.on("console", lambda message: seen.problems.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: seen.problems.append(str(error)))
    page.on("dialog", lambda dialog: (seen.problems.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.goto(file.as_uri())
    if script:
        wait_until(page, "document.documentElement.dataset.drawn === 'yes'")
    yield page, seen
    context.close()
