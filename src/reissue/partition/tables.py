"""The tables that cutting kernels work on: rows to be permuted, domains, scratch memory; and the tree of cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from reissue.arrays.types import NO_NUMBERS, Float64, Int32, Int64
from reissue.model.domain import Domain
from reissue.model.requirement_kernels import Limits


class CodedRows(NamedTuple):
    """The rows being cut, permuted together.

    codes: int32[rows, attributes], C order, so that a row moves as one piece
    values: int32[rows]; ids: int64[rows], each row's number in the table it came from
    weights: int32[rows], how many rows of the table each one stands for
    """

    codes: Int32
    values: Int32
    ids: Int64
    weights: Int32


class TablePart(NamedTuple):
    """The rows start..stop-1 of those being cut, which stand for `size` rows of the table."""

    rows: CodedRows
    start: int
    stop: int
    size: int


class Forest(NamedTuple):
    """The domains of all attributes for kernels; nodes of all trees are numbered in one sequence.

    root: int32[attributes], -1 where any interval is a label; start: int64[attributes], the lowest code of a value
    span: float64[attributes], shorter for attributes of more weight; step: int64[attributes], numbers are rather cut at
    multiples of it, 0 where at medians; favour: float64[attributes], how much more such cuts, or those of a hierarchy,
    are worth
    lo, hi, parent, child_start: int32[nodes] (child_start one longer), child: children in code order
    leaf_start: int64[attributes], where an attribute's codes begin in leaf_node: int32[all leaves]
    """

    root: Int32
    start: Int64
    span: Float64
    step: Int64
    favour: Float64
    lo: Int32
    hi: Int32
    parent: Int32
    child_start: Int64
    child: Int32
    leaf_start: Int64
    leaf_node: Int32


class CutBuffers(NamedTuple):
    """Working memory of one driver, made once.

    low, high: int32[attributes], hull of the partition last measured; node: int32[attributes], its smallest covering
    node; cuts: int64[4 * attributes, 4], those that sizes allow, the best first: attribute, first and last code of the
    part cut off (first > last: into all children), its rows; worth: float64[4 * attributes]; ends: int64[most parts +
    1], bounds of the parts last cut; next: int64[most parts]; counts, present: for slice_meets; pairs: int64[], counts
    by part and value; buckets: int64[], for medians
    """

    low: Int32
    high: Int32
    node: Int32
    cuts: Int64
    worth: Float64
    ends: Int64
    next: Int64
    counts: Int64
    present: Int32
    pairs: Int64
    buckets: Int64


def copy_rows(codes: Int32, values: Int32, weights: Int32 | None = None) -> CodedRows:
    """A private copy of the rows, to be permuted. weights: how many rows each stands for; None: for itself."""
    ones = np.ones(len(values), dtype=np.int32) if weights is None else weights.astype(np.int32)
    return CodedRows(np.array(codes, dtype=np.int32, order="C"), values.astype(np.int32), np.arange(len(values)), ones)


def build_forest(domains: Sequence[Domain], favours: Sequence[float] | None = None) -> Forest:
    """The domains in one set of arrays. favours: see `Forest`; None: numbers are cut at medians."""
    root = np.full(len(domains), -1, dtype=np.int32)
    leaf_start = np.zeros(len(domains), dtype=np.int64)
    node_parts, child_parts, leaf_parts = [np.empty((3, 0), np.int32)], [np.empty(0, np.int32)], [np.empty(0, np.int32)]
    start_parts = [np.zeros(1, np.int64)]
    nodes = leaves = children = 0
    for a, domain in enumerate(domains):
        tree = domain.nodes
        if tree is None:
            continue
        start, child = tree.children
        root[a], leaf_start[a] = nodes, leaves
        node_parts.append(np.stack([tree.lo, tree.hi, np.where(tree.parent < 0, -1, tree.parent + nodes)]))
        child_parts.append(child + np.int32(nodes))
        start_parts.append(start[1:].astype(np.int64) + children)
        leaf_parts.append(tree.leaf_node + np.int32(nodes))
        nodes, leaves, children = nodes + len(tree.lo), leaves + tree.leaves, children + len(child)
    lo, hi, parent = (np.ascontiguousarray(row, dtype=np.int32) for row in np.concatenate(node_parts, axis=1))
    return Forest(
        root,
        np.array([domain.lo for domain in domains], dtype=np.int64),
        np.array([domain.cost_span for domain in domains], dtype=np.float64),
        np.array([0 if favours is None else domain.step for domain in domains], dtype=np.int64),
        np.array([1.0] * len(domains) if favours is None else favours, dtype=np.float64),
        lo,
        hi,
        parent,
        np.concatenate(start_parts),
        np.concatenate(child_parts),
        leaf_start,
        np.concatenate(leaf_parts),
    )


def cut_buffers(forest: Forest, value_count: int) -> CutBuffers:
    """Working memory for partitions of any size."""
    attributes, parts = len(forest.root), max(2, int(np.diff(forest.child_start).max(initial=0)))
    low, high, node = (np.empty(attributes, dtype=np.int32) for _ in range(3))
    cuts, worth = np.empty((4 * attributes, 4), dtype=np.int64), np.empty(4 * attributes, dtype=np.float64)
    ends, following = np.empty(parts + 1, dtype=np.int64), np.empty(parts, dtype=np.int64)
    counts, present = np.zeros(value_count, dtype=np.int64), np.empty(value_count, dtype=np.int32)
    pairs = np.empty(min(parts * value_count, 1 << 16), dtype=np.int64)
    buckets = np.empty(4096, dtype=np.int64)
    return CutBuffers(low, high, node, cuts, worth, ends, following, counts, present, pairs, buckets)


@dataclass(frozen=True, eq=False)
class CellTree:
    """Cells inside cells: every cell with all the parts it was cut into; a cell comes before those inside it.

    parent: int64[cells], -1 for the whole table; leaf: int64[rows], the smallest cell of each row
    """

    parent: Int64
    leaf: Int64


def grow_tree(codes: Int32, domains: Sequence[Domain], least: int) -> CellTree:
    """All cells that Mondrian passes through on its way to parts of at least `least` rows, by codes alone.

    O(rows * attributes * log(rows / least)).
    """
    if len(codes) == 0:
        return CellTree(np.full(1, -1, dtype=np.int64), NO_NUMBERS)
    from reissue.partition.mondrian import cut_to_cells  # which cuts these tables, and so imports this module

    forest, rows = build_forest(domains), copy_rows(codes, np.zeros(len(codes), dtype=np.int32))
    none = np.zeros(0, dtype=np.int64)
    rows_alone = Limits(least, 1, 1, 0, 0.0, 1, 1, np.inf, False, np.inf, False, False, np.ones(1), 0, none)
    return CellTree(*cut_to_cells(rows, forest, rows_alone, cut_buffers(forest, 1)))
