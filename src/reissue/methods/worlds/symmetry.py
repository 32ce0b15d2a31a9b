"""Parts of a series in which values can be exchanged: what every world has in common there needs no search.

Theorem. Let some paths and the classes they pass through be closed (no other path passes through these classes), let
all these paths allow the same values V, and let every class show each value of V equally often. Then exchanging values
by any permutation of V turns a world into a world. So each value of V is possible for everybody there, and a value that
is certain for a share of a path is certain for at most 1/|V| of it: over all exchanges of one world the mean count of a
value is size/|V|, so some world has no more than that.

This is what m-invariance and weak m-invariance (cor-split, e-equivalence) make of every part, rows of nobody included.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reissue.arrays.sets import connected_components
from reissue.arrays.types import Bool, Int64
from reissue.methods.worlds.worlds import Worlds


@dataclass(frozen=True, eq=False)
class Symmetry:
    """exchangeable: bool[entries] whether the entry's values can be exchanged; values: int64[entries] how many."""

    exchangeable: Bool
    values: Int64

    def worlds_by_exchange(self, worlds: Worlds, counts: Int64) -> tuple[Int64, Int64]:
        """(least, most) int64[entries]: the extremes of the worlds that one world becomes by exchanging values."""
        paths = len(worlds.size)
        least, most = np.full(paths, np.iinfo(np.int64).max), np.full(paths, -1)
        np.minimum.at(least, worlds.path, counts)
        np.maximum.at(most, worlds.path, counts)
        low = np.where(self.exchangeable, least[worlds.path], counts)
        high = np.where(self.exchangeable, most[worlds.path], counts)
        return low.astype(np.int64), high.astype(np.int64)


def find_symmetry(worlds: Worlds) -> Symmetry:
    """The parts whose values can be exchanged. O(entries * releases)."""
    paths, entries = len(worlds.size), len(worlds)
    entry, cell = worlds.links
    label = connected_components(worlds.path[entry].astype(np.int64), paths + cell, paths + len(worlds.total))
    part = label[worlds.path]
    own = np.bincount(worlds.path, minlength=paths)[worlds.path]  # values of the entry's path
    parts = int(label.max(initial=-1)) + 1
    pairs = np.unique(part.astype(np.int64) * (int(worlds.value.max(initial=0)) + 1) + worlds.value)
    shown = np.bincount((pairs // (int(worlds.value.max(initial=0)) + 1)).astype(np.int64), minlength=parts)[part]
    uneven = own != shown  # a path without one of the values of its part
    first = np.searchsorted(worlds.path, worlds.path)  # the first entry of each entry's path
    for release in range(worlds.cells.shape[1]):
        here = worlds.cells[:, release]
        total = np.where(here >= 0, worlds.total[np.maximum(here, 0)], 0) if len(worlds.total) else np.zeros(entries)
        uneven |= total != total[first]
    broken = np.zeros(parts, dtype=np.bool_)
    broken[part[uneven]] = True
    return Symmetry(np.asarray(~broken[part], dtype=np.bool_), own.astype(np.int64))
