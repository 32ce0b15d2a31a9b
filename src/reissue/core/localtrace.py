"""Tracing on small dense tables: the conditions of reissue.core.tracing for one component of classes.

Rows of one value may sit in every class of the component whose box meets their own; people who fit are counted among
the rows of the cluster. Fewer edges or people than there really are only make the attacker surer.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from reissue.core.compiled import njit
from reissue.core.domain import Bool, Int32, Int64
from reissue.core.localflow import Desk, moves_away


class Scene(NamedTuple):
    """One earlier release beside the new classes.

    codes: int32[rows, attributes]; there: int32[rows] class in the earlier release, -1 if a row was not in it
    old, new: int32[classes, attributes, 2] boxes; k: people enough
    fit: int64[lefts, rights] people who fit both boxes, up to k; -1 where the boxes do not meet
    """

    codes: Int32
    there: Int32
    old: Int32
    new: Int32
    fit: Int64
    k: int


@njit(cache=True)
def tracing_ok(
    value: Int64,
    codes: Int32,
    there: Int32,
    label: Int64,
    place: tuple[Int64, Int64],
    boxes: tuple[Int32, Int32],
    link: Int64,
    new: Int64,
    k: int,
    desk: Desk,
) -> bool:
    """No row of the earlier release is forced, forward or back, among fewer than k people.

    place: where the classes of both releases stand in link: int64[lefts, rights], -1 outside; boxes: of the classes in
    link; new: int64[rights, values]
    """
    fit = np.full(link.shape, -1, np.int64)
    scene = Scene(codes, there, boxes[0], boxes[1], fit, k)
    if not _fits(scene, link, True):
        return True
    _fits(scene, link, False)
    values = new.shape[1]
    true, present = np.zeros((values, *link.shape), np.int64), np.zeros(values, np.bool_)
    for row in range(len(value)):
        if there[row] >= 0 and place[0][there[row]] >= 0:
            true[value[row], place[0][there[row]], place[1][label[row]]] += 1
            present[value[row]] = True
    for one in range(values):
        if present[one] and _thin(scene, true[one]) and not _value_ok(scene, true[one], new[:, one], desk):
            return False
    return True


@njit(cache=True)
def _fits(scene: Scene, link: Int64, sharing: bool) -> bool:
    """Count who fits each pair of classes, those that share subjects or the others; whether some are too few."""
    (lefts, rights), attributes = link.shape, scene.codes.shape[1]
    low, high = np.empty(attributes, np.int32), np.empty(attributes, np.int32)
    thin = False
    for u in range(lefts):
        for v in range(rights):
            if (link[u, v] > 0) != sharing:
                continue
            meet = True
            for a in range(attributes):
                low[a] = max(scene.old[u, a, 0], scene.new[v, a, 0])
                high[a] = min(scene.old[u, a, 1], scene.new[v, a, 1])
                meet &= low[a] <= high[a]
            if meet:
                scene.fit[u, v] = scene.k if link[u, v] >= scene.k else _people(scene, low, high)
                thin |= scene.fit[u, v] < scene.k
    return thin


@njit(cache=True)
def _people(scene: Scene, low: Int32, high: Int32) -> int:
    """How many rows of the earlier release lie in a box, up to k."""
    count = 0
    for row in range(len(scene.there)):
        if scene.there[row] < 0:
            continue
        inside = True
        for a in range(len(low)):
            if scene.codes[row, a] < low[a] or scene.codes[row, a] > high[a]:
                inside = False
                break
        if inside:
            count += 1
            if count == scene.k:
                break
    return count


@njit(cache=True)
def _thin(scene: Scene, true: Int64) -> bool:
    """Whether rows really went where too few people fit; otherwise nothing of this value is traced."""
    for u in range(true.shape[0]):
        for v in range(true.shape[1]):
            if true[u, v] > 0 and scene.fit[u, v] < scene.k:
                return True
    return False


@njit(cache=True)
def _value_ok(scene: Scene, true: Int64, new: Int64, desk: Desk) -> bool:
    """Tracing for one value: true: int64[lefts, rights] where its rows really went; new: int64[rights] rows of it."""
    lefts, rights = true.shape
    edge, free = np.zeros((lefts, rights), np.bool_), np.empty(rights, np.int64)
    for v in range(rights):
        free[v] = new[v]
        for u in range(lefts):
            edge[u, v] = scene.fit[u, v] >= 0 and new[v] > 0
            desk.flow[u, v] = true[u, v]
            free[v] -= true[u, v]
    for u in range(lefts):  # all places a row can be
        if _sends(true, u, -1) and not _wide_enough(scene, true, edge, free, u, -1):
            return False
    for v in range(rights):  # all places a row that must be old can come from
        traced = _sends(true, -1, v) and not _wide_enough(scene, true, edge, free, -1, v)
        if traced and not moves_away(edge, free, -1, v, desk):
            return False
    for u in range(lefts):
        for v in range(rights):
            if 0 <= scene.fit[u, v] < scene.k and desk.flow[u, v] > 0 and not moves_away(edge, free, u, v, desk):
                return False
    return True


@njit(cache=True)
def _sends(true: Int64, left: int, right: int) -> bool:
    """Whether class `left` sends any row, or class `right` takes any."""
    for other in range(true.shape[1] if left >= 0 else true.shape[0]):
        if (true[left, other] if left >= 0 else true[other, right]) > 0:
            return True
    return False


@njit(cache=True)
def _wide_enough(scene: Scene, true: Int64, edge: Bool, free: Int64, left: int, right: int) -> bool:
    """Whether the hull of the possible classes, cut with the box of class `left` (or `right`), holds k people."""
    attributes = scene.codes.shape[1]
    low, high = np.full(attributes, 2**31 - 1, np.int32), np.full(attributes, -(2**31), np.int32)
    for other in range(true.shape[1] if left >= 0 else true.shape[0]):
        u, v = (left, other) if left >= 0 else (other, right)
        if true[u, v] == 0 and (left < 0 or not edge[u, v] or free[v] <= 0):
            continue
        if scene.fit[u, v] >= scene.k:
            return True
        outer = scene.new[v] if left >= 0 else scene.old[u]
        for a in range(attributes):
            low[a], high[a] = min(low[a], outer[a, 0]), max(high[a], outer[a, 1])
    own = scene.old[left] if left >= 0 else scene.new[right]
    for a in range(attributes):
        low[a], high[a] = max(low[a], own[a, 0]), min(high[a], own[a, 1])
    return _people(scene, low, high) >= scene.k
