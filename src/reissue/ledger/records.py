"""What the ledger remembers, as small values, and where things are: private and public files never share a folder."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

Document = dict[str, object]
"""A JSON object: keys are strings; values are numbers, strings, booleans, None, lists and objects of these."""


_MEANINGS = {
    "facts": "who was in which class",
    "shape": "the boxes of its classes",
    "cache": "the cache '{name}'",
    "identities": "which identifier has which subject number, part {name}",
    "coding": "the coding, version {number}",
    "meta": "the schema and the policy",
    "marks": "the marks of forgotten people",
    "receipts": "the receipts of what was forgotten",
    "fragments": "how the table is divided into fragments",
    "before": "the catalogue as an older version wrote it",
    "event": "what was done to the series, number {number}",
    "withdrawn": "that it was withdrawn, and why",
}


@dataclass(frozen=True)
class PublicFile:
    """One file of `releases/NNNN/`, by its path inside that folder."""

    name: str
    sha256: str
    size: int


@dataclass(frozen=True, kw_only=True)
class ReleaseRecord:
    """What the catalogue says about one release.

    created:  UTC, ISO 8601; filled in by the commit when empty
    settings: the strategy's settings
    seed:     from which every random choice of this release derives
    counts:   rows, classes, counterfeits, suppressed, ... by name
    steps:    plain sentences of what was done
    files:    the public files; filled in by the commit
    sealed:   in an encrypted series the words of the record; what is left in the clear are numbers, hashes and times
    warnings: what went wrong after the commit; not kept
    """

    number: int
    strategy: str
    settings: Mapping[str, object]
    seed: int
    coding_version: int
    counts: Mapping[str, object]
    steps: tuple[str, ...] | list[str] = ()
    created: str = ""
    files: tuple[PublicFile, ...] = ()
    sealed: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def label(self) -> str | None:
        """What people call it, if not by its number."""
        label = self.counts.get("label")
        return None if label is None else str(label)

    @property
    def name(self) -> str:
        """Its label, or its number."""
        return self.label or str(self.number)

    @property
    def common_classes(self) -> bool:
        """Whether the fragments it was made in have their classes in common; else each has classes of its own."""
        return bool(self.counts.get("common_classes", False))


@dataclass(frozen=True)
class PrivateFile:
    """One immutable file of `private/files/`, as the catalogue refers to it.

    role: facts, shape, cache, identities, marks, coding, ... (see _MEANINGS); (role, name) is unique
    release: the release it belongs to, 0 if it belongs to the series
    salt: hex; from it and the master key comes the file's own key; empty if the file is not encrypted
    """

    role: str
    name: str
    release: int
    sha256: str
    size: int
    salt: str

    @property
    def path(self) -> str:
        return f"{self.sha256}.parquet"

    @property
    def meaning(self) -> str:
        """What it holds, for a message."""
        what = _MEANINGS.get(self.role, "an unknown part of the ledger")
        return what.format(name=self.name, number=self.name.lstrip("0") or "0")


@dataclass(frozen=True, kw_only=True)
class Damage:
    """Something in a series that is not what the ledger says.

    release: None if it belongs to no release; label: what people call that release, if not by its number
    """

    file: str
    reason: str
    remedy: str
    release: int | None = None
    label: str | None = None

    @property
    def where(self) -> str:
        """ " (release 2024-01)"; nothing where it belongs to no release."""
        return f" (release {self.label or self.release})" if self.release else ""

    def __str__(self) -> str:
        return f"{self.file}{self.where}: {self.reason} {self.remedy}"


@dataclass(frozen=True)
class CatalogueState:
    """The catalogue's content at one moment.

    format: FORMAT, or an older one that can be read
    files: by (role, name), ordered by role and name; waiting: numbers of releases committed but not yet revealed
    """

    seed: int
    next_subject: int
    key_check: str
    pointer: str
    config_sha256: str
    format: int
    files: Mapping[tuple[str, str], PrivateFile] = field(default_factory=dict)
    releases: tuple[ReleaseRecord, ...] = ()
    waiting: tuple[int, ...] = ()

    @property
    def next_number(self) -> int:
        """The number of the next release; that of a withdrawn one is not given again."""
        numbers = [record.number for record in self.releases] + self.withdrawn
        return max(numbers, default=0) + 1

    @property
    def withdrawn(self) -> list[int]:
        """The numbers of releases that were taken back."""
        return [file.release for file in self.of_role("withdrawn")]

    def of_role(self, role: str) -> list[PrivateFile]:
        """In order of their names."""
        return [*self._roles.get(role, ())]

    @cached_property
    def _roles(self) -> dict[str, list[PrivateFile]]:
        found: dict[str, list[PrivateFile]] = {}
        for (role, _), file in self.files.items():
            found.setdefault(role, []).append(file)
        return found

    @cached_property
    def parts(self) -> dict[str, list[str]]:
        """The names of the parts of each release's facts, in order, by what they begin with."""
        found: dict[str, list[str]] = {}
        for file in self.of_role("facts"):
            found.setdefault(file.name.partition("-")[0], []).append(file.name)
        return {name: sorted(parts) for name, parts in found.items()}

    @cached_property
    def by_number(self) -> dict[int, ReleaseRecord]:
        return {record.number: record for record in self.releases}


FORMAT = 2
OLDER_FORMATS = (1,)
"""Formats that are read as they are, and brought to FORMAT by the first change: see `upgrading`."""
_PRIVATE_NAME = re.compile(r"[0-9a-f]{64}\.parquet")


class _Private:
    """A path inside the private folder of a series."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, layout: Layout, _: type[Layout]) -> Path:
        return layout.private / self._name


@dataclass(frozen=True)
class Layout:
    """The folders and files of one series; `private` is elsewhere while a series is being created."""

    root: Path
    private_name: str = "private"

    @property
    def config(self) -> Path:
        return self.root / "reissue.toml"

    @property
    def releases(self) -> Path:
        return self.root / "releases"

    @property
    def private(self) -> Path:
        return self.root / self.private_name

    pointer = _Private("series.json")
    catalogue = _Private("catalogue.sqlite")
    seal = _Private("catalogue.sha256")
    lock = _Private("lock")
    unfinished = _Private("unfinished")
    """It stands there as long as the series is not all that it was created to be: nobody can open it then."""
    files = _Private("files")
    staging = _Private("staging")
    uploads = _Private("uploads")
    """Where a snapshot waits for its approval; the ledger does not read it."""

    def release(self, number: int) -> Path:
        return self.releases / folder_name(number)

    def staged(self, number: int) -> Path:
        return self.staging / folder_name(number)

    def staged_public(self, number: int) -> Path:
        return self.staged(number) / "public"

    def relative(self, path: Path) -> str:
        return str(path.relative_to(self.root))


def find_user() -> str:
    """Who runs this process, for the log; "unknown" where the system does not say."""
    from getpass import getuser

    try:
        return getuser()
    except (KeyError, OSError, ImportError):  # a container may know no name for its user
        return "unknown"


def folder_name(number: int) -> str:
    return f"{number:04d}"


def is_ours(name: str) -> bool:
    """Whether a name in private/files is one the ledger gives; anything else there is never swept."""
    return _PRIVATE_NAME.fullmatch(name) is not None
