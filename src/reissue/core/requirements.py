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
from typing import Literal, NamedTuple

import numpy as np
from numba import njit

from reissue.core.domain import Bool, Float64, Int32, Int64
from reissue.errors import SettingsError

TOLERANCE = 1e-9
"""Absolute slack of the entropy (nats), t and beta comparisons, against rounding noise only."""

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
        if isinstance(self.k, bool) or self.k != int(self.k) or self.k < 1:
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
            self.k,
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


class Limits(NamedTuple):
    """A Requirement in numbers for kernels; see Requirement for their meaning.

    diversity: 0 none, 1 distinct, 2 entropy, 3 recursive. by_value: False if only k is asked for, so that values need
    not be counted. table: float64[value_count], the value distribution of the whole table.
    """

    k: int
    share_numerator: int
    share_denominator: int
    diversity: int
    l: float  # noqa: E741
    recursive_numerator: int
    recursive_denominator: int
    t: float
    ordered: bool
    beta: float
    enhanced: bool
    by_value: bool
    table: Float64


@njit(cache=True)
def meets(counts: Int64, present: Int32, found: int, size: int, limits: Limits) -> bool:
    """Whether one class satisfies the limits. O(values present), O(values present * l) for recursive diversity.

    counts: int64[value_count] of the class; present: int32[value_count], its first `found` entries the values that
    occur; size: rows of the class. Ordered t needs all values: O(value_count).
    """
    if size < limits.k:
        return False
    if not limits.by_value:
        return True
    top = 0
    for i in range(found):
        top = max(top, counts[present[i]])
    if top * limits.share_denominator > limits.share_numerator * size:
        return False
    if limits.diversity == 1 and found < limits.l:
        return False
    if limits.diversity == 2 and not _entropy_holds(counts, present, found, size, limits.l):
        return False
    if limits.diversity == 3 and not _recursive_holds(counts, present, found, size, top, limits):
        return False
    return _close_to_table(counts, present, found, size, limits)


@njit(cache=True)
def _entropy_holds(counts: Int64, present: Int32, found: int, size: int, l: float) -> bool:  # noqa: E741
    total = 0.0
    for i in range(found):
        count = float(counts[present[i]])
        total += count * np.log(count)
    return bool(np.log(float(size)) - total / size >= np.log(l) - TOLERANCE)


@njit(cache=True)
def _recursive_holds(counts: Int64, present: Int32, found: int, size: int, top: int, limits: Limits) -> bool:
    head = int(limits.l) - 1  # the most frequent values that do not count towards the tail
    if found <= head:
        return False
    largest = np.zeros(head + 1, dtype=np.int64)  # descending; the last place is a sentinel
    for i in range(found):
        count = counts[present[i]]
        at = head
        while at > 0 and largest[at - 1] < count:
            largest[at] = largest[at - 1]
            at -= 1
        if at < head:
            largest[at] = count
    tail = size - largest[:head].sum()
    return bool(top * limits.recursive_denominator < limits.recursive_numerator * tail)


@njit(cache=True)
def _close_to_table(counts: Int64, present: Int32, found: int, size: int, limits: Limits) -> bool:
    if limits.ordered and limits.t < np.inf:
        moved, carried = 0.0, 0.0
        for value in range(len(limits.table)):
            carried += counts[value] / size - limits.table[value]
            moved += abs(carried)
        if moved > (limits.t + TOLERANCE) * max(1, len(limits.table) - 1):
            return False
    gained = 0.0  # equal distance: half the L1 distance is the sum of the gains
    for i in range(found):
        share, usual = counts[present[i]] / size, limits.table[present[i]]
        gain = share - usual
        if gain > 0.0:
            gained += gain
            if limits.beta < np.inf:
                limit = min(limits.beta, -np.log(usual)) if limits.enhanced and usual > 0.0 else limits.beta
                if gain > (limit + TOLERANCE) * usual:
                    return False
    return bool(limits.ordered or gained <= limits.t + TOLERANCE)


@njit(cache=True)
def slice_meets(values: Int32, start: int, stop: int, counts: Int64, present: Int32, limits: Limits) -> bool:
    """Whether the rows start..stop-1, taken as one class, satisfy the limits. O(stop - start).

    counts: int64[value_count], all zero before and after; present: int32[value_count], scratch.
    """
    size = stop - start
    if size < limits.k:
        return False
    if not limits.by_value:
        return True
    found = 0
    for row in range(start, stop):
        value = values[row]
        if counts[value] == 0:
            present[found] = value
            found += 1
        counts[value] += 1
    holds = meets(counts, present, found, size, limits)
    for i in range(found):
        counts[present[i]] = 0
    return holds


@njit(cache=True)
def _sorted_slices_meet(values: Int32, bounds: Int64, value_count: int, limits: Limits) -> Bool:
    counts, present = np.zeros(value_count, dtype=np.int64), np.empty(value_count, dtype=np.int32)
    holds = np.empty(len(bounds) - 1, dtype=np.bool_)
    for i in range(len(bounds) - 1):
        holds[i] = slice_meets(values, bounds[i], bounds[i + 1], counts, present, limits)
    return holds


def classes_meet(limits: Limits, classes: Int32, values: Int32, class_count: int) -> Bool:
    """bool[class_count]: which classes satisfy the limits; rows of class -1 are ignored, an empty class fails.

    O(n log n) for the sort by class.
    """
    order = np.argsort(classes, kind="stable")
    bounds = np.searchsorted(classes[order], np.arange(class_count + 1)).astype(np.int64)
    return np.asarray(_sorted_slices_meet(values[order], bounds, len(limits.table), limits))


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
