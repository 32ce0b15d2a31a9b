"""Checked Incognito: the best full-domain generalization that is safe beside every earlier release (Byun et al.)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from reissue.arrays.types import Bool, Int32, Int64
from reissue.methods.incremental.checked import CheckedStrategy, SnapshotHistory, refuse_unsafe
from reissue.methods.incremental.whole_check import BOXES, WholeCheck, with_class_boxes
from reissue.model.domain import Domain
from reissue.model.feasible import refuse_infeasible
from reissue.model.release import Candidate, Coded, Counterfeits, Facts, History, Table, take_rows
from reissue.model.requirement_kernels import Limits
from reissue.model.settings import Spare
from reissue.partition.incognito import ONE_LEVEL, LatticeSearch, Leaves, Metric, apply_levels, rank_by
from reissue.partition.lattice import Node, climb, minimal
from reissue.partition.mondrian import Partition
from reissue.partition.outliers import find_outliers, say_left_out, sum_lost_detail, try_leaving_out


@dataclass(frozen=True, kw_only=True)
class CheckedIncognito(CheckedStrategy):
    """(k,c)-anonymity that survives laying all releases side by side, with one level of generalization per attribute.

    The lattice of levels is searched as Incognito does; a node counts only if its classes meet (k,c) and all three
    attacks fail on it, exactly, against every earlier release. What fails rules out its specializations, what passes
    stands for its generalizations; the node that is published has itself been checked.

    metric: what "best" means among the lowest nodes that pass: "loss", "discernibility", "classes" or "height"
    suppress: the share of rows that may be left out, because fewer than k are like them: only people who were in no
            release before, so that whoever was published stays; 0: nobody
    """

    name: ClassVar[str] = "checked-incognito"

    metric: Metric = "loss"
    suppress: Spare = 0.0

    @property
    def undivided(self) -> str | None:
        """Levels are those of the whole table."""
        return ONE_LEVEL.format(name="checked-incognito", other="checked-mondrian")

    def publish(self, snapshot: Coded, history: History) -> Candidate:
        """Propose the next release."""
        past = SnapshotHistory.of(snapshot, history)
        spare = int(self.suppress * len(snapshot))
        outliers = find_outliers(snapshot.codes, snapshot.domains, self.k, spare, ~past.fresh)
        made, left = try_leaving_out(outliers, snapshot.codes, lambda out: self._generalize(past, history, out))
        none = Counterfeits.none(len(snapshot.domains))
        steps = (*made.steps, *say_left_out(int(left.sum()), self.k))
        return Candidate(made.boxes, made.classes, none, steps, extras=self.extras())

    def remember(self, caches: Mapping[str, Table], release: Facts) -> Mapping[str, Table]:
        """As every checked strategy, and the boxes of all releases: few classes, so that none is read again."""
        return {**super().remember(caches, release), BOXES: with_class_boxes(caches, release)}

    def _generalize(self, past: SnapshotHistory, history: History, outliers: Bool) -> _GeneralizedRows:
        """The best safe levels of the rows without these outliers, int32[rows] the class of each."""
        rows = self._rows(past, history, outliers)
        domains = past.snapshot.domains
        search = LatticeSearch(rows.codes, rows.values, domains, rows.limits)
        node, checked = self._best(search, rows)
        partition = apply_levels(search.ladders, rows.codes, node)
        how = f", {checked:,} nodes checked against {len(history):,} earlier releases" if len(history) else ""
        steps = ([] if rows.held is None else [rows.held]) + [_describe(domains, node, partition, how)]
        classes, sizes = rows.everyone(partition), np.bincount(partition.classes)
        lost = sum_lost_detail(partition.boxes, sizes, domains, len(classes) - len(rows.kept))
        return _GeneralizedRows(partition.boxes, classes, tuple(steps), lost)

    def _rows(self, past: SnapshotHistory, history: History, outliers: Bool) -> _RowsToPublish:
        """The rows to publish; raises InfeasiblePolicy unless they, taken as one class, meet the requirement.

        Beside outliers nobody is held back: where the other new rows cannot stand alone, it is refused.
        """
        snapshot = past.snapshot
        published, held = self.new_rows(past, outliers)
        kept = np.flatnonzero(published)
        counts = np.bincount(snapshot.values[kept], minlength=snapshot.value_count).astype(np.int64)
        refuse_infeasible(self.requirement, counts)
        return _RowsToPublish(self, past, history, kept, held, self.requirement.limits(counts))

    def _best(self, search: LatticeSearch, rows: _RowsToPublish) -> tuple[Node, int]:
        """The best node that is safe, and how many were checked against the earlier releases.

        Checking is what costs, so nodes are not checked that are no better than one already found safe.
        """
        passed, rank = search.find_satisfied(), rank_by(search, self.metric)
        chosen = min(minimal(passed), key=rank)
        if not len(rows.history):
            return chosen, 0
        leaves = Leaves(search.ladders, rows.codes)
        asked = dict[Node, str | None]()

        def safe(node: Node) -> bool:
            if node not in asked:
                asked[node] = rows.breach(leaves.at(node))
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


@dataclass(frozen=True, eq=False)
class _GeneralizedRows:
    """A proposal: boxes int32[classes, attributes, 2]; classes int32[rows]; lost, see `sum_lost_detail`."""

    boxes: Int32
    classes: Int32
    steps: tuple[str, ...]
    lost: float


@dataclass(frozen=True, eq=False)
class _RowsToPublish:
    """The rows of a snapshot that are to be published: int64[published] kept. held: why others are not."""

    strategy: CheckedIncognito
    past: SnapshotHistory
    history: History
    kept: Int64
    held: str | None
    limits: Limits

    @cached_property
    def codes(self) -> Int32:
        codes = self.past.snapshot.codes
        return codes if len(self.kept) == len(codes) else take_rows(codes, self.kept)

    @property
    def values(self) -> Int32:
        return self.past.snapshot.values[self.kept]

    def everyone(self, partition: Partition) -> Int32:
        """int32[rows]: the class of every row of the snapshot, -1 where it is held back."""
        classes = np.full(len(self.past.snapshot), -1, dtype=np.int32)
        classes[self.kept] = partition.classes
        return classes

    def breach(self, partition: Partition) -> str | None:
        """What these classes would give away beside the earlier releases; None if nothing."""
        return self._check.breach(self.everyone(partition), partition.boxes)

    @cached_property
    def _check(self) -> WholeCheck:
        return WholeCheck.of(self.strategy, self.past, self.history, self.kept)


def _describe(domains: Sequence[Domain], node: Node, partition: Partition, how: str) -> str:
    levels = ", ".join(f"{domain.name} {level}" for domain, level in zip(domains, node, strict=True))
    sizes = np.bincount(partition.classes)
    return (
        f"Grouped {len(partition.classes):,} rows into {len(sizes):,} classes of {sizes.min():,} to {sizes.max():,} "
        f"rows at levels {levels}{how}."
    )
