"""A statistician's measure: the rate of each value in each cell of two attributes, as published and as it is.

The reader who is measured uses all that a release says. Of every class it is known how many of its rows are in each
cell (parts of boxes), and how often it shows each value; where the release has totals, values are adjusted to them.
Boxes of most strategies are as narrow as their rows: somebody is at each end of a range, and the others lie evenly in
it. Taken by itself a class says no more than that values are as frequent in one of its cells as in another. All classes
together say more: values are dealt to cells as rates suggest, which are those of all classes (iterative fitting inside,
a few rounds of expectation and maximization outside).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, vstack

from reissue.arrays.compiled import njit
from reissue.arrays.types import Bool, Float64, Int32, Int64
from reissue.errors import InputError, did_you_mean
from reissue.model.domain import MOST_RANGES, Domain
from reissue.model.observed import ObservedRelease
from reissue.model.release import Coded, Facts
from reissue.utility.measure import as_release, clip_boxes, exact_rows
from reissue.utility.queries import Queries, count_exactly

TIMES = " x "
LEAST = 10
"""People with the value in a cell, for a rate to count: the relative error of a smaller one is chance."""
ROUNDS, PRIOR = 2, 2.0
"""Rounds in which classes learn from each other, as more would follow chance; people of whom nothing is learned."""
FITTINGS, RAKINGS, CHUNK = 8, 30, 20_000


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

    O(rows * cells), and per round and class its cells times its values.
    """
    pair = choose_pair(snapshot.domains) if pair is None else pair
    cells = make_cells(snapshot.domains, pair)
    narrow = tuple(are_narrow([labels]) for labels in list_labels(release, snapshot.domains, pair))
    margins = CellMargins.of(release, snapshot, pair, cells, narrow)
    counts = margins.deal(None)
    for _ in range(ROUNDS):
        counts = margins.deal(counts.learn())
    return counts.compare(pair, cells, least)


@dataclass(frozen=True, eq=False)
class RateCounts:
    """What is counted for rates: of a release, or of a part of it that shares no class with other parts, to be added.

    actual, expected: float64[cells, values] people there with each value, as it is and as a reader expects
    people: float64[cells] and values: float64[values]: rows as the release shows them
    """

    actual: Int64
    expected: Float64
    people: Float64
    values: Float64

    def __add__(self, other: RateCounts) -> RateCounts:
        return RateCounts(
            self.actual + other.actual,
            self.expected + other.expected,
            self.people + other.people,
            self.values + other.values,
        )

    def learn(self) -> Float64:
        """float64[cells, values]: the rates by which values are dealt in the next round."""
        overall = np.maximum(self.values, 1e-9)
        overall = overall / overall.sum()
        return np.asarray((self.expected + PRIOR * overall) / (self.people[:, None] + PRIOR))

    def compare(self, pair: tuple[int, ...], cells: Int32, least: int = LEAST) -> RateErrors:
        return RateErrors(pair, cells, self.actual >= least, _to_rates(self.actual), _to_rates(self.expected))


@dataclass(frozen=True, eq=False)
class CellMargins:
    """Of every class how many of its rows are in which cell and how many show which value; and how it really is.

    places: [classes, cells]; values: [classes, values]; actual: int64[cells, values]
    """

    places: csr_array
    values: csr_array
    actual: Int64

    @staticmethod
    def of(
        release: Facts | ObservedRelease, snapshot: Coded, pair: tuple[int, ...], cells: Int32, narrow: tuple[bool, ...]
    ) -> CellMargins:
        """narrow: for each attribute of the pair whether somebody is at each end of its ranges, see `are_narrow`."""
        queries, shape = _ask(snapshot, pair, cells), (len(cells), snapshot.value_count)
        actual = count_exactly(queries, snapshot.codes, snapshot.values).reshape(shape)
        if len(release.classes) == 0:
            return CellMargins(csr_array((0, shape[0])), csr_array((0, shape[1])), actual)
        return CellMargins(*_list_margins(release, snapshot, pair, cells, narrow), actual)

    def deal(self, rates: Float64 | None) -> RateCounts:
        """Values dealt to cells near to these rates; without rates, in each class as often here as there."""
        near = np.ones(self.actual.shape) if rates is None else rates
        sides = [(side.indptr, side.indices, side.data) for side in (self.places, self.values)]
        dealt = _deal_to_cells(*sides[0], *sides[1], near)
        people, values = (np.asarray(side.sum(axis=0), dtype=np.float64) for side in (self.places, self.values))
        return RateCounts(self.actual, dealt, people, values)


def list_labels(
    release: Facts | ObservedRelease, domains: Sequence[Domain], pair: tuple[int, ...]
) -> list[Int32 | None]:
    """Of each attribute of a pair int32[labels, 2], the different intervals of codes that boxes show, ascending; None
    where some of them overlap. Of a hierarchy, whose labels are groups, nothing. O(classes log classes)."""
    found: list[Int32 | None] = []
    for a in pair:
        some = release.boxes[:0, a] if domains[a].tree is not None or release.anatomized else release.boxes[:, a]
        labels = np.unique(some, axis=0)
        found.append(None if (labels[1:, 0] <= labels[:-1, 1]).any() else labels.astype(np.int32))
    return found


def are_narrow(parts: Sequence[Int32 | None]) -> bool:
    """Whether ranges are as narrow as their rows, as `list_labels` of the parts of a release shows.

    Where a value has the same label everywhere, labels do not overlap, and are as wide as they are whoever has them.
    """
    known = [labels for labels in parts if labels is not None]
    if len(known) < len(parts):
        return True
    labels = np.unique(np.concatenate(known), axis=0)
    return bool((labels[1:, 0] <= labels[:-1, 1]).any())


def _list_margins(
    release: Facts | ObservedRelease, snapshot: Coded, pair: tuple[int, ...], cells: Int32, narrow: tuple[bool, ...]
) -> tuple[csr_array, csr_array]:
    """([classes, cells] rows of each class by where they are, [classes, values] by their value)."""
    kept = release.standing if isinstance(release, Facts) else release.told
    width = snapshot.value_count
    if release.anatomized:
        codes, homes = exact_rows(release)
        alone = np.ones(len(codes), dtype=np.int64)
        parts, where = _find_parts(np.stack([codes, codes], axis=2), alone, pair, cells, narrow), np.arange(len(codes))
    else:
        where = release.classes.astype(np.int64)
        sizes = np.bincount(where, minlength=len(release.boxes))
        parts = _find_parts(clip_boxes(release.boxes, snapshot.domains), sizes, pair, cells, narrow)
        homes = release.classes if kept is None or not kept.told else kept.standing
    live, home = np.unique(homes, return_inverse=True)
    rows = csr_array((np.ones(len(home)), (home, where)), shape=(len(live), parts.shape[0]))
    if kept is not None and kept.told:
        at = np.searchsorted(live, kept.tokens.standing)
        shown = csr_array((kept.tokens.count.astype(np.float64), (at, kept.tokens.value)), shape=(len(live), width))
    else:
        classes, value, number = as_release(release).groups
        shown = csr_array((number.astype(np.float64), (np.searchsorted(live, classes), value)), (len(live), width))
    totals = None if kept is None else kept.totals
    return csr_array(rows @ parts), shown if totals is None else _rake(shown, np.bincount(home), totals)


def _rake(shown: csr_array, rows: Int64, totals: Int64) -> csr_array:
    """The values of every class, weighed so that over all rows they are as often as the totals say.

    Values that came with later releases are not among the totals, and nobody shows them.
    """
    wanted = np.full(shown.shape[1], 0.5)
    wanted[: len(totals)] = np.maximum(totals, 0.5)
    for _ in range(RAKINGS):
        shares = shown * (1.0 / np.maximum(shown.sum(axis=1), 1e-12))[:, None]
        shown = csr_array(shares * (wanted / np.maximum(shares.T @ rows, 1e-9))[None])
    return shown


def _find_parts(boxes: Int32, sizes: Int64, pair: tuple[int, ...], cells: Int32, narrow: tuple[bool, ...]) -> csr_array:
    """[boxes, cells]: which part of each box's rows lies in each cell; sizes: int64[boxes], how many there are.

    They lie evenly; along an attribute whose boxes are narrow, one of them at each end and the others evenly.
    """
    found = []
    for first in range(0, max(1, len(boxes)), CHUNK):
        some, rows = boxes[first : first + CHUNK].astype(np.float64), sizes[first : first + CHUNK, None]
        parts = np.ones((len(some), len(cells)))
        for i, a in enumerate(pair):
            low, high, begin, end = some[:, a, :1], some[:, a, 1:], cells[None, :, i, 0], cells[None, :, i, 1]
            shared = np.minimum(high, end) - np.maximum(low, begin) + 1
            evenly = np.clip(shared, 0.0, None) / (high - low + 1)
            if narrow[i]:
                ends = ((begin <= low) & (low <= end)).astype(np.float64) + ((begin <= high) & (high <= end))
                evenly = np.where((rows > 1) & (high > low), ((rows - 2) * evenly + ends) / np.maximum(rows, 1), evenly)
            parts *= evenly
        found.append(csr_array(parts))
    return csr_array(vstack(found))


@njit(cache=True)
def _deal_to_cells(  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    place_start, places, parts, value_start, values, counts, rates
):
    """float64[cells, values]: the sum over classes of tables with a class's margins, near to the rates."""
    total = np.zeros(rates.shape)
    for c in range(len(place_start) - 1):
        own, shown = places[place_start[c] : place_start[c + 1]], values[value_start[c] : value_start[c + 1]]
        part, count = parts[place_start[c] : place_start[c + 1]], counts[value_start[c] : value_start[c + 1]]
        count = count * (part.sum() / max(count.sum(), 1e-12))
        table = np.empty((len(own), len(shown)))
        for i in range(len(own)):
            for j in range(len(shown)):
                table[i, j] = part[i] * count[j] * rates[own[i], shown[j]] + 1e-15
        for _ in range(FITTINGS if len(own) > 1 else 1):
            for i in range(len(own)):
                table[i] *= part[i] / max(table[i].sum(), 1e-300)
            for j in range(len(shown)):
                table[:, j] *= count[j] / max(table[:, j].sum(), 1e-300)
        for i in range(len(own)):
            for j in range(len(shown)):
                total[own[i], shown[j]] += table[i, j]
    return total


def _to_rates(counts: Int64 | Float64) -> Float64:
    rates: Float64 = counts.astype(np.float64)
    rates /= np.maximum(rates.sum(axis=1, keepdims=True), 1e-9)
    return rates


def make_cells(domains: Sequence[Domain], pair: tuple[int, ...]) -> Int32:
    """int32[cells, attributes of the pair, 2]."""
    sides = [_divide(domains[a]) for a in pair]
    grid = np.meshgrid(*(np.arange(len(side)) for side in sides), indexing="ij")
    return np.stack([side[place.reshape(-1)] for side, place in zip(sides, grid, strict=True)], axis=1)


def _divide(domain: Domain) -> Int32:
    """int32[cells, 2]: single codes, or ranges of round numbers, or the groups below the root."""
    size = domain.hi - domain.lo + 1
    if size <= MOST_RANGES:
        low = np.arange(domain.lo, domain.hi + 1)
        return np.stack([low, low], axis=1).astype(np.int32)
    if domain.tree is not None:
        start, child = domain.tree.children
        nodes = child[start[0] : start[1]]
        return np.stack([domain.tree.lo[nodes], domain.tree.hi[nodes]], axis=1).astype(np.int32)
    low = np.arange(domain.lo // domain.step * domain.step, domain.hi + 1, domain.step)
    return np.stack([low, low + domain.step - 1], axis=1).astype(np.int32)


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
