"""What the reader of an audit must know beside the outcomes of attacks."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from reissue.audit.row_linkage import find_public_table
from reissue.ledger import Ledger, count_erased
from reissue.ledger.disk import hash_file
from reissue.ledger.records import Layout
from reissue.schema import Schema


def find_folders(ledger: Ledger) -> list[Path]:
    """Where the releases were published, in order."""
    return [Layout(ledger.path).release(one.number) for one in ledger.releases]


def note_missing_files(ledger: Ledger, schema: Schema) -> list[str]:
    """What is not known because public files are gone: the ledger keeps no insensitive columns."""
    places = zip(ledger.releases, find_folders(ledger), strict=True) if schema.insensitive else ()
    gone = [str(one.number) for one, folder in places if find_public_table(folder) is None]
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
