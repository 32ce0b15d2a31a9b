"""The comparison's page and picture: pure functions of the document `reissue-comparison/1` (docs/comparing.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from reissue.errors import InputError
from reissue.report import charts
from reissue.report.render import render_page, render_picture
from reissue.report.text import clean_all

FORMAT = "reissue-comparison/1"

Object = Mapping[str, object]


def render_comparison(document: Object) -> str:
    """One self-contained page that loads nothing: recommendation, map, table, matrix, what could not be used."""
    comparison = _check_document(document)
    runs = cast("Sequence[Object]", comparison["runs"])
    advice = cast("Mapping[str, object]", comparison["recommendation"])
    return render_page(
        "comparison.html.j2",
        {"map": charts.draw_map(comparison)} if any(run["status"] == "done" for run in runs) else {},
        comparison=comparison,
        done=[run for run in runs if run["status"] == "done"],
        refused=[run for run in runs if run["status"] == "refused"],
        sentences=_group_points(cast("Sequence[str]", advice["sentences"])),
        withstands=any(run["label"] == advice["label"] and charts.withstands(run) for run in runs),
    )


def _group_points(sentences: Sequence[str]) -> list[dict[str, object]]:
    """Sentences, each with the lines indented below it; what could not be used has a table of its own."""
    told: list[dict[str, object]] = []
    for sentence in sentences:
        if sentence.startswith("Could not be used"):
            break
        if sentence.startswith("  ") and told:
            cast("list[str]", told[-1]["points"]).append(sentence.strip())
        else:
            told.append({"text": sentence, "points": []})
    return told


def draw_comparison(document: Object, format: str) -> bytes:
    """The map as "svg" or "png"."""
    spec = charts.set_alone(charts.draw_map(_check_document(document)))
    return render_picture(cast("Object", spec), format)


def _check_document(document: Object) -> Object:
    if document.get("format") != FORMAT:
        raise InputError(
            f"The page cannot be made from this document: its format is {document.get('format')!r}, not '{FORMAT}'. "
            "Give what `reissue compare --json` of this version wrote."
        )
    return cast("Object", clean_all(document))
