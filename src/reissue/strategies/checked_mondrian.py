"""Checked Mondrian: median cuts, each accepted only if it is safe beside every earlier release (Byun et al.)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reissue.core.boxes import hulls, snap
from reissue.core.domain import Int32, Int64
from reissue.core.feasible import refuse_infeasible
from reissue.core.localcheck import desk
from reissue.core.mondrian import Rows, forest_of, mondrian, scratch_of
from reissue.core.overlap import by_bucket
from reissue.core.recut import Past, recut_all
from reissue.core.requirements import classes_meet
from reissue.core.routing import route
from reissue.core.snapshot import Candidate, Coded, Counterfeits, History
from reissue.strategies.checking import Beside, Checked, Standing, numbered, refuse_unsafe


@dataclass(frozen=True, kw_only=True)
class CheckedMondrian(Checked):
    """(k,c)-anonymity that survives laying all releases side by side, for series in which people are only added.

    Classes that ever shared a subject form a cluster; nothing outside a cluster matters to it. New rows are routed to
    the clusters they lie in, by cuts that follow the clusters' boundaries. Where they are many and diverse enough, the
    cluster and its new rows are cut anew from one class down, every cut checked exactly against every earlier release;
    if that loses less than leaving the cluster as it was and cutting the new rows apart, it is published.
    """

    name: ClassVar[str] = "checked-mondrian"

    def publish(self, snapshot: Coded, history: History) -> Candidate:
        """Propose the next release."""
        past = Standing.of(snapshot, history)
        if not len(past.running.subjects):
            return self._first(snapshot)
        published, held = self.new_rows(past)
        steps = [] if held is None else [held]
        if past.safe:
            classes, said = self._recut(past, np.flatnonzero(published))
        else:
            classes, said = self._beside_foreign(past, np.flatnonzero(published), history)
        return self._candidate(snapshot, classes, (*steps, said))

    def _candidate(self, snapshot: Coded, classes: Int64, steps: tuple[str, ...]) -> Candidate:
        own = numbered(classes)
        boxes = snap(hulls(snapshot.codes, own, int(own.max()) + 1), snapshot.domains)
        return Candidate(boxes, own, Counterfeits.none(len(snapshot.domains)), steps, extras=self.extras())

    def _first(self, snapshot: Coded) -> Candidate:
        counts = np.bincount(snapshot.values, minlength=snapshot.value_count).astype(np.int64)
        refuse_infeasible(self.requirement, counts)
        partition = mondrian(snapshot.codes, snapshot.values, snapshot.domains, self.requirement.limits(counts))
        said = f"Grouped {len(snapshot):,} rows into {len(partition.boxes):,} classes by median cuts (first release)."
        none = Counterfeits.none(len(snapshot.domains))
        return Candidate(partition.boxes, partition.classes, none, (said,), extras=self.extras())

    def _recut(self, past: Standing, kept: Int64) -> tuple[Int64, str]:
        """Route the new rows to clusters, then cut every cluster that gains by it anew."""
        snapshot, running = past.snapshot, past.running
        fresh = kept[past.fresh[kept]]
        classes = np.full(len(snapshot), -1, dtype=np.int64)
        classes[kept] = past.last_class[kept]
        if len(fresh) == 0:
            return classes, "No new rows: every class stays as it was."
        forest = forest_of(snapshot.domains)
        limits = self.requirement.limits(np.bincount(snapshot.values[kept], minlength=snapshot.value_count))
        scratch = scratch_of(forest, snapshot.value_count)
        cluster = np.where(past.fresh, -1, running.cluster[past.cell]).astype(np.int64)
        boxes = hulls(snapshot.codes, cluster.astype(np.int32), int(running.cluster.max()) + 1)
        codes = np.ascontiguousarray(snapshot.codes[fresh])
        row_leaf, cluster_leaf = route(codes, snapshot.values[fresh], boxes, forest, limits, scratch)
        leaf = np.empty(len(kept), dtype=np.int64)
        new = past.fresh[kept]
        leaf[new], leaf[~new] = row_leaf, cluster_leaf[cluster[kept[~new]]]
        start, order = by_bucket(leaf, int(max(row_leaf.max(), cluster_leaf.max(initial=0))) + 1)
        at = kept[order]
        rows = Rows(np.ascontiguousarray(snapshot.codes[at]), snapshot.values[at], np.arange(len(at)))
        known = Past(
            past.cell[at],
            running.chain,
            int(running.chain.max()) + 1,
            running.values.start,
            running.values.value,
            running.values.count,
        )
        label, used, recut = recut_all(rows, start, known, forest, limits, scratch, desk())
        changed = label >= 0
        classes[at[changed]] = label[changed] + int(classes.max()) + 1
        alone = at[~changed & past.fresh[at]]
        if len(alone):
            codes, values = snapshot.codes[alone], snapshot.values[alone]
            classes[alone] = mondrian(codes, values, snapshot.domains, limits).classes + np.int64(classes.max() + 1)
        said = (
            f"Routed {len(fresh):,} new rows to {len(start) - 1:,} places; in {recut:,} of them old and new rows were "
            f"cut together into {used:,} classes, each cut checked against {running.chain.shape[1]:,} earlier "
            f"releases; elsewhere old classes stay and {len(alone):,} new rows form classes of their own."
        )
        return classes, said

    def _beside_foreign(self, past: Standing, kept: Int64, history: History) -> tuple[Int64, str]:
        """After releases that were not checked for this k and c: keep their classes if that is safe, else one class."""
        check = Beside(self.k, self.share, past, history)
        classes = np.full(len(past.snapshot), -1, dtype=np.int64)
        classes[kept] = past.last_class[kept]
        fresh, old = kept[past.fresh[kept]], kept[~past.fresh[kept]]
        if (past.last_class[old] >= 0).all():
            if len(fresh):
                values = past.snapshot.values[fresh]
                limits = self.requirement.limits(np.bincount(values, minlength=past.snapshot.value_count))
                apart = mondrian(past.snapshot.codes[fresh], values, past.snapshot.domains, limits)
                classes[fresh] = apart.classes.astype(np.int64) + int(classes.max()) + 1
            if self._fits(past, classes) and self._reason(check, past, classes) is None:
                return classes, "Kept the classes of the release before; new rows form classes of their own."
        classes[kept] = 0
        reason = self._reason(check, past, classes)
        if reason is not None:
            raise refuse_unsafe(reason, self.name)
        return classes, "Beside the earlier releases only one class for everybody is safe."

    def _fits(self, past: Standing, classes: Int64) -> bool:
        """Whether every class meets (k,c) by itself."""
        own: Int32 = numbered(classes)
        limits = self.requirement.limits(np.bincount(past.snapshot.values, minlength=past.snapshot.value_count))
        return bool(classes_meet(limits, own, past.snapshot.values, int(own.max()) + 1).all())

    def _reason(self, check: Beside, past: Standing, classes: Int64) -> str | None:
        own = numbered(classes)
        boxes = snap(hulls(past.snapshot.codes, own, int(own.max()) + 1), past.snapshot.domains)
        return check.breach(own, boxes)
