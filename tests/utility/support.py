"""Small releases for the measures, and the slow, plain way to compute what the kernels compute."""

from __future__ import annotations

import itertools

import numpy as np

from reissue.arrays.types import Float64, Int32
from reissue.model.boxes import bounding_boxes, widen_to_nodes
from reissue.model.domain import Domain
from reissue.model.release import Candidate, Coded, Counterfeits, Facts
from reissue.utility import Queries
from tests.support.histories import uniform_tree


def small_domains(numeric: int = 9) -> tuple[Domain, ...]:
    return (
        Domain("age", 3, 3 + numeric),
        Domain("place", 0, 5, uniform_tree(2, 3)),
        Domain("sex", 0, 1, uniform_tree(2)),
    )


def random_snapshot(rng: np.random.Generator, rows: int, values: int, domains: tuple[Domain, ...]) -> Coded:
    codes = np.stack([rng.integers(d.lo, d.hi + 1, rows) for d in domains], axis=1).astype(np.int32)
    return Coded(
        np.arange(rows, dtype=np.int64),
        np.asfortranarray(codes),
        rng.integers(0, values, rows).astype(np.int32),
        domains,
        values,
    )


def random_facts(
    rng: np.random.Generator, snapshot: Coded, classes: int, *, anatomized: bool = False, suppress: float = 0.0
) -> Facts:
    """Classes at random, so that boxes overlap; some rows suppressed, a counterfeit in class 0."""
    classes = min(classes, len(snapshot))
    of_row = rng.integers(0, classes, len(snapshot)).astype(np.int32)
    of_row[rng.random(len(snapshot)) < suppress] = -1
    of_row[:classes] = np.arange(classes)  # no class is empty
    boxes = widen_to_nodes(bounding_boxes(snapshot.codes, of_row, classes), snapshot.domains)
    fake = Counterfeits(
        np.array([-1]), np.zeros(1, np.int32), np.zeros(1, np.int32), boxes[:1, :, 0].astype(np.int32).copy()
    )
    return Candidate(boxes, of_row, fake, (), anatomized).facts(1, snapshot)


def count_slowly(queries: Queries, codes: Int32, values: Int32) -> list[int]:
    return [
        sum(matches(queries, q, code, int(value)) for code, value in zip(codes.tolist(), values.tolist(), strict=True))
        for q in range(len(queries))
    ]


def matches(queries: Queries, q: int, code: list[int], value: int) -> bool:
    inside = all(queries.low[q, a] <= code[a] <= queries.high[q, a] for a in range(len(code)))
    return bool(inside and queries.value_low[q] <= value <= queries.value_high[q])


def estimate_slowly(queries: Queries, facts: Facts) -> Float64:
    """By the meaning of the words: every row stands on every cell of its box with equal probability."""
    answers = np.zeros(len(queries))
    for q in range(len(queries)):
        for row in range(len(facts.classes)):
            box = facts.boxes[facts.classes[row]]
            cells = list(itertools.product(*(range(lo, hi + 1) for lo, hi in box.tolist())))
            hits = sum(matches(queries, q, list(cell), int(facts.values[row])) for cell in cells)
            answers[q] += hits / len(cells)
    return answers


def estimate_anatomized_slowly(queries: Queries, facts: Facts) -> Float64:
    """Every QI row has every value of its class with equal probability."""
    answers = np.zeros(len(queries))
    for q in range(len(queries)):
        for row in range(len(facts.classes)):
            values = facts.values[facts.classes == facts.classes[row]]
            code = facts.codes[row].tolist()
            answers[q] += np.mean([matches(queries, q, code, int(value)) for value in values])
    return answers
