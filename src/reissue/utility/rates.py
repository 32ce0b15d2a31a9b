"""A statistician's measure: the rate of each value in each cell of two attributes, as published and as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reissue.arrays.types import Bool, Float64, Int32, Int64
from reissue.errors import InputError, did_you_mean
from reissue.model.domain import Domain
from reissue.model.observed import ObservedRelease
from reissue.model.release import Coded, Facts
from reissue.utility.queries import Queries, count_exactly, estimate

TIMES = " x "
MOST = 12
"""Cells of one attribute: more are joined to groups, numbers to ranges of 1, 2 or 5 times a power of ten."""
LEAST = 10
"""People with the value in a cell, for a rate to count: the relative error of a smaller one is chance."""


@dataclass(frozen=True, eq=False)
class RateErrors:
    """Rates of each value in each cell.

    attributes: the pair; cells: int32[cells, 2, 2] intervals of codes
    counted:    bool[cells, values] with enough people; actual, published: float64[cells, values]
    """

    attributes: tuple[int, ...]
    cells: Int32
    counted: Bool
    actual: Float64
    published: Float64

    @property
    def median(self) -> float:
        """The median over rates of |published - actual| / actual; NaN if no rate counts."""
        actual, published = self.actual[self.counted], self.published[self.counted]
        return float(np.median(np.abs(published - actual) / actual)) if len(actual) else float("nan")

    @property
    def correlation(self) -> float:
        """Of published and actual rates; NaN if fewer than two differ."""
        actual, published = self.actual[self.counted], self.published[self.counted]
        if len(actual) < 2 or np.ptp(actual) == 0 or np.ptp(published) == 0:
            return float("nan")
        return float(np.corrcoef(actual, published)[0, 1])


def find_pair(text: str, names: Sequence[str]) -> tuple[int, ...]:
    """The places of the attributes that `age x sex` means among these; an InputError for others."""
    pair = [part.strip() for part in text.split(TIMES)]
    for name in pair:
        if name not in names:
            raise InputError(
                f"[utility] rates: '{name}' in {text!r} is no quasi-identifier.{did_you_mean(name, names)} Write two "
                f'of {", ".join(names)} with an x between them, such as "{TIMES.join(names[:2])}".'
            )
    if len(pair) > 2 or len(set(pair)) < len(pair):
        raise InputError(f"[utility] rates: {text!r} must name one or two different quasi-identifiers.")
    return tuple(names.index(name) for name in pair)


def choose_pair(domains: Sequence[Domain]) -> tuple[int, ...]:
    """The numeric attribute with the most codes, and of the others the one with the fewest (age and sex, usually)."""
    sizes = np.array([domain.hi - domain.lo + 1 for domain in domains])
    numeric = [a for a, domain in enumerate(domains) if domain.tree is None]
    first = max(numeric or range(len(domains)), key=lambda a: (sizes[a] if numeric else -sizes[a], -a))
    others = [a for a in range(len(domains)) if a != first and sizes[a] > 1]
    return (first, min(others, key=lambda a: (sizes[a], a))) if others else (first,)


def rate_errors(
    release: Facts | ObservedRelease, snapshot: Coded, pair: tuple[int, ...] | None = None, *, least: int = LEAST
) -> RateErrors:
    """How far off the rates are that a reader computes. pair: attributes; chosen from the domains without it.
    least: people with the value in a cell, for its rate to count.

    A count query for every cell and value; as `query_errors` otherwise.
    """
    pair = choose_pair(snapshot.domains) if pair is None else pair
    cells = _make_cells(snapshot, pair)
    queries = _ask(snapshot, pair, cells)
    shape = len(cells), snapshot.value_count
    actual = count_exactly(queries, snapshot.codes, snapshot.values).reshape(shape)
    published = estimate(queries, release, snapshot.domains).reshape(shape)
    return RateErrors(pair, cells, actual >= least, _to_rates(actual), _to_rates(published))


def _to_rates(counts: Int64 | Float64) -> Float64:
    rates: Float64 = counts.astype(np.float64)
    rates /= np.maximum(rates.sum(axis=1, keepdims=True), 1e-9)
    return rates


def _make_cells(snapshot: Coded, pair: tuple[int, ...]) -> Int32:
    """int32[cells, attributes of the pair, 2]."""
    sides = [_divide(snapshot.domains[a]) for a in pair]
    grid = np.meshgrid(*(np.arange(len(side)) for side in sides), indexing="ij")
    return np.stack([side[place.reshape(-1)] for side, place in zip(sides, grid, strict=True)], axis=1)


def _divide(domain: Domain) -> Int32:
    """int32[cells, 2]: single codes, or ranges of round numbers, or the groups below the root."""
    size = domain.hi - domain.lo + 1
    if size <= MOST:
        low = np.arange(domain.lo, domain.hi + 1)
        return np.stack([low, low], axis=1).astype(np.int32)
    if domain.tree is not None:
        start, child = domain.tree.children
        nodes = child[start[0] : start[1]]
        return np.stack([domain.tree.lo[nodes], domain.tree.hi[nodes]], axis=1).astype(np.int32)
    steps = (times * 10**power for power in range(10) for times in (1, 2, 5))
    step = next(step for step in steps if size <= step * MOST)
    low = np.arange(domain.lo // step * step, domain.hi + 1, step)
    return np.stack([low, low + step - 1], axis=1).astype(np.int32)


def _ask(snapshot: Coded, pair: tuple[int, ...], cells: Int32) -> Queries:
    """A query for every cell and value, cell by cell."""
    values = np.tile(np.arange(snapshot.value_count, dtype=np.int32), len(cells))
    low, high = (
        np.tile(np.array([getattr(d, end) for d in snapshot.domains], dtype=np.int32), (len(values), 1))
        for end in ("lo", "hi")
    )
    each = np.repeat(cells, snapshot.value_count, axis=0)
    for i, a in enumerate(pair):
        low[:, a], high[:, a] = each[:, i, 0], each[:, i, 1]
    return Queries(low, high, values, values)
