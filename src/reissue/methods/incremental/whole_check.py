"""A whole candidate release beside every earlier one: the exact checks of strategies that change everything at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from reissue.arrays.sets import sorted_unique
from reissue.arrays.types import Int32, Int64
from reissue.methods.incremental.checked import CheckedStrategy, SnapshotHistory
from reissue.methods.incremental.difference import gaps
from reissue.methods.incremental.running_knowledge import most_frequent
from reissue.methods.incremental.tracing import traces
from reissue.methods.incremental.tracing_filter import Laid
from reissue.model.box_index import Points
from reissue.model.observed import Groups
from reissue.model.overlap import Overlap, intersect_groups
from reissue.model.release import Facts, History, Table

BOXES = "class_boxes"
"""The cache of all published boxes, kept by strategies with few classes."""


@dataclass(frozen=True, eq=False)
class EarlierRelease:
    """One earlier release as the checks need it.

    subjects: int64[people] ascending; classes, values: int32[people]; codes: int32[people, attributes]
    boxes: int32[classes, attributes, 2]; groups: the values of all rows of each class
    """

    number: int
    subjects: Int64
    classes: Int32
    values: Int32
    codes: Int32
    boxes: Int32
    groups: Groups

    @staticmethod
    def of_facts(facts: Facts, value_count: int) -> EarlierRelease:
        """From what was published, whoever made it."""
        real = facts.real
        groups = Groups.of(facts.classes, facts.values, facts.class_count, value_count)
        people = facts.subjects[real], facts.classes[real], facts.values[real], facts.codes[real]
        return EarlierRelease(facts.number, *people, facts.boxes, groups)

    @staticmethod
    def of_history(past: SnapshotHistory, position: int, boxes: Int32) -> EarlierRelease:
        """From the history table: nobody has left or changed, so everybody is in the snapshot as then."""
        running, snapshot = past.running, past.snapshot
        there = np.flatnonzero(past.cell >= 0)
        there = there[running.chain[past.cell[there], position] >= 0]
        there = there[np.argsort(snapshot.subjects[there], kind="stable")]
        classes, values = running.chain[past.cell[there], position], snapshot.values[there]
        groups = Groups.of(classes, values, len(boxes), snapshot.value_count)
        return EarlierRelease(
            position + 1, snapshot.subjects[there], classes, values, snapshot.codes[there], boxes, groups
        )

    @cached_property
    def people(self) -> Points:
        """Where the members lie in code space."""
        return Points(self.codes)


@dataclass(frozen=True, eq=False)
class WholeCheck:
    """Checks a whole candidate release against every earlier one, exactly; for any recoding and any history.

    rows: int64[published], the rows of the snapshot that the candidates publish, by subject
    """

    k: int
    share: tuple[int, int]
    past: SnapshotHistory
    earlier: Sequence[EarlierRelease]
    rows: Int64

    @staticmethod
    def of(strategy: CheckedStrategy, past: SnapshotHistory, history: History, kept: Int64) -> WholeCheck:
        """From the history table where it tells all; else the earlier releases are read. kept: rows to be published."""
        known = class_boxes(history.caches, len(history), len(past.snapshot.domains)) if past.whole else None
        if known is not None:
            earlier = [EarlierRelease.of_history(past, i, boxes) for i, boxes in enumerate(known)]
        else:
            earlier = [EarlierRelease.of_facts(facts, past.snapshot.value_count) for facts in history.releases]
        rows = kept[np.argsort(past.snapshot.subjects[kept], kind="stable")]
        return WholeCheck(strategy.k, strategy.share, past, earlier, rows)

    @cached_property
    def subjects(self) -> Int64:
        """int64[published], ascending."""
        return self.past.snapshot.subjects[self.rows]

    @cached_property
    def values(self) -> Int32:
        """int32[published], by subject."""
        return self.past.snapshot.values[self.rows]

    def breach(self, classes: Int32, boxes: Int32) -> str | None:
        """The first thing a release with these classes (int32[rows], -1: left out) would give away; None if nothing."""
        subjects, own = self.subjects, classes[self.rows]
        groups = Groups.of(own, self.values, len(boxes), self.past.snapshot.value_count)
        if self._common_value(subjects, own, groups, boxes):
            return "the classes of some people would have too few values in common (intersection)"
        for older in reversed(self.earlier):
            number = older.number
            overlap = Overlap.of(older.subjects, older.classes, subjects, own, len(older.boxes), len(boxes))
            for left, right, laid in ((older.groups, groups, overlap), (groups, older.groups, overlap.swap_sides())):
                if gaps(left, right, laid, self.k, self.share, 1).total:
                    return f"classes laid over those of release {number} would leave too few people (difference)"
            if self._traced(older, overlap, groups, boxes):
                return f"rows of release {number} could be traced to too few people (record tracing)"
        return None

    def _common_value(self, subjects: Int64, own: Int32, groups: Groups, boxes: Int32) -> bool:
        """Whether what is left possible for some people (IS), cut with their class, has a value above c."""
        running = self.past.running
        met = Overlap.of(running.subjects, running.cell, subjects, own, len(running.first), len(boxes))
        common = intersect_groups(running.values, groups, met.left, met.right)
        _, most = most_frequent(common)
        return bool((most * self.share[1] > common.sizes * self.share[0]).any())

    def _traced(self, older: EarlierRelease, overlap: Overlap, groups: Groups, boxes: Int32) -> bool:
        members = older.people.codes, older.classes, older.values
        sides = (older.boxes, older.groups), (boxes, groups)
        laid = Laid.of(*sides, overlap, members, self.past.snapshot.value_count, self.k)
        return not laid.quiet and len(traces(laid, (older.boxes, boxes), older.people)) > 0


def with_class_boxes(caches: Mapping[str, Table], release: Facts) -> Table:
    """The table of all published boxes after one more release: columns release, lo0, hi0, lo1, ..., class by class."""
    now: dict[str, NDArray[np.generic]] = {"release": np.full(release.class_count, release.number, dtype=np.int64)}
    for a in range(release.boxes.shape[1]):
        now[f"lo{a}"], now[f"hi{a}"] = release.boxes[:, a, 0], release.boxes[:, a, 1]
    before = caches.get(BOXES)
    return now if before is None else {name: np.concatenate([before[name], column]) for name, column in now.items()}


def class_boxes(caches: Mapping[str, Table], releases: int, attributes: int) -> list[Int32] | None:
    """The boxes of every earlier release, int32[classes, attributes, 2] each; None if the caches do not have them."""
    table = caches.get(BOXES)
    if table is None or len(sorted_unique(np.asarray(table["release"], dtype=np.int64))) != releases:
        return None
    boxes = np.empty((len(table["release"]), attributes, 2), dtype=np.int32)
    for a in range(attributes):
        boxes[:, a, 0], boxes[:, a, 1] = table[f"lo{a}"], table[f"hi{a}"]
    return [boxes[table["release"] == number] for number in range(1, releases + 1)]
