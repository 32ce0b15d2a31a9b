"""The seven patients of Byun et al. 2006; what a release of them must hold, and what a series of releases exposes."""

from __future__ import annotations

from collections import Counter

import numpy as np

from reissue.methods.strategy import Strategy
from reissue.model.boxes import contain
from reissue.model.domain import Domain
from reissue.model.release import Candidate, Coded, Facts, History
from reissue.model.requirement import Requirement
from reissue.model.requirement_check import violations
from tests.support.histories import uniform_tree
from tests.support.legal import assert_nodes

VALUES = {"Asthma": 0, "Flu": 1, "Alzheimer": 2, "Diabetes": 3, "Cancer": 4, "Hepatitis": 5}

PEOPLE = {"Tom": 0, "Mike": 1, "Bob": 2, "Eve": 3, "Alice": 4, "Hank": 5, "Sal": 6}

AGES, MALE = [21, 23, 52, 57, 27, 53, 59], {0, 1, 2, 5}

DIAGNOSES = ["Asthma", "Flu", "Alzheimer", "Diabetes", "Cancer", "Hepatitis", "Flu"]


def patients(count: int) -> Coded:
    """Figure 1 (4 patients) or figure 3 (7 patients) of Byun et al. 2006; gender is Person: Male | Female."""
    codes = np.array([[AGES[i], int(i not in MALE)] for i in range(count)], dtype=np.int32)
    values = np.array([VALUES[DIAGNOSES[i]] for i in range(count)], dtype=np.int32)
    made = (Domain("age", 21, 59), Domain("gender", 0, 1, uniform_tree(2)))
    return Coded(np.arange(count, dtype=np.int64), np.asfortranarray(codes), values, made, len(VALUES))


def assert_holds(candidate: Candidate, snapshot: Coded, requirement: Requirement) -> None:
    """Every kept row in one class and inside its box, every class within the policy, tree intervals are nodes."""
    kept = candidate.classes >= 0
    assert np.array_equal(np.unique(candidate.classes[kept]), np.arange(len(candidate.boxes)))
    assert contain(candidate.boxes, snapshot.codes, candidate.classes).all()
    assert violations(requirement, candidate.classes, snapshot.values, snapshot.value_count) == ()
    assert_nodes(candidate.boxes, snapshot.domains)


def publish_all(strategy: Strategy, snapshots: list[Coded]) -> list[Candidate]:
    """The candidates of a series, one after the other."""
    made, releases, caches = [], [], {}
    for number, snapshot in enumerate(snapshots, start=1):
        candidate = strategy.publish(snapshot, History(releases, caches, number))
        facts = candidate.facts(number, snapshot)
        caches = strategy.remember(caches, facts)
        releases.append(facts)
        made.append(candidate)
    return made


def multisets(release: Facts) -> dict[int, Counter[int]]:
    """The values of each subject's class: what an attacker who knows the members sees."""
    seen = {i: Counter(release.values[release.classes == i].tolist()) for i in range(release.class_count)}
    return {int(s): seen[int(c)] for s, c in zip(release.subjects, release.classes, strict=True)}


def intersection_exposes(releases: list[Facts], c: float) -> int:
    """How many subjects have a value above share c of what is common to all their classes."""
    common: dict[int, Counter[int]] = {}
    for release in releases:
        for subject, values in multisets(release).items():
            common[subject] = common[subject] & values if subject in common else values
    return sum(max(left.values()) > c * left.total() for left in common.values())
