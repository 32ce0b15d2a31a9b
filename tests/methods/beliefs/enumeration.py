"""Beliefs by listing every assignment of rows to people, as the papers define them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations
from math import prod

Prior = Sequence[Sequence[float]]
Known = Mapping[tuple[int, int], float]
"""(person, value) -> confidence."""


def assignments(rows: Sequence[int]) -> list[tuple[int, ...]]:
    """The value each person gets, for every permutation of rows (equal values count as different rows)."""
    return [tuple(rows[i] for i in order) for order in permutations(range(len(rows)))]


def dirichlet(prior: Prior, rows: Sequence[int], known: Known) -> list[float]:
    """The parameters a_l of all assignments: 1, and the confidences above the prior that the assignment matches."""
    weights = []
    for given in assignments(rows):
        matched = [
            confidence
            for (person, value), confidence in known.items()
            if given[person] == value and confidence > prior[person][value]
        ]
        weights.append(1.0 + sum(matched))
    return weights


def confidence_degrees(prior: Prior, rows: Sequence[int]) -> list[float]:
    return [sum(prior[v][s] for v, s in enumerate(given)) for given in assignments(rows)]


def bayes(prior: Prior, rows: Sequence[int], known: Known, best: int) -> list[list[float]]:
    """P(v, s) when assignment number `best` was observed once."""
    weights = dirichlet(prior, rows, known)
    weights[best] += 1.0
    return shares(weights, rows, len(prior[0]))


def js_reduce(prior: Prior, rows: Sequence[int]) -> list[list[float]]:
    return shares(confidence_degrees(prior, rows), rows, len(prior[0]))


def exact(prior: Prior, rows: Sequence[int]) -> list[list[float]]:
    """Bayes' rule: an assignment is as likely as the product of the priors that it uses."""
    return shares([prod(prior[v][s] for v, s in enumerate(given)) for given in assignments(rows)], rows, len(prior[0]))


def shares(weights: Sequence[float], rows: Sequence[int], values: int) -> list[list[float]]:
    total = sum(weights)
    found = [[0.0] * values for _ in rows]
    for weight, given in zip(weights, assignments(rows), strict=True):
        for person, value in enumerate(given):
            found[person][value] += weight / total
    return found
