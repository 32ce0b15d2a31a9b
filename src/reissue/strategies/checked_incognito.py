"""Checked Incognito: the best full-domain generalization that is safe beside every earlier release (Byun et al.)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reissue.core.domain import Int64
from reissue.core.feasible import refuse_infeasible
from reissue.core.incognito import Metric, Search, apply, best
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
        search = Search(snapshot.codes[kept], snapshot.values[kept], snapshot.domains, self.requirement.limits(counts))
        nodes, checked = self._nodes(search, past, kept, history)
        node = best(search, nodes, self.metric)
        partition = apply(search.ladders, snapshot.codes[kept], node)
        classes = np.full(len(snapshot), -1, dtype=np.int32)
        classes[kept] = partition.classes
        steps = ([] if held is None else [held]) + [_said(search, node, partition, checked, len(history))]
        none = Counterfeits.none(len(snapshot.domains))
        return Candidate(partition.boxes, classes, none, tuple(steps), extras=self.extras())

    def remember(self, caches: Mapping[str, Table], release: Facts) -> Mapping[str, Table]:
        """As every checked strategy, and the boxes of all releases: few classes, so that none is read again."""
        return {**super().remember(caches, release), BOXES: with_class_boxes(caches, release)}

    def _nodes(self, search: Search, past: Standing, kept: Int64, history: History) -> tuple[list[Node], int]:
        """The lowest nodes that are safe, and how many were checked against the earlier releases."""
        passed = search.satisfied()
        if not len(history):
            return minimal(passed), 0
        check, asked = Beside.of(self, past, history), dict[Node, str | None]()

        def safe(node: Node) -> bool:
            if node not in asked:
                partition = apply(search.ladders, past.snapshot.codes[kept], node)
                classes = np.full(len(past.snapshot), -1, dtype=np.int32)
                classes[kept] = partition.classes
                asked[node] = check.breach(classes, partition.boxes)
            return asked[node] is None

        if not safe(search.tops):
            raise refuse_unsafe(str(asked[search.tops]), self.name)
        lowest = minimal(climb(passed, safe))
        return _verified(lowest, search.tops, safe), len(asked)


def _verified(lowest: list[Node], top: Node, safe: Callable[[Node], bool]) -> list[Node]:
    """Only nodes that were themselves found safe; the top is, whatever the others are."""
    return [node for node in lowest if safe(node)] or [top]


def _said(search: Search, node: Node, partition: Partition, checked: int, earlier: int) -> str:
    levels = ", ".join(f"{ladder.domain.name} {level}" for ladder, level in zip(search.ladders, node, strict=True))
    sizes = np.bincount(partition.classes)
    beside = f", {checked:,} nodes checked against {earlier:,} earlier releases" if earlier else ""
    return (
        f"Grouped {len(partition.classes):,} rows into {len(sizes):,} classes of {sizes.min():,} to {sizes.max():,} "
        f"rows at levels {levels}{beside}."
    )
