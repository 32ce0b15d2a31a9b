"""The command line: a command parses, calls the library, and turns a known error into a clear one."""

from __future__ import annotations

import sys

import click

from reissue.cli.commands import commands
from reissue.errors import ReissueError


class _Group(click.Group):
    """Shows a ReissueError as one message and returns its exit code; anything else is a bug and shows its trace."""

    def invoke(self, context: click.Context) -> object:
        try:
            return super().invoke(context)
        except ReissueError as error:
            click.echo(f"Error: {error}", err=True)
            sys.exit(error.exit_code)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="reissue", prog_name="reissue")
def main() -> None:
    """Publish the same person-level table again and again, and keep the whole series private.

    Exit codes: 0 done; 1 the audit found a breach; 2 bad input or usage; 3 no safe release exists under this policy.
    """


for command in commands:
    main.add_command(command)
