"""The commands in the order of use, each with a summary of one line and an example."""

from __future__ import annotations

import click

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
