"""The conditions of `tracing` for one small dense component, apart on purpose from the code of the attack.

Rows of one value may sit in every class of the component whose box meets their own; people who fit are counted among
the rows of the cluster. Fewer edges or people than there really are only make the attacker surer.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.types import Bool, Int32, Int64
from reissue.methods.incremental.recut.check_difference import DifferenceBuffers, moves_away
from reissue.model.box_index import cut

NOWHERE, UNKNOWN = -1, -2


class Scene(NamedTuple):
    """One earlier release beside the new classes.

    codes: int32[rows, attributes]; there: int32[rows] class in the earlier release, -1 if a row was not in it
    old, new: int32[classes, attributes, 2] boxes; k: people enough
    fit: int64[lefts, rights] people who fit both boxes, up to k; NOWHERE where the boxes do not meet, UNKNOWN where
    nobody has asked: most pairs of classes meet without sharing anybody, and few of these are ever asked for
    steps: int64[1] as in `DifferenceBuffers`
    """

    codes: Int32
    there: Int32
    old: Int32
    new: Int32
    fit: Int64
    k: int
    steps: Int64


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
    desk: DifferenceBuffers,
) -> bool:
    """No row of the earlier release is forced, forward or back, among fewer than k people.

    place: where the classes of both releases stand in link: int64[lefts, rights], -1 outside; boxes: of the classes in
    link; new: int64[rights, values]
    """
    fit = np.full(link.shape, -1, np.int64)
    scene = Scene(codes, there, boxes[0], boxes[1], fit, k, desk.steps)
    if not _fits(scene, link):
        return True
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
def _fits(scene: Scene, link: Int64) -> bool:
    """Count who fits each pair of classes that share subjects; whether some are too few."""
    (lefts, rights), met = link.shape, np.empty((scene.codes.shape[1], 2), np.int32)
    thin = False
    for u in range(lefts):
        for v in range(rights):
            if link[u, v] >= scene.k:
                scene.fit[u, v] = scene.k
            elif cut(scene.old[u], scene.new[v], met):
                scene.fit[u, v] = _people(scene, met) if link[u, v] > 0 else UNKNOWN
                thin |= 0 <= scene.fit[u, v] < scene.k
    return thin


@njit(cache=True)
def _fits_enough(scene: Scene, left: int, right: int) -> bool:
    """Whether k people fit two classes whose boxes meet."""
    if scene.fit[left, right] == UNKNOWN:
        met = np.empty((scene.codes.shape[1], 2), np.int32)
        cut(scene.old[left], scene.new[right], met)
        scene.fit[left, right] = _people(scene, met)
    return bool(scene.fit[left, right] >= scene.k)


@njit(cache=True)
def _people(scene: Scene, box: Int32) -> int:
    """How many rows of the earlier release lie in a box, up to k."""
    count = row = 0
    while row < len(scene.there) and count < scene.k:
        count += scene.there[row] >= 0 and _lies_in(scene.codes[row], box)
        row += 1
    scene.steps[0] += row
    return count


@njit(cache=True)
def _lies_in(codes: Int32, box: Int32) -> bool:
    for a in range(len(box)):  # noqa: SIM110 (numba)
        if codes[a] < box[a, 0] or codes[a] > box[a, 1]:
            return False
    return True


@njit(cache=True)
def _thin(scene: Scene, true: Int64) -> bool:
    """Whether rows really went where too few people fit; otherwise nothing of this value is traced."""
    for u in range(true.shape[0]):
        for v in range(true.shape[1]):
            if true[u, v] > 0 and scene.fit[u, v] < scene.k:
                return True
    return False


@njit(cache=True)
def _value_ok(scene: Scene, true: Int64, new: Int64, desk: DifferenceBuffers) -> bool:
    """Tracing for one value: true: int64[lefts, rights] where its rows really went; new: int64[rights] rows of it."""
    lefts, rights = true.shape
    edge, free = np.zeros((lefts, rights), np.bool_), np.empty(rights, np.int64)
    for v in range(rights):
        free[v] = new[v]
        for u in range(lefts):
            edge[u, v] = scene.fit[u, v] != NOWHERE and new[v] > 0
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
    """Whether k people lie in the box of class `left` (or `right`) and in one of its possible classes."""
    others = true.shape[1] if left >= 0 else true.shape[0]
    possible = np.zeros(others, np.bool_)
    for other in range(others):
        u, v = (left, other) if left >= 0 else (other, right)
        if true[u, v] > 0 or (left >= 0 and edge[u, v] and free[v] > 0):
            if _fits_enough(scene, u, v):
                return True
            possible[other] = True
    mine, outer = (scene.old[left], scene.new) if left >= 0 else (scene.new[right], scene.old)
    count = 0
    scene.steps[0] += len(scene.there)
    for row in range(len(scene.there)):
        if scene.there[row] < 0 or not _lies_in(scene.codes[row], mine):
            continue
        for other in range(others):
            if possible[other] and _lies_in(scene.codes[row], outer[other]):
                count += 1
                break
    return count >= scene.k
