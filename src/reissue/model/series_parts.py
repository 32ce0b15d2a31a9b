"""Parts of a series that share nobody: classes tied by people, directly or through other classes, stay together.

Two classes are linked when somebody is in the one and next in the other. The links are a small table of counts however
many people there are, so an engine can count them where the rows lie; connected components and parts follow here.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.sets import connected_components, sorted_unique
from reissue.arrays.types import Int32, Int64
from reissue.model.observed import ObservedRelease

ClassLinks = tuple[Int64, Int64]
"""int64[links] twice: pairs of classes that people (or counterfeits that are known) were in one after the other.

Classes are numbered through over all releases. A pair may be repeated."""


def find_links(releases: Sequence[ObservedRelease]) -> ClassLinks:
    """The links of a series whose members are known, each once. O(rows log rows)."""
    first = number_through([release.class_count for release in releases])
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
    total = np.int64(max(int(first[-1]), 1))
    pair = sorted_unique(node[again] * total + node[again + 1])
    return pair // total, pair % total


def deal_parts(links: ClassLinks, people: Sequence[Int64], parts: int) -> list[Int32]:
    """int32[classes] for each release: the part of each class, 0, 1, ...; at most `parts` of them. O(links + classes).

    people: int64[classes] for each release, the members of each class. Components of linked classes are dealt out, the
    largest first, to the part with the fewest members so far. Every part has members (or there is only one part), so
    that what an attack says of the people of a part is never said of nobody.
    """
    first = number_through([len(of) for of in people])
    component = connected_components(*links, int(first[-1]))
    members = np.concatenate([np.empty(0, dtype=np.int64), *people])
    weight = np.bincount(component, weights=members).astype(np.int64)
    bins = max(1, min(parts, int(np.count_nonzero(weight))))
    dealt = _deal(weight, np.argsort(-weight, kind="stable"), bins)[component]
    return [dealt[start:end] for start, end in pairwise(first.tolist())]


def number_through(counts: Sequence[int]) -> Int64:
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
