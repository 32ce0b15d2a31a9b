"""Settle what each path may hold in any consistent world: by symmetry, then by programs, component by component.

The work is counted, not timed, so that the same series gives the same answer on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from reissue.arrays.types import Bool, Float64, Int64
from reissue.methods.worlds.worlds import Bounds, Worlds, components, find_symmetry

if TYPE_CHECKING:  # symmetry mostly decides: programs, and the half second of their import, are for what is left
    from scipy.optimize import Bounds as Limits
    from scipy.optimize import LinearConstraint

LARGEST = 50_000
"""Unknowns of the largest component that is tried: a program of more of them does not end in seconds."""

BATCH = 600
"""Components share a program up to this many unknowns: their answers do not touch, and a program has a fixed cost."""

POLISH = 0.1
"""The part of the work allowed that goes into exact numbers where symmetry proves that nothing is too certain."""

NEARLY = 1e-4
"""A count within this of a whole number is taken for it; what is claimed must hold by more than that."""


@dataclass(eq=False)
class Settled:
    """What is known of each entry.

    least, most: int64[entries] bounds that hold in every world
    reached_least, reached_most: int64[entries] extremes among the worlds found, so a bound that is reached is exact
    looked: bool[entries] whether the linear program of its component ran to its end, so that what is impossible even
            in fractions is known; whole: bool[entries] whether it is known of all whole numbers
    """

    least: Int64
    most: Int64
    reached_least: Int64
    reached_most: Int64
    looked: Bool
    whole: Bool
    components: int = 0

    @property
    def exact(self) -> Bool:
        """bool[entries]: both bounds are reached by some world."""
        return np.asarray((self.least == self.reached_least) & (self.most == self.reached_most), dtype=np.bool_)

    def witness(self, entries: Int64, counts: Int64) -> None:
        """Take note of a world, on these entries."""
        self.reached_least[entries] = np.minimum(self.reached_least[entries], counts)
        self.reached_most[entries] = np.maximum(self.reached_most[entries], counts)


class OutOfWork(Exception):
    """The work allowed is done."""


NODES = 2_000
"""Branches of one integer program at most: the few that need more are told as undecided."""


@dataclass(eq=False)
class Budget:
    """What programs may cost, in seconds of an ordinary processor of 2026: estimated from their size, never measured.

    left: what is left of it
    """

    left: float

    def charge(self, entries: int, whole: bool) -> None:
        """Take the cost of a program with so many entries in its equations. OutOfWork if there is not enough left.

        Fitted to HiGHS: 2 ms to set up, 1.5 µs an entry, and a square term that takes over at some ten thousand.
        """
        cost = 2e-3 + 1.5e-6 * entries + 3.6e-10 * entries**2
        self.left -= 4 * cost if whole else cost
        if self.left < 0:
            raise OutOfWork


class Inconsistent(Exception):
    """No world satisfies the equations: the values cannot have persisted."""


class Program:
    """The equations of some components, solved again and again for different objectives."""

    def __init__(self, worlds: Worlds, parts: list[Int64], taken: Int64, settled: Settled, budget: Budget) -> None:
        """taken: int64[paths + cells], what the closed entries take of each equation."""
        from scipy.sparse import csr_array

        self.parts, self.entries = parts, np.concatenate(parts)
        self.block = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        self._settled, self._budget = settled, budget
        at, release = np.nonzero(worlds.cells[self.entries] >= 0)
        cell = worlds.cells[self.entries[at], release]
        rows = np.concatenate([worlds.path[self.entries].astype(np.int64), len(worlds.size) + cell])
        used, row = np.unique(rows, return_inverse=True)
        row = row.reshape(-1)
        columns = np.concatenate([np.arange(len(self.entries)), at])
        self._matrix = csr_array((np.ones(len(row)), (row, columns)), shape=(len(used), len(self.entries)))
        self._right = (np.concatenate([worlds.size, worlds.total])[used] - taken[used]).astype(np.float64)
        self._row_block = np.zeros(len(used), dtype=np.int64)
        self._row_block[row] = self.block[columns]

    def best(self, weight: Float64, *, whole: bool) -> Float64:
        """float64[entries]: counts of the greatest weight, whole ones or any. OutOfWork if it is too much.

        Where a component's counts are whole they are a world, and noted as a witness.
        """
        from scipy.optimize import Bounds as Limits
        from scipy.optimize import LinearConstraint

        limits = Limits(self._settled.least[self.entries], self._settled.most[self.entries])
        equations = LinearConstraint(self._matrix, self._right, self._right)
        found = self._solve(weight, limits, [equations], self._matrix.nnz, whole)
        self._note(found)
        return found

    def find_supported(self, asked: Int64) -> Bool:
        """bool[asked]: which of these entries are above 0 in some world of fractions: one program for all of them.

        Worlds are scaled by a factor of each component, at least 1: then an entry that can be above 0 can be 1, and
        worlds can be added up, so the most entries that are 1 at once are all that can be above 0.
        """
        from scipy.optimize import Bounds as Limits
        from scipy.optimize import LinearConstraint
        from scipy.sparse import coo_array, csr_array, eye_array, hstack

        entries, blocks, rows = len(self.entries), len(self.parts), self._matrix.shape[0]
        scale = coo_array((-self._right, (np.arange(rows), self._row_block)), shape=(rows, blocks))
        equations = csr_array(hstack([self._matrix, scale, csr_array((rows, len(asked)))]))
        own = coo_array((-np.ones(len(asked)), (np.arange(len(asked)), asked)), shape=(len(asked), entries))
        below = csr_array(hstack([own, csr_array((len(asked), blocks)), eye_array(len(asked))]))
        lowest = np.concatenate([np.zeros(entries), np.ones(blocks), np.zeros(len(asked))])
        highest = np.concatenate([np.full(entries + blocks, np.inf), np.ones(len(asked))])
        weight = np.concatenate([np.zeros(entries + blocks), np.ones(len(asked))])
        limits = [LinearConstraint(equations, 0, 0), LinearConstraint(below, -np.inf, 0)]
        found = self._solve(weight, Limits(lowest, highest), limits, equations.nnz + below.nnz, whole=False)
        return np.asarray(found[entries + blocks :] > 0.5, dtype=np.bool_)

    def _solve(
        self, weight: Float64, limits: Limits, rules: list[LinearConstraint], entries: int, whole: bool
    ) -> Float64:
        from scipy.optimize import milp

        self._budget.charge(entries, whole)
        solved = milp(
            -weight,
            integrality=np.full(len(weight), int(whole)),
            bounds=limits,
            constraints=rules,
            options={"node_limit": NODES, "mip_rel_gap": 0.0},
        )
        if solved.status == 2:
            raise Inconsistent
        if solved.status != 0 or solved.x is None:
            raise OutOfWork
        return np.asarray(solved.x, dtype=np.float64)

    def _note(self, found: Float64) -> None:
        counts = np.rint(found).astype(np.int64)
        broken = np.zeros(len(self.parts), dtype=np.bool_)
        broken[self.block[np.abs(found - counts) > NEARLY]] = True
        broken[self._row_block[self._matrix @ counts != self._right]] = True
        fine = ~broken[self.block]
        self._settled.witness(self.entries[fine], counts[fine])


def settle(worlds: Worlds, bounds: Bounds, real: Int64 | None, share: float, seconds: float) -> Settled:
    """Exact bounds as far as the work allowed reaches, the smallest components first.

    real: a world known beforehand (int64[entries]), which saves programs. First it is settled which values are
    possible at all: by linear programs, and by integer programs where those leave it open; then minima that may
    exceed `share` of their path; then the rest. Where values can be exchanged, a proof says that nothing is too
    certain, and programs only make numbers exact. Raises Inconsistent.
    """
    settled = Settled(
        bounds.least.copy(),
        bounds.most.copy(),
        np.where(bounds.open, np.iinfo(np.int64).max, bounds.least),
        np.where(bounds.open, -1, bounds.most),
        ~bounds.open,
        ~bounds.open,
    )
    proved = np.zeros(len(worlds), dtype=np.bool_)
    if real is not None:
        proved = _settle_by_symmetry(worlds, settled, real, share)
    parts = components(worlds, np.flatnonzero(bounds.open))
    settled.components = len(parts)
    taken = _sum_closed(worlds, bounds)
    for some, budget in (
        ([part for part in parts if not proved[part[0]]], Budget(seconds)),
        ([part for part in parts if proved[part[0]]], Budget(seconds * POLISH)),
    ):
        try:
            program = partial(Program, worlds, taken=taken, settled=settled, budget=budget)
            _settle_by_programs(worlds, settled, some, share, program)
        except OutOfWork:
            _apply_implied(worlds, settled)
    return settled


def _settle_by_programs(
    worlds: Worlds, settled: Settled, parts: list[Int64], share: float, program: Callable[[list[Int64]], Program]
) -> None:
    """Settle what is possible in these components, then the extremes. OutOfWork where the budget ends."""

    def programs(some: list[Int64]) -> Iterator[Program]:
        return (program(batch) for batch in _batches([part for part in some if len(part) <= LARGEST]))

    for each in programs([part for part in parts if not settled.looked[part].all()]):
        _possible_in_fractions(each, settled)
    for each in programs([part for part in parts if not settled.whole[part[0]]]):
        _possible_in_whole(each, settled)
    _apply_implied(worlds, settled)
    for chosen in (_find_breaching(worlds, settled, share), ~settled.exact):
        for each in programs([part for part in parts if chosen[part].any()]):
            _settle_extremes(each, settled, chosen)
        _apply_implied(worlds, settled)


def _settle_by_symmetry(worlds: Worlds, settled: Settled, real: Int64, share: float) -> Bool:
    """bool[entries]: whose values can be exchanged, if that proves that no share above `share` is certain of them."""
    symmetry = find_symmetry(worlds)
    proved = symmetry.exchangeable & (share * symmetry.values >= 1)
    for counts in symmetry.worlds_by_exchange(worlds, real):
        settled.witness(np.arange(len(worlds)), counts)
    settled.looked |= proved
    settled.whole |= proved
    return np.asarray(proved, dtype=np.bool_)


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


def _sum_closed(worlds: Worlds, bounds: Bounds) -> Int64:
    closed = np.where(bounds.open, 0, bounds.least)
    entry, cell = worlds.links
    by_path = np.bincount(worlds.path, closed, len(worlds.size))
    by_cell = np.bincount(cell, closed[entry], len(worlds.total))
    taken: Int64 = np.rint(np.concatenate([by_path, by_cell])).astype(np.int64)
    return taken


def _possible_in_fractions(program: Program, settled: Settled) -> None:
    """Rule out every entry that is 0 in all worlds, even in fractions: one program tells them all."""
    unseen = np.flatnonzero(settled.reached_most[program.entries] <= 0)
    if len(unseen):
        _rule_out(settled, program.entries[unseen[~program.find_supported(unseen)]])
    settled.looked[program.entries] = True
    _decide(program, settled)


def _possible_in_whole(program: Program, settled: Settled) -> None:
    """Look for worlds with the entries that none has shown yet, until there are none.

    Vertices of the linear program mostly are whole, so integer programs are only asked about what those leave open. At
    the optimum each component has its own: where that is below 1, none of its unseen entries is in any world.
    """
    entries = program.entries
    for whole in (False, True):
        unseen = settled.reached_most[entries] < np.minimum(settled.most[entries], 1)
        while unseen.any():
            found = program.best(unseen.astype(np.float64), whole=whole)
            none = np.bincount(program.block, found * unseen, len(program.parts)) < 1 - NEARLY
            _rule_out(settled, entries[unseen & none[program.block]])
            unseen &= (found < NEARLY) & ~none[program.block]
            unseen &= settled.reached_most[entries] <= 0
    _decide(program, settled)


def _decide(program: Program, settled: Settled) -> None:
    """A component is settled in whole numbers when every entry is either ruled out or in a world."""
    entries = program.entries
    left = np.bincount(program.block, settled.reached_most[entries] < np.minimum(settled.most[entries], 1))
    settled.whole[entries] = left[program.block] == 0


def _rule_out(settled: Settled, never: Int64) -> None:
    settled.most[never] = 0
    settled.reached_most[never] = 0


def _settle_extremes(program: Program, settled: Settled, chosen: Bool) -> None:
    """Settle both bounds of the chosen entries, one entry of every component at a time."""
    entries = program.entries
    for sign in (-1.0, 1.0):
        todo = chosen[entries] & ~_bound_is_reached(settled, entries, sign)
        while todo.any():
            first = np.unique(program.block[todo], return_index=True)[1]
            now = np.flatnonzero(todo)[first]
            for whole in (False, True):
                weight = np.zeros(len(entries))
                weight[now] = sign
                found = program.best(weight, whole=whole)[now]
                if sign > 0:
                    settled.most[entries[now]] = np.floor(found + NEARLY).astype(np.int64)
                else:
                    settled.least[entries[now]] = np.ceil(found - NEARLY).astype(np.int64)
                now = now[~_bound_is_reached(settled, entries[now], sign)]
                if len(now) == 0:
                    break
            todo &= ~_bound_is_reached(settled, entries, sign)


def _bound_is_reached(settled: Settled, entries: Int64, sign: float) -> Bool:
    if sign > 0:
        return np.asarray(settled.most[entries] == settled.reached_most[entries], dtype=np.bool_)
    return np.asarray(settled.least[entries] == settled.reached_least[entries], dtype=np.bool_)


def _find_breaching(worlds: Worlds, settled: Settled, share: float) -> Bool:
    """bool[entries]: every world found keeps it above the share, but no bound proves that."""
    size = worlds.size[worlds.path]
    above = (settled.reached_least > share * size) & (settled.reached_most >= 0)
    return np.asarray(above & (settled.least <= share * size) & settled.whole, dtype=np.bool_)


def _apply_implied(worlds: Worlds, settled: Settled) -> None:
    """What a path's other values leave: the least of one is the path's size without the most of the others."""
    paths = len(worlds.size)
    high = np.bincount(worlds.path, settled.most, paths).astype(np.int64)
    low = np.bincount(worlds.path, settled.least, paths).astype(np.int64)
    floor = (worlds.size - high)[worlds.path] + settled.most
    ceiling = (worlds.size - low)[worlds.path] + settled.least
    np.maximum(settled.least, floor, out=settled.least)
    np.minimum(settled.most, ceiling, out=settled.most)
