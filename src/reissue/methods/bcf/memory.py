"""The running chain of cumulative releases as a publisher remembers it, kept as tables of equal-length columns.

Everything is folded from the facts of the releases: who was published when, the groups and boxes of the chain's
releases, and their cuts. Releases before the chain's start are forgotten but for their people. Beside it, the records
of the chain and of the snapshot together, counted by what they are and by when they came.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from reissue.arrays.sets import Combinations, distinct
from reissue.arrays.types import NO_CODES, NO_NUMBERS, Bool, Int32, Int64
from reissue.methods.bcf.candidates import ReleaseChain
from reissue.model.observed import ObservedRelease
from reissue.model.overlap import GroupedRelease
from reissue.model.release import Facts, Table
from reissue.partition.global_recoding import Cut


@dataclass(frozen=True, eq=False)
class ChainLog:
    """start: number of the chain's first release; releases, cuts: of the chain, a cut is None where there was none.

    subjects: int64[people] ascending, everyone ever published; arrival: int32[people] the first release they were in
    plain:    whether no release of the chain publishes quasi-identifiers as they are
    """

    start: int
    subjects: Int64
    arrival: Int32
    releases: tuple[GroupedRelease, ...] = ()
    cuts: tuple[Cut | None, ...] = ()
    plain: bool = True

    @staticmethod
    def empty() -> ChainLog:
        return ChainLog(1, NO_NUMBERS, NO_CODES)

    def after(self, release: Facts) -> ChainLog:
        """The log once `release` is out."""
        cut = Cut.read(release.extras)
        fresh = cut is not None and cut.chain == release.number
        new = np.setdiff1d(release.subjects[release.real], self.subjects, assume_unique=True)
        everyone = np.concatenate([self.subjects, new])
        order = np.argsort(everyone, kind="stable")
        arrival = np.concatenate([self.arrival, np.full(len(new), release.number, dtype=np.int32)])
        groups = GroupedRelease.from_release(ObservedRelease.of(release))
        return ChainLog(
            release.number if fresh else self.start,
            everyone[order],
            arrival[order],
            (groups,) if fresh else (*self.releases, groups),
            (cut,) if fresh else (*self.cuts, cut),
            not release.anatomized and (fresh or self.plain),
        )

    def renew(self, number: int) -> ChainLog:
        """The log as a chain that starts with release `number` sees it."""
        return ChainLog(number, self.subjects, self.arrival)

    def chain(self) -> ReleaseChain:
        return ReleaseChain(self.releases)

    def groups(self) -> Combinations:
        """How many records of each value each class had: by position in the chain, class and value."""
        positions = [np.full(len(one.values), position, dtype=np.int32) for position, one in enumerate(self.releases)]
        columns = (positions, [one.classes for one in self.releases], [one.values for one in self.releases])
        counts = [one.counts for one in self.releases]
        return Combinations(
            tuple(np.concatenate([NO_CODES, *column]) for column in columns),
            np.concatenate([NO_CODES, *counts]).astype(np.int64),
        )

    def with_groups(self, groups: Combinations) -> ChainLog:
        """The same releases with these records in their classes: those of everybody, where the log has only some."""
        position, classes, values = groups.columns
        releases = []
        for at, release in enumerate(self.releases):
            own = slice(*np.searchsorted(position, [at, at + 1]).tolist())
            releases.append(GroupedRelease.of(release.boxes, classes[own], values[own], groups.counts[own]))
        return replace(self, releases=tuple(releases))

    def arrivals(self, subjects: Int64, number: int) -> Int32:
        """int32[rows]: the release with which each subject came; `number`, the one being made, if never published."""
        if len(self.subjects) == 0:
            return np.full(len(subjects), number, dtype=np.int32)
        if int(self.subjects[-1]) < 4 * len(self.subjects) + 1024:  # dense numbers: look up instead of searching
            table = np.full(int(self.subjects[-1]) + 2, number, dtype=np.int32)
            table[self.subjects] = self.arrival
            return table[np.minimum(subjects, len(table) - 1)]
        at = np.minimum(np.searchsorted(self.subjects, subjects), len(self.subjects) - 1)
        return np.where(self.subjects[at] == subjects, self.arrival[at], number).astype(np.int32)

    def tables(self) -> Mapping[str, Table]:
        """The log for the ledger's caches."""
        groups: dict[str, list[Int64]] = {"release": [], "class": [], "value": [], "count": []}
        boxes: list[Int64] = []
        cuts: list[Table] = []
        for position, (release, cut) in enumerate(zip(self.releases, self.cuts, strict=True)):
            for name, column in (("class", release.classes), ("value", release.values), ("count", release.counts)):
                groups[name].append(column.astype(np.int64))
            groups["release"].append(np.full(len(release.values), position, dtype=np.int64))
            flat = release.boxes.reshape(len(release.boxes), -1)
            boxes.append(np.column_stack([np.full(len(flat), position), flat]).astype(np.int64))
            if cut is not None:
                table = cut.table()
                cuts.append({**table, "release": np.full(len(table["what"]), position, dtype=np.int64)})
        stacked = np.concatenate(boxes) if boxes else np.empty((0, 1), dtype=np.int64)
        names = ["release", *(f"side{i}" for i in range(stacked.shape[1] - 1))]
        columns = ("what", "attribute", "lo", "hi", "at", "release")
        return {
            "people": {"subject": self.subjects, "arrival": self.arrival},
            "chain": {
                "start": np.array([self.start]),
                "plain": np.array([int(self.plain)]),
                "releases": np.array([len(self.releases)]),
            },
            "groups": {name: np.concatenate([NO_NUMBERS, *parts]) for name, parts in groups.items()},
            "boxes": {name: stacked[:, i].copy() for i, name in enumerate(names)},
            "cuts": {c: np.concatenate([NO_NUMBERS, *(t[c] for t in cuts)]) for c in columns},
        }

    @staticmethod
    def read(tables: Mapping[str, Table]) -> ChainLog:
        if "chain" not in tables:
            return ChainLog.empty()
        groups, boxes, cuts = tables["groups"], tables["boxes"], tables["cuts"]
        sides = [np.asarray(boxes[f"side{i}"]) for i in range(len(boxes) - 1)]
        flat = np.stack(sides, axis=1).astype(np.int32) if sides else np.empty((len(boxes["release"]), 0), np.int32)
        releases, found = [], []
        for position in range(int(tables["chain"]["releases"][0])):
            here, its = groups["release"] == position, boxes["release"] == position
            shaped = flat[its].reshape(int(its.sum()), flat.shape[1] // 2, 2)
            columns = (np.asarray(groups[name])[here] for name in ("class", "value", "count"))
            releases.append(GroupedRelease.of(shaped, *columns))
            mine = cuts["release"] == position
            found.append(Cut.read({name: column[mine] for name, column in cuts.items()}) if mine.any() else None)
        return ChainLog(
            int(tables["chain"]["start"][0]),
            np.asarray(tables["people"]["subject"], dtype=np.int64),
            np.asarray(tables["people"]["arrival"], dtype=np.int32),
            tuple(releases),
            tuple(found),
            bool(tables["chain"]["plain"][0]),
        )


@dataclass(frozen=True, eq=False)
class Records:
    """Distinct (value, leaf codes), ascending by value and then by codes, and how many records there are of each.

    codes:  int32[n, attributes]; values: int32[n]
    counts: int64[arrivals, n] by the release with which they came: the chain's first, the next, ... the one being made
    """

    codes: Int32
    values: Int32
    counts: Int64

    @property
    def total(self) -> int:
        return int(self.counts.sum())

    @staticmethod
    def of_rows(codes: Int32, values: Int32, arrival: Int32, start: int, number: int) -> tuple[Records, Int32]:
        """(the records, int32[rows] the combination of each row) of a chain from release `start` to `number`. O(rows).

        codes: int32[rows, attributes]; arrival: int32[rows], from `start` on
        """
        first, home = distinct([values, *codes.T])
        key, arrivals = (arrival - start) * np.int64(len(first)) + home, number - start + 1
        counts = np.bincount(key, minlength=arrivals * len(first)).reshape(arrivals, len(first))
        return Records(np.ascontiguousarray(codes[first]), values[first], counts), home

    @staticmethod
    def of_counts(counted: Combinations, start: int, number: int) -> Records:
        """Of combinations of value, leaf codes and arrival. O(combinations log combinations)."""
        *what, arrival = counted.columns
        first, home = distinct(what)
        counts = np.zeros((number - start + 1, len(first)), dtype=np.int64)
        counts[arrival - start, home] = counted.counts
        values, *codes = (column[first] for column in what)
        return Records(np.column_stack(codes), values, counts)

    def without(self, some: Bool) -> Records:
        """Without some of them: bool[n]."""
        return Records(self.codes[~some], self.values[~some], self.counts[:, ~some]) if some.any() else self

    def newest(self) -> Records:
        """Only those that come with the release being made."""
        some = np.flatnonzero(self.counts[-1])
        return Records(self.codes[some], self.values[some], self.counts[-1:, some])
