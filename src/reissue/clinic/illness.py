"""How exam results begin and move: everything that an adversary could know about the people of the clinic."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reissue.arrays.types import Bool, Float64, Int64

EXAMS = (
    "Flu", "Bronchitis", "Pneumonia", "Asthma", "Gastric ulcer", "GERD", "Diabetes-I", "Diabetes-II",
    "Kidney failure", "Hypertension", "Depression", "Alzheimer", "Cancer-I", "Cancer-II",
)  # fmt: skip
"""The exam results, the sensitive values. -I and -II are an early and a late stage."""


@dataclass(frozen=True, eq=False)
class Matrix:
    """Probabilities with names: shares float64[rows, columns]; every row sums to 1."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    shares: Float64

    def of(self, row: str, column: str) -> float:
        return float(self.shares[self.rows.index(row), self.columns.index(column)])


def _transitions() -> Matrix:
    """Monthly moves: the share that stays, the moves medicine knows, and the rest evenly over all other results."""
    known: dict[str, tuple[float, dict[str, float]]] = {
        "Flu": (0.60, {"Bronchitis": 0.12, "Pneumonia": 0.10, "Asthma": 0.05, "GERD": 0.04}),
        "Bronchitis": (0.74, {"Asthma": 0.08, "Pneumonia": 0.06, "Flu": 0.04}),
        "Pneumonia": (0.70, {"Bronchitis": 0.08, "Asthma": 0.06, "Flu": 0.05, "Cancer-I": 0.02}),
        "Asthma": (0.86, {"Bronchitis": 0.05, "Flu": 0.03}),
        "Gastric ulcer": (0.80, {"GERD": 0.10, "Cancer-I": 0.03, "Flu": 0.02}),
        "GERD": (0.84, {"Gastric ulcer": 0.07, "Flu": 0.02, "Depression": 0.02}),
        "Diabetes-I": (0.84, {"Diabetes-II": 0.08, "Hypertension": 0.03}),
        "Diabetes-II": (0.86, {"Kidney failure": 0.05, "Diabetes-I": 0.03, "Hypertension": 0.02}),
        "Kidney failure": (0.86, {"Diabetes-II": 0.03, "Hypertension": 0.04, "Depression": 0.02}),
        "Hypertension": (0.86, {"Kidney failure": 0.03, "Diabetes-I": 0.04, "Alzheimer": 0.02}),
        "Depression": (0.85, {"GERD": 0.04, "Gastric ulcer": 0.03, "Alzheimer": 0.02}),
        "Alzheimer": (0.88, {"Depression": 0.05, "Pneumonia": 0.02}),
        "Cancer-I": (0.80, {"Cancer-II": 0.12, "Depression": 0.03}),
        "Cancer-II": (0.86, {"Cancer-I": 0.04, "Depression": 0.04, "Pneumonia": 0.02}),
    }
    shares = np.zeros((len(EXAMS), len(EXAMS)))
    for i, exam in enumerate(EXAMS):
        stay, moves = known[exam]
        others = len(EXAMS) - 1 - len(moves)
        shares[i] = (1.0 - stay - sum(moves.values())) / others
        shares[i, i] = stay
        for target, share in moves.items():
            shares[i, EXAMS.index(target)] = share
    return Matrix(EXAMS, EXAMS, shares / shares.sum(axis=1, keepdims=True))


def _first() -> Matrix:
    """First results by sex and age. No value is above 16% of a row or 10% of all arrivals, so m = 4 is feasible."""
    per_thousand = {
        # Flu Bro Pne Ast Ulc GERD D-I D-II Kid Hyp Dep Alz C-I C-II
        "F 18-39": (150, 100, 60, 150, 70, 90, 80, 30, 30, 30, 150, 10, 40, 10),
        "F 40-64": (80, 80, 60, 80, 80, 90, 100, 60, 40, 90, 110, 30, 70, 30),
        "F 65-": (40, 60, 80, 40, 60, 60, 60, 80, 70, 110, 80, 150, 60, 50),
        "M 18-39": (150, 110, 70, 160, 100, 110, 90, 30, 30, 40, 70, 10, 20, 10),
        "M 40-64": (70, 80, 60, 60, 110, 100, 100, 80, 50, 110, 50, 20, 70, 40),
        "M 65-": (40, 70, 90, 40, 70, 60, 50, 90, 90, 100, 40, 100, 80, 80),
    }
    return Matrix(tuple(per_thousand), EXAMS, np.array(list(per_thousand.values())) / 1000.0)


TRANSITIONS = _transitions()
"""P(result next month | result this month), the same for everybody, in the clinic or not. All entries are positive."""

FIRST = _first()
"""P(first result | sex, age band)."""


def first_results(female: Bool, age: Int64) -> Float64:
    """float64[people, results]: the distribution of the first result, given bool[people] and int64[people]."""
    band = (age >= 40).astype(np.int64) + (age >= 65)
    return FIRST.shares[np.where(female, 0, 3) + band]
