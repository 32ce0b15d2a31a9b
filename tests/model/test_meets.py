"""All pairs of meeting boxes, and points inside boxes, against the definition."""

from __future__ import annotations

import numpy as np
import pytest

from reissue.model.box_index import Points, find_meeting, meet_any
from reissue.model.boxes import bounding_boxes


def random_boxes(rng: np.random.Generator, n: int, attributes: int, span: int) -> np.ndarray:
    corners = rng.integers(0, span, (n, attributes, 2))
    return np.sort(corners, axis=2).astype(np.int32)


def intersect(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """bool[left, right]: which boxes meet, straight from the definition."""
    return ((left[:, None, :, 0] <= right[None, :, :, 1]) & (right[None, :, :, 0] <= left[:, None, :, 1])).all(axis=-1)


@pytest.mark.parametrize("seed", range(60))
def test_meeting_finds_exactly_the_intersecting_pairs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    attributes, span = int(rng.integers(1, 6)), int(rng.integers(1, 40))
    left = random_boxes(rng, int(rng.integers(0, 80)), attributes, span)
    right = random_boxes(rng, int(rng.integers(0, 80)), attributes, span)
    i, j = find_meeting(left, right)
    expected = np.argwhere(intersect(left, right)).reshape(-1, 2)
    assert np.array_equal(np.stack([i, j], axis=1), expected)
    assert np.array_equal(meet_any(left, right), intersect(left, right).any(axis=1))


def test_many_equal_boxes_and_impossible_boxes() -> None:
    left = np.zeros((50, 2, 2), dtype=np.int32)
    right = np.zeros((40, 2, 2), dtype=np.int32)
    empty = bounding_boxes(np.zeros((0, 2), dtype=np.int32), np.zeros(0, dtype=np.int32), 3)
    i, j = find_meeting(np.concatenate([left, empty]), np.concatenate([empty, right]))
    assert len(i) == 2000
    assert i.max() == 49
    assert j.min() == 3


def test_extreme_codes_do_not_overflow() -> None:
    big = np.iinfo(np.int32).max
    boxes = np.array([[[-big, big]], [[big, big]], [[-big, -big]]] * 9, dtype=np.int32)
    i, _j = find_meeting(boxes, boxes)
    assert len(i) == int(intersect(boxes, boxes).sum())


@pytest.mark.parametrize("seed", range(30))
def test_points_inside_boxes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    attributes, span = int(rng.integers(1, 5)), int(rng.integers(1, 30))
    codes = rng.integers(0, span, (int(rng.integers(0, 200)), attributes)).astype(np.int32)
    boxes = random_boxes(rng, 50, attributes, span)
    expected = np.array([((codes >= b[:, 0]) & (codes <= b[:, 1])).all(axis=1).sum() for b in boxes])
    assert np.array_equal(Points(codes).inside(boxes), expected)
    assert np.array_equal(Points(codes).inside(boxes, enough=3), np.minimum(expected, 3))
