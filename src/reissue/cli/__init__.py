"""The command line: a command parses, calls the library, and turns a known error into a clear one."""

from __future__ import annotations

import errno
import os
import sys
from typing import Any, NoReturn

import click

from reissue.cli.commands import commands
from reissue.cli.options import INTERRUPTED
from reissue.cli.overview import completion, describe, list_in_order
from reissue.cli.terminal import make_printable, tell
from reissue.errors import ReissueError

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
