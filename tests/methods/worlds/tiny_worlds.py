"""Tiny series whose worlds can all be listed."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np

from reissue.model.domain import Domain
from reissue.model.observed import Members, Observed, ObservedRelease
from tests.support.words import PlainWords

NOBODY = np.empty(0, dtype=np.int64)


def release(number: int, rows: list[tuple[int, int, int]], extra: list[tuple[int, int]] = ()) -> ObservedRelease:  # type: ignore[assignment]
    """rows: (subject, class, value); extra: (class, value) of rows that belong to nobody."""
    rows = sorted(rows)
    classes = np.array([c for _, c, _ in rows] + [c for c, _ in extra], dtype=np.int32)
    values = np.array([v for _, _, v in rows] + [v for _, v in extra], dtype=np.int32)
    count = int(classes.max(initial=-1)) + 1
    people = len(rows)
    subjects = np.array([s for s, _, _ in rows], dtype=np.int64)
    members = Members(subjects, classes[:people], np.zeros((people, 1), dtype=np.int32), values[:people])
    return ObservedRelease(number, np.zeros((count, 1, 2), dtype=np.int32), classes, values, members)


def series(*releases: ObservedRelease, values: int = 4) -> Observed:
    return Observed(releases, (Domain("a", 0, 9),), values, PlainWords())


def enumerated(releases: list[ObservedRelease], known: set[int]) -> tuple[dict[int, set[int]], list[dict[int, int]]]:
    """Every assignment of values to people that fits all releases: the values possible for each, and all of them."""
    truth_of = {int(s): int(v) for r in releases for s, v in zip(r.members.subjects, r.members.values, strict=True)}  # type: ignore[union-attr]
    people = sorted(truth_of)
    shown = [Counter(zip(r.classes.tolist(), r.values.tolist(), strict=True)) for r in releases]
    values = sorted({v for counts in shown for _, v in counts})
    found = []
    for chosen in product(*([truth_of[p]] if p in known else values for p in people)):
        world = dict(zip(people, chosen, strict=True))
        fits = True
        for r, counts in zip(releases, shown, strict=True):
            assert r.members is not None
            used = Counter((int(c), world[int(s)]) for s, c in zip(r.members.subjects, r.members.classes, strict=True))
            fits = fits and all(n <= counts[key] for key, n in used.items())
        if fits:
            found.append(world)
    return {p: {w[p] for w in found} for p in people}, found


def random_series(rng: np.random.Generator) -> list[ObservedRelease]:
    people, values = int(rng.integers(3, 7)), int(rng.integers(2, 4))
    value = rng.integers(0, values, people)
    releases = []
    for number in range(1, int(rng.integers(2, 5))):
        here = np.flatnonzero(rng.random(people) < 0.8)
        classes = rng.integers(0, int(rng.integers(1, 4)), people)
        _, dense = np.unique(classes[here], return_inverse=True)
        rows = [(int(s), int(c), int(value[s])) for s, c in zip(here, dense, strict=True)]
        top = int(dense.max(initial=-1)) + 1
        extra = [(int(rng.integers(max(top, 1))), int(rng.integers(values))) for _ in range(int(rng.integers(0, 3)))]
        releases.append(release(number, rows, extra if top and rng.random() < 0.4 else []))
    return releases


def paths_by_enumeration(releases: list[ObservedRelease]) -> list[tuple[list[int], dict[int, tuple[int, int]]]]:
    """(people who share all classes, for each value that all these classes show (least, most) of them who have it)."""
    _, worlds = enumerated(releases, set())
    ways: dict[tuple[int, ...], list[int]] = {}
    for person in worlds[0]:
        ways.setdefault(tuple(class_of(r, person) for r in releases), []).append(person)
    found = []
    for way, who in ways.items():
        shown = [set(r.values[r.classes == c].tolist()) for r, c in zip(releases, way, strict=True) if c >= 0]
        counts = {v: [sum(world[p] == v for p in who) for world in worlds] for v in set.intersection(*shown)}
        found.append((who, {v: (min(n), max(n)) for v, n in counts.items()}))
    return found


def class_of(release: ObservedRelease, person: int) -> int:
    assert release.members is not None
    at = np.flatnonzero(release.members.subjects == person)
    return int(release.members.classes[at[0]]) if len(at) else -1
