"""What the labels of other tools mean in codes: ranges, sets, prefixes, groups of a hierarchy, `*`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, DecimalException

import numpy as np

from reissue.arrays.types import Bool, Int32
from reissue.coding import MISSING, Coding, NumericCoding
from reissue.coding.foreign import REMEDY
from reissue.errors import ReissueError, ReleaseError, SchemaError
from reissue.hierarchy import RANGE, ROOT, Hierarchy
from reissue.hierarchy.rules import Flat

LONGEST = 1_000
"""Characters of a label; whatever is longer is text, not a label."""

SHOWN = 3

_SIGNS = str.maketrans({"≥": ">=", "≤": "<=", "–": "-", "—": "-", "−": "-", "\u00a0": " "})
_MASKED = re.compile(r"(\d+)(\*+)")
_AND_OVER = re.compile(r"(\d[\d.]*)\s*(?:\+|and over|and older|or more)")
_UNDER = re.compile(r"(?:under|below|less than)\s*(\d[\d.]*)")
_BETWEEN = re.compile(r"(\d[\d.]*)\s*(?:~|\.\.|:|_)\s*(\d[\d.]*)")
_HYPHENED = re.compile(r"([\[(\]])\s*(\d[\d.]*)\s*(?:-| to )\s*(\d[\d.]*)\s*([\])\[])")
PLAIN_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
_HUGE = re.compile(r"[eE][+-]?\d{3,}|\d{40,}")


def quote(label: str) -> str:
    """The label for a message: quoted, never longer than a line."""
    return repr(label if len(label) <= 60 else f"{label[:60]}...")


def split_set(label: str) -> list[str] | None:
    """The elements of `{a, b}`, `['a', 'b']`, `[1, 2, 3]` or `a~b`; None where the label is no set."""
    text = label.strip()
    if len(text) > 2 and text[0] + text[-1] in ("{}", "[]") and (text[0] == "{" or _is_list(text)):
        inner = text[1:-1]
        between = "," if "," in inner else ";" if ";" in inner else "~" if "~" in inner else ","
        parts = [part.strip() for part in inner.split(between)]
        bare = [part[1:-1] if len(part) > 1 and part[0] == part[-1] and part[0] in "'\"" else part for part in parts]
        return [part for part in bare if part] or None
    if "~" in text:
        parts = [part.strip() for part in text.split("~")]
        return parts if all(parts) else None
    return None


def _is_list(text: str) -> bool:
    """Whether brackets hold a list: quoted elements, or more than the two ends of a range."""
    return text[1:-1].strip()[:1] in ("'", '"') or text.count(",") > 1


def split_commas(label: str) -> list[str] | None:
    """The elements of `a,b`, as anonypy joins values; None where there is no comma."""
    parts = [part.strip() for part in label.split(",")]
    return parts if len(parts) > 1 and all(parts) else None


def to_range(label: str) -> str:
    """A numeric label in a form that `NumericCoding.parse` reads; sets become the range from least to greatest."""
    text = label.translate(_SIGNS).strip()
    if len(text) > LONGEST or _HUGE.search(text):
        raise ReleaseError(f"{quote(label)} is no number or range.")
    elements = split_set(text)
    if elements is None and re.fullmatch(r"[\d.]+(\s*,\s*[\d.]+)+", text):
        elements = split_commas(text)
    if elements is not None and ("~" not in text or len(elements) > 2):
        try:
            numbers = sorted(Decimal(element) for element in elements)
        except DecimalException:
            raise ReleaseError(f"{quote(label)} is no set of numbers.") from None
        return f"{numbers[0]} to {numbers[-1]}"
    for pattern, form in ((_AND_OVER, ">={0}"), (_UNDER, "<{0}"), (_BETWEEN, "{0} to {1}")):
        found = pattern.fullmatch(text)
        if found:
            return form.format(*found.groups())
    found = _HYPHENED.fullmatch(text)
    if found:
        return f"{found[1]}{found[2]}, {found[3]}{found[4]}"
    if "_" in text:  # Python takes 30_39 for 3039
        raise ReleaseError(f"{quote(label)} is no number or range.")
    found = _MASKED.fullmatch(text)
    if found:
        return f"{found[1]}{'0' * len(found[2])} to {found[1]}{'9' * len(found[2])}"
    return text


@dataclass(frozen=True, eq=False)
class LabelReader:
    """Reads the labels of one hierarchical attribute; `wider` collects labels that had to be read more coarsely."""

    hierarchy: Hierarchy
    wider: dict[str, str]

    def interval(self, label: str) -> tuple[int, int] | None:
        """The closed interval of codes; None where the label means nothing here."""
        known = self._known(label)
        if known is not None:
            return known
        chosen = self._elements(label)
        if chosen is None:
            chosen = self._prefix(label)
        if chosen is None:
            chosen = self._numbers(label)
        if chosen is None or not chosen.any():
            return None
        return self._hull(label, chosen)

    def _known(self, label: str) -> tuple[int, int] | None:
        for text in (label, label.strip()):
            try:
                return self.hierarchy.parse(text)
            except SchemaError:
                continue
        return None

    def _elements(self, label: str) -> Bool | None:
        elements = split_set(label) or split_commas(label)
        if elements is None:
            return None
        chosen = np.zeros(len(self.hierarchy.leaves), dtype=np.bool_)
        for element in elements:
            found = self._known(element)
            if found is None:
                return None
            chosen[found[0] : found[1] + 1] = True
        return chosen

    def _prefix(self, label: str) -> Bool | None:
        text = label.strip()
        start = text.rstrip("*")
        if start == text or not start:
            return None
        fits = [leaf.startswith(start) and leaf != MISSING for leaf in self.hierarchy.leaves]
        return np.array(fits, dtype=np.bool_)

    def _numbers(self, label: str) -> Bool | None:
        """A range over values that are numbers."""
        try:
            values = [Decimal(leaf) if leaf != MISSING else None for leaf in self.hierarchy.leaves]
            exponents = [value.as_tuple().exponent for value in values if value is not None]
            decimals = max([-int(e) for e in exponents if isinstance(e, int)] or [0])
            coding = NumericCoding(kind="float" if decimals > 0 else "int", decimals=max(decimals, 0))
            lo, hi = coding.parse(to_range(label))
        except (DecimalException, ReissueError, ValueError):
            return None
        inside = [value is not None and lo <= value * coding.scale <= hi for value in values]
        return np.array(inside, dtype=np.bool_)

    def _hull(self, label: str, chosen: Bool) -> tuple[int, int]:
        """The interval of the chosen leaves; where it has gaps, the smallest group that covers them."""
        codes = np.flatnonzero(chosen)
        lo, hi = int(codes[0]), int(codes[-1])
        if len(codes) == hi - lo + 1:
            return lo, hi
        tree = self.hierarchy.tree
        node = int(tree.cover(np.array([lo], dtype=np.int32), np.array([hi], dtype=np.int32))[0])
        self.wider[label] = self.hierarchy.labels[node]
        return int(tree.lo[node]), int(tree.hi[node])


def find_representatives(hierarchy: Hierarchy, labels: Iterable[str], ranges: bool = False) -> list[str]:
    """Values to learn so that a hierarchy that grows by a rule knows these labels: elements of sets, and one value for
    each group (120 for 120*, 20 for 20-24, 2026-01-01 for 2026-01), since only values make groups. ranges: whether
    a..b is a range, so that both its ends are values."""
    found: list[str] = []
    known = set(hierarchy.all_labels)
    for label in labels:
        if label in known or label == ROOT:
            continue
        joined = split_commas(label) if isinstance(hierarchy.rule, Flat) and ", " not in label else None
        for element in split_set(label) or joined or (label.rsplit(RANGE, 1) if ranges else [label]):
            number = re.match(r"[\[(]?\s*(-?\d+(?:\.\d+)?)", element)
            tries = [element, element.rstrip("*"), f"{element}-01", f"{element}-01-01"]
            tries += [number[1]] if number else []
            if element.endswith("*"):
                tries = tries[1:]
            found += [value for value in tries if value and hierarchy.problem(value) is None][:1]
    return found


Told = Callable[[str, str], str]
"""How a label of a column is called in a message."""


def quote_label(_: str, label: str) -> str:
    return quote(label)


def learn_labels(coding: Coding, labels: Mapping[str, Sequence[str]], told: Told = quote_label) -> Coding:
    """The coding with what the labels show; one error names every label that cannot be read."""
    to_learn: dict[str, list[str]] = {}
    written: dict[str, str] = {}  # of ranges, as their releases have them
    problems = []
    for name, given in labels.items():
        if name in coding.numbers:
            ranges, bad = [], []
            for label in given:
                try:
                    ranges.append(to_range(label))
                    written[ranges[-1]] = label
                except ReleaseError:
                    bad.append(label)
            to_learn[name] = ranges
        else:
            bad = [label for label in given if len(label) > LONGEST]
            hierarchy = coding.hierarchies[name]
            fresh = find_representatives(hierarchy, given, coding.shows_ranges(name)) if hierarchy.grows else []
            to_learn[name] = [*fresh, *([MISSING] if MISSING in given else [])]
        if bad:
            problems.append(f"- {name}: {_list_labels(name, bad, told)}")
    if problems:
        raise ReleaseError("\n".join(["These labels of the releases cannot be read:", *problems, REMEDY]))
    return coding.learn_labels(to_learn, lambda name, label: told(name, written.get(label, label)))


def read_intervals(
    coding: Coding, name: str, labels: Sequence[str], told: Told = quote_label
) -> tuple[Int32, list[str]]:
    """(int32[labels, 2] closed intervals of codes, notes about labels read more coarsely than written)."""
    wider: dict[str, str] = {}
    read = (
        _read_numbers(coding, name) if name in coding.numbers else LabelReader(coding.hierarchies[name], wider).interval
    )
    found = [read(label) for label in labels]
    bad = [label for label, interval in zip(labels, found, strict=True) if interval is None]
    if bad:
        raise ReleaseError(
            f"{name}: {_list_labels(name, bad, told)} cannot be read: neither a value or group of its hierarchy, nor a "
            "range, set or prefix of its values. Give the hierarchy that the release was made with."
        )
    notes = []
    if name in coding.numbers:
        gaps = [label for label in labels if label.strip().startswith("{") and len(split_set(label) or ()) > 1]
        if gaps:
            notes.append(f"{name}: sets such as {quote(gaps[0])} were read as the range from least to greatest.")
    if wider:
        shown = ", ".join(f"{quote(label)} as {quote(group)}" for label, group in list(wider.items())[:SHOWN])
        more = f" and {len(wider) - SHOWN} more" if len(wider) > SHOWN else ""
        notes.append(f"{name}: sets that are no interval of values were read as the smallest group: {shown}{more}.")
    return np.array(found, dtype=np.int32).reshape(-1, 2), notes


def _read_numbers(coding: Coding, name: str):  # type: ignore[no-untyped-def]
    number = coding.numbers[name]

    def read(label: str) -> tuple[int, int] | None:
        try:
            return number.parse(to_range(label))
        except (ReleaseError, ArithmeticError):
            return None

    return read


def _list_labels(name: str, labels: Sequence[str], told: Told) -> str:
    more = f" and {len(labels) - SHOWN:,} more" if len(labels) > SHOWN else ""
    return ", ".join(told(name, label) for label in labels[:SHOWN]) + more


def list_held(coding: Coding, name: str, label: str) -> str:
    """The values that a label holds: both ends of a range, or the first few of a group."""
    lo, hi = (int(end) for end in read_intervals(coding, name, [label])[0][0])
    if name in coding.numbers:
        number = coding.numbers[name]
        return repr(number.text(lo)) if lo == hi else f"{number.label(lo, hi)!r}"
    leaves = coding.hierarchies[name].leaves[lo : hi + 1]
    more = f" and {len(leaves) - SHOWN:,} more" if len(leaves) > SHOWN else ""
    return ", ".join(repr(leaf) for leaf in leaves[:SHOWN]) + more
