"""The count and the rate of a query, and how far off they may be.

Five things are unknown, and each is let vary by as much as an analyst who sees only the release must allow:

- *chance*: who of a box lies in the query, and who of a class has the value; binomial and hypergeometric variance.
  Where values were dealt, chance acts twice: on what is true and on what was dealt. Values of people who left a class
  count among those that those still there may have. The variance is that of the true number, so that the interval is
  longer above than below (`Chance`).
- *lean*: people may lean to one end of their boxes, all in the same way. The odds of lying in the query are off by a
  factor whose logarithm has the standard deviation `LEAN` * width^1/2, the width of a label as a share of its domain:
  how many people there are at two places differs the more, the farther these are apart, as the path of a random walk.
  Who is at an end of a narrow box does not lean.
- *association*: value and query may go together where the release hides it. Where rows show their values, within a
  box: the odds of a value change along an attribute, by `TREND` * width (less along codes that are in no order). Where
  classes show them, within a class: the logarithm of the odds ratio has the variance `floor`^2 + `share`^2 * that of
  the release between its classes (less what chance adds to it). The less of the variance lies inside classes, the
  stronger association may be there: what goes together may do so as much within as between. Where classes show all of
  their values equally often, people who live together and have one value cannot share a class; some share one with
  people from elsewhere, the more of them the more of all people have a value of the class (`CROWDED`).
  Several values go with the query each in its own way, which is averaged.
- *totals*: with noise, or expected ones, which are off as much as they show leaving to go with the value.
- *nobody*: rows that were added because values did not come out even are of the order of the root of all rows.

People may be spread evenly over groups, or as other rows suggest: both are taken, half and half; in narrow boxes, whose
ends are people, as these suggest. BETWEEN of the difference is one more unknown. None of these numbers depends on the
data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reissue.arrays.types import Float64
from reissue.estimating.reading import ReleaseRows
from reissue.estimating.spreads import Spread

LEAN, BETWEEN = 0.6, 0.3
TREND = {"numbers": 1.6, "groups": 1.0}
"""Of one value; by the kind of attribute."""
ASSOCIATION = {"learned": (0.2, 0.27), "mixed": (0.58, 0.82)}
"""(floor, share): "mixed" where classes are mixed from everywhere, so that nothing could be learned from them."""
CROWDED = 6.0
LEAST_HIDDEN = 0.1
"""The least part of the variance that is taken to lie inside classes."""
Z = 1.96
LEAST, SLIGHT = 0.25, 1e-6
"""Of a variance, if there is any: a count is a whole number."""
COUNTERFEITS = 0.7
"""Times the square root of the rows: how many stand for nobody, of strategies that add such rows."""
Moved = tuple[tuple[float, float], tuple[float, float]]
"""(count, base) with an unknown low, and with it high."""


@dataclass(frozen=True)
class Interval:
    """A number, and between which two it is with 95%."""

    middle: float
    low: float
    high: float


@dataclass(frozen=True)
class Chance:
    """How far chance may have moved a number from the true one. The larger the true number, the larger its variance,
    so that more may be missed above than below (as in Wilson's interval of a share).

    growing: the part of the variance that grows with the true number, at the number that was found
    fixed:   the part that does not
    unseen:  the variance per true number where nothing was found, though there may be something
    most:    the largest number there can be
    """

    growing: float
    fixed: float
    unseen: float
    most: float = np.inf

    def find_bounds(self, middle: float) -> tuple[float, float]:
        """The smallest and the largest true number that are not too far from the one that was found."""
        found = 0 < middle < self.most
        slope = min(1.0, self.growing / (middle * (1.0 - middle / self.most))) if found else self.unseen
        by = Z**2 * slope
        square, half = 1.0 + by / self.most, middle + by / 2
        root = max(0.0, half**2 - square * (middle**2 - Z**2 * self.fixed)) ** 0.5
        return min(middle, (half - root) / square), max(middle, (half + root) / square)


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
        halves = [0.0 if spreads[a].narrow else 0.5 for a in where]
        self.parts = [by * one + (1 - by) * other for by, (one, other) in zip(halves, both.values(), strict=True)]
        self.lean = [LEAN * spreads[a].width[spreads[a].of_row] ** 0.5 * (1.0 - spreads[a].at_ends) for a in where]
        self.trends = [TREND[spreads[a].kind] * spreads[a].width[spreads[a].of_row] for a in where]
        self.everybody = np.ones(len(rows))  # how many rows there are is told exactly, whatever the totals
        self.values = np.isin(np.arange(len(rows.amounts)), np.arange(len(rows.amounts)) if values is None else values)
        self.wanted = self.everybody if values is None else rows.weigh(values)
        self.inside = multiply(self.parts, len(rows))
        self.count, self.base = float(self.inside @ self.wanted), float(self.inside @ self.everybody)

    def answer(self) -> tuple[Interval, Interval, Interval]:
        """(the count, the count whatever the value, the rate)."""
        moved = [*self._leaning(), *self._between(), *self._associated(), *self._amounting(), *self._nobody()]
        rate = _divide(self.count, self.base)
        rates = [(_divide(*low), _divide(*high)) for low, high in moved]
        count, base, share = self._chance()
        possible = float(np.count_nonzero(self.inside))
        shown = self.rows.style == "generalized"  # a row's value is its own
        most = float(self.wanted[self.inside > 0].sum()) if shown else possible
        return (
            _clip(_around(self.count, [(a, b) for (a, _), (b, _) in moved], count), most),
            _clip(_around(self.base, [(a, b) for (_, a), (_, b) in moved], base), possible),
            _clip(_around(rate, rates, share), 1.0),
        )

    def _chance(self) -> tuple[Chance, Chance, Chance]:
        """Of count, base and rate."""
        spread = self.inside * (1.0 - self.inside)
        count, base = float(spread @ self.wanted), float(spread @ self.everybody)
        rate = _divide(self.count, self.base)
        of_rate = float(spread @ (self.wanted - rate) ** 2)
        dealt, unseen, rounded = 0.0, 0.0, self.rows.shares is not None and self.some_values
        if self.rows.style != "generalized" and self.some_values:
            inside, share, tokens = self._by_class()
            known = inside * (
                0.5 if self.rows.style == "flat" else 1.0
            )  # neighbours may be of classes that reach beyond
            hidden = inside * share * (1 - share) * np.maximum(tokens - known, 0) / np.maximum(tokens - 1, 1)
            count, of_rate = count + float(hidden.sum()), of_rate + float(hidden.sum())
            if self.rows.style == "flat":
                dealt, unseen = float(hidden.sum()), float(self.base > 0)
        people = max(self.base, 1.0)
        return (
            Chance(count, dealt + LEAST * (count > SLIGHT or rounded), unseen),
            Chance(base, LEAST * (base > SLIGHT), 0.0),
            Chance(
                of_rate / people**2, (dealt + LEAST * (of_rate > SLIGHT or rounded)) / people**2, unseen / people, 1.0
            ),
        )

    def _by_class(self) -> tuple[Float64, Float64, Float64]:
        """float64[classes]: people inside the query, share of the asked values, tokens."""
        rows = np.bincount(self.rows.classes).astype(np.float64)
        inside: Float64 = np.bincount(self.rows.classes, self.inside).astype(np.float64)
        share = np.clip(np.bincount(self.rows.classes, self.wanted) / rows, 0.0, 1.0)
        if self.rows.style == "flat":  # others than were dealt here may be meant
            share = (share * rows + float(self.wanted.sum()) / len(self.rows)) / (rows + 1.0)
        return inside, share, np.maximum(self.rows.tokens, rows)

    def _leaning(self) -> list[Moved]:
        """Count and base if people lean away from the query, or to it, in one attribute after the other."""
        return [
            (self._totals(self._with(i, lean(part, -Z * by))), self._totals(self._with(i, lean(part, Z * by))))
            for i, (part, by) in enumerate(zip(self.parts, self.lean, strict=True))
        ]

    def _between(self) -> list[Moved]:
        one, other = (self._totals(multiply(parts, len(self.rows))) for parts in (self.even, self.learned))
        off = Z * BETWEEN * abs(one[0] - other[0]), Z * BETWEEN * abs(one[1] - other[1])
        return [((self.count - off[0], self.base - off[1]), (self.count + off[0], self.base + off[1]))]

    def _associated(self) -> list[Moved]:
        """Count and base if the asked values are the rarer, or the commoner, the more of a class is in the query."""
        if not self.some_values or not self.parts:
            return []
        people = np.bincount(self.rows.classes).astype(np.float64)
        few = people / np.maximum(people - 1.0, 1.0)  # of few people each is a larger part of the others than of many
        if self.rows.style == "generalized":  # a row's value is its own, but whether it is in the query is not known
            by = Z * self._mixing() ** 0.5 * few[self.rows.classes]
            counts = [
                [float(self._with(i, lean(part, sign * by * trend)) @ self.wanted) for sign in (-1, 1)]
                for i, (part, trend) in enumerate(zip(self.parts, self.trends, strict=True))
            ]
        else:
            inside, having, _ = self._by_class()
            alone = inside * having
            hidden = float((alone * (1 - having) * (people - inside) / people * few).sum())
            by = Z * self._find_association(hidden)
            met = (meet(inside, having * people, people, np.exp(sign * by)) for sign in (-1, 1))
            counts = [[self.count + float(((one - alone) * few).sum()) for one in met]]
        return [((low, self.base), (high, self.base)) for low, high in counts]

    def _find_association(self, hidden: float) -> float:
        """Standard deviation of the logarithm of the odds ratio of value and query inside classes.

        hidden: the variance of their number that lies inside classes.
        """
        floor, share = ASSOCIATION["mixed" if self.rows.mixed else "learned"]
        rows, having = float(len(self.rows)), float(self.wanted.sum()) / len(self.rows)
        whole = self.base * (1.0 - self.base / rows) * having * (1.0 - having)
        part = min(1.0, max(LEAST_HIDDEN, hidden / whole)) if whole > 0 else 1.0
        crowded = 1.0 + CROWDED * self.rows.crowding**2
        squared = crowded * (floor**2 * self._mixing() + share**2 * self._squared_odds()) / part
        return float(np.sqrt(squared))

    def _mixing(self) -> float:
        """What is left of a variance of values where several are asked for together, or several are not.

        Each value goes with the query in its own way, so that of several the ways are averaged.
        """
        amounts = self.rows.value_amounts
        return _find_concentration(amounts[self.values]) + _find_concentration(amounts[~self.values])

    def _amounting(self) -> list[Moved]:
        """Count and base if there are fewer or more people with the asked values than the totals say."""
        if not self.some_values:
            return []
        expected = self.rows.off**2 * _find_concentration(self.rows.value_amounts[self.values])
        off = Z * self.count * (self.rows.noise / max(1.0, float(self.wanted.sum())) ** 2 + expected) ** 0.5
        return [((self.count - off, self.base), (self.count + off, self.base))]

    def _nobody(self) -> list[Moved]:
        """Count and base if some rows stand for nobody."""
        real = 1.0 - min(1.0, Z * COUNTERFEITS / len(self.rows) ** 0.5) if self.rows.counterfeits else 1.0
        return [((self.count * real, self.base * real), (self.count, self.base))]

    def _squared_odds(self) -> float:
        """How strongly the asked values go with the rest of the query over all classes, as the release shows it: the
        square of the logarithm of an odds ratio, but for what chance adds to it."""
        having = float(self.wanted.sum())
        cells = (
            self.count,
            self.base - self.count,
            having - self.count,
            len(self.rows) - self.base - having + self.count,
        )
        both, inside, outside, neither = (max(0.0, cell) + 0.5 for cell in cells)
        chance = 1 / both + 1 / inside + 1 / outside + 1 / neither
        return max(0.0, float(np.log(both * neither / (inside * outside))) ** 2 - chance)

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


def _find_concentration(amounts: Float64) -> float:
    """1 if all is of one value, 1/n if n values have as much each."""
    return float((amounts**2).sum()) / max(float(amounts.sum()), 1e-9) ** 2


def _divide(count: float, base: float) -> float:
    return count / base if base > 0 else 0.0


def _around(middle: float, moved: Sequence[tuple[float, float]], chance: Chance) -> Interval:
    """What chance and every unknown may add up to: they are independent, so their squares are summed."""
    least, most = chance.find_bounds(middle)
    below = sum(min(0.0, low - middle, high - middle) ** 2 for low, high in moved)
    above = sum(max(0.0, low - middle, high - middle) ** 2 for low, high in moved)
    return Interval(
        middle, middle - (below + (middle - least) ** 2) ** 0.5, middle + (above + (most - middle) ** 2) ** 0.5
    )


def _clip(found: Interval, most: float) -> Interval:
    return Interval(found.middle, max(0.0, found.low), max(found.middle, min(most, found.high)))
