"""The commands `audit` and `adopt`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reissue.cli import show
from reissue.cli.options import ENGINE, JSON, KEY, PAGE, PUBLIC, SERIES, SeriesPath, writable
from reissue.cli.terminal import show_progress, tell
from reissue.errors import InputError, SettingsError

if TYPE_CHECKING:
    from reissue.audit import Audit

RELEASES = click.option(
    "--release", "releases", multiple=True, metavar="FILE", help="A release, oldest first: CSV, Parquet or a folder."
)
SNAPSHOTS = click.option(
    "--snapshot", "snapshots", multiple=True, metavar="FILE", help="The raw table of each release, in the same order."
)
MATCH = click.option(
    "--match",
    type=click.Choice(["order", "content"]),
    default="order",
    show_default=True,
    help="How to match rows of a release to rows of its snapshot.",
)
NAMES = click.option("--names", is_flag=True, help="Show people by identifier, not by number.")
PARTLY = 4  # no attack succeeds, but not everybody was looked at
USAGE = "Name either a SERIES, or --config and at least one --release (not both); --engine is for a SERIES."
CONFIG = click.option("--config", type=click.Path(dir_okay=False), help="TOML file with schema and policy.")


@click.command()
@click.argument("series", type=SeriesPath(), required=False)
@CONFIG
@RELEASES
@SNAPSHOTS
@MATCH
@click.option("--attack", "attacks", multiple=True, metavar="NAME", help="Only this attack (may be repeated).")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="A threshold or limit (k=5, c=0.5, m=3).")
@click.option("--html", type=click.Path(dir_okay=False), help="Also write a report that opens without a network.")
@PUBLIC
@click.option("--person", metavar="ID", help="Only what the series reveals about this one, for who asks; see --json.")
@click.option("--promise", is_flag=True, help="Exit code 1 only for attacks that the strategy promises to stop.")
@NAMES
@ENGINE
@JSON
@KEY
def audit(
    series: str | None,
    config: str | None,
    releases: tuple[str, ...],
    snapshots: tuple[str, ...],
    match: str,
    attacks: tuple[str, ...],
    settings: tuple[str, ...],
    html: str | None,
    public: bool,
    person: str | None,
    promise: bool,
    names: bool,
    engine: str | None,
    as_json: bool,
    key: str | None,
) -> None:
    """Attack SERIES, or releases made with another tool (--config and --release), and say what they give away.

    Exit code 1 if an attack succeeds or an insensitive column names rows, 2 if none could be run, 4 if none succeeds
    but a limit left people out; with --person 1 if this one is at risk. Without --snapshot, only attacks that do not
    need to know who is in which class are run.
    """
    _require(html)
    with show_progress("auditing") as progress:
        if series is not None and not (config or releases or snapshots):
            done = audit_own_series(series, attacks, settings, names, key, progress, engine)
        elif series is None and config and releases and not engine:
            done = _of_files(config, releases, snapshots, match, attacks, settings, names, progress)
        else:
            raise SettingsError(USAGE)
    if person is not None:
        one = done.look_up(person)
        show.print_result(one, one, as_json)
        raise SystemExit(1 if one.at_risk else 0)
    _tell(done, html, public, as_json)
    raise SystemExit(exit_code(done, promise))


def _require(html: str | None) -> None:
    """What a page needs is there, and it can be written: asked before the long work."""
    if html:
        from reissue.report import require

        require()
        writable(html, PAGE)


def _tell(done: Audit, html: str | None, public: bool, as_json: bool) -> None:
    try:
        if html:
            done.to_html(html, public=public)
    finally:  # what took long to find is told, whether or not the page could be written
        show.print_result(done, done, as_json)
    if html and not as_json:
        tell(f"Wrote {html}. Keep it as safe as the raw data.")


def exit_code(done: Audit, promise: bool = False) -> int:
    """promise: whether only attacks count that the strategy promises to stop."""
    refuse_unchecked(list_unchecked(done))
    statuses = [one.status for one in done.checked if not promise or one.name in done.promised]
    if "breached" in statuses or (done.naming and not promise):
        return 1
    return PARTLY if "partly" in statuses else 0


def list_unchecked(done: Audit) -> dict[str, str]:
    """Why each attack was not run, if none was."""
    return {} if done.outcomes else done.skipped


def refuse_unchecked(skipped: Mapping[str, str]) -> None:
    """An audit that checked nothing must not look like one that found nothing."""
    if skipped:
        names: dict[str, list[str]] = {}
        for name, reason in skipped.items():
            names.setdefault(reason, []).append(name)
        reasons = "\n".join(f"- {', '.join(those)}: {reason}" for reason, those in names.items())
        raise InputError(f"Nothing was checked, since none of the attacks could be run:\n{reasons}")


def _thresholds(settings: tuple[str, ...]) -> dict[str, Any]:
    """KEY=VALUE arguments, without those that are options of their own."""
    from reissue.series.creating import parse_settings

    parsed = parse_settings(settings)
    for name in ("attacks", "engine", "match", "names", "progress", "rates", "strategy"):
        if name in parsed:
            raise SettingsError(f"'{name}' is not a threshold: use the command's options.")
    return parsed


def audit_own_series(
    path: str,
    attacks: tuple[str, ...],
    settings: tuple[str, ...],
    names: bool,
    key: str | None,
    progress: Callable[[str], None],
    engine: str | None = None,
) -> Audit:
    """The audit of a series of ours, as `audit` and `report` both make it."""
    from reissue.series import Series

    with Series.open(path, key=key) as opened:
        return opened.audit(attacks=attacks, names=names, progress=progress, engine=engine, **_thresholds(settings))


def _of_files(
    config: str,
    releases: tuple[str, ...],
    snapshots: tuple[str, ...],
    match: str,
    attacks: tuple[str, ...],
    settings: tuple[str, ...],
    names: bool,
    progress: Callable[[str], None],
) -> Audit:
    from reissue.audit import audit as run
    from reissue.audit.attacks import check_section, resolve_request
    from reissue.audit.auditing import read_strategy
    from reissue.audit.result import describe_config
    from reissue.schema import read_config

    read = read_config(config)
    try:
        section, strategy = check_section(read.audit), read_strategy(read.policy)
    except SettingsError as error:
        raise SettingsError(f"{config}: {error}") from None
    chosen, thresholds = resolve_request(section, attacks, _thresholds(settings))
    done = run(
        releases,
        read.schema,
        snapshots or None,
        match=match,
        attacks=chosen,
        strategy=strategy,
        names=names,
        progress=progress,
        rates=read.utility.get("rates", ()),  # type: ignore[arg-type]
        **thresholds,  # type: ignore[arg-type]
    )
    return replace(done, about={**done.about, "config": describe_config(Path(config))})


@click.command()
@SERIES
@click.option("--config", type=click.Path(dir_okay=False), required=True, help="TOML file with schema and policy.")
@RELEASES
@SNAPSHOTS
@MATCH
@click.option("--catalogue", metavar="URL", help="Keep the catalogue in PostgreSQL (postgresql://...), not SQLite.")
@NAMES
@JSON
@KEY
def adopt(
    series: str,
    config: str,
    releases: tuple[str, ...],
    snapshots: tuple[str, ...],
    match: str,
    catalogue: str | None,
    names: bool,
    as_json: bool,
    key: str | None,
) -> None:
    """Create SERIES with releases already published with another tool, so that the next one is safe given them.

    What they give away together is reported once, with exit code 1: it cannot be undone.
    """
    from reissue.series import adopt as take

    with show_progress("adopting") as progress:
        adopted = take(
            series, releases, snapshots, config=config, match=match, names=names, catalogue=catalogue, key=key,
            progress=progress,
        )  # fmt: skip
    show.print_result(adopted, adopted, as_json)
    raise SystemExit(1 if adopted.audit.breaches else 0)  # adopted, whether or not an attack could be run
