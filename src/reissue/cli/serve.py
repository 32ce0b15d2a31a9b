"""The command `serve`."""

from __future__ import annotations

import click

from reissue.cli.options import KEY, SeriesPath
from reissue.cli.terminal import tell


@click.command()
@click.argument("series", nargs=-1, type=SeriesPath())
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="By default any that is free.")
@click.option("--no-browser", is_flag=True, help="Only print the link.")
@KEY
def serve(series: tuple[str, ...], port: int, no_browser: bool, key: str | None) -> None:
    """Open the steward's page: see SERIES, publish the next release, audit, without the command line.

    Without SERIES those of this folder are shown; new ones are made in it. The page is for this machine only: it
    listens on 127.0.0.1, and each printed link opens one browser, once. It needs the extra `page`.
    """
    from reissue.page import serve as run

    run(series, port=port, key=key, browse=not no_browser, tell=tell)
