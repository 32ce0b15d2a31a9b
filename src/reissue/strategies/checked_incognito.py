"""Checked Incognito: the best full-domain generalization that is safe beside every earlier release (Byun et al.)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reissue.core.domain import Int32, Int64
from reissue.core.feasible import refuse_infeasible
from reissue.core.incognito import Leaves, Metric, Search, apply, ranking
from reissue.core.lattice import Node, climb, minimal
from reissue.core.mondrian import Partition
from reissue.core.snapshot import Candidate, Coded, Counterfeits, Facts, History, Table
from reissue.strategies.beside import BOXES, Beside, with_class_boxes
from reissue.strategies.checking import Checked, Standing, refuse_unsafe


@dataclass(frozen=True, kw_only=True)
class CheckedIncognito(Checked):
    """(k,c)-anonymity that survives laying all releases side by side, with one level of generalization per attribute.

    The lattice of levels is searched as Incognito does; a node counts only if its classes meet (k,c) and all three
    attacks fail on it, exactly, against every earlier release. What fails rules out its specializations, what passes
    stands for its generalizations; the node that is published has itself been checked.

    metric: what "best" means among the lowest nodes that pass: "loss", "discernibility", "classes" or "height"
    """

    name: ClassVar[str] = "checked-incognito"

    metric: Metric = "loss"

    def publish(self, snapshot: Coded, history: History) -> Candidate:
        """Propose the next release."""
        past = Standing.of(snapshot, history)
        published, held = self.new_rows(past)
        kept = np.flatnonzero(published)
        counts = np.bincount(snapshot.values[kept], minlength=snapshot.value_count).astype(np.int64)
        refuse_infeasible(self.requirement, counts)
        codes = _some(snapshot.codes, kept)
        search = Search(codes, snapshot.values[kept], snapshot.domains, self.requirement.limits(counts))
        node, checked = self._best(search, past, codes, kept, history)
        partition = apply(search.ladders, codes, node)
        classes = np.full(len(snapshot), -1, dtype=np.int32)
        classes[kept] = partition.classes
        steps = ([] if held is None else [held]) + [_said(search, node, partition, checked, len(history))]
        none = Counterfeits.none(len(snapshot.domains))
        return Candidate(partition.boxes, classes, none, tuple(steps), extras=self.extras())

    def remember(self, caches: Mapping[str, Table], release: Facts) -> Mapping[str, Table]:
        """As every checked strategy, and the boxes of all releases: few classes, so that none is read again."""
        return {**super().remember(caches, release), BOXES: with_class_boxes(caches, release)}

    def _best(self, search: Search, past: Standing, codes: Int32, kept: Int64, history: History) -> tuple[Node, int]:
        """The best node that is safe, and how many were checked against the earlier releases.

        Checking is what costs, so nodes are not checked that are no better than one already found safe.
        """
        passed, rank = search.satisfied(), ranking(search, self.metric)
        chosen = min(minimal(passed), key=rank)
        if not len(history):
            return chosen, 0
        check, leaves = Beside.of(self, past, history, kept), Leaves(search.ladders, codes)
        asked = dict[Node, str | None]()

        def safe(node: Node) -> bool:
            if node not in asked:
                partition = leaves.at(node)
                classes = np.full(len(past.snapshot), -1, dtype=np.int32)
                classes[kept] = partition.classes
                asked[node] = check.breach(classes, partition.boxes)
            return asked[node] is None

        def settled(node: Node) -> bool:
            """Whether nothing at or above this node can be better than what is chosen by now."""
            nonlocal chosen
            if rank(node) < rank(chosen) and safe(node):
                chosen = node
            return rank(node) >= rank(chosen)

        if safe(chosen):
            return chosen, 1
        chosen = search.tops
        if not safe(chosen):
            raise refuse_unsafe(str(asked[chosen]), self.name)
        climb(passed, settled)
        return chosen, len(asked)


def _some(codes: Int32, rows: Int64) -> Int32:
    """These rows, ascending, in Fortran order: column by column, since gathering rows of a Fortran array is slow."""
    if len(rows) == len(codes):
        return codes
    picked = np.empty((len(rows), codes.shape[1]), dtype=np.int32, order="F")
    for a in range(codes.shape[1]):
        picked[:, a] = codes[rows, a]
    return picked


def _said(search: Search, node: Node, partition: Partition, checked: int, earlier: int) -> str:
    levels = ", ".join(f"{ladder.domain.name} {level}" for ladder, level in zip(search.ladders, node, strict=True))
    sizes = np.bincount(partition.classes)
    beside = f", {checked:,} nodes checked against {earlier:,} earlier releases" if earlier else ""
    return (
        f"Grouped {len(partition.classes):,} rows into {len(sizes):,} classes of {sizes.min():,} to {sizes.max():,} "
        f"rows at levels {levels}{beside}."
    )
