"""A release for second checks: class by class in dictionaries, by code that no attack and no strategy uses."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from reissue.arrays.types import Bool, Int32, Int64
from reissue.model.observed import ObservedRelease

FEW = 60
"""Releases that have so few classes in all are looked at whole."""


class PlainRelease:
    """One release; only the classes that were asked for are in `counts` and `people`.

    counts: int64[values] of all rows of a class; people: int64[members of a class], their positions in `subjects`
    """

    def __init__(self, release: ObservedRelease, values: int) -> None:
        assert release.members is not None
        self.number, self.boxes, self.members = release.number, release.boxes, release.members
        self.subjects, self.classes = release.members.subjects, release.members.classes
        self.all_real = len(release.classes) == len(self.classes)
        self._rows, self._values, self._amounts = (release.classes, release.values), values, release.amounts
        self.counts: dict[int, Int64] = {}
        self.people: dict[int, Int64] = {}

    def find_classes(self, subjects: Int64) -> Int32:
        """int32[n]: the class of each subject, -1 of one who is not in the release."""
        if len(self.subjects) == 0:
            return np.full(len(subjects), -1, dtype=np.int32)
        at = np.minimum(np.searchsorted(self.subjects, subjects), len(self.subjects) - 1)
        return np.where(self.subjects[at] == subjects, self.classes[at], np.int32(-1))

    def count_values(self, classes: Iterable[int]) -> None:
        """Fill `counts` of some classes. O(rows)."""
        new, place = self._number({*classes} - self.counts.keys())
        if new:
            rows, values = self._rows
            here = np.flatnonzero(place[rows] >= 0)
            amounts = None if self._amounts is None else self._amounts[here]
            key = place[rows[here]] * self._values + values[here]
            counts = np.bincount(key, amounts, minlength=len(new) * self._values).astype(np.int64)
            self.counts.update(zip(new, counts.reshape(len(new), -1), strict=True))

    def find_people(self, classes: Iterable[int]) -> None:
        """Fill `people` of some classes. O(rows)."""
        new, place = self._number({*classes} - self.people.keys())
        if new:
            here = np.flatnonzero(place[self.classes] >= 0)
            own = place[self.classes[here]]
            ends = np.cumsum(np.bincount(own, minlength=len(new)))[:-1]
            self.people.update(zip(new, np.split(here[np.argsort(own, kind="stable")], ends), strict=True))

    def _number(self, classes: set[int]) -> tuple[list[int], Int64]:
        """(the classes, int64[all classes] the place of each among them, -1 if it is not)."""
        new, place = sorted(classes), np.full(len(self.boxes), -1)
        place[new] = np.arange(len(new))
        return new, place

    def find_meeting(self, box: Int32) -> list[int]:
        """The classes whose boxes meet one: int32[attributes, 2]."""
        return [*np.flatnonzero(meet_boxes(self.boxes, box)).tolist()]


def meet_boxes(boxes: Int32, one: Int32) -> Bool:
    """bool[boxes]: whether each of int32[boxes, attributes, 2] meets one of int32[attributes, 2]."""
    return np.asarray(((boxes[..., 0] <= one[:, 1]) & (one[:, 0] <= boxes[..., 1])).all(axis=-1), dtype=np.bool_)


def draw_some(rng: np.random.Generator, count: int, some: tuple[int, int], rows: int) -> Int64:
    """int64[]: some[0] of the numbers below `count`, and one more for every some[1] rows; all if they are that few."""
    most = some[0] + rows // some[1]
    return np.arange(count) if count <= most else np.sort(rng.choice(count, most, replace=False))
