"""Settle what each path may hold in any consistent world: integer programs, component by component, within a time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds as Limits
from scipy.optimize import LinearConstraint, milp
from scipy.sparse import csr_array

from reissue.core.domain import Bool, Float64, Int64
from reissue.core.worlds import Bounds, Worlds, components

LARGEST = 20_000
"""Unknowns of the largest component that is tried: a program of more of them does not end in seconds."""

BATCH = 1_500
"""Components share a program up to this many unknowns: their answers do not touch, and a program has a fixed cost."""


@dataclass(eq=False)
class Settled:
    """What is known of each entry.

    least, most: int64[entries] bounds that hold in every world
    reached_least, reached_most: int64[entries] extremes among the worlds found, so a bound that is reached is exact
    looked: bool[entries] whether it was settled if the entry is possible at all
    components, left_out: how many there were, and how many the time or their size left out
    """

    least: Int64
    most: Int64
    reached_least: Int64
    reached_most: Int64
    looked: Bool
    components: int = 0
    left_out: int = 0
    programs: int = 0

    @property
    def exact(self) -> Bool:
        """bool[entries]: both bounds are reached by some world."""
        return np.asarray((self.least == self.reached_least) & (self.most == self.reached_most), dtype=np.bool_)

    def witness(self, entries: Int64, counts: Int64) -> None:
        """Take note of a world, on these entries."""
        self.reached_least[entries] = np.minimum(self.reached_least[entries], counts)
        self.reached_most[entries] = np.maximum(self.reached_most[entries], counts)


class OutOfTime(Exception):
    """The time allowed is over."""


class Program:
    """The equations of some components, solved again and again for different objectives."""

    def __init__(self, worlds: Worlds, parts: list[Int64], taken: Int64, settled: Settled, deadline: float) -> None:
        """taken: int64[paths + cells], what the closed entries take of each equation."""
        self.entries = np.concatenate(parts)
        self.block = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        self._settled, self._deadline = settled, deadline
        at, release = np.nonzero(worlds.cells[self.entries] >= 0)
        cell = worlds.cells[self.entries[at], release]
        rows = np.concatenate([worlds.path[self.entries].astype(np.int64), len(worlds.size) + cell])
        used, row = np.unique(rows, return_inverse=True)
        columns = np.concatenate([np.arange(len(self.entries)), at])
        self._matrix = csr_array((np.ones(len(row)), (row.reshape(-1), columns)), shape=(len(used), len(self.entries)))
        self._right = (np.concatenate([worlds.size, worlds.total])[used] - taken[used]).astype(np.float64)

    def best(self, weight: Float64) -> Int64:
        """int64[entries]: a world of the greatest weight; it is noted as a witness. OutOfTime if it takes too long."""
        left = self._deadline - time.perf_counter()
        if left <= 0:
            raise OutOfTime
        settled = self._settled
        solved = milp(
            -weight,
            integrality=np.ones(len(self.entries), dtype=np.int64),
            bounds=Limits(settled.least[self.entries], settled.most[self.entries]),
            constraints=LinearConstraint(self._matrix, self._right, self._right),
            options={"time_limit": left, "mip_rel_gap": 0.0},
        )
        settled.programs += 1
        if solved.status == 2:
            raise Inconsistent
        if solved.status != 0 or solved.x is None:
            raise OutOfTime
        counts = np.rint(solved.x).astype(np.int64)
        if not np.array_equal(self._matrix @ counts, self._right):
            raise OutOfTime  # numerical trouble: nothing is claimed from such a solution
        settled.witness(self.entries, counts)
        return counts


class Inconsistent(Exception):
    """No world satisfies the equations: the values cannot have persisted."""


def settle(worlds: Worlds, bounds: Bounds, real: Int64 | None, share: float, seconds: float) -> Settled:
    """Exact bounds as far as the time reaches, the smallest components first.

    real: a world known beforehand (int64[entries]), which saves programs. First it is settled which values are
    possible at all; then minima that may exceed `share` of their path; then the rest. Raises Inconsistent.
    """
    deadline = time.perf_counter() + seconds
    settled = Settled(
        bounds.least.copy(),
        bounds.most.copy(),
        np.where(bounds.open, np.iinfo(np.int64).max, bounds.least),
        np.where(bounds.open, -1, bounds.most),
        ~bounds.open,
    )
    if real is not None:
        settled.witness(np.arange(len(worlds)), real)
    parts = components(worlds, np.flatnonzero(bounds.open))
    settled.components = len(parts)
    taken = _taken(worlds, bounds)
    programs = [
        Program(worlds, batch, taken, settled, deadline) for batch in _batches(parts) if len(batch[0]) <= LARGEST
    ]
    try:
        for program in programs:
            _which_are_possible(program, settled, real is None)
        _implied(worlds, settled)
        for chosen in (_breaching(worlds, settled, share), ~settled.exact):
            for program in programs:
                _extremes(program, settled, chosen)
            _implied(worlds, settled)
    except OutOfTime:
        _implied(worlds, settled)
    settled.left_out = sum(not settled.looked[part[0]] for part in parts)
    return settled


def _batches(parts: list[Int64]) -> Iterator[list[Int64]]:
    """Small components together, large ones alone; in order of size."""
    batch: list[Int64] = []
    size = 0
    for part in parts:
        if batch and size + len(part) > BATCH:
            yield batch
            batch, size = [], 0
        batch.append(part)
        size += len(part)
    if batch:
        yield batch


def _taken(worlds: Worlds, bounds: Bounds) -> Int64:
    closed = np.where(bounds.open, 0, bounds.least)
    entry, cell = worlds.links
    by_path = np.bincount(worlds.path, closed, len(worlds.size))
    by_cell = np.bincount(cell, closed[entry], len(worlds.total))
    taken: Int64 = np.rint(np.concatenate([by_path, by_cell])).astype(np.int64)
    return taken


def _which_are_possible(program: Program, settled: Settled, search: bool) -> None:
    """Look for worlds in which the entries that no world has shown yet occur, until there are none.

    At the optimum each component has its own: where that is 0, none of its unseen entries is in any world.
    """
    entries = program.entries
    if search:
        program.best(np.zeros(len(entries)))
    unseen = settled.reached_most[entries] <= 0
    while unseen.any():
        counts = program.best(unseen.astype(np.float64))
        gained = np.bincount(program.block, counts * unseen) > 0
        never = unseen & ~gained[program.block]
        settled.most[entries[never]] = 0
        settled.reached_most[entries[never]] = 0
        unseen &= (counts == 0) & ~never
    settled.looked[entries] = True


def _extremes(program: Program, settled: Settled, chosen: Bool) -> None:
    """Settle both bounds of the chosen entries, one entry of every component at a time."""
    entries = program.entries
    for sign in (-1.0, 1.0):
        todo = chosen[entries] & ~_reached(settled, entries, sign)
        while todo.any():
            first = np.unique(program.block[todo], return_index=True)[1]
            now = np.flatnonzero(todo)[first]
            weight = np.zeros(len(entries))
            weight[now] = sign
            counts = program.best(weight)
            (settled.most if sign > 0 else settled.least)[entries[now]] = counts[now]
            todo[now] = False
            todo &= ~_reached(settled, entries, sign)


def _reached(settled: Settled, entries: Int64, sign: float) -> Bool:
    if sign > 0:
        return np.asarray(settled.most[entries] == settled.reached_most[entries], dtype=np.bool_)
    return np.asarray(settled.least[entries] == settled.reached_least[entries], dtype=np.bool_)


def _breaching(worlds: Worlds, settled: Settled, share: float) -> Bool:
    """bool[entries]: every world found keeps it above the share, but no bound proves that."""
    size = worlds.size[worlds.path]
    above = (settled.reached_least > share * size) & (settled.reached_most >= 0)
    return np.asarray(above & (settled.least <= share * size) & settled.looked, dtype=np.bool_)


def _implied(worlds: Worlds, settled: Settled) -> None:
    """What a path's other values leave: the least of one is the path's size without the most of the others."""
    paths = len(worlds.size)
    high = np.bincount(worlds.path, settled.most, paths).astype(np.int64)
    low = np.bincount(worlds.path, settled.least, paths).astype(np.int64)
    floor = (worlds.size - high)[worlds.path] + settled.most
    ceiling = (worlds.size - low)[worlds.path] + settled.least
    np.maximum(settled.least, floor, out=settled.least)
    np.minimum(settled.most, ceiling, out=settled.most)
