"""Documents of a series, for programs and people: as text, and in a file where one is named."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path


def json_text(document: object, path: str | PathLike[str] | None) -> str:
    """The document as JSON, also written to `path` if one is given."""
    return saved(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n", path)


def saved(text: str, path: str | PathLike[str] | None) -> str:
    """The text, also written to `path` if one is given."""
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text
