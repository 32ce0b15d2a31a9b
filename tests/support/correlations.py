"""Definitions 2 to 4 of Riboni & Bettini (2009) on plain sets, and tiny random histories to try them on."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from reissue.model.boxes import bounding_boxes
from reissue.model.domain import Domain
from reissue.model.observed import Members, Observed, ObservedRelease
from tests.support.words import PlainWords


@dataclass(frozen=True)
class Group:
    """One class: its release, its people (counterfeits negative), the multiset of all its rows' values."""

    release: int
    number: int
    people: frozenset[int]
    values: tuple[int, ...]


def groups_of(series: Observed) -> list[Group]:
    found = []
    for release in series.releases:
        assert release.members is not None
        who = [(int(s), int(c)) for s, c in zip(release.members.subjects, release.members.classes, strict=True)]
        if release.counterfeits is not None:
            fakes = release.counterfeits
            who += [(int(s), int(c)) for s, c in zip(fakes.subjects, fakes.classes, strict=True)]
        for number in range(release.class_count):
            values = tuple(sorted(release.values[release.classes == number].tolist()))
            if values:
                found.append(Group(release.number, number, frozenset(s for s, c in who if c == number), values))
    return found


def correlations(one: Group, two: Group) -> list[tuple[frozenset[int], frozenset[int]]]:
    """Definition 3 by trying all subsets: every (R1, R2) but the empty statement R1 = R2."""
    if one.release == two.release or one.values != two.values:
        return []
    found = []
    both = sorted(one.people & two.people)
    for size in range(1, len(both) + 1):  # R1 and R2 are proper subsets, so somebody is in both classes and is kept
        for kept in combinations(both, size):
            r1, r2 = one.people - set(kept), two.people - set(kept)
            if r1 != r2:
                found.append((r1, r2))
    return found


def smallest_set(group: Group, earlier: list[Group]) -> int | None:
    """The size of the smallest set that definition 3 relates to people of the class."""
    sizes = [max(len(r1), len(r2)) for other in earlier for r1, r2 in correlations(group, other)]
    return min(sizes, default=None)


def fixed_point(series: Observed, truth: dict[int, int], compromised: set[int]) -> dict[int, set[int]]:
    """ct-pvr and hc-pvr over and over, straight from definitions 2 and 4 (equal multisets only)."""
    groups = groups_of(series)
    possible: dict[int, set[int]] = {}
    for group in groups:
        for person in group.people:
            possible[person] = possible.get(person, set(group.values)) & set(group.values)
    for person in compromised:
        possible[person] = {truth[person]}
    related = [(a, b) for a in groups for b in groups if a.release != b.release and a.values == b.values]
    pairs = [(a.people - b.people, b.people - a.people) for a, b in related if a.people & b.people]
    while True:
        before = {person: set(left) for person, left in possible.items()}
        for group in groups:
            for value, count in Counter(group.values).items():
                holders = {r for r in group.people if possible[r] == {value}}
                if len(holders) >= count:
                    for r in group.people - holders:
                        possible[r].discard(value)
        for r1, r2 in pairs:
            allowed = set().union(*(possible[r] for r in r2))
            for r in r1:
                possible[r] &= allowed
        if before == possible:
            return possible


def random_series(
    rng: np.random.Generator, *, values: int, merge: float, fakes: bool
) -> tuple[Observed, dict[int, int]]:
    """A weakly invariant history of one signature: every class shows each value equally often, mostly once.

    People come and go; classes are dealt at random but people tend to stay together, so that overlaps are large.
    """
    heights = int(rng.integers(2, 5))
    people = {v: [v + values * k for k in range(heights + 2)] for v in range(values)}
    truth = {s: v for v, its in people.items() for s in its}
    dealt = {v: list(rng.permutation(its)) for v, its in people.items()}
    releases, lowest = [], -1
    for number in range(1, int(rng.integers(2, 5)) + 1):
        for its in dealt.values():
            for _ in range(int(rng.integers(0, 2))):
                i, j = rng.integers(0, len(its), 2)
                its[i], its[j] = its[j], its[i]
        columns = [[int(dealt[v][k]) for v in range(values)] for k in range(heights)]
        if fakes and rng.random() < 0.5:
            columns[0][0], lowest = (lowest if rng.random() < 0.5 or number == 1 else lowest - 1), lowest
            lowest = min(lowest, columns[0][0])
            truth[columns[0][0]] = 0
        classes = list(range(heights))
        if rng.random() < merge:
            classes[1] = classes[0]
            _, classes = np.unique(classes, return_inverse=True)
        releases.append(_release(number, columns, [int(c) for c in classes], truth))
    return Observed(releases, (Domain("a", 0, 8),), values, PlainWords()), truth


def _release(number: int, columns: list[list[int]], classes: list[int], truth: dict[int, int]) -> ObservedRelease:
    rows = sorted((s, classes[k]) for k, column in enumerate(columns) for s in column)
    subjects = np.array([s for s, _ in rows], dtype=np.int64)
    its = np.array([c for _, c in rows], dtype=np.int32)
    values = np.array([truth[int(s)] for s in subjects], dtype=np.int32)
    codes = (np.abs(subjects) % 9).astype(np.int32)[:, None]
    real = subjects >= 0
    members = Members(subjects[real], its[real], codes[real], values[real])
    fakes = Members(subjects[~real], its[~real], codes[~real], values[~real])
    boxes = bounding_boxes(codes, its, max(classes) + 1)
    return ObservedRelease(number, boxes, its, values, members, counterfeits=fakes)
