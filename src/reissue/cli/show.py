"""What the commands print: one JSON document, or text for a person; a progress bar on a terminal only."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from reissue.series import Series
    from reissue.series.release import Release

STAGES = ("read", "compare", "anonymize", "write", "commit")


def print_document(content: object) -> None:
    """Print one JSON document."""
    click.echo(json.dumps(content, indent=2, ensure_ascii=False, default=str))


def warn_of_missing(releases: Sequence[Release]) -> None:
    """Warn of releases that are not there any more, on the side: the result is not about them."""
    gone = [str(release.path) for release in releases if release.missing]
    if gone:
        click.echo(
            f"Warning: {', '.join(gone)}: published before, but not there any more. The ledger remembers, so the "
            "series keeps to its policy all the same. Restore the files from a backup of the series: `reissue verify` "
            "names each.",
            err=True,
        )


def warn_of_edits(series: Series) -> None:
    """Warn of a config that somebody edited in vain, on the side."""
    if series.config_edited:
        click.echo(
            f"Warning: {series.path}/reissue.toml is not as it was written, but the series goes by its ledger. Change "
            "settings with --strategy and --set, hierarchies with `reissue extend`, and undo the change in the file.",
            err=True,
        )


def warn_of_unusual(release: Release) -> None:
    """Warn of a snapshot that may not be the one that was meant, on the side: it is published."""
    counts = release.counts
    if release.number == 1:
        return
    if not any(counts[name] for name in ("new", "gone", "back", "changed")):
        click.echo(
            f"Warning: nobody came, left or changed since release {release.number - 1}. Was this snapshot published "
            "before?",
            err=True,
        )
    elif counts["changed"] and counts["changed"] >= 0.9 * (counts["snapshot"] - counts["new"]):
        click.echo(
            f"Warning: {counts['changed']:,} of the {counts['snapshot'] - counts['new']:,} people who were published "
            "before have changed. Is a column written in another way than it was?",
            err=True,
        )
    elif counts["new"] == counts["snapshot"] and counts["gone"]:
        click.echo(
            f"Warning: nobody of release {release.number - 1} is in this snapshot, so that all count as new. If they "
            "are the same people under other identifiers, nothing protects them: do not hand this release out.",
            err=True,
        )


@contextmanager
def show_progress(title: str) -> Iterator[Callable[[str], None]]:
    """A callback that moves a bar from stage to stage; it does nothing when the output is piped."""
    if not sys.stderr.isatty():
        yield lambda stage: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn(title), BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=len(STAGES))

        def move(stage: str) -> None:
            done = STAGES.index(stage) if stage in STAGES else None
            bar.update(task, description=stage, completed=done)

        yield move
