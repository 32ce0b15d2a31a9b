"""What the commands print: one JSON document, or text for a person."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

import click

from reissue.cli.terminal import tell
from reissue.errors import ReissueError, escape_json, show_text

if TYPE_CHECKING:
    from reissue.ledger import Event
    from reissue.series import Series
    from reissue.series.release import Release


_DONE = {
    "forget": "Forgot people",
    "extend": "Extended hierarchies",
    "amend": "Amended how tables are read",
    "upgrade": "Upgraded the ledger",
}


@contextmanager
def open_series(path: str, key: str | None) -> Iterator[Series]:
    """The series, for a command that may change it; that it was upgraded is told on the side."""
    from reissue.series import Series

    with Series.open(path, key=key) as opened:
        try:
            yield opened
        finally:
            if opened.upgraded:
                tell(opened.upgraded, err=True)


def print_document(content: object) -> None:
    """Print one JSON document."""
    click.echo(escape_json(json.dumps(content, indent=2, ensure_ascii=False, default=str)))


def print_result(document: Document, result: Described, as_json: bool) -> None:
    """What was found: as JSON from the document, or in words."""
    if as_json:
        click.echo(document.to_json(), nl=False)
    else:
        tell(result.describe())


class Document(Protocol):
    def to_json(self) -> str: ...


class Described(Protocol):
    def describe(self) -> str: ...


class Backlog:
    """Snapshots that are published one after the other: each release is shown when it is out.

    As JSON it is one document: of one snapshot its release, of several the list of those that were published, also
    where a later one was refused.
    """

    def __init__(self, snapshots: Sequence[str], as_json: bool) -> None:
        self.snapshots, self.as_json = snapshots, as_json
        self.done: list[Release] = []

    def tell(self, release: Release) -> None:
        self.done.append(release)
        if not self.as_json:
            tell(("\n" if len(self.done) > 1 else "") + release.describe())
        for warning in release.warnings:
            tell(f"Warning: {warning}", err=True)

    def __enter__(self) -> Backlog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        several, left = len(self.snapshots) > 1, self.snapshots[len(self.done) :]
        if self.as_json and (several or self.done):
            documents = [release.to_dict() for release in self.done]
            print_document(documents if several else documents[0])
        if several and left and isinstance(error, ReissueError):
            after = len(left) - 1
            rest = f" {after} after it {_were(after)} not tried." if after else ""
            tell(
                f"{len(self.done)} of {len(self.snapshots)} snapshots {_were(len(self.done))} published; {left[0]} was "
                f"not.{rest} Mend it, and publish from there on.",
                err=True,
            )


def write_event(event: Event, releases: Mapping[int, Release]) -> dict[str, object]:
    """An event of the log, JSON-able; of a release with all that is known of it."""
    release = releases.get(int(str(event.details.get("release", 0)))) if event.what in ("publish", "adopt") else None
    known = event.details if release is None else release.to_dict()
    return {"what": event.what, "time": event.time, "user": event.user, **known}


def describe_event(event: Event, releases: Mapping[int, Release]) -> str:
    """The same in a few lines, for a terminal."""
    if event.what in ("publish", "adopt"):
        return releases[int(str(event.details["release"]))].describe()
    by, details = f" by {event.user}" if event.user else "", event.details
    if event.what == "withdraw":
        name = details["label"] or details["release"]
        reason = show_text(str(details["reason"]))
        return f"Withdrawn {event.time}{by}: release {name} (number {details['release']}). {reason}"
    return f"{_DONE[event.what]} {event.time}{by}."


def warn_of_missing(releases: Sequence[Release]) -> None:
    """Warn of releases that are not there any more, on the side: the result is not about them."""
    gone = [str(release.path) for release in releases if release.missing]
    if gone:
        tell(
            f"Warning: {', '.join(gone)}: published before, but not there any more. The ledger remembers, so the "
            "series keeps to its policy all the same. Restore the files from a backup of the series: `reissue verify` "
            "names each.",
            err=True,
        )


def warn_of_edits(series: Series) -> None:
    """Warn of a config that somebody edited in vain, on the side."""
    if series.config_edited:
        tell(
            f"Warning: {series.path}/reissue.toml is not as it was written, but the series goes by its ledger. Change "
            "settings with --strategy and --set, hierarchies with `reissue extend`, and undo the change in the file.",
            err=True,
        )


def _were(count: int) -> str:
    return "was" if count == 1 else "were"
