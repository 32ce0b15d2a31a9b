"""Table 1 of Riboni & Bettini (2009): a hospital in January and February."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reissue.model.boxes import bounding_boxes
from reissue.model.domain import Domain
from reissue.model.observed import Members, Observed, ObservedRelease
from tests.support.words import PlainWords

CANCER, BRONCHITIS, AIDS = 0, 1, 2
DISEASES = {CANCER: "cancer", BRONCHITIS: "bronchitis", AIDS: "AIDS"}
PATIENTS = {  # name: (age, female, zip in thousands, disease)
    "Alice": (33, 1, 12, CANCER),
    "Betty": (31, 1, 11, BRONCHITIS),
    "Carl": (35, 0, 12, AIDS),
    "Doris": (40, 1, 13, CANCER),
    "Erica": (41, 1, 14, AIDS),
    "Fiona": (37, 1, 13, BRONCHITIS),
    "Grace": (42, 1, 13, BRONCHITIS),
    "Hanna": (42, 1, 14, CANCER),
}
NUMBERS = {name: number for number, name in enumerate(PATIENTS)}
DOMAINS = (Domain("age", 31, 42), Domain("gender", 0, 1), Domain("zip", 11, 14))
FIRST = (("Alice", "Betty", "Carl"), ("Doris", "Erica", "Fiona"))
SECOND = (("Carl", "Doris", "Fiona"), ("Erica", "Grace", "Hanna"))


@dataclass(frozen=True)
class MonthWords(PlainWords):
    def release(self, number: int) -> str:
        return ("January", "February", "March", "April")[number - 1]


WORDS = MonthWords(DISEASES, {number: name for name, number in NUMBERS.items()})


def table(*months: tuple[tuple[str, ...], ...]) -> Observed:
    """The classes of each month, by names, as somebody sees them who knows the members."""
    return Observed([_release(i, classes) for i, classes in enumerate(months, start=1)], DOMAINS, 3, WORDS)


def _release(number: int, groups: tuple[tuple[str, ...], ...]) -> ObservedRelease:
    rows = sorted((NUMBERS[name], c) for c, names in enumerate(groups) for name in names)
    subjects = np.array([s for s, _ in rows], dtype=np.int64)
    classes = np.array([c for _, c in rows], dtype=np.int32)
    people = [PATIENTS[WORDS.subjects[int(s)]] for s in subjects]
    codes = np.array([person[:3] for person in people], dtype=np.int32)
    values = np.array([person[3] for person in people], dtype=np.int32)
    boxes = bounding_boxes(codes, classes, len(groups))
    return ObservedRelease(number, boxes, classes, values, Members(subjects, classes, codes, values))
