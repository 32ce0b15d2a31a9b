"""Cracks of two releases: closed forms, flows and the enumeration of all buddy assignments agree."""

from __future__ import annotations

import numpy as np
import pytest

from reissue.arrays.flow.transport import Transport
from reissue.arrays.types import Int32
from reissue.methods.bcf.candidates import ReleaseChain, possible_targets
from reissue.methods.bcf.cracks import compare
from reissue.model.domain import Tree
from reissue.model.overlap import GroupedRelease
from tests.support.generators import all_generators, released
from tests.support.histories import uniform_tree
from tests.support.series import random_boxes_chain, random_cut, random_cut_chain, recode

CHAINS = 400
EUROPE_LAWYER = [[0, 1], [0, 0]]
UK_PROFESSIONAL, FRANCE_PROFESSIONAL = [[0, 0], [0, 1]], [[1, 1], [0, 1]]
FLU, HIV = 0, 1


def tables_1_and_2() -> tuple[GroupedRelease, GroupedRelease]:
    """Birthplace UK 0, France 1; job lawyer 0, doctor 1."""
    first = GroupedRelease.of(
        np.array([EUROPE_LAWYER], dtype=np.int32), np.array([0, 0]), np.array([FLU, HIV]), np.array([3, 2])
    )
    second = GroupedRelease.of(
        np.array([UK_PROFESSIONAL, FRANCE_PROFESSIONAL], dtype=np.int32),
        np.array([0, 0, 1, 1]),
        np.array([FLU, HIV, FLU, HIV]),
        np.array([3, 2, 2, 3]),
    )
    return first, second


def test_examples_3_2_to_4_3_crack_what_the_paper_says() -> None:
    first, second = tables_1_and_2()
    pair = compare(first, second)
    france = int(np.flatnonzero(pair.right_class == 1)[0])
    edges = slice(pair.edge_start[france], pair.edge_start[france + 1])
    forward = first.counts[pair.edge_left[edges]] - pair.most[edges]
    cross = second.counts[pair.edge_right[edges]] - pair.most[edges]
    assert forward.tolist() == [1, 0]  # examples 3.2 and 4.1: Flu 1, HIV 0
    assert cross.tolist() == [0, 1]  # examples 3.3 and 4.2: Flu 0, HIV 1
    assert pair.old[:2].tolist() == [1, 0]  # examples 3.4 and 4.3: Flu 1, HIV 0 in (UK, Professional)
    assert pair.anonymity() == {"FA": 4, "CA": 4, "BA": 4}
    assert pair.closed


def test_without_newcomers_everything_is_old_and_only_f_and_c_apply() -> None:
    boxes = np.array([[[0, 0]], [[1, 1]]], dtype=np.int32)
    left = GroupedRelease.of(np.array([[[0, 1]]], dtype=np.int32), np.array([0, 0]), np.array([0, 1]), np.array([3, 3]))
    right = GroupedRelease.of(boxes, np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([3, 1, 2]))
    pair = compare(left, right)
    assert pair.old.tolist() == right.counts.tolist()
    assert pair.anonymity() == {"FA": 2, "CA": 2}


def test_a_single_newcomer_counts_as_well() -> None:
    """All records of the second value are old, so that nobody new can be in the second class."""
    boxes = np.array([[[0, 0]], [[1, 1]]], dtype=np.int32)
    left = GroupedRelease.of(np.array([[[0, 1]]], dtype=np.int32), np.array([0, 0]), np.array([0, 1]), np.array([2, 3]))
    right = GroupedRelease.of(boxes, np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([3, 1, 2]))
    pair = compare(left, right)
    assert (pair.newcomers, pair.old.tolist()) == (1, [2, 1, 2])
    assert pair.anonymity() == {"FA": 2, "CA": 2, "BA": 0}


@pytest.mark.parametrize("kind", ["cuts", "boxes"])
def test_most_and_old_equal_the_enumeration_of_all_buddy_assignments(kind: str) -> None:
    rng = np.random.default_rng(41 if kind == "cuts" else 42)
    closed = 0
    for _ in range(CHAINS):
        chain = random_cut_chain(rng, 2, values=2) if kind == "cuts" else random_boxes_chain(rng, 2, values=2)
        pair = chain.pair(0, 1)
        closed += pair.closed
        assert pair.unplaced == 0
        for value in range(2):
            generators = all_generators(chain, value)
            for e in np.flatnonzero(pair.left.values[pair.edge_left] == value):
                both = (0, (int(pair.left.classes[pair.edge_left[e]]), int(pair.right.classes[pair.edge_right[e]])))
                assert pair.most[e] == max(g[both] for g in generators)
            for g2 in np.flatnonzero(pair.right.values == value):
                cls = int(pair.right.classes[g2])
                new = [g[1, (cls,)] for g in generators]
                assert pair.old[g2] == pair.right.counts[g2] - max(new)
    assert closed == CHAINS if kind == "cuts" else closed < 0.9 * CHAINS


def test_flows_give_the_closed_forms_on_cuts() -> None:
    rng = np.random.default_rng(43)
    for _ in range(300):
        pair = random_cut_chain(rng, 2, values=3, people=60).pair(0, 1)
        flow = Transport.of(pair.left.counts, pair.right.counts, pair.edge_left, pair.edge_right)
        assert flow.saturate() == 0
        assert flow.most(np.arange(len(pair.most))).tolist() == pair.most.tolist()
        assert flow.least_into(np.arange(len(pair.old))).tolist() == pair.old.tolist()


def test_fa_equals_ca_on_all_pairs() -> None:
    rng = np.random.default_rng(44)
    for maker in (random_cut_chain, random_boxes_chain):
        for _ in range(200):
            levels = maker(rng, 2, values=3, people=40).pair(0, 1).anonymity()
            assert levels["FA"] == levels["CA"]


def test_a_release_that_lost_records_is_not_cumulative() -> None:
    first, second = tables_1_and_2()
    fewer = GroupedRelease(second.boxes, second.start, second.values, np.array([1, 2, 1, 3]))
    assert compare(first, fewer).unplaced == 1
    assert compare(first, second).unplaced == 0


def test_a_class_without_rows_is_not_comparable_to_anything() -> None:
    left = released(
        np.zeros((2, 1), np.int32),
        np.zeros(2, np.int32),
        np.array([[[0, 3]], [[0, 3]]], np.int32),
        np.zeros(2, np.int32),
    )
    assert compare(left, left).left_class.tolist() == [0]
    assert ReleaseChain([left, left]).arrivals() == [0]


def test_specializing_the_later_release_never_raises_fa_ca_or_ba() -> None:
    """Theorem 5.1, and its like for any number of releases."""
    rng = np.random.default_rng(45)
    for _ in range(300):
        trees = [uniform_tree(2, 2), uniform_tree(2)]
        codes = np.stack([rng.integers(0, 4, 30), rng.integers(0, 2, 30)], axis=1).astype(np.int32)
        values = rng.integers(0, 2, 30).astype(np.int32)
        past = [recode(codes[:n], values[:n], trees, [random_cut(rng, t) for t in trees]) for n in (12, 20)]
        cut = [random_cut(rng, tree, 0.4) for tree in trees]
        finer = [specialized(rng, tree, nodes) for tree, nodes in zip(trees, cut, strict=True)]
        before, after = (ReleaseChain([*past, recode(codes, values, trees, c)]) for c in (cut, finer))
        for earlier in (0, 1):
            one, other = before.pair(earlier, 2).anonymity(), after.pair(earlier, 2).anonymity()
            assert all(other[level] <= one[level] for level in ("FA", "CA", "BA"))
        for arrival in range(3):
            fewest = [possible_targets(chain, arrival, strict=True).totals.min() for chain in (before, after)]
            assert fewest[1] <= fewest[0]


def specialized(rng: np.random.Generator, tree: Tree, cut: Int32) -> Int32:
    """The cut with one of its nodes, chosen at random, replaced by its children."""
    start, child = tree.children
    node = int(rng.choice(np.unique(cut)))
    finer = cut.copy()
    for kid in child[start[node] : start[node + 1]].tolist():
        finer[tree.lo[kid] : tree.hi[kid] + 1] = kid
    return finer
