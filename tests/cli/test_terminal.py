"""What a person sees on a terminal: lines that fit, verdicts in colour, a bar that moves; piped, none of it."""

from __future__ import annotations

import io
import re
import sys

import pytest

from reissue.arrays import announce
from reissue.cli import terminal
from reissue.cli.terminal import PREPARING, show_progress, tell, wrap
from reissue.progress import STAGES, Share

LONG = "The attacker knows who is in which class of every release, and that values do not change, and much more."


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


def open_screen(monkeypatch: pytest.MonkeyPatch) -> Tty:
    """Both streams of a terminal of 80 columns; not as a fixture, since pytest takes the streams back after those."""
    stream = Tty()
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return stream


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize(
    ("start", "indent"), [("", 0), ("  2. ", 5), ("- ", 2), ("held      ", 10), ("            note: ", 18)]
)
def test_long_lines_are_wrapped_and_go_on_where_their_text_began(start: str, indent: int, width: int) -> None:
    lines = wrap(f"{start}{LONG} {LONG}", width).split("\n")
    assert len(lines) > 1
    assert all(len(line) <= width for line in lines)
    assert all(re.match(rf" {{{indent}}}\S", line) for line in lines[1:])
    assert " ".join(" ".join(lines).split()) == " ".join(f"{start}{LONG} {LONG}".split()), "no word is cut or lost"


def test_short_lines_tables_and_long_names_stay_as_they_are() -> None:
    table = "month     patients   new\n2024-01        200    45"
    assert wrap(table, 80) == table
    path = "/a" * 100
    assert path in wrap(f"Wrote {path} at last", 80).split("\n")


def test_verdicts_have_a_colour_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = open_screen(monkeypatch)
    tell("breached  difference: 3 findings\nheld      association: what is held")
    assert screen.getvalue().count("\033[31mbreached\033[0m") == 1
    assert screen.getvalue().count("\033[32mheld\033[0m") == 1
    monkeypatch.setenv("NO_COLOR", "1")
    screen.truncate(0)
    tell("breached  difference: 3 findings")
    assert "\033[" not in screen.getvalue()


def test_piped_output_is_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress("auditing") as progress:
        progress("1 of 2, difference")
        tell(f"held      {LONG} {LONG}")
    assert capsys.readouterr() == (f"held      {LONG} {LONG}\n", "")


def test_the_bar_moves_and_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = open_screen(monkeypatch)
    with show_progress("auditing") as progress:
        progress("2 of 4, difference")
        announce(compiling=True)
        announce(compiling=False)
        tell("something in between")
    drawn = screen.getvalue().split("\r\033[K")
    assert f"auditing [{'#' * 6}{'.' * 18}] 0:00 2 of 4, difference" in drawn
    assert any(PREPARING in one for one in drawn)
    assert "something in between\n" in drawn
    assert drawn[-1] == "", "the bar is gone at the end"


def test_a_share_grows_with_what_is_counted() -> None:
    share, seen = Share(), []
    for stage in ("1 of 2, a", "1 of 2, a: release 2 of 2", "1 of 2, a: 1 of 9, difference", "2 of 2, b: 3 of 4"):
        share.move(stage)
        seen.append(share.done)
    assert seen == [0.0, 0.25, 0.25, 0.75]
    for place, stage in enumerate(STAGES):
        share.move(stage)
        assert share.done == place / len(STAGES)


def test_every_encoding_is_served() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    terminal.make_printable(stream)
    stream.write("✗ ✓ é 𝄞")
    stream.flush()
    assert raw.getvalue() == rb"x ok \u00e9 \ud834\udd1e"
