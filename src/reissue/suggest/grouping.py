"""Groups for values: neighbours in the alphabet with about equally many people, ordered intervals pairwise."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from reissue.arrays.types import Float64, Int64

Rows = tuple[tuple[str, ...], ...]
"""Lines of a hierarchy file: a value, its groups, and `*`."""

FEW = 4
"""So many values, or fewer, need no groups."""
FINEST, COARSEST = 16, 4

_INTERVAL = re.compile(
    r"[\[(]?\s*(?P<low>-?\d+(?:\.\d+)?)\s*(?:-|to|–|,|;|\.\.)\s*(?P<high>-?\d+(?:\.\d+)?)\s*[\])\[(]?"
    r"|(?P<under><=?|under|below)\s*(?P<most>\d+(?:\.\d+)?)"
    r"|(?P<over>>=?|over|above)\s*(?P<least>\d+(?:\.\d+)?)|(?P<from>\d+(?:\.\d+)?)\s*(?:\+|and over|and older)",
    re.IGNORECASE,
)


def group_by_frequency(values: Sequence[str], counts: Int64) -> Rows:
    """Values in the order of the alphabet, cut where about equally many rows come together; two levels where many."""
    order = sorted(range(len(values)), key=lambda place: (values[place].casefold(), values[place]))
    names, weights = [values[place] for place in order], counts[np.array(order, dtype=np.int64)]
    if len(names) <= FEW:
        return ()
    fine = _cut(weights.astype(np.float64), min(FINEST, -(-len(names) // 3)))
    levels = [fine]
    if len(set(fine)) > 2 * COARSEST:
        totals = np.bincount(fine, weights, minlength=max(fine) + 1)
        coarse = _cut(np.asarray(totals, dtype=np.float64), COARSEST)
        levels.append([coarse[group] for group in fine])
    return _write_rows(names, levels)


def group_in_order(values: Sequence[str]) -> Rows:
    """Intervals such as [0-10) in their order, two, four, ... together; nothing where values are no intervals."""
    found = [(_lower_end(value), value) for value in values]
    known = [(low, value) for low, value in found if low is not None]
    if len(known) < len(found) or len(known) <= 2:
        return ()
    names = [value for _, value in sorted(known)]
    levels, width = [], 2
    while width < len(names):
        levels.append([place // width for place in range(len(names))])
        width *= 2
    return _write_rows(names, levels)


def _lower_end(value: str) -> float | None:
    match = _INTERVAL.fullmatch(value.strip())
    if match is None:
        return None
    part = match.groupdict()
    if part["most"] is not None:
        return float(part["most"]) - 1e9
    return float(part["low"] or part["least"] or part["from"])


def _cut(weights: Float64, groups: int) -> list[int]:
    """The group of each value: neighbours whose middles fall into the same share of all rows.

    A value that has most of the rows counts as one group, so that the others are still told apart.
    """
    for _ in range(5):
        weights = np.minimum(weights, weights.sum() / groups)
    middle = np.cumsum(weights) - weights / 2
    share = np.floor(groups * middle / max(float(weights.sum()), 1.0))
    found: list[int] = np.unique(share, return_inverse=True)[1].reshape(-1).tolist()
    return found


def _write_rows(names: Sequence[str], levels: Sequence[Sequence[int]]) -> Rows:
    columns = [_name_groups(names, level) for level in levels]
    return tuple((name, *(column[place] for column in columns), "*") for place, name in enumerate(names))


def _name_groups(names: Sequence[str], groups: Sequence[int]) -> list[str]:
    """`Cambodia to Ecuador` for every member; a group of one is called by its member."""
    members: dict[int, list[str]] = {}
    for name, group in zip(names, groups, strict=True):
        members.setdefault(group, []).append(name)
    called = {
        group: some[0] if len(some) == 1 else f"{some[0]} {'or' if len(some) == 2 else 'to'} {some[-1]}"
        for group, some in members.items()
    }
    taken = set(names)
    return [
        called[group] if len(members[group]) == 1 or called[group] not in taken else f"{called[group]} (group)"
        for group in groups
    ]


def find_bins(numbers: Sequence[float] | Float64, counts: Int64, bins: int = 8) -> list[int | float]:
    """Edges between bins of about equally many rows, rounded to numbers that people like."""
    numbers = np.asarray(numbers, dtype=np.float64)
    order = np.argsort(numbers)
    ordered, weights = numbers[order], counts[order]
    share = np.cumsum(weights) / weights.sum()
    raw = ordered[np.minimum(np.searchsorted(share, np.arange(1, bins) / bins), len(ordered) - 1)]
    edges = sorted({_round(float(edge)) for edge in raw if edge > ordered[0]})
    return [int(edge) if edge == int(edge) else edge for edge in edges]


def _round(number: float) -> float:
    """With two digits that count."""
    return float(f"{number:.2g}")
