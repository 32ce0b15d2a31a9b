"""Rows of a release and people of a snapshot: consistent, complete, and honest about what is ambiguous."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from scipy.optimize import milp

from reissue.arrays.types import Int32
from reissue.audit.foreign import matching
from reissue.audit.foreign.matching import match_by_content, match_by_order, match_exactly
from reissue.errors import ReleaseError


def brute(boxes: Int32, classes: Int32, values: Int32, codes: Int32, true_values: Int32) -> tuple[int, int]:
    """(most people that can be placed, people who are in different classes in different largest placements)."""
    people, rows = len(codes), len(classes)
    fits = [
        [
            bool((codes[p] >= boxes[classes[r], :, 0]).all() and (codes[p] <= boxes[classes[r], :, 1]).all())
            and values[r] == true_values[p]
            for r in range(rows)
        ]
        for p in range(people)
    ]
    best, places = 0, []
    slots = [*range(rows), *([-1] * people)]
    seen = set()
    for chosen in permutations(slots, people):
        if chosen in seen:
            continue
        seen.add(chosen)
        if all(r < 0 or fits[p][r] for p, r in enumerate(chosen)):
            count = sum(r >= 0 for r in chosen)
            place = tuple(-1 if r < 0 else int(classes[r]) for r in chosen)
            if count > best:
                best, places = count, [place]
            elif count == best:
                places.append(place)
    ambiguous = sum(len({place[p] for place in places}) > 1 for p in range(people))
    return best, ambiguous


@pytest.mark.parametrize("seed", range(120))
def test_content_equals_brute_force(seed: int) -> None:
    rng = np.random.default_rng([91, seed])
    people, rows, count = int(rng.integers(1, 5)), int(rng.integers(1, 5)), int(rng.integers(1, 4))
    low = rng.integers(0, 4, (count, 1))
    boxes = np.stack([low, low + rng.integers(0, 4, (count, 1))], axis=2).astype(np.int32)
    classes = rng.integers(0, count, rows).astype(np.int32)
    values = rng.integers(0, 2, rows).astype(np.int32)
    codes = rng.integers(0, 6, (people, 1)).astype(np.int32)
    true_values = rng.integers(0, 2, people).astype(np.int32)
    found = match_by_content(boxes, classes, values, codes, true_values)
    best, ambiguous = brute(boxes, classes, values, codes, true_values)
    placed = np.flatnonzero(found.classes >= 0)
    assert len(placed) == best
    assert found.unmatched == rows - best
    for p in placed:
        box = boxes[found.classes[p]]
        assert (box[:, 0] <= codes[p]).all()
        assert (codes[p] <= box[:, 1]).all()
    shown = np.zeros((count, 2), dtype=int)
    np.add.at(shown, (classes, values), 1)
    np.subtract.at(shown, (found.classes[placed], true_values[placed]), 1)
    assert (shown >= 0).all(), "no group takes more people than it has rows"
    assert found.ambiguous >= ambiguous
    # people of one kind are interchangeable: all of them count as ambiguous when one of them can be elsewhere
    if len(np.unique(np.stack([codes[:, 0], true_values]), axis=1).T) == people:
        assert found.ambiguous == ambiguous


def test_order_names_the_row() -> None:
    boxes = np.array([[[0, 3]]], dtype=np.int32)
    zero = np.zeros(2, dtype=np.int32)
    codes = np.array([[1], [9]], dtype=np.int32)
    with pytest.raises(ReleaseError, match="row 1 attribute 0"):
        match_by_order(boxes, zero, zero, codes, zero, lambda row, a: f"row {row} attribute {a}")
    with pytest.raises(ReleaseError, match="row 0 attribute None"):
        match_by_order(
            boxes, zero, zero, np.minimum(codes, 3), np.array([1, 0], np.int32), lambda r, a: f"row {r} attribute {a}"
        )
    with pytest.raises(ReleaseError, match="2 rows and its snapshot 1"):
        match_by_order(boxes, zero, zero, codes[:1], zero[:1], lambda r, a: "")
    hidden = np.array([0, -1], dtype=np.int32)
    assert match_by_order(boxes, hidden, zero, codes, zero, lambda r, a: "").classes.tolist() == [0, -1]


@pytest.mark.parametrize("seed", range(60))
def test_exact_rows_and_values_of_each_class_are_both_kept(seed: int) -> None:
    """A release made from people, its two tables apart: everybody is placed, within what each class shows."""
    rng = np.random.default_rng([92, seed])
    people, extra = int(rng.integers(2, 12)), int(rng.integers(0, 3))
    codes = rng.integers(0, 3, (people + extra, 1)).astype(np.int32)
    values = rng.integers(0, 3, people + extra).astype(np.int32)
    classes = rng.integers(0, 3, people + extra).astype(np.int32)
    _, classes = np.unique(classes, return_inverse=True)
    shuffled = rng.permutation(people + extra)
    rows = codes[shuffled], classes[shuffled].astype(np.int32)
    found = match_exactly(rows, (classes.astype(np.int32), values), codes[:people], values[:people])
    assert (found.classes >= 0).all()
    assert found.unmatched == extra
    for one in range(3):
        for other in range(3):
            placed = found.classes == one
            assert (placed & (codes[:people, 0] == other)).sum() <= ((classes == one) & (codes[:, 0] == other)).sum()
            assert (placed & (values[:people] == other)).sum() <= ((classes == one) & (values == other)).sum()


def test_a_match_is_limited_by_work_and_not_by_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    codes, places = np.zeros((2, 1), np.int32), np.array([0, 1], np.int32)
    asked: list[dict[str, float]] = []

    def solve(*arguments: Any, options: dict[str, float], **rules: Any) -> Any:
        asked.append(dict(options))
        return milp(*arguments, options=options, **rules)

    monkeypatch.setattr("scipy.optimize.milp", solve)
    assert match_exactly((codes, places), (places, places), codes, places).classes.tolist() == [0, 1]
    assert asked == [{"node_limit": matching.NODES}]
