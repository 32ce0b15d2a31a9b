"""The audit as one JSON document, `reissue-audit/1` (docs/audit-json.md)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING

import numpy as np

from reissue.arrays.sets import union
from reissue.audit.attacks import AttackResult
from reissue.audit.description import ClassRef, ClassSummary
from reissue.audit.timeline import describe_sizes, measure_risks, measure_utility
from reissue.audit.verdict import judge
from reissue.coding import Coding
from reissue.documents import AUDIT
from reissue.methods.attack import Finding
from reissue.methods.plain_words import describe_attack
from reissue.model.domain import Domain

if TYPE_CHECKING:
    from reissue.audit.rates import SeriesRates
    from reissue.audit.result import Audit

CLASSES = 12
SUBJECTS = 20
ITEMS = 50


def make_document(audit: Audit, findings: int | None) -> dict[str, object]:
    """Everything a reader or the report needs, JSON-able; at most `findings` of each attack."""
    from reissue import __version__

    shown = [finding for one in audit.checked if one.outcome for finding in one.outcome.findings[:findings]]
    summaries = audit.view.summaries(list_classes(shown))
    return {
        "format": AUDIT,
        "reissue": __version__,
        "created": audit.created,
        "series": {**audit.about},
        "names_shown": audit.names_shown,
        "verdict": judge(audit),
        "thresholds": {key: to_plain(value) for key, value in audit.thresholds.items()},
        "thresholds_from": audit.thresholds_from,
        "attributes": [_describe_attribute(audit.coding, a) for a in range(len(audit.coding.domains))],
        "sensitive": list(audit.coding.schema.sensitive),
        "releases": [_describe_release(audit, position) for position in range(len(audit.observed))],
        "attacks": [_describe_attack(audit, checked, findings, summaries) for checked in audit.checked],
        "rates": [_describe_rates(one) for one in audit.rates],
        "traceable": [one.to_dict() for one in audit.traceable],
        "absence": [one.to_dict() for one in audit.absences],
        "notes": list(audit.notes),
    }


def to_plain(value: object) -> object:
    """Numbers, text, lists and objects that JSON knows; what is not a number is null."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | list | tuple | set | frozenset):
        return [to_plain(item) for item in value]
    return value if value is None or isinstance(value, str | int | bool) else str(value)


def _shorten(value: object) -> object:
    """The first items of a long list: details may name thousands of classes."""
    return value[:ITEMS] if isinstance(value, list) else value


def _describe_attribute(coding: Coding, a: int) -> dict[str, object]:
    domain = coding.domains[a]
    ends = [coding.label(a, code, code) if domain.lo <= domain.hi else "" for code in (domain.lo, domain.hi)]
    kind = "numeric" if domain.numeric else "hierarchy"
    return {"name": domain.name, "kind": kind, "lowest": ends[0], "highest": ends[1]}


def _describe_release(audit: Audit, position: int) -> dict[str, object]:
    entry, known = audit.view.timeline[position], audit.release_notes[position]
    tally = entry.tally
    return {
        "number": tally.number,
        "label": known.label,
        "name": known.name,
        "created": to_plain(known.about.get("created")),
        "files": [{"name": name, "sha256": digest} for name, digest in known.files.items()],
        "style": _name_style(tally.anatomized, known.about),
        "strategy": to_plain(known.about.get("strategy")),
        "settings": to_plain(known.about.get("settings", known.about.get("parameters", {}))),
        "steps": to_plain(known.about.get("steps", ())),
        "rows": tally.rows,
        "classes": int(tally.sizes[:, 1].sum()),
        "suppressed": known.suppressed,
        "counterfeits": None if tally.members is None else tally.rows - tally.members,
        "members": tally.members,
        "ambiguous": known.ambiguous,
        "changes": None if entry.turnover is None else asdict(entry.turnover),
        "sizes": describe_sizes(tally),
        "utility": to_plain(measure_utility(tally, audit.observed.domains, known.suppressed)),
        "risk": to_plain(measure_risks(entry.fits, audit.risk_threshold)),
    }


def _describe_rates(one: SeriesRates) -> dict[str, object]:
    columns = ("release", "error", "correlation")
    return {**one.to_dict(), "releases": [dict(zip(columns, entry, strict=True)) for entry in one.errors]}


def _name_style(anatomized: bool, about: Mapping[str, object]) -> str:
    """The form of a release: as its own description says, or of standing classes as their settings do."""
    settings = about.get("settings", {})
    form = settings.get("form") if isinstance(settings, Mapping) else None
    return str(about.get("style") or form or ("anatomized" if anatomized else "generalized"))


def _describe_attack(
    audit: Audit, checked: AttackResult, findings: int | None, summaries: Mapping[ClassRef, ClassSummary]
) -> dict[str, object]:
    outcome = checked.outcome
    found = () if outcome is None else outcome.findings
    worst = next((one for one in found if one.breach), found[0] if found else None)
    words = describe_attack(checked.name)
    return {
        "name": checked.name,
        "title": checked.name.replace("-", " ").capitalize(),
        "does": words.does,
        "who": words.who,
        "shows": list(words.shows),
        "assumes": checked.attack.assumes,
        "needs_members": checked.attack.needs_members,
        "persistent": checked.attack.persistent,
        "status": checked.status,
        "measuring": checked.measuring,
        "unfinished": 0 if outcome is None else outcome.unfinished,
        "reason": checked.reason,
        "settings": to_plain(checked.settings),
        "seconds": round(checked.seconds, 3),
        "findings_total": 0 if outcome is None else outcome.total,
        "breaches_total": 0 if outcome is None else len(outcome.breaches),
        "subjects_at_risk": _count_at_risk(audit, checked),
        "at_risk": _list_at_risk(audit, checked),
        "worst": None if worst is None else {key: to_plain(getattr(worst, key)) for key in WORST},
        "measures": {} if outcome is None else to_plain(outcome.measures),
        "notes": [] if outcome is None else list(outcome.notes),
        "findings": [_describe_finding(audit, finding, summaries) for finding in found[:findings]],
    }


WORST = ("level", "unit", "threshold", "sentence")


def _count_at_risk(audit: Audit, checked: AttackResult) -> int | None:
    """None where people cannot be counted: the attack was not run, or nobody knows who is in which class."""
    outcome = checked.outcome
    if outcome is None or (not outcome.at_risk and (audit.subjects is None or outcome.breaches)):
        return None
    return len(union(*outcome.at_risk.values()))


def _list_at_risk(audit: Audit, checked: AttackResult) -> list[dict[str, object]]:
    if checked.outcome is None:
        return []
    of = {entry.tally.number: entry.tally.members for entry in audit.view.timeline}
    at_risk = checked.outcome.at_risk
    return [{"release": n, "subjects": len(at_risk[n]), "of": of.get(n)} for n in sorted(at_risk)]


def list_classes(findings: Iterable[Finding]) -> set[ClassRef]:
    """The classes that the document shows of these findings."""
    return {(number, int(its)) for finding in findings for number, its in finding.classes[:CLASSES]}


def _describe_finding(audit: Audit, finding: Finding, summaries: Mapping[ClassRef, ClassSummary]) -> dict[str, object]:
    people = finding.details.get("people", len(finding.subjects))
    total = people if isinstance(people, int) else len(finding.subjects)
    return {
        "attack": finding.attack,
        "breach": bool(finding.breach),
        "sentence": finding.sentence,
        "releases": [int(number) for number in finding.releases],
        "subjects": list(finding.subjects[:SUBJECTS]),
        "subjects_total": max(total, len(finding.subjects)),
        "value": finding.value,
        "level": to_plain(float(finding.level)),
        "unit": finding.unit,
        "threshold": to_plain(finding.threshold),
        "classes_total": len(finding.classes),
        "classes": [
            _describe_class(audit, (number, int(its)), summaries[number, int(its)])
            for number, its in finding.classes[:CLASSES]
        ],
        "details": {key: _shorten(to_plain(value)) for key, value in finding.details.items()},
    }


def _describe_class(audit: Audit, place: ClassRef, its: ClassSummary) -> dict[str, object]:
    words = audit.observed.words
    return {
        "release": place[0],
        "class": place[1],
        "rows": its.rows,
        "box": words.box(its.box),
        "intervals": [
            _describe_interval(audit.coding, a, domain, *its.box[a].tolist())
            for a, domain in enumerate(audit.observed.domains)
        ],
        "values": [{"value": words.value(value), "rows": rows} for value, rows in its.values],
        "values_total": its.kinds,
    }


def _describe_interval(coding: Coding, a: int, domain: Domain, lo: int, hi: int) -> dict[str, object]:
    """An interval with its place on the attribute's scale, 0 to 1; a single value has a width, too."""
    steps = max(1, domain.hi - domain.lo + 1)
    start = min(max((lo - domain.lo) / steps, 0.0), 1.0 - 1.0 / steps)
    end = min(max((hi + 1 - domain.lo) / steps, start + 1.0 / steps), 1.0)
    return {"attribute": domain.name, "label": coding.label(a, lo, hi), "lo": start, "hi": end}
