"""The running example of He, Barman & Naughton (2011): a clinic at three times, tables I to VII."""

from __future__ import annotations

import numpy as np

from reissue.model.boxes import bounding_boxes
from reissue.model.domain import Domain
from reissue.model.observed import Members, Observed, ObservedRelease
from reissue.model.release import Coded
from tests.support.words import PlainWords

CANCER, FLU, MEASLES = 0, 1, 2
DISEASES = {CANCER: "cancer", FLU: "flu", MEASLES: "measles"}
PEOPLE = {  # name: (number, age, zip in thousands, disease)
    "Alice": (0, 35, 53, CANCER),
    "Bob": (1, 49, 55, FLU),
    "Chris": (2, 42, 65, CANCER),
    "Dan": (3, 49, 55, FLU),
    "Ellen": (4, 43, 62, MEASLES),
    "Frank": (5, 41, 67, CANCER),
    "Greg": (6, 45, 60, FLU),
    "Harry": (7, 42, 65, CANCER),
    "Ian": (8, 45, 60, MEASLES),
    "Jane": (9, 42, 65, CANCER),
}
NAMES = {number: name for name, (number, *_) in PEOPLE.items()}
WORDS = PlainWords(DISEASES, NAMES)
DOMAINS = (Domain("age", 30, 49), Domain("zip", 50, 69))
AT_T1 = ("Alice", "Bob", "Chris", "Dan", "Ellen", "Frank")
AT_T2 = ("Alice", "Chris", "Ellen", "Greg", "Harry", "Ian", "Jane")
AT_T3 = ("Alice", "Chris", "Greg", "Ian", "Jane")

Groups = list[tuple[list[str], list[tuple[int, int]]]]
"""Classes of one release: the names in it, and (number, value) of the rows that stand for nobody."""

TABLE_1B: Groups = [(["Alice", "Bob"], []), (["Chris", "Dan"], []), (["Ellen", "Frank"], [])]
TABLE_2B: Groups = [(["Alice", "Ellen"], []), (["Chris", "Greg"], []), (["Harry", "Ian", "Jane"], [])]
TABLE_3B: Groups = [(["Alice", "Greg"], []), (["Chris"], [(-1, FLU)]), (["Ellen", "Harry"], []), (["Ian", "Jane"], [])]
TABLE_4: Groups = [(["Alice", "Bob", "Chris", "Dan"], []), (["Ellen", "Frank"], [])]
TABLE_5: Groups = [(["Alice", "Greg", "Chris"], [(-1, FLU)]), (["Ellen", "Harry", "Ian", "Jane"], [])]
TABLE_6: Groups = [(["Alice", "Greg", "Chris"], [(-1, FLU)]), (["Ian", "Jane"], [])]
TABLE_7: list[Groups] = [
    [(["Alice", "Bob", "Chris", "Dan"], []), (["Ellen", "Frank"], [(-2, MEASLES), (-3, CANCER)])],
    [(["Alice", "Greg", "Chris"], [(-1, FLU)]), (["Ellen", "Harry", "Ian", "Jane"], [])],
    [(["Alice", "Greg", "Chris"], [(-1, FLU)]), (["Ian", "Jane"], [(-4, MEASLES), (-5, CANCER)])],
]


def clinic(*releases: Groups) -> Observed:
    """The given releases, numbered from 1, as an attacker sees them who knows the members."""
    return Observed([_release(i, groups) for i, groups in enumerate(releases, start=1)], DOMAINS, 3, WORDS)


def _release(number: int, groups: Groups) -> ObservedRelease:
    rows = sorted((PEOPLE[name][0], c) for c, (names, _) in enumerate(groups) for name in names)
    subjects = np.array([subject for subject, _ in rows], dtype=np.int64)
    classes = np.array([c for _, c in rows], dtype=np.int32)
    people = [PEOPLE[NAMES[int(subject)]] for subject in subjects]
    codes = np.array([[age, place] for _, age, place, _ in people], dtype=np.int32)
    values = np.array([value for *_, value in people], dtype=np.int32)
    extra = sorted((fake, c, value) for c, (_, fakes) in enumerate(groups) for fake, value in fakes)
    fakes = Members(
        np.array([fake for fake, _, _ in extra], dtype=np.int64),
        np.array([c for _, c, _ in extra], dtype=np.int32),
        np.zeros((len(extra), 2), dtype=np.int32),
        np.array([value for *_, value in extra], dtype=np.int32),
    )
    return ObservedRelease(
        number,
        bounding_boxes(codes, classes, len(groups)),
        np.concatenate([classes, fakes.classes]),
        np.concatenate([values, fakes.values]),
        Members(subjects, classes, codes, values),
        counterfeits=fakes,
    )


def snapshot(names: tuple[str, ...]) -> Coded:
    people = [PEOPLE[name] for name in names]
    return Coded(
        np.array([p[0] for p in people], dtype=np.int64),
        np.asfortranarray(np.array([[p[1], p[2]] for p in people], dtype=np.int32).reshape(len(people), 2)),
        np.array([p[3] for p in people], dtype=np.int32),
        DOMAINS,
        3,
    )
