"""JSON Schema (draft 2020-12) of every JSON document that commands print and releases hold.

Objects may get further keys under the same format, as docs/audit-json.md says: what is here stays, and means the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reissue.documents import AUDIT, COMPARISON
from reissue.errors import SettingsError, did_you_mean

Node = dict[str, object]
TEXT: Node = {"type": "string"}
WHOLE: Node = {"type": "integer", "minimum": 0}
NUMBER: Node = {"type": "number"}
SHARE: Node = {"type": "number", "minimum": 0, "maximum": 1}
TRUTH: Node = {"type": "boolean"}
OPEN: Node = {"type": "object"}
SHA256: Node = {"type": "string", "pattern": "^[0-9a-f]{64}$"}


def _object(optional: Mapping[str, Node] | None = None, /, **keys: Node) -> Node:
    return {"type": "object", "properties": {**keys, **(optional or {})}, "required": list(keys)}


def _list(items: Node) -> Node:
    return {"type": "array", "items": items}


def _maybe(node: Node) -> Node:
    return {"anyOf": [node, {"type": "null"}]}


def _one_of(*names: str) -> Node:
    return {"enum": list(names)}


def _each(node: Node) -> Node:
    """An object with keys of its own, whose values are all such."""
    return {"type": "object", "additionalProperties": node}


TEXTS = _list(TEXT)
STATUS = _one_of("breached", "partly", "held", "measured", "skipped")
SHOWS = _list(_one_of("singling out", "linkability", "inference"))
ACTION = _one_of("go on", "change the strategy", "stop publishing")
FILE = _object(name=TEXT, sha256=SHA256)
AT_RISK = _list(_object(release=WHOLE, subjects=WHOLE, of=_maybe(WHOLE)))
MEASURED: Mapping[str, Node] = {"error": _maybe(NUMBER), "correlation": _maybe(NUMBER)}
RATES: Mapping[str, Node] = {"pair": TEXT, **MEASURED, "points": _list(_list(NUMBER))}
COUNTED: Mapping[str, Node] = {"counts": _each({"type": "integer"}), "utility": _each(_maybe(NUMBER))}


def _describe_audit() -> Node:
    tried = _object(strategy=TEXT, newly_exposed=_maybe(WHOLE), refusal=_maybe(TEXT))
    return _object(
        {"adopted": _object(warning=_maybe(TEXT), tried=_list(tried), advice=_maybe(TEXT))},
        format={"const": AUDIT},
        reissue=TEXT,
        created=TEXT,
        series=_object(
            name=TEXT, kind=_one_of("series", "releases"), config=_maybe(FILE), strategy=_maybe(TEXT), settings=OPEN
        ),
        names_shown=TRUTH,
        verdict=_describe_verdict(),
        thresholds=OPEN,
        thresholds_from=_one_of("policy", "given", "defaults"),
        attributes=_list(_object(name=TEXT, kind=_one_of("numeric", "hierarchy"), lowest=TEXT, highest=TEXT)),
        sensitive=TEXTS,
        releases=_list(_describe_audited()),
        attacks=_list(_describe_attack()),
        rates=_list(_object(**RATES, releases=_list(_object(release=WHOLE, **MEASURED)))),
        traceable=_list(
            _object(column=TEXT, releases=_list(WHOLE), linked_rows=WHOLE, share=SHARE, sentence=TEXT),
        ),
        absence=_list(
            _object(release=WHOLE, people=WHOLE, value=TEXT, share=SHARE, reveals=TRUTH, sentence=TEXT),
        ),
        notes=TEXTS,
    )


def _describe_verdict() -> Node:
    names = {f"attacks_{status}": TEXTS for status in ("breached", "partly", "held", "measured", "skipped")}
    state = _one_of("kept", "broken", "unchecked", "none")
    return _object(
        breached=TRUTH,
        sentence=TEXT,
        promise=_object(state=state, attacks=TEXTS, broken=TEXTS, unchecked=TEXTS, sentence=TEXT),
        beyond=_object(attacks=TEXTS, sentence=TEXT),
        advice=_object(action=ACTION, lines=_list(_object(action=ACTION, sentence=TEXT))),
        **names,
        subjects=_maybe(WHOLE),
        subjects_left_out=WHOLE,
        subjects_at_risk=_maybe(WHOLE),
        at_risk=AT_RISK,
    )


def _describe_audited() -> Node:
    """One of the releases of an audit."""
    changes = _object(**dict.fromkeys(("new", "gone", "back", "changed_quasi_identifiers", "changed_value"), WHOLE))
    bar = _object({}, to=WHOLE, classes=WHOLE, rows=WHOLE, **{"from": WHOLE})
    chance = _object(highest=SHARE, average=SHARE, records_at_risk=SHARE, records_above=_object(ema=SHARE, arx=SHARE))
    return _object(
        number=WHOLE,
        label=_maybe(TEXT),
        name=TEXT,
        created=_maybe(TEXT),
        files=_list(FILE),
        style=_one_of("generalized", "anatomized", "told", "flat"),
        strategy=_maybe(TEXT),
        settings=OPEN,
        steps=TEXTS,
        rows=WHOLE,
        classes=WHOLE,
        suppressed=WHOLE,
        counterfeits=_maybe(WHOLE),
        members=_maybe(WHOLE),
        ambiguous=_maybe(WHOLE),
        changes=_maybe(changes),
        sizes=_object(smallest=WHOLE, median=NUMBER, mean=NUMBER, largest=WHOLE, histogram=_list(bar)),
        utility=_each(_maybe(NUMBER)),
        risk=_object(threshold=SHARE, prosecutor=chance, journalist=chance, marketer=_object(success_rate=SHARE)),
    )


def _describe_attack() -> Node:
    interval = _object(attribute=TEXT, label=TEXT, lo=SHARE, hi=SHARE)
    shown = _object(
        {"class": WHOLE},
        release=WHOLE,
        rows=WHOLE,
        box=TEXT,
        intervals=_list(interval),
        values=_list(_object(value=TEXT, rows=WHOLE)),
        values_total=WHOLE,
    )
    level: dict[str, Node] = {"level": _maybe(NUMBER), "unit": TEXT, "threshold": _maybe(NUMBER), "sentence": TEXT}
    finding = _object(
        attack=TEXT,
        breach=TRUTH,
        releases=_list(WHOLE),
        subjects=TEXTS,
        subjects_total=WHOLE,
        value=_maybe(TEXT),
        **level,
        classes_total=WHOLE,
        classes=_list(shown),
        details=OPEN,
    )
    return _object(
        name=TEXT,
        title=TEXT,
        does=TEXT,
        who=TEXT,
        shows=SHOWS,
        assumes=TEXT,
        needs_members=TRUTH,
        persistent=TRUTH,
        status=STATUS,
        measuring=TRUTH,
        unfinished=WHOLE,
        reason=_maybe(TEXT),
        settings=OPEN,
        seconds=NUMBER,
        findings_total=WHOLE,
        breaches_total=WHOLE,
        subjects_at_risk=_maybe(WHOLE),
        at_risk=AT_RISK,
        worst=_maybe(_object(**level)),
        measures=_each(_maybe(NUMBER)),
        notes=TEXTS,
        findings=_list(finding),
    )


def _describe_published(*left_out: str) -> Node:
    """A release as `publish` and `log` tell it."""
    keys: dict[str, Node] = {
        "number": WHOLE,
        "path": TEXT,
        "created": TEXT,
        "strategy": TEXT,
        "settings": OPEN,
        **COUNTED,
        "steps": TEXTS,
        "label": _maybe(TEXT),
        "allowed": TEXTS,
        "user": TEXT,
        "warnings": TEXTS,
    }
    return _object(**{key: node for key, node in keys.items() if key not in left_out})


def _describe_publish() -> Node:
    """Of several snapshots it is a list."""
    return {"anyOf": [_describe_published(), _list(_describe_published())]}


def _describe_preview() -> Node:
    diff = _object(
        last=_maybe(WHOLE),
        people=_object(new=WHOLE, gone=WHOLE, back=WHOLE, changed=WHOLE),
        **COUNTED,
        newly_exposed=_maybe(WHOLE),
        exposed=TEXTS,
    )
    return _object(
        format={"const": "reissue-preview/1"},
        release=_describe_published("path", "created"),
        diff=diff,
        gates=_list(_object(gate=TEXT, sentence=TEXT, overridable=TRUTH, allowed=TRUTH)),
        would_publish=TRUTH,
        audit=_maybe(_describe_audit()),
    )


def _describe_comparison() -> Node:
    attack = _object(status=STATUS, subjects_at_risk=_maybe(WHOLE), reason=_maybe(TEXT))
    run = _object(
        label=TEXT,
        strategy=TEXT,
        settings=OPEN,
        status=_one_of("done", "refused"),
        reason=_maybe(TEXT),
        failed_at=_maybe(WHOLE),
        **dict.fromkeys(("releases", "rows", "suppressed", "counterfeits"), WHOLE),
        query_error=_maybe(NUMBER),
        rates=_list(_object(**RATES)),
        detail_lost=_maybe(NUMBER),
        class_size=_maybe(NUMBER),
        seconds=NUMBER,
        audit_seconds=NUMBER,
        subjects=_maybe(WHOLE),
        subjects_at_risk=_maybe(WHOLE),
        risk=_maybe(SHARE),
        attacks=_each(attack),
    )
    return _object(
        format={"const": COMPARISON},
        reissue=TEXT,
        created=TEXT,
        snapshots=TEXTS,
        thresholds=_each(NUMBER),
        attacks=_list(_object(name=TEXT, does=TEXT, who=TEXT, shows=SHOWS, assumes=TEXT)),
        runs=_list(run),
        frontier=TEXTS,
        recommendation=_object(label=_maybe(TEXT), sentences=TEXTS),
    )


def _describe_log() -> Node:
    """Of a publish or an adoption the whole release; of other events what is kept of them."""
    event: dict[str, Node] = {"time": TEXT, "user": TEXT}
    release = _describe_published()
    assert isinstance(release["properties"], dict) and isinstance(release["required"], list)  # noqa: PT018
    published = _object({}, what=_one_of("publish", "adopt"), **{**release["properties"], **event})
    withdrawn = _object(what={"const": "withdraw"}, **event, release=WHOLE, label=_maybe(TEXT), reason=TEXT)
    other = _object(what=_one_of("forget", "extend", "amend", "upgrade"), **event)
    return _list({"anyOf": [published, withdrawn, other]})


def _describe_release() -> Node:
    role = _one_of("quasi-identifier", "sensitive", "insensitive", "class")
    column = _object({"type": TEXT, "groups": TRUTH, "reading": TEXT}, name=TEXT, role=role)
    counts = _object(
        {"tokens": WHOLE, "typical_standing_class": WHOLE},
        **dict.fromkeys(("rows", "classes", "smallest_class", "largest_class"), WHOLE),
    )
    return _object(
        {"notes": TEXTS},
        format={"const": "reissue-release/1"},
        number=WHOLE,
        style=_one_of("generalized", "anatomized", "told", "flat"),
        strategy=TEXT,
        parameters=OPEN,
        counts=counts,
        columns=_list(column),
        files=TEXTS,
    )


def _describe_verification() -> Node:
    return _list(_object(file=TEXT, reason=TEXT, remedy=TEXT, release=_maybe(WHOLE), label=_maybe(TEXT)))


def _describe_estimate() -> Node:
    rates = dict.fromkeys(("base", "rate", "rate_low", "rate_high"), _maybe(NUMBER))
    return _object(count=NUMBER, low=NUMBER, high=NUMBER, **rates, others=TEXT)


def _describe_person() -> Node:
    values = _list(_object(value=TEXT, rows=WHOLE))
    place = _object(release=WHOLE, name=TEXT, box=TEXT, rows=WHOLE, values=values, values_total=WHOLE, value=TEXT)
    return _object(
        format={"const": "reissue-person/1"},
        sentence=TEXT,
        identifier=TEXT,
        releases=WHOLE,
        places=_list(place),
        at_risk=_each(_list(WHOLE)),
        findings=TEXTS,
    )


def _describe_receipt() -> Node:
    return _object(created=TEXT, people=WHOLE, before=WHOLE, erased=TRUTH, sha256=_maybe(SHA256))


DOCUMENTS: Mapping[str, tuple[str, Callable[[], Node]]] = {
    "audit": ("What `reissue audit --json` and `adopt --json` print", _describe_audit),
    "compare": ("What `reissue compare --json` prints", _describe_comparison),
    "estimate": ("What `reissue estimate --json` prints", _describe_estimate),
    "forget": ("The receipt that `reissue forget --json` prints", _describe_receipt),
    "log": ("What `reissue log --json` prints", _describe_log),
    "person": ("What `reissue audit --person ID --json` prints", _describe_person),
    "preview": ("What `reissue publish --dry-run --json` prints", _describe_preview),
    "publish": (
        "What `reissue publish --json` prints, of several snapshots a list; also `withdraw`",
        _describe_publish,
    ),
    "release": ("The release.json of a release that is handed out", _describe_release),
    "verify": ("What `reissue verify --json` prints", _describe_verification),
}


def describe_document(name: str) -> dict[str, object]:
    """The JSON Schema of the document of that name, one of DOCUMENTS."""
    if name not in DOCUMENTS:
        hint = did_you_mean(name, DOCUMENTS)
        raise SettingsError(f"There is no document '{name}'.{hint} Documents are: {', '.join(DOCUMENTS)}.")
    title, describe = DOCUMENTS[name]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **describe()}
