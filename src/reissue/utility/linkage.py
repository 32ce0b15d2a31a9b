"""Record linkage: how many people an outsider would link rightly with their published row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.sets import sorted_unique
from reissue.arrays.types import Float64, Int32
from reissue.model.domain import Domain
from reissue.model.observed import ObservedRelease
from reissue.model.release import Facts
from reissue.utility.counting import FAN, Packed, find_children, pack
from reissue.utility.measure import SnapshotPeople, class_sizes, clip_boxes, people_in


def record_linkage(release: Facts | ObservedRelease, domains: Sequence[Domain]) -> float:
    """RL (BAYES, equation 7): the sum over people of 1 / |Q| if Q, the class nearest to a person, is their own, else 0.

    A sum over rows, not an average: the expected number of right links. The paper leaves "nearest" open. Here the
    distance is that of the person's codes to the box, in shares of the domains, so that boxes which
    contain the person come first; among equally near boxes the one with the nearest middle; a choice among t classes
    that still tie is right with probability 1 / t. Suppressed rows are never linked.
    """
    people = people_in(release)
    if len(people.subjects) == 0:
        return 0.0
    ties = _ties_of_exact_rows(people) if release.anatomized else _ties_of_boxes(release, people, domains)
    linked = ties > 0
    return float((1.0 / (ties[linked] * class_sizes(release)[people.classes[linked]])).sum())


def _ties_of_exact_rows(people: SnapshotPeople) -> Float64:
    """float64[people]: how many classes hold a row with exactly the person's codes; one of them is theirs."""
    person = np.unique(people.codes, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
    pairs = sorted_unique(person * (int(people.classes.max()) + 1) + people.classes)
    classes_with = np.bincount(pairs // (int(people.classes.max()) + 1))
    return classes_with[person].astype(np.float64)


def _ties_of_boxes(release: Facts | ObservedRelease, people: SnapshotPeople, domains: Sequence[Domain]) -> Float64:
    """float64[people]: how many classes are as near as the person's own; 0 where another class is nearer."""
    filled = np.flatnonzero(class_sizes(release) > 0)
    boxes = clip_boxes(release.boxes, domains)
    tree = pack(boxes[filled])
    span = np.array([domain.span for domain in domains], dtype=np.float64)
    codes = np.ascontiguousarray(people.codes)
    ties: Float64 = _count_ties(tree, codes, boxes, people.classes, 1.0 / span)
    return ties


@njit(cache=True)
def _count_ties(tree: Packed, codes: Int32, boxes: Int32, classes: Int32, scale: Float64) -> Float64:
    """float64[people], see `_ties_of_boxes`. O(boxes that contain the person) each, and it stops at a nearer one."""
    ties = np.zeros(len(codes), dtype=np.float64)
    stack = np.empty(FAN * len(tree.starts) + 1, dtype=np.int64)
    levels = np.empty(len(stack), dtype=np.int64)
    for p in range(len(codes)):
        own, own_middle = _distances(boxes[classes[p]], codes[p], scale)
        stack[0], levels[0], top, equal = len(tree.hulls) - 1, len(tree.starts) - 2, 1, 0
        while top > 0:
            top -= 1
            node, level = stack[top], levels[top]
            if _distances(tree.hulls[node], codes[p], scale)[0] > own + 1e-12:
                continue
            first, last = find_children(tree, node, level)
            for child in range(first, last):
                if level > 0:
                    stack[top], levels[top], top = child, level - 1, top + 1
                    continue
                distance, middle = _distances(tree.boxes[child], codes[p], scale)
                if distance < own - 1e-12 or (distance <= own + 1e-12 and middle < own_middle - 1e-12):
                    equal, top = 0, -1  # a nearer class: the link is wrong
                    break
                if distance <= own + 1e-12 and middle <= own_middle + 1e-12:
                    equal += 1
        ties[p] = equal
    return ties


@njit(cache=True)
def _distances(box: Int32, code: Int32, scale: Float64) -> tuple[float, float]:
    """Squared distances of a point to the box and to its middle, in shares of the domains."""
    outside, middle = 0.0, 0.0
    for a in range(len(code)):
        gap = max(box[a, 0] - code[a], code[a] - box[a, 1], 0) * scale[a]
        outside += gap * gap
        off = (box[a, 0] + box[a, 1] - 2 * code[a]) * 0.5 * scale[a]
        middle += off * off
    return outside, middle
