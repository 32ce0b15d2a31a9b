"""Parts of a series that share nobody: classes tied by people, directly or through other classes, stay together.

Two classes are linked when somebody is in the one and next in the other. The links are a small table of counts however
many people there are, so an engine can count them where the rows lie; connected components and parts follow here.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.components import connected_components
from reissue.arrays.sets import sorted_unique
from reissue.arrays.types import Int32, Int64
from reissue.model.observed import Members, Observed, ObservedRelease
from reissue.model.overlap import sort_by_bucket


@dataclass(frozen=True, eq=False)
class ClassLinks:
    """Pairs of classes that people (or counterfeits that are known) were in one after the other.

    earlier, later: int64[links] positions of releases; left, right: int64[links] their classes. A pair may be repeated.
    """

    earlier: Int64
    left: Int64
    later: Int64
    right: Int64


def find_links(releases: Sequence[ObservedRelease]) -> ClassLinks:
    """The links of a series whose members are known, each once. O(rows log rows)."""
    first = _first(tuple(release.class_count for release in releases))
    subjects, nodes = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for position, release in enumerate(releases):
        for some in (release.members, release.counterfeits):
            if some is not None:
                subjects.append(some.subjects)
                nodes.append(first[position] + some.classes)
    subject, node = np.concatenate(subjects), np.concatenate(nodes)
    order = np.argsort(subject, kind="stable")
    subject, node = subject[order], node[order]
    again = np.flatnonzero(subject[1:] == subject[:-1])
    total = max(int(first[-1]), 1)
    pair = sorted_unique(node[again] * total + node[again + 1])
    sides = []
    for side in (pair // total, pair % total):
        release_of = np.searchsorted(first, side, side="right") - 1
        sides += [release_of.astype(np.int64), side - first[release_of]]
    return ClassLinks(*sides)


def deal_parts(links: ClassLinks, people: Sequence[Int64], parts: int) -> list[Int32]:
    """int32[classes] for each release: the part of each class, 0, 1, ...; at most `parts` of them. O(links + classes).

    people: int64[classes] for each release, the members of each class. Components of linked classes are dealt out, the
    largest first, to the part with the fewest members so far. Every part has members (or there is only one part), so
    that what an attack says of the people of a part is never said of nobody.
    """
    counts = tuple(len(of) for of in people)
    first = _first(counts)
    tail, head = first[links.earlier] + links.left, first[links.later] + links.right
    component = connected_components(tail, head, int(first[-1]))
    members = np.concatenate([np.empty(0, dtype=np.int64), *people])
    weight = np.bincount(component, weights=members).astype(np.int64)
    bins = max(1, min(parts, int(np.count_nonzero(weight))))
    dealt = _deal(weight, np.argsort(-weight, kind="stable"), bins)[component]
    return [dealt[start:end] for start, end in pairwise(first.tolist())]


def _first(counts: Sequence[int]) -> Int64:
    """int64[releases + 1]: where the classes of each release begin when all are numbered through."""
    return np.concatenate([[0], np.cumsum(np.array(counts, dtype=np.int64))]).astype(np.int64)


@njit(cache=True)
def _deal(weight: Int64, order: Int64, bins: int) -> Int32:
    """int32[components]: the bin of each, in the order given always the lightest. O(components log bins)."""
    dealt = np.zeros(len(weight), np.int32)
    heap = [(np.int64(0), np.int64(b)) for b in range(bins)]
    for one in order:
        load, lightest = heap[0]
        dealt[one] = lightest
        heapq.heapreplace(heap, (load + weight[one], lightest))
    return dealt


def split_series(observed: Observed, bins: Sequence[Int32]) -> list[Observed]:
    """The sub-series of each part: every release with the classes of that part, and who is in them. O(rows).

    bins: int32[classes] for each release, as `deal_parts` gives them; as many parts as releases name, or more.
    """
    parts = 1 + max((int(of.max(initial=0)) for of in bins), default=0)
    pieces = [_pieces(release, of, parts) for release, of in zip(observed.releases, bins, strict=True)]
    return [replace(observed, releases=[its[part] for its in pieces]) for part in range(parts)]


def keep_classes(release: ObservedRelease, classes: Int32) -> ObservedRelease:
    """The part of a release with some classes (ascending numbers). O(rows).

    For a worker that has read a release, or no more than the rows of these classes, with its class numbers.
    """
    bins = np.full(release.class_count, -1, dtype=np.int32)
    bins[classes] = 0
    return _pieces(release, bins, 1)[0]


def _pieces(release: ObservedRelease, bins: Int32, parts: int) -> list[ObservedRelease]:
    start, order = sort_by_bucket(bins, parts)
    place = np.full(len(bins), -1, dtype=np.int32)
    place[order] = np.arange(len(order)) - np.repeat(start[:-1], np.diff(start))
    row_start, rows = sort_by_bucket(bins[release.classes], parts)
    members, fakes = (_shared(some, bins, place, parts) for some in (release.members, release.counterfeits))
    found = []
    for part in range(parts):
        own, its = order[start[part] : start[part + 1]], rows[row_start[part] : row_start[part + 1]]
        numbers = own.astype(np.int32) if release.numbers is None else release.numbers[own]
        found.append(
            replace(
                release,
                boxes=release.boxes[own],
                classes=place[release.classes[its]],
                values=release.values[its],
                members=None if members is None else members[part],
                counterfeits=None if fakes is None else fakes[part],
                numbers=numbers,
            )
        )
    return found


def _shared(some: Members | None, bins: Int32, place: Int32, parts: int) -> list[Members] | None:
    """The members of each part, still ascending."""
    if some is None:
        return None
    start, order = sort_by_bucket(bins[some.classes], parts)
    found = []
    for part in range(parts):
        own = order[start[part] : start[part + 1]]
        codes = np.empty((len(own), some.codes.shape[1]), dtype=np.int32, order="F")
        for a in range(codes.shape[1]):  # column by column: gathering rows of a Fortran array is slow
            codes[:, a] = some.codes[own, a]
        found.append(Members(some.subjects[own], place[some.classes[own]], codes, some.values[own]))
    return found
