"""The count and the rate of a query, and how far off they may be.

Three things are unknown, and each is let vary by as much as an analyst who sees only the release must allow:

- *chance*: who of a box lies in the query, and who of a class has the value; binomial and hypergeometric variance.
  Where values were dealt, chance acts twice: on what is true and on what was dealt. Values of people who left a class
  count among those that those still there may have.
- *lean*: people may lean to one end of their boxes, all in the same way. The odds of lying in the query are off by a
  factor whose logarithm has the standard deviation `LEAN` * width^1/2, the width of a label as a share of its domain:
  how many people there are at two places differs the more, the farther these are apart, as the path of a random walk.
- *association*: inside a class, value and query may go together. Between classes they do as the release itself shows:
  its counts make an odds ratio, and inside classes, where people are more alike, the ratio is taken to be of the same
  order. Its logarithm has the standard deviation `floor` + `share` * that of the release (as squares). Where classes
  show all their values equally often, they differ less than people do, and who was left over where he lives, because
  his value is frequent there, shares a class with people from elsewhere: much more is allowed for.

People may be spread evenly over their boxes, or as other rows suggest: both are taken, half and half; BETWEEN of their
difference is one more unknown. None of these numbers depends on the data or on the form of the release.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reissue.arrays.types import Float64, Int32, Int64
from reissue.estimating.reading import ReleaseRows

ROUNDS = {"numbers": 1, "groups": 3}
"""Of learning where people are inside boxes. More would follow the overlaps of boxes rather than people."""
LEAN, BETWEEN = 0.48, 0.3
ASSOCIATION = {"blind": (0.2, 0.6), "even": (0.7, 1.95)}
"""(floor, share) by how classes came about; "even": all their values are shown equally often."""
Z = 1.96
LEAST = 0.25
"""Of a variance: a count is a whole number."""
COUNTERFEITS = 0.005
"""The share of rows that may stand for nobody, where a strategy may add such rows."""


class Spread:
    """How the people of one attribute are spread over its codes.

    intervals: int64[distinct, 2], ends included; of_row: int32[rows]
    """

    def __init__(self, boxes: Int32, low: int, high: int, rounds: int) -> None:
        """boxes: int32[rows, 2]. low, high: of the attribute; a missing number is just below. O(rows log rows)."""
        closed = np.clip(boxes.astype(np.int64), low, high)
        packed, self.of_row = np.unique(closed[:, 0] << 31 | (closed[:, 1] - closed[:, 0]), return_inverse=True)
        first = packed >> 31
        self.intervals: Int64 = np.stack([first, first + (packed & (2**31 - 1))], axis=1)
        self.width: Float64 = (self.intervals[:, 1] - self.intervals[:, 0]) / max(1, high - low)
        self._edges = np.unique(np.concatenate([self.intervals[:, 0], self.intervals[:, 1] + 1]))
        even = np.diff(self._edges).astype(np.float64)
        self._below = [np.concatenate([[0.0], np.cumsum(cells)]) for cells in (even, self._learn(even, rounds))]

    def _learn(self, cells: Float64, rounds: int) -> Float64:
        """float64[cells]: how many people are between two edges, as all boxes together suggest (EM)."""
        rows = np.bincount(self.of_row, minlength=len(self.intervals)).astype(np.float64)
        start = np.searchsorted(self._edges, self.intervals[:, 0])
        end = np.searchsorted(self._edges, self.intervals[:, 1] + 1)
        for _ in range(rounds):
            below = np.concatenate([[0.0], np.cumsum(cells)])
            each = rows / np.maximum(below[end] - below[start], 1e-300)
            step = np.zeros(len(self._edges))
            np.add.at(step, start, each)
            np.add.at(step, end, -each)
            cells = np.maximum(cells * np.cumsum(step)[:-1], 0.0)
        return cells

    def parts(self, asked: Sequence[tuple[int, int]]) -> tuple[Float64, Float64]:
        """float64[rows] twice: the part of each box in the asked intervals, spread evenly and as learned."""
        found = []
        for below in self._below:
            low, high = self.intervals[:, 0], self.intervals[:, 1] + 1
            whole = self._at(below, high) - self._at(below, low)
            inside = np.zeros(len(whole))
            for first, last in asked:
                one, other = np.maximum(low, first), np.minimum(high, last + 1)
                inside += np.where(other > one, self._at(below, other) - self._at(below, one), 0.0)
            covered = sum((np.clip(np.minimum(high, b + 1) - np.maximum(low, a), 0, None) for a, b in asked), 0 * low)
            share = np.clip(inside / np.maximum(whole, 1e-300), 0.0, 1.0)
            share = np.where(covered >= high - low, 1.0, np.where(covered == 0, 0.0, share))
            found.append(share[self.of_row])
        return found[0], found[1]

    def _at(self, below: Float64, code: Int64) -> Float64:
        return np.interp(code, self._edges, below)


@dataclass(frozen=True)
class Interval:
    """A number, and between which two it is with 95%."""

    middle: float
    low: float
    high: float


class WeighedQuery:
    """A query against the rows: float64[rows] parts of boxes inside, by attribute; weights of the asked values."""

    def __init__(
        self,
        rows: ReleaseRows,
        spreads: Mapping[int, Spread],
        where: Mapping[int, Sequence[tuple[int, int]]],
        values: Sequence[int] | None,
    ) -> None:
        self.rows, self.some_values = rows, values is not None
        both = {a: spreads[a].parts(asked) for a, asked in where.items()}
        self.even, self.learned = ([parts[i] for parts in both.values()] for i in (0, 1))
        self.parts = [(one + other) / 2 for one, other in both.values()]
        self.lean = [LEAN * spreads[a].width[spreads[a].of_row] ** 0.5 for a in where]
        self.everybody = np.ones(len(rows))  # how many rows there are is told exactly, whatever the totals
        self.wanted = self.everybody if values is None else rows.weigh(values)
        self.inside = multiply(self.parts, len(rows))
        self.count, self.base = float(self.inside @ self.wanted), float(self.inside @ self.everybody)

    def answer(self) -> tuple[Interval, Interval, Interval]:
        """(the count, the count whatever the value, the rate)."""
        chance = self._chance()
        moved = [*self._leaning(), *self._between(), *self._associated()]
        count = _around(self.count, [(a, b) for (a, _), (b, _) in moved], chance[0])
        base = _around(self.base, [(a, b) for (_, a), (_, b) in moved], chance[1])
        rate = self.count / self.base if self.base > 0 else 0.0
        rates = [(_divide(*low), _divide(*high)) for low, high in moved]
        share = _around(rate, rates, chance[2])
        possible = float(np.count_nonzero(self.inside))
        shown = self.rows.style == "generalized"  # a row's value is its own
        most = float(self.wanted[self.inside > 0].sum()) if shown else possible
        return _clip(count, most), _clip(base, possible), _clip(share, 1.0)

    def _chance(self) -> tuple[float, float, float]:
        """Variances of count, base and rate."""
        spread = self.inside * (1.0 - self.inside)
        count, base = float(spread @ self.wanted), float(spread @ self.everybody)
        rate = self.count / self.base if self.base > 0 else 0.0
        of_rate = float(spread @ (self.wanted - rate) ** 2)
        if self.rows.style != "generalized" and self.some_values:
            inside, share, tokens = self._by_class()
            dealt = (inside * share * (1 - share) * np.maximum(tokens - inside, 0) / np.maximum(tokens - 1, 1)).sum()
            dealt = float(dealt) * (2.0 if self.rows.style == "flat" else 1.0)
            count, of_rate = count + dealt, of_rate + dealt
            off = self.rows.noise / max(1.0, float(self.wanted.sum())) ** 2 + self.rows.off**2
            of_totals = off * self.count**2
            count, of_rate = count + of_totals, of_rate + of_totals
        fakes = 0.0 if self.rows.style in ("told", "flat") else COUNTERFEITS**2
        count, base = count + fakes * self.count**2, base + fakes * self.base**2
        least = LEAST * bool(spread.any())
        count += LEAST if self.some_values else least
        return count, base + least, (of_rate + LEAST) / max(self.base, 1.0) ** 2

    def _by_class(self) -> tuple[Float64, Float64, Float64]:
        """float64[classes]: people inside the query, share of the asked values, tokens."""
        rows = np.bincount(self.rows.classes).astype(np.float64)
        inside: Float64 = np.bincount(self.rows.classes, self.inside).astype(np.float64)
        share = np.clip(np.bincount(self.rows.classes, self.wanted) / rows, 0.0, 1.0)
        return inside, share, np.maximum(self.rows.tokens, rows)

    def _leaning(self) -> list[tuple[tuple[float, float], tuple[float, float]]]:
        """Count and base if people lean away from the query, or to it, in one attribute after the other."""
        return [
            (self._totals(self._with(i, lean(part, -Z * by))), self._totals(self._with(i, lean(part, Z * by))))
            for i, (part, by) in enumerate(zip(self.parts, self.lean, strict=True))
        ]

    def _between(self) -> list[tuple[tuple[float, float], tuple[float, float]]]:
        one, other = (self._totals(multiply(parts, len(self.rows))) for parts in (self.even, self.learned))
        off = Z * BETWEEN * abs(one[0] - other[0]), Z * BETWEEN * abs(one[1] - other[1])
        return [((self.count - off[0], self.base - off[1]), (self.count + off[0], self.base + off[1]))]

    def _associated(self) -> list[tuple[tuple[float, float], tuple[float, float]]]:
        """Count and base if the asked values are the rarer, or the commoner, the more of a class is in the query."""
        if not self.some_values or not self.parts:
            return []
        floor, share = ASSOCIATION["even" if self.rows.even else "blind"]
        by = Z * float(np.hypot(floor, share * self._log_odds()))
        if (
            self.rows.style == "generalized"
        ):  # a row's value is its own, but whether the row is in the query is not known
            counts = [
                [float(self._with(i, lean(part, sign * by)) @ self.wanted) for sign in (-1, 1)]
                for i, part in enumerate(self.parts)
            ]
        else:
            inside, having, _ = self._by_class()
            people, alone = np.bincount(self.rows.classes).astype(np.float64), inside * having
            met = (meet(inside, having * people, people, np.exp(sign * by)) for sign in (-1, 1))
            counts = [[self.count + float((one - alone).sum()) for one in met]]
        return [((low, self.base), (high, self.base)) for low, high in counts]

    def _log_odds(self) -> float:
        """How strongly the asked values go with the rest of the query over all classes, as the release shows it."""
        having = float(self.wanted.sum())
        cells = (
            self.count,
            self.base - self.count,
            having - self.count,
            len(self.rows) - self.base - having + self.count,
        )
        both, inside, outside, neither = (max(0.0, cell) + 0.5 for cell in cells)
        return float(np.log(both * neither / (inside * outside)))

    def _with(self, place: int, part: Float64) -> Float64:
        return multiply([part if i == place else own for i, own in enumerate(self.parts)], len(self.rows))

    def _totals(self, inside: Float64) -> tuple[float, float]:
        return float(inside @ self.wanted), float(inside @ self.everybody)


def lean(part: Float64, by: Float64 | float) -> Float64:
    """The part with its odds multiplied by e^by; nothing and everything stay what they are."""
    odds = np.exp(by)
    return part * odds / (1.0 - part + part * odds)


def meet(one: Float64, other: Float64, whole: Float64, odds: float) -> Float64:
    """float64[n]: how many are in both sets of a class, given their sizes and the odds ratio (Cornfield's root)."""
    if abs(odds - 1.0) < 1e-9:
        return one * other / whole
    a = odds - 1.0
    b = -(odds * (one + other) + whole - one - other)
    return (-b - np.sqrt(np.maximum(b * b - 4.0 * a * odds * one * other, 0.0))) / (2.0 * a)


def multiply(parts: Sequence[Float64], rows: int) -> Float64:
    product = np.ones(rows)
    for part in parts:
        product = product * part
    return product


def _divide(count: float, base: float) -> float:
    return count / base if base > 0 else 0.0


def _around(middle: float, moved: Sequence[tuple[float, float]], variance: float) -> Interval:
    """What chance and every unknown may add up to: they are independent, so their squares are summed."""
    below = sum(min(0.0, low - middle, high - middle) ** 2 for low, high in moved)
    above = sum(max(0.0, low - middle, high - middle) ** 2 for low, high in moved)
    chance = Z**2 * variance
    return Interval(middle, middle - (below + chance) ** 0.5, middle + (above + chance) ** 0.5)


def _clip(found: Interval, most: float) -> Interval:
    return Interval(found.middle, max(0.0, found.low), max(found.middle, min(most, found.high)))
