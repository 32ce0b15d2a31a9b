"""Arguments and options that several commands share."""

from __future__ import annotations

import os
from pathlib import Path

import click

from reissue.errors import InputError

SERIES = click.argument("series", type=click.Path(file_okay=False))
JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
KEY = click.option(
    "--key", envvar="REISSUE_KEY", metavar="SPEC", help="Where an encrypted ledger's key is: env:NAME or file:PATH."
)
ENGINE = click.option(
    "--engine", type=click.Choice(["embedded", "spark"]), help="Where the work is done: on this machine, or on Spark."
)


def writable(path: str) -> None:
    """Refuse a file that could not be written: to be asked before long work, not after it."""
    folder = Path(path).parent
    if not folder.is_dir():
        raise InputError(f"{path} cannot be written: there is no folder {folder}. Make it, or choose another place.")
    place = Path(path) if Path(path).exists() else folder
    if not os.access(place, os.W_OK):
        raise InputError(f"{path} cannot be written: you may not write to {place}. Choose another place.")
