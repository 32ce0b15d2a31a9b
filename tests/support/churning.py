"""Tiny random series: people come, go and return, some rows are nobody's, classes fall into components."""

from __future__ import annotations

import numpy as np

from reissue.arrays.types import Int32
from reissue.model.boxes import bounding_boxes
from reissue.model.domain import Domain
from reissue.model.observed import Members, Observed, ObservedRelease
from tests.support.words import PlainWords


def churning(
    rng: np.random.Generator, *, people: int = 40, releases: int | None = None, changing: bool = False
) -> Observed:
    """People belong to circles and share classes within them only; whole circles come and go.

    Counterfeits are known by number, or (in half of the series) are rows of which nobody is known. `changing`: a few
    values change between releases.
    """
    circles, kinds = int(rng.integers(1, 9)), int(rng.integers(2, 5))
    circle = rng.integers(0, circles, people)
    codes = rng.integers(0, 9, (people, 2)).astype(np.int32)
    values = rng.integers(0, kinds, people).astype(np.int32)
    known = bool(rng.random() < 0.5)
    made = []
    for number in range(1, (releases or int(rng.integers(2, 5))) + 1):
        if changing:
            values = np.where(rng.random(people) < 0.03, rng.integers(0, kinds, people), values).astype(np.int32)
        here = (rng.random(people) < 0.8) & (rng.random(circles) < 0.9)[circle]
        made.append(_release(rng, number, np.flatnonzero(here), circle, codes, values, kinds, known))
    return Observed(made, (Domain("a", 0, 8), Domain("b", 0, 8)), kinds, PlainWords())


def _release(
    rng: np.random.Generator,
    number: int,
    here: np.ndarray,
    circle: np.ndarray,
    codes: Int32,
    values: Int32,
    kinds: int,
    known: bool,
) -> ObservedRelease:
    key = circle[here] * 3 + (values[here] + rng.integers(0, 2, len(here))) % int(rng.integers(1, 4))
    fakes = int(rng.integers(0, 3)) if len(here) else 0
    own = np.concatenate([rng.choice(key, fakes), key]) if fakes else key
    own = np.unique(own, return_inverse=True)[1].reshape(-1)
    own = rng.permutation(int(own.max(initial=-1)) + 1)[own].astype(np.int32)
    numbers = np.sort(rng.choice(6, fakes, replace=False)) - 6  # the same few counterfeits again and again
    code = np.concatenate([rng.integers(0, 9, (fakes, 2)), codes[here]]).astype(np.int32)
    value = np.concatenate([rng.integers(0, kinds, fakes), values[here]]).astype(np.int32)
    real = Members(here.astype(np.int64), own[fakes:], code[fakes:], value[fakes:])
    fake = Members(numbers.astype(np.int64), own[:fakes], code[:fakes], value[:fakes])
    boxes = bounding_boxes(code, own, int(own.max(initial=-1)) + 1)
    return ObservedRelease(number, boxes, own, value, real, counterfeits=fake if known else None)
