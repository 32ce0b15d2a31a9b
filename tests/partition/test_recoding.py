"""Global cuts: ranges grow a taxonomy that is remembered, and a cut survives being kept as a table."""

from __future__ import annotations

import numpy as np

from reissue.model.domain import Domain, Tree
from reissue.partition.global_recoding import (
    HIGHEST,
    LOWEST,
    Cut,
    Frontier,
    Ranges,
    Taxonomy,
    clip_boxes,
    labels_of,
    limits_of,
    splittable,
)
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
    limits = np.array([[3, 90, -500], [0, 11, 0]])
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
    assert Cut.read({}) is None


def _cut_with(limits: list[int]) -> Cut:
    return Cut((), (), ([],), np.array([limits], dtype=np.int64), 1)


def test_published_ranges_end_at_values_or_at_the_code_of_missing_ones() -> None:
    ranges = np.array([[[LOWEST, -500]], [[-499, 40]], [[LOWEST, 40]], [[41, HIGHEST]]], dtype=np.int32)
    told = clip_boxes(ranges, np.array([[3, 90, -500]]))
    assert told[:, 0].tolist() == [[-500, -500], [3, 40], [-500, 40], [41, 90]]
    assert clip_boxes(ranges[2:], np.array([[3, 90, 3]]))[:, 0].tolist() == [[3, 40], [41, 90]]


def test_a_place_for_missing_values_is_kept_and_told_apart_only_if_every_release_has_it() -> None:
    ages = (Domain("age", 3, 90),)
    codes = np.array([[5], [60]], dtype=np.int32)
    with_missing, without = _cut_with([20, 80, -500]), _cut_with([20, 80, 20])
    assert limits_of(ages, codes, []).tolist() == [[3, 90, 3]]
    assert limits_of(ages, codes - np.array([[505], [0]], dtype=np.int32), [without]).tolist() == [[3, 90, -500]]
    kept = limits_of(ages, codes, [with_missing])
    assert kept.tolist() == [[3, 90, -500]]
    assert splittable(kept, [with_missing]).tolist() == [[20, 80, -500]], "3-19 alone met no range of that release"
    assert splittable(kept, [with_missing, without])[0, 2] > HIGHEST
    assert splittable(kept, [_cut_with([0, 0, -500])])[0, 2] > HIGHEST, "no value was known then"
