"""How the classes of a release came about, rebuilt from who is in which class: by cuts of a bucket, or by dealing.

Cuts: the paper halves the rows of each value of a bucket at their own median, along one attribute (ties by the place
on the Hilbert curve), again and again. Of a class left of a cut, then, the i-th member along that attribute comes
before the i-th member of every class right of it, for each i: an attribute for which that is so is how they were cut.

Dealing: our m-invariance deals the rows of a cell into sets as long as there is one of every value; only what is left
over waits in the cell around it. Cells are cut by quasi-identifiers, so who knows these knows the cells, and sees by
the smallest cell around a class where it was dealt: all its people were left over in the cells inside that one. Of
those left over who had a signature, some value of it was missing; of the newcomers, some value of every signature that
was still to be dealt to newcomers where they live.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.sets import distinct, find_starts
from reissue.arrays.sorting import find_order, sort_ascending
from reissue.arrays.types import NO_CODES, Bool, Float64, Int32, Int64
from reissue.methods.invariance.attack import measure_uniqueness
from reissue.methods.invariance.dealing import CELL, REGION, part_regions, sort_cells
from reissue.methods.invariance.signatures import collect_sets
from reissue.model.boxes import hilbert_keys
from reissue.model.domain import Domain
from reissue.model.observed import Members, ObservedRelease
from reissue.partition.tables import grow_tree

STRAY = 0.1
"""So many of the classes of a cut may be on neither side: Cor-Split exchanges rows after it has cut."""


@dataclass(frozen=True, eq=False)
class RebuiltCuts:
    """Cuts of one release or of several, each with everybody it parts, in order along its attribute.

    start:  int64[cuts + 1] into the three arrays of entries
    people: int32[entries]; left: bool[entries]; place: int32[entries] equal for people whom the order does not part
    weight: float64[cuts]   1, or less where as many attributes might have been the one
    shared: int64[cuts + 1] into values: int32[], the values of the bucket that was cut
    found, lost: how many cuts were rebuilt, and how many were not
    """

    start: Int64
    people: Int32
    left: Bool
    place: Int32
    weight: Float64
    shared: Int64
    values: Int32
    found: int
    lost: int

    @staticmethod
    def none() -> RebuiltCuts:
        nothing = np.zeros(1, dtype=np.int64)
        numbers, flags = NO_CODES, np.empty(0, dtype=np.bool_)
        return RebuiltCuts(nothing, numbers, flags, numbers, np.empty(0), nothing, numbers, 0, 0)

    @staticmethod
    def join(parts: Sequence[RebuiltCuts]) -> RebuiltCuts:
        def chain(starts: list[Int64]) -> Int64:
            return find_starts(np.concatenate([np.diff(one) for one in starts]))

        return RebuiltCuts(
            chain([part.start for part in parts]),
            np.concatenate([part.people for part in parts]),
            np.concatenate([part.left for part in parts]),
            np.concatenate([part.place for part in parts]),
            np.concatenate([part.weight for part in parts]),
            chain([part.shared for part in parts]),
            np.concatenate([part.values for part in parts]),
            sum(part.found for part in parts),
            sum(part.lost for part in parts),
        )


def is_split(release: ObservedRelease) -> bool:
    """Whether every class shows all its values equally often, and some set of values stands in two classes or more."""
    unique = measure_uniqueness(release)
    if len(unique.classes) == 0 or not unique.weak(2).all():
        return False
    groups = release.counted.pick(unique.classes.astype(np.int64))
    return len(set(_find_buckets(groups.start, groups.value).tolist())) < len(unique.classes)


def count_cuts(release: ObservedRelease) -> int:
    """How many cuts make the classes of a release: each makes one class more of its bucket."""
    groups = release.counted
    bucket = _find_buckets(groups.start, groups.value)[np.diff(groups.start) > 1]
    return len(bucket) - len(set(bucket.tolist()))


def _find_buckets(start: Int64, values: Int32) -> Int64:
    """int64[classes]: a number for the set of values of each class."""
    numbers: dict[bytes, int] = {}
    return np.array(
        [numbers.setdefault(values[i:j].tobytes(), len(numbers)) for i, j in pairwise(start.tolist())],
        dtype=np.int64,
    )


def rebuild_cuts(
    release: ObservedRelease, members: Members, people: Int64, domains: Sequence[Domain], least: float = 0.0
) -> RebuiltCuts:
    """All cuts of a release that can be told. people: int64[members], the number of each member in the whole series.

    Once fewer than `least` can still be found, no more are looked for. Only classes whose rows are all known and of
    different values take part. O(rows log^2 rows * attributes).
    """
    groups = release.counted
    sizes, kinds = np.bincount(members.classes, minlength=release.class_count), np.diff(groups.start)
    bucket = _find_buckets(groups.start, groups.value)
    whole = (sizes == kinds) & (release.sizes == kinds) & (kinds > 1)
    taking = np.flatnonzero(whole)
    taking = taking[np.argsort(bucket[taking], kind="stable")].astype(np.int64)
    order = np.argsort(members.classes, kind="stable").astype(np.int64)
    first = np.searchsorted(members.classes[order], np.arange(release.class_count)).astype(np.int64)
    bounds = np.append(np.flatnonzero(np.diff(bucket[taking], prepend=-1)), len(taking)).astype(np.int64)
    short = np.bincount(bucket[~whole & (kinds > 0)], minlength=int(bucket.max(initial=0)) + 1)
    one = taking[bounds[:-1]] if len(taking) else taking
    codes = np.ascontiguousarray(members.codes)
    about = kinds[one], short[bucket[one]] > 0
    found = _cut_buckets(bounds, first[taking], *about, order, codes, _find_places(codes, domains), least)
    start, entries, left, place, weight, owner, lost, rebuilt = found
    chosen = groups.pick(one[owner])
    return RebuiltCuts(
        start, people[entries].astype(np.int32), left, place, weight, chosen.start, chosen.value, rebuilt, lost
    )


def _find_places(codes: Int32, domains: Sequence[Domain]) -> Int32:
    """int32[members, attributes]: where each one comes along each attribute, ties by the Hilbert curve."""
    keys = hilbert_keys(np.asfortranarray(codes), domains)
    rank = np.unique(keys, return_inverse=True)[1].reshape(-1).astype(np.int32)
    places = np.empty(codes.shape, dtype=np.int32)
    for a in range(codes.shape[1]):
        places[:, a] = distinct((np.ascontiguousarray(codes[:, a]), rank))[1]
    return places


@njit(cache=True)
def _cut_buckets(bounds, first, kinds, short, order, codes, places, least):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """The cuts of every bucket; classes are consecutive, bucket b has those from bounds[b] on.

    first: int64[classes] where the members of a class begin in order; kinds: int64[buckets] rows of each class;
    short: bool[buckets] whether classes are missing. Returns the arrays of `RebuiltCuts`, the bucket of each cut, and
    how many cuts were lost and rebuilt.
    """
    starts, weights, owners = [0], [np.float64(0.0) for _ in range(0)], [np.int64(0) for _ in range(0)]
    parts, sides, spots = [order[:0]], [np.zeros(0, np.bool_)], [places[:0, 0].copy()]
    lost, rebuilt, total, hope = 0, 0, 0, bounds[-1] - len(bounds) + 1  # each cut makes one class more of a bucket
    for b in range(len(bounds) - 1):
        size, count = kinds[b], bounds[b + 1] - bounds[b]
        rows = np.empty((count, size), np.int64)
        for c in range(count):
            for i in range(size):
                rows[c, i] = order[first[bounds[b] + c] + i]
        stack = [np.arange(count)]
        while len(stack) > 0 and hope >= least:
            node = stack.pop()
            if len(node) < 2:
                continue
            strays, left = _try_cuts(rows[node], codes, places, short[b])
            fewest = strays.min()
            if fewest > STRAY * len(node):
                lost += strays.min() <= len(node)
                hope -= len(node) - 1
                continue
            rebuilt += 1
            alike = (strays == fewest).sum()
            for a in range(len(strays)):
                if strays[a] == fewest:
                    own, side, spot = _line_up(rows[node], left[a], places[:, a])
                    total += len(own)
                    starts.append(total)
                    weights.append(1.0 / alike)
                    owners.append(np.int64(b))
                    parts.append(own)
                    sides.append(side)
                    spots.append(spot)
            best = left[np.argmin(strays)]
            stack += [node[best], node[~best]]
    entries, side, spot = np.empty(total, np.int64), np.empty(total, np.bool_), np.empty(total, np.int32)
    for cut in range(len(weights)):
        for i in range(starts[cut], starts[cut + 1]):
            at = i - starts[cut]
            entries[i], side[i], spot[i] = parts[cut + 1][at], sides[cut + 1][at], spots[cut + 1][at]
    return np.array(starts), entries, side, spot, np.array(weights), np.array(owners), lost, rebuilt


@njit(cache=True)
def _try_cuts(rows, codes, places, short):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """For each attribute: how many classes would be on neither side, and bool[attributes, classes] the left ones.

    rows: int64[classes, size]. More than there are classes where an attribute does not vary. Where classes are missing
    an odd number of them may have been halved either way.
    """
    count, size = rows.shape
    attributes = codes.shape[1]
    strays, left = np.full(attributes, count + 1), np.zeros((attributes, count), np.bool_)
    line, total = np.empty((count, size), np.int32), np.empty(count)
    for a in range(attributes):
        low = high = codes[rows[0, 0], a]
        for c in range(count):
            total[c] = 0.0
            for i in range(size):
                low, high = min(low, codes[rows[c, i], a]), max(high, codes[rows[c, i], a])
                line[c, i] = places[rows[c, i], a]
                total[c] += line[c, i]
            sort_ascending(line[c])
        if low == high:
            continue
        ranked = find_order(total)
        for half in range(count // 2, (count - count // 2 if short else count // 2) + 1):
            found = _count_strays(line, half)
            if found < strays[a]:
                strays[a] = found
                left[a] = False
                left[a][ranked[:half]] = True
    return strays, left


@njit(cache=True)
def _count_strays(line, half):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """How many classes have members on either side of what would be the medians. line: int32[classes, size] sorted"""
    count, size = line.shape
    before, after = np.empty(size, np.int32), np.empty(size, np.int32)
    for i in range(size):
        ranked = line[:, i].copy()
        sort_ascending(ranked)
        before[i], after[i] = ranked[half - 1], ranked[half]
    strays = 0
    for c in range(count):
        inside, outside = True, True
        for i in range(size):
            inside &= line[c, i] <= before[i]
            outside &= line[c, i] >= after[i]
        strays += not (inside or outside)
    return strays


@njit(cache=True)
def _line_up(rows, left, places):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """Everybody of some classes in order along an attribute: (member, whether left of the cut, place)."""
    own = rows.copy().reshape(-1)
    side = np.repeat(left, rows.shape[1])
    spot = places[own]
    ranked = find_order(spot)
    return own[ranked], side[ranked], spot[ranked]


@dataclass(frozen=True, eq=False)
class Leftovers:
    """Groups of people of whom at least one value of a set is missing.

    start: int64[groups + 1] into people: int32[]; shared: int64[groups + 1] into sets: int64[], the sets of each group,
    numbers into first: int64[sets + 1] and values: int32[]
    """

    start: Int64
    people: Int32
    shared: Int64
    sets: Int64
    first: Int64
    values: Int32


def rebuild_leftovers(
    release: ObservedRelease, members: Members, people: Int64, known: Bool, domains: Sequence[Domain], values: int
) -> Leftovers:
    """Who was left over where, in one release. people: int64[members], their numbers in the whole series; known:
    bool[members], who was published before; values: how many the series knows. O(rows log rows * attributes).
    """
    sets, own = collect_sets(release.classes, release.values, release.class_count)
    size = int(sets.sizes.min())
    tree = grow_tree(np.asfortranarray(members.codes), domains, CELL * size)
    region = part_regions(tree.parent, tree.leaf, np.flatnonzero(~known), REGION * size * values)
    rank = np.empty(len(tree.parent), dtype=np.int64)
    rank[sort_cells(tree.parent, tree.leaf)] = np.arange(len(rank))
    dealt = _find_dealt(tree.parent, tree.leaf, members.classes, release.class_count)
    mixed = np.bincount(members.classes, known, minlength=release.class_count) > 0
    latest = _find_latest(dealt, rank, region, mixed, own, len(sets))
    cell, who = _wait(tree.parent, tree.leaf, dealt[members.classes])
    kind = np.where(known[who], own[members.classes[who]], -1)  # newcomers wait together
    order = np.lexsort((kind, cell))
    cell, who, kind = cell[order], who[order], kind[order]
    begin = np.flatnonzero((np.diff(cell, prepend=-1) != 0) | (np.diff(kind, prepend=-2) != 0))
    start = np.append(begin, len(cell)).astype(np.int64)
    first, new = begin, kind[begin] < 0
    told = latest[region[cell[first[new]]]] > rank[cell[first[new]]][:, None]
    many = np.ones(len(first), dtype=np.int64)
    many[new] = told.sum(axis=1)
    shared = find_starts(many)
    joined = np.empty(int(shared[-1]), dtype=np.int64)
    of_new = np.repeat(new, many)
    joined[of_new], joined[~of_new] = np.nonzero(told)[1], kind[first[~new]]
    return Leftovers(start, people[who].astype(np.int32), shared, joined, sets.start, sets.values)


def _find_latest(dealt: Int64, rank: Int64, region: Int64, mixed: Bool, own: Int32, sets: int) -> Int64:
    """int64[regions, sets]: when the last class of newcomers alone was dealt there; -1: none was."""
    latest = np.full((int(region.max()) + 1, sets), -1, dtype=np.int64)
    started = np.flatnonzero((dealt >= 0) & ~mixed & (region[np.maximum(dealt, 0)] >= 0))
    np.maximum.at(latest, (region[dealt[started]], own[started]), rank[dealt[started]])
    return np.concatenate([latest, np.full((1, sets), -1, dtype=np.int64)])  # cells of several regions: the last row


@njit(cache=True)
def _find_dealt(parent, leaf, classes, count):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """int64[classes]: the smallest cell around the people of each class, -1 if it has none."""
    depth = np.zeros(len(parent), np.int64)
    for cell in range(1, len(parent)):
        depth[cell] = depth[parent[cell]] + 1
    dealt = np.full(count, -1, np.int64)
    for row in range(len(leaf)):
        one, other = leaf[row], dealt[classes[row]]
        if other >= 0:
            while one != other:
                if depth[one] >= depth[other]:
                    one = parent[one]
                else:
                    other = parent[other]
        dealt[classes[row]] = one
    return dealt


@njit(cache=True)
def _wait(parent, leaf, dealt):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """(cell, row) of everybody who was left over in a cell. dealt: int64[rows], where the row's class was dealt."""
    count = 0
    for row in range(len(leaf)):
        cell = leaf[row]
        while cell != dealt[row]:
            cell, count = parent[cell], count + 1
    cells, rows, count = np.empty(count, np.int64), np.empty(count, np.int64), 0
    for row in range(len(leaf)):
        cell = leaf[row]
        while cell != dealt[row]:
            cells[count], rows[count] = cell, row
            cell, count = parent[cell], count + 1
    return cells, rows
