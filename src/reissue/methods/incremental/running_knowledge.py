"""What is known of every subject after each release: the values it can have had (IS) and the box it must lie in (IQ).

Subjects that shared their classes all along share one cell; what is known is kept per cell, not per subject.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reissue.arrays.compiled import njit
from reissue.arrays.sets import bipartite_components
from reissue.arrays.types import NO_NUMBERS, Bool, Int32, Int64
from reissue.model.observed import Groups
from reissue.model.overlap import Overlap, intersect_groups, stack_groups
from reissue.model.release import Table, take_numbers


@dataclass(frozen=True, eq=False)
class RunningKnowledge:
    """subjects: int64[people] ascending; cell: int64[people]

    values: of each cell, the multiset intersection of its classes' values (IS)
    boxes: int32[cells, attributes, 2], the intersection of its classes' boxes (IQ)
    first: int64[cells] number of the first release; seen: int64[cells] in how many releases
    chain: int32[cells, releases], the class in each release, -1 where it was not there
    cluster: int64[cells], a number for all cells that are tied by classes, directly or through others
    """

    subjects: Int64
    cell: Int64
    values: Groups
    boxes: Int32
    first: Int64
    seen: Int64
    chain: Int32
    cluster: Int64

    @staticmethod
    def empty(attributes: int) -> RunningKnowledge:
        groups = Groups(np.zeros(1, dtype=np.int64), NO_NUMBERS.astype(np.int32), NO_NUMBERS)
        boxes, chain = np.empty((0, attributes, 2), dtype=np.int32), np.empty((0, 0), dtype=np.int32)
        return RunningKnowledge(NO_NUMBERS, NO_NUMBERS, groups, boxes, NO_NUMBERS, NO_NUMBERS, chain, NO_NUMBERS)

    def after(self, number: int, subjects: Int64, classes: Int32, groups: Groups, boxes: Int32) -> RunningKnowledge:
        """With one more release: subjects ascending, their classes, the classes' values and boxes. O(people + cells).

        Subjects that are not in the release keep their cell as it is.
        """
        overlap = Overlap.of(self.subjects, self.cell, subjects, classes, len(self.first), len(boxes))
        links = len(overlap.left)
        stays, fresh = np.ones(len(self.subjects), np.bool_), np.ones(len(subjects), np.bool_)
        stays[overlap.at_left], fresh[overlap.at_right] = False, False
        old, old_place = np.unique(self.cell[stays], return_inverse=True)
        new, new_place = np.unique(classes[fresh], return_inverse=True)
        everybody = np.concatenate([subjects[overlap.at_right], subjects[fresh], self.subjects[stays]])
        cell = np.concatenate([overlap.link, links + new_place, links + len(new) + old_place])
        order = np.argsort(everybody, kind="stable")
        kept, joined = self.boxes[overlap.left], boxes[overlap.right]
        met = np.stack([np.maximum(kept[..., 0], joined[..., 0]), np.minimum(kept[..., 1], joined[..., 1])], axis=-1)
        chain = np.full((links + len(new) + len(old), self.chain.shape[1] + 1), -1, dtype=np.int32)
        chain[:links, :-1], chain[links + len(new) :, :-1] = self.chain[overlap.left], self.chain[old]
        chain[:links, -1], chain[links : links + len(new), -1] = overlap.right, new
        tied = _tie(self.cluster, overlap, new, old, len(boxes))
        return RunningKnowledge(
            everybody[order],
            cell[order],
            stack_groups(
                intersect_groups(self.values, groups, overlap.left, overlap.right),
                groups.pick(new),
                self.values.pick(old),
            ),
            np.concatenate([met, boxes[new], self.boxes[old]]),
            np.concatenate([self.first[overlap.left], np.full(len(new), number), self.first[old]]),
            np.concatenate([self.seen[overlap.left] + 1, np.ones(len(new), dtype=np.int64), self.seen[old]]),
            chain,
            tied,
        )

    def only(self, kept: Bool) -> RunningKnowledge:
        """Of some of its people: bool[people]."""
        cells, place = np.unique(self.cell[kept], return_inverse=True)
        own = self.boxes[cells], self.first[cells], self.seen[cells], self.chain[cells], self.cluster[cells]
        return RunningKnowledge(self.subjects[kept], place, self.values.pick(cells), *own)

    def tables(self) -> dict[str, Table]:
        """As the ledger's caches hold it: columns of equal length."""
        cells: dict[str, NDArray[np.generic]] = {"first": self.first, "seen": self.seen, "cluster": self.cluster}
        for n in range(self.chain.shape[1]):
            cells[f"class{n + 1}"] = self.chain[:, n]
        for a in range(self.boxes.shape[1]):
            cells[f"lo{a}"], cells[f"hi{a}"] = self.boxes[:, a, 0], self.boxes[:, a, 1]
        values: Table = {"cell": self.values.classes, "value": self.values.value, "count": self.values.count}
        return {"people": {"subject": self.subjects, "cell": self.cell}, "cells": cells, "values": values}

    @staticmethod
    def of_tables(tables: Mapping[str, Table], attributes: int) -> RunningKnowledge:
        """Back from the caches."""
        if "people" not in tables:
            return RunningKnowledge.empty(attributes)
        people, cells, values = tables["people"], tables["cells"], tables["values"]
        first, seen, cluster = take_numbers(cells, "first", "seen", "cluster")
        boxes = np.empty((len(first), attributes, 2), dtype=np.int32)
        for a in range(attributes):
            boxes[:, a, 0], boxes[:, a, 1] = cells[f"lo{a}"], cells[f"hi{a}"]
        own, count = take_numbers(values, "cell", "count")
        groups = Groups.from_sorted(own, np.asarray(values["value"], dtype=np.int32), count, len(first))
        subject, cell = take_numbers(people, "subject", "cell")
        releases = sum(name.startswith("class") for name in cells)
        chain = np.empty((len(first), releases), dtype=np.int32)
        for n in range(releases):
            chain[:, n] = cells[f"class{n + 1}"]
        return RunningKnowledge(subject, cell, groups, boxes, first, seen, chain, cluster)


def _tie(cluster: Int64, overlap: Overlap, new: Int32 | Int64, old: Int64, classes: int) -> Int64:
    """int64[cells]: clusters after a release: those that its classes tie together become one."""
    clusters = int(cluster.max(initial=-1)) + 1
    label, class_label = bipartite_components(cluster[overlap.left], overlap.right, clusters, classes)
    tied = np.concatenate([label[cluster[overlap.left]], class_label[new], label[cluster[old]]])
    return np.unique(tied, return_inverse=True)[1].astype(np.int64)


def most_frequent(groups: Groups) -> tuple[Int32, Int64]:
    """(value, count) of the most frequent value of each class, the lowest value among equals; -1 and 0 if empty."""
    return _most_frequent(*groups.arrays)


@njit(cache=True)
def _most_frequent(start: Int64, value: Int32, count: Int64) -> tuple[Int32, Int64]:
    top, times = np.full(len(start) - 1, -1, np.int32), np.zeros(len(start) - 1, np.int64)
    for one in range(len(start) - 1):
        for p in range(start[one], start[one + 1]):
            if count[p] > times[one]:
                top[one], times[one] = value[p], count[p]
    return top, times
