"""The commands. Each imports the library when it runs, so that help stays instant."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Sequence
from dataclasses import asdict
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

import click

from reissue.cli import show
from reissue.cli.audit import adopt, audit
from reissue.cli.compare import compare
from reissue.cli.estimate import estimate
from reissue.cli.init import init
from reissue.cli.options import ENGINE, JSON, KEY, SERIES, offer_output, writable
from reissue.cli.report import report
from reissue.cli.serve import serve
from reissue.cli.terminal import show_progress, tell
from reissue.errors import GateStopped


@click.command()
@SERIES
@click.argument("snapshots", metavar="SNAPSHOT...", nargs=-1, required=True)
@click.option("--strategy", metavar="NAME", help="Change the strategy of the series from this release on.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="A setting of the strategy (k=5).")
@click.option("--on-change", type=click.Choice(["refuse", "new-subject"]), help="What to do with changed rows.")
@click.option("--format", "formats", type=click.Choice(["parquet", "csv"]), multiple=True, help="Files to write.")
@ENGINE
@click.option("--table", metavar="NAME", help="A new Spark table that gets the release once it is published.")
@click.option("--dry-run", is_flag=True, help="Only show what would be published and given away; change nothing.")
@click.option("--label", metavar="TEXT", help="What people call the release; by default the name of the file.")
@click.option("--allow", multiple=True, metavar="GATE", help="Let a gate not stop this release; kept in the log.")
@JSON
@KEY
def publish(
    series: str,
    snapshots: tuple[str, ...],
    strategy: str | None,
    settings: tuple[str, ...],
    on_change: str | None,
    formats: tuple[str, ...],
    engine: str | None,
    table: str | None,
    dry_run: bool,
    label: str | None,
    allow: tuple[str, ...],
    as_json: bool,
    key: str | None,
) -> None:
    """Publish each table SNAPSHOT, in the order given, as the next release of SERIES.

    The first one that is refused ends it: what was published before stays, and nothing after it is tried.

    SNAPSHOT is a CSV or Parquet file, or a database query (see the input page of the documentation). On Spark it may
    also be a folder of Parquet files, or table:NAME.
    """
    save_memory(snapshots)
    leave_out_unused()
    backlog = show.Backlog(snapshots, as_json)
    single = [name for name, given in (("table", table), ("dry-run", dry_run), ("label", label)) if given]
    if single and len(snapshots) > 1:
        raise click.UsageError(f"--{single[0]} takes one snapshot at a time.")
    with show.open_series(series, key) as opened, backlog, show_progress("publishing") as progress:
        show.warn_of_edits(opened)
        chosen = opened.changed_strategy(strategy, settings)
        if dry_run:
            preview = opened.preview(snapshots[0], strategy=chosen, on_change=on_change, allow=allow, progress=progress)
            show.print_result(preview, preview, as_json)
            raise SystemExit(GateStopped.exit_code if preview.stopped else 0)
        for snapshot in snapshots:
            release = opened.publish(
                snapshot,
                strategy=chosen,
                on_change=on_change,
                formats=formats or None,
                engine=engine,
                table=table,
                allow=allow,
                label=label,
                progress=progress,
            )
            backlog.tell(release)
        show.warn_of_missing(opened.releases)


@click.command()
@SERIES
@JSON
@KEY
def log(series: str, as_json: bool, key: str | None) -> None:
    """List what was done to SERIES: every release, withdrawal, forgetting and extension, when and by whom."""
    with show.open_series(series, key) as opened:
        events, releases = opened.log(), {release.number: release for release in opened.releases}
    if as_json:
        show.print_document([show.write_event(event, releases) for event in events])
    else:
        tell("\n\n".join(show.describe_event(event, releases) for event in events) or "Nothing was done yet.")


@click.command()
@SERIES
@click.option("--not-handed-out", is_flag=True, help="State that nobody outside has the release.")
@click.option("--reason", metavar="TEXT", help="Why; the ledger keeps it.")
@JSON
@KEY
def withdraw(series: str, not_handed_out: bool, reason: str | None, as_json: bool, key: str | None) -> None:
    """Take back the last release of SERIES, if it was not handed out; its number is not used again."""
    with show.open_series(series, key) as opened:
        release = opened.withdraw(reason, not_handed_out=not_handed_out)
    if as_json:
        show.print_document(release.to_dict())
    else:
        tell(f"Withdrew release {release.name}. The ledger keeps that and why; its number is not used again.")


@click.command()
@SERIES
@click.argument("release", required=False)
@offer_output("release.zip", "The file to write.")
@KEY
def pack(series: str, release: str | None, output: str, key: str | None) -> None:
    """Write exactly the public files of RELEASE of SERIES, its label or number, by default the last one, as a zip."""
    from reissue.series import Series

    writable(output, b"PK")
    with Series.open(series, key=key) as opened:
        packed = opened.pack(release, output)
    tell(f"Wrote {output}: release {packed.name}, nothing private.")


@click.command()
@SERIES
@click.option("--rebuild", is_flag=True, help="Also rebuild the caches from the facts and compare; mend what differs.")
@JSON
@KEY
def verify(series: str, rebuild: bool, as_json: bool, key: str | None) -> None:
    """Re-hash every file of SERIES and name what is damaged (exit code 2)."""
    with show.open_series(series, key) as opened:
        damages = opened.verify(rebuild=rebuild)
    if as_json:
        show.print_document([asdict(damage) for damage in damages])
    else:
        tell("\n".join(str(damage) for damage in damages) or "Everything is as the ledger says.")
    raise SystemExit(2 if damages else 0)


@click.command()
@SERIES
@click.argument("identifiers", nargs=-1)
@click.option("--from", "file", type=click.Path(dir_okay=False), help="A table with the identifiers of more people.")
@click.option("--erase", is_flag=True, help="Delete the marks too, by which people who come back would be known again.")
@JSON
@KEY
def forget(
    series: str, identifiers: tuple[str, ...], file: str | None, erase: bool, as_json: bool, key: str | None
) -> None:
    """Forget who IDENTIFIERS are: delete the only link from these people to the ledger's numbers."""
    from reissue.series.upkeep import describe_receipt

    with show.open_series(series, key) as opened:
        receipt = opened.forget(*identifiers, file=file, erase=erase)
        sentences = describe_receipt(receipt, opened.strategy)
    if as_json:
        show.print_document(receipt.to_dict())
    else:
        tell("\n".join(sentences))


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
    with show.open_series(series, key) as opened:
        for sentence in opened.extend_from_files(hierarchies):
            tell(sentence)


@click.command()
@SERIES
@click.option("--config", type=click.Path(dir_okay=False), required=True, help="TOML file with the amended schema.")
@KEY
def amend(series: str, config: str, key: str | None) -> None:
    """Change how SERIES reads tables: missing values, spelling, labels.

    The config's [schema] and [labels] are compared with those of the series. What is in labels that are out cannot be
    changed: it is refused with the reason, and nothing is changed.
    """
    from reissue.schema import read_config

    with show.open_series(series, key) as opened:
        tell("\n".join(opened.amend(read_config(config).schema)) or "The series reads tables like that already.")


@click.command()
@SERIES
@click.option("--back", is_flag=True, help="Undo it, for the version before; only if nothing else was changed since.")
@KEY
def upgrade(series: str, back: bool, key: str | None) -> None:
    """Bring SERIES of an older version to today's format, as the next publish would do."""
    with show.open_series(series, key) as opened:
        opened.upgrade(back=back)
        if back:
            tell("The ledger is as the version before wrote it.")
        elif not opened.upgraded:
            tell("The series is up to date.")


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
        tell(demonstration.write_data(data))
    else:
        with show_progress("demo") as progress:
            demonstration.run(output, months, tell, progress)


@click.command()
@click.argument("name", required=False)
def schema(name: str | None) -> None:
    """Print the JSON Schema of the document NAME; without a name, list the documents."""
    from reissue.json_schema import DOCUMENTS, describe_document

    if name is None:
        tell("\n".join(f"{one:9} {title}" for one, (title, _) in DOCUMENTS.items()))
    else:
        show.print_document(describe_document(name))


@click.command("warm-up")
@click.argument("strategies", nargs=-1, metavar="[STRATEGY]...")
def warm_up(strategies: tuple[str, ...]) -> None:
    """Compile what the strategies need, so that their first publish does not wait for it.

    Once after an installation or an upgrade; without names for all strategies, which takes minutes.
    """
    from reissue.warming import warm_up as compile_kernels

    compile_kernels(strategies, tell)


commands = (
    init,
    publish,
    pack,
    withdraw,
    log,
    audit,
    report,
    compare,
    estimate,
    adopt,
    verify,
    forget,
    extend,
    amend,
    upgrade,
    serve,
    schema,
    demo,
    warm_up,
)


def leave_out_unused() -> None:
    """Keep pyarrow from importing pandas, and its clients of cloud storage: time and memory that serve no file.

    pyarrow looks for pandas once, when it first meets an object it does not know, and for the clients when it is
    imported. For the command line, which reads files of this machine and never a data frame, the answer may as well be
    no. Other code can import pandas afterwards as usual.
    """
    finder = _Absent({name for name in _UNUSED if name not in sys.modules})
    sys.meta_path.insert(0, finder)
    try:
        import pyarrow as pa
        import pyarrow.fs

        pa.array([0])
    finally:
        sys.meta_path.remove(finder)


def save_memory(snapshots: Sequence[str]) -> None:
    """Before Arrow is imported: for small tables let it have its memory from the system.

    Its own pool takes some megabytes ahead, to be fast with many rows.
    """
    try:
        small = all(os.path.getsize(snapshot) <= _SMALL for snapshot in snapshots)
    except (OSError, ValueError):  # no file of this machine, or none at all, which is told where it is read
        return
    if small:
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")


_SMALL = 1 << 20
_UNUSED = ("pandas", "pyarrow._azurefs", "pyarrow._gcsfs", "pyarrow._hdfs", "pyarrow._s3fs")


class _Absent(MetaPathFinder):
    """Says of modules that they are not installed."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = names

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname in self._names:
            raise ModuleNotFoundError(f"{fullname} is not used by the command line", name=fullname)
        return None
