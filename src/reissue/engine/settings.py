"""Which engine makes a release, and in which formats it is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from reissue.errors import SettingsError

Format = Literal["parquet", "csv"]
ENGINES = ("embedded", "spark")


def check_engine(engine: str | Mapping[str, object]) -> dict[str, object]:
    """The engine's name and settings, with everything at its place."""
    given: dict[str, object] = {"name": engine} if isinstance(engine, str) else {"name": "embedded", **engine}
    unknown = sorted(set(given) - {"name", "master", "settings"})
    if given["name"] not in ENGINES or unknown:
        wrong = f"has the unknown setting '{unknown[0]}'" if unknown else f"is {given['name']!r}"
        raise SettingsError(f"engine {wrong}; it must be one of: {', '.join(ENGINES)}, with master and settings.")
    return {key: value for key, value in given.items() if value}
