"""The pages: pure functions of the documents that audits and comparisons write (docs/audit-json.md, comparing.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from reissue.documents import AUDIT, COMPARISON
from reissue.errors import InputError
from reissue.report import charts, comparison_charts, pictures, rate_charts
from reissue.report.render import Spec, render_page, render_picture
from reissue.report.text import call_releases, clean_all, count_words, format_level, list_in_order

KEYS = ("series", "verdict", "thresholds", "attributes", "sensitive", "releases", "attacks", "traceable", "notes")
JUDGED = ("promise", "beyond", "advice", "at_risk")
FINDINGS = 20
"""Findings of each attack that the page shows; the JSON document has more."""
ALIKE = ("breach", "unit", "threshold")
"""Findings of an attack that agree in these, and in the level as it is shown, say the same about other people: one is
shown, the others are folded."""

PAPER = 3
"""Findings of each attack, and releases with their steps, that are printed."""

Object = Mapping[str, object]


def render_audit(document: Object, *, findings: int = FINDINGS) -> str:
    """One self-contained page that loads nothing: a summary to print alone, then all that it rests on; steps last."""
    drawn, context = prepare_audit(document, findings=findings)
    return render_page("audit.html.j2", drawn, **context)


def prepare_audit(
    document: Object, *, findings: int = FINDINGS, attack: str | None = None, release: int | None = None
) -> tuple[dict[str, Spec], dict[str, object]]:
    """(charts, what the template needs). attack, release: only findings by this attack, and about this release."""
    _check_format(document, AUDIT, "report", "audit")
    missing = [key for key in KEYS if key not in document]
    verdict = document.get("verdict")
    missing += [f"verdict.{key}" for key in JUDGED if isinstance(verdict, Mapping) and key not in verdict]
    if missing:
        raise InputError(f"The report cannot be made from this document: it lacks {', '.join(missing)}.")
    audit = cast("dict[str, object]", clean_all(document))
    attributes = cast("Sequence[Object]", audit["attributes"])
    names = call_releases(cast("Sequence[Object]", audit["releases"]))
    attacks = [
        _prepare_attack(_select_findings(one, release), attributes, findings, names)
        for one in cast("Sequence[Object]", audit["attacks"])
    ]
    look, headline = _choose_headline(audit)
    releases = cast("Sequence[Mapping[str, Mapping[str, float]]]", audit["releases"])
    sizes = [int(one["sizes"]["smallest"]) for one in releases if one["sizes"]["smallest"]]
    rates = cast("Sequence[Object]", audit.get("rates") or ())
    return {**charts.draw_audit(audit), **rate_charts.draw_series_rates(audit)}, {
        "audit": audit,
        "names": names,
        "rates": [
            {**one, "by": {at["release"]: at for at in cast("Sequence[Object]", one["releases"])}} for one in rates
        ],
        "attacks": attacks,
        "paper": PAPER,
        "look": look,
        "headline": headline,
        "smallest": min(sizes, default=None),
        "threshold": releases[0]["risk"]["threshold"] if releases else None,
        "ran": [one for one in attacks if one["status"] != "skipped" and attack in (None, one["name"])],
        "grid": _prepare_grid(audit, names),
    }


def _select_findings(attack: Object, release: int | None) -> Object:
    """The attack with findings about that release only; without a release with all. How many it has, stays."""
    listed = cast("Sequence[Object]", attack["findings"])
    about = [one for one in listed if release is None or release in cast("Sequence[int]", one["releases"])]
    return {**attack, "findings": about}


def _prepare_attack(
    attack: Object, attributes: Sequence[Object], limit: int, names: Mapping[int, str]
) -> dict[str, object]:
    listed = cast("Sequence[Object]", attack["findings"])
    shown = []
    for place, finding in enumerate(listed[:limit]):
        classes = [{**one, "release": names[one["release"]]} for one in cast("Sequence[Any]", finding["classes"])]
        shown.append(
            {
                **finding,
                "called": list_in_order(cast("Sequence[int]", finding["releases"]), names),
                "open": attack["status"] == "breached" and place == 0,
                "picture": pictures.draw(classes, attributes),
                "pictured": classes[: pictures.CLASSES],
            }
        )
    total, groups = int(str(attack["findings_total"])), _group_findings(shown)
    left = {"more": max(0, total - len(shown)), "unprinted": max(0, total - min(len(groups), PAPER))}
    return {**attack, "groups": groups, **left}


def _group_findings(shown: Sequence[Object]) -> list[dict[str, object]]:
    """Findings that are alike, the first of them apart; in the order of the worst of each group."""
    groups: dict[tuple[object, ...], list[Object]] = {}
    for finding in shown:
        level = format_level(cast("float | None", finding["level"]), str(finding["unit"]))
        groups.setdefault((level, *(finding[key] for key in ALIKE)), []).append(finding)
    return [{"first": group[0], "rest": group[1:]} for group in groups.values()]


def _choose_headline(audit: Object) -> tuple[str, str]:
    """(bad, unsure or good; the verdict in a few words). A kept promise is no alarm, whatever succeeds beyond it."""
    verdict = cast("Mapping[str, Any]", audit["verdict"])
    names = {status: len(verdict[f"attacks_{status}"]) for status in ("breached", "partly", "skipped")}
    ran = (
        sum(len(verdict[f"attacks_{status}"]) for status in ("held", "measured")) + names["breached"] + names["partly"]
    )
    state, beyond = verdict["promise"]["state"], len(verdict["beyond"]["attacks"])
    if state == "broken":
        return "bad", "✗ Your promise is broken"
    if state == "none" and names["breached"]:
        return "bad", "✗ These releases reveal too much"
    if not ran:
        return "unsure", "? Nothing could be checked"
    if state == "kept" and beyond:
        return (
            "unsure",
            f"✓ Your promise holds, but {count_words(beyond, 'attack')} beyond it succeed{'s' * (beyond == 1)}",
        )
    if ran < names["skipped"]:
        all_of = ran + names["skipped"]
        return "unsure", f"? Little could be checked: {names['skipped']} of {all_of} attacks were not run"
    if names["partly"]:
        return "unsure", f"? No attack succeeded, but {count_words(names['partly'], 'attack')} did not finish"
    if state == "unchecked":
        return "unsure", "? Your promise was checked only in part"
    left = f", {count_words(names['skipped'], 'was', 'were')} not run" if names["skipped"] else ""
    return "good", f"✓ {'Your promise holds, and no' if state == 'kept' else 'No'} attack succeeded{left}"


def _prepare_grid(audit: Object, names: Mapping[int, str]) -> dict[str, object]:
    """People at risk, attack by release: the numbers of the chart as a table."""
    rows = []
    for attack in cast("Sequence[Object]", audit["attacks"]):
        by = {at["release"]: at for at in cast("Sequence[Object]", attack["at_risk"])}
        if by:
            cells = [by.get(number) for number in names]
            rows.append({"title": attack["title"], "cells": [_prepare_cell(cell) for cell in cells]})
    gaps = any(cell["subjects"] is None for row in rows for cell in cast("Sequence[Object]", row["cells"]))
    return {"names": list(names.values()), "rows": rows, "gaps": gaps}


def _prepare_cell(at: Object | None) -> dict[str, object]:
    """subjects and heat (0 to 4, how dark the cell is)."""
    if at is None:
        return {"subjects": None, "heat": 0}
    subjects, of = cast("int", at["subjects"]), cast("int | None", at["of"])
    share = subjects / of if of else 0.0
    return {"subjects": subjects, "heat": 0 if not subjects else 1 + sum(share > edge for edge in (0.01, 0.1, 0.5))}


def render_comparison(document: Object) -> str:
    """One self-contained page that loads nothing: recommendation, map, table, matrix, what could not be used."""
    drawn, context = prepare_comparison(document)
    return render_page("comparison.html.j2", drawn, **context)


def prepare_comparison(document: Object) -> tuple[dict[str, Spec], dict[str, object]]:
    """(charts, what the template needs)."""
    comparison = _check_comparison(document)
    runs = cast("Sequence[Object]", comparison["runs"])
    advice = cast("Mapping[str, object]", comparison["recommendation"])
    done = [run for run in runs if run["status"] == "done"]
    return _draw_comparison(comparison) if done else {}, {
        "comparison": comparison,
        "done": done,
        "refused": [run for run in runs if run["status"] == "refused"],
        "sentences": _group_points(cast("Sequence[str]", advice["sentences"])),
        "withstands": any(run["label"] == advice["label"] and comparison_charts.withstands(run) for run in runs),
    }


def _draw_comparison(comparison: Object) -> dict[str, Spec]:
    rates = comparison_charts.draw_rates(comparison)
    return {"map": comparison_charts.draw_map(comparison), **({} if rates is None else {"rates": rates})}


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
    spec = charts.set_alone(comparison_charts.draw_map(_check_comparison(document)))
    return render_picture(cast("Object", spec), format)


def _check_comparison(document: Object) -> Object:
    _check_format(document, COMPARISON, "page", "compare")
    return cast("Object", clean_all(document))


def _check_format(document: Object, wanted: str, what: str, command: str) -> None:
    if document.get("format") != wanted:
        raise InputError(
            f"The {what} cannot be made from this document: its format is {document.get('format')!r}, not '{wanted}'. "
            f"Give what `reissue {command} --json` of this version wrote."
        )
