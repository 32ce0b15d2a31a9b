"""Audit documents for the report: the published example, a long series, and one whose every text is hostile."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

EXAMPLE = Path(__file__).resolve().parents[1] / "audit" / "example.json"

Document = dict[str, Any]


def example() -> Document:
    document: Document = json.loads(EXAMPLE.read_text(encoding="utf-8"))
    return document


def long_series(releases: int = 24, findings: int = 100, classes: int = 12, attributes: int = 8) -> Document:
    """As large as an audit gets: every attack breached, every list full."""
    document = example()
    names = [f"attribute_{a}" for a in range(attributes)]
    document["attributes"] = [{"name": n, "kind": "numeric", "lowest": "0", "highest": "99"} for n in names]
    first = document["releases"][1]
    document["releases"] = [
        {**copy.deepcopy(first), "number": n, "name": f"release {n}", "strategy": "m-invariance",
         "steps": [f"{i}. Did to {n * i:,} rows of this release what takes a line to say." for i in range(1, 12)]}
        for n in range(1, releases + 1)
    ]  # fmt: skip
    boxes = [
        {"release": c % releases + 1, "class": c, "rows": 7, "box": ", ".join(f"{n} 10-19" for n in names),
         "intervals": [{"attribute": n, "label": "10-19", "lo": 0.1, "hi": 0.2 + 0.05 * c} for n in names],
         "values": [{"value": f"value {v}", "rows": 1} for v in range(8)], "values_total": 9}
        for c in range(classes)
    ]  # fmt: skip
    finding = {**document["attacks"][0]["findings"][0], "classes": boxes, "classes_total": classes}
    finding["subjects"], finding["subjects_total"] = [f"subject {s}" for s in range(20)], 5000
    attack = {**document["attacks"][0], "findings": [finding] * findings, "findings_total": 10 * findings}
    attack["at_risk"] = [{"release": n, "subjects": 100 * n, "of": 10_000} for n in range(1, releases + 1)]
    document["attacks"] = [{**attack, "name": f"attack-{i}", "title": f"Attack {i}"} for i in range(10)]
    return document


HOSTILE = (
    "<script>window.pwned=1</script>",
    "</script><script>window.pwned=2</script>",
    "<img src=x onerror=window.pwned=3>",
    '" onmouseover="window.pwned=4" x="',
    "' autofocus onfocus='window.pwned=5",
    "<!-- <script>",
    "{{ 7 * 7 }}{% raw %}",
    "javascript:window.pwned=6",
    "]]></style><svg onload=window.pwned=7>",
    "\u2028\u2029\u202egnihtemos\x00\x07\ud800",
    '=HYPERLINK("http://example.invalid/")',
    "http://example.invalid/pixel.png",
    "url(http://example.invalid/font)",
    "x" * 200_000,
)


def hostile(text: str) -> Document:
    """The example with every text that data can influence replaced."""

    def poison(value: object, key: str = "") -> object:
        if isinstance(value, str):
            return value if key in {"format", "status", "thresholds_from", "kind", "style"} else text
        if isinstance(value, dict):
            return {k: poison(v, k) for k, v in value.items()}
        return [poison(item, key) for item in value] if isinstance(value, list) else value

    document = poison(example())
    assert isinstance(document, dict)
    document["settings"] = document["thresholds"] = document["series"]["settings"] = {text: text}
    for release in document["releases"]:
        release["steps"], release["settings"], release["created"] = [text], {text: text}, text
    return document
