"""Possible worlds of a series whose values persist: who may have which value, given all classes at once.

Subjects with the same path through the classes are exchangeable, so a world is a table x[path, value] of counts: the
values of a path sum to its subjects, and those of all paths through a class to the rows that the class shows with each
value. Rows of a class beyond its known members are one more path, through that class alone: it takes up any values.

Where values can be exchanged, what every world has in common needs no search. Theorem. Let some paths and the classes
they pass through be closed (no other path passes through these classes), let all these paths allow the same values V,
and let every class show each value of V equally often. Then exchanging values by any permutation of V turns a world
into a world. So each value of V is possible for everybody there, and a value that is certain for a share of a path is
certain for at most 1/|V| of it: over all exchanges of one world the mean count of a value is size/|V|, so some world
has no more than that. This is what m-invariance and weak m-invariance (cor-split, e-equivalence) make of every part,
rows of nobody included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reissue.arrays.sets import connected_components, distinct, union
from reissue.arrays.types import NO_CODES, NO_NUMBERS, Bool, Int32, Int64
from reissue.model.observed import Members, ObservedRelease

ROUNDS = 200
"""Bounds are carried round at most this often; each round is sound, more only tighten."""


@dataclass(frozen=True, eq=False)
class Paths:
    """Everybody's way through the classes.

    subjects: int64[people] ascending; of: int32[people] the path of each
    classes:  int32[paths, releases] the class in each release, -1 where absent; size: int64[paths] its subjects
    Compromised people have a path each; `known` int32[paths] is then their value, else -1. Paths from `people` on stand
    for rows beyond the known members.
    """

    subjects: Int64
    of: Int32
    classes: Int32
    size: Int64
    known: Int32
    people: int


def find_paths(releases: Sequence[ObservedRelease], compromised: Int64) -> Paths:
    """The paths of all members, and of the rows that belong to none of them. O(people * releases * log people)."""
    members = [_list_members(release) for release in releases]
    subjects = union(*(m.subjects for m in members))
    way = np.full((len(subjects), len(releases)), -1, dtype=np.int32)
    value = np.full(len(subjects), -1, dtype=np.int32)
    for i, m in enumerate(members):
        at = np.searchsorted(subjects, m.subjects)
        way[at, i], value[at] = m.classes, m.values
    known = np.where(np.isin(subjects, compromised), value, np.int32(-1))
    first, key = distinct([known, *way.T])
    size = np.bincount(key, minlength=len(first)).astype(np.int64)
    extra_way, extra = _find_nobodys_paths(releases, members)
    return Paths(
        subjects,
        key,
        np.concatenate([way[first], extra_way]),
        np.concatenate([size, extra]),
        np.concatenate([known[first], np.full(len(extra), -1, dtype=np.int32)]),
        len(first),
    )


def _list_members(release: ObservedRelease) -> Members:
    if release.members is None:
        raise ValueError(f"The members of release {release.number} are not known.")
    return release.members


def _find_nobodys_paths(releases: Sequence[ObservedRelease], members: Sequence[Members]) -> tuple[Int32, Int64]:
    """One path for each class with more rows than members: (int32[n, releases], int64[n] the rows beyond them)."""
    ways, sizes = [np.empty((0, len(releases)), dtype=np.int32)], [NO_NUMBERS]
    for i, (release, m) in enumerate(zip(releases, members, strict=True)):
        beyond = release.sizes - np.bincount(m.classes, minlength=release.class_count)
        more = np.flatnonzero(beyond > 0)
        way = np.full((len(more), len(releases)), -1, dtype=np.int32)
        way[:, i] = more
        ways.append(way)
        sizes.append(beyond[more].astype(np.int64))
    return np.concatenate(ways), np.concatenate(sizes)


@dataclass(frozen=True, eq=False)
class Worlds:
    """The equations, one unknown per entry: a path and a value that all its classes show.

    path, value: int32[entries], sorted by path, then value
    cells: int64[entries, releases] the equation of the entry's (class, value) in each release, -1 where absent
    total: int64[cells] rows of each (class, value); size: int64[paths]
    """

    path: Int32
    value: Int32
    cells: Int64
    total: Int64
    size: Int64

    @cached_property
    def links(self) -> tuple[Int64, Int64]:
        """(entry, cell): every entry with each of its equations."""
        entry, release = np.nonzero(self.cells >= 0)
        return entry.astype(np.int64), self.cells[entry, release]

    def __len__(self) -> int:
        return len(self.path)


def build_worlds(releases: Sequence[ObservedRelease], paths: Paths) -> Worlds:
    """The equations of a series. O(entries * releases * log groups)."""
    offset, keys, width = 0, [], 1 + max((int(r.values.max(initial=0)) for r in releases), default=0)
    totals = [NO_NUMBERS]
    for release in releases:
        classes, values, counts = release.groups
        keys.append((classes.astype(np.int64) * width + values, offset))
        totals.append(counts)
        offset += len(counts)
    path, value = _first_values(releases, paths)
    allowed = (paths.known[path] < 0) | (paths.known[path] == value)
    path, value = path[allowed], value[allowed]
    cells = np.full((len(path), len(releases)), -1, dtype=np.int64)
    possible = np.ones(len(path), dtype=np.bool_)
    for i, (key, start) in enumerate(keys):
        here = paths.classes[path, i]
        wanted = here.astype(np.int64) * width + value
        at = np.minimum(np.searchsorted(key, wanted), max(len(key) - 1, 0))
        found = (here >= 0) & (key[at] == wanted) if len(key) else np.zeros(len(path), dtype=np.bool_)
        cells[found, i] = at[found] + start
        possible &= found | (here < 0)
    return Worlds(path[possible], value[possible], cells[possible], np.concatenate(totals), paths.size)


def _first_values(releases: Sequence[ObservedRelease], paths: Paths) -> tuple[Int32, Int32]:
    """(path, value): the values that the first class of each path shows, by path."""
    first = np.argmax(paths.classes >= 0, axis=1)
    owners, values = [NO_NUMBERS], [NO_CODES]
    for i, release in enumerate(releases):
        starting = np.flatnonzero((first == i) & (paths.classes[:, i] >= 0))
        classes, shown, _ = release.groups
        start = np.searchsorted(classes, np.arange(release.class_count + 1))
        its = paths.classes[starting, i]
        count = start[its + 1] - start[its]
        owner = np.repeat(starting, count)
        within = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
        owners.append(owner)
        values.append(shown[np.repeat(start[its], count) + within])
    owner, value = np.concatenate(owners), np.concatenate(values)
    order = np.lexsort((value, owner))
    return owner[order].astype(np.int32), value[order].astype(np.int32)


@dataclass(frozen=True, eq=False)
class Bounds:
    """least, most: int64[entries], counts that no consistent world goes below or above."""

    least: Int64
    most: Int64

    @property
    def open(self) -> Bool:
        return np.asarray(self.least < self.most, dtype=np.bool_)


def narrow(worlds: Worlds) -> Bounds | None:
    """Carry bounds through every equation until nothing changes; None if no world is consistent. O(entries) a round.

    What one equation leaves for an entry is its total less the least (or most) of its other entries.
    """
    least = np.zeros(len(worlds), dtype=np.int64)
    most = worlds.size[worlds.path].astype(np.int64)
    entry, cell = worlds.links
    for _ in range(ROUNDS):
        before = int(least.sum()), int(most.sum())
        for owner, total, which in ((worlds.path, worlds.size, None), (cell, worlds.total, entry)):
            low = least if which is None else least[which]
            high = most if which is None else most[which]
            ceiling = (total - np.bincount(owner, low, len(total)).astype(np.int64))[owner] + low
            floor = (total - np.bincount(owner, high, len(total)).astype(np.int64))[owner] + high
            if which is None:
                most, least = np.minimum(most, ceiling), np.maximum(least, floor)
            else:
                np.minimum.at(most, which, ceiling)
                np.maximum.at(least, which, floor)
        if (least > most).any():
            return None
        if (int(least.sum()), int(most.sum())) == before:
            break
    return Bounds(least, most) if _fillable(worlds, least, most) else None


def _fillable(worlds: Worlds, least: Int64, most: Int64) -> bool:
    """Whether every equation's total lies between the sums of its entries' bounds."""
    entry, cell = worlds.links
    for owner, total, which in ((worlds.path, worlds.size, slice(None)), (cell, worlds.total, entry)):
        low, high = np.bincount(owner, least[which], len(total)), np.bincount(owner, most[which], len(total))
        if ((low > total) | (high < total)).any():
            return False
    return True


def components(worlds: Worlds, open_entries: Int64) -> list[Int64]:
    """The open entries by connected component of their equations, the smallest component first."""
    if len(open_entries) == 0:
        return []
    place = np.full(len(worlds), -1, dtype=np.int64)
    place[open_entries] = np.arange(len(open_entries))
    entry, cell = worlds.links
    kept = place[entry] >= 0
    paths = len(worlds.size)
    row = worlds.path[entry[kept]].astype(np.int64)
    label = connected_components(row, paths + cell[kept].astype(np.int64), paths + len(worlds.total))
    own = label[worlds.path[open_entries]]
    order = np.argsort(own, kind="stable")
    parts = np.split(open_entries[order], np.flatnonzero(np.diff(own[order])) + 1)
    return sorted(parts, key=len)


def truth(worlds: Worlds, releases: Sequence[ObservedRelease], paths: Paths) -> Int64 | None:
    """int64[entries]: the counts that really were, a world that needs no search; None if values have changed."""
    value = np.full(len(paths.subjects), -1, dtype=np.int32)
    for release in releases:
        m = _list_members(release)
        value[np.searchsorted(paths.subjects, m.subjects)] = m.values
    width = int(max(value.max(initial=0), worlds.value.max(initial=0))) + 1
    key = worlds.path.astype(np.int64) * width + worlds.value
    wanted = paths.of.astype(np.int64) * width + value
    at = np.minimum(np.searchsorted(key, wanted), max(len(key) - 1, 0))
    if len(key) == 0 or not (key[at] == wanted).all():
        return None
    counts = np.bincount(at, minlength=len(key)).astype(np.int64)
    entry, cell = worlds.links
    left = worlds.total - np.bincount(cell, counts[entry], len(worlds.total)).astype(np.int64)
    nobody = np.flatnonzero(worlds.path >= paths.people)
    counts[nobody] = left[worlds.cells[nobody].max(axis=1)]
    sums = np.bincount(worlds.path, counts, len(worlds.size)).astype(np.int64)
    filled = np.bincount(cell, counts[entry], len(worlds.total)).astype(np.int64)
    right = np.array_equal(sums, worlds.size) and np.array_equal(filled, worlds.total) and (counts >= 0).all()
    return counts if right else None


@dataclass(frozen=True, eq=False)
class Symmetry:
    """exchangeable: bool[entries] whether the entry's values can be exchanged; values: int64[entries] how many."""

    exchangeable: Bool
    values: Int64

    def worlds_by_exchange(self, worlds: Worlds, counts: Int64) -> tuple[Int64, Int64]:
        """(least, most) int64[entries]: the extremes of the worlds that one world becomes by exchanging values."""
        paths = len(worlds.size)
        least, most = np.full(paths, np.iinfo(np.int64).max), np.full(paths, -1)
        np.minimum.at(least, worlds.path, counts)
        np.maximum.at(most, worlds.path, counts)
        low = np.where(self.exchangeable, least[worlds.path], counts)
        high = np.where(self.exchangeable, most[worlds.path], counts)
        return low.astype(np.int64), high.astype(np.int64)


def find_symmetry(worlds: Worlds) -> Symmetry:
    """The parts whose values can be exchanged. O(entries * releases)."""
    paths, entries = len(worlds.size), len(worlds)
    entry, cell = worlds.links
    label = connected_components(worlds.path[entry].astype(np.int64), paths + cell, paths + len(worlds.total))
    part = label[worlds.path]
    own = np.bincount(worlds.path, minlength=paths)[worlds.path]  # values of the entry's path
    parts = int(label.max(initial=-1)) + 1
    pairs = np.unique(part.astype(np.int64) * (int(worlds.value.max(initial=0)) + 1) + worlds.value)
    shown = np.bincount((pairs // (int(worlds.value.max(initial=0)) + 1)).astype(np.int64), minlength=parts)[part]
    uneven = own != shown  # a path without one of the values of its part
    first = np.searchsorted(worlds.path, worlds.path)  # the first entry of each entry's path
    for release in range(worlds.cells.shape[1]):
        here = worlds.cells[:, release]
        total = np.where(here >= 0, worlds.total[np.maximum(here, 0)], 0) if len(worlds.total) else np.zeros(entries)
        uneven |= total != total[first]
    broken = np.zeros(parts, dtype=np.bool_)
    broken[part[uneven]] = True
    return Symmetry(np.asarray(~broken[part], dtype=np.bool_), own.astype(np.int64))
