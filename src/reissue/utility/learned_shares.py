"""Which rows of a class are likelier to have which of its values, as far as all classes together tell it.

A class says which values its rows have, not which row has which. But classes differ: where more people are older and
more have the flu, older people seem to have the flu more often. So the dependence of values on quasi-identifiers is
learned from the classes, and the values of each class are shared out among its rows accordingly: every row is still one
person, and every class still has the values that it tells. Attributes are taken to be independent given the value
(naive Bayes); one that says no more than chance is left out; and the learning ends after a few rounds: with more it
would follow its own mistakes (EM).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reissue.arrays.types import Bool, Float64, Int32, Int64

ROUNDS = 5
"""Of learning from what the rounds before shared out."""
FITTINGS, LAST_FITTINGS, CLOSE = 5, 30, 1e-3
"""Of rows to one person each and classes to their values, by turns; until no value of a class is off by more."""
MOST_ROWS = 50_000
"""Learning looks at about so many rows: some of the classes, with all of their rows."""
STRENGTH = 8.0
"""So many rows of the whole table are added to those of every value: rare values look like everybody."""
BINS = 16
"""An attribute is told apart in so many groups of neighbouring labels at most."""
FARTHEST = 30.0
"""A value is at most e^30 times likelier than another one."""


@dataclass(frozen=True, eq=False)
class RowShares:
    """Every row with each value of its class and how much it counts there; by row, then by value.

    row: int64[n]; value: int64[n]; weight: float64[n], adding up to 1 for every row
    """

    row: Int64
    value: Int64
    weight: Float64

    def count(self, asked: Bool) -> Float64:
        """float64[rows]: how much of the asked values each row counts. asked: bool[values]."""
        some = asked[self.value]
        rows = int(self.row[-1]) + 1 if len(self.row) else 0
        return np.bincount(self.row[some], self.weight[some], rows).astype(np.float64)


def share_evenly(classes: Int32, amounts: Float64) -> RowShares:
    """Every row with the shares of its class. classes: int32[rows]; amounts: float64[classes, values]."""
    home, value = np.nonzero(amounts)
    width = np.bincount(home, minlength=len(amounts))
    first = (np.cumsum(width) - width)[classes]
    length = width[classes]
    row = np.repeat(np.arange(len(classes)), length)
    within = np.arange(len(row)) - np.repeat(np.cumsum(length) - length, length)
    value = value[np.repeat(first, length) + within]
    return RowShares(row, value, amounts[classes[row], value])


def learn_shares(boxes: Int32, classes: Int32, amounts: Float64) -> RowShares:
    """The values of each class shared out among its rows as all classes suggest.

    boxes: int32[rows, attributes, 2]; classes: int32[rows]; amounts: float64[classes, values] how much of each value
    the rows of a class count, on average. O(rows * values of a class * attributes).
    """
    even = share_evenly(classes, amounts)
    bins = [_group_labels(boxes[:, a]) for a in range(boxes.shape[1])]
    some = classes % (1 + len(classes) // MOST_ROWS) == 0
    tables = _learn_tables([group[some] for group in bins], classes[some], amounts)
    tables = [
        np.concatenate([table, np.zeros((int(group.max(initial=-1)) + 1 - len(table), amounts.shape[1]))])
        for table, group in zip(tables, bins, strict=True)
    ]
    cell, wanted = _list_cells(even, classes, amounts)
    weight = _share_out(even.row, cell, wanted, _predict(tables, bins, even), LAST_FITTINGS)
    return RowShares(even.row, even.value, weight)


def _learn_tables(bins: list[Int64], classes: Int32, amounts: Float64) -> list[Float64]:
    """float64[groups, values] by attribute: logarithms of how much likelier people of a group have each value."""
    even, values = share_evenly(classes, amounts), amounts.shape[1]
    trust = [_find_trust(group, classes, even, values) for group in bins]
    cell, wanted = _list_cells(even, classes, amounts)
    weight, tables = even.weight, _fit_tables(bins, trust, even, even.weight, values)
    for _ in range(ROUNDS - 1):
        weight = _share_out(even.row, cell, wanted, _predict(tables, bins, even), FITTINGS)
        tables = _fit_tables(bins, trust, even, weight, values)
    return tables


def _group_labels(box: Int32) -> Int64:
    """int64[rows]: groups of labels beside each other, by their middles, with about as many rows each."""
    middles, place = np.unique(box.astype(np.int64).sum(axis=1), return_inverse=True)
    rows = np.bincount(place.reshape(-1))
    group = (np.cumsum(rows) - rows) * BINS // max(len(box), 1) if len(middles) > BINS else np.arange(len(middles))
    return group[place.reshape(-1)]


def _list_cells(even: RowShares, classes: Int32, amounts: Float64) -> tuple[Int64, Float64]:
    """(int64[n] the class and value of each entry among all there are, float64[cells] how much rows count there)."""
    numbers = np.cumsum(amounts.reshape(-1) > 0) - 1
    cell = numbers[classes[even.row].astype(np.int64) * amounts.shape[1] + even.value]
    return cell, np.bincount(cell, even.weight).astype(np.float64)


def _find_trust(group: Int64, classes: Int32, even: RowShares, values: int) -> float:
    """From 0, if an attribute says no more by the shares of classes than chance does, to 1, if twice as much.

    By chance a value has its share of the table in every class, but for who happened to be in it.
    """
    rows, groups = len(group), int(group.max(initial=0)) + 1
    own = np.bincount(group, minlength=groups)
    totals = np.bincount(even.value, even.weight, values)
    counts = np.bincount(group[even.row] * values + even.value, even.weight, groups * values).reshape(groups, values)
    key, both = np.unique(classes.astype(np.int64) * groups + group, return_counts=True)
    together = np.bincount(key % groups, both**2 / np.bincount(classes)[key // groups], groups)
    share = totals / max(rows, 1)
    seen, common = together > 0, share > 0
    off = (counts - own[:, None] * share)[seen][:, common] ** 2
    found = float((off / together[seen, None] / share[common]).sum())
    chance = max(0, int(seen.sum()) - 1) * max(0, int(common.sum()) - 1)
    return min(1.0, max(0.0, found / chance - 1.0)) if chance else 0.0


def _fit_tables(bins: list[Int64], trust: list[float], even: RowShares, weight: Float64, values: int) -> list[Float64]:
    """See `_learn_tables`. weight: float64[n] how much each row has of each of its values."""
    totals, tables = np.bincount(even.value, weight, values), []
    for group, by in zip(bins, trust, strict=True):
        own = np.bincount(group)
        marginal = (own + 1.0) / (len(group) + len(own))
        counts = np.bincount(group[even.row] * values + even.value, weight, len(own) * values).reshape(-1, values)
        table = by * np.log((counts + STRENGTH * marginal[:, None]) / (totals + STRENGTH))
        table[own == 0] = 0.0  # nothing is known
        tables.append(table)
    return tables


def _predict(tables: list[Float64], bins: list[Int64], even: RowShares) -> Float64:
    """float64[n]: how likely the value of each entry is for its row, but for factors of the row and of the value."""
    found = np.zeros(len(even.row))
    for table, group in zip(tables, bins, strict=True):
        found += table.reshape(-1)[group[even.row] * table.shape[1] + even.value]
    start = np.flatnonzero(np.diff(even.row, prepend=-1))
    best = np.maximum.reduceat(found, start) if len(start) else found
    likely: Float64 = np.exp(np.maximum(found - best[even.row], -FARTHEST))
    return likely


def _share_out(row: Int64, cell: Int64, wanted: Float64, likely: Float64, rounds: int) -> Float64:
    """float64[n]: what is likely, fitted so that every row is one person and every class has its values."""
    weight: Float64 = likely
    for _ in range(rounds):
        by = wanted / np.maximum(np.bincount(cell, weight, len(wanted)), 1e-300)
        weight = weight * by[cell]
        weight /= np.bincount(row, weight)[row]
        if np.abs(by - 1.0).max(initial=0.0) < CLOSE:
            break
    return weight
