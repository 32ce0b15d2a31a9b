"""How exam results begin and move: everything that an adversary could know about the people of the clinic.

With dependence "weak" the first result depends a little on sex and age band, and every later one on the last alone.
With "real" all results depend on sex, age and weight: who knows these guesses a third of the first results right, about
as many as of occupations in a census.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np

from reissue.arrays.types import Bool, Float64, Int64

Dependence = Literal["real", "weak"]

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


def _make_transitions() -> Matrix:
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


def _draw_first() -> Matrix:
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


TRANSITIONS = _make_transitions()
"""P(result next month | result this month), the same for everybody, in the clinic or not. All entries are positive.

With dependence "real" it is how often results stay, and where they would move if all people were alike.
"""

FIRST = _draw_first()
"""P(first result | sex, age band) with dependence "weak"."""

USUAL = np.array([90, 80, 70, 80, 75, 85, 55, 90, 55, 100, 80, 65, 85, 70]) / 1080
"""float64[results]: with dependence "real", how often each result is somebody's first, over all arrivals."""

# With dependence "real": by how much a result's log-odds rise per 20 years above 50, per 20 years squared, for women,
# and per 11 kilograms above what is usual for sex and age.
_LEANINGS = 1.7 * np.array(
    [
        # Flu   Bro   Pne   Ast   Ulc   GERD  D-I   D-II  Kid   Hyp   Dep   Alz   C-I   C-II
        [-1.00, -0.3, 0.60, -1.10, 0.10, -0.10, -1.70, 0.40, 0.70, 0.60, -0.60, 2.60, 0.50, 0.90],
        [0.15, 0.10, 0.25, 0.15, -0.35, -0.35, 0.00, -0.40, -0.10, -0.25, -0.40, 0.30, -0.30, -0.25],
        [0.00, 0.10, -0.30, 0.30, -0.90, -0.20, 0.00, -0.40, -0.40, -0.10, 1.30, 0.40, 0.50, -0.20],
        [-0.20, -0.1, -0.50, 0.20, -0.50, 0.80, -0.90, 1.30, 0.20, 0.90, 0.00, -0.50, -0.60, -1.20],
    ]
)


def usual_weight(female: Bool, age: Int64) -> Float64:
    """float64[people]: kilograms around which the weights of such people lie."""
    return np.where(female, 66.0, 81.0) + 0.1 * np.minimum(age - 18, 40)


def first_results(female: Bool, age: Int64, weight: Float64 | None = None) -> Float64:
    """float64[people, results]: the distribution of the first result, given bool[people] and int64[people].

    weight: float64[people] kilograms, where results depend on it (dependence "real")
    """
    if weight is None:
        band = (age >= 40).astype(np.int64) + (age >= 65)
        return FIRST.shares[np.where(female, 0, 3) + band]
    return _to_shares(_score(female, age, weight) + _find_base())


def next_results(result: Int64, first: Float64 | None = None) -> Float64:
    """float64[people, results]: the distribution of next month's result, given int64[people] this month's.

    first: with dependence "real", the distribution of each person's first result. Results stay as often as
    TRANSITIONS says, and who gets another one is likelier to get one that suits the person.
    """
    shares = TRANSITIONS.shares[result]
    if first is None:
        return shares
    people = np.arange(len(result))
    stay = shares[people, result].copy()
    moves = shares * (first / USUAL)
    moves[people, result] = 0.0
    moves *= ((1.0 - stay) / moves.sum(axis=1))[:, None]
    moves[people, result] = stay
    return moves


def _score(female: Bool, age: Int64, weight: Float64) -> Float64:
    years = (np.asarray(age, dtype=np.float64) - 50.0) / 20.0
    heavy = (weight - usual_weight(female, age)) / 11.0
    scores: Float64 = np.stack([years, years**2, female.astype(np.float64), heavy], axis=1) @ _LEANINGS
    return scores


def _to_shares(scores: Float64) -> Float64:
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: Float64 = odds / odds.sum(axis=1, keepdims=True)
    return shares


@cache
def _find_base() -> Float64:
    """float64[results]: the scores of nobody in particular, such that arrivals have USUAL results on average."""
    sexes, ages, kilograms = np.meshgrid([1, 0], np.arange(20, 90, 5), [-1.5, -0.5, 0.5, 1.5], indexing="ij")
    female, age, heavy = sexes.ravel() == 1, ages.ravel().astype(np.int64), kilograms.ravel()
    scores = _score(female, age, usual_weight(female, age) + 11.0 * heavy)
    common = np.exp(-(heavy**2) / 2)  # of the weights; ages are spread about evenly
    common /= common.sum()
    base = np.log(USUAL)
    for _ in range(200):
        base += np.log(USUAL) - np.log(common @ _to_shares(scores + base))
    return base
