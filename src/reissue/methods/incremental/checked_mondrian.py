"""Checked Mondrian: median cuts, each accepted only if it is safe beside every earlier release (Byun et al.)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reissue.arrays.sorting import sort_by_bucket
from reissue.arrays.types import Float64, Int32, Int64
from reissue.methods.incremental.checked import CheckedStrategy, SnapshotHistory, compact_labels, refuse_unsafe
from reissue.methods.incremental.recut.recut import Past, recut_all
from reissue.methods.incremental.recut.routing import route
from reissue.methods.incremental.whole_check import WholeCheck
from reissue.model.boxes import bounding_boxes, losses, widen_to_nodes
from reissue.model.feasible import refuse_infeasible
from reissue.model.release import Candidate, Coded, Counterfeits, History
from reissue.model.requirement import classes_meet
from reissue.partition.mondrian import mondrian
from reissue.partition.tables import build_forest, copy_rows, cut_buffers


@dataclass(frozen=True, kw_only=True)
class CheckedMondrian(CheckedStrategy):
    """(k,c)-anonymity that survives laying all releases side by side, for series in which people are only added.

    Classes that ever shared a subject form a cluster; nothing outside a cluster matters to it. New rows are routed to
    the clusters they lie in, by cuts that follow the clusters' boundaries. Where they are many and diverse enough, the
    cluster and its new rows are cut anew from one class down, every cut checked exactly against every earlier release;
    if that loses less than leaving the cluster as it was and cutting the new rows apart, it is published.
    """

    name: ClassVar[str] = "checked-mondrian"

    def publish(self, snapshot: Coded, history: History) -> Candidate:
        """Propose the next release."""
        past = SnapshotHistory.of(snapshot, history)
        if not len(past.running.subjects):
            return self._first(snapshot)
        published, held = self.new_rows(past)
        steps = [] if held is None else [held]
        if past.safe:
            classes, said = self._recut(past, np.flatnonzero(published))
        else:
            classes, said = self._beside_foreign(past, np.flatnonzero(published), history)
        return self.candidate(snapshot, classes, (*steps, said))

    def candidate(self, snapshot: Coded, classes: Int64, steps: tuple[str, ...]) -> Candidate:
        """A release with these classes (int64[rows], any numbers; -1: left out), the boxes as narrow as can be."""
        own = compact_labels(classes)
        boxes = widen_to_nodes(bounding_boxes(snapshot.codes, own, int(own.max()) + 1), snapshot.domains)
        return Candidate(boxes, own, Counterfeits.none(len(snapshot.domains)), steps, extras=self.extras())

    def _first(self, snapshot: Coded) -> Candidate:
        counts = np.bincount(snapshot.values, minlength=snapshot.value_count).astype(np.int64)
        refuse_infeasible(self.requirement, counts)
        partition = mondrian(snapshot.codes, snapshot.values, snapshot.domains, self.requirement.limits(counts))
        said = f"Grouped {len(snapshot):,} rows into {len(partition.boxes):,} classes by median cuts (first release)."
        none = Counterfeits.none(len(snapshot.domains))
        return Candidate(partition.boxes, partition.classes, none, (said,), extras=self.extras())

    def _recut(self, past: SnapshotHistory, kept: Int64) -> tuple[Int64, str]:
        """Route the new rows to clusters, then cut every cluster that gains by it anew."""
        snapshot, running = past.snapshot, past.running
        fresh = kept[past.fresh[kept]]
        classes = np.full(len(snapshot), -1, dtype=np.int64)
        classes[kept] = past.last_class[kept]
        if len(fresh) == 0:
            return classes, "No new rows: every class stays as it was."
        forest = build_forest(snapshot.domains)
        limits = self.requirement.limits(np.bincount(snapshot.values[kept], minlength=snapshot.value_count))
        scratch = cut_buffers(forest, snapshot.value_count)
        cluster = np.where(past.fresh, -1, running.cluster[past.cell]).astype(np.int64)
        boxes = bounding_boxes(snapshot.codes, cluster, int(running.cluster.max()) + 1)
        codes = np.ascontiguousarray(snapshot.codes)  # whole rows are gathered from it, and lie together there
        row_leaf, cluster_leaf = route(codes[fresh], snapshot.values[fresh], boxes, forest, limits, scratch)
        leaf = np.empty(len(kept), dtype=np.int64)
        new = past.fresh[kept]
        leaf[new], leaf[~new] = row_leaf, cluster_leaf[cluster[kept[~new]]]
        start, order = sort_by_bucket(leaf, int(max(row_leaf.max(), cluster_leaf.max(initial=0))) + 1)
        at = kept[order]
        rows = copy_rows(codes[at], snapshot.values[at])
        known = Past(
            past.cell[at],
            running.chain,
            int(running.chain.max()) + 1,
            running.values.start,
            running.values.value,
            running.values.count,
            running.boxes,
        )
        apart = self._apart(past, classes, fresh)
        lost = self._losses(snapshot, apart)[at]
        label, used, recut, broken_off = recut_all(rows, start, known, lost, forest, limits, snapshot.value_count)
        if recut == 0:
            return apart, _describe(len(fresh), 0, 0, broken_off, running.chain.shape[1])
        changed = label >= 0
        classes[at[changed]] = label[changed] + int(classes.max()) + 1
        alone = at[~changed & past.fresh[at]]
        ways = [apart, self._apart(past, classes, alone)]
        differ = at[changed | past.fresh[at]]  # all others are in the same classes whichever way
        best = int(np.argmin([self._losses(snapshot, way, differ).sum() for way in ways]))
        told = (len(alone), recut, used) if best else (len(fresh), 0, 0)
        return ways[best], _describe(*told, broken_off, running.chain.shape[1])

    def _apart(self, past: SnapshotHistory, classes: Int64, fresh: Int64) -> Int64:
        """The classes with these new rows cut among themselves."""
        if len(fresh) == 0:
            return classes
        snapshot, result = past.snapshot, classes.copy()
        values = snapshot.values[fresh]
        limits = self.requirement.limits(np.bincount(values, minlength=snapshot.value_count))
        own = mondrian(snapshot.codes[fresh], values, snapshot.domains, limits).classes
        result[fresh] = own.astype(np.int64) + int(classes.max()) + 1
        return result

    def _losses(self, snapshot: Coded, classes: Int64, rows: Int64 | None = None) -> Float64:
        """float64[rows]: what each row loses (its part of AIL, weighed); `rows`: some that make up whole classes."""
        codes = snapshot.codes if rows is None else snapshot.codes[rows]
        own = compact_labels(classes if rows is None else classes[rows])
        boxes = widen_to_nodes(bounding_boxes(codes, own, int(own.max()) + 1), snapshot.domains)
        weights = np.array([domain.weight for domain in snapshot.domains])
        return np.asarray((losses(boxes, snapshot.domains) @ weights)[own], dtype=np.float64)

    def _beside_foreign(self, past: SnapshotHistory, kept: Int64, history: History) -> tuple[Int64, str]:
        """After releases that were not checked for this k and c: keep their classes if that is safe, else one class."""
        check = WholeCheck.of(self, past, history, kept)
        classes = np.full(len(past.snapshot), -1, dtype=np.int64)
        classes[kept] = past.last_class[kept]
        fresh, old = kept[past.fresh[kept]], kept[~past.fresh[kept]]
        if (past.last_class[old] >= 0).all():
            classes = self._apart(past, classes, fresh)
            if self._fits(past, classes) and self._reason(check, past, classes) is None:
                return classes, "Kept the classes of the release before; new rows form classes of their own."
        classes[kept] = 0
        reason = self._reason(check, past, classes)
        if reason is not None:
            raise refuse_unsafe(reason, self.name)
        return classes, "Beside the earlier releases only one class for everybody is safe."

    def _fits(self, past: SnapshotHistory, classes: Int64) -> bool:
        """Whether every class meets (k,c) by itself."""
        own: Int32 = compact_labels(classes)
        limits = self.requirement.limits(np.bincount(past.snapshot.values, minlength=past.snapshot.value_count))
        return bool(classes_meet(limits, own, past.snapshot.values, int(own.max()) + 1).all())

    def _reason(self, check: WholeCheck, past: SnapshotHistory, classes: Int64) -> str | None:
        own = compact_labels(classes)
        boxes = widen_to_nodes(bounding_boxes(past.snapshot.codes, own, int(own.max()) + 1), past.snapshot.domains)
        return check.breach(own, boxes)


def _describe(alone: int, recut: int, used: int, broken_off: int, earlier: int) -> str:
    kept = f"Old classes stay as they were published and {alone:,} new rows form classes of their own"
    rest = f" In {broken_off:,} places not all cuts were tried: their checks took too many steps." if broken_off else ""
    if recut == 0:
        return (
            f"{kept}: cutting old and new rows together gains nothing that is safe beside {earlier:,} releases.{rest}"
        )
    return (
        f"In {recut:,} places old and new rows were cut together into {used:,} classes, each cut checked against "
        f"{earlier:,} earlier releases. Elsewhere: {kept[0].lower()}{kept[1:]}.{rest}"
    )
