"""Where things are in a series: private and public files never share a folder."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FORMAT = 1
_PRIVATE_NAME = re.compile(r"[0-9a-f]{64}\.parquet")


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

    @property
    def pointer(self) -> Path:
        return self.private / "series.json"

    @property
    def catalogue(self) -> Path:
        return self.private / "catalogue.sqlite"

    @property
    def seal(self) -> Path:
        return self.private / "catalogue.sha256"

    @property
    def lock(self) -> Path:
        return self.private / "lock"

    @property
    def files(self) -> Path:
        return self.private / "files"

    @property
    def staging(self) -> Path:
        return self.private / "staging"

    def release(self, number: int) -> Path:
        return self.releases / folder_name(number)

    def staged(self, number: int) -> Path:
        return self.staging / folder_name(number)

    def staged_public(self, number: int) -> Path:
        return self.staged(number) / "public"

    def relative(self, path: Path) -> str:
        return str(path.relative_to(self.root))


def folder_name(number: int) -> str:
    return f"{number:04d}"


def is_ours(name: str) -> bool:
    """Whether a name in private/files is one the ledger gives; anything else there is never swept."""
    return _PRIVATE_NAME.fullmatch(name) is not None
