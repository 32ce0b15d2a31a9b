"""What the reader of an audit must know beside the outcomes of attacks.

What not being in a release reveals is no attack: nobody but the publisher, or who has the snapshots, knows whose rows
are missing and why. But whoever knows that somebody should be there, and how often each value occurs in all, can do
the subtraction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path

from reissue.audit.description import ReleaseNotes
from reissue.audit.row_linkage import find_public_table
from reissue.coding import Coding
from reissue.ledger import Ledger, ReleaseRecord, count_erased
from reissue.ledger.disk import hash_file
from reissue.ledger.records import Layout
from reissue.schema import Schema


def find_folders(ledger: Ledger) -> list[Path]:
    """Where the releases were published, in order."""
    return [Layout(ledger.path).release(one.number) for one in ledger.releases]


def note_missing_files(ledger: Ledger, schema: Schema) -> list[str]:
    """What is not known because public files are gone: the ledger keeps no insensitive columns."""
    places = zip(ledger.releases, find_folders(ledger), strict=True) if schema.insensitive else ()
    gone = [one.name for one, folder in places if find_public_table(folder) is None]
    if not gone:
        return []
    many = f"releases {', '.join(gone)}" if len(gone) > 1 else f"release {gone[0]}"
    return [
        f"The published files of {many} are missing, so that no row could be traced by its insensitive columns "
        "there. Restore them from a backup of the series."
    ]


def note_erased(ledger: Ledger) -> list[str]:
    """Whom the ledger would not know again: for them alone a promise for life may be broken unseen."""
    erased = count_erased(ledger.shelf)
    if not erased:
        return []
    people = "1 person was erased" if erased == 1 else f"{erased:,} people were erased"
    return [
        f"{people}: neither identifier nor mark is left. Whoever of them came back since, or does, counts as somebody "
        "new, and what is found here about people who stay under one number does not cover both of theirs."
    ]


def hash_source(source: object) -> dict[str, str]:
    """The files of a release that was given, each with its SHA-256: what exactly was audited. None of a frame."""
    if not isinstance(source, str | PathLike) or not Path(source).exists():
        return {}
    path = Path(source)
    files = sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path]
    return {str(one.relative_to(path)) if path.is_dir() else one.name: hash_file(one) for one in files}


def describe_config(path: Path) -> dict[str, str] | None:
    """Name and SHA-256 of the config that says what was audited; None if it is not there."""
    return next(({"name": name, "sha256": digest} for name, digest in hash_source(path).items()), None)


@dataclass(frozen=True)
class Absence:
    """People who were left out of a release, and the commonest value among them with its share.

    reveals: whether that share is above the limit that classes have
    """

    release: int
    people: int
    value: str
    share: float
    reveals: bool
    sentence: str

    def to_dict(self) -> dict[str, object]:
        return asdict(self)


def read_left_out(record: ReleaseRecord) -> dict[int, int]:
    """By value, the people of the snapshot who are not in the release."""
    kept = record.counts.get("left_out", {})
    assert isinstance(kept, Mapping)
    return {int(code): int(rows) for code, rows in kept.items()}


def find_absences(
    notes: Sequence[ReleaseNotes], called: Sequence[tuple[int, str]], coding: Coding, limit: float
) -> list[Absence]:
    """Of every release that left somebody out, as far as that is known. called: its number, and what people call it."""
    found = []
    for one, (number, name) in zip(notes, called, strict=True):
        if not one.left_out:
            continue
        people = sum(one.left_out.values())
        top = max(one.left_out, key=lambda code: (one.left_out[code], -code))
        share, value = one.left_out[top] / people, coding.values[top]
        who = "1 person was" if people == 1 else f"{people:,} people were"
        sentence = f"{who} left out of {name}: {100 * share:.0f}% of them have {value} (limit: {100 * limit:.0f}%)."
        if share > limit:
            sentence += " Whoever knows who is missing learns that about them. Ask for less, so that they fit a class."
        found.append(Absence(number, people, value, share, share > limit, sentence))
    return found
