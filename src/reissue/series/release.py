"""A release as its publisher sees it: where it is, what was done, what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Release:
    """One published release of a series.

    number:   1, 2, ...
    path:     the directory to hand out
    strategy, settings: what made it
    counts:   rows in, rows out, classes, suppressed rows, counterfeits, new / gone / back / changed subjects
    utility:  measures of what the release still tells
    steps:    numbered plain sentences of what was done (private: they count counterfeits)
    """

    number: int
    path: Path
    created: str
    strategy: str
    settings: Mapping[str, object]
    counts: Mapping[str, int]
    utility: Mapping[str, float]
    steps: tuple[str, ...]

    @property
    def missing(self) -> bool:
        """Whether its directory is not there any more. What it told, and what the ledger knows of it, stays."""
        return not self.path.is_dir()

    def to_dict(self) -> dict[str, object]:
        """JSON-able."""
        return {**asdict(self), "path": str(self.path), "steps": list(self.steps)}

    def describe(self) -> str:
        """The release in a few lines, for a terminal."""
        settings = _in_words(self.settings)
        lines = [f"Release {self.number} ({self.created}), {self.strategy} {settings}".rstrip(), *self.steps]
        return "\n  ".join([*lines, f"Missing: {self.path}" if self.missing else f"Hand out: {self.path}"])


def _in_words(settings: Mapping[str, object]) -> str:
    """k=5, knowledge=(values=estimate); settings that are not set are left out."""
    shown = {key: f"({_in_words(value)})" if isinstance(value, Mapping) else value for key, value in settings.items()}
    return ", ".join(f"{key}={value}" for key, value in shown.items() if value is not None)
