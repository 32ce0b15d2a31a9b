"""Beliefs over many classes at once: those of all worlds together, wherever the graph has no loop."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from reissue.arrays.factor_graph import FactorGraph, Propagation
from reissue.arrays.permanent import Deals
from reissue.arrays.types import Float64

Class = tuple[list[int], dict[int, int]]
"""Members, and how often each value is dealt."""


def graph_of(classes: list[Class], people: int, values: int) -> FactorGraph:
    deals = Deals(
        np.append(0, np.cumsum([len(members) for members, _ in classes])),
        np.append(0, np.cumsum([len(dealt) for _, dealt in classes])),
        np.array([count for _, dealt in classes for _, count in sorted(dealt.items())]),
    )
    members = np.array([person for who, _ in classes for person in who])
    shown = np.array([value for _, dealt in classes for value in sorted(dealt)], dtype=np.int32)
    return FactorGraph(deals, members, shown, people, values)


def enumerate_worlds(classes: list[Class], priors: Float64) -> Float64:
    """Everybody's chances over all worlds, each as likely as the product of its priors.

    Rows of nobody take any value alike; the tests have at most one row of nobody in a class, so that each world counts
    once.
    """
    people, values = priors.shape
    found = np.zeros(priors.shape)
    for world in product(range(values), repeat=people):
        fits = all(
            all([world[p] for p in who].count(value) <= dealt.get(value, 0) for value in range(values))
            for who, dealt in classes
        )
        if fits:
            found[np.arange(people), world] += np.prod(priors[np.arange(people), world])
    return found / found.sum(axis=1, keepdims=True)


FORESTS: list[list[Class]] = [
    [([0, 1, 2], {0: 1, 1: 1, 2: 1}), ([2, 3], {0: 1, 2: 1}), ([3, 4, 5], {0: 2, 1: 1})],
    [([0, 1], {0: 1, 1: 1}), ([2, 3], {1: 1, 2: 1}), ([1, 2, 4], {0: 1, 1: 1, 2: 1}), ([4, 5], {0: 1, 2: 2})],
    [([0, 1, 2, 3], {0: 2, 1: 2}), ([3, 4], {0: 1, 1: 1}), ([5], {2: 1})],
]


@pytest.mark.parametrize("classes", FORESTS)
def test_on_a_forest_beliefs_are_those_of_all_worlds(classes: list[Class]) -> None:
    priors = np.random.default_rng(len(classes)).dirichlet(np.ones(3), 6)
    talk = Propagation(graph_of(classes, 6, 3))
    talk.start(priors, afresh=True)
    talk.sweep(200, 1e-12)
    np.testing.assert_allclose(talk.beliefs, enumerate_worlds(classes, priors), atol=1e-6)


def test_what_was_said_is_kept_when_priors_change() -> None:
    """Starting anew from what classes last said ends where starting afresh does."""
    graph = graph_of(FORESTS[1], 6, 3)
    first, second = np.random.default_rng(7).dirichlet(np.ones(3), (2, 6))
    talk, fresh = Propagation(graph), Propagation(graph)
    talk.start(first, afresh=True)
    talk.sweep(50)
    talk.start(second, afresh=False)
    talk.sweep(200, 1e-12)
    fresh.start(second, afresh=True)
    fresh.sweep(200, 1e-12)
    np.testing.assert_allclose(talk.beliefs, fresh.beliefs, atol=1e-6)


def test_only_values_that_all_classes_show_are_possible() -> None:
    graph = graph_of(FORESTS[0], 6, 3)
    assert graph.possible[2].tolist() == [True, False, True]
    assert graph.possible[3].tolist() == [True, False, False]


def test_a_class_by_itself_says_what_dealing_it_says() -> None:
    graph = graph_of([([0, 1], {0: 1, 1: 1})], 2, 2)
    priors = np.array([[0.8, 0.2], [0.4, 0.6]])
    told = graph.add_up(graph.deal_alone(priors))
    swap, stay = 0.2 * 0.4, 0.8 * 0.6
    np.testing.assert_allclose(told[0], [stay / (swap + stay), swap / (swap + stay)])
