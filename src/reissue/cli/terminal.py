"""Text on a terminal: wrapped to its width, verdicts in colour, a bar below while it takes long; any encoding.

Piped output is left as it is, line by line, without bar and colour.
"""

from __future__ import annotations

import codecs
import io
import json
import os
import re
import shutil
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

import click

from reissue.errors import escape_controls
from reissue.progress import Share

PREPARING = "Preparing (first use only)"
_WIDTH = 24
_IN_LETTERS = {"✗": "x", "✓": "ok"}
_COLOURS = {"breached": "red", "Error:": "red", "✗": "red", "partly": "yellow", "Warning:": "yellow"} | dict.fromkeys(
    ("held", "✓"), "green"
)
_COLOURED = re.compile(r"(?m)^(?:breached|held|partly|Error:|Warning:)(?= )|✗|✓")
_HANGS = re.compile(r"\s*(?:\d+\. |- |\w+: |(?:breached|partly|held|measured|skipped) +)?")


def make_printable(stream: TextIO) -> None:
    """Let a stream of any encoding take any text: what it lacks is written in letters, or as JSON escapes it."""
    if isinstance(stream, io.TextIOWrapper):
        codecs.register_error("reissue-letters", _spell)
        stream.reconfigure(errors="reissue-letters")


def _spell(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    lacking = error.object[error.start : error.end]
    return "".join(_IN_LETTERS.get(one) or json.dumps(one)[1:-1] for one in lacking), error.end


def tell(text: str = "", err: bool = False) -> None:
    """Say something to a person."""
    stream, text = sys.stderr if err else sys.stdout, escape_controls(text)  # names may hold escapes of a terminal
    if stream.isatty():
        text = wrap(text, shutil.get_terminal_size().columns)
        if "NO_COLOR" not in os.environ:
            text = _COLOURED.sub(lambda found: click.style(found[0], fg=_COLOURS[found[0]]), text)
    with _BARS.hidden():
        click.echo(text, err=err)


def wrap(text: str, width: int) -> str:
    """Lines of at most `width` characters, as far as words allow; what goes on is indented to where its text began."""
    return "\n".join(_wrap_line(line, width) for line in text.split("\n"))


def _wrap_line(line: str, width: int) -> str:
    if len(line) <= width:
        return line
    found = _HANGS.match(line)
    indent = found.end() if found else 0
    wrapper = textwrap.TextWrapper(
        width=width,
        subsequent_indent=" " * min(indent, width // 3),
        replace_whitespace=False,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return wrapper.fill(line)


class _Bars:
    """The bar that is on the terminal, if there is one: the last line, drawn anew every now and then."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._line: Callable[[], str] | None = None

    @contextmanager
    def shown(self, line: Callable[[], str]) -> Iterator[None]:
        """line: what the bar looks like now"""
        over = threading.Event()
        ticker = threading.Thread(target=self._tick, args=(over,), daemon=True)
        self._line = line
        ticker.start()
        try:
            yield
        finally:
            over.set()
            ticker.join()
            with self._lock:
                self._erase()
                self._line = None

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """While something else is written."""
        with self._lock:
            self._erase()
            yield
            self.draw()

    def draw(self) -> None:
        with self._lock:
            if self._line is not None:
                width = shutil.get_terminal_size().columns - 1
                self._erase()
                click.echo(escape_controls(self._line())[:width], nl=False, err=True)

    def _erase(self) -> None:
        if self._line is not None:
            click.echo("\r\033[K", nl=False, err=True)

    def _tick(self, over: threading.Event) -> None:
        while not over.wait(0.5):
            self.draw()


_BARS = _Bars()


@contextmanager
def show_progress(title: str) -> Iterator[Callable[[str], None]]:
    """A callback that moves a bar; it does nothing when the output is piped.

    A stage is one of `progress.STAGES`, or says itself how far it is: "3 of 11, equivalence".
    """
    if not sys.stderr.isatty():
        yield lambda stage: None
        return
    from reissue.arrays import listening

    state = {"stage": "", "preparing": ""}
    share, start = Share(), time.monotonic()

    def line() -> str:
        filled = round(_WIDTH * share.done)
        seconds = int(time.monotonic() - start)
        bar = "#" * filled + "." * (_WIDTH - filled)
        return f"{title} [{bar}] {seconds // 60}:{seconds % 60:02d} {state['preparing'] or state['stage']}"

    def move(stage: str) -> None:
        share.move(stage)
        state.update(stage=stage, preparing="")
        _BARS.draw()

    def prepare(compiling: bool) -> None:
        state["preparing"] = PREPARING if compiling else ""
        _BARS.draw()

    with _BARS.shown(line), listening(prepare):
        yield move
