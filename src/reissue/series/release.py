"""A release as its publisher asks for it and sees it: where it is, what it cost, and who was in which class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from reissue.coding import Coding
from reissue.errors import SettingsError
from reissue.ledger import Ledger

if TYPE_CHECKING:
    from reissue.engine.output import Format


FORMATS: tuple[Format, ...] = ("parquet", "csv")
ENGINES = ("embedded", "spark")
ON_CHANGE = ("refuse", "new-subject")


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
        settings = _describe_settings(self.settings)
        lines = [f"Release {self.number} ({self.created}), {self.strategy} {settings}".rstrip(), *self.steps]
        return "\n  ".join([*lines, f"Missing: {self.path}" if self.missing else f"Hand out: {self.path}"])


def _describe_settings(settings: Mapping[str, object]) -> str:
    """k=5, knowledge=(values=estimate); settings that are not set are left out."""
    shown = {
        key: f"({_describe_settings(value)})" if isinstance(value, Mapping) else value
        for key, value in settings.items()
    }
    return ", ".join(f"{key}={value}" for key, value in shown.items() if value is not None)


def list_members(ledger: Ledger, number: int, coding: Coding) -> pa.Table:
    """Columns subject, number, class, value, counterfeit of one release; subject is null where nobody is named.

    Where classes stand for life, class is that one, beside the box that the row shows and the value dealt to it.
    """
    facts = ledger.facts(number)
    identifiers, known = ledger.identities()
    order = np.argsort(known, kind="stable")
    where = order[np.minimum(np.searchsorted(known[order], facts.subjects), max(len(order) - 1, 0))]
    named = known[where] == facts.subjects if len(known) else np.zeros(len(facts.subjects), dtype=np.bool_)
    subject = (
        pa.array(identifiers).take(pa.array(where, mask=~named)) if len(known) else pa.nulls(len(named), pa.string())
    )
    values = pa.array(coding.values, pa.string()).take(pa.array(facts.values))
    kept = facts.standing
    columns = {
        "subject": subject,
        "number": facts.subjects,
        "class": facts.classes if kept is None else kept.standing,
        "value": values,
        "counterfeit": ~facts.real,
    }
    if kept is not None:
        columns |= {"box": facts.classes, "dealt": pa.array(coding.values, pa.string()).take(pa.array(kept.dealt))}
    return pa.table(columns)


def check_engine(engine: str | Mapping[str, object]) -> dict[str, object]:
    """The engine's name and settings, with everything at its place."""
    given: dict[str, object] = {"name": engine} if isinstance(engine, str) else {"name": "embedded", **engine}
    unknown = sorted(set(given) - {"name", "master", "settings"})
    if given["name"] not in ENGINES or unknown:
        wrong = f"has the unknown setting '{unknown[0]}'" if unknown else f"is {given['name']!r}"
        raise SettingsError(f"engine {wrong}; it must be one of: {', '.join(ENGINES)}, with master and settings.")
    return {key: value for key, value in given.items() if value}


def check_formats(formats: Sequence[str]) -> list[Format]:
    """The formats, each once and in one order."""
    formats = [formats] if isinstance(formats, str) else formats
    if not formats or any(name not in FORMATS for name in formats):
        raise SettingsError(f"Releases are written as parquet, csv or both; received {list(formats)!r}.")
    return [name for name in FORMATS if name in formats]


def check_on_change(on_change: str) -> str:
    """What is done with changed rows."""
    if on_change not in ON_CHANGE:
        raise SettingsError(f"on_change is {on_change!r}; it must be one of: {', '.join(ON_CHANGE)}.")
    return on_change


def to_strings(value: object) -> Sequence[str]:
    """A list as TOML or JSON gives it, as one of text."""
    assert isinstance(value, Sequence)
    return [str(item) for item in value]
