"""What an attacker knows of how values depend on quasi-identifiers: learned, the publisher's own, or given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from reissue.arrays.naive_bayes import NaiveBayes
from reissue.arrays.types import Float64, Int32, Int64
from reissue.methods.beliefs.knowledge import check_placed, find_categories
from reissue.methods.beliefs.knowledge_files import read_values
from reissue.model.domain import Domain
from reissue.model.observed import Names

LEARN, PUBLISHER = "learn", "publisher"
MOST_BINS = 64
"""A quasi-identifier is told apart in so many bins at most."""


class Statistics(Protocol):
    """How likely each value is for people with given quasi-identifiers."""

    def priors(self, codes: Int32, domains: Sequence[Domain], value_count: int) -> Float64:
        """float64[people, value_count], adding up to 1. codes: int32[people, attributes]"""
        ...


@dataclass(frozen=True, eq=False)
class ValueShares:
    """A knowledge file: shares of the values by categories of people; the smallest category around a person counts.

    boxes: int32[categories, attributes, 2]; shares: float64[categories, values]
    """

    boxes: Int32
    shares: Float64

    @staticmethod
    def read(path: str, names: Names) -> ValueShares:
        return ValueShares(*read_values(path, names, drop=False))

    def priors(self, codes: Int32, domains: Sequence[Domain], value_count: int) -> Float64:
        category = find_categories(self.boxes, codes, domains)
        check_placed(int((category < 0).sum()))
        found = np.zeros((len(codes), value_count))
        found[:, : self.shares.shape[1]] = self.shares[category]
        return found


@dataclass(frozen=True, eq=False)
class Binning:
    """Codes of each quasi-identifier put into bins: quantiles of numbers, nodes of taxonomies.

    bins: for each attribute int32[codes], the bin of each code from its domain's lowest; widths: int64[attributes]
    """

    bins: tuple[Int32, ...]
    widths: Int64
    lows: tuple[int, ...]

    @staticmethod
    def of(codes: Int32, domains: Sequence[Domain]) -> Binning:
        found = [_bin_codes(codes[:, a], domain) for a, domain in enumerate(domains)]
        widths = np.array([int(bins.max(initial=0)) + 1 for bins in found], dtype=np.int64)
        return Binning(tuple(found), widths, tuple(domain.lo for domain in domains))

    def place(self, codes: Int32) -> Int32:
        """int32[people, attributes]: the bin of each code; codes beyond the domain are in the outermost bins."""
        placed = np.empty(codes.shape, dtype=np.int32)
        for a, (bins, low) in enumerate(zip(self.bins, self.lows, strict=True)):
            placed[:, a] = bins[np.clip(codes[:, a] - low, 0, len(bins) - 1)]
        return placed


def _bin_codes(column: Int32, domain: Domain) -> Int32:
    """int32[codes of the domain]: the bin of each code, at most MOST_BINS."""
    width = domain.hi - domain.lo + 1
    if width <= MOST_BINS:
        return np.arange(width, dtype=np.int32)
    if domain.tree is not None:
        for level in range(domain.tree.height + 1):
            nodes = domain.tree.at_level(level)
            kinds, bins = np.unique(nodes, return_inverse=True)
            if len(kinds) <= MOST_BINS:
                return bins.reshape(-1).astype(np.int32)
    rows = np.bincount(np.clip(column - domain.lo, 0, width - 1), minlength=width)
    rank = np.cumsum(rows) - rows
    bins = np.asarray(rank * MOST_BINS // max(1, int(rows.sum())), dtype=np.int64)
    return np.unique(np.minimum(bins, MOST_BINS - 1), return_inverse=True)[1].reshape(-1).astype(np.int32)


@dataclass(frozen=True, eq=False)
class FittedStatistics:
    """Naive Bayes: every quasi-identifier speaks for itself."""

    binning: Binning
    model: NaiveBayes

    @staticmethod
    def fit(binning: Binning, bins: Int32, weights: Float64) -> FittedStatistics:
        """bins: int32[people, attributes]; weights: float64[people, values], how likely each one has each value"""
        return FittedStatistics(binning, NaiveBayes.fit(bins, binning.widths, weights))

    @staticmethod
    def of_table(codes: Int32, values: Int32, domains: Sequence[Domain], value_count: int) -> FittedStatistics:
        """From people whose values are known: int32[people, attributes], int32[people]."""
        binning = Binning.of(codes, domains)
        return FittedStatistics.fit(binning, binning.place(codes), np.eye(value_count)[values])

    def priors(self, codes: Int32, domains: Sequence[Domain], value_count: int) -> Float64:
        return self.model.predict(self.binning.place(codes))
