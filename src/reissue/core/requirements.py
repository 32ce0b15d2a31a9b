"""What a class must satisfy: (k,c)-anonymity, l-diversity, t-closeness, beta-likeness.

Every condition here survives merging classes: the share of a value in a union is an average of its shares (c, beta),
entropy is concave and the distance to the table is convex (entropy l, t), distinct values and rows only add up (k,
distinct l), and for recursive (c,l) the largest count of a union is at most the sum of the largest counts while the
tails add up to at most the union's tail. So a class that fails can only fail when cut further, and a lattice node
that holds also holds for all its generalizations.

Limits are kept exactly where they are fractions: c and recursive_c are read as the nearest fraction with a denominator
up to a million (0.5 is 1/2, the float 0.333... is 1/3), and compared in integers. For classes of up to a million rows
that decides `count <= c * size` exactly, for larger ones within 1e-12. Entropy, t and beta are compared in floating
point with TOLERANCE to the publisher's favour.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf, isfinite
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from reissue.core.domain import Float64, Int32, Int64
from reissue.core.limits import TOLERANCE, Limits, classes_meet, meets, slice_meets
from reissue.errors import SettingsError

__all__ = [
    "TOLERANCE",
    "Diversity",
    "Likeness",
    "Limits",
    "Requirement",
    "Violation",
    "as_fraction",
    "classes_meet",
    "distribution",
    "meets",
    "slice_meets",
    "spared",
    "violations",
]

Diversity = Literal["distinct", "entropy", "recursive"]
Likeness = Literal["basic", "enhanced"]
_DIVERSITIES = ("distinct", "entropy", "recursive")


@dataclass(frozen=True, kw_only=True)
class Requirement:
    """What every class of one release must satisfy; a limit left at its default is not asked for.

    k: rows at least. c: share of one value at most.
    l: well represented values at least: `distinct` values; `entropy` at least log l; or `recursive` (c,l)-diversity,
       most frequent count < recursive_c times the sum of all counts from the l-th most frequent on
       (Machanavajjhala et al. 2006).
    t: distance of the class's value distribution from the whole table's, at most: earth mover's distance with all
       values equally far apart, or, if `ordered`, with values on a line in the order of their codes (Li et al. 2007).
    beta: relative gain (p - q) / q of any value's share p in the class over its share q in the table, at most;
       `enhanced` likeness also caps the gain at -ln q (Cao & Karras 2012).
    """

    k: int = 1
    c: float = 1.0
    l: float | None = None  # noqa: E741 (the literature's name)
    diversity: Diversity = "distinct"
    recursive_c: float | None = None
    t: float | None = None
    ordered: bool = False
    beta: float | None = None
    likeness: Likeness = "basic"

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int | np.integer) or self.k < 1:
            raise SettingsError(f"k is {self.k}; it must be a whole number of rows, at least 1.")
        if not 0 < self.c <= 1:
            raise SettingsError(f"c is {self.c}; it is the largest share of one value in a class: above 0, at most 1.")
        self._check_diversity()
        if self.t is not None and not 0 <= self.t <= 1:
            raise SettingsError(f"t is {self.t}; it is a distance between distributions, from 0 to 1.")
        if self.beta is not None and not (self.beta > 0 and isfinite(self.beta)):
            raise SettingsError(f"beta is {self.beta}; it is the largest relative gain of a value's share, above 0.")
        if self.likeness not in ("basic", "enhanced"):
            raise SettingsError(f"likeness is {self.likeness!r}; choose 'basic' or 'enhanced'.")

    def _check_diversity(self) -> None:
        if self.diversity not in _DIVERSITIES:
            raise SettingsError(f"diversity is {self.diversity!r}; choose 'distinct', 'entropy' or 'recursive'.")
        if self.l is not None and not (self.l >= 1 and isfinite(self.l)):
            raise SettingsError(f"l is {self.l}; it is a number of values, at least 1.")
        if self.l is not None and self.diversity != "entropy" and self.l != int(self.l):
            raise SettingsError(f"l is {self.l}; with {self.diversity} diversity it must be a whole number.")
        if (self.diversity == "recursive") != (self.recursive_c is not None):
            raise SettingsError(
                f"recursive_c is {self.recursive_c} and diversity is {self.diversity!r}; "
                "recursive diversity needs recursive_c, and only it does."
            )
        if self.diversity == "recursive" and self.l is None:
            raise SettingsError("diversity is 'recursive' but l is not given; give l, for example l=3.")
        if self.recursive_c is not None and not (self.recursive_c > 0 and isfinite(self.recursive_c)):
            raise SettingsError(f"recursive_c is {self.recursive_c}; it must be above 0.")

    @property
    def needs_table(self) -> bool:
        """Whether the distribution of the whole table matters."""
        return self.t is not None or self.beta is not None

    def limits(self, counts: Int64) -> Limits:
        """The form kernels use. counts: int64[value_count], how often each value occurs in the whole table."""
        share, recursive = as_fraction(self.c), as_fraction(self.recursive_c or 1.0)
        kind = 0 if self.l is None else 1 + _DIVERSITIES.index(self.diversity)
        return Limits(
            int(self.k),
            share.numerator,
            share.denominator,
            kind,
            float(self.l or 0.0),
            recursive.numerator,
            recursive.denominator,
            inf if self.t is None else float(self.t),
            self.ordered,
            inf if self.beta is None else float(self.beta),
            self.likeness == "enhanced",
            share < 1 or kind > 0 or self.needs_table,
            distribution(counts),
        )

    def thresholds(self) -> dict[str, float]:
        """The limits that are asked for, by name."""
        asked = {"k": float(self.k), "c": float(self.c), "l": self.l, "t": self.t, "beta": self.beta}
        asked["recursive_c"] = self.recursive_c
        return {name: float(limit) for name, limit in asked.items() if limit is not None}

    def sentence(self) -> str:
        """ "k = 10, c = 0.5, entropy l = 3" """
        parts = [f"k = {self.k}"]
        if self.c < 1:
            parts.append(f"c = {self.c:.4g}")
        if self.l is not None:
            parts.append(f"{self.diversity} l = {self.l:g}")
        if self.recursive_c is not None:
            parts.append(f"recursive c = {self.recursive_c:g}")
        if self.t is not None:
            parts.append(f"t = {self.t:g}")
        if self.beta is not None:
            parts.append(f"beta = {self.beta:g}" + (" (enhanced)" if self.likeness == "enhanced" else ""))
        return ", ".join(parts)


def as_fraction(limit: float) -> Fraction:
    """The nearest fraction with a denominator up to a million: what a person meant by 0.1 or by 1/3 in binary."""
    return Fraction(limit).limit_denominator(1_000_000)


def distribution(counts: Int64) -> Float64:
    """float64[value_count]: the share of each value."""
    return counts / max(1, int(counts.sum()))


def spared(limits: Limits, table: Float64) -> Limits:
    """Limits so strict that what meets them meets `limits` also with the shares of a table that has drifted.

    table: float64[value_count], the shares now; they may come to differ from those of the limits twice as far. Where t
    is ordered only t is spared, not beta.
    """
    if limits.ordered:
        apart = np.abs(np.cumsum(table - limits.table)).sum() / max(1, len(table) - 1)
        return limits._replace(t=limits.t - 2 * float(apart))
    return limits._replace(table=np.maximum(0.0, limits.table - 2 * np.maximum(0.0, limits.table - table)))


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


def _worst(
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
    return _worst("k", groups, -size, groups.size < requirement.k, size, requirement.k)


def _too_frequent(requirement: Requirement, groups: _Groups) -> Violation | None:
    c = as_fraction(requirement.c)
    broken = groups.count * c.denominator > c.numerator * groups.size[groups.home]
    return _worst("c", groups, groups.share, broken, groups.share, requirement.c, of_group=True)


def _too_few(requirement: Requirement, groups: _Groups) -> Violation | None:
    distinct = np.bincount(groups.home).astype(np.float64)
    return _worst("l", groups, -distinct, distinct < (requirement.l or 0), distinct, requirement.l or 0)


def _too_uneven(requirement: Requirement, groups: _Groups) -> Violation | None:
    entropy: Float64 = np.bincount(groups.home, -groups.share * np.log(groups.share)).astype(np.float64)
    broken = entropy < np.log(requirement.l or 1) - TOLERANCE
    return _worst("l", groups, -entropy, broken, np.exp(entropy), requirement.l or 1)


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
    return _worst("l", groups, measured, broken, measured, requirement.recursive_c or 1.0)


def _too_far(requirement: Requirement, groups: _Groups, table: Float64) -> Violation | None:
    if requirement.ordered:
        distance = _ordered_distance(groups, table)
    else:
        usual = table[groups.value]
        seen = np.bincount(groups.home, np.abs(groups.share - usual))
        distance = ((seen + 1.0 - np.bincount(groups.home, usual)) / 2.0).astype(np.float64)
    limit = requirement.t or 0.0
    return _worst("t", groups, distance, distance > limit + TOLERANCE, distance, limit)


def _ordered_distance(groups: _Groups, table: Float64) -> Float64:
    """float64[classes]: mean absolute difference of the cumulative shares, a few classes at a time to bound memory."""
    distance = np.empty(len(groups.start), dtype=np.float64)
    step = max(1, 1_000_000 // len(table))
    for begin in range(0, len(distance), step):
        inside = (groups.home >= begin) & (groups.home < begin + step)
        share = np.zeros((min(step, len(distance) - begin), len(table)))
        share[groups.home[inside] - begin, groups.value[inside]] = groups.share[inside]
        distance[begin : begin + step] = np.abs(np.cumsum(share - table, axis=1)).sum(axis=1)
    return distance / max(1, len(table) - 1)


def _too_telling(requirement: Requirement, groups: _Groups, table: Float64) -> Violation | None:
    with np.errstate(divide="ignore"):
        gain = groups.share / table[groups.value] - 1.0
        cap = -np.log(table[groups.value]) if requirement.likeness == "enhanced" else np.full(len(gain), np.inf)
    limit = np.minimum(requirement.beta or 0.0, cap)
    broken = (gain > 0) & (gain > limit + TOLERANCE)
    return _worst("beta", groups, gain - limit, broken, gain, limit, of_group=True)
