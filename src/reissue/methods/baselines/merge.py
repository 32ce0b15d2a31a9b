"""Merge: new rows are anonymized alone and appended to the classes published before. A baseline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from reissue.arrays.sets import sorted_unique
from reissue.arrays.types import Int32, Int64
from reissue.errors import InfeasiblePolicy
from reissue.methods.baselines.static import OneTable, anonymize, value_counts
from reissue.methods.strategy import ANYTHING, Changes
from reissue.model.feasible import refuse_infeasible
from reissue.model.release import Candidate, Coded, Counterfeits, Facts, History, Table
from reissue.model.requirement import classes_meet

ROWS, CLASSES, LINEAGE = "merge_rows", "merge_classes", "class_lineage"


@dataclass(frozen=True, kw_only=True)
class Merge(OneTable):
    """UNSAFE ONCE PEOPLE LEAVE OR CHANGE. Classes stay as first published; new rows form classes of their own.

    The "merge" baseline of Byun et al. (2006), section 6. While people are only added, every release repeats the
    earlier classes as they were, so laying releases side by side tells nothing new. When people leave, return or
    change, it promises nothing beyond each single release, and it is not checked against earlier ones.

    A row keeps the class, and the box, it was last published in, if its subject's codes and value are unchanged and the
    unchanged rows of that class which are here now still meet the requirement. All other rows (new subjects, changed
    ones, and those of classes that no longer hold) are anonymized together, apart from the kept classes.

    k, c, l, diversity, recursive_c: what every class must satisfy, see reissue.model.requirement
    algorithm: "mondrian" or "incognito", for the rows that form new classes
    on_few: what to do when these rows are too few for a class: "refuse", or "suppress" them all, which leaves them out
        of this release; they count as new again in the next one. Rows that are enough, but too alike, are refused:
        their absence would reveal that
    """

    name: ClassVar[str] = "merge"
    supports: ClassVar[Changes] = ANYTHING

    on_few: Literal["refuse", "suppress"] = "refuse"

    def publish(self, snapshot: Coded, history: History) -> Candidate:
        """Keep what still holds, anonymize the rest by itself, append."""
        lineage = _find_lineage(snapshot, history.caches)  # int64[rows], -1: to be anonymized now
        dissolved = self._dissolve(lineage, snapshot)
        fresh = np.flatnonzero(lineage < 0)
        kept = sorted_unique(lineage[lineage >= 0])
        classes = np.where(lineage < 0, -1, np.searchsorted(kept, lineage)).astype(np.int32)
        boxes = _recall_boxes(kept, history.caches, len(snapshot.domains))
        steps = [_kept_sentence(len(snapshot) - len(fresh), len(kept), dissolved)] if len(history) else []

        rest = _keep_rows(snapshot, fresh)
        infeasible = self._infeasible(rest) if len(fresh) or not len(kept) else None
        if infeasible is not None and (self.on_few == "refuse" or len(fresh) >= self.k or not len(kept)):
            raise infeasible
        if infeasible is not None:
            steps.append(f"Suppressed {len(fresh):,} rows that cannot be published by themselves: {infeasible}")
        elif len(fresh):
            partition, sentence = anonymize(rest, self.requirement, self.algorithm)
            classes[fresh] = partition.classes + np.int32(len(kept))
            boxes = np.concatenate([boxes, partition.boxes])
            steps.append(sentence)
        number = _next_number(history.caches)
        extras = {LINEAGE: np.concatenate([kept, number + np.arange(len(boxes) - len(kept))])}
        none = Counterfeits.none(len(snapshot.domains))
        return Candidate(boxes, classes, none, tuple(steps), extras=extras)

    def _dissolve(self, lineage: Int64, snapshot: Coded) -> int:
        """Set the rows of classes that no longer meet the requirement to -1, in place; returns how many classes."""
        labels, classes = np.unique(lineage, return_inverse=True)
        limits = self.requirement.limits(value_counts(snapshot))
        fails = ~classes_meet(limits, classes.astype(np.int32), snapshot.values, len(labels)) & (labels >= 0)
        lineage[fails[classes]] = -1
        return int(fails.sum())

    def _infeasible(self, rest: Coded) -> InfeasiblePolicy | None:
        try:
            refuse_infeasible(
                self.requirement, value_counts(rest), "rows that are new, changed or of dissolved classes"
            )
        except InfeasiblePolicy as error:
            return error
        return None

    def remember(self, caches: Mapping[str, Table], release: Facts) -> Mapping[str, Table]:
        """Per subject ever published its last class and row; per class its box. O(n log n).

        A class keeps one number, its lineage, through all releases; a release by another strategy starts new ones.
        """
        first = _next_number(caches)
        lineage = release.extras.get(LINEAGE, first + np.arange(release.class_count)).astype(np.int64)
        real = release.real
        now: dict[str, np.ndarray] = {
            "subject": release.subjects[real],
            "lineage": lineage[release.classes[real]],
            "value": release.values[real],
            **{f"code{a}": release.codes[real, a] for a in range(release.codes.shape[1])},
        }
        boxes: dict[str, np.ndarray] = {"lineage": lineage}
        for a in range(release.boxes.shape[1]):
            boxes[f"low{a}"], boxes[f"high{a}"] = release.boxes[:, a, 0], release.boxes[:, a, 1]
        return {
            **caches,
            ROWS: _overlay(caches.get(ROWS), now, "subject"),
            CLASSES: _overlay(caches.get(CLASSES), boxes, "lineage"),
        }

    def thresholds(self) -> Mapping[str, float]:
        return self.requirement.thresholds()


def _find_lineage(snapshot: Coded, caches: Mapping[str, Table]) -> Int64:
    """int64[rows]: the class each row was last published in, by its lineage; -1 if never, or if the row changed."""
    lineage = np.full(len(snapshot), -1, dtype=np.int64)
    rows = caches.get(ROWS)
    if rows is None or not len(rows["subject"]):
        return lineage
    at = np.minimum(np.searchsorted(rows["subject"], snapshot.subjects), len(rows["subject"]) - 1)
    same = (rows["subject"][at] == snapshot.subjects) & (rows["value"][at] == snapshot.values)
    for a in range(len(snapshot.domains)):
        same &= rows[f"code{a}"][at] == snapshot.codes[:, a]
    lineage[same] = rows["lineage"][at[same]]
    return lineage


def _recall_boxes(lineage: Int64, caches: Mapping[str, Table], attributes: int) -> Int32:
    """int32[n, attributes, 2]: the boxes of these classes."""
    boxes = np.empty((len(lineage), attributes, 2), dtype=np.int32)
    if len(lineage):
        known = caches[CLASSES]
        at = np.searchsorted(known["lineage"], lineage)
        for a in range(attributes):
            boxes[:, a, 0], boxes[:, a, 1] = known[f"low{a}"][at], known[f"high{a}"][at]
    return boxes


def _next_number(caches: Mapping[str, Table]) -> int:
    """A lineage number not used yet."""
    known = caches.get(CLASSES)
    return int(known["lineage"][-1]) + 1 if known is not None and len(known["lineage"]) else 0


def _overlay(old: Table | None, new: Table, key: str) -> Table:
    """Rows of both, ascending by key; where both have a key, the new row."""
    if old is None:
        order = np.argsort(new[key], kind="stable")
        return {name: column[order] for name, column in new.items()}
    stays = ~np.isin(old[key], new[key])
    order = np.argsort(np.concatenate([old[key][stays], new[key]]), kind="stable")
    return {name: np.concatenate([old[name][stays], column])[order] for name, column in new.items()}


def _keep_rows(snapshot: Coded, rows: np.ndarray) -> Coded:
    """The snapshot with these rows only."""
    return Coded(
        snapshot.subjects[rows],
        np.asfortranarray(snapshot.codes[rows]),
        snapshot.values[rows],
        snapshot.domains,
        snapshot.value_count,
    )


def _kept_sentence(rows: int, classes: int, dissolved: int) -> str:
    sentence = f"Kept {rows:,} rows in the {classes:,} classes they were published in before."
    if dissolved:
        sentence += (
            f" The rows of {dissolved:,} earlier classes, which no longer meet the requirement since members left or "
            "changed, are grouped anew."
        )
    return sentence
