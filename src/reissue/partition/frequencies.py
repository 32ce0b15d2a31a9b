"""Value counts of the classes of a full-domain generalization: counted from the rows once, then only added up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.types import Int32, Int64
from reissue.model.requirement_kernels import Limits, meets
from reissue.partition.lattice import Ladder, Node


@dataclass(frozen=True, eq=False)
class Frequencies:
    """How often each value occurs in each class, at one node of the lattice.

    levels: the node
    labels: int32[attributes, classes], the label of each class at the node's levels
    start:  int64[classes + 1], where a class's groups begin; values: int32[groups]; counts: int64[groups]
    holds:  whether every class meets the limits, but for a few rows that may be left out
    """

    levels: Node
    labels: Int32
    start: Int64
    values: Int32
    counts: Int64
    holds: bool

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def sizes(self) -> Int64:
        """int64[classes]: rows of each class."""
        return np.add.reduceat(self.counts, self.start[:-1])


def pack(columns: Sequence[Int32], sizes: Sequence[int]) -> Int64:
    """int64[n]: one number per row that sorts like the columns do, first column first.

    columns[i] holds 0..sizes[i]-1. Where the product of the sizes does not fit in 62 bits, what is packed so far is
    renumbered densely first, which costs a sort.
    """
    key, room = np.zeros(len(columns[0]) if columns else 1, dtype=np.int64), 1
    for column, size in zip(columns, sizes, strict=True):
        if room * size > 1 << 62:
            distinct, key = np.unique(key, return_inverse=True)
            room = len(distinct)
        key = key * size + column
        room *= size
    return key


def count(
    codes: Int32, values: Int32, value_count: int, ladders: Sequence[Ladder], amounts: Int64 | None = None
) -> Frequencies:
    """The distinct (leaf QI, value) counts of the rows: the one pass over them. O(n log n).

    amounts: int64[rows], how many each row stands for; None: one.
    """
    columns = [ladder.of(codes[:, a], 0) for a, ladder in enumerate(ladders)]
    sizes = [ladder.size(0) for ladder in ladders]
    key = pack([*columns, values], [*sizes, value_count])
    if np.prod([*sizes, value_count], dtype=np.float64) < 2.0**62:
        distinct, counts = _count_keys(key, amounts)
        rest, group_values = np.divmod(distinct, value_count)
        group_labels: list[Int32] = []
        for size in reversed(sizes):
            rest, label = np.divmod(rest, size)
            group_labels.insert(0, label.astype(np.int32))
    else:
        _, first = np.unique(key, return_index=True)
        counts = _count_keys(key, amounts)[1]
        group_values, group_labels = values[first], [column[first] for column in columns]
    changes = np.zeros(len(counts), dtype=np.bool_)
    changes[0] = True
    for label in group_labels:
        changes[1:] |= label[1:] != label[:-1]
    start = np.flatnonzero(changes)
    return Frequencies(
        (0,) * len(ladders),
        np.stack([label[start] for label in group_labels]),
        np.append(start, len(counts)).astype(np.int64),
        group_values.astype(np.int32),
        counts.astype(np.int64),
        False,
    )


def _count_keys(key: Int64, amounts: Int64 | None) -> tuple[Int64, Int64]:
    """The distinct keys, ascending, and how many rows have each."""
    if amounts is None:
        return np.unique(key, return_counts=True)
    distinct, home = np.unique(key, return_inverse=True)
    total = np.zeros(len(distinct), dtype=np.int64)
    np.add.at(total, home, amounts)
    return distinct, total


@njit(cache=True)
def _keys(labels: Int32, ups: Int32, begin: Int64, sizes: Int64) -> Int64:
    """int64[classes]: the new labels of each class packed into one number. O(classes * attributes).

    ups[begin[a] + label] is the new label of attribute a; sizes[a], how many new labels it has; 1: left out.
    """
    keys = np.zeros(labels.shape[1], dtype=np.int64)
    for a in range(len(sizes)):
        if sizes[a] > 1:
            for i in range(len(keys)):
                keys[i] = keys[i] * sizes[a] + ups[begin[a] + labels[a, i]]
    return keys


@njit(cache=True)
def _number(keys: Int64, room: int) -> tuple[Int64, Int64]:
    """Dense numbers of equal keys in order of appearance, and where each first appeared. O(n) expected.

    keys are in 0..room-1 (room 0: anything); looked up directly if room is small, else by hashing.
    """
    direct = 0 < room <= 4 * len(keys) + 1024
    bits = 4
    while not direct and (1 << bits) < 2 * len(keys):
        bits += 1
    slots = np.full(room if direct else 1 << bits, -1, dtype=np.int64)
    mask = (1 << bits) - 1
    numbers, first = np.empty(len(keys), dtype=np.int64), np.empty(len(keys), dtype=np.int64)
    found = 0
    for i in range(len(keys)):
        at = keys[i]
        if not direct:
            at = np.int64((np.uint64(at) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - bits))
            while slots[at] >= 0 and keys[first[slots[at]]] != keys[i]:
                at = (at + 1) & mask
        if slots[at] < 0:
            slots[at] = found
            first[found] = i
            found += 1
        numbers[i] = slots[at]
    return numbers, first[:found].copy()


@njit(cache=True)
def _merge(
    numbers: Int64,
    found: int,
    start: Int64,
    values: Int32,
    counts: Int64,
    limits: Limits,
    keep: bool,
    spare: int,
    stays: int,
) -> tuple[Int64, Int32, Int64, bool]:
    """Add up the groups of classes with one number.

    Returns start, values, counts of the result, and whether all its classes meet the limits, but for classes of fewer
    than k rows with `spare` rows together, none of which has the value `stays`. Without `keep`
    nothing but the answer is wanted, and the first class that fails ends it. O(classes + groups).
    """
    order, begin = np.empty(len(numbers), dtype=np.int64), np.zeros(found + 1, dtype=np.int64)
    for number in numbers:
        begin[number + 1] += 1
    begin = np.cumsum(begin)
    place = begin[:-1].copy()
    for i in range(len(numbers)):
        order[place[numbers[i]]] = i
        place[numbers[i]] += 1
    total, present = np.zeros(len(limits.table), dtype=np.int64), np.empty(len(limits.table), dtype=np.int32)
    new_start, room = np.zeros(found + 1, dtype=np.int64), len(values) if keep else 0
    new_values, new_counts = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.int64)
    filled, holds = 0, True
    for number in range(found):
        kinds, size = 0, 0
        for i in range(begin[number], begin[number + 1]):
            for group in range(start[order[i]], start[order[i] + 1]):
                if total[values[group]] == 0:
                    present[kinds] = values[group]
                    kinds += 1
                total[values[group]] += counts[group]
                size += counts[group]
        if size < limits.k and size <= spare and (stays < 0 or total[stays] == 0):
            spare -= size
        else:
            holds = holds and meets(total, present, kinds, size, limits)
        if not (holds or keep):
            break
        for i in range(kinds):
            if keep:
                new_values[filled + i], new_counts[filled + i] = present[i], total[present[i]]
            total[present[i]] = 0
        filled += kinds
        new_start[number + 1] = filled
    return new_start, new_values[:filled].copy(), new_counts[:filled].copy(), holds


def roll_up(
    table: Frequencies,
    node: Node,
    ladders: Sequence[Ladder],
    limits: Limits,
    keep: bool = True,
    spare: int = 0,
    stays: int = -1,
) -> Frequencies:
    """The counts of a more general node (only `holds` of them without `keep`). O(classes * attributes + groups).

    spare: rows that may be in classes of fewer than k; stays: the value of rows that may not; -1: none.
    """
    ups = [ladder.up(low, high) for ladder, low, high in zip(ladders, table.levels, node, strict=True)]
    sizes = [ladder.size(level) for ladder, level in zip(ladders, node, strict=True)]
    room = prod(sizes)
    if room < 1 << 62:
        begin = np.cumsum([0] + [len(up) for up in ups[:-1]])
        keys = _keys(table.labels, np.concatenate(ups), begin, np.array(sizes))
    else:
        keys, room = pack([up[label] for up, label in zip(ups, table.labels, strict=True)], sizes), 0
    numbers, first = _number(keys, room)
    start, values, counts, holds = _merge(
        numbers, len(first), table.start, table.values, table.counts, limits, keep, spare, stays
    )
    labels = np.empty((len(ups), len(first) if keep else 0), dtype=np.int32)
    if keep:
        for a, up in enumerate(ups):
            labels[a] = up[table.labels[a][first]]
    return Frequencies(node, labels, start, values, counts, holds)
