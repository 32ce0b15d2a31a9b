"""Blocks of classes and people that can be attacked on their own, and the smallest equivalence attack on each.

A bound by cuts, attacks found, the minimum by integer program.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from reissue.arrays.flow.mincut import cut_between, min_cut
from reissue.arrays.types import Bool, Float64, Int32, Int64
from reissue.methods.equivalence.lifespans import weigh_graph
from reissue.methods.equivalence.person_matrix import ClassRows, Patterns, count_values
from reissue.model.observed import ObservedRelease

_ALL_SUBSETS = 10
"""Up to so many snapshots every set of them is tried."""


@dataclass(frozen=True, eq=False)
class Block:
    """Rows (classes) and columns (people alike) that can be attacked on their own.

    release, number: int32[rows] the release and class number of each row, by release
    inside:   bool[columns, rows] who is in which class
    weight:   int64[columns] people (or counterfeits) in each column; real: bool[columns]
    values:   int64[rows, kinds] how often each class shows each value
    people:   int64[n] their subject numbers, sorted by column; start: int64[columns + 1] where each column begins
    """

    release: Int32
    number: Int32
    inside: Bool
    weight: Int64
    real: Bool
    values: Int64
    people: Int64
    start: Int64

    def who(self, column: int) -> Int64:
        return self.people[self.start[column] : self.start[column + 1]]


def make_blocks(
    releases: Sequence[ObservedRelease],
    rows: ClassRows,
    patterns: Patterns,
    *,
    apart: bool,
    buckets: Int32 | None = None,
) -> Iterator[Block]:
    """One block per value set (or per bucket, int32[rows], if given) if `apart`, else one of everything.

    Columns of people who are nowhere are left out.
    """
    way = patterns.pattern.astype(np.int64) * 2 + (patterns.subjects >= 0)  # counterfeits are columns of their own
    seen = np.flatnonzero(patterns.pattern >= 0)
    order = seen[np.argsort(way[seen], kind="stable")]
    ways, low = np.unique(way[order], return_index=True)
    high = np.append(low[1:], len(order))
    steps = (ways // 2).astype(np.int32)
    if not apart:
        buckets = np.zeros(len(rows.shows), dtype=np.int32)
    block_of_step = (rows.shows if buckets is None else buckets)[patterns.row[steps]]
    by_block = np.argsort(block_of_step, kind="stable")
    for own in np.split(by_block, np.flatnonzero(np.diff(block_of_step[by_block])) + 1):
        if len(own):
            people = [patterns.subjects[order[low[i] : high[i]]] for i in own]
            yield _make_block(releases, rows, patterns, steps[own], people)


def _make_block(
    releases: Sequence[ObservedRelease], rows: ClassRows, patterns: Patterns, steps: Int32, people: list[Int64]
) -> Block:
    ways = [patterns.rows(int(step)) for step in steps]
    used = np.unique(np.concatenate([np.array(way) for way in ways]))
    inside = np.zeros((len(ways), len(used)), dtype=np.bool_)
    for column, way in enumerate(ways):
        inside[column, np.searchsorted(used, way)] = True
    weight = np.array([len(who) for who in people], dtype=np.int64)
    real = np.array([bool(who[0] >= 0) for who in people])
    values = count_values(releases, rows, used)
    inside, weight, real = _add_strangers(inside, weight, real, values)
    extra = [np.empty(0, dtype=np.int64)] * (len(weight) - len(people))
    sizes = np.array([len(who) for who in (*people, *extra)], dtype=np.int64)
    return Block(
        rows.release[used],
        rows.number[used],
        inside,
        weight,
        real,
        values,
        np.concatenate(people),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
    )


def _add_strangers(inside: Bool, weight: Int64, real: Bool, values: Int64) -> tuple[Bool, Int64, Bool]:
    """Add a column for the rows of each class that belong to nobody known: each is unknown in one release only."""
    missing = values.sum(axis=1) - weight @ inside
    at = np.flatnonzero(missing > 0)
    more = np.zeros((len(at), inside.shape[1]), dtype=np.bool_)
    more[np.arange(len(at)), at] = True
    return (
        np.concatenate([inside, more]),
        np.concatenate([weight, missing[at]]),
        np.concatenate([real, np.zeros(len(at), dtype=np.bool_)]),
    )


@dataclass(frozen=True, eq=False)
class AttackWeights:
    """One attack on a block.

    size:  people on each side; rows: int64[] the classes (rows) that are weighed
    shown: int64[columns] how often each of a column's people stands on the left (> 0) or on the right (< 0)
    """

    size: int
    rows: Int64
    shown: Int64


def _find_runs(block: Block, until: int) -> tuple[Int64, Int64, Int64, bool]:
    """(tail, head, count) of the columns with one lifespan within the first `until` rows; whether some have more.

    Nodes are row positions from 1; 0 stands for "still there".
    """
    inside = block.inside[:, :until]
    rising = np.diff(inside.astype(np.int8), axis=1, prepend=0) == 1
    runs = rising.sum(axis=1)
    once = np.flatnonzero(runs == 1)
    tail = rising[once].argmax(axis=1) + 1
    head = tail + inside[once].sum(axis=1)
    head = np.where(head > until, 0, head)
    return tail.astype(np.int64), head.astype(np.int64), block.weight[once], bool((runs > 1).any())


def find_whole_cut(block: Block) -> int:
    """The smallest minimum cut of the components of the final graph (theorem 2); only for a merged block."""
    tail, head, count, _ = _find_runs(block, len(block.release))
    return min_cut(weigh_graph(tail, head, count, 0)[0])


def find_smallest_new_cut(block: Block, *, only_last: bool = False) -> int | None:
    """The smallest cut between a snapshot and node 0 when it was made: no attack shows fewer people. None: no attack.

    See `lifespans` for why this bounds every attack on a merged block.
    """
    found: list[int] = []
    rows = len(block.release)
    for until in range(rows if only_last else 1, rows + 1):
        now = block.inside[:, until - 1]
        before = block.inside[:, until - 2] if until > 1 else np.zeros_like(now)
        if np.array_equal(now, before):
            continue
        tail, head, count, odd = _find_runs(block, until)
        cut, _ = cut_between(*weigh_graph(tail, head, count, until))
        if cut or odd:
            found.append(max(cut, 1))
    return min(found, default=None)


def try_attacks(block: Block) -> list[AttackWeights]:
    """Attacks that add and subtract snapshots once, and proportional pairs; smallest first, each once."""
    weights = _make_candidates(block)
    weights = weights[(weights @ block.values == 0).all(axis=1)]
    shown = weights @ block.inside.T.astype(np.int64)
    size = np.abs(shown) @ block.weight
    useful = (np.abs(shown) @ (block.weight * block.real)) > 0
    weights, shown, size = weights[useful], shown[useful], size[useful]
    if len(shown) == 0:
        return []
    sign = np.where(shown[np.arange(len(shown)), (shown != 0).argmax(axis=1)] < 0, -1, 1)  # an attack and its mirror
    shown, first = np.unique(shown * sign[:, None], axis=0, return_index=True)
    order = np.argsort(size[first], kind="stable")
    return [AttackWeights(int(size[first[i]]) // 2, np.flatnonzero(weights[first[i]]), shown[i]) for i in order]


def _make_candidates(block: Block) -> Int64:
    """int64[n, rows]: weights to try."""
    rows = len(block.release)
    if rows <= _ALL_SUBSETS:
        above = (np.arange(1, 1 << rows)[:, None] >> np.arange(rows)) & 1
    else:
        ends = np.arange(rows)
        runs = [(ends >= i) & (ends <= j) for i in range(rows) for j in range(i, rows)]
        pairs = [(ends == i) | (ends == j) for i in range(rows) for j in range(i + 2, rows)]
        above = np.array(runs + pairs).astype(np.int64)
    steps = above - np.concatenate([above[:, 1:], np.zeros((len(above), 1), dtype=np.int64)], axis=1)
    subsets = _list_signed(rows) if rows <= 6 else np.zeros((0, rows), dtype=np.int64)
    return np.concatenate([steps, subsets, _weigh_proportional(block)]).astype(np.int64)


def _list_signed(rows: int) -> Int64:
    """Every vector of -1, 0, 1 but zero."""
    digits = (np.arange(3**rows)[:, None] // 3 ** np.arange(rows)) % 3 - 1
    return np.asarray(digits[digits.any(axis=1)], dtype=np.int64)


def _weigh_proportional(block: Block) -> Int64:
    """Pairs of rows whose values are proportional, weighted so that they cancel."""
    total = block.values.sum(axis=1)
    made = []
    for i in range(len(total)):
        for j in range(i + 1, len(total)):
            if np.array_equal(block.values[i] * total[j], block.values[j] * total[i]):
                shared = np.gcd(total[i], total[j])
                weight = np.zeros(len(total), dtype=np.int64)
                weight[i], weight[j] = total[j] // shared, -(total[i] // shared)
                made.append(weight)
    return np.array(made, dtype=np.int64).reshape(-1, len(total))


@dataclass(frozen=True, eq=False)
class Proof:
    """What the integer program says: the smallest attack (None: there is none), a bound, whether it is proven."""

    way: AttackWeights | None
    bound: int
    proven: bool


def solve_smallest_attack(block: Block, at_most: int, nodes: int, seconds: float = inf) -> Proof:
    """Minimize the people in an attack over all weights, by HiGHS; at most `at_most` people on each side.

    Variables: a weight per row (real), shown and its absolute value per column (whole numbers), and a switch per real
    column, one of which must be on and makes its column shown at least once; an attack and its mirror image are one.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp  # a release that is plainly safe need not import them
    from scipy.sparse import block_array, csr_array, eye_array

    columns, rows = block.inside.shape
    most = 2 * at_most
    inside = csr_array(block.inside.astype(np.float64))
    one = eye_array(columns)
    none = csr_array((columns, rows))
    zero = csr_array((columns, columns))
    matrix = block_array(
        [
            [csr_array(block.values.T.astype(np.float64)), csr_array((block.values.shape[1], columns)), None, None],
            [inside, -one, zero, zero],
            [none, one, one, zero],
            [none, -one, one, zero],
            [none, one, zero, -(most + 1.0) * one],
            [None, None, csr_array(block.weight[None, :].astype(np.float64)), None],
            [None, None, None, csr_array(np.ones((1, columns)))],
        ],
        format="csr",
    )
    kinds = block.values.shape[1]
    low = np.concatenate([np.zeros(kinds + 3 * columns), np.full(columns, -float(most)), [0.0, 1.0]])
    high = np.concatenate([np.zeros(kinds + columns), np.full(3 * columns, np.inf), [float(most), np.inf]])
    low[kinds : kinds + columns] = 0.0
    bounds = Bounds(
        np.concatenate([np.full(rows, -np.inf), np.full(columns, -float(most)), np.zeros(2 * columns)]),
        np.concatenate([np.full(rows, np.inf), np.full(2 * columns, float(most)), block.real.astype(np.float64)]),
    )
    cost = np.concatenate([np.zeros(rows + columns), block.weight / 2.0, np.zeros(columns)])
    whole = np.concatenate([np.zeros(rows), np.ones(2 * columns), np.ones(columns)])
    answer = milp(
        cost,
        constraints=LinearConstraint(matrix, low, high),  # type: ignore[arg-type]
        bounds=bounds,
        integrality=whole,
        options={"node_limit": nodes, "time_limit": seconds},
    )
    return _read_proof(block, answer.status, answer.x, answer.mip_dual_bound, at_most)


def _read_proof(block: Block, status: int, x: Float64 | None, bound: float | None, at_most: int) -> Proof:
    rows, columns = len(block.release), len(block.weight)
    if status == 2:  # infeasible: no attack of at most that size
        return Proof(None, at_most + 1, True)
    if x is None:
        return Proof(None, max(1, int(np.ceil((bound or 0.0) - 1e-6))), False)
    shown = np.rint(x[rows : rows + columns]).astype(np.int64)
    way = AttackWeights(int(np.abs(shown) @ block.weight) // 2, np.flatnonzero(np.abs(x[:rows]) > 1e-6), shown)
    if status == 0:
        return Proof(way, way.size, True)
    return Proof(way, max(1, int(np.ceil((bound or 0.0) - 1e-6))), False)
