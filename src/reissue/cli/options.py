"""Arguments and options that several commands share."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from reissue.errors import InputError

Decorated = TypeVar("Decorated", bound=Callable[..., Any] | click.Command)


class SeriesPath(click.Path):
    """Where a series is, or is to be: a folder."""

    def __init__(self) -> None:
        super().__init__(file_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> Any:
        if os.path.isfile(value):
            self.fail(
                f"{os.fspath(value)} is a file, and a series is a folder, such as clinic.reissue.", param, context
            )
        return super().convert(value, param, context)


SERIES = click.argument("series", type=SeriesPath())
JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
KEY = click.option(
    "--key", envvar="REISSUE_KEY", metavar="SPEC", help="Where an encrypted ledger's key is: env:NAME or file:PATH."
)
ENGINE = click.option(
    "--engine", type=click.Choice(["embedded", "spark"]), help="Where the work is done: on this machine, or on Spark."
)

PUBLIC = click.option(
    "--public", is_flag=True, help="Give the file the usual permissions; else only its owner may read it."
)

INTERRUPTED = 130
"""The exit code of a command that was ended by hand, as shells say."""

PAGE = b"<!doctype html>"
SVG = b"<svg"
PNG = b"\x89PNG"
"""How the files that we write begin: what begins otherwise is not written over."""


def offer_output(default: str, what: str) -> Callable[[Decorated], Decorated]:
    """`--output` of a command that writes one file."""
    path = click.Path(dir_okay=False)
    return click.option("--output", "-o", type=path, default=default, show_default=True, help=what)


def writable(path: str, *beginnings: bytes) -> None:
    """Refuse a file that cannot be written, or is none of ours: to be asked before long work, not after it."""
    file, folder = Path(path), Path(path).parent
    if not folder.is_dir():
        raise InputError(f"{path} cannot be written: there is no folder {folder}. Make it, or choose another place.")
    if file.exists() and not file.is_file():  # a pipe, or /dev/stdout
        return
    _refuse_inside(path, file.resolve())
    for place in (file, file.resolve().parent):  # a new file takes the place of the old one
        if place.exists() and not os.access(place, os.W_OK):
            raise InputError(f"{path} cannot be written: you may not write to {place}. Choose another place.")
    if file.is_file() and not _is_ours(file, beginnings):
        raise InputError(
            f"{path} is there already, and is nothing that this command writes: it is left alone. Choose another name, "
            "or delete it first."
        )


def _refuse_inside(path: str, file: Path) -> None:
    """Who is at risk must not lie in the folder that is handed out, nor other files among the ledger's."""
    for series in file.parents:
        own = file.relative_to(series).parts[0]
        if own in ("releases", "private") and (series / "private" / "series.json").is_file():
            why = "which are handed out" if own == "releases" else "which hold the ledger only"
            raise InputError(f"{path} lies in the {own} of the series {series.name}, {why}. Choose another place.")


def _is_ours(file: Path, beginnings: tuple[bytes, ...]) -> bool:
    with file.open("rb") as opened:
        begins = opened.read(16)
    return not begins or begins.startswith(beginnings)
