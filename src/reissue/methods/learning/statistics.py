"""What an attacker knows of how values depend on quasi-identifiers: learned, the publisher's own, or given.

They are learned from one's own beliefs, reasoning over all classes at once, by naive Bayes with soft labels: attributes
are taken to be independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import ClassVar, Protocol, Self

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.factor_graph import FactorGraph, Propagation, restrict
from reissue.arrays.types import Float64, Int32, Int64
from reissue.errors import InputError, SettingsError
from reissue.methods.beliefs.knowledge import check_placed, find_categories
from reissue.methods.beliefs.knowledge_files import read_values
from reissue.methods.learning.class_graph import KnownPeople, SeriesGraph
from reissue.model.domain import Domain
from reissue.model.observed import Names, Observed

STRENGTH = 20.0
"""So many rows of the whole table are added to those of every value: rare values look like everybody."""
LEARN, PUBLISHER = "learn", "publisher"
MOST_BINS = 64
"""A quasi-identifier is told apart in so many bins at most."""
ALONE, TOGETHER = 2, 3
"""Rounds of learning: from single classes first, then from all classes at once. Naive Bayes is then refitted: with more
rounds it would follow its own mistakes, as it takes attributes to be independent."""
SWEEPS = 6
"""Sweeps over all classes in a round of learning; what classes said is kept from round to round."""
MOST_SWEEPS = 60
CLOSE = 1e-3
"""The last sweeps end when a person's beliefs change by less than this, on average."""


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


class WithStatistics:
    """`statistics` by name, and, once it is prepared, what they say."""

    statistics: str
    _given: ClassVar[Statistics | None] = None  # an instance that was prepared has its own

    def prepare(self, names: Names) -> Self:
        """The same with the file of statistics read, its labels matched to the series' codes."""
        if self.statistics in (LEARN, PUBLISHER) or self._given is not None:
            return self
        try:
            return self.inform(ValueShares.read(self.statistics, names))
        except InputError as error:
            raise SettingsError(f"statistics is {self.statistics!r}: {error}") from error

    def inform(self, given: Statistics) -> Self:
        """The same with statistics in codes: a model of one's own, for example."""
        prepared = copy(self)
        object.__setattr__(prepared, "_given", given)
        return prepared

    def find_priors(self, series: Observed, people: KnownPeople) -> Float64 | None:
        """float64[people, values]: what the statistics say of everybody; None: they are to be learned."""
        domains, count = series.domains, series.value_count
        if self._given is not None:
            return self._given.priors(people.codes, domains, count)
        if self.statistics == LEARN:
            return None
        if self.statistics == PUBLISHER:
            own = FittedStatistics.of_table(people.codes, people.values, domains, count)
            return own.priors(people.codes, domains, count)
        raise SettingsError(
            f"The statistics in {self.statistics} have not been read. An audit does that; in a program call `prepare` "
            "or `inform` first."
        )

    @property
    def source(self) -> str:
        """One sentence: where the statistics come from."""
        if self._given is not None:
            return "How values depend on quasi-identifiers was given as statistics."
        if self.statistics == PUBLISHER:
            return "How values depend on quasi-identifiers was taken from the publisher's own snapshots, a worst case."
        return "How values depend on quasi-identifiers was learned from the releases themselves."


def reason(graph: FactorGraph, priors: Float64) -> Float64:
    """float64[people, values]: beliefs by all classes at once, from priors of the same shape."""
    talk = Propagation(graph)
    talk.start(priors, afresh=True)
    talk.sweep(MOST_SWEEPS, CLOSE)
    return talk.beliefs


def learn(series: SeriesGraph, domains: Sequence[Domain]) -> Float64:
    """float64[people, values]: priors learned from the classes alone, by expectation maximization.

    The start is even over the values that a person's classes leave possible. O(rounds * sweeps * classes).
    """
    binning = Binning.of(series.people.codes, domains)
    bins = binning.place(series.people.codes)
    graph = series.reduced
    priors = _refit(binning, bins, restrict(np.ones(graph.possible.shape), graph.possible))
    for _ in range(ALONE):
        held = graph.add_up(graph.deal_alone(restrict(priors, graph.possible)))
        priors = _refit(binning, bins, restrict(held, graph.possible))
    talk = Propagation(graph)
    for turn in range(TOGETHER):
        talk.start(priors, afresh=turn == 0)
        talk.sweep(SWEEPS)
        priors = _refit(binning, bins, talk.beliefs)
    return priors


def refit(series: SeriesGraph, domains: Sequence[Domain], beliefs: Float64) -> Float64:
    """float64[people, values]: priors learned from beliefs about everybody."""
    binning = Binning.of(series.people.codes, domains)
    return _refit(binning, binning.place(series.people.codes), beliefs)


def _refit(binning: Binning, bins: Int32, beliefs: Float64) -> Float64:
    return FittedStatistics.fit(binning, bins, beliefs).model.predict(bins)
