"""Record linkage: by hand, and against looking at every class for every person."""

from __future__ import annotations

import numpy as np
import pytest

from reissue.errors import InputError
from reissue.model.boxes import bounding_boxes
from reissue.model.domain import Domain
from reissue.model.observed import ObservedRelease
from reissue.model.release import Facts
from reissue.utility import record_linkage
from tests.utility.support import random_facts, random_snapshot, small_domains


def facts_of(ages: list[int], classes: list[int], *, anatomized: bool = False) -> Facts:
    codes = np.array(ages, dtype=np.int32)[:, None]
    of_row = np.array(classes, dtype=np.int32)
    boxes = bounding_boxes(codes, of_row, max(classes) + 1)
    return Facts(1, boxes, np.arange(len(ages)), of_row, np.zeros(len(ages), np.int32), codes, anatomized)


AGE = (Domain("age", 0, 99),)


def test_classes_that_do_not_meet_give_one_right_link_each() -> None:
    assert record_linkage(facts_of([1, 2, 3, 10, 11, 50], [0, 0, 0, 1, 1, 2]), AGE) == pytest.approx(3.0)


def test_a_class_with_a_nearer_middle_misleads() -> None:
    # Boxes 0-20 (middle 10) and 8-10 (middle 9): of class 0, ages 0 and 20 are only in its own box; 9 is misled.
    facts = facts_of([0, 9, 20, 8, 10], [0, 0, 0, 1, 1])
    # Age 10 lies in both boxes, nearest to the middle of class 0: that link is wrong too.
    assert record_linkage(facts, AGE) == pytest.approx(1 / 3 + 1 / 3 + 1 / 2)


def test_equal_boxes_share_the_guess() -> None:
    assert record_linkage(facts_of([0, 4, 0, 4], [0, 0, 1, 1]), AGE) == pytest.approx(4 * (1 / 2) * (1 / 2))


def test_exact_rows_are_linked_through_equal_rows() -> None:
    facts = facts_of([1, 5, 5, 9], [0, 0, 1, 1], anatomized=True)
    assert record_linkage(facts, AGE) == pytest.approx(1 / 2 + 2 * (1 / 2) * (1 / 2) + 1 / 2)


def test_one_class_of_everybody_gives_one_right_link() -> None:
    snapshot = random_snapshot(np.random.default_rng(0), 50, 3, small_domains())
    everyone = np.zeros(50, dtype=np.int32)
    facts = Facts(
        1, bounding_boxes(snapshot.codes, everyone, 1), snapshot.subjects, everyone, snapshot.values, snapshot.codes
    )
    assert record_linkage(facts, small_domains()) == pytest.approx(1.0)


def link_slowly(facts: Facts, domains: tuple[Domain, ...]) -> float:
    span = np.array([domain.span for domain in domains])
    total = 0.0
    for row in np.flatnonzero(facts.real):
        keys = []
        for box in facts.boxes:
            gap = np.maximum(np.maximum(box[:, 0] - facts.codes[row], facts.codes[row] - box[:, 1]), 0) / span
            off = (box.mean(axis=1) - facts.codes[row]) / span
            keys.append((round(float(gap @ gap), 9), round(float(off @ off), 9)))
        own = facts.classes[row]
        if keys[own] == min(keys):
            total += 1 / keys.count(min(keys)) / int((facts.classes == own).sum())
    return total


@pytest.mark.parametrize("seed", range(60))
def test_linkage_equals_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    domains = small_domains(numeric=int(rng.integers(3, 60)))
    snapshot = random_snapshot(rng, int(rng.integers(2, 80)), 3, domains)
    facts = random_facts(rng, snapshot, int(rng.integers(1, 40)) if len(snapshot) > 40 else 2, suppress=0.1)
    assert record_linkage(facts, domains) == pytest.approx(link_slowly(facts, domains))


def test_members_must_be_known() -> None:
    release = ObservedRelease(2, np.zeros((1, 1, 2), np.int32), np.zeros(2, np.int32), np.zeros(2, np.int32))
    with pytest.raises(InputError, match="Release 2 comes without its members"):
        record_linkage(release, AGE)
