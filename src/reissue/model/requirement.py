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
from math import inf
from typing import Annotated, Literal, get_args

import numpy as np

from reissue.arrays.types import Float64, Int64
from reissue.errors import SettingsError
from reissue.model.requirement_kernels import TOLERANCE, Limits, classes_meet, meets, slice_meets
from reissue.model.settings import FINITE, RowCount, Share, ValueCount, Within, as_fraction, check_settings

__all__ = [
    "TOLERANCE",
    "Distance",
    "Diversity",
    "Gain",
    "Likeness",
    "Limits",
    "Ratio",
    "Requirement",
    "classes_meet",
    "distribution",
    "meets",
    "slice_meets",
    "tighten_limits",
]

Diversity = Literal["distinct", "entropy", "recursive"]
Likeness = Literal["basic", "enhanced"]
Ratio = Annotated[float, Within("how often the most frequent value may outweigh the rare ones", above=0, most=FINITE)]
Distance = Annotated[float, Within("a distance between distributions", least=0, most=1)]
Gain = Annotated[float, Within("the largest relative gain of a value's share", above=0, most=FINITE)]


@dataclass(frozen=True, kw_only=True)
class Requirement:
    """What every class of one release must satisfy; a limit left at its default is not asked for.

    k: rows at least. c: share of one value at most, also among those that are left when any `known` rows are known.
    l: well represented values at least: `distinct` values; `entropy` at least log l; or `recursive` (c,l)-diversity,
       most frequent count < recursive_c times the sum of all counts from the l-th most frequent on
       (Machanavajjhala et al. 2006).
    t: distance of the class's value distribution from the whole table's, at most: earth mover's distance with all
       values equally far apart, or, if `ordered`, with values on a line (Li et al. 2007): in the `order` that is
       given in codes, or else in that of their codes.
    beta: relative gain (p - q) / q of any value's share p in the class over its share q in the table, at most;
       `enhanced` likeness also caps the gain at -ln q (Cao & Karras 2012).
    """

    k: RowCount = 1
    c: Share = 1.0
    l: ValueCount | None = None  # noqa: E741 (the literature's name)
    diversity: Diversity = "distinct"
    recursive_c: Ratio | None = None
    t: Distance | None = None
    ordered: bool = False
    order: tuple[int, ...] = ()
    beta: Gain | None = None
    likeness: Likeness = "basic"
    known: int = 0

    def __post_init__(self) -> None:
        check_settings(self)
        if not 0 <= self.known < self.k:
            raise SettingsError(f"known is {self.known}; it is a number of rows of a class, from 0 to k - 1.")
        if self.l is not None and self.diversity != "entropy" and self.l != int(self.l):
            raise SettingsError(f"l is {self.l}; with {self.diversity} diversity it must be a whole number.")
        if (self.diversity == "recursive") != (self.recursive_c is not None):
            raise SettingsError(
                f"recursive_c is {self.recursive_c} and diversity is {self.diversity!r}; "
                "recursive diversity needs recursive_c, and only it does."
            )
        if self.diversity == "recursive" and self.l is None:
            raise SettingsError("diversity is 'recursive' but l is not given; give l, for example l=3.")

    @property
    def needs_table(self) -> bool:
        """Whether the distribution of the whole table matters."""
        return self.t is not None or self.beta is not None

    def limits(self, counts: Int64) -> Limits:
        """The form kernels use. counts: int64[value_count], how often each value occurs in the whole table."""
        share, recursive = as_fraction(self.c), as_fraction(self.recursive_c or 1.0)
        kind = 0 if self.l is None else 1 + get_args(Diversity).index(self.diversity)
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
            int(self.known),
            self.line_up(len(counts)),
        )

    def line_up(self, values: int) -> Int64:
        """int64[values]: the values in their order; those that it does not name, as none should be, come last."""
        rest = [code for code in range(values) if code not in self.order] if self.order else range(values)
        return np.array([*(code for code in self.order if code < values), *rest], dtype=np.int64)

    def thresholds(self) -> dict[str, float]:
        """The limits that are asked for, by name."""
        asked = {"k": float(self.k), "c": float(self.c), "l": self.l, "t": self.t, "beta": self.beta}
        asked["recursive_c"] = self.recursive_c
        return {name: float(limit) for name, limit in asked.items() if limit is not None}

    def sentence(self) -> str:
        """ "k = 10, c = 0.5, entropy l = 3" """
        parts = [f"k = {self.k}"]
        if self.c < 1:
            parts.append(f"c = {self.c:.4g}" + (f" with {self.known} known" if self.known else ""))
        if self.l is not None:
            parts.append(f"{self.diversity} l = {self.l:g}")
        if self.recursive_c is not None:
            parts.append(f"recursive c = {self.recursive_c:g}")
        if self.t is not None:
            parts.append(f"t = {self.t:g}")
        if self.beta is not None:
            parts.append(f"beta = {self.beta:g}" + (" (enhanced)" if self.likeness == "enhanced" else ""))
        return ", ".join(parts)


def distribution(counts: Int64) -> Float64:
    """float64[value_count]: the share of each value."""
    return counts / max(1, int(counts.sum()))


def tighten_limits(limits: Limits, table: Float64) -> Limits:
    """Limits so strict that what meets them meets `limits` also with the shares of a table that has drifted.

    table: float64[value_count], the shares now; they may come to differ from those of the limits twice as far. Where t
    is ordered only t is spared, not beta.
    """
    if limits.ordered:
        apart = np.abs(np.cumsum((table - limits.table)[limits.order])).sum() / max(1, len(table) - 1)
        return limits._replace(t=limits.t - 2 * float(apart))
    return limits._replace(table=np.maximum(0.0, limits.table - 2 * np.maximum(0.0, limits.table - table)))
