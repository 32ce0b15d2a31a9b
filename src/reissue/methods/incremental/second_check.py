"""Intersection, difference and record tracing a second time: slow and obvious, sharing no code with the attacks.

The checked strategies plan with the kernels by which the attacks measure (see the room's `__init__`), so a fault there
would deceive maker and checker alike. Here people are looked up one by one, sets of classes are enumerated and rows are
moved one at a time: all of them where there are few, else those around a seeded sample. What is found is there; finding
nothing proves it only for what was looked at. The work is bounded by counts, so that it stays a tenth of publishing.

Measured against the attacks' definitions as stated there: a traced row's box is cut with the union of the boxes it can
be in; but a set with a class that exceeds c all by itself is judged here by its size alone.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from functools import lru_cache

import numpy as np

from reissue.arrays.types import Int64
from reissue.methods.incremental.second_tracing import find_trace
from reissue.methods.plain_release import FEW, PlainRelease, draw_some
from reissue.model.observed import Observed

PEOPLE = 40, 1_000
"""How many people are intersected: so many, and one more for so many rows."""
CLASSES = 12, 2_000
"""Around how many classes sets are enumerated: so many, and one more for so many rows."""
TOGETHER = 8
"""Of how many connected classes all sets are enumerated."""
ROUNDS = 3
"""How often the classes tied to those looked at are looked at as well."""


def find_breach(series: Observed, k: int, c: float, seed: int) -> str | None:
    """What the newest release gives away beside the earlier ones, as far as it is looked at; None: nothing found.

    People are followed through all releases; sets and rows are looked at beside one earlier release, or beside all if
    there are few classes in all.
    """
    if len(series) < 2:
        return None
    rng, share = np.random.default_rng(seed), Fraction(c).limit_denominator(1_000_000)
    *earlier, newest = (PlainRelease(release, series.value_count) for release in series.releases)
    rows = len(newest.classes)
    found = _find_common_value([*earlier, newest], draw_some(rng, rows, PEOPLE, rows), share)
    few = sum(len(older.boxes) + len(newest.boxes) for older in earlier) <= FEW
    for older in earlier if few else [earlier[rng.integers(len(earlier))]]:
        for left, right in ((older, newest), (newest, older)):
            starts = draw_some(rng, len(left.boxes), CLASSES, rows)
            found = found or _find_small_rest(left, right, starts.tolist(), k, share)
        found = found or find_trace(older, newest, k, rng)
    return found


def _find_common_value(releases: list[PlainRelease], chosen: Int64, share: Fraction) -> str | None:
    """Whether what all classes of one of these people of the newest release have in common shows a value too often."""
    subjects = releases[-1].subjects[chosen]
    common: dict[int, list[Int64]] = defaultdict(list)
    for release in releases:
        classes = release.find_classes(subjects).tolist()
        release.count_values(own for own in classes if own >= 0)
        for person, own in enumerate(classes):
            if own >= 0:
                common[person].append(release.counts[own])
    for counts in common.values():
        left = np.minimum.reduce(counts)
        if len(counts) > 1 and left.max() * share.denominator > left.sum() * share.numerator:
            return (
                f"somebody's {len(counts)} classes have {left.sum():,} values in common, {left.max():,} of them "
                f"{{value:{int(left.argmax())}}} (intersection)"
            )
    return None


def _find_small_rest(left: PlainRelease, right: PlainRelease, starts: list[int], k: int, share: Fraction) -> str | None:
    """Whether some classes of the left leave too few people, or too many of one value, of the classes around them."""
    touched = _find_touched(left, right, starts)
    sides: dict[int, list[int]] = defaultdict(list)
    for own, around in touched.items():
        for other in around:
            sides[other].append(own)
    done: set[int] = set()
    for start in starts:
        if start in touched and start not in done:
            lefts = _connect(start, touched, sides)
            done.update(lefts)
            rights = sorted(set().union(*(touched[own] for own in lefts)))
            size = _enumerate_sets(left, right, lefts, rights, touched, k, share)
            if size is not None:
                return (
                    f"classes of {{release:{right.number}}} without the people of classes of {{release:{left.number}}} "
                    f"leave {size} people, too few or too many of one value (difference)"
                )
    return None


def _find_touched(left: PlainRelease, right: PlainRelease, starts: list[int]) -> dict[int, set[int]]:
    """Left class -> the right classes its people are in; only classes whose every row is somebody of the right."""
    touched: dict[int, set[int]] = {}
    todo, seen = starts, set(starts)
    for _ in range(ROUNDS):
        left.count_values(todo)
        left.find_people(todo)
        for own in todo:
            others = {*right.find_classes(left.subjects[left.people[own]]).tolist()}
            if others and -1 not in others and len(left.people[own]) == left.counts[own].sum():
                touched[own] = others
        rights = set().union(*(touched.get(own, ()) for own in todo))
        right.find_people(rights)
        near = {own for other in rights for own in left.find_classes(right.subjects[right.people[other]]).tolist()}
        todo = sorted(near - seen - {-1})[: TOGETHER * len(starts) - len(seen)]
        if not todo:
            break
        seen.update(todo)
    right.count_values(set().union(*touched.values()))
    return touched


def _connect(start: int, touched: dict[int, set[int]], sides: dict[int, list[int]]) -> list[int]:
    """Left classes that hang together with one, the nearest first, at most so many as are enumerated."""
    found = [start]
    for own in found:
        for other in sorted(touched[own]):
            found += [near for near in sides[other] if near not in found][: TOGETHER - len(found)]
    return found


def _enumerate_sets(
    left: PlainRelease,
    right: PlainRelease,
    lefts: list[int],
    rights: list[int],
    touched: dict[int, set[int]],
    k: int,
    share: Fraction,
) -> int | None:
    """The size of the first difference that breaks (k,c), of all sets of these left classes; None if none does."""
    inner, outer = np.stack([left.counts[own] for own in lefts]), np.stack([right.counts[other] for other in rights])
    ties = np.array([[other in touched[own] for other in rights] for own in lefts], dtype=np.int64)
    sets = _all_sets(len(lefts))
    around = (sets @ ties > 0).astype(np.int64)
    rest = around @ outer - sets @ inner
    size = rest.sum(axis=1)
    top, bottom = share.numerator, share.denominator
    above = [(counts * bottom > top * counts.sum(axis=1, keepdims=True)).any(axis=1) for counts in (inner, outer)]
    judged = (sets @ above[0] + around @ above[1]) == 0
    broken = (size > 0) & ((size < k) | (judged & (rest * bottom > top * size[:, None]).any(axis=1)))
    return int(size[broken][0]) if broken.any() else None


@lru_cache
def _all_sets(classes: int) -> Int64:
    """int64[sets, classes]: every set of so many classes but the empty one, as a row of ones and zeros."""
    return (np.arange(1, 1 << classes)[:, None] >> np.arange(classes)) & 1
