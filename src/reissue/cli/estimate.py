"""The command `estimate`."""

from __future__ import annotations

from pathlib import Path

import click

from reissue.cli import show
from reissue.cli.options import JSON, writable
from reissue.cli.terminal import tell
from reissue.errors import InputError


@click.command()
@click.argument("release", type=click.Path(file_okay=False))
@click.argument("query", nargs=-1, metavar="COLUMN=VALUE...")
@click.option("--config", type=click.Path(dir_okay=False), help="The schema, to ask for columns published in groups.")
@click.option("--weights", type=click.Path(dir_okay=False), help="Write rows, values and survey weights to this CSV.")
@JSON
def estimate(release: str, query: tuple[str, ...], config: str | None, weights: str | None, as_json: bool) -> None:
    """How many people of the folder RELEASE match, from its public files alone.

    COLUMN=VALUE may be a range (age=30..39) or a list (diagnosis=Flu,Asthma).
    A value that has commas is quoted: 'city="New York, NY",Boston'.
    """
    from reissue.estimating.answering import answer, list_weights
    from reissue.estimating.asking import split_arguments
    from reissue.estimating.reading import read_release

    if not query and not weights:
        raise InputError("Nothing is asked for. Give a query such as age=30..39 sex=F, or --weights FILE.")
    if weights:
        writable(weights, b"row,")
    rows = read_release(release, config)
    if query:
        found = answer(rows, split_arguments(query))
        show.print_document(found.to_dict()) if as_json else tell(found.describe())
    if weights:
        from reissue.engine.output import write_table

        write_table(list_weights(rows), Path(weights), "csv")
        if not as_json:
            tell(f"Wrote {weights}.")
