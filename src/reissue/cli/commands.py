"""The commands. Each imports the library when it runs, so that help stays instant."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from shlex import quote
from types import ModuleType

import click

from reissue.cli import show
from reissue.cli.audit import adopt, audit
from reissue.cli.compare import compare
from reissue.cli.options import ENGINE, JSON, KEY, SERIES
from reissue.cli.report import report


@click.command()
@SERIES
@click.option("--config", type=click.Path(dir_okay=False), required=True, help="TOML file with schema and policy.")
@click.option("--catalogue", metavar="URL", help="Keep the catalogue in PostgreSQL (postgresql://...), not SQLite.")
@click.option("--seed", type=int, help="Fix every random choice (for tests); by default the seed is secret.")
@ENGINE
@KEY
def init(
    series: str, config: str, catalogue: str | None, seed: int | None, engine: str | None, key: str | None
) -> None:
    """Create a series in the directory SERIES."""
    from reissue.series import Series

    with Series.from_config(series, config, catalogue=catalogue, seed=seed, key=key, engine=engine) as created:
        click.echo(
            f"Created {series}: strategy {created.strategy.name}. "
            f"Publish with: reissue publish {quote(series)} SNAPSHOT"
        )


@click.command()
@SERIES
@click.argument("snapshot")
@click.option("--strategy", metavar="NAME", help="Change the strategy of the series from this release on.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="A setting of the strategy (k=5).")
@click.option("--on-change", type=click.Choice(["refuse", "new-subject"]), help="What to do with changed rows.")
@click.option("--format", "formats", type=click.Choice(["parquet", "csv"]), multiple=True, help="Files to write.")
@ENGINE
@click.option("--table", metavar="NAME", help="A new Spark table that gets the release once it is published.")
@JSON
@KEY
def publish(
    series: str,
    snapshot: str,
    strategy: str | None,
    settings: tuple[str, ...],
    on_change: str | None,
    formats: tuple[str, ...],
    engine: str | None,
    table: str | None,
    as_json: bool,
    key: str | None,
) -> None:
    """Publish the table SNAPSHOT as the next release of SERIES.

    SNAPSHOT is a CSV or Parquet file, or a database query (see the input page of the documentation). On Spark it may
    also be a folder of Parquet files, or table:NAME.
    """
    from reissue.series import Series

    leave_out_pandas()
    with Series.open(series, key=key) as opened, show.show_progress("publishing") as progress:
        show.warn_of_edits(opened)
        chosen = opened.changed_strategy(strategy, settings)
        release = opened.publish(
            snapshot,
            strategy=chosen,
            on_change=on_change,
            formats=formats or None,
            engine=engine,
            table=table,
            progress=progress,
        )
        published = opened.releases
    show.print_document(release.to_dict()) if as_json else click.echo(release.describe())
    show.warn_of_unusual(release)
    show.warn_of_missing(published)


@click.command()
@SERIES
@JSON
@KEY
def log(series: str, as_json: bool, key: str | None) -> None:
    """List the releases of SERIES and what was done for each."""
    from reissue.series import Series

    with Series.open(series, key=key) as opened:
        releases = opened.releases
    if as_json:
        show.print_document([release.to_dict() for release in releases])
    else:
        click.echo("\n\n".join(release.describe() for release in releases) or "Nothing has been published yet.")


@click.command()
@SERIES
@click.option("--rebuild", is_flag=True, help="Also rebuild the caches from the facts and compare; mend what differs.")
@JSON
@KEY
def verify(series: str, rebuild: bool, as_json: bool, key: str | None) -> None:
    """Re-hash every file of SERIES and name what is damaged (exit code 2)."""
    from reissue.series import Series

    with Series.open(series, key=key) as opened:
        damages = opened.verify(rebuild=rebuild)
    if as_json:
        show.print_document([asdict(damage) for damage in damages])
    else:
        click.echo("\n".join(str(damage) for damage in damages) or "Everything is as the ledger says.")
    raise SystemExit(2 if damages else 0)


@click.command()
@SERIES
@click.argument("identifier")
@KEY
def forget(series: str, identifier: str, key: str | None) -> None:
    """Forget who IDENTIFIER is: delete the only link from that person to the ledger's numbers."""
    from reissue.series import Series

    with Series.open(series, key=key) as opened:
        opened.forget(identifier)
        strategy = opened.strategy
    click.echo(
        f"Forgot {identifier.strip()}. What the series promised about this person stays in force, without the name."
    )
    if not strategy.supports.gone:
        click.echo(
            f"A forgotten person counts as gone, and {strategy.name} is for tables that nobody leaves: if the last "
            "release had this person, go on with another strategy (publish --strategy), or with a new series."
        )


@click.command()
@SERIES
@click.option(
    "--hierarchy",
    "hierarchies",
    multiple=True,
    required=True,
    metavar="COLUMN=FILE",
    help="Values to add.",
)
@KEY
def extend(series: str, hierarchies: tuple[str, ...], key: str | None) -> None:
    """Add values to hierarchies of SERIES; earlier releases stay valid."""
    from reissue.series import Series

    with Series.open(series, key=key) as opened:
        for sentence in opened.extend_from_files(hierarchies):
            click.echo(sentence)


@click.command()
@click.option("--data", type=click.Path(file_okay=False), help="Only write the clinic's snapshots and config there.")
@click.option(
    "--output", "-o", type=click.Path(file_okay=False), default="demo", show_default=True, help="Where to publish."
)
@click.option("--months", type=click.IntRange(1, 24), default=6, show_default=True, help="How many months to publish.")
def demo(data: str | None, output: str, months: int) -> None:
    """Publish some months of a made-up clinic with and without memory, attack both, write reports."""
    from reissue import demo as demonstration

    if data is not None:
        click.echo(demonstration.write_data(data))
    else:
        demonstration.run(output, months, click.echo)


commands = (init, publish, log, audit, report, compare, adopt, verify, forget, extend, demo)


def leave_out_pandas() -> None:
    """Keep pyarrow from importing pandas, which costs a second wherever it is installed and serves no file.

    pyarrow looks for pandas once, when it first meets an object it does not know. For the command line, which reads
    files and never a data frame, the answer may as well be no. Other code can import pandas afterwards as usual.
    """
    import pyarrow as pa

    if "pandas" in sys.modules:
        return
    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(finder)


class _NoPandas(MetaPathFinder):
    """Says that pandas is not installed."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname == "pandas":
            raise ModuleNotFoundError("pandas is not used by the command line", name="pandas")
        return None
