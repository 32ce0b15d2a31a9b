"""The command `report`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from reissue.cli.audit import audit_own_series, list_unchecked, refuse_unchecked
from reissue.cli.options import KEY, PAGE, PUBLIC, offer_output, writable
from reissue.cli.terminal import show_progress, tell
from reissue.errors import InputError, ReissueError, SettingsError

if TYPE_CHECKING:
    from reissue.audit import Audit


@click.command()
@click.argument("source", metavar="SERIES", type=click.Path())
@offer_output("report.html", "The HTML file to write.")
@click.option("--attack", "attacks", multiple=True, metavar="NAME", help="Only this attack (may be repeated).")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="A threshold or limit (k=5, c=0.5, m=3).")
@click.option("--names", is_flag=True, help="Show people by identifier, not by number.")
@PUBLIC
@KEY
def report(
    source: str,
    output: str,
    attacks: tuple[str, ...],
    settings: tuple[str, ...],
    names: bool,
    public: bool,
    key: str | None,
) -> None:
    """Audit SERIES and write what was found as one HTML page that opens without a network.

    Instead of a series, SERIES may be an audit that was saved with `reissue audit --json`. Exit code 2 if no attack
    could be run; what was found does not change the exit code.
    """
    from reissue.documents import write_text
    from reissue.report import require

    require()
    writable(output, PAGE)
    with show_progress("auditing") as progress:
        if Path(source).is_file():
            drawn = _of_document(source, _read_saved(source, attacks, settings, names))
        else:
            drawn = _of_audit(audit_own_series(source, attacks, settings, names, key, progress))
    try:
        write_text(drawn.page, output, public)
    finally:  # what took long to find is told, whether or not the page could be written
        tell(drawn.verdict)
    tell(f"Wrote {output}. Keep it as safe as the raw data.")
    refuse_unchecked(drawn.unchecked)


class _Drawn(NamedTuple):
    """unchecked: why each attack was not run, if none was."""

    page: str
    verdict: str
    unchecked: Mapping[str, str]


def _of_audit(done: Audit) -> _Drawn:
    from reissue.audit.verdict import judge, list_lines

    return _Drawn(done.to_html(), "\n".join(list_lines(judge(done))), list_unchecked(done))


def _of_document(path: str, document: Mapping[str, Any]) -> _Drawn:
    """From a file that may come from anywhere: whatever is wrong with it is a mistake in the file, not of ours."""
    from reissue.audit.verdict import list_lines
    from reissue.report import render_audit

    try:
        page, attacks = render_audit(document), document["attacks"]
        nothing = all(one["status"] == "skipped" for one in attacks)
        reasons = {one["name"]: one["reason"] for one in attacks if nothing}
        return _Drawn(page, "\n".join(list_lines(document["verdict"])), reasons)
    except ReissueError as error:
        raise InputError(f"{path}: {error}") from error
    except Exception as error:
        raise InputError(
            f"{path} is not what `reissue audit --json` writes: something in it is missing or of another kind "
            f"({error}). Run the audit again."
        ) from error


def _read_saved(path: str, attacks: tuple[str, ...], settings: tuple[str, ...], names: bool) -> Mapping[str, object]:
    import json

    if attacks or settings or names:
        raise SettingsError(f"{path} is a finished audit: --attack, --set and --names belong to `reissue audit`.")
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{path} is neither a series nor an audit saved with --json: {error}. Name the folder of a series, or what "
            "`reissue audit --json` wrote, as a whole."
        ) from error
    if not isinstance(document, dict):
        raise InputError(f"{path} is not an audit saved with --json: write one with `reissue audit --json`.")
    return document
