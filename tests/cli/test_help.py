"""Every command explains itself: help, summaries, examples, completion, documentation."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from reissue.cli import OVERVIEW, main


def walk(command: click.Command, path: str = "reissue") -> list[tuple[str, click.Command]]:
    found = [(path, command)]
    if isinstance(command, click.Group):
        for name, child in command.commands.items():
            found += walk(child, f"{path} {name}")
    return found


def test_every_command_and_option_has_help() -> None:
    for path, command in walk(main):
        assert command.help, f"{path} has no help"
        for option in command.params:
            if isinstance(option, click.Option):
                assert option.help, f"{path} {option.opts[0]} has no help"


def test_every_command_has_a_short_summary_and_an_example_that_parses() -> None:
    shown = CliRunner().invoke(main, ["--help"]).output
    assert "..." not in shown.partition("Commands:")[2], "a summary is cut off"
    names = main.list_commands(click.Context(main))
    assert names[:4] == ["demo", "init", "publish", "audit"], "in the order of use"
    for name in names:
        assert name in OVERVIEW, f"{name} has no line in cli.py"
        program, command, *arguments = shlex.split(OVERVIEW[name][1].partition(" > ")[0])
        assert (program, command) == ("reissue", name)
        main.commands[name].make_context(name, arguments)
        assert OVERVIEW[name][1] in CliRunner().invoke(main, [name, "--help"]).output


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_commands(shell: str) -> None:
    script = CliRunner().invoke(main, ["completion", shell]).output
    assert f"_REISSUE_COMPLETE={shell}_complete" in script
    asked = {
        "_REISSUE_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": "reissue pub",
        "COMP_CWORD": "pub" if shell == "fish" else "1",
    }
    done = CliRunner().invoke(main, [], env=asked, prog_name="reissue")
    assert "publish" in done.output


def test_every_command_is_documented() -> None:
    reference = (Path(__file__).resolve().parents[2] / "docs" / "cli.md").read_text()
    for path, _ in walk(main):
        assert f"`{path}`" in reference, f"{path} is missing in docs/cli.md; run scripts/write-cli-reference"


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; sys.argv = ['reissue', '--help']\n"
        "from reissue.cli import main\n"
        "try:\n    main.main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'numpy','polars','pyarrow','numba','scipy','psycopg','pydantic'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
