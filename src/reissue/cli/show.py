"""What the commands print: one JSON document, or text for a person; a progress bar on a terminal only."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

STAGES = ("read", "compare", "anonymize", "check", "write", "commit")


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


def table(headings: tuple[str, ...], rows: list[tuple[object, ...]]) -> None:
    """A plain table, numbers to the right."""
    cells = [[f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in rows]
    widths = [max(len(heading), *(len(row[i]) for row in cells), 0) for i, heading in enumerate(headings)]
    numeric = [bool(rows) and all(isinstance(row[i], int | float) for row in rows) for i in range(len(headings))]

    def line(parts: list[str]) -> str:
        aligned = [
            part.rjust(w) if right else part.ljust(w) for part, w, right in zip(parts, widths, numeric, strict=True)
        ]
        return "  ".join(aligned).rstrip()

    click.echo(line(list(headings)))
    for row in cells:
        click.echo(line(row))
