"""A fragment that is too small for a box of its own shares one with the next.

Fragments make their boxes by themselves. Before any of them does, each counts what its rows will show and where they
lie; from the sums all of them find the same neighbours and the same box, so that none waits for another. A fragment
with too few rows, or too few different dealt values, shows one box for all its rows; the next fragment that has
enough shows that box, too, for the smallest of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from reissue.arrays.types import Bool, Int32, Int64
from reissue.errors import InfeasiblePolicy
from reissue.model.boxes import widen_to_nodes
from reissue.model.domain import Domain
from reissue.model.fragment_counts import Counts, FragmentCounts, TableCounts
from reissue.partition.mondrian import Partition

ROWS, CORNERS = "standing/rows", "standing/corners"


def count_rows(fragment: int, codes: Int32, dealt: Int32) -> FragmentCounts:
    """What a fragment's rows will show. codes: int32[rows, attributes]; dealt: int32[rows], in any order."""
    rows = np.bincount(dealt)
    values = np.flatnonzero(rows)
    ends = np.stack([codes.min(axis=0), codes.max(axis=0)], axis=1).reshape(-1) if len(codes) else codes.reshape(-1)
    own, corner = (np.full(len(each), fragment, dtype=np.int64) for each in (values, ends))
    places = np.arange(len(ends), dtype=np.int32)
    return FragmentCounts(
        everywhere={
            ROWS: Counts(own, values.astype(np.int32), rows[values].astype(np.int64)),
            CORNERS: Counts(corner, places, ends.astype(np.int64)),
        }
    )


@dataclass(frozen=True, eq=False)
class SharedBox:
    """box: int32[1, attributes, 2]; guest: whether all rows of the fragment show it, or only those of one box."""

    box: Int32
    guest: bool

    def apply(self, rows: Partition) -> tuple[Partition, Bool]:
        """(the fragment's boxes, bool[boxes] which is shared); of equally small ones the first is."""
        if self.guest:
            return Partition(np.zeros_like(rows.classes), self.box), np.ones(1, dtype=np.bool_)
        own = int(np.argmin(np.bincount(rows.classes)))
        boxes = rows.boxes.copy()
        boxes[own] = self.box[0]
        return replace(rows, boxes=boxes), np.arange(len(boxes)) == own


def find_shared_box(
    whole: TableCounts, fragment: int, row_k: int, row_l: int, domains: Sequence[Domain]
) -> SharedBox | None:
    """The box that a fragment with rows shares; None if it needs none.

    Raises InfeasiblePolicy if all rows together are too few or too alike for one box. O(fragments * values).
    """
    counts = whole.everywhere[ROWS]
    fragments = np.unique(counts.key)
    rows = counts.matrix(fragments, int(counts.value.max(initial=0)) + 1)
    alone = (rows.sum(axis=1) >= row_k) & (np.count_nonzero(rows, axis=1) >= row_l)
    if not alone.any():
        refuse_rows(int(rows.sum()), int(np.count_nonzero(rows.sum(axis=0))), row_k, row_l)
    hosts = _find_hosts(alone)
    own = int(np.searchsorted(fragments, fragment))
    group = fragments[hosts == hosts[own]]
    if len(group) == 1:
        return None
    corners = whole.everywhere[CORNERS].matrix(group, 2 * len(domains)).reshape(len(group), -1, 2)
    box = np.stack([corners[:, :, 0].min(axis=0), corners[:, :, 1].max(axis=0)], axis=1).astype(np.int32)
    return SharedBox(widen_to_nodes(box[None], domains), not alone[own])


def _find_hosts(alone: Bool) -> Int64:
    """int64[fragments]: who has enough has itself, who has not the next who has; all have the first if nobody has."""
    able = np.flatnonzero(alone)
    if len(able) == 0:
        return np.zeros(len(alone), dtype=np.int64)
    return able[np.searchsorted(able, np.arange(len(alone))) % len(able)]


def refuse_rows(rows: int, shown: int, row_k: int, row_l: int) -> None:
    """Raise InfeasiblePolicy if so many rows with so many different dealt values cannot be one box."""
    if rows < row_k:
        raise InfeasiblePolicy(
            f"row_k = {row_k} cannot hold: there are only {rows:,} rows to publish. Lower row_k to {rows} or wait for "
            "more rows."
        )
    if shown < row_l:
        raise InfeasiblePolicy(
            f"row_l = {row_l} cannot hold: the {rows:,} rows to publish show only {shown} different dealt values. "
            f'Lower row_l to {shown}, or use form = "told".'
        )
