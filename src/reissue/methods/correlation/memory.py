"""Who was in which class of which release, kept so that a new class is checked against all releases at once.

Classes of all releases are numbered through (release 1 first). A trail is the list of those numbers for one person, one
per release the person was in, so all trails together are as long as all releases.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.sets import find_starts, lookup
from reissue.arrays.types import NO_CODES, NO_NUMBERS, Int32, Int64
from reissue.methods.invariance.signatures import remember
from reissue.model.release import Facts, Table


@dataclass(frozen=True, eq=False)
class Trails:
    """The trails of everybody ever published, and of the counterfeits of the last release.

    subjects: int64[people] ascending; fakes: int64[fakes] ascending
    start:    int64[people + fakes + 1]; groups: int32[] the classes of each, people first
    sizes:    int32[classes of all releases] rows of each class
    """

    subjects: Int64
    fakes: Int64
    start: Int64
    groups: Int32
    sizes: Int32

    def of(self, subjects: Int64) -> tuple[Int64, Int64]:
        """(begin int64[n], end int64[n]): where the trail of each lies in groups; empty for those who are new."""
        return self._of(self.subjects, subjects, 0)

    def of_fakes(self, numbers: Int64) -> tuple[Int64, Int64]:
        """The same for counterfeits."""
        return self._of(self.fakes, numbers, len(self.subjects))

    def _of(self, table: Int64, wanted: Int64, offset: int) -> tuple[Int64, Int64]:
        at, there = lookup(table, wanted)
        begin, end = np.zeros(len(wanted), dtype=np.int64), np.zeros(len(wanted), dtype=np.int64)
        begin[there], end[there] = self.start[offset + at[there]], self.start[offset + at[there] + 1]
        return begin, end


def recall_trails(caches: Mapping[str, Table]) -> Trails:
    """The trails of the caches; a series without releases has none."""
    if "trails" not in caches:
        return Trails(NO_NUMBERS, NO_NUMBERS, np.zeros(1, dtype=np.int64), NO_CODES, NO_CODES)
    people, fakes = caches["subjects"], caches["counterfeits"]
    lived = np.concatenate([people["lived"], fakes["lived"]])
    return Trails(
        np.asarray(people["subject"], dtype=np.int64),
        np.asarray(fakes["subject"], dtype=np.int64),
        find_starts(lived),
        np.asarray(caches["trails"]["group"], dtype=np.int32),
        np.asarray(caches["classes"]["size"], dtype=np.int32),
    )


def remember_trails(caches: Mapping[str, Table], release: Facts) -> dict[str, Table]:
    """The caches of m-invariance after `release`, with trails. O(rows log rows + everything ever published)."""
    before, after = recall_trails(caches), remember(caches, release)
    people, fakes = after["subjects"], after["counterfeits"]
    subjects = np.asarray(people["subject"], dtype=np.int64)
    numbers = np.asarray(fakes["subject"], dtype=np.int64)
    group = (release.classes + len(before.sizes)).astype(np.int32)
    here = np.full(len(subjects) + len(numbers), -1, dtype=np.int32)  # the class of each in this release
    here[lookup(subjects, release.subjects[release.real])[0]] = group[release.real]
    here[len(subjects) :] = group[~release.real]  # counterfeits come in the order of the facts
    parts = [before.of(subjects), before.of_fakes(numbers)]
    begin, end = (np.concatenate(side) for side in zip(*parts, strict=True))
    lived = (end - begin + (here >= 0)).astype(np.int32)
    size = np.bincount(release.classes, minlength=release.class_count).astype(np.int32)
    return {
        **after,
        "subjects": {**people, "lived": lived[: len(subjects)]},
        "counterfeits": {**fakes, "lived": lived[len(subjects) :]},
        "trails": {"group": _extend_trails(begin, end, before.groups, here, int(lived.sum(dtype=np.int64)))},
        "classes": {"size": np.concatenate([before.sizes, size])},
    }


@njit(cache=True)
def _extend_trails(begin, end, groups, here, total):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """int32[total]: every trail groups[begin[i]:end[i]], followed by here[i] unless that is -1. O(total)."""
    longer = np.empty(total, dtype=np.int32)
    at = 0
    for i in range(len(begin)):
        for t in range(begin[i], end[i]):
            longer[at] = groups[t]
            at += 1
        if here[i] >= 0:
            longer[at] = here[i]
            at += 1
    return longer
