"""Naive Bayes with soft labels: how likely each value is, given a few attributes that are taken to be independent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.types import Float64, Int32, Int64

STRENGTH = 20.0
"""So many rows of the whole table are added to those of every value: rare values look like everybody."""


@dataclass(frozen=True, eq=False)
class NaiveBayes:
    """Logarithms, ready to be added up.

    start:  int64[attributes]          where the bins of each attribute begin
    common: float64[values]            of each value's share
    tables: float64[all bins, values]  of each bin's share of the rows of a value
    """

    start: Int64
    common: Float64
    tables: Float64

    @staticmethod
    def fit(bins: Int32, widths: Int64, weights: Float64) -> NaiveBayes:
        """bins: int32[rows, attributes], each below its attribute's width; weights: float64[rows, values] soft labels.

        Bins and values that no row has change nothing for the others. O(rows * attributes * values).
        """
        start = np.append(0, np.cumsum(widths)[:-1]).astype(np.int64)
        counts = np.zeros((int(widths.sum()), weights.shape[1]))
        _count(bins, start, weights, counts)
        totals = weights.sum(axis=0)
        rows, seen = max(float(totals.sum()), 1.0), max(1, int((totals > 0.0).sum()))
        in_bin = counts.sum(axis=1)
        bins_seen = np.add.reduceat(in_bin > 0.0, start) if len(start) else start
        marginal = (in_bin + 1.0) / (rows + np.repeat(bins_seen, widths))
        tables = (counts + STRENGTH * marginal[:, None]) / (totals + STRENGTH)
        common = (totals + STRENGTH / seen) / (rows + STRENGTH)
        return NaiveBayes(start, np.log(common), np.log(tables))

    def predict(self, bins: Int32) -> Float64:
        """float64[rows, values]: how likely each value is for each row; adds up to 1. O(rows * attributes * values)."""
        found = np.empty((len(bins), len(self.common)))
        _predict(bins, self.start, self.common, self.tables, found)
        return found


@njit(cache=True)
def _count(bins, start, weights, counts):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    for row in range(bins.shape[0]):
        for a in range(bins.shape[1]):
            at = start[a] + bins[row, a]
            for s in range(weights.shape[1]):
                counts[at, s] += weights[row, s]


@njit(cache=True)
def _predict(bins, start, common, tables, found):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    values = len(common)
    for row in range(bins.shape[0]):
        for s in range(values):
            found[row, s] = common[s]
        for a in range(bins.shape[1]):
            at = start[a] + bins[row, a]
            for s in range(values):
                found[row, s] += tables[at, s]
        high, total = found[row].max(), 0.0
        for s in range(values):
            found[row, s] = np.exp(found[row, s] - high)
            total += found[row, s]
        for s in range(values):
            found[row, s] /= total
