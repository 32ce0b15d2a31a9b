"""Text from data, made fit to be shown: no control characters, no broken encoding, nothing endless."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import cast

IN_WORDS = {"invariant": "the same values for life"}
"""Thresholds that are there or not, and have no number."""
LONGEST = 600
"""Characters of one piece of text that a page shows."""

# What may stand in for characters that would break a line, turn the reading direction or end a script.
_KEPT = {"\n", "\t"}
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def clean(text: str, longest: int = LONGEST) -> str:
    """The text without invisible characters; if it is longer than `longest`, its beginning."""
    cut = text[:longest]
    if not (cut.isascii() and cut.isprintable()):
        cut = "".join("\ufffd" if _is_hidden(character) else character for character in cut)
    return f"{cut}…" if len(text) > longest else cut


def _is_hidden(character: str) -> bool:
    return character not in _KEPT and unicodedata.category(character) in _HIDDEN


def clean_all(value: object, longest: int = LONGEST) -> object:
    """A document with every text in it cleaned, keys too."""
    if isinstance(value, str):
        return clean(value, longest)
    if isinstance(value, Mapping):
        return {clean(str(key), longest): clean_all(item, longest) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [clean_all(item, longest) for item in value]
    return value


def to_script_json(value: object) -> str:
    """JSON that may stand inside a script element: nothing in it can end the element or start a comment."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def format_count(value: float | None) -> str:
    """A whole number with separators; a dash where it is not known."""
    return "–" if value is None else f"{value:,.0f}"


def format_share(value: float | None) -> str:
    """0 to 1 as a percentage that never rounds something to nothing or nearly all to all."""
    if value is None:
        return "–"
    if 0 < value < 0.001:
        return "<0.1%"
    if 0.999 < value < 1:
        return ">99.9%"
    return f"{value:.0%}" if value in (0, 1) or round(value * 100, 1) % 1 == 0 else f"{value:.1%}"


def format_number(value: float | None) -> str:
    """Any number, in at most four significant digits."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if float(value).is_integer() or abs(value) >= 10_000 else f"{value:,.4g}"


def format_level(value: float | None, unit: str) -> str:
    """What an attack measured, in its unit."""
    return format_share(value) if _is_share(unit) else format_number(value)


def _is_share(unit: str) -> bool:
    return any(word in unit for word in ("share", "probability", "chance", "confidence"))


def choose_unit(name: str, value: float | None) -> str:
    """The unit behind a number: 1 person on each side, 2 people on each side; 1 possible value."""
    if value != 1:
        return name
    return "possible value" if name == "possible values" else re.sub(r"^people\b", "person", name)


def call_releases(releases: Iterable[Mapping[str, object]]) -> dict[int, str]:
    """By its number what each release is called, in order: its label, or its number; both where two would be alike."""
    numbers = {int(str(one["number"])): cast("str | None", one.get("label")) for one in releases}
    names = {number: label or str(number) for number, label in numbers.items()}
    twice = {name for name, count in Counter(names.values()).items() if count > 1}
    return {number: f"{name} (number {number})" if name in twice else name for number, name in names.items()}


def list_in_order(given: Sequence[int], names: Mapping[int, str]) -> str:
    """Releases by what they are called, runs of them by their ends: 1, 3 to 6, 9. names: of all, in order."""
    place = {number: place for place, number in enumerate(names)}
    runs: list[list[int]] = []
    for one in given:
        if runs and place[one] == place[runs[-1][-1]] + 1:
            runs[-1].append(one)
        else:
            runs.append([one])
    told = [[names[one] for one in run] for run in runs]
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(run) for run in told)


def open_sentence(sentence: str) -> str:
    """A sentence of ours that begins with a word of ours, with a capital; one that begins with a name stays."""
    return capitalize(sentence) if sentence.startswith(("subject ", "release ")) else sentence


def capitalize(sentence: str) -> str:
    """A sentence of ours, in whatever case it begins."""
    return sentence[:1].upper() + sentence[1:]


def format_day(created: str | None) -> str:
    """2 March 2026, 09:30 UTC, from ISO 8601; other text as it is."""
    if not created:
        return ""
    try:
        moment = datetime.fromisoformat(created)
    except ValueError:
        return created
    return f"{moment.day} {moment:%B %Y, %H:%M} {moment.tzname() or ''}".rstrip()


def count_words(amount: float | None, one: str, many: str | None = None) -> str:
    """1 person, 2 people."""
    return f"{format_count(amount)} {one if amount == 1 else many or one + 's'}"


def list_settings(settings: Mapping[str, object]) -> str:
    """k = 5, c = 0.5; settings that are not set are left out."""
    given = {key: value for key, value in settings.items() if value is not False and value not in (None, [], {}, "")}
    return ", ".join(IN_WORDS.get(key) or f"{key} = {_format_setting(value)}" for key, value in given.items())


def _format_setting(value: object) -> str:
    if isinstance(value, list | tuple):
        return " and ".join(_format_setting(item) for item in value)
    if isinstance(value, Mapping):
        return f"({list_settings(value)})"
    return format_number(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
