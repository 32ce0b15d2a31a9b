"""Global cuts: ranges grow a taxonomy that is remembered, and a cut survives being kept as a table."""

from __future__ import annotations

import numpy as np

from reissue.core.domain import Domain, Tree
from reissue.core.recoding import HIGHEST, LOWEST, Cut, Frontier, Ranges, Taxonomy, clipped, labels_of
from tests.support.histories import uniform_tree


def test_ranges_remember_their_splits() -> None:
    ranges = Ranges([])
    low, high = ranges.split(0, 40)
    ranges.split(high, 60)
    again = Ranges(ranges.splits())
    assert again.interval(again.parts(0)[0]) == (LOWEST, 40)
    assert [again.interval(part) for part in again.parts(again.parts(0)[1])] == [(41, 60), (61, HIGHEST)]
    assert again.parts(low) == []


def test_a_node_with_one_child_stands_for_it() -> None:
    tree = Tree(*(np.array(c, np.int32) for c in ([0, 0, 0, 1], [1, 1, 0, 1], [-1, 0, 1, 1], [2, 1, 0, 0])))
    assert Taxonomy(tree).parts(0) == [2, 3]
    assert Taxonomy(tree).parts(2) == []


def test_a_cut_survives_the_ledger_and_knows_what_is_finer() -> None:
    domains = (Domain("age", 3, 90), Domain("place", 0, 11, uniform_tree(3, 4)))
    frontiers = [Frontier(labels_of(domain, None, a)) for a, domain in enumerate(domains)]
    ages = frontiers[0].labels
    assert isinstance(ages, Ranges)
    frontiers[0].replace(0, ages.split(0, 40))
    frontiers[1].replace(0, frontiers[1].labels.parts(0))
    (lo_age, hi_age), (lo_place, hi_place) = (frontier.intervals() for frontier in frontiers)
    limits = np.array([[3, 90], [0, 11]])
    cut = Cut((lo_age, lo_place), (hi_age, hi_place), (ages.splits(), []), limits, 2)
    again = Cut.read(cut.table())
    assert again is not None
    assert again.chain == 2
    assert again.splits == cut.splits
    assert again.limits.tolist() == limits.tolist()
    assert again.below(1, 0, 11)
    assert not again.below(1, 0, 3)
    assert not again.below(1, 4, 5)
    assert not again.below(0, 50, 60)
    assert again.below(0, LOWEST, HIGHEST)
    assert clipped(again.lo[0], again.hi[0], domains[0]).tolist() == [[3, 40], [41, 90]]
    assert Cut.read({}) is None
