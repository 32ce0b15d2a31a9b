"""What the commands print: one JSON document, or text for a person; a progress bar on a terminal only."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

STAGES = ("read", "compare", "anonymize", "write", "commit")


def document(content: object) -> None:
    """Print one JSON document."""
    click.echo(json.dumps(content, indent=2, ensure_ascii=False, default=str))


@contextmanager
def progress(title: str) -> Iterator[Callable[[str], None]]:
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
