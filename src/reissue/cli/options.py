"""Arguments and options that several commands share."""

from __future__ import annotations

import click

SERIES = click.argument("series", type=click.Path(file_okay=False))
JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
KEY = click.option(
    "--key", envvar="REISSUE_KEY", metavar="SPEC", help="Where an encrypted ledger's key is: env:NAME or file:PATH."
)
ENGINE = click.option(
    "--engine", type=click.Choice(["embedded", "spark"]), help="Where the work is done: on this machine, or on Spark."
)
