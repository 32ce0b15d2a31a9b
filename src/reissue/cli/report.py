"""The command `report`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from reissue.cli import show
from reissue.cli.audit import audited_series
from reissue.cli.options import KEY, writable
from reissue.errors import InputError, SettingsError


@click.command()
@click.argument("source", metavar="SERIES", type=click.Path())
@click.option("--output", "-o", type=click.Path(dir_okay=False), default="report.html", show_default=True, help="File.")
@click.option("--attack", "attacks", multiple=True, metavar="NAME", help="Only this attack (may be repeated).")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="A threshold or limit (k=5, c=0.5, m=3).")
@click.option("--names", is_flag=True, help="Show people by identifier, not by number.")
@KEY
def report(
    source: str, output: str, attacks: tuple[str, ...], settings: tuple[str, ...], names: bool, key: str | None
) -> None:
    """Audit SERIES and write what was found as one HTML page that opens without a network.

    Instead of a series, SERIES may be an audit that was saved with `reissue audit --json`.
    """
    from reissue.audit.auditing import IN_REPORT
    from reissue.report import audit_html, require

    require()
    writable(output)
    with show.progress("auditing") as progress:
        if Path(source).is_file():
            document = _saved(source, attacks, settings, names)
        else:
            document = audited_series(source, attacks, settings, names, key, progress).to_dict(findings=IN_REPORT)
        Path(output).write_text(audit_html(document), encoding="utf-8")
    click.echo(f"{_verdict(document)}\nWrote {output}. Keep it as safe as the raw data.")


def _verdict(document: Mapping[str, object]) -> object:
    verdict = document["verdict"]
    assert isinstance(verdict, Mapping)
    return verdict["sentence"]


def _saved(path: str, attacks: tuple[str, ...], settings: tuple[str, ...], names: bool) -> Mapping[str, object]:
    import json

    if attacks or settings or names:
        raise SettingsError(f"{path} is a finished audit: --attack, --set and --names belong to `reissue audit`.")
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError(f"{path} is neither a series nor an audit saved with --json: {error}.") from error
    if not isinstance(document, dict):
        raise InputError(f"{path} is not an audit saved with --json.")
    return document
