"""Which conditions the classes of a release break, by formulas and code of their own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reissue.arrays.types import Float64, Int32, Int64
from reissue.model.requirement import Requirement, distribution
from reissue.model.requirement_kernels import TOLERANCE
from reissue.model.settings import as_fraction


@dataclass(frozen=True)
class Violation:
    """A condition some class breaks: the worst class, what was measured there and the limit.

    condition: "k", "c", "l", "t" or "beta". classes: how many classes break it. value: the value's code, if one is
    to blame. measured and limit: in the condition's own unit (rows, share, values, distance, gain); for recursive
    diversity the ratio of the most frequent count to the tail.
    """

    condition: str
    worst: int
    measured: float
    limit: float
    classes: int
    value: int | None = None


def violations(
    requirement: Requirement,
    classes: Int32,
    values: Int32,
    value_count: int,
    table_distribution: Float64 | None = None,
) -> tuple[Violation, ...]:
    """The conditions that the classes break, by formulas and code of their own: for the check before publishing.

    classes: int32[rows] (-1: suppressed, ignored); values: int32[rows]; table_distribution: float64[value_count], by
    default that of the rows in classes. One entry per broken condition. O(n log n).
    """
    kept = classes >= 0
    if not kept.any():
        return ()
    key, count = np.unique(classes[kept].astype(np.int64) * value_count + values[kept], return_counts=True)
    groups = _Groups(key // value_count, (key % value_count).astype(np.int64), count.astype(np.int64))
    table = table_distribution
    if table is None:
        table = distribution(np.bincount(values[kept], minlength=value_count).astype(np.int64))
    found = [_too_small(requirement, groups), _too_frequent(requirement, groups)]
    if requirement.l is not None:
        check = {"distinct": _too_few, "entropy": _too_uneven, "recursive": _too_topheavy}[requirement.diversity]
        found.append(check(requirement, groups))
    if requirement.t is not None:
        found.append(_too_far(requirement, groups, table))
    if requirement.beta is not None:
        found.append(_too_telling(requirement, groups, table))
    return tuple(violation for violation in found if violation is not None)


class _Groups:
    """The non-empty groups, sorted by class then value, with their classes.

    value, count: int64[groups]; start: int64[classes], first group; label: int64[classes], class number;
    size: int64[classes]; home: int64[groups], position of the group's class; share: float64[groups]
    """

    def __init__(self, owner: Int64, value: Int64, count: Int64) -> None:
        self.value, self.count = value, count
        self.start = np.flatnonzero(np.diff(owner, prepend=-1)).astype(np.int64)
        self.label = owner[self.start]
        self.size = np.add.reduceat(count, self.start)
        self.home = np.repeat(np.arange(len(self.start)), np.diff(np.append(self.start, len(owner))))
        self.share = count / self.size[self.home]


def _find_worst(
    condition: str,
    groups: _Groups,
    excess: Float64,
    broken: NDArray[np.bool_],
    measured: Float64,
    limit: Float64 | float,
    of_group: bool = False,
) -> Violation | None:
    """The entry with the largest excess among the broken ones; arrays per class, or per group if of_group."""
    if not broken.any():
        return None
    at = int(np.where(broken, excess, -np.inf).argmax())
    home = int(groups.home[at]) if of_group else at
    classes = len(np.unique(groups.home[broken])) if of_group else int(broken.sum())
    value = int(groups.value[at]) if of_group else None
    asked = float(np.broadcast_to(limit, excess.shape)[at])
    return Violation(condition, int(groups.label[home]), float(measured[at]), asked, classes, value)


def _too_small(requirement: Requirement, groups: _Groups) -> Violation | None:
    size = groups.size.astype(np.float64)
    return _find_worst("k", groups, -size, groups.size < requirement.k, size, requirement.k)


def _too_frequent(requirement: Requirement, groups: _Groups) -> Violation | None:
    c = as_fraction(requirement.c)
    left = groups.size[groups.home] - requirement.known
    broken = groups.count * c.denominator > c.numerator * left
    share = groups.count / np.maximum(left, 1)
    return _find_worst("c", groups, share, broken, share, requirement.c, of_group=True)


def _too_few(requirement: Requirement, groups: _Groups) -> Violation | None:
    distinct = np.bincount(groups.home).astype(np.float64)
    return _find_worst("l", groups, -distinct, distinct < (requirement.l or 0), distinct, requirement.l or 0)


def _too_uneven(requirement: Requirement, groups: _Groups) -> Violation | None:
    entropy: Float64 = np.bincount(groups.home, -groups.share * np.log(groups.share)).astype(np.float64)
    broken = entropy < np.log(requirement.l or 1) - TOLERANCE
    return _find_worst("l", groups, -entropy, broken, np.exp(entropy), requirement.l or 1)


def _too_topheavy(requirement: Requirement, groups: _Groups) -> Violation | None:
    ratio = as_fraction(requirement.recursive_c or 1.0)
    order = np.lexsort((-groups.count, groups.home))
    rank = np.arange(len(order)) - groups.start[groups.home[order]]
    counts, home = groups.count[order], groups.home[order]
    tail = np.zeros(len(groups.start), dtype=np.int64)
    np.add.at(tail, home, np.where(rank >= (requirement.l or 1) - 1, counts, 0))
    top = counts[groups.start]
    with np.errstate(divide="ignore"):
        measured = top / tail
    broken = top * ratio.denominator >= ratio.numerator * tail
    return _find_worst("l", groups, measured, broken, measured, requirement.recursive_c or 1.0)


def _too_far(requirement: Requirement, groups: _Groups, table: Float64) -> Violation | None:
    if requirement.ordered:
        distance = _ordered_distance(groups, table, requirement.line_up(len(table)))
    else:
        usual = table[groups.value]
        seen = np.bincount(groups.home, np.abs(groups.share - usual))
        distance = ((seen + 1.0 - np.bincount(groups.home, usual)) / 2.0).astype(np.float64)
    limit = requirement.t or 0.0
    return _find_worst("t", groups, distance, distance > limit + TOLERANCE, distance, limit)


def _ordered_distance(groups: _Groups, table: Float64, line: Int64) -> Float64:
    """float64[classes]: mean absolute difference of the cumulative shares, a few classes at a time to bound memory."""
    distance = np.empty(len(groups.start), dtype=np.float64)
    step = max(1, 1_000_000 // len(table))
    for begin in range(0, len(distance), step):
        inside = (groups.home >= begin) & (groups.home < begin + step)
        share = np.zeros((min(step, len(distance) - begin), len(table)))
        share[groups.home[inside] - begin, groups.value[inside]] = groups.share[inside]
        distance[begin : begin + step] = np.abs(np.cumsum((share - table)[:, line], axis=1)).sum(axis=1)
    return distance / max(1, len(table) - 1)


def _too_telling(requirement: Requirement, groups: _Groups, table: Float64) -> Violation | None:
    with np.errstate(divide="ignore"):
        gain = groups.share / table[groups.value] - 1.0
        cap = -np.log(table[groups.value]) if requirement.likeness == "enhanced" else np.full(len(gain), np.inf)
    limit = np.minimum(requirement.beta or 0.0, cap)
    broken = (gain > 0) & (gain > limit + TOLERANCE)
    return _find_worst("beta", groups, gain - limit, broken, gain, limit, of_group=True)
