"""The comparison's page and picture: pure functions of the document `reissue-comparison/1` (docs/comparing.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from reissue.errors import InputError
from reissue.report import charts
from reissue.report.render import page, picture
from reissue.report.text import cleaned

FORMAT = "reissue-comparison/1"

Object = Mapping[str, object]


def comparison_html(document: Object) -> str:
    """One self-contained page that loads nothing: recommendation, map, table, matrix, what could not be used."""
    comparison = _checked(document)
    runs = cast("Sequence[Object]", comparison["runs"])
    return page(
        "comparison.html.j2",
        {"map": charts.risk_utility_map(comparison)} if any(run["status"] == "done" for run in runs) else {},
        comparison=comparison,
        done=[run for run in runs if run["status"] == "done"],
        refused=[run for run in runs if run["status"] == "refused"],
    )


def comparison_picture(document: Object, format: str) -> bytes:
    """The map as "svg" or "png"."""
    spec = charts.alone(charts.risk_utility_map(_checked(document)))
    return picture(cast("Object", spec), format)


def _checked(document: Object) -> Object:
    if document.get("format") != FORMAT:
        raise InputError(
            f"The page cannot be made from this document: its format is {document.get('format')!r}, not '{FORMAT}'. "
            "Give what `reissue compare --json` of this version wrote."
        )
    return cast("Object", cleaned(document))
