"""Blocks of one signature, at random, and their smallest equivalence attack straight from the definition."""

from __future__ import annotations

from itertools import product

import numpy as np

from reissue.arrays.types import Int32, Int64
from reissue.methods.equivalence.person_matrix import number_classes, trace_patterns
from reissue.methods.equivalence.smallest_attack import Block, make_blocks
from reissue.model.boxes import bounding_boxes
from reissue.model.domain import Domain
from reissue.model.observed import Members, Observed, ObservedRelease
from tests.support.words import PlainWords

AMPLE = 1_000_000
"""Branchings of an integer program of a test: it ends by its proof."""


def series_of(releases: list[tuple[Int64, Int32, Int32]], value_count: int) -> Observed:
    """Releases given as (subjects, their classes, their values), of people who are all alike."""
    made = []
    for number, (subjects, classes, values) in enumerate(releases, start=1):
        codes = np.zeros((len(subjects), 1), dtype=np.int32)
        boxes = bounding_boxes(codes, classes, int(classes.max(initial=-1)) + 1)
        made.append(ObservedRelease(number, boxes, classes, values, Members(subjects, classes, codes, values)))
    return Observed(made, (Domain("a", 0, 1),), value_count, PlainWords())


def all_blocks(series: Observed, *, apart: bool = True) -> list[Block]:
    rows = number_classes(series.releases)
    return list(make_blocks(series.releases, rows, trace_patterns(series.releases, rows), apart=apart))


def buckets_over_time(rng: np.random.Generator, *, returns: bool, sizes: int = 5) -> Observed:
    """One signature {0, 1}, merged, at 2-4 times: people come and go in pairs of the two values, as balance wants."""
    present: dict[int, int] = {}
    known: dict[int, int] = {}
    releases = []
    for _ in range(int(rng.integers(2, 5))):
        for value in (0, 1):
            here = [s for s, v in present.items() if v == value]
            for subject in here:
                if rng.random() < 0.4:
                    del present[subject]
        want = max(1, *(sum(v == value for v in present.values()) for value in (0, 1)), int(rng.integers(1, sizes)))
        for value in (0, 1):
            away = [s for s, v in known.items() if v == value and s not in present]
            while sum(v == value for v in present.values()) < want:
                subject = away.pop() if returns and away and rng.random() < 0.5 else len(known)
                present[subject] = known[subject] = value
        subjects = np.array(sorted(present), dtype=np.int64)
        values = np.array([present[int(s)] for s in subjects], dtype=np.int32)
        releases.append((subjects, np.zeros(len(subjects), dtype=np.int32), values))
    return series_of(releases, 2)


def smallest_by_enumeration(block: Block, reach: int = 4) -> int | None:
    """The definition: every whole weight up to `reach`, values cancel, people remain."""
    best: int | None = None
    for weights in product(range(-reach, reach + 1), repeat=len(block.release)):
        weight = np.array(weights)
        if (weight @ block.values).any():
            continue
        shown = block.inside.astype(int) @ weight
        if (shown * block.real).any():
            size = int(np.abs(shown) @ block.weight) // 2
            best = size if best is None else min(best, size)
    return best
