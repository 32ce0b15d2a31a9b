"""The command line: a command parses, calls the library, and turns a known error into a clear one."""

from __future__ import annotations

import errno
import os
import sys
from typing import Any, NoReturn

import click

from reissue.cli.commands import commands
from reissue.cli.options import INTERRUPTED
from reissue.cli.terminal import make_printable, tell
from reissue.errors import ReissueError

OVERVIEW = {
    "demo": ("Show the whole story on a made-up clinic.", "reissue demo"),
    "init": ("Create a series.", "reissue init clinic.reissue --from 2026-01.csv"),
    "publish": ("Publish a table as the next release.", "reissue publish clinic.reissue 2026-01.csv"),
    "audit": ("Attack a series and say what it gives away.", "reissue audit clinic.reissue --html audit.html"),
    "report": ("Write the audit as one HTML page.", "reissue report clinic.reissue -o report.html"),
    "log": ("List the releases.", "reissue log clinic.reissue"),
    "compare": ("Try every strategy on your tables.", "reissue compare --config clinic.toml 2026-01.csv 2026-02.csv"),
    "estimate": ("Count in a release, with intervals.", "reissue estimate clinic.reissue/releases/0001 age=30..39"),
    "adopt": (
        "Take over releases of another tool.",
        "reissue adopt clinic.reissue --config clinic.toml --release r1.csv --snapshot s1.csv",
    ),
    "pack": ("Zip a release to hand it out.", "reissue pack clinic.reissue -o 2026-01.zip"),
    "withdraw": (
        "Take back a release that nobody has seen.",
        "reissue withdraw clinic.reissue --not-handed-out --reason 'wrong month'",
    ),
    "forget": ("Forget who a person is.", "reissue forget clinic.reissue 4711"),
    "extend": ("Add values to hierarchies.", "reissue extend clinic.reissue --hierarchy zip=zip.csv"),
    "amend": ("Change how tables are read.", "reissue amend clinic.reissue --config clinic.toml"),
    "verify": ("Check every file of a series.", "reissue verify clinic.reissue"),
    "upgrade": ("Bring an older series to this version.", "reissue upgrade clinic.reissue"),
    "serve": ("Open the steward's page in a browser.", "reissue serve clinic.reissue"),
    "schema": ("Print the JSON Schema of a document.", "reissue schema audit"),
    "warm-up": ("Compile everything now, not at first use.", "reissue warm-up"),
    "completion": (
        "Print a script that completes commands in a shell.",
        "reissue completion bash > ~/.local/share/bash-completion/completions/reissue",
    ),
}
"""The commands in the order of use, each with a summary of one line and an example."""


def list_in_order(names: list[str]) -> list[str]:
    """Names of commands in the order of use; others come last."""
    order = list(OVERVIEW)
    return sorted(names, key=lambda name: (order.index(name) if name in order else len(order), name))


def describe(command: click.Command) -> click.Command:
    """The command with its summary and its example."""
    assert command.name is not None
    if command.name in OVERVIEW:
        command.short_help, example = OVERVIEW[command.name]
        command.epilog = f"\b\nExample:\n  {example}"
    return command


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script with which SHELL completes commands, options and files.

    Save it where your shell looks for such scripts, or load it: eval "$(reissue completion bash)".
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(context.find_root().command, {}, "reissue", "_REISSUE_COMPLETE").source())


FAULT = 70  # EX_SOFTWARE of sysexits.h; 1 would read as a breach
UNREAD = 141  # as shells say of a command whose reader has left


class _Group(click.Group):
    """Shows a ReissueError, or what the disk refuses, as one message and returns its exit code.

    Anything else is a fault of ours: its trace, what to do with it, and an exit code of its own.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Run as a process of its own, and end it at once when the command is done.

        Arrow's threads may drop their last references while the interpreter is being taken down, which aborts the
        process now and then (apache/arrow#34314): a command that did its work would return 134. By now everything
        is written and closed.
        """
        try:
            self.main(*args, **kwargs)
        except SystemExit as ended:
            code = ended.code
        _leave(code)

    def main(self, *args: Any, **kwargs: Any) -> Any:
        for stream in (sys.stdout, sys.stderr):
            make_printable(stream)
        return super().main(*args, **kwargs)

    def list_commands(self, context: click.Context) -> list[str]:
        return list_in_order(super().list_commands(context))

    def invoke(self, context: click.Context) -> object:
        try:
            return super().invoke(context)
        except ReissueError as error:
            tell(f"Error: {error}", err=True)
            sys.exit(error.exit_code)
        except (click.ClickException, click.exceptions.Exit, click.Abort):  # click's own ways to end
            raise
        except OSError as error:
            if error.errno == errno.EPIPE:  # nobody reads the output any more
                sys.exit(UNREAD)
            from reissue.ledger.disk import explain_os_error

            tell(
                f"Error: {explain_os_error(f'`{context.command_path} {context.invoked_subcommand}`', error)}", err=True
            )
            sys.exit(ReissueError.exit_code)
        except KeyboardInterrupt:
            tell("Interrupted. A release is published as a whole or not at all: `reissue log` shows which.", err=True)
            sys.exit(INTERRUPTED)
        except Exception as error:
            import traceback

            tell(f"{traceback.format_exc()}\n{_fault(error)}", err=True)
            sys.exit(FAULT)


def _fault(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "Error: this machine ran out of memory. Nothing was lost; use a larger machine, or Spark."
    return (
        "Error: this is a fault in Reissue, not in your data. Nothing was lost: a release is published as a whole or "
        "not at all, and `reissue log` shows which. Please report the lines above, with anything private removed."
    )


def _leave(code: str | int | None) -> NoReturn:
    if isinstance(code, str):
        tell(code, err=True)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError as error:
            code = code or (UNREAD if error.errno == errno.EPIPE else ReissueError.exit_code)
    os._exit(code if isinstance(code, int) else 1 if code else 0)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="reissue", prog_name="reissue")
def main() -> None:
    """Publish the same person-level table again and again, and keep the whole series private.

    Exit codes: 0 done; 1 the audit found a breach; 2 bad input or usage, or no attack could be run; 3 no safe release
    exists under this policy; 4 no breach was found, but some attack looked only at part; 5 a gate stopped publish;
    70 a fault in Reissue; 130 interrupted.
    """


for command in (*commands, completion):
    main.add_command(describe(command))
