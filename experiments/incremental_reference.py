"""How fine a release could be: median cuts, each tried against the exact attacks on the whole release. Slow.

From one class for everybody this is the anonymizer of Byun et al., section 5.2, with exact checks instead of the
simplified ones of their experiments. From what checked Mondrian publishes it shows which cuts that left undone.
"""

from __future__ import annotations

import numpy as np

from reissue.arrays.types import Int64
from reissue.methods.baselines.merge import Merge
from reissue.methods.baselines.static import Static
from reissue.methods.incremental.checked import SnapshotHistory, compact_labels
from reissue.methods.incremental.checked_mondrian import CheckedMondrian
from reissue.methods.incremental.whole_check import WholeCheck
from reissue.model.boxes import bounding_boxes, widen_to_nodes
from reissue.model.release import Coded, Facts, History, Table
from reissue.partition.cuts import measure, try_cut
from reissue.partition.tables import build_forest, copy_rows, cut_buffers
from reissue.utility.measure import ail


def tightened(strategy: CheckedMondrian, snapshot: Coded, history: History, classes: Int64) -> Int64:
    """The classes, cut at medians wherever none of the three attacks then finds anything in the whole release."""
    check = WholeCheck.of(strategy, SnapshotHistory.of(snapshot, history), history, np.arange(len(snapshot)))
    limits = strategy.requirement.limits(np.bincount(snapshot.values, minlength=snapshot.value_count))
    forest = build_forest(snapshot.domains)
    scratch = cut_buffers(forest, snapshot.value_count)

    def safe(label: Int64) -> bool:
        own = compact_labels(label)
        boxes = widen_to_nodes(bounding_boxes(snapshot.codes, own, int(own.max()) + 1), snapshot.domains)
        return check.breach(own, boxes) is None

    label, todo = classes.astype(np.int64), list(range(int(classes.max()) + 1))
    while todo:
        one, used = todo.pop(0), int(label.max()) + 1
        at = np.flatnonzero(label == one)
        rows = copy_rows(snapshot.codes[at], snapshot.values[at])
        for number in range(measure(rows, 0, len(at), forest, strategy.k, scratch)):
            parts = try_cut(rows, 0, len(at), number, forest, limits, scratch)
            cut = label.copy()
            for part in range(1, parts):
                cut[at[rows.ids[scratch.ends[part] : scratch.ends[part + 1]]]] = used + part - 1
            if parts and safe(cut):
                label, todo = cut, [*todo, one, *range(used, used + parts - 1)]
                break
    return label


def losses(snapshots: list[Coded], k: int, c: float) -> dict[str, list[float]]:
    """AIL per release: static and merged series; a checked series; and beside its history what else was possible."""
    strategy = CheckedMondrian(k=k, c=c)
    found: dict[str, list[float]] = {}
    for name, other in (("static", Static(k=k, c=c)), ("merged", Merge(k=k, c=c))):
        found[name] = [ail(facts, snapshots[0].domains) for facts in _series(other, snapshots)]
    releases: list[Facts] = []
    caches: dict[str, Table] = {}
    for number, snapshot in enumerate(snapshots, start=1):
        history = History(releases, caches, number)
        classes = strategy.publish(snapshot, history).classes.astype(np.int64)
        made = {"checked": classes, "checked, every cut tried on the whole release": classes, "top-down": classes}
        if number > 1:
            made["checked, every cut tried on the whole release"] = tightened(strategy, snapshot, history, classes)
            made["top-down"] = tightened(strategy, snapshot, history, np.zeros_like(classes))
        facts = {name: strategy.candidate(snapshot, own, ()).facts(number, snapshot) for name, own in made.items()}
        for name, one in facts.items():
            found.setdefault(name, []).append(ail(one, snapshot.domains))
        releases.append(facts["checked"])
        caches = dict(strategy.remember(caches, releases[-1]))
    return found


def _series(strategy: Static | Merge, snapshots: list[Coded]) -> list[Facts]:
    releases: list[Facts] = []
    caches: dict[str, Table] = {}
    for number, snapshot in enumerate(snapshots, start=1):
        releases.append(strategy.publish(snapshot, History(releases, caches, number)).facts(number, snapshot))
        if isinstance(strategy, Merge):
            caches = dict(strategy.remember(caches, releases[-1]))
    return releases
