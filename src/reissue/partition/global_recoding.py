"""Global recoding: one label per value everywhere, as a cut of taxonomy nodes or ranges per attribute.

A numeric attribute has no taxonomy of its own; splitting ranges grows one, and the splits are remembered with the
release, so that ranges of any two releases are nested or apart: what was split at 40 once is never split at 42 first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from reissue.arrays.sets import distinct
from reissue.arrays.types import Int32, Int64
from reissue.model.domain import Domain, Tree
from reissue.model.release import Table

LOWEST, HIGHEST = int(np.iinfo(np.int32).min), int(np.iinfo(np.int32).max)
"""Ends of a numeric attribute's outermost ranges: a later snapshot may widen the domain."""

_CUT, _SPLIT, _LIMITS, _CHAIN = 0, 1, 2, 3
_COLUMNS = ("what", "attribute", "lo", "hi", "at")


class Taxonomy:
    """The nodes of a given hierarchy; a node with a single child stands for that child."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    def interval(self, node: int) -> tuple[int, int]:
        return int(self._tree.lo[node]), int(self._tree.hi[node])

    def parts(self, node: int) -> list[int]:
        """The nodes that a node is specialized into; none for a leaf."""
        start, child = self._tree.children
        while start[node + 1] - start[node] == 1:
            node = int(child[start[node]])
        return [int(kid) for kid in child[start[node] : start[node + 1]]]

    def splits(self) -> list[tuple[int, int, int]]:
        return []


class Ranges:
    """The ranges of a numeric attribute: node 0 is everything, every split adds two."""

    def __init__(self, splits: list[tuple[int, int, int]]) -> None:
        self._intervals = [(LOWEST, HIGHEST)]
        self._parts: list[list[int]] = [[]]
        known = {(lo, hi): at for lo, hi, at in splits}
        node = 0
        while node < len(self._intervals):
            if self._intervals[node] in known:
                self.split(node, known[self._intervals[node]])
            node += 1

    def interval(self, node: int) -> tuple[int, int]:
        return self._intervals[node]

    def parts(self, node: int) -> list[int]:
        """The two ranges that a range was split into; none if it has not been split in any release."""
        return self._parts[node]

    def split(self, node: int, at: int) -> list[int]:
        """Split a range into codes up to `at` and codes above."""
        lo, hi = self._intervals[node]
        self._parts[node] = [len(self._intervals), len(self._intervals) + 1]
        self._intervals += [(lo, at), (at + 1, hi)]
        self._parts += [[], []]
        return self._parts[node]

    def splits(self) -> list[tuple[int, int, int]]:
        """(lo, hi, at) of every range that was split."""
        pairs = zip(self._intervals, self._parts, strict=True)
        return [(lo, hi, self._intervals[parts[0]][1]) for (lo, hi), parts in pairs if parts]


Labels = Taxonomy | Ranges


@dataclass(frozen=True, eq=False)
class Cut:
    """The labels of one release: what a reader needs to recode any value, and a publisher to stay nested with it.

    lo, hi:  per attribute int64[labels] the intervals, ascending
    splits:  per attribute the splits of ranges so far (numeric attributes)
    limits:  int64[attributes, 3] limits of the codes known when the release was made, and the lowest code of all: below
             the limits where missing values have a code of their own
    chain:   number of the release at which the chain starts that this release belongs to
    """

    lo: tuple[Int64, ...]
    hi: tuple[Int64, ...]
    splits: tuple[list[tuple[int, int, int]], ...]
    limits: Int64
    chain: int

    def below(self, attribute: int, lo: int, hi: int) -> bool:
        """Whether this cut's labels inside the interval of a node are strictly narrower than the node."""
        at = int(np.searchsorted(self.lo[attribute], lo, side="right")) - 1
        return at < 0 or int(self.hi[attribute][at]) < hi

    def classes_of(self, codes: Int32, boxes: Int32) -> Int32:
        """int32[n]: which of the release's classes each combination of codes belongs to; -1 where there is none.

        codes: int32[n, attributes]; boxes: int32[classes, attributes, 2]. O((n + classes) * attributes).
        """
        labels = [
            (np.searchsorted(lo, np.concatenate([boxes[:, a, 0], codes[:, a]]), side="right") - 1).astype(np.int32)
            for a, lo in enumerate(self.lo)
        ]
        found, home = distinct(labels)
        owner = np.full(len(found), -1, dtype=np.int32)
        owner[home[: len(boxes)]] = np.arange(len(boxes), dtype=np.int32)
        return owner[home[len(boxes) :]]

    def table(self) -> Table:
        """The cut as columns of equal length, for the ledger."""
        rows: list[tuple[int, int, int, int, int]] = [(_CHAIN, -1, 0, 0, self.chain)]
        for a in range(len(self.lo)):
            lo, hi, lowest = self.limits[a].tolist()
            rows.append((_LIMITS, a, lo, hi, lowest - lo))
            rows += [(_SPLIT, a, *split) for split in self.splits[a]]
            rows += [(_CUT, a, int(lo), int(hi), 0) for lo, hi in zip(self.lo[a], self.hi[a], strict=True)]
        columns = np.array(rows, dtype=np.int64).T
        return dict(zip(_COLUMNS, columns.copy(), strict=True))

    def recode(self, domains: Sequence[Domain], remap: Callable[[Int32], Int32]) -> Cut:
        """The same labels after taxonomies have grown and codes have shifted; codes of numbers never do.

        domains: as they were; remap: turns int32[n, attributes, 2] boxes of then into those of now
        """
        whole = np.array([[domain.lo, domain.hi] for domain in domains], dtype=np.int32)
        lows, highs = list(self.lo), list(self.hi)
        for a, domain in enumerate(domains):
            if domain.tree is not None:
                boxes = np.repeat(whole[None], len(self.lo[a]), axis=0)
                boxes[:, a, 0], boxes[:, a, 1] = self.lo[a], self.hi[a]
                now = remap(boxes)[:, a].astype(np.int64)
                lows[a], highs[a] = now[np.argsort(now[:, 0])].T.copy()
        return replace(self, lo=tuple(lows), hi=tuple(highs))

    @staticmethod
    def read(table: Table) -> Cut | None:
        """The cut in a release's extras; None if the release was not made by a global cut."""
        if not set(_COLUMNS) <= set(table):
            return None
        what, attribute, lo, hi, at = (np.asarray(table[column], dtype=np.int64) for column in _COLUMNS)
        limited = np.flatnonzero(what == _LIMITS)
        limited = limited[np.argsort(attribute[limited])]
        cuts = [np.flatnonzero((what == _CUT) & (attribute == a)) for a in range(len(limited))]
        cuts = [rows[np.argsort(lo[rows])] for rows in cuts]
        split = [np.flatnonzero((what == _SPLIT) & (attribute == a)) for a in range(len(limited))]
        return Cut(
            tuple(lo[rows] for rows in cuts),
            tuple(hi[rows] for rows in cuts),
            tuple([(int(lo[r]), int(hi[r]), int(at[r])) for r in rows] for rows in split),
            np.stack([lo[limited], hi[limited], lo[limited] + at[limited]], axis=1),
            int(at[what == _CHAIN][0]),
        )


@dataclass(eq=False)
class Frontier:
    """The cut of one attribute while it is being made: the nodes in use. weight: how much its detail matters."""

    labels: Labels
    weight: float = 1.0
    nodes: set[int] = field(default_factory=lambda: {0})

    def replace(self, node: int, parts: list[int]) -> None:
        self.nodes.remove(node)
        self.nodes.update(parts)

    def intervals(self) -> tuple[Int64, Int64]:
        found = np.array(sorted(self.labels.interval(node) for node in self.nodes), dtype=np.int64).reshape(-1, 2)
        return found[:, 0].copy(), found[:, 1].copy()


def labels_of(domain: Domain, last: Cut | None, attribute: int) -> Labels:
    """The taxonomy of an attribute, or the ranges that the last release of the chain knew."""
    if domain.tree is not None:
        return Taxonomy(domain.tree)
    return Ranges([] if last is None else list(last.splits[attribute]))


def limits_of(domains: Sequence[Domain], codes: Int32, cuts: Sequence[Cut]) -> Int64:
    """int64[attributes, 3]: `Cut.limits` of a release of these codes that continues a chain of these cuts.

    The limits of a numeric domain leave out missing values, whose code lies below. Once a release of the chain had a
    place for them, later ones have it too: a range never shrinks while the chain lasts.
    """
    limits = np.array([[domain.lo, domain.hi, domain.lo] for domain in domains], dtype=np.int64).reshape(-1, 3)
    present = codes.min(axis=0) if len(codes) else limits[:, 2]
    limits[:, 2] = np.minimum.reduce([limits[:, 2], present, *(cut.limits[:, 2] for cut in cuts)])
    return limits


def splittable(limits: Int64, cuts: Sequence[Cut]) -> Int64:
    """int64[attributes, 3]: where a range may be split, so that no part lies outside what every earlier release covers.

    lowest <= code < highest, and the code of missing values (third; 2**40, which no code is, if there is none or if an
    earlier release has no place for it).
    """
    bounds = limits.copy()
    missing = limits[:, 2] < limits[:, 0]
    for cut in cuts:
        bounds[:, 0] = np.maximum(bounds[:, 0], cut.limits[:, 0])
        bounds[:, 1] = np.minimum(bounds[:, 1], cut.limits[:, 1])
        missing &= cut.limits[:, 2] < cut.limits[:, 0]
    missing &= bounds[:, 0] <= bounds[:, 1]  # the part above holds the known values: they need a place too
    bounds[:, 2] = np.where(missing, limits[:, 2], 2**40)
    return bounds


def clip_boxes(boxes: Int32, limits: Int64) -> Int32:
    """int32[classes, attributes, 2]: intervals as they are published, within the limits (see `Cut.limits`).

    No end falls between the code of missing values and the lowest value.
    """
    lo, hi = boxes[..., 0].astype(np.int64), boxes[..., 1].astype(np.int64)
    low, high, lowest = limits.T
    starts = np.where(lo <= lowest, lowest, np.maximum(lo, low))
    ends = np.where(hi < low, lowest, np.minimum(hi, high))
    return np.stack([starts, ends], axis=-1).astype(np.int32)
