"""The command `compare`."""

from __future__ import annotations

import click

from reissue.cli import show
from reissue.cli.options import JSON, PAGE, PNG, PUBLIC, SVG, writable
from reissue.cli.terminal import show_progress, tell
from reissue.errors import InfeasiblePolicy


@click.command()
@click.argument("snapshots", nargs=-1, required=True, metavar="SNAPSHOT...", type=click.Path())
@click.option("--config", type=click.Path(dir_okay=False), required=True, help="TOML file with schema and policy.")
@click.option("--strategy", "strategies", multiple=True, metavar="NAME", help="Only this strategy (may be repeated).")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="A setting of all strategies that have it (k=5) or of one (static.k=5); several values (k=2,5,10) are a grid.",
)
@click.option("--out", type=click.Path(file_okay=False), help="Keep finished runs there, and go on with them. Private.")
@click.option("--html", type=click.Path(dir_okay=False), help="Also write a page that opens without a network.")
@click.option("--picture", type=click.Path(dir_okay=False), help="Also write risk against query error as .svg or .png.")
@PUBLIC
@JSON
def compare(
    snapshots: tuple[str, ...],
    config: str,
    strategies: tuple[str, ...],
    settings: tuple[str, ...],
    out: str | None,
    html: str | None,
    picture: str | None,
    public: bool,
    as_json: bool,
) -> None:
    """Publish the tables SNAPSHOT... (oldest first) with every strategy, attack each series, and recommend one.

    Exit code 3 if no strategy could publish them.
    """
    from reissue.compare import compare_config

    _require(html, picture)  # before the long work
    with show_progress("comparing") as progress:
        done = compare_config(config, snapshots, strategies=strategies, settings=settings, out=out, progress=progress)
    try:
        if html:
            done.to_html(html, public=public)
        if picture:
            done.to_picture(picture, public=public)
    finally:  # what took long to find is told, whether or not the files could be written
        show.print_result(done, done, as_json)
    written = [file for file in (html, picture) if file]
    if written and not as_json:
        tell(f"Wrote {' and '.join(written)}.")
    raise SystemExit(0 if any(run.status == "done" for run in done.runs) else InfeasiblePolicy.exit_code)


def _require(html: str | None, picture: str | None) -> None:
    """What the page and the picture need is there, and they can be written."""
    if not (html or picture):
        return
    from reissue.compare.comparing import choose_format
    from reissue.report import require

    require()
    if html:
        writable(html, PAGE)
    if picture:
        writable(picture, SVG if choose_format(picture) == "svg" else PNG)
