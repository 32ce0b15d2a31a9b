"""What the labels of releases made elsewhere teach a coding, where no snapshot is at hand."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from reissue.coding.numeric import LARGEST_CODE, MISSING_CODE, NumericCoding
from reissue.errors import ReleaseError
from reissue.hierarchy import MISSING, Hierarchy
from reissue.schema.attributes import MOST_DECIMALS, Numeric

if TYPE_CHECKING:
    from reissue.coding.codes import Coding

SHOWN = 10
REMEDY = "Give the hierarchies that the releases were made with, and ranges as 20-29, [20, 30[ or >=65."


def learn_from_labels(
    coding: Coding, labels: Mapping[str, Iterable[str]], told: Callable[[str, str], str]
) -> tuple[dict[str, Hierarchy], dict[str, NumericCoding]]:
    """The hierarchies and numeric codings after reading published labels; one error with all that cannot be read.

    told: how a label of a column is called in the error
    """
    hierarchies, numbers = dict(coding.hierarchies), dict(coding.numbers)
    problems: list[str] = []
    for name, given in labels.items():
        distinct = sorted(set(given))
        if name in numbers:
            attribute = coding.schema.quasi_identifiers[name]
            assert isinstance(attribute, Numeric)
            numbers[name], bad = _learn_ranges(numbers[name], attribute, distinct)
        else:
            hierarchies[name], bad = _learn_groups(hierarchies[name], distinct)
        if bad:
            more = f" ... and {len(bad) - SHOWN} more" if len(bad) > SHOWN else ""
            problems.append(f"{name}: {', '.join(told(name, label) for label in bad[:SHOWN])}{more}")
    if problems:
        raise ReleaseError(
            "These labels of the releases cannot be read:\n"
            + "\n".join(f"- {line}" for line in problems)
            + f"\n{REMEDY}"
        )
    return hierarchies, numbers


def _learn_groups(hierarchy: Hierarchy, labels: list[str]) -> tuple[Hierarchy, list[str]]:
    """Values are learned where the hierarchy grows; a label of a group must be known from its values."""
    known = set(hierarchy.all_labels)
    values = [label for label in labels if label not in known and hierarchy.problem(label) is None]
    grown = hierarchy.grow(values)
    if MISSING in labels and MISSING not in grown.all_labels:
        grown = grown.with_missing()
    known = set(grown.all_labels)
    return grown, [label for label in labels if label not in known]


def _learn_ranges(number: NumericCoding, attribute: Numeric, labels: list[str]) -> tuple[NumericCoding, list[str]]:
    """The limits that the bounds of the labels show; the kind by the look of them where it is still open."""
    first = number.hi < number.lo
    if number.kind is None:
        number = _guess_kind(number, labels)
    if first and number.kind == "float" and attribute.decimals is None:
        digits = (len(found) for label in labels for found in re.findall(r"\.(\d+)", label))
        number = replace(number, decimals=min(max(digits, default=0), MOST_DECIMALS))
    bad = []
    open_ended = replace(number, lo=0, hi=-1)  # so that <=30 does not borrow the limits of others
    for label in labels:
        try:
            lo, hi = open_ended.parse(label)
        except ReleaseError:
            bad.append(label)
            continue
        if lo == MISSING_CODE:
            number = replace(number, missing=True, nulls=True)
        bounds = [bound for bound in (lo, hi) if -LARGEST_CODE < bound < LARGEST_CODE]
        if bounds:
            number = number.widened(min(bounds), max(bounds))
    return number, bad


def _guess_kind(number: NumericCoding, labels: list[str]) -> NumericCoding:
    if any(re.search(r"\d{4}-\d{2}-\d{2}", label) for label in labels):
        return replace(number, kind="date", decimals=0)
    decimal = number.decimals or any(re.search(r"\.\d*[1-9]", label) for label in labels)
    return replace(number, kind="float" if decimal else "int")
